"""What a cluster gives is what one machine gives. Skipped as a whole, in one line, where PySpark is missing."""

import datetime
import json

import pytest

import conseq as cq

try:
    import pyarrow as pa
    import pyspark  # noqa: F401
except ImportError:
    pytest.skip("PySpark is not installed: conseq.spark was not tested", allow_module_level=True)

from conseq import spark as cs
from test_faces import plain

NAME = "records"


def others(cohort):
    """The tables that tell of a cohort beside its events."""
    return {name: cohort.to_arrow(name) for name in cohort.tables if name != "events"}


def records_of(spark, cohort, parts=3, **settings):
    """The rows of a cohort as a DataFrame, all over the cluster."""
    events = spark.createDataFrame(cohort.to_arrow()).repartition(parts)
    return cs.Records(events, name=NAME, **others(cohort), **settings)


def told(cohort):
    """The cohort as its tables tell it: all but the rules that it keeps by itself."""
    return cq.Cohort.from_table(cohort.to_arrow(), name=NAME, **others(cohort))


def same(mine, theirs):
    """Whether two reports are the same, byte for byte, but for times and what the cohorts are called."""
    both = [plain(report) for report in (mine, theirs)]
    for one in both:
        for field in ("cohort", "real", "synthetic", "model", "out", "files", "records_are_lines", "codes", "examples"):
            one.pop(field, None)
        for rule in one.get("broken", []):
            # Only counts leave a cluster.
            if isinstance(rule, dict):
                rule.pop("examples", None)
    assert json.dumps(both[0]) == json.dumps(both[1])
    assert mine.found == theirs.found
    assert mine.warnings == theirs.warnings


def records_by_id(cohort):
    return {str(record["id"]): record for record in cohort.to_records()}


def held(written):
    """What was written in the cluster, as a cohort here."""
    tables = {
        name: table.toArrow()
        for name, table in (("codes", written.codes), ("concepts", written.concepts), ("scales", written.scales))
        if table is not None
    }
    events = written.events.orderBy("subject_id", "time").toArrow()
    return cq.Cohort.from_table(events, ordinal=written.records.ordinal, **tables)


@pytest.fixture(scope="module")
def broken(cohort):
    """Records whose visits are in the wrong order and whose sex is missing now and then."""
    turned = [
        {**record, "static": record["static"] * (number % 3 > 0), "visits": record["visits"][::-1]}
        for number, record in enumerate(cohort.to_records())
    ]
    for record in turned:
        for known in ("birth", "ends", "values"):
            record.pop(known, None)
        record["times"] = record["times"][: len(record["visits"])]
    return cq.Cohort.from_records(turned, vocabulary=cohort)


@pytest.fixture(scope="module")
def rules(folder):
    return cq.Rules.load(folder / "truth.rules")


def test_describe(spark, cohort):
    found = cs.describe(records_of(spark, cohort), top=7, hide_below=3)
    same(found, cohort.describe(top=7, hide_below=3))
    assert str(found).splitlines()[1:] == str(cohort.describe(top=7, hide_below=3)).splitlines()[1:]
    same(cs.describe(records_of(spark, cohort), split="tuning"), cohort.describe(split="tuning"))


def test_audit(spark, broken, rules):
    whole = cq.audit(broken, rules)
    assert whole.found
    same(cs.audit(records_of(spark, broken), rules), whole)
    same(cs.audit(records_of(spark, broken), rules, referee=True), cq.audit(broken, rules, referee=True))


def test_mine(spark, cohort):
    mined = cs.mine(records_of(spark, cohort), ages_and_days=True)
    whole = cq.Rules.mine(cohort, ages_and_days=True)
    assert mined.to_text() == whole.to_text()
    same(mined.report, whole.report)


def test_evaluate(spark, cohort, model, rules):
    new = model.sample(200, seed=4)
    made = cs.evaluate(records_of(spark, cohort), records_of(spark, new), rules)
    same(made, cq.evaluate(told(cohort), told(new), rules))


def test_enforce(spark, broken, rules):
    written = cs.enforce(records_of(spark, broken), rules, seed=3).persist()
    whole = cq.enforce(broken, rules, seed=3)
    assert records_by_id(held(written)) == records_by_id(whole)
    same(written.report(), whole.report)
    assert not cs.audit(written, rules).found
    written.unpersist()


def test_generate(spark, model, folder):
    whole = model.sample(100, seed=7, given="SEX//F")
    for given in (model, folder / "model"):
        written = cs.generate(spark, given, 100, seed=7, given="SEX//F", partitions=3)
        assert records_by_id(held(written)) == records_by_id(whole)
        same(written.report(), whole.report)
    same(cs.describe(written), whole.describe())


def test_records_with_dates(spark):
    cohort = cq.Cohort.simulate("inpatient", patients=300, seed=2)
    model = cq.Model.train(cohort, generator="markov", seed=2)
    whole = model.sample(60, seed=2)
    written = cs.generate(spark, model, 60, seed=2, partitions=4)
    assert not cq.diff(held(written), whole).found
    assert records_by_id(held(written)) == records_by_id(whole)
    rules = cq.Rules.parse(
        "rule months: RX//insulin-pump in last 200 days => not RX//insulin-pump\nrule adults: not AGE >= 90\n"
    )
    repaired = cs.enforce(records_of(spark, cohort), rules)
    alone = cq.enforce(told(cohort), rules)
    assert records_by_id(held(repaired)) == records_by_id(alone)
    same(repaired.report(), alone.report)


def cut_up(data, files):
    """Makes several data files of one."""
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    (whole,) = data.iterdir()
    events = parquet.read_table(whole)
    subjects = events["subject_id"].unique()
    for number in range(files):
        some = subjects.filter([place * files // len(subjects) == number for place in range(len(subjects))])
        parquet.write_table(events.filter(compute.is_in(events["subject_id"], some)), data / f"{number:06}.parquet")


def test_datasets_of_files(spark, tmp_path, broken, rules):
    """Data files that workers read by themselves, several in a task."""
    broken.save(tmp_path / "broken")
    cut_up(tmp_path / "broken/data", 9)
    with pytest.raises(cq.errors.InputError, match="partitions="):
        cs.Records.from_meds(spark, tmp_path / "broken", partitions=0)
    same(cs.describe(cs.Records.from_meds(spark, tmp_path / "broken", partitions=5)), cq.Cohort.load(tmp_path / "broken").describe())
    records = cs.Records.from_meds(spark, tmp_path / "broken")
    whole = cq.Cohort.load(tmp_path / "broken")
    same(cs.describe(records), whole.describe())
    same(cs.audit(records, rules), cq.audit(whole, rules))
    assert cs.mine(records).to_text() == cq.Rules.mine(whole).to_text()
    written = cs.enforce(records, rules, seed=3)
    repaired = cq.enforce(whole, rules, seed=3)
    assert records_by_id(held(written)) == records_by_id(repaired)
    same(written.report(), repaired.report)
    assert records_by_id(records.sample(50)) == records_by_id(records_of(spark, broken).sample(50))


def test_sample(spark, cohort):
    """Who is taken depends on ids and seed alone, and records are whole."""
    chosen = records_of(spark, cohort).sample(80, seed=3)
    again = records_of(spark, cohort, parts=7).sample(80, seed=3)
    assert chosen.to_records() == again.to_records()
    known = records_by_id(told(cohort))
    assert len(chosen) == 80
    for name, record in records_by_id(chosen).items():
        assert record == known[name]
    assert records_by_id(records_of(spark, cohort).sample(80, seed=4)) != records_by_id(chosen)
    model = cq.Model.train(chosen, generator="markov")
    assert len(model.sample(5)) == 5


def test_columns_of_other_names(spark):
    """A table that no cohort was made for: other names, dates, texts as ids, no list of codes."""
    rows = [
        {"person": f"p{number % 40:03}", "day": datetime.date(2020, 1, 1 + number % 27), "dx": f"DX{number * 7 % 11}"}
        for number in range(500)
    ]
    table = pa.Table.from_pylist(rows)
    names = {"subject": "person", "time": "day", "code": "dx"}
    whole = cq.Cohort.from_table(table, **names)
    records = cs.Records(spark.createDataFrame(table).repartition(5), **names, name="table")
    same(cs.describe(records), whole.describe())
    rules = cq.Rules.parse("rule apart: DX1 => not DX2\nrule again: DX3 in previous => DX4\n")
    same(cs.audit(records, rules), cq.audit(whole, rules))
    written = cs.enforce(records, rules)
    assert records_by_id(held(written)) == records_by_id(cq.enforce(whole, rules))


@pytest.mark.parametrize("parts", [1, 7, 64])
def test_partitions_change_nothing(spark, broken, rules, model, parts):
    records = records_of(spark, broken, partitions=parts).persist()
    same(cs.audit(records, rules), cq.audit(broken, rules))
    same(cs.describe(records), cq.Cohort.from_table(broken.to_arrow(), **others(broken)).describe())
    if parts == 7:
        assert cs.mine(records).to_text() == cq.Rules.mine(broken).to_text()
        same(cs.evaluate(records, records, rules), cq.evaluate(told(broken), told(broken), rules))
    written = cs.enforce(records, rules, seed=3)
    assert records_by_id(held(written)) == records_by_id(cq.enforce(broken, rules, seed=3))
    records.unpersist()
    new = cs.generate(spark, model, 130, seed=7, partitions=parts)
    assert records_by_id(held(new)) == records_by_id(model.sample(130, seed=7))
