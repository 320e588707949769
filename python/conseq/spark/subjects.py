"""The table of subjects of a cohort, whose ids and splits Spark joins to its events."""

from __future__ import annotations

from typing import Any

from ..errors import DataError
from . import rounds

#: The column of the splits that were joined.
SPLIT = "_split"


class Subjects:
    """A DataFrame with a row for each subject: ``subject_id``, and ``original_id``, ``split`` or both."""

    def __init__(self, table: Any) -> None:
        known = [name for name in ("original_id", "split") if name in table.columns]
        if "subject_id" not in table.columns or not known:
            raise DataError("the table of subjects tells nothing", "give columns subject_id and split, or original_id")
        self._table = table.select(
            table["subject_id"].alias("_subject"), *(table[name].alias(f"_{name}") for name in known)
        )
        self._tell_ids = "original_id" in known
        self.tell_splits = "split" in known
        self._checked = False

    def joined_to(self, events: Any, subject: str) -> Any:
        """Events, each with the id and the split of its patient."""
        from pyspark.sql import functions

        rows = events.join(self._table, events[subject] == self._table["_subject"], "left").drop("_subject")
        if self._tell_ids:
            named = functions.coalesce(rows["_original_id"], rows[subject].cast("string"))
            rows = rows.withColumn(subject, named).drop("_original_id")
        return rows

    def refuse_repeated(self) -> None:
        """Refuses subjects that are listed twice and ids that two subjects have, by Spark's own count of them."""
        from pyspark.sql import functions

        if self._checked:
            return
        subject = functions.col("_subject")
        self._refuse(subject, "{:,} subjects of column 'subject_id' are listed more than once", "list each subject once")
        if self._tell_ids:
            named = functions.coalesce(functions.col("_original_id").cast("string"), subject.cast("string"))
            told = "{:,} ids of column 'original_id' are those of several subjects"
            self._refuse(named, told, "give each subject an id of its own")
        self._checked = True

    def _refuse(self, column: Any, told: str, advice: str) -> None:
        named = self._table.where("_subject is not null").select(column.alias("_id"))
        repeated = rounds.explained(named.groupBy("_id").count().where("count > 1").count)
        if repeated:
            raise DataError(f"{told.format(repeated)} in the table of subjects", advice)
