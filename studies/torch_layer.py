"""`conseq.torch.ConstraintLayer`: the same visits as the writer, no violation, and what it costs.

    make env-torch wheel && target/torch-env/bin/pip install --no-index --find-links target/wheels conseq
    target/torch-env/bin/python studies/torch_layer.py [equal] [train] [dense] [pishield]

- `equal`: 2,000 random plans; every visit, and every ruling, is that of the rest of the package.
- `train`: a GRU trained with the layer on simulated patients; 100,000 records, judged by auditor and referee.
- `dense`: the 95 published rules over a batch of 256 records of 45 visits, by the layer and by the paper's dense pass. Each is
  run in a process of its own. Memory is what the process grows by at most, tables and weights counted, inputs not.
- `pishield`: PiShield 1.0 on the rules of one visit, which are those that it can express (`pip install --no-deps pishield`).

On a machine with a GPU, `dense` runs there as well; `--native FOLDER` has another place of the package.
"""

import argparse
import contextlib
import io
import json
import logging
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH, VISITS, CODES_PER_VISIT = 256, 45, 14
TARGETS = {"faster": 10, "smaller": 50}


def published():
    """The published rules, and their text in the rule language."""
    for folder in (ROOT.parent / "shared/reference", ROOT / "target/reference"):
        if (folder / "published_rules.json").exists():
            file = json.loads((folder / "published_rules.json").read_text())
            break
    else:
        sys.exit("SKIPPED: ../shared/reference/published_rules.json is not there")
    codes, labels = file["codes"], file["labels"]
    name = lambda code: f"CODE//{code}" if code < codes else f"LABEL//{code - codes}"
    windows = {"[1]": "static", "[-1]": "previous", "-1": "past"}
    rules = []
    for number, (past, present, absent, now, not_now, output, value) in enumerate(file["rules"]):
        window = windows.get(str(past))
        parts = [f"{name(code)} in {window}" for code in present] + [f"not {name(code)} in {window}" for code in absent]
        parts += [name(code) for code in now] + [f"not {name(code)}" for code in not_now]
        rules.append(f"rule r{number}: {' and '.join(parts)} => {'' if value else 'not '}{name(output)}")
    names = [name(code) for code in range(codes + labels)]
    return file, names[:codes], names[codes:], "\n".join(rules)


def published_plan():
    import conseq as cq

    file, codes, labels, text = published()
    # Encounter codes first, as the reference numbers them.
    vocabulary = cq.Vocabulary._of([(code, False) for code in codes] + [(label, True) for label in labels])
    return file, cq.Rules.parse(text).compile(vocabulary, max_visits=VISITS - 1)


def visits_of(file, width, device="cpu"):
    """A batch of true visits, rich in the codes that rules name."""
    import torch

    generator = torch.Generator().manual_seed(61)
    codes = file["codes"]
    named = torch.tensor(sorted({code for rule in file["rules"] for code in [*rule[3], rule[5]] if code < codes}))
    visits = torch.zeros((BATCH, VISITS, width))
    for half, pool in ((CODES_PER_VISIT // 2, named), (CODES_PER_VISIT - CODES_PER_VISIT // 2, torch.arange(codes))):
        drawn = pool[torch.randint(0, len(pool), (BATCH, VISITS - 1, half), generator=generator)]
        visits[:, 1:].scatter_(2, drawn, 1.0)
    visits[torch.arange(BATCH), 0, codes + torch.randint(0, 4, (BATCH,), generator=generator)] = 1.0
    visits[torch.arange(BATCH), 0, codes + 4 + torch.randint(0, 2, (BATCH,), generator=generator)] = 1.0
    return visits.to(device)


class Dense:
    """The paper's pass over whole records: one 2V x V matrix for each group of rules that can be applied together."""

    def __init__(self, rules, order, width, device):
        import torch

        self.groups = []
        last_write = {}
        for rule in sorted(rules, key=lambda rule: order[rule[5]]):
            past, present, absent, now, not_now, output, value = rule
            first = max([last_write.get(code, -1) for code in [*now, *not_now, output]]) + 1
            fitting = [number for number in range(first, len(self.groups)) if self.groups[number][0] == past]
            if not fitting:
                tensors = [torch.zeros(2 * width, width), torch.full((width,), -1.0), torch.zeros(width)]
                self.groups.append((past, *(tensor.to(device) for tensor in tensors)))
                fitting = [len(self.groups) - 1]
            _, weights, thresholds, values = self.groups[fitting[0]]
            for code in present:
                weights[code, output] = 1
            for code in absent:
                weights[code, output] = -1
            for code in now:
                weights[width + code, output] = 1
            for code in not_now:
                weights[width + code, output] = -1
            thresholds[output], values[output] = len(present) + len(now), value
            last_write[output] = max(fitting[0], last_write.get(output, -1))

    def __call__(self, visits):
        import torch

        for past, weights, thresholds, values in self.groups:
            seen = torch.zeros_like(visits)
            if past == [1]:
                seen[:, 1:] = visits[:, :1]
            elif past == [-1]:
                seen[:, 1:] = visits[:, :-1]
            elif past == -1:
                seen[:, 1:] = visits.cummax(1).values[:, :-1]
            fires = torch.cat([seen, visits], 2) @ weights == thresholds
            visits = torch.where(fires, values, visits)
        return visits


def measured(way, device, threads):
    """In a process of its own: seconds, and bytes that it grew by at most."""
    import torch

    torch.set_num_threads(threads)
    file, plan = published_plan()
    names = [name for name, _ in plan._native.codes()]
    order = {names.index(name): place for place, name in enumerate(plan.order) if name != "END"}
    width = len(names) + 1
    visits = visits_of(file, width, device)
    with torch.no_grad():
        if way == "dense":
            run = Dense(file["rules"], order, width, device)
            tables = [tensor for _, *tensors in run.groups for tensor in tensors]
        else:
            from conseq.torch import ConstraintLayer

            layer = ConstraintLayer(plan).to(device)
            run, tables = layer.ruling, layer.buffers()
        held = sum(tensor.numel() * tensor.element_size() for tensor in tables)
        run(visits[:2])
        before = memory(device, reset=True)
        run(visits)
        grown = held + memory(device) - before
        seconds = []
        for _ in range(3 if way == "dense" and device == "cpu" else 9):
            synchronise(device)
            start = time.perf_counter()
            run(visits)
            synchronise(device)
            seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": statistics.median(seconds), "fastest": min(seconds), "bytes": grown}))


def synchronise(device):
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def memory(device, reset=False):
    """Bytes held at most since the last reset; with one, bytes held now."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()
        if reset:
            torch.cuda.reset_peak_memory_stats()
            return torch.cuda.memory_allocated()
        return torch.cuda.max_memory_allocated()
    if reset:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    status = pathlib.Path("/proc/self/status").read_text()
    field = "VmRSS:" if reset else "VmHWM:"
    return 1024 * int(status.split(field)[1].split()[0])


def dense():
    import torch

    from conseq.torch import ConstraintLayer

    file, plan = published_plan()
    layer = ConstraintLayer(plan)
    names = [name for name, _ in plan._native.codes()]
    order = {names.index(name): place for place, name in enumerate(plan.order) if name != "END"}
    proposed = visits_of(file, layer.width)[:16]
    # Visits that obey the rules are left as they are by the dense pass: both read the same rules.
    history, valid = layer.begin(len(proposed)), torch.zeros_like(proposed)
    for visit in range(VISITS):
        decided = layer.decide(history, probabilities=proposed[:, visit], seed=1, records=range(len(proposed)))
        history, valid[:, visit] = layer.advance(history, decided), decided.float()
    passed = Dense(file["rules"], order, layer.width, "cpu")
    changed = int((valid != proposed).sum())
    print(f"the layer changed {changed:,} codes of {len(proposed)} records; of what it wrote the dense pass changes "
          f"{int((passed(valid) != valid).sum())}")
    assert changed and torch.equal(passed(valid), valid)
    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        figures = {}
        for way in ("dense", "layer"):
            answer = subprocess.check_output(
                [sys.executable, __file__, "measured", "--way", way, "--device", device, *PASSED], text=True
            )
            figures[way] = json.loads(answer.splitlines()[-1])
            one = figures[way]
            print(f"{device:5} {way:7} {1e3 * one['seconds']:10.1f} ms (fastest {1e3 * one['fastest']:.1f})  {one['bytes'] / 1e6:9.1f} MB")
        faster = figures["dense"]["fastest"] / figures["layer"]["seconds"]
        smaller = figures["dense"]["bytes"] / max(1, figures["layer"]["bytes"])
        print(f"{device:5} the layer is {faster:.0f} times faster and takes {smaller:.0f} times less memory")


def equal(plans, device):
    sys.path.insert(0, str(ROOT / "python/tests"))
    from conseq.torch import ConstraintLayer
    from torch_worlds import World, compare_rulings, compare_written

    total, seed = Counter(), 0
    while total["plans"] < plans:
        plan = World(seed).plan()
        if plan is not None:
            layer = ConstraintLayer(plan).to(device)
            total += Counter(plans=1, due=layer._waits, soft=len(layer.drawing) > 0)
            total += compare_written(layer, seed) + compare_rulings(layer, seed)
        seed += 1
    rulings = sum(count for name, count in total.items() if name.startswith("ruling"))
    print(
        f"{total['plans']:,} random plans ({total['due']:,} with a choice of codes, {total['soft']:,} with soft rules): "
        f"{total['visits']:,} visits and {rulings:,} rulings, all equal"
    )


def train(records):
    import torch

    import conseq as cq
    from conseq.torch import ConstraintLayer

    # Some rules are about codes that a batch of records lacks.
    logging.getLogger("conseq").setLevel(logging.ERROR)
    torch.manual_seed(3)
    cohort = cq.Cohort.simulate("inpatient", patients=3_000, seed=3, codes_only=True)
    real = cohort.to_records()
    longest = max(len(record["visits"]) for record in real)
    plan = cohort.truth().compile(cohort, max_visits=longest)
    layer = ConstraintLayer(plan)
    column = {name: number for number, name in enumerate(layer.codes)}
    visits = torch.zeros((len(real), longest + 1, layer.width))
    lengths = torch.tensor([len(record["visits"]) + 1 for record in real])
    for number, record in enumerate(real):
        for visit, codes in enumerate([record["static"], *record["visits"]]):
            visits[number, visit, [column[code] for code in codes]] = 1.0
        visits[number, lengths[number] - 1, layer.end] = 1.0

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Parameter(torch.zeros(64))
            self.embed = torch.nn.Linear(layer.width, 64)
            self.gru = torch.nn.GRU(64, 64, batch_first=True)
            self.out = torch.nn.Linear(64, layer.width)

        def forward(self, seen):
            start = self.first.expand(len(seen), 1, -1)
            states, _ = self.gru(torch.cat([start, self.embed(seen.float())], 1))
            return self.out(states)

    model = Model()
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    start = time.perf_counter()
    for epoch in range(4):
        total = 0.0
        for batch in torch.randperm(len(real)).split(128):
            loss = layer.loss(model(visits[batch, :-1]), visits[batch], lengths[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.item() * len(batch)
        print(f"epoch {epoch + 1}: {total / len(real):.4f} nats a code that the model decides")
    print(f"trained on {len(real):,} records with {len(plan):,} rules in {time.perf_counter() - start:.0f} s; {layer.width} codes")

    class Stepper:
        """The same model, one visit at a time."""

        def __init__(self, batch):
            self.state, self.batch = None, batch

        def __call__(self, seen):
            newest = model.embed(seen[:, -1:].float()) if seen.shape[1] else model.first.expand(self.batch, 1, -1)
            states, self.state = model.gru(newest, self.state)
            return model.out(states[:, 0])

    start, count = time.perf_counter(), Counter()
    with torch.no_grad():
        for first in range(0, records, 2_000):
            numbers = torch.arange(first, min(first + 2_000, records))
            made, sizes = layer.generate(Stepper(len(numbers)), numbers, seed=7)
            new = []
            for number, (record, size) in enumerate(zip(made, sizes.tolist())):
                codes = [[] for _ in range(size)]
                for visit, code in record[:size].nonzero().tolist():
                    if code != layer.end:
                        codes[visit].append(layer.codes[code])
                new.append({"id": str(first + number), "static": codes[0], "visits": codes[1:]})
            report = plan.audit(cq.Cohort.from_records(new), referee=True, progress=False)
            broken = report.within_visit_violations + report.temporal_violations
            count += Counter(records=report.records, valid=report.valid_records, violations=broken, encounters=report.encounters)
            assert report.refereed
    print(f"{count['records']:,} records of {count['encounters']:,} encounters in {time.perf_counter() - start:.0f} s, judged by auditor and referee: {count['violations']} violations")
    assert count["violations"] == 0 and count["valid"] == count["records"] == records


def pishield():
    import torch

    try:
        from pishield.shield_layer import build_shield_layer
    except ImportError:
        print("SKIPPED: PiShield is not installed")
        return
    import conseq as cq
    from conseq.torch import ConstraintLayer

    file, codes, labels, text = published()
    within = [(number, rule) for number, rule in enumerate(file["rules"]) if rule[0] == []]
    lines = text.splitlines()
    vocabulary = cq.Vocabulary._of([(code, False) for code in codes] + [(label, True) for label in labels])
    plan = cq.Rules.parse("\n".join(lines[number] for number, _ in within)).compile(vocabulary, max_visits=VISITS - 1)
    layer = ConstraintLayer(plan)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as out, contextlib.redirect_stdout(io.StringIO()):
        for _, (_, _, _, now, not_now, output, value) in within:
            body = [str(code) for code in now] + [f"n{code}" for code in not_now]
            out.write(f"{'' if value else 'n'}{output} :- {' '.join(body)}\n")
        out.flush()
        shield = build_shield_layer(layer.width, out.name, "rev-degree", requirements_type="propositional")
    visits = visits_of(file, layer.width)
    rows = visits.flatten(0, 1)
    timed = {}
    with torch.no_grad():
        for name, run in (("PiShield", lambda: shield(rows)), ("the layer", lambda: layer.ruling(visits))):
            run()
            tries = []
            for _ in range(5):
                start = time.perf_counter()
                run()
                tries.append(time.perf_counter() - start)
            timed[name] = min(tries)
        corrected = shield(rows)
    order = {name: place for place, name in enumerate(plan.order)}
    names = [name for name, _ in plan._native.codes()]
    passed = Dense([rule for _, rule in within], {number: order[name] for number, name in enumerate(names)}, layer.width, "cpu")
    corrected = (corrected > 0.5).float().view_as(visits)
    print(
        f"{len(within)} of {len(file['rules'])} published rules are of one visit. {len(rows):,} visits: PiShield "
        f"{1e3 * timed['PiShield']:.0f} ms, the layer {1e3 * timed['the layer']:.0f} ms. Codes of what PiShield leaves that "
        f"these rules would change: {int((passed(corrected) != corrected).sum())}"
    )


def main():
    global PASSED
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["equal", "train", "dense", "pishield"])
    parser.add_argument("--plans", type=int, default=2_000)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--native", help="the folder that the package is in")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--way")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    PASSED = ["--threads", str(options.threads)]
    if options.native:
        sys.path.insert(0, options.native)
        PASSED += ["--native", options.native]
    for part in options.parts:
        match part:
            case "equal":
                equal(options.plans, options.device)
            case "train":
                train(options.records)
            case "dense":
                dense()
            case "pishield":
                pishield()
            case "measured":
                measured(options.way, options.device, options.threads)
            case _:
                parser.error(f"no part is called {part}")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
