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


@pytest.mark.parametrize("partitions", [0, -1, True, 2.0])
def test_numbers_of_partitions(spark, model, partitions):
    with pytest.raises(cq.errors.InputError, match="partitions=.* is no number of partitions"):
        cs.generate(spark, model, 10, partitions=partitions)
    with pytest.raises(cq.errors.InputError, match="partitions=.* is no number of partitions"):
        cs.Records(frame(spark, ROWS, TYPES), partitions=partitions)
