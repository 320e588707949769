"""The reference's way of generating and training in PyTorch beside ours, on the CPU, in one run.

Theirs is that of `reference_network.py`, in batches of 32. It has the weights that our half writes, and is checked
against its probabilities first.

    cargo build --release -p consequence-studies --bin speed_cpu
    python3 -m venv target/study-venv && target/study-venv/bin/pip install torch numpy
    target/study-venv/bin/python studies/speed_cpu.py [--short] [--program PATH]

`--check` compares probabilities on a tiny network and times nothing. Generation is timed twice: with the masks of the
triangular layers multiplied in at every pass, and beforehand.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from reference_network import Network, dense, generate, read_tensors, train_step

BATCH = 32
OUR_BATCH = 256
THREADS = 2
FOLDED = {False: "masks as published", True: "masks folded in beforehand"}


def batch_seconds(runs, longest, of_pass):
    """Seconds for a whole batch, which goes on for so many encounters. `of_pass` is what a pass of the
    head takes, given the times of all of them."""
    passes = [seconds for times in runs for visit in times for seconds in visit[1:]]
    count = lambda visits: statistics.mean(len(visit) - 1 for visit in visits)
    blocks = statistics.median(visit[0] for times in runs for visit in times)
    in_label = count([times[0] for times in runs])
    in_encounter = count([visit for times in runs for visit in times[1:]])
    return blocks * (1 + longest) + of_pass(passes) * (in_label + longest * in_encounter), in_encounter


class Ours:
    """Our half, which answers questions."""

    def __init__(self, program, *words):
        environment = {**os.environ, "RAYON_NUM_THREADS": str(THREADS)}
        self.process = subprocess.Popen(
            [program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"our half gave up at: {' '.join(map(str, words))}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def same_network(ours, probabilities):
    """The network with our weights, and by how much its probabilities differ from ours at most."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "weights.safetensors"
        sizes = ours.ask("weights", probabilities, path)
        network = Network(sizes, read_tensors(path))
    answer = ours.ask("logits", probabilities)
    rows = iter(answer["logits"])
    difference = 0.0
    with torch.inference_mode():
        for record in answer["records"]:
            visits = dense(sizes, [record], len(record) + 1)
            logits = network.head(network.history(visits)[:, :-1], visits[:, 1:])[0]
            for slot in range(len(record)):
                theirs = logits[slot][network.allowed(slot + 1).bool()]
                gap = torch.sigmoid(theirs) - torch.sigmoid(torch.tensor(next(rows)))
                difference = max(difference, float(gap.abs().max()))
    return network, difference


def verdict(name, found, aim, at_most=False):
    met = found <= aim if at_most else found >= aim
    bound = "at most" if at_most else "at least"
    print(f"  {name}: {found:.4g} (aim {bound} {aim:g}): {'met' if met else 'MISSED'}")


def fastest_tenth(times):
    """The time that a tenth of them do not reach: what the work takes when nothing disturbs it."""
    return sorted(times)[len(times) // 10]


def rest():
    """Lets threads that wait in a loop for more work go to sleep."""
    time.sleep(0.5)


def time_generation(ours, probabilities, repeats, encounters):
    network, difference = same_network(ours, probabilities)
    print(f"\ngeneration, {probabilities}: probabilities differ by {difference:.1e} at most")
    ask = lambda seed: ours.ask("generate", probabilities, seed, OUR_BATCH, 4 * OUR_BATCH)
    ask(0)
    mine, theirs = [], {False: [], True: []}
    for repeat in range(repeats):
        for fold in (False, True):
            rest()
            mine.append(ask(repeat + 1))
            rest()
            torch.manual_seed(repeat)
            visits, times = generate(network, BATCH, fold, encounters)
            theirs[fold].append(times)
            codes = float(visits[:, 2:].sum() / BATCH / (visits.shape[1] - 2))
            print(f"  theirs, {FOLDED[fold]}: {sum(map(sum, times)):.1f} s for {BATCH} records, the label slot"
                  f" and {visits.shape[1] - 2} encounters of {codes:.1f} codes", flush=True)
    seconds = [run["seconds"] / run["records"] for run in mine]
    per = statistics.median((run["visits"] - run["records"]) / run["records"] for run in mine)
    codes = statistics.median(run["codes"] / (run["visits"] - run["records"]) for run in mine)
    longest = statistics.mean(run["longest"] for run in mine)
    print(f"  ours, batch {OUR_BATCH}: {1e3 * statistics.median(seconds):.3f} ms a record, fastest {1e3 * min(seconds):.3f}"
          f" ({per:.2f} encounters of {codes:.1f} codes; {len(mine)} runs of {mine[0]['records']} records)")
    print(f"  a batch of {BATCH} goes on for {longest:.2f} encounters")
    for fold, name in FOLDED.items():
        median, count = batch_seconds(theirs[fold], longest, statistics.median)
        fast, _ = batch_seconds(theirs[fold], longest, fastest_tenth)
        print(f"  theirs, batch {BATCH}, {name}: {1e3 * median / BATCH:.0f} ms a record, {1e3 * fast / BATCH:.0f}"
              f" if every pass were as fast as the fastest tenth; {count:.0f} passes an encounter")
        ratios = median / BATCH / statistics.median(seconds), fast / BATCH / min(seconds)
        if fold:
            print(f"  ratio, {name}: {ratios[0]:.4g}, of the fastest {ratios[1]:.4g}")
        else:
            verdict("ratio of medians", ratios[0], 300)
            verdict("ratio of the fastest", ratios[1], 300)


def time_rules(ours, probabilities, rounds, records, aim):
    answer = ours.ask("rules", probabilities, rounds, OUR_BATCH, records)
    if answer["rules"] == 0:
        print("\nSKIPPED: the published rules are not there, so their cost is not measured")
        return
    rounds = answer["rounds"]
    per = lambda run, what: run[what] / run["visits"]
    print(f"\n{answer['rules']:,} rules, guided over off, the referee included: {len(rounds)} rounds of {records}"
          f" records, off {1e3 * statistics.median(per(off, 'seconds') for off, _ in rounds):.3f} ms a visit")
    codes = [statistics.median(run[side]["codes"] / (run[side]["visits"] - run[side]["records"])
                               for run in rounds) for side in (0, 1)]
    print(f"  codes an encounter: {codes[0]:.1f} off, {codes[1]:.1f} guided")
    for what, name in (("seconds", "by the clock"), ("busy", "by threads' own time")):
        ratios = sorted(per(guided, what) / per(off, what) for off, guided in rounds)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        print(f"  {name}: middle half of the rounds {100 * (low - 1):+.2f}% to {100 * (high - 1):+.2f}%")
        verdict(f"cost in percent, {name}", 100 * (statistics.median(ratios) - 1), aim, at_most=True)
    fast = [fastest_tenth([per(round[side], "seconds") for round in rounds]) for side in (0, 1)]
    verdict("cost in percent, fastest tenth of each by the clock", 100 * (fast[1] / fast[0] - 1), aim, at_most=True)


def time_training(ours, repeats, full_repeats):
    network, _ = same_network(ours, "skewed")
    sizes = network.sizes
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4)
    for length, count, aim in (("inpatient", repeats, 8), ("full", full_repeats, 1.2)):
        mine, theirs = [], []
        for step in range(count + 1):
            visits = dense(sizes, ours.ask("records", length, step), sizes["positions"])
            rest()
            for _ in range(3 if length == "inpatient" else 1):
                mine.append((step, ours.ask("learn", length, step)["seconds"]))
            rest()
            theirs.append((step, train_step(network, optimiser, visits)))
        mine, theirs = ([seconds for step, seconds in times if step > 0] for times in (mine, theirs))
        print(f"\ntraining, {length} records, steps of {BATCH}: ours {statistics.median(mine):.3f} s,"
              f" theirs {statistics.median(theirs):.3f} s (fastest {min(mine):.3f}, {min(theirs):.3f}; {count} rounds)")
        verdict("ratio of medians", statistics.median(theirs) / statistics.median(mine), aim)
        verdict("ratio of the fastest", min(theirs) / min(mine), aim)


def show_memory(program):
    print()
    peaks = []
    for records in (200, 2000):
        ours = Ours(program)
        ours.ask("generate", "uniform", 1, 64, records)
        peaks.append(ours.ask("memory") / 2**20)
        ours.close()
        print(f"peak memory for {records} records, batch 64: {peaks[-1]:.0f} MiB")
    verdict("ratio", max(peaks) / min(peaks), 1.02, at_most=True)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=root / "target/release/speed_cpu", help="our half")
    parser.add_argument("--short", action="store_true", help="few repeats: minutes")
    parser.add_argument("--check", action="store_true", help="only compare probabilities, tiny")
    parser.add_argument("--only", choices=["generation", "rules", "training", "memory"], action="append")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)

    if options.check:
        ours = Ours(options.program, "--tiny")
        differences = {probabilities: same_network(ours, probabilities)[1] for probabilities in ("uniform", "skewed")}
        ours.close()
        print(json.dumps(differences))
        return 0 if max(differences.values()) < 1e-5 else 1

    wanted = options.only or ["generation", "rules", "training", "memory"]
    print(f"PyTorch {torch.__version__}, {THREADS} threads on both sides")
    ours = Ours(options.program)
    if "generation" in wanted:
        for probabilities in ("uniform", "skewed"):
            time_generation(ours, probabilities, *((1, 1) if options.short else (3, 1)))
    if "rules" in wanted:
        time_rules(ours, "uniform", 8 if options.short else 40, 256, 1)
        time_rules(ours, "many_rules", 8 if options.short else 40, 256, 5)
    if "training" in wanted:
        time_training(ours, *((2, 1) if options.short else (5, 3)))
    ours.close()
    if "memory" in wanted:
        show_memory(options.program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
