"""Consequence where the records are: on a Spark cluster.

::

    from conseq import spark as cs

    records = cs.Records(spark.table("claims"), subject="person_id", time="service_date", code="dx")
    print(cs.audit(records, "clinic.rules"))

Every verb gives what it gives on one machine: the same figures, the same rules, the same records. The work is done by the
same native code inside of ``mapInArrow``, and needs nothing of Spark that Spark Connect does not have. Only counts come
back to the driver of ``describe``, ``audit`` and ``mine``; ``evaluate`` with ``out=`` takes some records as well, by keys
of their ids. Repaired and generated records stay in the cluster, as a DataFrame.

PySpark is no requirement of this package: whoever imports this module needs it (``pip install 'conseq[spark]'``), and
every node of the cluster needs this package.
"""

from ..errors import MissingPackageError

try:
    import pyarrow as _pyarrow  # noqa: F401
    import pyspark as _pyspark  # noqa: F401
except ImportError as error:
    raise MissingPackageError("conseq.spark needs PySpark and PyArrow", "pip install 'conseq[spark]'") from error

from .records import Records
from .verbs import audit, describe, enforce, evaluate, generate, mine
from .written import WrittenRecords

__all__ = [
    "Records",
    "WrittenRecords",
    "audit",
    "describe",
    "enforce",
    "evaluate",
    "generate",
    "mine",
]
