"""Runs the test programs of the workspace side by side, then the examples of the documentation.

`python3 tools/run_tests.py [--at-once NUMBER]`. `cargo test` runs one program after the other, and many of
them wait, for files that must be on disk and for processes. Here a few run at once, those that take longest
first; the output of one that fails is shown whole, and of the others how long they took. A program with tests
of many files, which are linked once, runs as one process a file.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Programs that take longest, and begin first. One that is not named here begins after them.
LONGEST = [
    "meds_round_trips", "training", "demo", "distribution", "commands", "small_worlds", "models_bad_input",
    "consequence_train", "mining_splits", "killed", "writers", "round_trips", "comparing", "hostile",
]

# Programs whose tests are those of many files.
OF_MANY_FILES = ["claims", "command_line", "fitting", "importing", "networks", "storing", "tables"]

# What has tests, and the examples. Programs are built for the tests that run them, and have none inside, nor do
# libraries whose manifest says so.
TARGETS = ["--tests", "--examples"]


def programs(messages, names_in):
    """Name, command and folder of each process to run, longest first, for the programs that cargo tells of. Their
    tests are asked for by `names_in(executable, folder)`."""
    found = []
    for line in messages.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("executable") and message["profile"]["test"]:
            name, executable = message["target"]["name"], message["executable"]
            folder = Path(message["manifest_path"]).parent
            if name in OF_MANY_FILES:
                files = by_file(names_in(executable, folder))
                found += [(file, [executable, "--exact", *tests], folder) for file, tests in files.items()]
            else:
                found.append((name, [executable], folder))
    rank = {name: number for number, name in enumerate(LONGEST)}
    return sorted(found, key=lambda program: (rank.get(program[0], len(rank)), program[1]))


def by_file(names):
    """Names of tests by the first word before `::`, which is their file; `main` for those without."""
    files = {}
    for name in names:
        files.setdefault(name.split("::")[0] if "::" in name else "main", []).append(name)
    return files


def names_in(executable, folder):
    """The names of all tests of a program, also of those that are only run when asked for."""
    listed = subprocess.run(
        [executable, "--list", "--format", "terse"], cwd=folder, env=environment(folder), stdout=subprocess.PIPE, text=True,
        check=True,
    ).stdout
    return [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]


def environment(folder):
    return {**os.environ, "CARGO_MANIFEST_DIR": str(folder)}


def run(program):
    name, command, folder = program
    began = time.monotonic()
    ran = subprocess.run(
        command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL, text=True, errors="replace",
    )
    return f"{folder.name} {name}", ran.returncode, ran.stdout, time.monotonic() - began


def run_all(found, at_once):
    """Runs them and tells of each; the names of those that failed."""
    failed = []
    with ThreadPoolExecutor(at_once) as pool:
        for name, code, output, seconds in pool.map(run, found):
            if code != 0:
                failed.append(name)
                print(output)
            # What a test says itself is that it was left out.
            skipped = [line for line in output.splitlines() if line.startswith("SKIPPED")]
            print("\n".join([*skipped, f"{seconds:6.1f} s  {name}{'' if code == 0 else ': FAILED'}"]), flush=True)
    return failed


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--at-once", type=int, default=(os.cpu_count() or 1) + 1)
    at_once = max(1, arguments.parse_args().at_once)
    cargo = [os.environ.get("CARGO", "cargo"), "test", "--locked", "--workspace"]
    built = subprocess.run(
        [*cargo, *TARGETS, "--no-run", "--message-format=json-render-diagnostics"], stdout=subprocess.PIPE, text=True
    )
    if built.returncode != 0:
        sys.exit(built.returncode)
    found = programs(built.stdout, names_in)
    if not found:
        sys.exit("error: cargo told of no test program")
    failed = run_all(found, at_once)
    documented = subprocess.run([*cargo, "--doc", "--quiet"]).returncode
    failed += ["documentation"] if documented != 0 else []
    if failed:
        sys.exit("error: tests failed: " + ", ".join(failed))
    print(f"{len(found)} runs of test programs and the documentation: all tests pass")


if __name__ == "__main__":
    main()
