"""Training and generation on a GPU: that they come to what the CPU comes to, and what they take, in parts.

    python3 studies/speed_gpu.py --program consequence --work FOLDER [--rules published_rules.json] [--uci FOLDER] [PART ...]

Needs Python alone, and CUDA's libraries where the program finds them (`LD_LIBRARY_PATH`); the parts `reference_*` need PyTorch. A run ends
within eight minutes; what it found is in `FOLDER/results/PART.json`, written step by step. The same command goes on with what is not done.
`--summary` prints every aim beside what was found, `--small` tries a part on little, `--again` does it anew. Without PART all of them are
run, in this order, as far as the time goes:

| part | minutes on an H200 | |
|---|---|---|
| `devices` | 0.5 | what there is; how long it takes to open the GPU |
| `sanitizer` | 2 | `compute-sanitizer` (memcheck, racecheck) finds nothing in a short training and generation of both networks |
| `inpatients` | 2 | records are the CPU's; 10,000 and a million to MEDS |
| `halo_model` | 2 | HALO's network of the published size trains; an epoch; nats of the reference-style network are ours |
| `halo_writing` | 2 | 10,000 and 100,000 records of it, without rules and with the published ones, in 32 bits and fast |
| `halo_rules` | 2 | the same by 100,000 rules |
| `reference_writing` | 3 | the reference's way in PyTorch, batches of 32 |
| `reference_steps` | 1 | its training steps in 32 bits and in TF32; what the card multiplies at best |
| `beside` | 6 | 20,000 outpatients on both devices, without rules and with them |
| `outpatients` | 5 | epochs of 1,006,321 outpatients, without rules and with them |
| `held_out` | 4 | nats of the same held-out patients by networks of 4,000, 50,000 and all patients |
| `uci` | 4 | the diabetes data, three seeds: 32 bits against fast |
| `slices` | 20, in three runs | 10^8 records in slices, each judged by the referee |

Nothing of `../shared` is needed but what `--rules` and `--uci` name: carry those with the program.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

import speed_gpu_halo
from gpu_parts import Program, drawn, run_parts, skipped, summary, training_seconds

GPU = "cuda:0"


def devices(part, program, settings):
    """What there is."""
    smi = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    there = shutil.which("nvidia-smi")
    card = subprocess.run(smi, capture_output=True, text=True, check=True).stdout.strip() if there else "no nvidia-smi"
    version = subprocess.run([program.path, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    part.step("machine", lambda: {"card": card, "program": version, "torch": speed_gpu_halo.torch_version()})
    model = small_writer(program, settings)
    runs = part.step("opening", lambda: [written(program, model, 20)["opening"] for _ in range(3)])
    print(f"  {card}; {version}; opened in {', '.join(f'{run:.2f}' for run in runs)} s (kernels are compiled the first time)")


def small_writer(program, settings):
    """A small network of simulated inpatients."""
    program.make("few", "simulate", "inpatient", "--patients", 60 if settings.small else 600)
    command = ["train", "few", "--rules", "few/truth.rules", "--epochs", 1, "--device", GPU, *size(settings)]
    return program.make("few-model", *command)


def size(settings):
    """A tiny network where all is tried on little."""
    return ["--size", "tiny"] if settings.small else []


def written(program, model, records, *more):
    """What writing so many records to MEDS took."""
    command = ["generate", model, "--records", records, "--device", GPU, "--out", "made", "--force", *more]
    report, _, seconds = program.run(*command)
    return drawn(report) | {"generating": report["seconds"], "in_all": seconds, "records": records}


def sanitizer(part, program, settings):
    """Races and reads beyond memory."""
    tool = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if not tool:
        return skipped("there is no compute-sanitizer, so nothing was looked for")
    model = small_writer(program, settings)
    tiny = ["--network", "halo", "--width", 32, "--layers", 2, "--heads", 2, "--epochs", 1]
    for checker in ["memcheck", "racecheck"]:
        for name, command in {
            "train": ["train", "few", "--rules", "few/truth.rules", "--epochs", 1, "--out", "checked", "--force"],
            "train halo": ["train", "few", "--rules", "few/truth.rules", *tiny, "--out", "checked-halo", "--force"],
            "generate": ["generate", model, "--records", 300, "--out", "made", "--force"],
            "generate halo": ["generate", "checked-halo", "--records", 300, "--out", "made", "--force"],
        }.items():
            def look():
                before = [tool, "--tool", checker, "--error-exitcode", 9, "--log-file", program.folder / "sanitizer.log"]
                program.run(*command, "--device", GPU, before=before)
                return "nothing found"

            found = part.step(f"{checker}, {name}", look)
            print(f"  {checker}, {name}: {found}", flush=True)


def inpatients(part, program, settings):
    """The default network writes inpatients."""
    patients, few, many = (100, 20, 40) if settings.small else (5_000, 10_000, 1_000_000)
    program.make("inpatients", "simulate", "inpatient", "--patients", patients)
    rules = ["--rules", "inpatients/truth.rules"]
    model = program.make("writer", "train", "inpatients", *rules, "--epochs", 3, "--device", GPU, *size(settings))
    same = part.step("same", lambda: speed_gpu_halo.same_records(program, model, few))
    part.aim("records that are the CPU's", 100 * same / few, 99, "%", least=True)
    for records in (few, many):
        def measured():
            found = written(program, model, records)
            judged = program.run("audit", "made", *rules)[0]
            broken = judged["within_visit_violations"] + judged["temporal_violations"]
            return found | {"violations": broken}

        found = part.step(f"{records} records", measured)
        print(f"  {records:,} records to MEDS: {found}", flush=True)
        part.aim(f"{records:,} records: violations", found["violations"], 0, "violations")
    part.aim("a million inpatients to MEDS", found["in_all"], 10, "s")
    part.aim("of it drawing", found["drawing"], 2, "s")


def train(program, part, settings, cohort, device, rules, out, epochs=3, *more):
    """Trains, and gives the figures of it."""
    def measured():
        command = [cohort, "--device", device, "--epochs", epochs, "--out", out, *size(settings), *more]
        report, told, seconds = program.train(*command, *(["--rules", rules] if rules else []))
        steps, whole = training_seconds(report)
        return {
            "rules": report["rules"]["hard"], "steps_of_epochs": steps, "epochs": whole, "all": seconds,
            "tuning_nats": [epoch["tuning_nats"] for epoch in report["epochs"]],
            "told": [f"{second:7.1f} {line}" for second, line in told],
        }

    found = part.step(out, measured)
    shown = " ".join(f"{seconds:.2f}" for seconds in found["steps_of_epochs"])
    print(f"  {out}: {found['tuning_nats'][-1]:.3f} nats a tuning record; steps of an epoch {shown} s; {found['all']:.0f} s in all", flush=True)
    return found


def nats(program, part, model, cohort):
    """Nats of a held-out record."""
    measure = lambda: program.run("evaluate", "--perplexity", model, "--real", cohort)[0]["likelihood"]["nats_per_record"]
    found = part.step(f"{model} on {cohort}", measure)
    print(f"  {model}: {found:.3f} nats a held-out record of {cohort}", flush=True)
    return found


def beside(part, program, settings):
    """Both devices on some outpatients."""
    program.make("some", "simulate", "outpatient", "--codes-only", "--patients", 200 if settings.small else 20_000)
    for rules in [None, "some/truth.rules"]:
        both = {}
        for device in ["cpu", GPU]:
            out = f"some-{device.partition(':')[0]}{'-rules' if rules else ''}"
            train(program, part, settings, "some", device, rules, out)
            both[device] = nats(program, part, out, "some")
        part.aim(f"nats beside the CPU's, {'with' if rules else 'without'} rules", 100 * abs(both[GPU] / both["cpu"] - 1), 0.3, "%")


def outpatients(part, program, settings):
    """The cohort of full size."""
    patients = 300 if settings.small else 1_006_321
    program.make("all", "simulate", "outpatient", "--codes-only", "--patients", patients)
    for rules, out in [(None, "all-model"), ("all/truth.rules", "all-model-rules")]:
        found = train(program, part, settings, "all", GPU, rules, out)
        if found["steps_of_epochs"]:
            part.aim(f"an epoch, {found['rules']} rules, steps alone", min(found["steps_of_epochs"]), 15, "s")
            part.aim(f"an epoch, {found['rules']} rules, validation and checkpoint included", min(found["epochs"]), 15, "s")


def held_out(part, program, settings):
    """The same held-out patients, by networks of ever more."""
    sizes = {"all": None, "thousands": 250 if settings.small else 4_000, "tens": 400 if settings.small else 50_000}
    program.make("judges", "simulate", "outpatient", "--codes-only", "--patients", 200 if settings.small else 20_000, "--seed", 99)
    for cohort, patients in sizes.items():
        if patients:
            program.make(cohort, "simulate", "outpatient", "--codes-only", "--patients", patients)
            train(program, part, settings, cohort, GPU, None, f"{cohort}-model", 15)
        elif not (program.folder / "all-model").exists():
            skipped("the part outpatients has not trained on all of them yet")
            continue
        nats(program, part, f"{cohort}-model", "judges")


def uci(part, program, settings):
    """The diabetes data: 32 bits against fast."""
    if not settings.uci:
        return skipped("--uci names no folder with the diabetes data, so nothing was trained on it")
    program.make("uci", "import", "uci-diabetes", settings.uci.resolve())
    epochs = 1 if settings.small else 15
    seeds = 1 if settings.small else 3
    pairs = []
    for seed in range(1, seeds + 1):
        both = {}
        for precision in ["full", "fast"]:
            out = f"uci-{precision}-{seed}"
            train(program, part, settings, "uci", GPU, None, out, epochs, "--precision", precision, "--seed", seed)
            both[precision] = nats(program, part, out, "uci")
        pairs.append(both["fast"] / both["full"] - 1)
    mean = sum(pairs) / len(pairs)
    part.found["apart"] = pairs
    part.aim(f"held-out nats of fast against full, mean of {len(pairs)} seeds", 100 * abs(mean), 0.3, "%")


def slices(part, program, settings):
    """10^8 records in slices; a record that breaks a rule ends it."""
    count, all_records = (2, 60) if settings.small else (settings.slices, 10**8)
    model = "writer"
    if not (program.folder / model).exists():
        return skipped("the part inpatients has made no model yet")
    longest = 0.0
    for number in range(1, count + 1):
        def measured():
            program.needs(1.5 * longest)
            shard = ["--shard", f"{number}/{count}"]
            command = ["generate", model, "--records", all_records, *shard, "--device", GPU, "--out", "slice", "--force"]
            report, _, seconds = program.run(*command)
            if report["judged"] != report["records"]:
                sys.exit(f"slice {number}: {report['judged']} of {report['records']} were judged")
            shutil.rmtree(program.folder / "slice")
            return {"records": report["judged"], "seconds": seconds} | drawn(report)

        new = not part.has(f"slice {number}")
        found = part.step(f"slice {number}", measured)
        longest = max(longest, found["seconds"]) if new else longest
    done = [found for name, found in part.found.items() if name.startswith("slice")]
    judged, seconds = (sum(found[name] for found in done) for name in ("records", "seconds"))
    print(f"  {judged:,} records drawn, judged by the referee and written in {seconds:.0f} s: 0 violations", flush=True)
    part.aim("records judged, none of which breaks a rule", judged, all_records, "records", least=True)


PARTS = {
    "devices": (devices, 0.5),
    "sanitizer": (sanitizer, 2),
    "inpatients": (inpatients, 2),
    "halo_model": (speed_gpu_halo.model, 2),
    "halo_writing": (speed_gpu_halo.writing, 2),
    "halo_rules": (speed_gpu_halo.many_rules, 2),
    "reference_writing": (speed_gpu_halo.reference_writing, 3),
    "reference_steps": (speed_gpu_halo.reference_steps, 1),
    "beside": (beside, 6),
    "outpatients": (outpatients, 5),
    "held_out": (held_out, 4),
    "uci": (uci, 4),
    "slices": (slices, 20),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="; ".join(PARTS))
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="a folder for all that is made and found; it is kept")
    parser.add_argument("--rules", type=pathlib.Path, default=speed_gpu_halo.RULES, help="the published rules, as JSON")
    parser.add_argument("--uci", type=pathlib.Path, help="the folder of the diabetes data")
    parser.add_argument("--slices", type=int, default=100, help="slices of the 10^8 records")
    parser.add_argument("--seconds", type=float, default=480, help="after which a run ends")
    parser.add_argument("--small", action="store_true", help="on little, to try a part")
    parser.add_argument("--again", action="store_true", help="forget what these parts found")
    parser.add_argument("--summary", action="store_true", help="print every aim that was looked at, and do nothing")
    settings = parser.parse_args()
    unknown = set(settings.parts) - set(PARTS)
    if unknown:
        sys.exit(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    settings.work.mkdir(parents=True, exist_ok=True)
    if settings.summary:
        return summary(settings.work)
    program = Program(settings.program, settings.work, settings.seconds)
    if not run_parts(PARTS, settings.parts or PARTS, program, settings):
        sys.exit(3)


if __name__ == "__main__":
    main()
