"""Two builds of the program on the same cohort, in turn: seconds of an epoch and of a generated record.

`python3 studies/two_builds.py OLD NEW [ROUNDS]` simulates inpatients with the new build, and then has
either build train two epochs and generate 20,000 records, one after the other and again. Printed are the
ratios, new over old, of every round: other work on the machine meets both.
"""

import json
import os
import subprocess
import sys
import tempfile


def timed(program, *arguments):
    """Seconds and work of a command, from its report."""
    ran = subprocess.run(
        [program, *arguments, "--json"], capture_output=True, text=True, check=True
    )
    return json.loads(ran.stdout)


def main():
    old, new = map(os.path.abspath, sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory() as folder:
        place = lambda name: os.path.join(folder, name)
        cohort = place("cohort")
        subprocess.run([new, "simulate", "inpatient", "--out", cohort], check=True, capture_output=True)
        print("| round | an epoch, old | new | ratio | 20,000 records, old | new | ratio |")
        print("|---|---|---|---|---|---|---|")
        for number in range(1, rounds + 1):
            cells = []
            seconds = {}
            for name, program in (("old", old), ("new", new)):
                train = ("train", cohort, "--epochs", "2", "--out", place(name), "--force")
                seconds[name, "epoch"] = timed(program, *train)["seconds"] / 2
                out = place(f"{name}-records")
                generate = ("generate", place(name), "--records", "20000", "--out", out, "--force")
                seconds[name, "records"] = timed(program, *generate)["seconds"]
            for what in ("epoch", "records"):
                before, after = seconds["old", what], seconds["new", what]
                cells += [f"{before:.1f} s", f"{after:.1f} s", f"{after / before:.2f}"]
            print(f"| {number} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
