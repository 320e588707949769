"""Prints how generation grows with threads: `python3 studies/scaling.py PROGRAM [FEW MANY]`.

A network of the usual size and a HALO of the published size write simulated inpatients with FEW and with
MANY threads (2 and 16), turn by turn, so that whatever else the machine does meets both. Time to start is
taken off. The same machine with as many programs of one thread each tells what could be reached.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5


def seconds(*commands):
    """How long it takes to run commands side by side."""
    began = time.perf_counter()
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for command in commands]
    for one in running:
        error = one.communicate()[1]
        if one.returncode:
            sys.exit(error.decode())
    return time.perf_counter() - began


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__.splitlines()[0])
    program = str(pathlib.Path(sys.argv[1]).resolve())
    few, many = map(int, sys.argv[2:]) if len(sys.argv) == 4 else (2, 16)
    with tempfile.TemporaryDirectory() as folder:
        place = lambda name: str(pathlib.Path(folder, name))
        quiet = lambda *words: seconds([program, *words, "--force"])
        quiet("simulate", "inpatient", "--patients", "4k", "--out", place("cohort"))
        quiet("simulate", "inpatient", "--patients", "300", "--out", place("few"))
        quiet("train", place("cohort"), "--epochs", "2", "--out", place("usual.model"))
        quiet("train", place("few"), "--network", "halo", "--size", "paper", "--epochs", "1",
              "--batch", "4096", "--out", place("paper.model"))

        def command(model, records, threads, out="out"):
            return [program, "generate", place(model), "--records", str(records), "--threads", str(threads),
                    "--out", place(out), "--force"]

        for name, model, a_thread in (("usual", "usual.model", 20_000), ("published", "paper.model", 1_000)):
            start = min(seconds(command(model, 1, few)) for _ in range(3))
            each = {few: [], many: []}
            alone = {few: [], many: []}
            for _ in range(ROUNDS):
                for threads in (few, many):
                    records = a_thread * threads
                    each[threads].append((seconds(command(model, records, threads)) - start) / records)
                    if name == "usual":
                        side = [command(model, a_thread, 1, f"out-{one}") for one in range(threads)]
                        alone[threads].append((seconds(*side) - start) / records)
            shown = lambda times: f"{1e6 * statistics.median(times):.1f}"
            ratios = sorted(a / b for a, b in zip(each[few], each[many]))
            print(f"{name} network: {shown(each[few])} us a record with {few} threads, {shown(each[many])} with {many}:"
                  f" {statistics.median(ratios):.2f} times as fast ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
            if alone[few]:
                ratios = sorted(a / b for a, b in zip(alone[few], alone[many]))
                print(f"  {many} programs of one thread against {few}: {statistics.median(ratios):.2f} times"
                      f" ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)


if __name__ == "__main__":
    main()
