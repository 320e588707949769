"""Workers that cannot work, what they add up, and what they let out."""

import os
import pathlib
import pickle
import subprocess
import sys
import textwrap

import pytest

import conseq as cq

try:
    import pyarrow as pa
    import pyspark  # noqa: F401
except ImportError:
    pytest.skip("PySpark is not installed: workers of a cluster were not tested", allow_module_level=True)

from conseq import _native
from conseq import spark as cs
from conseq.spark import records as records_module
from conseq.spark import rounds, verbs, workers
from spark_cluster import connect_is_asked_for
from test_spark import broken, cut_up, held, others, records_by_id, records_of, rules, same  # noqa: F401
from test_spark_faults import NEW_YEAR, TYPES, frame

WITHOUT_THE_PACKAGE = """
    import sys
    from pyspark.sql import SparkSession
    import conseq as cq
    from conseq import spark as cs
    from spark_cluster import SETTINGS

    builder = SparkSession.builder.master("local[1]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.createDataFrame([(1, "2020-01-01", "A")], "subject_id long, time string, code string")
    rows = rows.withColumn("time", rows["time"].cast("timestamp_ntz"))
    model = cq.Model.load(sys.argv[1])
    for name, act in (
        ("describe", lambda: cs.describe(cs.Records(rows))),
        ("enforce", lambda: cs.enforce(cs.Records(rows), cq.Rules.parse("rule a: A in past => not A"))),
        ("generate", lambda: cs.generate(spark, model, 10)),
    ):
        try:
            act()
            print(name, "was not refused")
        except cq.errors.MissingPackageError as error:
            print(name, "|", str(error).replace("\\n", " "))
"""


def test_a_real_worker_without_the_package(folder, tmp_path):
    """A Python of the cluster that does not find it: told before any rows are handed out."""
    package = str(pathlib.Path(cq.__file__).parents[1])
    worker = tmp_path / "worker"
    # What Spark adds to the path of its workers stays there.
    worker.write_text(
        "#!/bin/sh\n"
        f"PYTHONPATH=$(printf %s \"$PYTHONPATH\" | tr : '\\n' | grep -vxF '{package}' | paste -sd: -)\n"
        f'export PYTHONPATH\nexec "{sys.executable}" "$@"\n'
    )
    worker.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if key not in ("CONSEQ_SPARK", "SPARK_REMOTE")}
    environment |= {"PYSPARK_PYTHON": str(worker), "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["PYTHONPATH"] = f"{package}:{pathlib.Path(__file__).parent}"
    line = [sys.executable, "-c", textwrap.dedent(WITHOUT_THE_PACKAGE), str(folder / "model")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, env=environment, cwd=tmp_path)
    told = done.stdout.splitlines()
    assert [line.split(" ")[0] for line in told] == ["describe", "enforce", "generate"], done.stderr[-3000:]
    for line in told:
        assert "a worker of the cluster has no conseq" in line, line
        assert "PYSPARK_PYTHON" in line and "spark.pyspark.python" in line and "conseq[spark]==" in line, line


@pytest.mark.parametrize("kind", ["Repair", "RepairFiles", "Generate"])
def test_tasks_that_write_rows_of_another_version(spark, broken, rules, model, tmp_path, monkeypatch, kind):  # noqa: F811
    """Rows are made when people ask Spark for them: the message is in its error."""
    real = getattr(workers, kind)
    where = verbs if kind == "Generate" else records_module
    monkeypatch.setattr(where, kind, lambda *words: real(*words, version="0.0.0"))
    if kind == "Generate":
        made = cs.generate(spark, model, 10)
    else:
        broken.save(tmp_path / "broken")
        records = cs.Records.from_meds(spark, tmp_path / "broken") if kind == "RepairFiles" else records_of(spark, broken)
        made = cs.enforce(records, rules)
    told = f"a worker has conseq {_native.VERSION}, and the driver has 0.0.0"
    with pytest.raises(Exception, match=told) as failed:
        made.events.collect()
    assert "install conseq==0.0.0 on every node" in str(failed.value)


def test_a_probe_tells_of_another_version(spark, model, monkeypatch):
    monkeypatch.setattr(rounds, "Probe", lambda: workers.Probe(version="0.0.0"))
    with pytest.raises(cq.errors.MissingPackageError, match="install conseq==0.0.0"):
        cs.generate(spark, model, 10)


def test_what_a_worker_said_in_an_error_of_spark():
    told = cq.errors.ModelError("the folder holds another model\n  --> models/a", "leave it as it is")
    said = f"PythonException: Traceback\n  File a\nconseq.errors.ModelError: {told}\n\n\tat org.apache.spark.api.python"
    understood = rounds._understood(RuntimeError(said))
    assert type(understood) is cq.errors.ModelError
    assert (understood.message, understood.advice) == (told.message, told.advice)
    other = RuntimeError("something else")
    assert rounds._understood(other) is other


def adding(monkeypatch, fan_in=2):
    """Has counts added up by workers; gives the rounds of which they were."""
    seen, real = [], workers.AddUp
    monkeypatch.setattr(rounds, "FAN_IN", fan_in)
    monkeypatch.setattr(rounds, "AddUp", lambda round: seen.append(round) or real(round))
    return seen


def states_of(monkeypatch):
    """What comes to the driver."""
    seen, real = [], rounds.collect

    def collect(counts, round, parts):
        states = real(counts, round, parts)
        seen.append(states)
        return states

    monkeypatch.setattr(rounds, "collect", collect)
    return seen


def test_counts_of_many_partitions_are_added_up_by_workers(spark, broken, rules, monkeypatch):  # noqa: F811
    seen, states = adding(monkeypatch), states_of(monkeypatch)
    same(cs.audit(records_of(spark, broken, partitions=7), rules), cq.audit(broken, rules))
    assert len(seen) == 2, "seven become four, and then two"
    # As many partitions as the frame has, whatever Spark is set to.
    events = spark.createDataFrame(broken.to_arrow()).repartition(9, "subject_id").sortWithinPartitions("subject_id", "time")
    whole = cs.Records(events, shuffle=False, name="records", **others(broken))
    same(cs.describe(whole), cq.Cohort.from_table(broken.to_arrow(), **others(broken)).describe())
    assert whole.parts() == 9 and len(seen) == 5
    assert [len(one) for one in states] and max(len(one) for one in states) <= 2
    written = cs.enforce(whole, rules, seed=3).persist()
    alone = cq.enforce(broken, rules, seed=3)
    assert records_by_id(held(written)) == records_by_id(alone)
    before = len(seen)
    same(written.report(), alone.report)
    assert len(seen) > before, "counts of rows that are kept, too"
    written.unpersist()


def test_counts_of_generated_records_are_added_up_by_workers(spark, model, monkeypatch):
    seen, states = adding(monkeypatch), states_of(monkeypatch)
    whole = model.sample(100, seed=7)
    for kept in (False, True):
        made = cs.generate(spark, model, 100, seed=7, partitions=5)
        if kept:
            made.persist()
            assert made.events.count() > 100
        seen.clear()
        same(made.report(), whole.report)
        assert seen == [workers.Written(), workers.Written()]
        assert len(states[-1]) <= 2
        made.unpersist()


def batch(*rows):
    schema = pa.schema([("state", pa.binary()), ("error", pa.binary())])
    return pa.RecordBatch.from_pylist([{"state": state, "error": error} for state, error in rows], schema=schema)


def test_what_cannot_be_added_up_is_told_as_a_count_that_went_wrong(spark, broken, rules):  # noqa: F811
    records = records_of(spark, broken)
    outcome = rounds.Outcome(_native.work("describe", [], {}), (records.outline(),), (), (), None, None, None)
    round = outcome.round()
    (state, *_) = records.count(round)

    def added(*rows, of=round, **version):
        (made,) = [one for one in workers.AddUp(of, **version)(iter([batch(row) for row in rows]))]
        (row,) = made.to_pylist()
        return row["state"], row["error"] and pickle.loads(row["error"])

    assert added((state, None)) == (state, None)
    sum, error = added((state, None), (state, None))
    assert error is None and sum not in (None, state)
    assert list(workers.AddUp(round)(iter([]))) == []
    _, error = added((state, None), (b"conseq-counts\n\x02", None))
    assert isinstance(error, cq.errors.ConseqError) and "format 2" in str(error)
    _, error = added((state, None), (b"", None))
    assert isinstance(error, cq.errors.ConseqError)
    told = pickle.dumps(cq.errors.DataError("rows that cannot be read", "read others"))
    _, error = added((None, told), (state, None))
    assert (error.message, error.advice) == ("rows that cannot be read", "read others")
    _, error = added((state, None), version="0.0.0")
    assert isinstance(error, cq.errors.MissingPackageError)
    _, error = added((state, None), (state, None), of=workers.Written())
    assert isinstance(error, cq.errors.ConseqError), "counts of records that were not generated"


def test_no_id_comes_to_the_driver(spark, monkeypatch):
    """Neither in counts, nor in messages."""
    states = states_of(monkeypatch)
    rows = [(f"CANARY-{person}", NEW_YEAR.replace(day=1 + day), "ABC"[(person + day) % 3]) for person in range(40) for day in range(9)]
    types = TYPES.replace("long", "string")
    records = cs.Records(frame(spark, rows, types), partitions=2)
    rules = cq.Rules.parse("rule apart: A => not B\nrule again: C in previous => A\n")
    told = [cs.describe(records), cs.audit(records, rules, referee=True), cs.mine(records).report]
    assert len(states) > 5 and all(states)
    assert not any(b"CANARY" in state for some in states for state in some)
    assert not any("CANARY" in text for report in told for text in (str(report), report.to_json()))

    once = cq.Rules.parse("rule once: A in past => not A\n")
    late = [("CANARY-17", NEW_YEAR.replace(day=day), "A") for day in (3, 1)]
    other = [("CANARY-17", NEW_YEAR, "A"), ("CANARY-8", NEW_YEAR, "A"), ("CANARY-17", NEW_YEAR, "B")]
    odd = [("CANARY-17", NEW_YEAR, "UNKNOWN")]
    none = [("CANARY-17", NEW_YEAR, None)]
    for rows, settings in (
        (late, {"shuffle": False}),
        (other, {"shuffle": False}),
        (odd, {"vocabulary": ["A", "B"]}),
        (none, {"vocabulary": ["A", "B"]}),
    ):
        records = cs.Records(frame(spark, rows, types).coalesce(1), **settings)
        for verb in (cs.describe, cs.mine, lambda records: cs.audit(records, once)):
            with pytest.raises(cq.errors.DataError) as failed:
                verb(records)
            causes, cause = "", failed.value
            while cause is not None:
                causes, cause = causes + str(cause), cause.__cause__ or cause.__context__
            assert "CANARY" not in causes, causes
