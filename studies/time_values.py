"""Dates, ages and values of generated records, beside those of the cohorts that they were trained on.

    cargo build --release -p consequence-cli && python3 studies/time_values.py [COHORT ...] [--seeds N]

Each cohort is imported from its tables, or simulated, and given to `consequence synthesize`; `consequence
evaluate` tells how far days between visits, spans, weekdays, months, ages, stays and values agree. What a
test's driver does to its values is read from the exported rows. A line holds if it holds for the worst of
the seeds. Beside it stands what other real records reach, which is luck alone; for what cannot be, the count in
real records. MIMIC has a table and no bounds: 100 patients are too few for any.
"""

import argparse
import csv
import gzip
import json
import re
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import unprepared
from unprepared import DATA, ROOT, Program, run

SIMULATED = {"inpatients": "inpatient", "outpatients": "outpatient"}
COHORTS = ["synthea", "synpuf", *SIMULATED, "mimic4", "mimic3"]
BOUNDED = {"synthea", "synpuf", *SIMULATED}
TESTS = ROOT / "crates" / "simulate" / "src" / "measurements.rs"


@dataclass
class Line:
    """A figure of one seed; none where it could not be measured."""

    name: str
    figure: float
    bound: float = None
    beside: float = None


def drivers():
    """The code that drives each simulated test, as the simulation says."""
    found = re.findall(r'\bname: "(LAB//[^"]+)".*?\bdriver: "([^"]+)"', TESTS.read_text(), re.DOTALL)
    if not found:
        sys.exit(f"no tests with drivers in {TESTS}")
    return dict(found)


def claims_with_births(table):
    """Adds the births of the beneficiaries to the long table of their claims."""
    with open(table) as file:
        seen = {row["subject_id"] for row in csv.DictReader(file)}
    with gzip.open(DATA / "outpatient" / "synpuf_claims500" / "bene.csv.gz", "rt") as file:
        births = {row["DESYNPUF_ID"]: row["BENE_BIRTH_DT"] for row in csv.DictReader(file)}
    with open(table, "a", newline="") as file:
        rows = csv.writer(file)
        for subject in sorted(seen & births.keys()):
            rows.writerow([subject, births[subject], "MEDS_BIRTH", "", ""])
    return table


def cohort_of(name, place, patients):
    """A cohort with its dates and values."""
    cohort = place / name
    if name in SIMULATED:
        some = ["--patients", patients] if patients else []
        run("simulate", SIMULATED[name], *some, "--out", cohort)
    elif name == "mimic4":
        events = DATA / "inpatient" / "mimic4_demo" / "mimic_iv_demo_meds_events.parquet"
        run("import", "meds", events, "--out", cohort)
    elif name == "synpuf":
        table = claims_with_births(unprepared.claims(place / "claims.csv"))
        run("import", "csv", table, "--static", "SEX", "--static", "AGE", "--out", cohort)
    else:
        unprepared.imported(name, place)
    return cohort


def rows_of(cohort, out):
    """Codes of each patient, and the values of each test by patient."""
    run("export", cohort, "csv", "--out", out, "--force")
    codes, values = defaultdict(set), defaultdict(lambda: defaultdict(list))
    with open(out, newline="") as file:
        for row in csv.DictReader(file):
            codes[row["subject_id"]].add(row["code"])
            if row.get("value"):
                test = re.sub(r"//q\d+$", "", row["code"])
                values[test][row["subject_id"]].append(float(row["value"]))
    return codes, values


def driven(rows, test, driver):
    """How far the median of a test is higher in patients with the code that drives it."""
    codes, values = rows
    sides = {True: [], False: []}
    for subject, found in values[test].items():
        sides[driver in codes[subject]].extend(found)
    return median(sides[True]) - median(sides[False]) if all(sides.values()) else None


def ratio(figure, of):
    """How far a figure is off, as a share of what it should be."""
    if figure is None or of is None:
        return None
    return abs(figure - of) / abs(of) if of else float(figure != of)


def distance(name, found, bound=None):
    return Line(name, found["ks"], bound, found["other_ks"])


def variation(name, found, bound=None):
    return Line(name, found["total_variation"], bound, found["other_total_variation"])


def lines_of_dates(timing, bounded):
    bound = lambda figure: figure if bounded else None
    yield distance("days between visits, KS", timing["days_between_visits"], bound(0.05))
    for after in timing["days_after"]:
        yield distance(f"  after {after['code']}, KS", after, bound(0.1))
    yield variation("weekdays, total variation", timing["weekdays"], bound(0.05))
    yield variation("months, total variation", timing["months"], bound(0.05))
    yield distance("days from first to last visit, KS", timing["span"], bound(0.1))
    yield distance("age at a visit, KS", timing["age"], bound(0.1))
    if timing["stay"]["real"]["count"]:
        yield distance("days of a stay, KS", timing["stay"])
    for key, name in (("after_death", "after death"), ("before_birth", "before birth")):
        found, real = timing[key]["synthetic"], timing[key]["real"]
        both = lambda side: side["visits"] + side["events"]
        yield Line(f"visits and events {name}", both(found), 0, both(real))
    known = timing["known"]
    if known:
        share = lambda side: side["known"] / side["triples"] if side and side["triples"] else None
        yield Line("values that a patient has on that date", share(known["synthetic"]), None, share(known["other"]))


def lines_of_values(timing):
    """How far quartiles are off in tests of which there is no bound."""
    values = timing["values"]
    if values["tests"]:
        yield Line("values of all tests, middle KS", values["median_ks"], None, values["other_median_ks"])
        yield Line("values of all tests, largest KS", values["largest_ks"], None, values["other_largest_ks"])
    for test in values["commonest"][:10]:
        yield distance(f"  {test['test']}, KS", test)


def furthest(side, real):
    """The furthest that a quartile is off, as a share of the real one."""
    if not side or not side["quartiles"] or not real["quartiles"]:
        return None
    return max(map(ratio, side["quartiles"], real["quartiles"]))


def lines_of_simulated_values(timing, real, synthetic):
    told = {test["test"]: test for test in timing["values"]["commonest"]}
    for test, driver in drivers().items():
        found = told.get(test)
        off = lambda side: furthest(found[side], found["real"]) if found else None
        yield Line(f"{test}, quartiles off by", off("synthetic"), 0.05, off("other"))
        shifts = [driven(rows, test, driver) for rows in (real, synthetic)]
        yield Line("  what its driver does, off by", ratio(shifts[1], shifts[0]), 0.2)


def measured(name, cohort, seed, place, options):
    """The lines of one seed."""
    out = place / f"{name}-{seed}"
    run("synthesize", cohort, "--out", out, "--seed", seed, *options)
    synthetic = out / "synthetic"
    timing = json.loads(run("evaluate", "--real", cohort, "--synthetic", synthetic, "--no-own-rules", "--json"))["timing"]
    lines = list(lines_of_dates(timing, name in BOUNDED))
    if name not in SIMULATED:
        return lines + list(lines_of_values(timing))
    real, generated = (rows_of(path, place / f"{path.name}.csv") for path in (cohort, synthetic))
    return lines + list(lines_of_simulated_values(timing, real, generated))


def shown(figure):
    if figure is None:
        return "-"
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:.4f}"


def verdict(figures, bound):
    if bound is None:
        return ""
    return "PASS" if all(figure is not None and figure <= bound for figure in figures) else "miss"


def told(name, seeds):
    """Prints the table of a cohort, and gives the lines that miss their bounds."""
    print(f"== {name}, {len(seeds)} seeds")
    print(f"  {'':44} {'worst':>9} {'bound':>7} {'beside':>9}  each seed")
    missed = []
    # Codes and tests are those of the real cohort, so that every seed has the same lines.
    for lines in zip(*seeds):
        figures, line = [line.figure for line in lines], lines[0]
        worst = None if None in figures else max(figures)
        bound = "" if line.bound is None else f"{line.bound:g}"
        holds = verdict(figures, line.bound)
        each = " ".join(map(shown, figures))
        print(f"  {line.name[:44]:44} {shown(worst):>9} {bound:>7} {shown(line.beside):>9}  {each}  {holds}".rstrip())
        if holds == "miss":
            missed.append(line)
    sys.stdout.flush()
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cohorts", nargs="*", default=COHORTS, choices=[*COHORTS, []], metavar="COHORT")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--patients", type=int, help="patients to simulate [default: as many as simulate has]")
    parser.add_argument("--program", type=Path, help="the program that is judged [default: the release build]")
    parser.add_argument("--keep", type=Path, help="a folder for everything that is made")
    parser.add_argument("--check", action="store_true", help="exit 1 if a line misses its bound")
    parser.add_argument("--short", action="store_true", help="few patients and a counted model: what luck may miss does not count")
    arguments = parser.parse_args()
    Program.path = arguments.program or Program.path
    patients = arguments.patients or (400 if arguments.short else None)
    options = ["--generator", "markov"] if arguments.short else []
    missed = []
    with tempfile.TemporaryDirectory() as place:
        place = arguments.keep or Path(place)
        place.mkdir(parents=True, exist_ok=True)
        for name in arguments.cohorts or COHORTS:
            if name not in SIMULATED and not DATA.is_dir():
                print(f"SKIPPED: ../shared/data is not there, so nothing is told of {name}", file=sys.stderr)
                continue
            cohort = cohort_of(name, place, patients)
            seeds = [measured(name, cohort, seed, place, options) for seed in range(1, arguments.seeds + 1)]
            missed.extend(told(name, seeds))
    if arguments.short:
        # Whatever luck does, figures are there and nobody is seen after death.
        missed = [line for line in missed if line.bound == 0 or (line.figure is None and not line.name.startswith("  "))]
    if arguments.check and missed:
        sys.exit(f"{len(missed)} lines miss their bounds: {', '.join(line.name.strip() for line in missed)}")


if __name__ == "__main__":
    main()
