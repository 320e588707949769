"""Parts of a study on a borrowed GPU: each ends in time, keeps what it found, and goes on where it was stopped.

`speed_gpu.py` and `speed_gpu_halo.py` are made of them.
"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

#: A command on the machine may take ten minutes; what is begun is to end before.
SECONDS_OF_A_RUN = 8 * 60


class OutOfTime(Exception):
    """What is left is for the next run of the same command."""


class Part:
    """What a part found so far, in a file that is written after every step."""

    def __init__(self, name, folder, again=False):
        self.path = folder / f"{name}.json"
        there = self.path.exists() and not again
        self.found = json.loads(self.path.read_text()) if there else {}

    def step(self, name, do):
        """What a step found: what it found before, or what `do` gives now."""
        if name not in self.found:
            self.found[name] = do()
            self.keep()
        return self.found[name]

    def has(self, name):
        return name in self.found

    def keep(self):
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(self.found, indent=1))
        beside.replace(self.path)

    def aim(self, name, value, limit, unit, least=False):
        """Says whether an aim is reached, and keeps that."""
        reached = value >= limit if least else value <= limit
        verdict = "reached" if reached else "MISSED"
        self.found.setdefault("aims", {})[name] = {"value": value, "limit": limit, "unit": unit, "verdict": verdict}
        self.keep()
        print(f"  AIM {verdict}: {name}: {value:.4g} {unit}, {'at least' if least else 'at most'} {limit:g}", flush=True)


class Program:
    """The program under study, in a folder of its own."""

    def __init__(self, path, folder, seconds=SECONDS_OF_A_RUN):
        self.path, self.folder = pathlib.Path(path).resolve(), pathlib.Path(folder)
        self.until = time.monotonic() + seconds

    def left(self):
        """Seconds that are left of this run."""
        return self.until - time.monotonic()

    def needs(self, seconds):
        """Ends the run here, if something would not be done in time."""
        if self.left() < seconds:
            raise OutOfTime(f"{seconds:.0f} s are needed, and {self.left():.0f} s are left")

    def run(self, *arguments, before=()):
        """Runs a command; gives its report, and the lines that it told with their seconds. One that takes too long is asked to
        stop, so that it keeps what it has done. `before` is put before the program."""
        command = [*map(str, before), str(self.path), *map(str, arguments), "--json"]
        began, told = time.monotonic(), []
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            running = subprocess.Popen(command, cwd=self.folder, stdout=out, stderr=subprocess.PIPE, text=True)
            asked = watch(running, max(self.left(), 1))
            for line in running.stderr:
                told.append((time.monotonic() - began, line.rstrip()))
                errors.write(line)
            status = running.wait()
            asked.cancel()
            if asked.fired:
                raise OutOfTime(" ".join(command))
            if status not in (0, 1):
                sys.exit("\n".join([" ".join(command), *(line for _, line in told)]))
            out.seek(0)
            return json.loads(out.read()), told, time.monotonic() - began

    def train(self, *arguments):
        """Trains, or goes on with a training that was stopped. One that was finished tells no seconds, and is done again."""
        found = self.run("train", *arguments, "--resume")
        if not any("training_seconds" in epoch for epoch in found[0]["epochs"]):
            found = self.run("train", *arguments, "--force")
        return found

    def make(self, out, *arguments):
        """The same, unless what it writes is there."""
        if not (self.folder / out).exists():
            self.run(*arguments, "--out", out)
        return out


class watch:
    """Asks a process to stop when its time is over, and ends it if it does not."""

    def __init__(self, process, seconds):
        import threading

        self.process, self.fired = process, False
        self.timers = [threading.Timer(seconds, self.ask), threading.Timer(seconds + 30, process.kill)]
        for timer in self.timers:
            timer.daemon = True
            timer.start()

    def ask(self):
        self.fired = True
        self.process.send_signal(signal.SIGINT)

    def cancel(self):
        for timer in self.timers:
            timer.cancel()


def drawn(report):
    """Seconds that the GPU drew, and what stood beside it, by the report of `generate`."""
    drawing = report["drawing"]
    if drawing["slots"] is None:
        sys.exit(f"records were drawn by {drawing['drawn_by']}, and not by a GPU")
    return drawing["seconds"] | {"slots": drawing["slots"], "left_by_gpu": drawing["left_by_gpu"]}


def training_seconds(report):
    """Seconds of the steps of each epoch after the first, as far as this run trained them; and with validation."""
    known = [epoch for epoch in report["epochs"] if "training_seconds" in epoch]
    later = [epoch for epoch in known if epoch["epoch"] > 1] or known
    return [epoch["training_seconds"] for epoch in later], [epoch["seconds"] for epoch in later]


def skipped(why):
    print(f"SKIPPED: {why}", flush=True)


def run_parts(parts, chosen, program, settings):
    """Runs parts, by their names, until the time is over. Gives whether all of them ended."""
    results = program.folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        do, minutes = parts[name]
        print(f"== {name} (about {minutes} minutes on an H200)", flush=True)
        began = time.monotonic()
        try:
            do(Part(name, results, settings.again), program, settings)
        except OutOfTime as over:
            print(f"NOT DONE YET: {name}: {over}; give the same command again to go on", flush=True)
            return False
        print(f"== {name}: done, {time.monotonic() - began:.0f} s now; {results / name}.json", flush=True)
    return True


def summary(folder):
    """Every aim that was looked at, in one table."""
    print("| part | aim | value | limit | |\n|---|---|---|---|---|")
    for path in sorted((folder / "results").glob("*.json")):
        for name, aim in json.loads(path.read_text()).get("aims", {}).items():
            print(f"| {path.stem} | {name} | {aim['value']:.4g} {aim['unit']} | {aim['limit']:g} | {aim['verdict']} |")
