#!/usr/bin/env python3
"""What it costs to work where the records are: every verb on a Spark cluster of this machine beside the same without Spark.

    spark.py [--patients 10000 100000] [--verbs describe audit ...] [--ways files frame] [--library FILE] [--program FILE]

Simulated inpatients, rules that they obey, a counted model. The cluster is `local-cluster[2,1,1024]`: two executors with a
core each; without Spark the same verb has two threads. `files` is a MEDS dataset whose files are partitions, `frame` the
same rows as a DataFrame, which Spark brings together by patient and keeps for the rounds of a verb. Prints seconds, the ratio, the most memory that a Python
worker took, and exits 1 if a figure, a rule or a record differs, or a worker takes more than 500 MB. Needs pyspark.
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


def rows_of(table):
    """What rows of events say, whatever their order."""
    import pyarrow.compute as compute

    code = compute.cast(table["code"], "string")
    days = compute.cast(compute.coalesce(compute.cast(table["time"], "int64"), 0), "string")
    text = compute.binary_join_element_wise(compute.cast(table["subject_id"], "string"), days, code, "|")
    digest = 0
    for one in text.combine_chunks().to_pylist():
        digest ^= int.from_bytes(hashlib.blake2b(one.encode(), digest_size=8).digest(), "little")
    return len(text), f"{digest:016x}"


def compute_numbers(subjects):
    """The rows of the sorted list of subjects, which are numbered from 1."""
    import pyarrow.compute as compute

    return compute.subtract(subjects, 1)


class Study:
    def __init__(self, spark, folder, patients, program, slices):
        import conseq as cq

        self.spark, self.folder, self.patients, self.slices = spark, folder, patients, slices
        words = [program, "simulate", "inpatient", "--patients", patients, "--seed", 4, "--out", folder / "cohort"]
        subprocess.run([*map(str, words), "--quiet"], check=True)
        self.rules = cq.Rules.load(folder / "cohort/truth.rules")
        sample = cq.Cohort.simulate("inpatient", patients=2000, seed=5)
        self.model = cq.Model.train(sample, generator="markov")
        self.model.save(folder / "model")
        self.model.generate(max(1000, patients // 5), folder / "synthetic", seed=9)

    def files(self):
        from conseq import spark as cs

        return cs.Records.from_meds(self.spark, self.folder / "cohort")

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
        import pyarrow.dataset as dataset

        columns = ["subject_id", "time", "code"]
        alone = self.folder / ("new" if verb == "generate" else "repaired")
        ours = dataset.dataset(self.folder / "written", format="parquet").to_table(columns)
        theirs = dataset.dataset(alone / "data", format="parquet").to_table(columns)
        if verb == "enforce":
            import pyarrow.parquet as parquet

            ids = parquet.read_table(alone / "metadata/subjects.parquet").sort_by("subject_id")["original_id"]
            numbers = compute_numbers(theirs["subject_id"])
            theirs = theirs.set_column(0, "subject_id", ids.take(numbers))
        return rows_of(ours) == rows_of(theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--verbs", nargs="+", default=VERBS, choices=VERBS)
    parser.add_argument("--ways", nargs="+", default=["files", "frame"], choices=["files", "frame"])
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
            study = Study(spark, pathlib.Path(folder), patients, given.program, given.slices)
            for verb in given.verbs:
                began = time.monotonic()
                alone = study.alone(verb)
                without = time.monotonic() - began
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
