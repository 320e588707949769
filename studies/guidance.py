#!/usr/bin/env python3
"""Rules of public guidance about days, ages, values and counts, kept by generated records.

    guidance.py [synthea] [inpatients] [--records 100000] [--seeds 3] [--program PROGRAM] [--check]

For each cohort: the rules are checked and audited, a model is trained with them, and records are generated. A judge
written here, over the tables that were written, works out every rule again from dates, births and values: it must find
nothing. The codes that the rules speak of must be as frequent as in the real records, within a fifth, where at
least 100 real encounters have them. With --check it exits 1 if something does not hold. Needs pyarrow.
"""

import argparse
import collections
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import pyarrow.dataset

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
RULES = ROOT / "studies" / "guidance"
#: Real encounters that a code must be in for its frequency to be compared.
SEEN = 100
WITHIN = 0.2


def run(program, *words):
    done = subprocess.run([str(program), *map(str, words)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"FAILED: {' '.join(map(str, words))}\n{done.stderr[-2000:]}")
    return done.stdout


def cohort_of(name, program, folder):
    """The cohort; none if its tables are not at hand."""
    out = folder / name
    if name == "inpatients":
        run(program, "simulate", "inpatient", "--patients", "5000", "--out", out)
        return out
    tables = DATA / "outpatient" / "synthea1k_omop"
    if not tables.is_dir():
        print(f"SKIPPED: {tables} is missing, so no rule was kept on Synthea", file=sys.stderr)
        return None
    run(program, "import", "omop", tables, "--out", out)
    return out


class Patient:
    """Visits as the tables tell them: days, codes, values, and the birth."""

    def __init__(self):
        self.born = None
        self.statics = set()
        self.visits = {}


def patients(folder):
    """Every patient of a dataset, in the order of the files."""
    table = pyarrow.dataset.dataset(folder / "data").to_table().to_pandas()
    for subject, rows in table.groupby("subject_id", sort=False):
        patient = Patient()
        for time, code, value, visit in zip(rows.time, rows.code, rows.numeric_value, rows.visit_id):
            if code == "MEDS_BIRTH":
                patient.born = time.date()
            elif visit is None or visit != visit:
                patient.statics.add(code)
            else:
                at = patient.visits.setdefault(visit, {"day": None, "codes": set(), "values": collections.defaultdict(list)})
                if code == "VISIT":
                    at["day"] = time.date()
                elif code != "VISIT_END":
                    at["codes"].add(code)
                    if value == value:
                        at["values"][code].append(numpy.float32(value))
        patient.visits = [patient.visits[visit] for visit in sorted(patient.visits)]
        yield subject, patient


def years(born, day):
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def matches(pattern, code):
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), code) is not None


class Judge:
    """One rule, worked out from a patient's visits."""

    def __init__(self, name, formula):
        self.name = name
        self.formula = formula
        self.names = set()
        self.collect(formula)

    def collect(self, formula):
        if isinstance(formula, str):
            self.names.add(formula)
        elif isinstance(formula, list):
            for part in formula:
                self.collect(part)
        elif isinstance(formula, dict):
            for key, part in formula.items():
                if key in ("in", "at least", "at most"):
                    self.collect(part[0])
                elif key == "compare":
                    if part[0] != "AGE":
                        self.names.add(part[0] + "//*")
                elif key != "first visit":
                    self.collect(part)

    def speaks_of(self, code):
        return any(matches(name, code) for name in self.names)

    def holds(self, formula, patient, now):
        here = patient.visits[now]
        if isinstance(formula, bool):
            return formula
        if isinstance(formula, str):
            return any(matches(formula, code) for code in here["codes"])
        (key, part), = formula.items()
        each = lambda: (self.holds(one, patient, now) for one in part)
        if key == "not":
            return not self.holds(part, patient, now)
        if key in ("and", "all of"):
            return all(each())
        if key in ("or", "any of"):
            return any(each())
        if key == "none of":
            return not any(each())
        if key == "implies":
            left, right = part
            return not self.holds(left, patient, now) or self.holds(right, patient, now)
        if key == "in":
            return self.seen(part[0], part[1], patient, now) >= 1
        if key in ("at least", "at most"):
            times = self.seen(part[0], part[2] if len(part) > 2 else "past", patient, now)
            if len(part) == 2:
                times += self.holds(part[0], patient, now)
            return times >= part[1] if key == "at least" else times <= part[1]
        if key == "first visit":
            return now == 0
        if key == "compare":
            return self.compared(part[0], part[1], patient, now)
        sys.exit(f"FAILED: the judge does not know {key}")

    def seen(self, term, window, patient, now):
        """Earlier visits with the term, within the window."""
        day = patient.visits[now]["day"]
        last, between = re.fullmatch(r"last (\d+) days", window), re.fullmatch(r"(\d+) to (\d+) days ago", window)
        if last:
            span = range(0, int(last[1]) + 1)
        elif between:
            span = range(int(between[1]), int(between[2]) + 1)
        elif window == "past":
            span = None
        elif window == "static":
            return int(term in patient.statics)
        else:
            sys.exit(f"FAILED: the judge does not know {window}")
        found = 0
        for then in range(now):
            if span is None or (day - patient.visits[then]["day"]).days in span:
                found += self.holds(term, patient, then)
        return found

    def compared(self, name, comparison, patient, now):
        words = comparison.split()
        if words[0] == "between":
            low, high = float(words[1]), float(words[3])
            test = lambda value: low <= value <= high
        else:
            limit = numpy.float32(words[1])
            test = {
                ">": lambda value: value > limit,
                ">=": lambda value: value >= limit,
                "<": lambda value: value < limit,
                "<=": lambda value: value <= limit,
            }[words[0]]
        here = patient.visits[now]
        if name == "AGE":
            return patient.born is not None and test(years(patient.born, here["day"]))
        results = (value for code, values in here["values"].items() if code.rsplit("//", 1)[0] == name for value in values)
        return any(test(value) for value in results)


def judges(program, rules, folder):
    out = folder / f"{rules.stem}.json"
    run(program, "rules", "convert", rules, "--to", "json", "--out", out)
    statements = json.loads(out.read_text())["statements"]
    return [Judge(one["rule"], one["formula"]) for one in statements if "rule" in one]


def judged(folder, rules):
    """Violations by rule, encounters, and the encounters that have each code that the rules speak of."""
    broken, counts, encounters = collections.Counter(), collections.Counter(), 0
    about = {}
    for _, patient in patients(folder):
        for now, visit in enumerate(patient.visits):
            encounters += 1
            asked = set()
            for code in visit["codes"]:
                if code not in about:
                    about[code] = [rule for rule in rules if rule.speaks_of(code)]
                if about[code]:
                    counts[code] += 1
                    asked.update(about[code])
            # Every one of these rules forbids a code of the visit: without any of its codes it holds.
            for rule in asked:
                broken[rule.name] += not rule.holds(rule.formula, patient, now)
    return {name: times for name, times in broken.items() if times}, encounters, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cohorts", nargs="*", default=["synthea", "inpatients"])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target" / "release" / "consequence")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    failed = False
    for name in asked.cohorts:
        with tempfile.TemporaryDirectory() as scratch:
            folder, program = pathlib.Path(scratch), asked.program
            cohort, rules = cohort_of(name, program, pathlib.Path(scratch)), RULES / f"{name}.rules"
            if cohort is None:
                continue
            by_judge = judges(program, rules, folder)
            found, encounters, real = judged(cohort, by_judge)
            audit = json.loads(run(program, "audit", cohort, "--rules", rules, "--no-own-rules", "--json"))
            by_audit = audit["within_visit_violations"] + audit["temporal_violations"]
            print(f"{name}: {len(by_judge)} rules; real records: {sum(found.values())} violations by the judge, "
                  f"{by_audit} by the audit, in {encounters:,} encounters")
            failed |= sum(found.values()) != by_audit
            for seed in range(1, asked.seeds + 1):
                model, out = folder / f"model{seed}", folder / f"records{seed}"
                epochs = ["--epochs", asked.epochs] if asked.epochs else []
                run(program, "train", cohort, "--rules", rules, "--out", model, "--seed", seed, "--accept-broken", *epochs)
                run(program, "generate", model, "--records", asked.records, "--seed", seed, "--out", out)
                broken, generated, counts = judged(out, by_judge)
                off = {}
                for code, times in real.items():
                    if times >= SEEN:
                        off[code] = (counts[code] / generated) / (times / encounters) - 1
                outside = {code: round(by, 2) for code, by in off.items() if abs(by) > WITHIN}
                print(f"  seed {seed}: {asked.records:,} records, {generated:,} encounters, {sum(broken.values())} violations "
                      f"by the judge {broken or ''}; of {len(off)} codes {len(off) - len(outside)} within a fifth of real, "
                      f"others {outside or 'none'}", flush=True)
                failed |= bool(broken)
    if failed and asked.check:
        sys.exit(1)


if __name__ == "__main__":
    main()
