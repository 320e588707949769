#!/usr/bin/env python3
"""What OMOP tables cost on a Spark cluster of this machine, beside `import omop` without Spark.

    spark_omop.py [--times 10 100] [--library FILE]

The tables of Synthea so many times over, each person under another number, as Parquet files that both read. Opens the
records, then describes and audits them by the rules that the import knows. Prints seconds, the ratio and the most memory
that a Python worker took, and exits 1 if a report differs or a worker takes more than 500 MB. Needs pyspark and `../shared`.
"""

import argparse
import csv
import gzip
import pathlib
import sys
import tempfile
import time

import spark as cost

TABLES = cost.ROOT.parent / "shared/data/outpatient/synthea1k_omop"
#: What is numbered anew in every copy.
NUMBERED = ("person_id", "visit_occurrence_id")
#: Ids that are no numbers.
WORDS = ("domain_id", "vocabulary_id", "concept_class_id", "relationship_id")


def typed(path):
    """A table with the types that OMOP gives its columns; fields beyond the names of columns are left out."""
    import pyarrow as pa
    import pyarrow.compute as compute

    with gzip.open(path, "rt", newline="") as file:
        names, *rows = csv.reader(file)
    columns = {}
    for place, name in enumerate(names):
        texts = pa.array([row[place] or None for row in rows], pa.string())
        if name.endswith("_datetime"):
            texts = compute.utf8_slice_codeunits(texts, 0, 19)
            columns[name] = compute.cast(texts, pa.timestamp("us"))
        elif name.endswith("_date"):
            columns[name] = compute.cast(compute.utf8_slice_codeunits(texts, 0, 10), pa.date32())
        elif name.endswith("_number"):
            columns[name] = compute.cast(texts, pa.float64())
        elif name.endswith(("_id", "_of_birth")) and name not in WORDS:
            columns[name] = compute.cast(compute.cast(texts, pa.float64()), pa.int64())
        else:
            columns[name] = texts
    return pa.table(columns)


def multiplied(times, folder):
    """The tables as Parquet files, so many times over."""
    import pyarrow as pa
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    for path in sorted(TABLES.glob("*.csv.gz")):
        name = path.name.removesuffix(".csv.gz")
        table = typed(path)
        copied = any(field in table.column_names for field in NUMBERED)
        own = f"{name.lower()}_id"
        most = {column: compute.max(table[column]).as_py() for column in {own, *NUMBERED} & set(table.column_names)}
        # All tables shift a number by the same.
        steps = {"person_id": 10_000_000, "visit_occurrence_id": 100_000_000}
        with parquet.ParquetWriter(folder / f"{name}.parquet", table.schema) as out:
            for copy in range(times if copied else 1):
                shifted = table
                for column in most:
                    step = steps.get(column, 100_000_000)
                    moved = compute.add(table[column], pa.scalar(copy * step, table[column].type))
                    shifted = shifted.set_column(table.column_names.index(column), column, moved)
                out.write_table(shifted)


def timed(act):
    began = time.monotonic()
    return act(), time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--library", type=pathlib.Path, default=cost.ROOT / "target/release/lib_native.so")
    arguments = parser.parse_args()
    if not TABLES.is_dir():
        print("SKIPPED: ../shared is missing, so no OMOP tables were joined by Spark", file=sys.stderr)
        return 0
    spark, failed = cost.begin(arguments.library), False
    import conseq as cq
    from conseq import spark as cs

    cost.warm_up(spark)
    nothing = cq.Rules.parse("")
    for times in arguments.times:
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            multiplied(times, folder)
            whole, alone = timed(lambda: cq.Cohort.from_omop(folder, threads=2))
            frames = {path.stem.lower(): spark.read.parquet(str(path)) for path in sorted(folder.glob("*.parquet"))}
            read = ("person", "visit_occurrence", "death", "concept", "measurement", "observation")
            frames = {name: frame for name, frame in frames.items() if name in read or name.endswith(("_occurrence", "_exposure"))}
            memory = cost.Memory()
            memory.start()
            records, joined = timed(lambda: cs.Records.from_omop(frames, name=str(folder)))
            print(f"{times} times, {len(whole):,} records: opened in {alone:.1f} s, on the cluster {joined:.1f} s ({joined / alone:.2f})")
            records.persist()
            for name, here, there in (
                ("describe", whole.describe, lambda: cs.describe(records)),
                ("audit", lambda: cq.audit(whole, nothing), lambda: cs.audit(records, nothing)),
            ):
                (one, alone), (other, joined) = timed(here), timed(there)
                same = cost.figures(one) == cost.figures(other)
                failed |= not same
                print(f"  {name}: {alone:.1f} s, on the cluster {joined:.1f} s; the same: {'yes' if same else 'NO'}", flush=True)
            memory.finish()
            print(f"  a worker took {memory.most:.0f} MB at most")
            failed |= memory.most > cost.MOST_MEGABYTES
            records.unpersist()
    spark.stop()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
