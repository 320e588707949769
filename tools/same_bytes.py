#!/usr/bin/env python3
"""Runs every command with two builds of the program and compares all that they write.

    tools/same_bytes.py OLD NEW

Standard output, standard error, the exit status and every file must be the same, byte for byte, but
for the words of `tools/renamed.json` (put into the old output before it is compared) and for times: a
`pattern` is a regular expression, a `file` one that only the new build writes.
Exits 1 with a line for each difference.
"""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RENAMED = json.loads((HERE / "renamed.json").read_text())

RULES = """static SEX//F, SEX//M
rule one-sex: exactly one of SEX//F, SEX//M
rule lifelong: A in previous => A
rule pair: B => C or D
rule never: not (E and F)
rule soft: C in past => D with probability 0.3
rule death: DIED => END
"""
ODD_RULES = "rule a: A => B\nrule b: B => C\nrule c: A => C\nrule d: not A or B\n"
EDITS = (
    "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n"
    "32\t9\tMale_Only\tD\t185\tMalign neopl prostate\n"
    "32\t9\tFemale_Only\tD\t650\tNormal delivery\n"
)

# Every verb, in an order in which later ones use what earlier ones wrote.
COMMANDS = """
--version
--help
check a.rules
check a.rules --json
check a.rules --explain lifelong
check odd.rules --vocabulary codes.json
check a.rules --cohort cohort.jsonl
check broken.rules
check missing.rules
check not-end.rules
rules convert a.rules --to text
rules convert a.rules --to json --out a.json
rules convert tuples.rules --to tuples
rules convert a.rules --to tuples
rules from mce edits.txt --out sex.rules
rules from mce edits.txt --out sex.rules
rules from mce edits.txt --level categories --out other.rules --json
audit cohort.jsonl --rules a.rules
audit cohort.jsonl --rules a.rules --json --show-ids
audit cohort.jsonl --rules a.rules --referee --top 2
audit cohort.jsonl --rules unknown.rules
audit cohort.jsonl --rules unknown.rules --allow-unknown
enforce cohort.jsonl --rules a.rules --out repaired.jsonl
enforce cohort.jsonl --rules a.rules --soft --seed 3 --out repaired --json
enforce cohort.jsonl --rules a.rules --out repaired.jsonl
import csv events.csv --out imported
import csv events.csv --out imported.jsonl --truncate 3 --json
import jsonl cohort.jsonl --out again
import meds again --out third --drop-empty
import csv missing.csv --out nothing
export imported jsonl --out exported.jsonl
export imported csv --out exported.csv --json
export imported omop --out exported
describe imported --json
head imported --json
codes imported --json
diff imported exported.jsonl --json
simulate inpatient --patients 600 --out real
simulate outpatient --patients 60 --seed 5 --out outpatients.jsonl --json
mine real --out mined.rules
mine real --out mined.rules
mine cohort.jsonl --out few.rules --min-support 5 --json
train real --rules real/truth.rules --generator markov --out markov
train real --rules real/truth.rules --generator markov --out markov
train real --rules mined.rules --size tiny --epochs 2 --out network
train real --rules mined.rules --size tiny --epochs 2 --resume --out network
train real --rules mined.rules --size tiny --epochs 1 --train-mode paper --out paper --json
train real --size tiny --epochs 1 --out alone
train real --generator markov --width 8 --out no
train real --width 7 --out no
generate markov --records 200 --out from-markov
generate network --records 300 --out synthetic
generate network --records 300 --out synthetic
generate network --records 300 --resume --out synthetic --json
generate network --records 50 --mode override --temperature 0.8 --out override.jsonl
generate alone --records 20 --rules mined.rules --mode exact --proposals 4 --out exact.jsonl --json
generate alone --records 20 --rules one-sex.rules --mode reject --out reject.jsonl
generate network --records 50 --mode off --out off.jsonl
generate network --records 30 --given SEX//F --seed 9 --out given.jsonl
generate network --records 30 --prefix override.jsonl --out prefix.jsonl
generate network --records 30 --given SEX//X --out no.jsonl
generate nowhere --records 30 --out no.jsonl
evaluate --perplexity network --real real
evaluate --perplexity network --real real --no-rules --split tuning --json
evaluate --perplexity paper --real real
evaluate --perplexity markov --real real --json
evaluate --real real --synthetic synthetic
evaluate --real real --synthetic synthetic --rules mined.rules --out report
evaluate --real real --synthetic off.jsonl --rules mined.rules --json
compare real --rules mined.rules --quick --methods vanilla consequence --epochs 1 --runs 2 --records 60 --out compared
compare real --rules mined.rules --quick --methods vanilla consequence --epochs 1 --runs 2 --records 60 --out compared --resume
synthesize real --generator markov --records 150 --out chain
synthesize real --generator markov --records 150 --resume --out chain --json
synthesize events.csv --from csv --generator markov --records 20 --out small
demo --clinic --records 200
demo --records 300
""".strip().splitlines()

# What differs from run to run: times, speeds, days.
VOLATILE = [
    (r'"[a-z_]*(seconds|times_vanilla)[a-z_]*": \{[^}]*\}', '"time": 0'),
    (r'"[a-z_]*(seconds|per_second|milliseconds)[a-z_]*": [^,\n}]+', '"time": 0'),
    (r'"(reading|mining|proving)": [0-9.e-]+', '"time": 0'),
    (r"(?<![0-9.,])[0-9.,]+ (s|ms|seconds|minutes|milliseconds|µs|us)\b", "TIME"),
    (r"(?<![0-9.,])[0-9.,]+ records a second", "SPEED"),
    (r'"here": "[0-9.]+ times[^"]*"', '"here": "TIME"'),
    (r"\(process \d+\)", "(process N)"),
    (r" +[0-9.]+ +[0-9]+\.[0-9]{4}$", " TIME"),
    (r"sha256-[A-Za-z0-9+/=]+", "DIGEST"),
]


def prepare(folder):
    """The files that commands read."""
    codes = ["A", "B", "C", "D", "E", "F", "DIED"]
    lines, rows = [], ["subject_id,time,code"]
    state = 1
    for patient in range(120):
        visits = []
        for visit in range(1 + patient % 4):
            here = []
            for code in codes:
                state = (state * 1103515245 + 12345) % 2**31
                if state / 2**31 < 0.3:
                    here.append(code)
                    rows.append(f"{patient},2020-{1 + visit:02}-{1 + patient % 28:02},{code}")
            visits.append(here)
        sex = "SEX//F" if patient % 2 else "SEX//M"
        lines.append(json.dumps({"id": str(patient), "static": [sex], "visits": visits}))
    files = {
        "cohort.jsonl": "\n".join(lines) + "\n",
        "events.csv": "\n".join(rows) + "\n",
        "a.rules": RULES,
        "odd.rules": ODD_RULES,
        "broken.rules": "rule a: A =>\nrule b B\nlet x = \n",
        "unknown.rules": "rule a: A => Z\n",
        "not-end.rules": "rule a: not END\n",
        "one-sex.rules": "rule one-sex: at least one of SEX//*\n",
        "tuples.rules": "rule a: A in previous => B\nrule b: C => not D\n",
        "edits.txt": EDITS,
        "codes.json": json.dumps({"static": ["SEX//F", "SEX//M"], "encounter": codes}),
    }
    for name, text in files.items():
        (folder / name).write_text(text)


def files_of(folder):
    """Every file below a folder, by its name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def run(program, folder, command):
    """What a command says, and the files that it wrote or changed."""
    before = files_of(folder)
    environment = {**os.environ, "RAYON_NUM_THREADS": "2", "NO_COLOR": "1"}
    ran = subprocess.run(
        [program, *command.split()],
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=900,
        check=False,
    )
    after = files_of(folder)
    written = {name: data for name, data in after.items() if before.get(name) != data}
    gone = sorted(set(before) - set(after))
    said = {"stdout": ran.stdout, "stderr": ran.stderr, "status": str(ran.returncode).encode()}
    return said, written, gone


def plain(data, name):
    """Bytes without times; binary files stay as they are."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    for pattern, instead in VOLATILE:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    if name == "file compared/report.html":
        # Its figures are of speed, down to the ticks of axes and the digest of its scripts.
        text = re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL).replace("&lt;", "")
        text = re.sub(r"[-+\u2212]?[0-9][0-9.,]*", "N", text)
    return text


def renamed(data, name=""):
    """The old output in the new words."""
    if isinstance(data, bytes):
        return data
    for rename in RENAMED:
        if name.endswith(rename.get("except", "\n")):
            continue
        if "old" in rename:
            data = data.replace(rename["old"], rename["new"])
        elif "pattern" in rename:
            data = re.sub(rename["pattern"], rename["new"], data)
    return data


def difference(old, new):
    """The first lines in which two texts differ."""
    if isinstance(old, bytes) or isinstance(new, bytes):
        return f"{len(old)} bytes and {len(new)} bytes"
    pairs = itertools.zip_longest(old.splitlines(), new.splitlines(), fillvalue="")
    lines = [f"- {one[:200]}\n    + {two[:200]}" for one, two in pairs if one != two]
    return "\n    ".join(lines[:4])


def main():
    faults, compared = [], 0
    with tempfile.TemporaryDirectory() as directory:
        # The same name for both, since some files hold it.
        work = pathlib.Path(directory) / "work"
        outcomes = []
        for number, program in enumerate(sys.argv[1:3]):
            # The same name for both, which help texts show.
            named = pathlib.Path(directory) / str(number) / "consequence"
            named.parent.mkdir()
            named.symlink_to(pathlib.Path(program).resolve())
            work.mkdir()
            prepare(work)
            outcomes.append([run(str(named), work, command) for command in COMMANDS])
            work.rename(pathlib.Path(directory) / f"done-{len(outcomes)}")
    for command, (said, written, gone), (said_now, written_now, gone_now) in zip(
        COMMANDS, *outcomes, strict=True
    ):
        old = {**said, **{renamed(f"file {name}"): data for name, data in written.items()}}
        new = {**said_now, **{f"file {name}": data for name, data in written_now.items()}}
        old["files gone"], new["files gone"] = repr(gone).encode(), repr(gone_now).encode()
        for name in sorted(set(old) | set(new)):
            extra = [rename["file"] for rename in RENAMED if "file" in rename]
            if name not in old and any(name.endswith(f"/{file}") for file in extra):
                continue
            if name not in old or name not in new:
                faults.append(f"{command}\n  {name}: only in the {'old' if name in old else 'new'}")
                continue
            one, other = renamed(plain(old[name], name), name), plain(new[name], name)
            compared += 1
            if one != other:
                faults.append(f"{command}\n  {name}:\n    {difference(one, other)}")
    for fault in faults:
        print(fault)
    same = "the same" if not faults else f"{len(faults)} differ"
    print(f"{len(COMMANDS)} commands, {compared} outputs and files compared: {same}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
