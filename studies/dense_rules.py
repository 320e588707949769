"""The paper's dense rule pass in PyTorch beside ours, on the same visits, in one run.

Each group of rules is one 2V x V weight matrix: the aggregated past and the visit, side by side,
times the weights; where the sum equals the rule's threshold its value is written. The 95 published
rules, a batch of 32 records, visit by visit as in generation.

    cargo build --release -p consequence-studies --bin dense_rules
    python3 -m venv target/study-venv && target/study-venv/bin/pip install torch numpy
    target/study-venv/bin/python studies/dense_rules.py [--program PATH]

PyTorch is timed on one thread and on as many as it would take by itself. The ratio sets its fastest
time on any of them against our median, so that other work on the machine, which hurts threads that
wait for each other most, cannot flatter it.

The wheels of PyPI need the CUDA libraries they come with, even on a machine without a GPU.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import torch

CODES, LABELS, SPECIAL = 1610, 6, 3
WIDTH = CODES + LABELS + SPECIAL
BATCH, ENCOUNTERS, CODES_PER_VISIT = 32, 4, 14
TARGET = 1000


class Group:
    """Rules of one temporal component that neither read nor write what another of them writes."""

    def __init__(self, past_visits):
        self.past_visits = past_visits
        self.weights = torch.zeros(2 * WIDTH, WIDTH)
        self.thresholds = torch.full((WIDTH,), -1.0)
        self.values = torch.zeros(WIDTH)
        self.written = set()

    def add(self, rule):
        _, past_present, past_absent, present, absent, output, value = rule
        self.weights[past_present, output] = 1
        self.weights[past_absent, output] = -1
        self.weights[[WIDTH + code for code in present], output] = 1
        self.weights[[WIDTH + code for code in absent], output] = -1
        self.thresholds[output] = len(past_present) + len(present)
        self.values[output] = value
        self.written.add(output)

    def past(self, visits, now):
        """The boolean "or" of the visits that the temporal component selects, numbered from 1."""
        if self.past_visits == -1:
            chosen = list(range(now))
        else:
            chosen = [k - 1 if k > 0 else now + k for k in self.past_visits]
            chosen = sorted({visit for visit in chosen if 0 <= visit < now})
        if not chosen:
            return torch.zeros(visits.shape[0], WIDTH)
        return visits[:, chosen].amax(dim=1)

    def apply(self, visits, now):
        inputs = torch.cat([self.past(visits, now), visits[:, now]], dim=1)
        fires = inputs @ self.weights == self.thresholds
        visits[:, now] = torch.where(fires, self.values, visits[:, now])


def grouped(rules):
    """As few groups as a safe order allows: a rule joins the first group of its temporal component
    that comes after every group that writes what it reads and before none it must precede."""
    groups = []
    last_write = {}
    for rule in rules:
        past_visits, output = rule[0], rule[5]
        earliest = max([last_write.get(code, -1) for code in [*rule[3], *rule[4], output]]) + 1
        for number in range(earliest, len(groups)):
            if groups[number].past_visits == past_visits:
                break
        else:
            groups.append(Group(past_visits))
            number = len(groups) - 1
        groups[number].add(rule)
        last_write[output] = max(number, last_write.get(output, -1))
    return groups


def records(rules, seed):
    """Visits rich in the codes that rules name, so that outputs are worth comparing."""
    source = random.Random(seed)
    named = sorted({code for rule in rules for code in [*rule[3], rule[5]] if code < CODES})
    batch = []
    for _ in range(BATCH):
        static = [CODES + source.randrange(4), CODES + 4 + source.randrange(2)]
        record = [sorted(static)]
        for _ in range(ENCOUNTERS):
            codes = set(source.sample(named, CODES_PER_VISIT // 2))
            while len(codes) < CODES_PER_VISIT:
                codes.add(source.randrange(CODES))
            record.append(sorted(codes))
        batch.append(record)
    return batch


def dense(batch):
    visits = torch.zeros(BATCH, ENCOUNTERS + 1, WIDTH)
    for number, record in enumerate(batch):
        for visit, codes in enumerate(record):
            visits[number, visit, codes] = 1
    return visits


def apply(groups, proposed):
    """Constrains each visit before the next is looked at."""
    visits = proposed.clone()
    for now in range(visits.shape[1]):
        for group in groups:
            group.apply(visits, now)
    return visits


def seconds_per_visit(groups, proposed):
    start = time.perf_counter()
    apply(groups, proposed)
    return (time.perf_counter() - start) / (BATCH * (ENCOUNTERS + 1))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=root / "target/release/dense_rules", help="our half")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    ask = lambda *words: json.loads(subprocess.check_output([options.program, *words]))

    rules = ask("rules")
    batch = records(rules, seed=61)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(batch, file)
        file.flush()
        ours = ask("run", file.name)

    groups = grouped(rules)
    proposed = dense(batch)
    timed = {}
    with torch.inference_mode():
        constrained = apply(groups, proposed)
        for threads in sorted({1, torch.get_num_threads()}):
            torch.set_num_threads(threads)
            timed[threads] = [seconds_per_visit(groups, proposed) for _ in range(options.repeats)]
    theirs = [[torch.nonzero(visit).flatten().tolist() for visit in record] for record in constrained]

    changed = sum(a != b for one, two in zip(batch, theirs) for a, b in zip(one, two))
    equal = theirs == ours["records"]
    our_seconds = ours["seconds_per_visit"]
    ratio = min(min(seconds) for seconds in timed.values()) / our_seconds
    print(f"{len(rules)} rules in {len(groups)} groups, {BATCH} records of {ENCOUNTERS + 1} visits")
    for threads, seconds in timed.items():
        median, fastest = statistics.median(seconds) * 1e6, min(seconds) * 1e6
        print(f"dense pass, {threads} threads: {median:12.2f} us a visit, fastest {fastest:.2f}")
    print(f"override, 1 thread:    {our_seconds * 1e6:12.3f} us a visit, fastest {ours['fastest'] * 1e6:.3f}")
    print(f"ratio of their fastest to our median {ratio:,.0f} (target {TARGET:,}): "
          f"{'met' if ratio >= TARGET else 'MISSED'}")
    print(f"visits changed by the rules: {changed}; outputs equal: {equal}")
    return 0 if equal and ratio >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
