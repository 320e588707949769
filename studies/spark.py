#!/usr/bin/env python3
"""What it costs to work where the records are: every verb on a Spark cluster of this machine beside the same without Spark.

    spark.py [--patients 10000 100000] [--verbs describe audit ...] [--ways files frame] [--library FILE] [--program FILE]

Simulated inpatients, rules that they obey, a counted model. The cluster is `local-cluster[2,1,1024]`: two executors with a
core each; without Spark the same verb has two threads. `files` is a MEDS dataset whose files are partitions, `frame` the
same rows as a DataFrame, which Spark brings together by patient and keeps for the rounds of a verb. Prints seconds,
the ratio, the most memory that a Python worker took, and exits 1 if a figure, a rule or a record differs, or a worker takes more than 500 MB. Needs pyspark.
"""

import argparse
import hashlib
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
    """The most memory that a Python worker of the cluster took, in MB."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most = 0.0
        self.ended = False

    def run(self):
        while not self.ended:
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                        for line in (process / "status").read_text().splitlines():
                            if line.startswith("VmRSS:"):
                                self.most = max(self.most, int(line.split()[1]) / 1024)
                except OSError:
                    continue
            time.sleep(0.1)


def session():
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
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


def warm_up(spark):
    """Has the executors start their Python workers, and Java compile what every verb needs."""
    import conseq as cq
    from conseq import spark as cs

    events = cq.Cohort.simulate("inpatient", patients=50).to_arrow()
    cs.describe(cs.Records(spark.createDataFrame(events)))


def figures(report):
    """A report without times and names, as one digest."""

    def plain(value):
        if isinstance(value, dict):
            kept = ("seconds", "timing", "cohort", "real", "synthetic", "model", "out", "files", "examples", "shards")
            return {key: plain(one) for key, one in value.items() if not any(word in key for word in kept)}
        return [plain(one) for one in value] if isinstance(value, list) else value

    return hashlib.sha256(json.dumps(plain(report.to_dict()), sort_keys=True).encode()).hexdigest()[:12]


def hashes(column):
    """A number for each thing of a column, all of whose bits depend on it."""
    import numpy
    import pandas

    if column.type not in ("string", "large_string"):
        return pandas.util.hash_array(column.cast("int64").fill_null(0).to_numpy(zero_copy_only=False))
    each = column.dictionary_encode()
    return pandas.util.hash_array(each.dictionary.to_numpy(zero_copy_only=False))[numpy.asarray(each.indices)]


def rows_of(folder, named=None):
    """How many rows of events there are, and what they say, whatever their order; `named` gives the ids of numbers."""
    import numpy
    import pyarrow.dataset as dataset

    rows, sum = 0, numpy.uint64(0)
    spread = numpy.uint64(0x9E3779B97F4A7C15)
    for batch in dataset.dataset(folder, format="parquet").to_batches(columns=["subject_id", "time", "code"]):
        if batch.num_rows == 0:
            continue
        subject, time, code = (batch.column(name) for name in ("subject_id", "time", "code"))
        if named is not None:
            subject = named.take(compute_numbers(subject))
        elif subject.type == "int64":
            subject = subject.cast("string")
        with numpy.errstate(over="ignore"):
            row = (hashes(subject) * spread + hashes(time)) * spread + hashes(code.cast("string"))
            row ^= row >> numpy.uint64(31)
            sum += (row * spread).sum(dtype=numpy.uint64)
        rows += batch.num_rows
    return rows, f"{int(sum):016x}"


def compute_numbers(subjects):
    """The rows of the sorted list of subjects, which are numbered from 1."""
    import pyarrow.compute as compute

    return compute.subtract(subjects, 1)


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
            return None
        self.model.generate(self.patients, self.folder / "new", seed=9, force=True)
        return None

    def cluster(self, verb, records):
        """The verb on the cluster: what it found."""
        from conseq import spark as cs

        if verb == "describe":
            return figures(cs.describe(records))
        if verb == "audit":
            return figures(cs.audit(records, self.rules, no_own_rules=True))
        if verb == "mine":
            return cs.mine(records).to_text()
        if verb == "evaluate":
            synthetic = cs.Records.from_meds(self.spark, self.folder / "synthetic")
            return figures(cs.evaluate(records, synthetic, self.rules, no_own_rules=True))
        if verb == "enforce":
            written = cs.enforce(records, self.rules, no_own_rules=True)
        else:
            written = cs.generate(self.spark, self.folder / "model", self.patients, seed=9, partitions=self.slices)
        written.events.write.mode("overwrite").parquet(str(self.folder / "written"))
        return None

    def same_records(self, verb):
        """Whether what was written is the same, row by row. Repaired files tell ids, and those without Spark numbers."""
        import pyarrow.parquet as parquet

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
    package = staged(given.library)
    os.environ["PYTHONPATH"] = str(package)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    sys.path.insert(0, str(package))
    began = time.monotonic()
    spark = session()
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
                    found = study.cluster(verb, records)
                    seconds = time.monotonic() - began
                    memory.ended = True
                    if records is not None:
                        records.unpersist()
                    same = study.same_records(verb) if found is None else found == alone
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
