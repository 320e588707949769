"""Tables that do not say what they should: refused with the column, as on one machine."""

import datetime
import decimal

import pytest

import conseq as cq

try:
    import pyarrow as pa
    import pyspark  # noqa: F401
except ImportError:
    pytest.skip("PySpark is not installed: tables on a cluster were not tested", allow_module_level=True)

from conseq import spark as cs
from conseq.spark import rounds
from test_spark import records_by_id, same
from test_spark_faults import NEW_YEAR, TYPES, frame, refused

DAY = datetime.timedelta(days=1)
ROWS = [(number, NEW_YEAR + day * DAY, "AB"[day % 2]) for number in range(1, 5) for day in range(3)]


def subjects(spark, rows):
    return frame(spark, rows, "subject_id long, original_id string, split string")


def test_subjects_that_are_listed_twice(spark):
    """Each would double the rows of a patient."""
    twice = subjects(spark, [(1, "a", "train"), (2, "b", "train"), (1, "c", "tuning")])
    records = cs.Records(frame(spark, ROWS, TYPES), subjects=twice)
    told = "1 subjects of column 'subject_id' are listed more than once in the table of subjects"
    refused(cq.errors.DataError, records, told, "list each subject once")
    with pytest.raises(cq.errors.DataError, match="'subject_id' are listed more than once"):
        records.sample(2)
    with pytest.raises(cq.errors.DataError, match="'subject_id' are listed more than once"):
        cs.enforce(records, cq.Rules.parse("rule a: A => not B\n"))
    splits = frame(spark, [(1, "train"), (1, "train")], "subject_id long, split string")
    refused(cq.errors.DataError, cs.Records(frame(spark, ROWS, TYPES), subjects=splits), "'subject_id'")


def test_subjects_with_one_id(spark):
    """They would become one patient."""
    one = subjects(spark, [(1, "a", "train"), (2, "a", "train"), (3, "4", "train"), (4, None, "train")])
    records = cs.Records(frame(spark, ROWS, TYPES), subjects=one)
    told = "2 ids of column 'original_id' are those of several subjects in the table of subjects"
    refused(cq.errors.DataError, records, told, "give each subject an id of its own")


def test_subjects_that_are_joined(spark):
    rows = [(1, "a", "train"), (2, "b", "tuning"), (3, "c", "held_out")]
    events = frame(spark, ROWS, TYPES)
    table = pa.table(dict(zip(("subject_id", "time", "code"), map(list, zip(*ROWS)))))
    listed = pa.table(dict(zip(("subject_id", "original_id", "split"), map(list, zip(*rows)))))
    whole = cq.Cohort.from_table(table, subjects=listed)
    records = cs.Records(events, subjects=subjects(spark, rows))
    same(cs.describe(records), whole.describe())
    assert records_by_id(records.sample(9)) == records_by_id(whole)
    # Rows that were in order are so after they were joined.
    ready = events.repartition(2, "subject_id").sortWithinPartitions("subject_id", "time")
    same(cs.describe(cs.Records(ready, subjects=subjects(spark, rows), shuffle=False)), whole.describe())


def test_splits_that_differ_within_a_patient(spark):
    types = TYPES + ", part string"
    part = {(1, 0): None, (1, 1): "train", (1, 2): None, (2, 0): "tuning", (2, 1): "tuning", (2, 2): "elsewhere"}
    told = [(*row, part.get((row[0], number % 3))) for number, row in enumerate(ROWS)]

    table = pa.table(dict(zip(("subject_id", "time", "code"), map(list, zip(*ROWS)))))
    listed = pa.table({"subject_id": [1, 2], "split": ["train", "tuning"]})
    records = cs.Records(frame(spark, told, types), split="part")
    same(cs.describe(records), cq.Cohort.from_table(table, subjects=listed).describe())
    differing = frame(spark, [*told, (1, NEW_YEAR + 9 * DAY, "A", "held_out")], types)
    told = "column `part` tells two splits of one subject"
    refused(cq.errors.DataError, cs.Records(differing, split="part"), told, "the same split")


@pytest.mark.parametrize(
    "kind, value", [("decimal(12,0)", decimal.Decimal(7)), ("boolean", True), ("double", 1.5), ("binary", b"7")]
)
def test_columns_of_another_type(spark, kind, value):
    subject = frame(spark, [(value, NEW_YEAR, "A")], f"who {kind}, time timestamp_ntz, code string")
    with pytest.raises(cq.errors.DataError, match="column `who` holds .*, and whole numbers or strings is needed"):
        cs.describe(cs.Records(subject, subject="who"))
    visit = frame(spark, [(1, NEW_YEAR, "A", value)], f"{TYPES}, stay {kind}")
    if kind == "double":
        assert cs.describe(cs.Records(visit, visit="stay")).patients == 1
        return
    with pytest.raises(cq.errors.DataError, match="column `stay` holds"):
        cs.describe(cs.Records(visit, visit="stay"))


def test_advice_on_the_order_of_rows_comes_with_trouble_of_that_kind_alone(spark):
    for rows, types in (
        ([(1, NEW_YEAR, None)], TYPES),
        ([(1, NEW_YEAR, "A", "high")], TYPES + ", numeric_value string"),
    ):
        with pytest.raises(cq.errors.DataError) as failed:
            cs.describe(cs.Records(frame(spark, rows, types).coalesce(1), shuffle=False, vocabulary=["A"]))
        assert not failed.value.disordered
        assert "shuffle" not in str(failed.value)
    late = [(1, NEW_YEAR + days * DAY, "A") for days in (3, 1)]
    with pytest.raises(cq.errors.DataError) as failed:
        cs.describe(cs.Records(frame(spark, late, TYPES).coalesce(1), shuffle=False))
    assert failed.value.disordered and "shuffle=True" in failed.value.advice


class Settings:
    """Settings as some platforms have them."""

    def __init__(self, told):
        self.told = told

    def get(self, name, usual=None):
        if isinstance(self.told, Exception):
            raise self.told
        return self.told


class Session:
    def __init__(self, told):
        self.conf = Settings(told)


@pytest.mark.parametrize("told", ["auto", "", RuntimeError("CONFIG_NOT_AVAILABLE"), "12"])
def test_settings_that_platforms_do_not_tell(spark, told):
    records = cs.Records(frame(spark, ROWS, TYPES))
    records._spark = Session(told)
    assert records.parts() == (12 if told == "12" else 200)
    assert rounds.setting(Session(RuntimeError("no")), "spark.sql.files.maxPartitionBytes", "128MB") == "128MB"


@pytest.mark.parametrize("partitions", [0, -1, True, 2.0])
def test_numbers_of_partitions(spark, model, partitions):
    with pytest.raises(cq.errors.InputError, match="partitions=.* is no number of partitions"):
        cs.generate(spark, model, 10, partitions=partitions)
    with pytest.raises(cq.errors.InputError, match="partitions=.* is no number of partitions"):
        cs.Records(frame(spark, ROWS, TYPES), partitions=partitions)
