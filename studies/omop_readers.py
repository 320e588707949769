"""OMOP tables of generated records in a tool of others: PyHealth's OMOPDataset.

    cargo build --release -p consequence-cli && python3 studies/omop_readers.py SOURCE [--program PROGRAM]

SOURCE is a folder of OMOP tables. It is imported, a model is trained on it for an epoch, records are generated and
exported as OMOP tables, and these are read back by this program, which must find the records that were
generated, and by PyHealth, which must find events in each table, deaths and dates, and standard concepts of
more than nine events in ten; others have a concept of the source alone, which PyHealth does not read. It has an
environment of its own under target/readers, and wants tabs between fields, so the tables are written so first.
"""

import argparse
import csv
import sys
import tempfile
from pathlib import Path

from readers import PLACE, ROOT, run

# Later versions of PyHealth read the table of conditions and forget what they read.
PACKAGES = ["pyhealth==1.1.3", "torch==2.2.2", "pandas<2", "numpy<2"]
LOADED = """\
import sys
from collections import Counter
from pyhealth.datasets import OMOPDataset
tables = ["condition_occurrence", "procedure_occurrence", "drug_exposure", "measurement"]
dataset = OMOPDataset(root=sys.argv[1], tables=tables, refresh_cache=True)
patients = dataset.patients.values()
visits = [visit for patient in patients for visit in patient]
dead = sum(patient.death_datetime is not None for patient in patients)
years = {visit.encounter_time.year for visit in visits}
print(f"{len(dataset.patients)} patients, {len(visits)} visits in {min(years)} to {max(years)}, {dead} dead")
bad = not dead or len(years) < 2
for table in tables:
    codes = Counter(event.code for visit in visits for event in visit.get_event_list(table))
    print(f"  {table}: {sum(codes.values())} events, {len(codes)} concepts, {codes['0']} events of none")
    bad |= 10 * codes["0"] >= sum(codes.values())
sys.exit(bad)
"""


def environment():
    """The folder of PyHealth's programs, which is made if it is not there."""
    folder = PLACE / "pyhealth"
    if not (folder / "ready").exists():
        run(sys.executable, "-m", "venv", folder)
        run(folder / "bin" / "pip", "install", "--quiet", *PACKAGES)
        (folder / "ready").touch()
    return folder / "bin"


def tabbed(source, target):
    """The same tables with tabs between their fields."""
    target.mkdir()
    for path in source.glob("*.csv"):
        with path.open(newline="") as rows, (target / path.name).open("w", newline="") as out:
            csv.writer(out, delimiter="\t", lineterminator="\n").writerows(csv.reader(rows))


def records(path):
    """What every visit has: its codes with their times and values."""
    visits = {}
    with path.open(newline="") as rows:
        for row in csv.DictReader(rows):
            key = row["subject_id"], row["visit"], row["ended"]
            row.pop("unit", None)
            visits.setdefault(key, set()).add(tuple(row.values()))
    return visits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "consequence")
    arguments = parser.parse_args()
    program = arguments.program
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        cohort, model, written, tables = (place / name for name in ("cohort", "model", "written", "omop"))
        options = ["--min-patients", 10, "--race", "--visit-types"]
        run(program, "import", "omop", arguments.source, "--out", cohort, *options)
        run(program, "train", cohort, "--epochs", 1, "--out", model)
        run(program, "generate", model, "--records", 500, "--out", written)
        print(run(program, "export", written, "omop", "--out", tables).strip())
        run(program, "import", "omop", tables, "--out", place / "again")
        for name in ("written", "again"):
            run(program, "export", place / name, "csv", "--out", place / f"{name}.csv")
        same = records(place / "written.csv") == records(place / "again.csv")
        print("read back:", "the records that were generated" if same else "OTHER records")
        bin = environment()
        tabbed(tables, place / "tabbed")
        print("PyHealth:", run(bin / "python", "-c", LOADED, place / "tabbed").strip())
        sys.exit(not same)


if __name__ == "__main__":
    main()
