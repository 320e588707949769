"""Records that a verb writes, in the cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _native
from ..report import Report
from .records import Records

if TYPE_CHECKING:
    from .._native import Finished


class WrittenRecords:
    """Repaired or generated records: a DataFrame of events, the tables that tell what they mean, and a report.

    Nothing is done until Spark is asked for rows::

        made = cs.generate(spark, model, 1_000_000)
        made.events.write.parquet("generated/events")
        made.codes.write.parquet("generated/codes")
        print(made.report())

    The report is counted by another pass, unless the rows are kept: :meth:`persist` before they are written.
    """

    def __init__(
        self,
        spark: Any,
        kind: str,
        raw: Any,
        outline: bytes,
        *,
        name: str,
        ordinal: bool,
        counted: Callable[[Any], Finished],
    ) -> None:
        self._spark = spark
        self._kind = kind
        self._raw = raw
        self._outline = outline
        self._name = name
        self._ordinal = ordinal
        self._counted = counted
        self._kept = False
        self._report: Report | None = None

    @property
    def events(self) -> Any:
        """The events, in the columns of MEDS: ``subject_id``, ``time``, ``code``, ``numeric_value``, ``visit_id``."""
        return self._raw.where(self._raw["state"].isNull()).drop("state")

    @property
    def codes(self) -> Any:
        """What the codes of the events are, markers of encounters among them, as a DataFrame."""
        return self._table("codes")

    @property
    def concepts(self) -> Any:
        """The OMOP concepts of codes as a DataFrame; ``None`` where none is known."""
        return self._table("concepts")

    @property
    def scales(self) -> Any:
        """What the values of codes are, as a DataFrame; ``None`` where nothing is known of them."""
        return self._table("scales")

    @property
    def records(self) -> Records:
        """The records, for the next verb."""
        tables = _native.outline_tables(self._outline)
        return Records(self.events, name=self._name, ordinal=self._ordinal or None, **tables)

    def persist(self) -> WrittenRecords:
        """Keeps the rows in the cluster, so that rows and report come from one pass."""
        self._raw.persist()
        self._kept = True
        return self

    def unpersist(self) -> WrittenRecords:
        """Keeps the rows no longer."""
        self._raw.unpersist()
        self._kept = False
        return self

    def report(self) -> Report:
        """What was done, in numbers."""
        if self._report is None:
            self._report = Report(self._kind, self._counted(self._states() if self._kept else None))
        return self._report

    def _states(self) -> Any:
        """What was counted beside the rows, as tasks that count give it."""
        from pyspark.sql import functions

        none = functions.lit(None).cast("binary").alias("error")
        return self._raw.where(self._raw["state"].isNotNull()).select("state", none)

    def _table(self, name: str) -> Any:
        import pyarrow

        table = _native.outline_tables(self._outline).get(name)
        return None if table is None else self._spark.createDataFrame(pyarrow.table(table))
