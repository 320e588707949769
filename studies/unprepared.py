"""Five cohorts that nobody prepared: `synthesize` with its defaults, three seeds, judged.

    cargo build --release -p consequence-cli && python3 studies/unprepared.py [COHORT ...] [--seeds N]

Each cohort is imported from its tables and given to `consequence synthesize` as a newcomer would. What
comes out is exported as one long table, and tools/judge.py, which shares nothing with the program, says
how many records are absurd and which frequencies are off by more than a fifth.
"""

import argparse
import csv
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
ICD9_TITLES = DATA / "rules" / "icd" / "icd9dx2015.csv.gz"


class Program:
    """The program that is judged."""

    path = ROOT / "target" / "release" / "consequence"


def run(*arguments):
    done = subprocess.run([str(Program.path), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"consequence {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def claims(out):
    """Claims of CMS as one long table: the commonest form in which a program is given such data."""
    folder = DATA / "outpatient" / "synpuf_claims500"
    with gzip.open(folder / "bene.csv.gz", "rt") as file:
        people = {
            row["DESYNPUF_ID"]: ("M" if row["BENE_SEX_IDENT_CD"] == "1" else "F", row["BENE_BIRTH_DT"][:4])
            for row in csv.DictReader(file)
        }
    with open(out, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["subject_id", "time", "code", "SEX", "AGE"])
        for table in ("carrier", "outpatient", "inpatient"):
            with gzip.open(folder / f"{table}.csv.gz", "rt") as source:
                for row in csv.DictReader(source):
                    subject, day = row["DESYNPUF_ID"], row["CLM_FROM_DT"]
                    if subject not in people or not day:
                        continue
                    sex, born = people[subject]
                    decade = (2008 - int(born)) // 10 * 10
                    for name, code in row.items():
                        if name.startswith("ICD9_DGNS_CD") and code:
                            band = f"{decade}-{decade + 10}"
                            rows.writerow([subject, day, f"ICD9CM//{code}", sex, band])
    return out


def imported(name, place):
    """The cohort, and the tables with titles of its codes."""
    cohort = place / name
    if name == "synthea":
        folder = DATA / "outpatient" / "synthea1k_omop"
        run("import", "omop", folder, "--out", cohort)
        return cohort, [folder / "CONCEPT.csv.gz"]
    if name == "mimic3":
        folder = DATA / "inpatient" / "mimic3_demo"
        run("import", "mimic3", folder, "--out", cohort)
        return cohort, [folder / "D_ICD_DIAGNOSES.csv.gz", folder / "D_ICD_PROCEDURES.csv.gz"]
    if name == "mimic4":
        run("import", "mimic4", DATA / "inpatient" / "mimic4_demo", "--out", cohort)
        return cohort, [ICD9_TITLES]
    if name == "uci":
        run("import", "uci-diabetes", DATA / "inpatient" / "uci_diabetes130", "--out", cohort)
        return cohort, [ICD9_TITLES]
    table = claims(place / "claims.csv")
    run("import", "csv", table, "--static", "SEX", "--static", "AGE", "--out", cohort)
    return cohort, [ICD9_TITLES]


def exported(cohort, out):
    run("export", cohort, "csv", "--out", out, "--force")
    return out


def judged(real, synthetic, titles):
    command = [sys.executable, ROOT / "tools" / "judge.py", "--json", "--real", real, "--synthetic", synthetic]
    done = subprocess.run([*map(str, command), "--titles", *map(str, titles)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["synthea", "mimic3", "mimic4", "synpuf", "uci"]
    parser.add_argument("cohorts", nargs="*", default=names, choices=[*names, []], metavar="COHORT")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--program", type=Path, help="the program that is judged [default: the release build]")
    parser.add_argument("--check", action="store_true", help="exit 1 if more is absurd than in real records")
    parser.add_argument("--keep", type=Path, help="a folder for everything that is made")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        print("SKIPPED: ../shared/data is not there, so nobody judged records of real cohorts", file=sys.stderr)
        return
    Program.path = arguments.program or Program.path
    worse = []
    with tempfile.TemporaryDirectory() as place:
        place = arguments.keep or Path(place)
        place.mkdir(parents=True, exist_ok=True)
        for name in arguments.cohorts or names:
            cohort, titles = imported(name, place)
            real = exported(cohort, place / f"{name}.csv")
            for seed in range(1, arguments.seeds + 1):
                out = place / f"{name}-{seed}"
                text = run("synthesize", cohort, "--out", out, "--seed", seed)
                found = judged(real, exported(out / "synthetic", place / f"{name}-{seed}.csv"), titles)
                absurd = {key: count for key, count in found["synthetic"]["absurd"].items() if count}
                before = {key: count for key, count in found["real"]["absurd"].items() if count}
                print(f"== {name}, seed {seed}")
                worse.extend(found["worse"])
                print(f"  absurd of {found['synthetic']['records']:,}: {absurd or 'none'}")
                print(f"  real, of {found['real']['records']:,}: {before or 'none'}")
                print(f"  worse than real: {', '.join(found['worse']) or 'nothing'}")
                for row in found["shares"][:2]:
                    print(f"  {row['name']}: real {row['real']:.4f}, synthetic {row['synthetic']:.4f}")
                off = found["off"]
                luck = found["off_by_luck"]
                print(f"  off by more than a fifth: {len(off)} of {len(found['shares'])}; real records drawn anew: {luck}")
                for row in off[:8]:
                    shown = f"{row['real']:.4f} -> {row['synthetic']:.4f}"
                    print(f"    {row['name'][:44]:44} {shown} ({row['count']} in real records)")
                promised = next(line for line in text.splitlines() if line.startswith(("promised", "broken")))
                print(f"  {promised}", flush=True)
    if arguments.check and worse:
        sys.exit(1)


if __name__ == "__main__":
    main()
