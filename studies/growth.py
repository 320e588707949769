"""How cost grows with records, codes, rules, visits and cores: `python3 studies/growth.py PROGRAM [ROWS ...] [--device cuda:0]`.

Cohorts are made up, by a power law over codes. The default network trains on each, with its own defaults, for one epoch, and writes
records; a row of the table tells the seconds of an epoch's visit and of a record, and the most memory that either took, on the host and
on the GPU. ROWS choose by the name of what grows: records, codes, rules, visits, cores. `--most` leaves out larger ones.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

CODES, VISITS, A_VISIT, PATIENTS, WRITTEN = 2_000, 3, 8, 4_000, 20_000
GROWS = {
    "records": [1_000, 10_000, 100_000, 1_000_000, 10_000_000],
    "codes": [1_000, 5_000, 20_000, 50_000],
    "rules": [0, 1_000, 10_000, 100_000, 500_000],
    "visits": [2, 10, 30, 100],
    "cores": [2, 4, 8, 16],
}


def write_cohort(path, patients, codes, visits):
    """Records of up to twice so many visits less one, as JSON lines."""
    draw = random.Random(1)
    weights = [1 / (at + 10) for at in range(codes)]
    pool = draw.choices(range(codes), weights, k=200_000)
    at = 0
    with open(path, "w", encoding="utf-8") as lines:
        for number in range(patients):
            made = []
            for _ in range(draw.randint(1, 2 * visits - 1)):
                size = draw.randint(1, 2 * A_VISIT - 1)
                made.append(sorted({f"C{pool[(at + k) % len(pool)]}" for k in range(size)}))
                at += size
            # Every code at least once, so that all of them are in the vocabulary.
            few = range(number, codes, patients)
            made.append([f"C{code}" for code in few] if number < codes else made[0])
            record = {"id": str(number), "static": [draw.choice(["SEX//F", "SEX//M"])], "visits": made}
            lines.write(json.dumps(record) + "\n")


def write_rules(path, count, codes):
    """So many rules that keep codes off, half of them by codes of the same visit."""
    draw = random.Random(2)
    with open(path, "w", encoding="utf-8") as lines:
        for number in range(count):
            first, second = sorted(draw.sample(range(codes), 2))
            window = "" if number % 2 else " in past"
            lines.write(f"rule r{number}: C{first}{window} => not C{second}\n")


class OnGpu(threading.Thread):
    """The most memory that the GPU had in use, in MB, over what it had before."""

    def __init__(self):
        super().__init__(daemon=True)
        self.before, self.most, self.ended = self.used(), 0, False

    @staticmethod
    def used():
        if not shutil.which("nvidia-smi"):
            return 0
        query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        return int(subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0])

    def run(self):
        while not self.ended:
            self.most = max(self.most, self.used() - self.before)
            time.sleep(0.2)


class Program:
    def __init__(self, path, device):
        self.path, self.device = str(pathlib.Path(path).resolve()), device

    def run(self, *words, threads=None):
        """The report of a command, its seconds, the most memory of the host and of the GPU in MB."""
        command = [self.path, *map(str, words), "--json", "--force"]
        command += ["--threads", str(threads)] if threads else []
        gpu = OnGpu() if self.device != "cpu" and words[0] in ("train", "generate") else None
        if gpu:
            gpu.start()
        began = time.monotonic()
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            running = subprocess.Popen(command, stdout=out, stderr=errors, text=True)
            _, status, usage = os.wait4(running.pid, 0)
            seconds = time.monotonic() - began
            if gpu:
                gpu.ended = True
            out.seek(0)
            errors.seek(0)
            if os.waitstatus_to_exitcode(status):
                sys.exit(" ".join(command) + "\n" + errors.read())
            return json.loads(out.read()), seconds, usage.ru_maxrss // 1024, gpu.most if gpu else 0


def row(program, folder, what, size, threads):
    """Trains and writes, and prints what it took."""
    place = lambda name: str(folder / name)
    codes = size if what == "codes" else CODES
    visits = size if what == "visits" else VISITS
    records = size if what == "records" else WRITTEN
    write_cohort(place("cohort.jsonl"), PATIENTS, codes, visits)
    write_rules(place("some.rules"), size if what == "rules" else 0, codes)
    threads = size if what == "cores" else threads
    device = ["--device", program.device]
    trained, _, *of_training = program.run(
        "train", place("cohort.jsonl"), "--epochs", 1, *device, "--out", place("model"), threads=threads
    )
    rules = ["--rules", place("some.rules")] if what == "rules" and size else []
    write = lambda count: program.run(
        "generate", place("model"), "--records", count, *rules, *device, "--out", place("out"), threads=threads
    )
    start = min(write(1)[1] for _ in range(2))
    written, seconds, *of_writing = write(records)
    seconds = max(seconds - start, 0.0)
    encounters = written["written"]["encounters"]
    print(f"| {what} {size:,} | {trained['seconds']:.1f} | {start:.2f} | {seconds:.2f} | {1e6 * seconds / records:.1f} |"
          f" {encounters / records:.2f} | {of_training[0]:,} | {of_writing[0]:,} |"
          f" {of_training[1]:,}, {of_writing[1]:,} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("rows", nargs="*", help="what grows: " + ", ".join(GROWS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, help="all cores if left out")
    parser.add_argument("--most", type=int, default=10**12, help="no size above this")
    arguments = parser.parse_args()
    unknown = set(arguments.rows) - set(GROWS)
    if unknown:
        sys.exit(f"nothing grows by the name of {', '.join(sorted(unknown))}; there are {', '.join(GROWS)}")
    program = Program(arguments.program, arguments.device)
    print("| what grows | training s | start of writing s | writing s | us a record | encounters a record | host MB of training |"
          " of writing | GPU MB of training, writing |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for what in arguments.rows or GROWS:
            for size in GROWS[what]:
                cores = what == "cores" and size > (os.cpu_count() or 1)
                if size <= arguments.most and not cores:
                    row(program, pathlib.Path(folder), what, size, arguments.threads)


if __name__ == "__main__":
    main()
