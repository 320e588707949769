"""HALO's network on a GPU beside the reference's way in PyTorch on the same card: the part `--halo` of `speed_gpu.py`.

Records of the published vocabulary, with about as many codes and encounters as the paper's inpatients have, are drawn
here. Our program trains HALO's network on them on the GPU, without what the published rules decide, and writes records with the rules and
without, with products in 32 bits and with factors rounded to 10 bits. The reference-style network of `reference_network.py` takes the weights over: it must give the same records
the same nats. Then both generate, ours in one go and theirs in batches of 32, and both train, theirs on records that are padded to
all slots. Theirs has products in 32 bits when records are written; when networks train, factors are rounded to 10 bits on both sides.

Without PyTorch, or without a GPU that it can use, `--check` tries all but what is theirs on a GPU.
"""

import itertools
import json
import pathlib
import random
import statistics
import sys

# Encounters of the paper's inpatients, and codes of each.
ENCOUNTERS, CODES = 1.27, 13.6
MOST_ENCOUNTERS = 43
SIZES = {"width": 768, "layers": 12, "heads": 12}
TINY = {"width": 32, "layers": 2, "heads": 4}
RULES = pathlib.Path(__file__).resolve().parent.parent.parent / "shared/reference/published_rules.json"
PARTS = ("static_codes", "encounter_codes", "end")


def published(path):
    """The published vocabulary, codes of encounters and static ones, and the rules by the names of codes."""
    given = json.loads(path.read_text()) if path.exists() else {"codes": 1610, "labels": 6, "rules": []}
    encounter = [f"CODE//{code}" for code in range(given["codes"])]
    static = [f"AGE//{code}" if code < 4 else f"SEX//{code - 4}" for code in range(given["labels"])]
    name = (encounter + static).__getitem__
    rules = [[rule[0], *(list(map(name, part)) for part in rule[1:5]), name(rule[5]), rule[6]] for rule in given["rules"]]
    return encounter, static, rules


def write_records(path, codes, count, seed):
    """Writes records of random codes, and the list of all codes beside them."""
    encounter, static = codes
    draw = random.Random(seed)
    names = {"static": static, "encounter": encounter}
    path.with_suffix(".codes.json").write_text(json.dumps(names))
    with open(path, "w") as file:
        for number in range(count):
            visits = []
            while not visits or (draw.random() >= 1 / ENCOUNTERS and len(visits) < MOST_ENCOUNTERS):
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


def our_generation(program, folder, device, numbers, modes, repeats):
    """Has our program write records; seconds of each, the referee and the file included."""
    written = []
    for number in numbers:
        for mode, precision in itertools.product(modes, ["full", "fast"]):
            command = ["generate", "halo", "--records", number, "--mode", mode, "--device", device]
            command += ["--precision", precision]
            runs = []
            for _ in range(repeats):
                runs.append(program.run(*command, "--out", "made.jsonl", "--force")[0])
            seconds, whole = (statistics.median(run[name] for run in runs) for name in ("seconds", "seconds_in_all"))
            made = runs[0]["written"]
            encounters, codes = made["encounters"] / made["records"], made["codes"] / made["encounters"]
            print(f"  ours, {number:,} records, {runs[0]['hard_rules']} rules, {precision}: {seconds:.3f} s generating, judging and writing,"
                  f" {whole:.3f} s in all; {encounters:.2f} encounters of {codes:.1f} codes, static ones included", flush=True)
            written.append({"records": number, "mode": mode, "precision": precision, "rules": runs[0]["hard_rules"], "seconds": seconds,
                            "seconds_in_all": whole, "runs": [[run["seconds"], run["seconds_in_all"]] for run in runs]})
    return written, longest_of_batch(folder / "made.jsonl", 32)


def same_records(program, folder, number):
    """How many records are the same on the CPU and the GPU."""
    lines = []
    for device in ("cpu", "cuda:0"):
        out = f"by-{device.partition(':')[0]}.jsonl"
        program.run("generate", "halo", "--records", number, "--device", device, "--out", out, "--force")
        lines.append((folder / out).read_text().splitlines())
    same = sum(one == other for one, other in zip(*lines))
    print(f"{same:,} of {number:,} records are the same on the CPU and the GPU", flush=True)
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


def their_epoch(network, records, slots, steps):
    """Seconds of an epoch of the reference's way: steps of 32 records, padded to all slots."""
    import torch
    from reference_network import dense, train_step

    torch.backends.cuda.matmul.allow_tf32 = True
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4)
    taken, end = [], network.sizes["end"]
    for step in range(min(steps + 1, len(records) // 32)):
        batch = [[*record[:-1], [*record[-1], end]] for record in records[32 * step : 32 * (step + 1)]]
        visits = dense(network.sizes, batch, slots).to(network.device)
        taken.append(train_step(network, optimiser, visits))
    step = statistics.median(taken[1:])
    return step, step * -(-len(records) // 32)


def train_ours(program, sizes, device, count, has_rules):
    """Trains our network; gives seconds of its epochs after the first."""
    command = ["train", "records.jsonl", "--network", "halo", "--train-mode", "off", "--epochs", count, "--out", "halo"]
    command += ["--head-units", 1, "--max-visits", MOST_ENCOUNTERS, "--device", device, "--patience", count]
    for name, size in sizes.items():
        command += [f"--{name}", size]
    command += ["--rules", "published.json", "--accept-broken"] if has_rules else []
    report, told, _ = program.run(*command)
    print(f"ours: {report['network']}, {next(line for _, line in told if line.startswith('training on'))}", flush=True)
    return report, program.epochs(told)


def halo(program, patients, numbers, check):
    """Both networks beside each other; `check`: tiny, to try the script itself."""
    folder = pathlib.Path(program.folder)
    encounter, static, rules = published(RULES)
    if rules:
        (folder / "published.json").write_text(json.dumps(rules))
    else:
        print(f"SKIPPED: there is no {RULES}, so no rules are followed")
    write_records(folder / "records.jsonl", (encounter, static), patients, 1)
    write_records(folder / "checked.jsonl", (encounter, static), 60, 2)
    device, repeats = "cuda:0", 1 if check else 5
    report, taken = train_ours(program, TINY if check else SIZES, device, 3, bool(rules))
    card = json.loads((folder / "halo/model.json").read_text())
    codes = card["codes"]["static"] + card["codes"]["encounter"]
    positions = {name: at for at, name in enumerate(codes)}
    found = {"network": report["network"], "our_epochs": taken, "train_records": report["train_records"]}
    found["same"] = same_records(program, folder, min(2_000, numbers[0]))
    modes = ["off", "guided"] if rules else ["off"]
    found["ours"], longest = our_generation(program, folder, device, numbers, modes, repeats)
    try:
        import torch
    except ImportError:
        print("SKIPPED: there is no PyTorch, so nothing is beside it")
        return found
    if not torch.cuda.is_available() and not check:
        sys.exit("PyTorch finds no GPU")
    where = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(f"PyTorch {torch.__version__} on {where}")
    network = their_network(folder / "halo", card, where)
    torch.backends.cuda.matmul.allow_tf32 = False
    found["apart"] = check_nats(program, network, folder / "checked.jsonl", positions)
    found["theirs"] = their_generation(network, longest, repeats, 1 if check else 3)
    for ours in found["ours"]:
        for name, seconds in found["theirs"].items():
            ratio = seconds / (ours["seconds"] / ours["records"])
            ours[f"ratio, {name}"] = ratio
            print(f"  {ours['records']:,} records, {ours['rules']} rules, {ours['precision']}: {ratio:.4g} times, theirs with {name}", flush=True)
    some = list(read_records(folder / "records.jsonl", positions))[: report["train_records"]]
    step, epoch = their_epoch(network, some, card["shape"]["positions"], 1 if check else 20)
    found["their_step"], found["their_epoch"] = step, epoch
    mine = statistics.median(taken)
    print(f"an epoch of {len(some):,} records: ours {mine:.2f} s, with what is done at its end; theirs {epoch:.2f} s"
          f" ({1e3 * step:.1f} ms a step): {epoch / mine:.4g} times", flush=True)
    return found
