"""Tools of others on generated records: meds_reader, and ACES with a mortality task that must not leak.

    cargo build --release -p consequence-cli && python3 studies/readers.py [--program PROGRAM]

Each tool has an environment of its own under target/readers. Inpatients are simulated, records are synthesized by a
counted model, and these are read: meds_reader converts and verifies them, and ACES labels stays of more than a day by
whether they end in death, of which nothing may be told before the prediction.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "target" / "readers"
TOOLS = {"reader": "meds_reader==0.2.0", "aces": "es-aces==0.7.3"}
TASK = """\
predicates:
  admission:
    code: VISIT
  discharge:
    code: VISIT_END
  death:
    code: DISCHARGE//EXPIRED
  discharge_or_death:
    expr: or(discharge, death)
trigger: admission
windows:
  input:
    start: null
    end: trigger + 24h
    start_inclusive: True
    end_inclusive: True
    index_timestamp: end
  gap:
    start: trigger
    end: start + 24h
    start_inclusive: False
    end_inclusive: True
    has:
      death: (None, 0)
      discharge: (None, 0)
  target:
    start: gap.end
    end: start -> discharge_or_death
    start_inclusive: False
    end_inclusive: True
    label: death
"""
COUNTED = """\
import sys
import polars as pl
labels, events = (pl.read_parquet(path) for path in sys.argv[1:])
deaths = events.filter(pl.col("code") == "DISCHARGE//EXPIRED")
early = labels.join(deaths, on="subject_id").filter(pl.col("time") <= pl.col("prediction_time")).height
print(f"{labels.height} stays, {int(labels['boolean_value'].sum())} end in death, {early} told before")
sys.exit(early > 0 or not labels['boolean_value'].any())
"""


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def environment(name):
    """The folder of a tool's programs, which is made if it is not there."""
    folder = PLACE / name
    if not (folder / "ready").exists():
        run(sys.executable, "-m", "venv", folder)
        run(folder / "bin" / "pip", "install", "--quiet", TOOLS[name])
        (folder / "ready").touch()
    return folder / "bin"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "consequence")
    program = parser.parse_args().program
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        cohort, written = place / "cohort", place / "synthesis" / "synthetic"
        run(program, "simulate", "inpatient", "--patients", 3000, "--out", cohort)
        options = ["--generator", "markov", "--records", 5000]
        run(program, "synthesize", cohort, *options, "--out", place / "synthesis")
        reader = environment("reader")
        run(reader / "meds_reader_convert", written, place / "database", "--num_threads", 1)
        print("meds_reader:", run(reader / "meds_reader_verify", written, place / "database").strip())
        aces = environment("aces")
        (place / "task.yaml").write_text(TASK)
        events, labels = written / "data" / "000000.parquet", place / "labels.parquet"
        run(
            aces / "aces-cli", "cohort_name=task", f"cohort_dir={place}", f"config_path={place / 'task.yaml'}",
            "data.standard=meds", f"data.path={events}", f"output_filepath={labels}", f"hydra.run.dir={place}",
        )
        print("ACES:", run(aces / "python", "-c", COUNTED, labels, events).strip())


if __name__ == "__main__":
    main()
