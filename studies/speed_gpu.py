"""Training and generation on a GPU: that they come to what the CPU comes to, and what they take.

    python3 studies/speed_gpu.py --program target/release/consequence [--patients 1006321] [--beside 20000]
        [--records 10000 1000000]
    python3 studies/speed_gpu.py --program target/release/consequence --halo [--patients 40000] [--records 10000 100000]

Simulates outpatients, trains the default network on the CPU and on the first GPU on some of them, with and
without the rules of the simulation, and asks both networks about held-out records. Then trains on the GPU on
all, and times its epochs by when they are told of, validation and checkpoint included. Last it trains on simulated inpatients
with their rules, and has CPU and GPU write records of that model: how many are the same, line by line, of the first number,
and what a MEDS dataset of each number takes; any cohort that breaks a rule ends it. Needs Python alone, and CUDA's libraries where the
program finds them (`LD_LIBRARY_PATH`).

`--halo` does something else: HALO's network beside the reference's way in PyTorch on the same card (`speed_gpu_halo.py`);
`--check` tries that on a tiny network.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from speed_gpu_halo import halo


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

    @staticmethod
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
    taken = program.epochs(told)
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
    parser.add_argument("--patients", type=int, help="all of them [default: 1006321, with --halo 40000]")
    parser.add_argument("--beside", type=int, default=20_000, help="patients on both devices")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--records", type=int, nargs="*", help="to be written [default: 10000 1000000, with --halo 100000]")
    parser.add_argument("--batch", type=int, nargs="*", default=[], help="and these for all patients")
    parser.add_argument("--halo", action="store_true", help="HALO's network beside PyTorch")
    parser.add_argument("--check", action="store_true", help="with --halo: tiny")
    parser.add_argument("--out", help="a file for all figures")
    arguments = parser.parse_args()
    if arguments.halo:
        patients = arguments.patients or (200 if arguments.check else 40_000)
        numbers = arguments.records or ([40, 80] if arguments.check else [10_000, 100_000])
        with tempfile.TemporaryDirectory() as folder:
            found = halo(Program(arguments.program, folder), patients, numbers, arguments.check)
    else:
        found = default_network(arguments)
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(found, indent=1))


def default_network(arguments):
    """The default network, in training and generation."""
    found = {"beside": [], "whole": []}
    patients = 1_006_321 if arguments.patients is None else arguments.patients
    records = [10_000, 1_000_000] if arguments.records is None else arguments.records
    with tempfile.TemporaryDirectory() as folder:
        program = Program(arguments.program, folder)
        cohorts = {"some": arguments.beside, "all": patients}
        for cohort, count in cohorts.items():
            if count:
                command = ["simulate", "outpatient", "--codes-only", "--patients", count]
                _, _, seconds = program.run(*command, "--out", cohort)
                print(f"{count:,} outpatients simulated in {seconds:.1f} s", flush=True)
        for rules in [None, "some/truth.rules"] if arguments.beside else []:
            if rules and not os.path.exists(os.path.join(folder, rules)):
                sys.exit(f"there is no {rules} among {os.listdir(folder)}")
            for device in ["cpu", "cuda:0"]:
                model, figures = train(program, "some", device, arguments.epochs, rules)
                figures["held_out_nats"] = held_out(program, model, "some")
                found["beside"].append(figures)
            cpu, gpu = (figures["held_out_nats"] for figures in found["beside"][-2:])
            print(f"  on the GPU {100 * (gpu / cpu - 1):+.3f}% nats", flush=True)
        for rules in [None, "all/truth.rules"] if patients else []:
            for batch in [None, *arguments.batch]:
                _, figures = train(program, "all", "cuda:0", arguments.epochs, rules, batch)
                found["whole"].append(figures)
        if records:
            found["generation"] = generation(program, 5_000, records)
    return found


if __name__ == "__main__":
    main()
