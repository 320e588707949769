"""Workers that die, rows that are not what they should be: the same result, or a message that says what is wrong."""

import dataclasses
import datetime
import os
import signal
import sys

import pytest

import conseq as cq

try:
    import pyarrow as pa
    import pyspark
    from pyspark import cloudpickle
except ImportError:
    pytest.skip("PySpark is not installed: faults of a cluster were not tested", allow_module_level=True)

from conseq import spark as cs
from conseq.spark import records as records_module
from conseq.spark import verbs, workers
from spark_cluster import connect_is_asked_for
from test_spark import broken, held, records_by_id, records_of, rules, same  # noqa: F401

# Workers have no such module; what is defined here goes along with the tasks.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@dataclasses.dataclass(frozen=True)
class Dying:
    """A task that once, in the middle of its rows, kills the process that it runs in, or the executor above it."""

    task: object
    marker: str
    executor: bool = False

    def __call__(self, batches):
        for number, batch in enumerate(self.task(batches)):
            yield batch
            if number == 0 and not os.path.exists(self.marker):
                with open(self.marker, "w", encoding="utf-8") as marker:
                    marker.write(str(os.getpid()))
                victim = os.getpid()
                if self.executor:
                    # The daemon that this worker comes from, and the executor that the daemon comes from.
                    with open(f"/proc/{os.getppid()}/stat", encoding="utf-8") as stat:
                        victim = int(stat.read().rsplit(")", 1)[1].split()[1])
                    with open(f"/proc/{victim}/cmdline", encoding="utf-8") as line:
                        assert "CoarseGrainedExecutorBackend" in line.read()
                os.kill(victim, signal.SIGKILL)


@pytest.mark.parametrize("executor", [False, True])
@pytest.mark.skipif(connect_is_asked_for(), reason="tasks of a local session are not tried again")
def test_what_dies_is_done_again(spark, broken, rules, model, tmp_path, monkeypatch, executor):
    marker = tmp_path / "enforce"
    with monkeypatch.context() as patched:
        patched.setattr(records_module, "Repair", lambda *words: Dying(workers.Repair(*words), str(marker), executor))
        written = cs.enforce(records_of(spark, broken), rules, seed=3)
        found = records_by_id(held(written))
    assert marker.exists() and found == records_by_id(cq.enforce(broken, rules, seed=3))
    assert written.events.count() == written.events.distinct().count()

    marker = tmp_path / "generate"
    made = cs.generate(spark, model, 130, seed=7, partitions=3)
    task = verbs.Generate(*generate_fields(model))
    rows = spark.range(0, 130, 1, 3).mapInArrow(
        Dying(dataclasses.replace(task), str(marker), executor), workers.event_columns(False)
    )
    dying = cs.WrittenRecords(
        spark, "generate", rows, made._outline, name="generated", ordinal=made._ordinal, counted=made._counted
    )
    assert records_by_id(held(dying)) == records_by_id(model.sample(130, seed=7))
    assert marker.exists()


def generate_fields(model):
    """What `generate` gives to its tasks."""
    from conseq import _files, _given

    settings = _given.settings(
        records=130,
        seed=7,
        given=None,
        groups=[],
        mode="guided",
        temperature=1.0,
        proposals=None,
        attempts=None,
        allow_unknown=False,
    )
    return _files.packed(lambda folder: model.save(folder)), model.name, [], settings, b"dying"


@dataclasses.dataclass(frozen=True)
class Processes:
    """Counts proofs by worker: how many jobs were made ready in each process, and how many tasks asked."""

    round: workers.Round

    def __call__(self, batches):
        for _ in batches:
            pass
        job = self.round.job()
        columns = {"pid": [os.getpid()], "proofs": [job.proofs()]}
        yield pa.RecordBatch.from_pydict(columns, schema=pa.schema([("pid", pa.int64()), ("proofs", pa.int64())]))


def test_a_plan_is_proved_once_a_worker(spark, broken, rules):
    from conseq import _given, _native
    from conseq.spark import rounds

    records = records_of(spark, broken)
    settings = _given.settings(
        model=None, soft=False, seed=1, allow_unknown=False, no_own_rules=False
    )
    work = _native.work("enforce", _given.rules(rules), settings)
    outcome = rounds.run(work, [records], until="repair")
    held(cs.enforce(records, rules))
    rows = spark.range(0, 16, 1, 16).mapInArrow(Processes(outcome.round()), "pid long, proofs long").collect()
    assert len(rows) == 16
    assert len({row["pid"] for row in rows}) <= 4
    # A worker that repaired nothing before proved nothing yet.
    assert max(row["proofs"] for row in rows) == 1


def frame(spark, rows, types):
    return spark.createDataFrame(rows, types)


TYPES = "subject_id long, time timestamp_ntz, code string"
NEW_YEAR = datetime.datetime(2020, 1, 1)


def refused(kind, records, *parts):
    with pytest.raises(kind) as failed:
        cs.describe(records)
    for part in parts:
        assert part in str(failed.value), str(failed.value)


def test_columns_that_are_not_there(spark):
    rows = frame(spark, [(1, NEW_YEAR, "A")], TYPES)
    with pytest.raises(cq.errors.DataError, match="no column 'person'.*\n.*give subject=, one of subject_id, time, code"):
        cs.Records(rows, subject="person")
    with pytest.raises(cq.errors.InputError, match="no DataFrame of Spark"):
        cs.Records([1, 2])
    with pytest.raises(cq.errors.InputError, match="partitions="):
        cs.Records(rows, partitions=0)


def test_rows_that_cannot_be_read(spark):
    refused(
        cq.errors.DataError, cs.Records(frame(spark, [(None, NEW_YEAR, "A"), (1, NEW_YEAR, "B")], TYPES)), "subject_id"
    )
    refused(cq.errors.DataError, cs.Records(frame(spark, [(1, NEW_YEAR, None)], TYPES)), "code")
    texts = frame(spark, [(1, "2020-01-01", "A")], "subject_id long, time string, code string")
    refused(cq.errors.DataError, cs.Records(texts), "time", "help")
    numbers = frame(spark, [(1, NEW_YEAR, 7)], "subject_id long, time timestamp_ntz, code int")
    refused(cq.errors.DataError, cs.Records(numbers), "code", "help")
    values = frame(spark, [(1, NEW_YEAR, "A", "high")], TYPES + ", numeric_value string")
    refused(cq.errors.DataError, cs.Records(values), "numeric_value", "help")
    refused(cq.errors.DataError, cs.Records(frame(spark, [], TYPES)), "no events")


def test_patients_in_two_partitions(spark):
    rows = [(number % 20, NEW_YEAR + datetime.timedelta(days=number), f"C{number % 5}") for number in range(200)]
    events = frame(spark, rows, TYPES).repartition(4)
    refused(
        cq.errors.DataError,
        cs.Records(events, shuffle=False),
        "20 patients of column 'subject_id' have rows in more than one partition",
        "shuffle=True",
    )
    whole = cq.Cohort.from_table(pa.table({"subject_id": [row[0] for row in rows], "time": [row[1] for row in rows], "code": [row[2] for row in rows]}))
    same(cs.describe(cs.Records(events)), whole.describe())
    ready = frame(spark, rows, TYPES).repartition(4, "subject_id").sortWithinPartitions("subject_id", "time")
    same(cs.describe(cs.Records(ready, shuffle=False)), whole.describe())


def test_patients_in_two_files(spark, tmp_path):
    import pyarrow.parquet as parquet

    def write(files):
        for number, subjects in enumerate(files):
            (tmp_path / "data").mkdir(exist_ok=True)
            columns = {"subject_id": subjects, "time": [NEW_YEAR] * len(subjects), "code": ["A"] * len(subjects)}
            parquet.write_table(pa.table(columns), tmp_path / f"data/{number}.parquet")
        return cs.Records.from_meds(spark, tmp_path)

    refused(cq.errors.DataError, write([[1, 2, 9], [4, 2, 1]]), "2 patients have events in more than one data file", "give the DataFrame")
    assert cs.describe(write([[1, 2, 9], [4, 5]])).patients == 5


def test_sizes_as_spark_writes_them():
    sizes = {"134217728b": 1 << 27, "128MB": 1 << 27, "1g": 1 << 30, "64k": 1 << 16, "2TiB": 2 << 40, "7": 7, "odd": 1 << 27}
    assert {text: records_module._bytes_of(text) for text in sizes} == sizes


def test_times_out_of_order(spark):
    rows = [(1, NEW_YEAR + datetime.timedelta(days=days), "A") for days in (3, 1, 2)]
    events = frame(spark, rows, TYPES).coalesce(1)
    refused(cq.errors.DataError, cs.Records(events, shuffle=False), "time", "shuffle")
    apart = frame(spark, [(1, NEW_YEAR, "A"), (2, NEW_YEAR, "A"), (1, NEW_YEAR, "B")], TYPES).coalesce(1)
    refused(cq.errors.DataError, cs.Records(apart, shuffle=False), "subject", "shuffle")


def test_a_worker_with_another_version(spark, monkeypatch):
    rows = frame(spark, [(1, NEW_YEAR, "A")], TYPES)
    real = workers.Count

    def of_another(*words, **settings):
        return real(*words, version="0.0.0", **settings)

    monkeypatch.setattr(records_module, "Count", of_another)
    refused(cq.errors.MissingPackageError, cs.Records(rows), "a worker has conseq", "the driver has 0.0.0", "install conseq==0.0.0")


def test_a_worker_without_the_package(spark):
    from conseq.spark import rounds

    said = "ModuleNotFoundError: No module named 'conseq'"
    understood = rounds._understood(RuntimeError(said))
    assert isinstance(understood, cq.errors.MissingPackageError)
    assert "PYSPARK_PYTHON" in str(understood)


def test_counts_of_other_work_do_not_add_up(spark, broken, rules):
    from conseq import _call, _given, _native
    from conseq.spark import rounds

    records = records_of(spark, broken)
    described = _native.work("describe", [], _given.settings(top=20, split=None, hide_below=0))
    outcome = rounds.Outcome(described, (records.outline(),), (), (), None, None, None)
    states = records.count(outcome.round())
    audited = _native.work(
        "audit",
        _given.rules(rules),
        _given.settings(
            top=20, split=None, hide_below=0, referee=False, allow_unknown=False, no_own_rules=False
        ),
    )
    job = _native.Job(audited, [records.outline()])
    with pytest.raises(cq.errors.ConseqError, match="differ"):
        job.merge([], states, _call.settings(None, False))
