"""Prints what `enforce` does where a rule leaves a choice: `python3 studies/alternatives.py PROGRAM`.

Three rules on three cohorts: an endocrine diagnosis stays (simulated inpatients), diabetes stays (SynPUF
claims), diabetes is treated (UCI diabetes). For each: the codes put in, how their shares among all that would
do moved, and the largest factor by which the share of a code with at least 20 occurrences grew. Cohorts that
are not there are left out.
"""

import collections
import csv
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"


def synpuf(folder):
    """Claims of carriers and outpatients as a table of one code a row."""
    sexes = {}
    with gzip.open(SHARED / "outpatient/synpuf_claims500/bene.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            sexes[row["DESYNPUF_ID"]] = "M" if row["BENE_SEX_IDENT_CD"] == "1" else "F"
    path = folder / "claims.csv"
    with open(path, "w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["subject_id", "time", "code", "sex"])
        for name in ("carrier", "outpatient"):
            with gzip.open(SHARED / f"outpatient/synpuf_claims500/{name}.csv.gz", "rt") as file:
                for row in csv.DictReader(file):
                    subject, day = row["DESYNPUF_ID"], row["CLM_FROM_DT"]
                    codes = {value for column, value in row.items() if "ICD9_DGNS_CD_" in column and value}
                    if not day or subject not in sexes:
                        continue
                    rows.writerows([subject, day, f"ICD9CM//{code}", sexes[subject]] for code in sorted(codes))
    return ["import", "csv", str(path), "--subject", "subject_id", "--time", "time", "--code", "code",
            "--static", "sex"]


def occurrences(path, prefix):
    """How many visits have each code of a prefix."""
    counts = collections.Counter()
    with open(path) as lines:
        for line in lines:
            for visit in json.loads(line)["visits"]:
                counts.update(code for code in visit if code.startswith(prefix))
    return counts


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    program = str(pathlib.Path(sys.argv[1]).resolve())
    run = lambda *words: subprocess.run([program, *map(str, words), "--force"], check=True, capture_output=True, text=True)
    print("| rule, cohort | put in | different codes | total variation of shares | largest growth of a share |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cohorts = [
            ("an endocrine diagnosis stays, simulated inpatients", lambda: ["simulate", "inpatient"],
             "DX//endocrine//", "DX//endocrine//* in past => any of DX//endocrine//*", True),
            ("diabetes stays, SynPUF claims", lambda: synpuf(folder),
             "ICD9CM//250", "ICD9CM//250* in past => any of ICD9CM//250*", SHARED.exists()),
            ("diabetes is treated, UCI diabetes",
             lambda: ["import", "uci-diabetes", SHARED / "inpatient/uci_diabetes130"],
             "RX//", "ICD9CM//250 => any of RX//*", SHARED.exists()),
        ]
        for title, made, prefix, rule, there in cohorts:
            if not there:
                print(f"SKIPPED: {title}: ../shared is missing", file=sys.stderr)
                continue
            run(*made(), "--out", folder / "cohort")
            for rules, text in (("nothing", f"rule nothing: {prefix}no-such-code => not {prefix}no-such-code"),
                                ("rule", f"rule chosen: {rule}")):
                (folder / f"{rules}.rules").write_text(text)
            run("enforce", folder / "cohort", "--rules", folder / "nothing.rules", "--allow-unknown",
                "--out", folder / "before.jsonl")
            run("enforce", folder / "cohort", "--rules", folder / "rule.rules", "--out", folder / "after.jsonl",
                "--changes", folder / "changes.csv")
            before, after = (occurrences(folder / f"{when}.jsonl", prefix) for when in ("before", "after"))
            with open(folder / "changes.csv") as file:
                added = collections.Counter(row["code"] for row in csv.DictReader(file) if row["change"] == "added")
            share = lambda counts, code: counts[code] / max(1, sum(counts.values()))
            variation = sum(abs(share(before, code) - share(after, code)) for code in before | after) / 2
            growth = max((share(after, code) / share(before, code), code) for code, count in before.items() if count >= 20)
            print(f"| {title} | {sum(added.values()):,} | {len(added)} | {variation:.4f} |"
                  f" {growth[0]:.2f} ({growth[1]}) |", flush=True)


if __name__ == "__main__":
    main()
