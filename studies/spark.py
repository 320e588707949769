#!/usr/bin/env python3
"""What it costs to work where the records are: every verb on a Spark cluster of this machine beside the same without Spark.

    spark.py [--patients 10000 100000] [--verbs describe audit ...] [--ways files frame] [--library FILE] [--program FILE]

Simulated inpatients, rules that they obey, a counted model. The cluster is `local-cluster[2,1,1024]`: two executors with a
core each; without Spark the same verb has two threads. `files` is a MEDS dataset whose files are partitions, `frame` the
same rows as a DataFrame, which Spark brings together by patient and keeps for the rounds of a verb. Prints seconds,
the ratio and the most memory that a Python worker took (the kernel's own peak), and exits 1 if anything of a report differs
but where files are and how long it took, or a rule, or anything of a written row, or if a worker takes more than 500 MB.
Needs pyspark.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST_MEGABYTES = 500
VERBS = ("describe", "audit", "mine", "evaluate", "enforce", "generate")


def staged(library):
    """The package with a native half of a release build, in a folder that workers see."""
    folder = ROOT / "target/spark-package"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "python/conseq", folder / "conseq", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(library, folder / "conseq/_native.abi3.so")
    return folder


class Memory(threading.Thread):
    """The most memory that a Python worker of the cluster took, in MB: the peak that the kernel keeps of each."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most = 0.0
        self.ended = threading.Event()
        for worker in self.workers():
            # Workers live on: what they took before is forgotten.
            (worker / "clear_refs").write_text("5")

    def workers(self):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                    yield process
            except OSError:
                continue

    def look(self):
        for worker in self.workers():
            try:
                told = (worker / "status").read_text()
            except OSError:
                continue
            peaks = [int(line.split()[1]) / 1024 for line in told.splitlines() if line.startswith("VmHWM:")]
            self.most = max([self.most, *peaks])

    def run(self):
        # Those that end before they are asked at the end.
        while not self.ended.wait(0.2):
            self.look()

    def finish(self):
        self.ended.set()
        self.join()
        self.look()


def session():
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "8",
        # What is measured is this package, not how Spark keeps copies of its workers.
        "spark.python.worker.reuse": "true",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("cost")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def begin(library):
    """A cluster whose workers find the package where this does."""
    package = staged(library)
    os.environ["PYTHONPATH"] = str(package)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    sys.path.insert(0, str(package))
    return session()


def warm_up(spark):
    """Has the executors start their Python workers, and Java compile what every verb needs."""
    import conseq as cq
    from conseq import spark as cs

    events = cq.Cohort.simulate("inpatient", patients=50).to_arrow()
    cs.describe(cs.Records(spark.createDataFrame(events)))


#: What reports say at their top of where things are, and of how long it took.
PATHS = ("cohort", "real", "synthetic", "model", "out")
TIMES = ("seconds", "seconds_in_all", "records_per_second")


def figures(report):
    """All that a report says but where things are and how long it took, as text."""
    told = report.to_dict()
    for key in PATHS:
        if isinstance(told.get(key), (str, type(None))):
            told.pop(key, None)
    for key in TIMES:
        told.pop(key, None)
    if "drawing" in told:
        # What drew the records, and not how long each part of that took.
        told["drawing"] = told["drawing"]["drawn_by"]
    if "records_per_second" in report.to_dict():
        # Into how many files generated records went.
        told.pop("files", None)
    for rule in told.get("broken", []):
        # Only counts leave a cluster. What is measured of two cohorts names rules alone.
        if isinstance(rule, dict):
            rule.pop("examples", None)
    return json.dumps(told, sort_keys=True)


def differences(one, other):
    """The keys of two reports that differ, for whoever looks why."""
    one, other = (json.loads(text) for text in (one, other))
    return [key for key in {**one, **other} if one.get(key) != other.get(key)]


def hashes(column):
    """A number for each thing of a column, all of whose bits depend on it; none has its own."""
    import numpy
    import pandas
    import pyarrow
    import pyarrow.compute as compute

    none = numpy.uint64(0x632BE59BD9B4E019)
    there = compute.is_valid(column).to_numpy(zero_copy_only=False)
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast("string")
    if column.type in ("string", "large_string"):
        each = column.dictionary_encode()
        of_each = pandas.util.hash_array(each.dictionary.to_numpy(zero_copy_only=False))
        found = of_each[each.indices.fill_null(0).to_numpy(zero_copy_only=False)] if len(of_each) else there.astype("uint64")
    elif pyarrow.types.is_floating(column.type):
        bits = column.cast("float32").fill_null(0).to_numpy(zero_copy_only=False).view("uint32")
        found = pandas.util.hash_array(bits.astype("uint64"))
    else:
        if pyarrow.types.is_timestamp(column.type):
            column = column.cast(pyarrow.timestamp("us"))
        found = pandas.util.hash_array(column.cast("int64").fill_null(0).to_numpy(zero_copy_only=False))
    return numpy.where(there, found, none)


def rows_of(folder, named=None):
    """How many rows of events there are, their columns, and what they say in all of them, whatever their order; `named`
    gives the ids of numbers."""
    import numpy
    import pyarrow.compute as compute
    import pyarrow.dataset as dataset

    rows, sum = 0, numpy.uint64(0)
    spread = numpy.uint64(0x9E3779B97F4A7C15)
    data = dataset.dataset(folder, format="parquet")
    columns = sorted(data.schema.names)
    for batch in data.to_batches(columns=columns):
        if batch.num_rows == 0:
            continue
        row = numpy.zeros(batch.num_rows, dtype="uint64")
        with numpy.errstate(over="ignore"):
            for name in columns:
                column = batch.column(name)
                if name == "subject_id" and named is not None:
                    # The rows of the sorted list of subjects, which are numbered from 1.
                    column = named.take(compute.subtract(column, 1))
                elif name == "subject_id":
                    column = column.cast("string")
                row = row * spread + hashes(column)
                row ^= row >> numpy.uint64(31)
            sum += (row * spread).sum(dtype=numpy.uint64)
        rows += batch.num_rows
    return rows, columns, f"{int(sum):016x}"


class Study:
    def __init__(self, spark, folder, patients, given):
        import conseq as cq

        self.spark, self.folder, self.patients = spark, folder, patients
        self.slices, self.tasks = given.slices, given.tasks
        if set(given.verbs) != {"generate"}:
            words = [given.program, "simulate", "inpatient", "--patients", patients, "--seed", 4, "--out", folder / "cohort"]
            subprocess.run([*map(str, words), "--quiet"], check=True)
            self.rules = cq.Rules.load(folder / "cohort/truth.rules")
        sample = cq.Cohort.simulate("inpatient", patients=2000, seed=5)
        self.model = cq.Model.train(sample, generator="markov")
        self.model.save(folder / "model")

    def files(self):
        from conseq import spark as cs

        cohort = self.folder / "cohort"
        count = sum(1 for _ in (cohort / "data").glob("*.parquet")) if self.tasks == 0 else self.tasks
        return cs.Records.from_meds(self.spark, cohort, partitions=count)

    def frame(self):
        import pyarrow.parquet as parquet
        from conseq import spark as cs

        events = self.spark.read.parquet(str(self.folder / "cohort/data"))
        subjects = None
        for name in ("subjects", "subject_splits"):
            told = self.spark.read.parquet(str(self.folder / f"cohort/metadata/{name}.parquet"))
            subjects = told if subjects is None else subjects.join(told, "subject_id")
        tables = {
            name: parquet.read_table(self.folder / "cohort/metadata" / path)
            for name, path in (("codes", "codes.parquet"), ("scales", "values.parquet"))
        }
        return cs.Records(events, subjects=subjects, **tables).persist()

    def alone(self, verb):
        """The verb without Spark: what it found."""
        import conseq as cq

        cohort = self.folder / "cohort"
        if verb == "describe":
            return figures(cq.Cohort.load(cohort).describe())
        if verb == "audit":
            return figures(cq.audit(cohort, self.rules, no_own_rules=True))
        if verb == "mine":
            return cq.Rules.mine(cohort).to_text()
        if verb == "evaluate":
            self.model.generate(max(1000, self.patients // 5), self.folder / "synthetic", seed=9)
            self.began = time.monotonic()
            return figures(cq.evaluate(cohort, self.folder / "synthetic", self.rules, no_own_rules=True))
        if verb == "enforce":
            repaired = cq.enforce(cohort, self.rules, no_own_rules=True)
            repaired.save(self.folder / "repaired", force=True)
            return figures(repaired.report)
        return figures(self.model.generate(self.patients, self.folder / "new", seed=9, force=True))

    def cluster(self, verb, records):
        """The verb on the cluster: what gives what it found, which is no part of the work where rows are written."""
        from conseq import spark as cs

        if verb == "describe":
            found = figures(cs.describe(records))
            return lambda: found
        if verb == "audit":
            found = figures(cs.audit(records, self.rules, no_own_rules=True))
            return lambda: found
        if verb == "mine":
            mined = cs.mine(records).to_text()
            return lambda: mined
        if verb == "evaluate":
            synthetic = cs.Records.from_meds(self.spark, self.folder / "synthetic")
            found = figures(cs.evaluate(records, synthetic, self.rules, no_own_rules=True))
            return lambda: found
        if verb == "enforce":
            written = cs.enforce(records, self.rules, no_own_rules=True)
        else:
            written = cs.generate(self.spark, self.folder / "model", self.patients, seed=9, partitions=self.slices)
        written.events.write.mode("overwrite").parquet(str(self.folder / "written"))
        return lambda: figures(written.report())

    def same_records(self, verb):
        """Whether what was written is the same, row by row. Repaired files tell ids, and those without Spark numbers."""
        import pyarrow.parquet as parquet

        if verb not in ("enforce", "generate"):
            return True
        alone, named = self.folder / ("new" if verb == "generate" else "repaired"), None
        if verb == "enforce":
            named = parquet.read_table(alone / "metadata/subjects.parquet").sort_by("subject_id")["original_id"].combine_chunks()
        return rows_of(self.folder / "written") == rows_of(alone / "data", named)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--verbs", nargs="+", default=VERBS, choices=VERBS)
    parser.add_argument("--ways", nargs="+", default=["files", "frame"], choices=["files", "frame"])
    parser.add_argument("--tasks", type=int, help="tasks to read files in; 0: one for each file")
    parser.add_argument("--slices", type=int, default=8, help="tasks to generate in")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "target/release/lib_native.so")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target/release/consequence")
    given = parser.parse_args()
    began = time.monotonic()
    spark = begin(given.library)
    print(f"cluster up in {time.monotonic() - began:.1f} s", flush=True)
    warm_up(spark)
    print("| patients | verb | way | without Spark, s | on the cluster, s | ratio | most of a worker, MB | same |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    wrong = []
    for patients in given.patients:
        with tempfile.TemporaryDirectory(prefix="spark-study-") as folder:
            study = Study(spark, pathlib.Path(folder), patients, given)
            for verb in given.verbs:
                study.began = time.monotonic()
                alone = study.alone(verb)
                without = time.monotonic() - study.began
                for way in given.ways if verb != "generate" else ["numbers"]:
                    memory = Memory()
                    memory.start()
                    began = time.monotonic()
                    records = getattr(study, way)() if way != "numbers" else None
                    told = study.cluster(verb, records)
                    seconds = time.monotonic() - began
                    memory.finish()
                    found = told()
                    if records is not None:
                        records.unpersist()
                    same = found == alone and study.same_records(verb)
                    if found != alone and verb != "mine":
                        print(f"reports differ in {', '.join(differences(found, alone))}", file=sys.stderr)
                    print(
                        f"| {patients:,} | {verb} | {way} | {without:.1f} | {seconds:.1f} | {seconds / without:.2f} | "
                        f"{memory.most:.0f} | {'yes' if same else 'NO'} |",
                        flush=True,
                    )
                    if not same or memory.most > MOST_MEGABYTES:
                        wrong.append(f"{verb} of {patients:,} patients by {way}")
    spark.stop()
    if wrong:
        sys.exit(f"FAILED: {'; '.join(wrong)}")


if __name__ == "__main__":
    main()
