"""Training and generation on a GPU: that they come to what the CPU comes to, and what they take.

    python3 studies/speed_gpu.py --program target/release/consequence [--patients 1006321] [--beside 20000]
        [--records 10000 1000000]

Simulates outpatients, trains the default network on the CPU and on the first GPU on some of them, with and
without the rules of the simulation, and asks both networks about held-out records. Then trains on the GPU on
all, and times its epochs by when they are told of, validation and checkpoint included. Last it trains on simulated inpatients
with their rules, and has CPU and GPU write records of that model: how many are the same, line by line, of the first number,
and what a MEDS dataset of each number takes; any cohort that breaks a rule ends it. Needs Python alone, and CUDA's libraries where the
program finds them (`LD_LIBRARY_PATH`).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time


class Program:
    """The program under study, in a folder of its own."""

    def __init__(self, path, folder):
        self.path, self.folder = pathlib.Path(path).resolve(), folder

    def run(self, *arguments):
        """Runs a command; gives its report, and the lines that it told with their seconds."""
        command = [self.path, *map(str, arguments), "--json"]
        began, told = time.monotonic(), []
        with tempfile.TemporaryFile("w+") as out:
            running = subprocess.Popen(
                command, cwd=self.folder, stdout=out, stderr=subprocess.PIPE, text=True
            )
            for line in running.stderr:
                told.append((time.monotonic() - began, line.rstrip()))
            if running.wait() > 1:
                sys.exit("\n".join([" ".join(map(str, command)), *(line for _, line in told)]))
            out.seek(0)
            return json.loads(out.read()), told, time.monotonic() - began


def epochs(told):
    """Seconds of each epoch after the first, by when they were told of."""
    at = [second for second, line in told if line.startswith("epoch ")]
    return [after - before for before, after in zip(at, at[1:])]


def train(program, cohort, device, count, rules, batch=None):
    """Trains, and gives the figures of it."""
    out = f"{device.partition(':')[0]}-{cohort}-{bool(rules)}"
    command = ["train", cohort, "--device", device, "--epochs", count, "--out", out, "--force"]
    command += ["--rules", rules] if rules else []
    command += ["--batch", batch] if batch else []
    report, told, seconds = program.run(*command)
    taken = epochs(told)
    figures = {
        "device": device,
        "rules": report["rules"]["hard"],
        "batch": batch,
        "tuning_nats": [epoch["tuning_nats"] for epoch in report["epochs"]],
        "train_nats": [epoch["train_nats"] for epoch in report["epochs"]],
        "epoch_seconds": taken,
        "training_seconds": report["seconds"],
        "all_seconds": seconds,
        "told": [f"{second:7.1f} {line}" for second, line in told],
    }
    nats = " ".join(f"{nats:.3f}" for nats in figures["tuning_nats"])
    times = " ".join(f"{second:.2f}" for second in taken)
    print(f"{cohort}, {figures['rules']} rules, batch {batch or 'usual'}, {device}: {nats} nats a tuning")
    print(f"  record; epochs of {times} s; {seconds:.1f} s in all", flush=True)
    return out, figures


def held_out(program, model, cohort):
    """Nats of a held-out record."""
    report, _, _ = program.run("evaluate", "--perplexity", model, "--real", cohort)
    nats = report["likelihood"]["nats_per_record"]
    print(f"  {model}: {nats:.3f} nats a held-out record", flush=True)
    return nats


def generation(program, patients, numbers):
    """Has both devices write records, and gives the figures."""
    program.run("simulate", "inpatient", "--patients", patients, "--out", "inpatients")
    command = ["train", "inpatients", "--rules", "inpatients/truth.rules", "--epochs", 3, "--out", "writer"]
    program.run(*command)
    lines = {}
    for device in ["cpu", "cuda:0"]:
        out = f"{device.partition(':')[0]}.jsonl"
        program.run("generate", "writer", "--records", numbers[0], "--device", device, "--out", out)
        lines[device] = pathlib.Path(program.folder, out).read_text().splitlines()
    same = sum(one == other for one, other in zip(*lines.values()))
    print(f"{same:,} of {numbers[0]:,} records are the same on both", flush=True)
    found = {"same": same, "of": numbers[0], "written": []}
    for number in numbers:
        for device in ["cpu", "cuda:0"]:
            command = ["generate", "writer", "--records", number, "--device", device, "--out", "made", "--force"]
            report, _, seconds = program.run(*command)
            judged, _, _ = program.run("audit", "made", "--rules", "inpatients/truth.rules")
            broken = judged["violations"]
            print(f"  {number:,} records to MEDS, {device}: {seconds:.2f} s, {broken} violations", flush=True)
            if broken:
                sys.exit("rules are broken")
            found["written"].append({"records": number, "device": device, "seconds": seconds, "report": report})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--patients", type=int, default=1_006_321)
    parser.add_argument("--beside", type=int, default=20_000, help="patients on both devices")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--records", type=int, nargs="*", default=[10_000, 1_000_000], help="to be written")
    parser.add_argument("--batch", type=int, nargs="*", default=[], help="and these for all patients")
    parser.add_argument("--out", help="a file for all figures")
    arguments = parser.parse_args()
    found = {"beside": [], "whole": []}
    with tempfile.TemporaryDirectory() as folder:
        program = Program(arguments.program, folder)
        cohorts = {"some": arguments.beside, "all": arguments.patients}
        for cohort, patients in cohorts.items():
            if patients:
                command = ["simulate", "outpatient", "--codes-only", "--patients", patients]
                _, _, seconds = program.run(*command, "--out", cohort)
                print(f"{patients:,} outpatients simulated in {seconds:.1f} s", flush=True)
        for rules in [None, "some/truth.rules"] if arguments.beside else []:
            if rules and not os.path.exists(os.path.join(folder, rules)):
                sys.exit(f"there is no {rules} among {os.listdir(folder)}")
            for device in ["cpu", "cuda:0"]:
                model, figures = train(program, "some", device, arguments.epochs, rules)
                figures["held_out_nats"] = held_out(program, model, "some")
                found["beside"].append(figures)
            cpu, gpu = (figures["held_out_nats"] for figures in found["beside"][-2:])
            print(f"  on the GPU {100 * (gpu / cpu - 1):+.3f}% nats", flush=True)
        for rules in [None, "all/truth.rules"] if arguments.patients else []:
            for batch in [None, *arguments.batch]:
                _, figures = train(program, "all", "cuda:0", arguments.epochs, rules, batch)
                found["whole"].append(figures)
        if arguments.records:
            found["generation"] = generation(program, 5_000, arguments.records)
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
