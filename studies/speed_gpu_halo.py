"""HALO's network on a GPU beside the reference's way in PyTorch on the same card: parts of `speed_gpu.py`.

Records of the published vocabulary, with about as many codes and encounters as the paper's inpatients have, are drawn
here. Our program trains HALO's network on them on the GPU, without what the published rules decide, and writes records with the rules and
without, with products in 32 bits and with factors rounded to 10 bits. The reference-style network of `reference_network.py` takes the weights over: it must give the same records
the same nats. Then both generate, ours in one go and theirs in batches of 32, and both train, theirs on records that are padded to
all slots. What our program takes after loading is what it tells by itself: the seconds that the GPU drew, and those of a training's steps.

Without PyTorch what is theirs is left out, and that is said.
"""

import itertools
import json
import pathlib
import random
import statistics
import sys

from gpu_parts import drawn, skipped, training_seconds

# Encounters of the paper's inpatients, and codes of each.
ENCOUNTERS, CODES = 1.27, 13.6
MOST_ENCOUNTERS = 43
SIZES = {"width": 768, "layers": 12, "heads": 12}
TINY = {"width": 32, "layers": 2, "heads": 4}
RULES = pathlib.Path(__file__).resolve().parent.parent.parent / "shared/reference/published_rules.json"
GPU = "cuda:0"
PARTS = ("static_codes", "encounter_codes", "end")


def published(path):
    """The published vocabulary, codes of encounters and static ones, and the rules by the names of codes."""
    given = json.loads(path.read_text()) if path.exists() else {"codes": 1610, "labels": 6, "rules": []}
    encounter = [f"CODE//{code}" for code in range(given["codes"])]
    static = [f"AGE//{code}" if code < 4 else f"SEX//{code - 4}" for code in range(given["labels"])]
    name = (encounter + static).__getitem__
    rules = [[rule[0], *(list(map(name, part)) for part in rule[1:5]), name(rule[5]), rule[6]] for rule in given["rules"]]
    return encounter, static, rules


def write_records(path, codes, count, seed, encounters=None):
    """Writes records of random codes, of so many encounters or of as many as is usual, and the list of all codes beside them."""
    encounter, static = codes
    draw = random.Random(seed)
    names = {"static": static, "encounter": encounter}
    path.with_suffix(".codes.json").write_text(json.dumps(names))
    with open(path, "w") as file:
        for number in range(count):
            visits = []
            goes_on = lambda: len(visits) < encounters if encounters else draw.random() >= 1 / ENCOUNTERS and len(visits) < MOST_ENCOUNTERS
            while not visits or goes_on():
                visits.append(draw.sample(encounter, max(1, round(draw.gauss(CODES, 4)))))
            labels = [draw.choice(static[:4]), draw.choice(static[4:])]
            record = {"id": f"p{number}", "static": labels, "visits": visits}
            file.write(json.dumps(record) + "\n")


def read_records(path, positions):
    """Records as lists of visits, of the positions of codes."""
    for line in open(path):
        record = json.loads(line)
        yield [sorted(positions[name] for name in visit) for visit in [record["static"], *record["visits"]]]


def their_network(folder, card, device):
    """The reference-style network with the weights of our model."""
    from reference_network import Network, read_tensors

    shape, codes = card["shape"], card["codes"]["static"] + card["codes"]["encounter"]
    sizes = {name: shape[name] for name in ("codes", "positions", "width", "layers", "heads")}
    sizes |= {"statics": len(card["codes"]["static"]), "end": codes.index("END"), "start": len(codes)}
    return Network(sizes, read_tensors(folder / "model.safetensors")).to(device)


def their_nats(network, records):
    """The nats of records, in parts, by the reference-style network."""
    import torch
    from reference_network import dense

    sizes, total = network.sizes, dict.fromkeys(PARTS, 0.0)
    with torch.inference_mode():
        for record in records:
            ended = [*record[:-1], [*record[-1], sizes["end"]]]
            visits = dense(sizes, [ended], len(ended) + 1).to(network.device)
            logits = network.head(network.history(visits)[:, :-1], visits[:, 1:])[0].double()
            each = torch.nn.functional.binary_cross_entropy_with_logits(logits, visits[0, 1:].double(), reduction="none")
            total["static_codes"] += float(each[0, : sizes["statics"]].sum())
            ends = float(each[1:, sizes["end"]].sum())
            total["encounter_codes"] += float(each[1:, sizes["statics"] : sizes["start"]].sum()) - ends
            total["end"] += ends
    return total


def our_nats(program, model, records):
    """The same by our program, over all splits."""
    total, measured = dict.fromkeys(PARTS, 0.0), 0
    for split in ("train", "tuning", "held_out"):
        command = ["evaluate", "--perplexity", model, "--real", records, "--split", split, "--no-rules"]
        likelihood = program.run(*command)[0]["likelihood"]
        measured += likelihood["measured"]
        for part in PARTS:
            total[part] += likelihood["nats"][part]
    return total, measured


def check_nats(program, network, checked, positions):
    ours, measured = our_nats(program, "halo", checked.name)
    records = list(read_records(checked, positions))
    theirs = their_nats(network, records)
    if measured != len(records):
        sys.exit(f"{measured} of {len(records)} records were measured")
    apart = max(abs(theirs[part] / ours[part] - 1) for part in PARTS)
    print(f"nats of {measured} records, by part: ours {ours}, theirs {theirs}: {apart:.1e} apart at most", flush=True)
    if not apart < 1e-4:
        sys.exit("the two networks differ")
    return apart


def longest_of_batch(path, batch):
    """How long a batch that is not filled up goes on, in encounters, on average."""
    lengths = [len(json.loads(line)["visits"]) for line in open(path)]
    return statistics.mean(max(lengths[at : at + batch]) for at in range(0, len(lengths), batch))


def same_records(program, name, number):
    """How many records of a model are the same on the CPU and the GPU."""
    lines = []
    for device in ("cpu", GPU):
        out = f"by-{device.partition(':')[0]}.jsonl"
        program.run("generate", name, "--records", number, "--device", device, "--out", out, "--force")
        lines.append((program.folder / out).read_text().splitlines())
    same = sum(one == other for one, other in zip(*lines))
    print(f"  {same:,} of {number:,} records are the same on the CPU and the GPU", flush=True)
    return same


def their_generation(network, longest, repeats, encounters):
    """Seconds a record of the reference's way in batches of 32, with its masks as published and folded in before."""
    import torch
    from reference_network import generate
    from speed_cpu import BATCH, FOLDED, batch_seconds

    torch.backends.cuda.matmul.allow_tf32 = False
    taken = {}
    for fold, name in FOLDED.items():
        times = []
        # The first is not counted: libraries are loaded in it.
        for repeat in range(repeats + 1):
            torch.manual_seed(repeat)
            times.append(generate(network, BATCH, fold, encounters)[1])
        seconds, passes = batch_seconds(times[1:], longest, statistics.median)
        print(f"  theirs, batch {BATCH}, {name}: {1e3 * seconds / BATCH:.2f} ms a record; {passes:.0f} passes an encounter",
              flush=True)
        taken[name] = seconds / BATCH
    return taken


def their_step(network, records, slots, steps, in_tf32):
    """Seconds of a step of the reference's way: 32 records, padded to all slots."""
    import torch
    from reference_network import dense, train_step

    torch.backends.cuda.matmul.allow_tf32 = in_tf32
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4)
    taken, end = [], network.sizes["end"]
    for step in range(min(steps + 1, len(records) // 32)):
        batch = [[*record[:-1], [*record[-1], end]] for record in records[32 * step : 32 * (step + 1)]]
        visits = dense(network.sizes, batch, slots).to(network.device)
        taken.append(train_step(network, optimiser, visits))
    return statistics.median(taken[1:])


def best_products(where):
    """What the card multiplies at best, in 10^12 operations a second."""
    import time

    import torch

    size = 8_192 if where.type == "cuda" else 512
    found = {}
    for name, kind, in_tf32 in [("f32", torch.float32, False), ("tf32", torch.float32, True), ("bf16", torch.bfloat16, True)]:
        torch.backends.cuda.matmul.allow_tf32 = in_tf32
        one = torch.randn(size, size, device=where).to(kind)
        wait = torch.cuda.synchronize if where.type == "cuda" else lambda: None
        times = []
        for _ in range(10):
            wait()
            began = time.perf_counter()
            one @ one
            wait()
            times.append(time.perf_counter() - began)
        found[name] = 2 * size**3 / statistics.median(times) / 1e12
    return found


def torch_version():
    try:
        import torch
    except ImportError:
        return None
    return torch.__version__


def torch_device(settings):
    """Where PyTorch works; none where there is no PyTorch."""
    if torch_version() is None:
        skipped("there is no PyTorch, so nothing of the reference is measured")
        return None
    import torch

    if torch.cuda.is_available():
        return torch.device("cuda")
    if not settings.small:
        sys.exit("PyTorch finds no GPU")
    return torch.device("cpu")


def positions_of(program):
    card = json.loads((program.folder / "halo/model.json").read_text())
    return card, {name: at for at, name in enumerate(card["codes"]["static"] + card["codes"]["encounter"])}


def train_ours(program, settings, out, records, *more, count=3):
    """Trains our network; gives its report."""
    command = [records, "--network", "halo", "--train-mode", "off", "--epochs", count, "--out", out]
    command += ["--head-units", 1, "--max-visits", MOST_ENCOUNTERS, "--device", GPU, "--patience", count, *more]
    for name, size in (TINY if settings.small else SIZES).items():
        command += [f"--{name}", size]
    return program.train(*command)[0]


def model(part, program, settings):
    """Our network trains, and the reference-style network gives the same nats."""
    folder = program.folder
    encounter, static, rules = published(settings.rules)
    if not rules:
        skipped(f"there is no {settings.rules}, so no published rules are followed")
    if not (folder / "records.jsonl").exists():
        (folder / "published.json").write_text(json.dumps(rules))
        write_records(folder / "checked.jsonl", (encounter, static), 60, 2)
        write_records(folder / "records.jsonl", (encounter, static), 200 if settings.small else 40_000, 1)
    by_rules = ["--rules", "published.json", "--accept-broken"] if rules else []
    for precision in ("fast", "full"):
        out = "halo" if precision == "fast" else "halo-full"

        def trained():
            report = train_ours(program, settings, out, "records.jsonl", *by_rules, "--precision", precision)
            steps, whole = training_seconds(report)
            return {"network": report["network"], "records": report["train_records"], "steps": steps, "epochs": whole}

        found = part.step(f"trained, {precision}", trained)
        print(f"  an epoch of {found['records']:,} records, {precision}: steps alone {found['steps']} s", flush=True)
    part.step("same", lambda: same_records(program, "halo", 40 if settings.small else 2_000))
    where = torch_device(settings)
    if where is not None:
        card, positions = positions_of(program)
        network = their_network(folder / "halo", card, where)
        apart = part.step("apart", lambda: check_nats(program, network, folder / "checked.jsonl", positions))
        part.aim("nats of the reference-style network beside ours", apart, 1e-4, "of them")


def needs_model(program):
    if not (program.folder / "halo").exists():
        skipped("the part halo_model has trained no network yet")
        return True
    return False


def compared(part, program, numbers, rules, repeats):
    """Records without rules and with them, in turn; gives how much longer the GPU drew with them."""
    taken = {}
    ways = {"off": ["--mode", "off"], "guided": ["--mode", "guided", *(["--rules", rules] if rules else [])]}
    for precision, number in itertools.product(["full", "fast"], numbers):
        def measured():
            runs = {way: [] for way in ways}
            for _ in range(repeats):
                for way, more in ways.items():
                    command = ["generate", "halo", "--records", number, "--device", GPU, "--precision", precision, *more]
                    report = program.run(*command, "--out", "made.jsonl", "--force")[0]
                    made = report["written"]
                    runs[way].append(drawn(report) | {
                        "generating": report["seconds"], "in_all": report["seconds_in_all"], "rules": report["hard_rules"],
                        "encounters": made["encounters"] / made["records"], "codes": made["codes"] / max(made["encounters"], 1),
                    })
            return runs

        runs = part.step(f"{number} records, {precision}", measured)
        middle = {way: statistics.median(run["drawing"] for run in runs[way]) for way in ways}
        per_visit = {way: middle[way] / (1 + runs[way][0]["encounters"]) for way in ways}
        ratio = per_visit["guided"] / per_visit["off"]
        some = runs["guided"][0]
        print(f"  {number:,} records, {precision}: drawn in {middle['off']:.3f} s without rules, {middle['guided']:.3f} s with {some['rules']};"
              f" a visit with rules takes {ratio:.3f} times as long; judging {some['judging']:.3f} s, writing {some['writing']:.3f} s,"
              f" {some['left_by_gpu']} left to the CPU", flush=True)
        taken[precision, number] = middle, ratio
    return taken


def writing(part, program, settings):
    """Records of the published network, by the published rules and without."""
    if needs_model(program):
        return
    numbers = [40, 80] if settings.small else [10_000, 100_000]
    taken = compared(part, program, numbers, None, 1 if settings.small else 5)
    for (precision, number), (middle, ratio) in taken.items():
        limit = 0.04 if number == numbers[0] else 0.2
        part.aim(f"{number:,} records drawn, {precision}", middle["off"], limit, "s")
        part.aim(f"{number:,} records, {precision}: what the published rules add", 100 * (ratio - 1), 1, "%")
    part.step("longest", lambda: longest_of_batch(program.folder / "made.jsonl", 32))


def many_rules(part, program, settings):
    """The same by 100,000 rules, each of which keeps a code off."""
    if needs_model(program):
        return
    encounter, _, _ = published(settings.rules)
    count, path = 300 if settings.small else 100_000, program.folder / "many.rules"
    if not path.exists():
        draw = random.Random(2)
        with open(path, "w") as file:
            for number in range(count):
                first, second = sorted(draw.sample(range(len(encounter)), 2))
                window = "" if number % 2 else " in past"
                file.write(f"rule r{number}: {encounter[first]}{window} => not {encounter[second]}\n")
    numbers = [40] if settings.small else [10_000, 100_000]
    for (precision, number), (_, ratio) in compared(part, program, numbers, "many.rules", 1 if settings.small else 3).items():
        part.aim(f"{number:,} records, {precision}: what {count:,} rules add", 100 * (ratio - 1), 5, "%")


def reference_writing(part, program, settings):
    """The reference's way of generating on the same card, beside what ours took."""
    where = torch_device(settings)
    results = program.folder / "results/halo_writing.json"
    if where is None or needs_model(program):
        return
    if not results.exists():
        return skipped("the part halo_writing has written nothing yet")
    ours = json.loads(results.read_text())
    network = their_network(program.folder / "halo", positions_of(program)[0], where)
    repeats, encounters = (1, 1) if settings.small else (5, 3)
    theirs = part.step("a record", lambda: their_generation(network, ours["longest"], repeats, encounters))
    for name, runs in ours.items():
        if "records, " not in name:
            continue
        for way, (masks, seconds) in itertools.product(runs, theirs.items()):
            middle = statistics.median(run["drawing"] for run in runs[way])
            ratio = seconds * int(name.split()[0]) / middle
            part.aim(f"{name}, {way}, times as fast as theirs with {masks}", ratio, 5_000, "times", least=True)


def reference_steps(part, program, settings):
    """The reference's training on the same card, and what the card multiplies at best, beside ours."""
    where = torch_device(settings)
    if where is None or needs_model(program):
        return
    card, positions = positions_of(program)
    ours = json.loads((program.folder / "results/halo_model.json").read_text())
    count = ours["trained, fast"]["records"]
    records = list(read_records(program.folder / "records.jsonl", positions))[:count]
    network = their_network(program.folder / "halo", card, where)
    slots, steps = card["shape"]["positions"], 2 if settings.small else 20
    for name, in_tf32 in (("f32", False), ("tf32", True)):
        step = part.step(f"their step, {name}", lambda: their_step(network, records, slots, steps, in_tf32))
        epoch = step * -(-len(records) // 32)
        print(f"  theirs, {name}: {1e3 * step:.1f} ms a step of 32 x {slots}, {epoch:.2f} s an epoch of {len(records):,}", flush=True)
        for precision in ("fast", "full"):
            mine = min(ours[f"trained, {precision}"]["steps"])
            part.aim(f"an epoch of ours ({precision}), times as fast as theirs ({name})", epoch / mine, 25, "times", least=True)
    best = part.step("best products", lambda: best_products(where))
    print("  the card multiplies at best " + ", ".join(f"{name} {rate:.1f}" for name, rate in best.items()) + " 10^12/s", flush=True)

    def full_length():
        long = program.folder / "long.jsonl"
        if not long.exists():
            encounter, static, _ = published(settings.rules)
            write_records(long, (encounter, static), 60 if settings.small else 4_000, 3, MOST_ENCOUNTERS)
        report = train_ours(program, settings, "halo-long", "long.jsonl")
        sizes, codes = report["network"], card["shape"]["codes"]
        visits = report["train_records"] * (1 + MOST_ENCOUNTERS)
        # Forward and twice as much backward; the head's matrices are half empty.
        each = 6 * (12 * sizes["layers"] * sizes["width"] ** 2 + (sizes["width"] + codes) ** 2)
        steps, _ = training_seconds(report)
        return {"steps": steps, "visits": visits, "rate": visits * each / min(steps) / 1e12}

    found = part.step("full length", full_length)
    print(f"  ours on records of full length: {found['rate']:.2f} 10^12/s of products that are needed", flush=True)
    part.aim("of what the card multiplies at best in bf16 (ours multiplies in TF32)", 100 * found["rate"] / best["bf16"], 40, "%", least=True)
