"""Records of a cluster: a DataFrame of events, a set of tables, or the files of a dataset."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _given, _native
from .._given import Path
from ..cohort import Cohort
from ..errors import DataError, InputError
from ..rules import codes_of
from . import rounds
from .subjects import SPLIT, Subjects
from .workers import COUNTED, Count, CountFiles, Repair, RepairFiles, Round, SampleKeys, event_columns

if TYPE_CHECKING:
    from ..vocabulary import Vocabulary

#: What columns are usually called that a table may have or not.
_USUAL_VALUES = ("numeric_value", "value")
_USUAL_VISITS = ("visit_id", "hadm_id")
#: The column that says in which order rows came.
ROW = "_consequence_row"
#: Tasks for each core, so that one that is lost is soon done again, and cores end at about the same time.
_TASKS_A_CORE = 3


class Records:
    """Records of patients, in a cluster: a DataFrame with one code a row.

    The columns are those of :meth:`Cohort.from_table <conseq.Cohort.from_table>`, and so is what becomes of the rows:
    rows of one visit are one encounter, without such a column rows of one day are, and a row without a time is a static
    code. Rows are brought together by patient and put in order by time; rows of one time stay in the order they have.

    ::

        records = Records(spark.table("claims"), subject="person_id", time="service_date", code="dx")

    :param events: the DataFrame
    :param subject: the column that says who: whole numbers or texts
    :param time: the column that says when: times, days, or the numbers of visits
    :param code: the column of codes
    :param value: the column of what was measured; without it ``numeric_value``, if there
    :param visit: the column that says in which encounter; without it ``visit_id`` or ``hadm_id``, if there
    :param split: the column with the split of the patient; without it the hash of the id tells
    :param ordinal: whether times tell the order of encounters alone, and not when they were
    :param vocabulary: the codes there are; without it they are counted first
    :param codes: the other tables that a cohort is told by: DataFrames, or anything with ``__arrow_c_stream__``.
        ``subjects`` is joined by Spark, the others come to the driver.
    :param shuffle: bring the rows of each patient together. Without it, every partition must have whole patients, one
        after the other, in the order of time; what has not is refused.
    :param partitions: into how many partitions rows are brought; without it, as Spark is set
    """

    _left_out: Mapping[str, int] = {}

    def __init__(
        self,
        events: Any,
        *,
        subject: str = "subject_id",
        time: str = "time",
        code: str = "code",
        value: str | None = None,
        visit: str | None = None,
        split: str | None = None,
        ordinal: bool | None = None,
        vocabulary: Cohort | Vocabulary | Iterable[str] | None = None,
        codes: Any = None,
        subjects: Any = None,
        concepts: Any = None,
        scales: Any = None,
        name: str = "table",
        shuffle: bool = True,
        partitions: int | None = None,
    ) -> None:
        self._events = _frame(events, "events")
        self._spark = events.sparkSession
        self._name = name
        self._shuffle = shuffle
        self._partitions = number_of_partitions(partitions)
        self._tables = {"codes": codes, "concepts": concepts, "scales": scales}
        self._codes = None if vocabulary is None else codes_of(vocabulary)
        self._subjects: Subjects | None = None
        self._parts_there = 0
        self._columns = _given.settings(
            subject=subject, time=time, code=code, value=value, visit=visit, split=split, ordinal=ordinal
        )
        self._check_columns()
        if subjects is not None:
            self._join(subjects)
        self._outline: bytes | None = None
        self._rows: Any = None
        self._kept = False
        self._whole = shuffle

    @classmethod
    def from_meds(
        cls, spark: Any, path: Path, *, partitions: int | None = None, name: str | None = None
    ) -> Records:
        """A MEDS dataset, ours or another tool's, in a folder that every node sees.

        Workers read its data files by themselves: nothing is shuffled. Where nodes see no common folder, give the
        DataFrames of the dataset to :class:`Records`.

        :param partitions: how many tasks share the files; else some for each core, and no more than 128 MB a task
            (``spark.sql.files.maxPartitionBytes``)
        """
        return _Files(spark, os.fspath(path), number_of_partitions(partitions), name)

    @classmethod
    def from_omop(
        cls,
        tables: Mapping[str, Any],
        *,
        truncate: int | None = None,
        min_patients: int | None = None,
        max_visits: int | None = None,
        gaps: bool = True,
        quantiles: int | None = None,
        ages: Sequence[int] | None = None,
        sex: bool = True,
        partitions: int | None = None,
        name: str = "omop",
    ) -> Records:
        """OMOP tables, 5.3 or 5.4: DataFrames by their names. Rows are counted twice before this is ready.

        ``person`` and ``visit_occurrence`` must be there; ``condition_occurrence``, ``procedure_occurrence``,
        ``drug_exposure``, ``device_exposure``, ``observation``, ``measurement``, ``death``, ``concept`` and
        ``concept_ancestor`` are read where they are. The records are those of
        :meth:`Cohort.from_omop <conseq.Cohort.from_omop>` with the same settings: codes, ages, gaps, stays, parts of
        values and all. :attr:`left_out` tells what was left out.

        ::

            tables = {name: spark.table(f"cdm.{name}") for name in ("person", "visit_occurrence", "condition_occurrence")}
            records = Records.from_omop(tables)

        :param truncate: the characters of ICD codes to keep; 3 gives categories
        :param min_patients: leave out codes of encounters that fewer patients have
        :param max_visits: the encounters to keep of each patient, the first ones
        :param quantiles: into how many parts values are put; 0 leaves measurements out
        :param ages: where age bands begin, in years; an empty list for none
        :param partitions: into how many partitions rows are brought; without it, as Spark is set
        """
        from .omop import join

        given = _given.settings(
            truncate=truncate,
            min_patients=min_patients,
            max_visits=max_visits,
            gaps=gaps,
            quantiles=quantiles,
            ages=ages,
            sex=sex,
        )
        joined = join(tables, name, number_of_partitions(partitions), given)
        told = _native.outline_tables(joined.outline)
        records = cls(joined.events(), **told, name=name, shuffle=False)
        records._outline, records._left_out = joined.outline, joined.left_out
        # Rows were brought together by person.
        records._whole, records._parts_there = True, joined.parts
        return records

    @property
    def left_out(self) -> dict[str, int]:
        """How much of OMOP tables is in no record, by why; nothing is left out of other rows."""
        return dict(self._left_out)

    @property
    def name(self) -> str:
        """What reports and messages call it."""
        return self._name

    def persist(self) -> Records:
        """Keeps the rows in the cluster, in order: verbs that go through them more than once are faster."""
        self._in_order().persist()
        self._kept = True
        return self

    def unpersist(self) -> Records:
        """Keeps the rows no longer."""
        if self._rows is not None:
            self._rows.unpersist()
        self._kept = False
        return self

    def sample(self, patients: int, *, seed: int = 1) -> Cohort:
        """Some patients as a cohort in memory, to train a model on: those with the lowest keys of their ids.

        Who is chosen depends on the ids and the seed alone. They come by their ids.
        """
        from pyspark.sql import functions

        if isinstance(patients, bool) or not isinstance(patients, int) or patients < 1:
            raise InputError(f"patients={patients!r} is no number of patients", "give a whole number above 0")
        self._refuse_repeated_subjects()
        subject = self._columns["subject"]
        ids = self._events.select(subject).distinct()
        kind = ids.schema[0].dataType.simpleString()
        chosen = ids.mapInArrow(SampleKeys(seed), f"subject {kind}, key long").orderBy("key", "subject").limit(patients)
        chosen = chosen.select(chosen["subject"].alias(subject))
        rows = self._with_row(self._events).join(chosen, subject, "left_semi")
        rows = rows.orderBy(subject, functions.col(self._columns["time"]).asc_nulls_first(), ROW).drop(ROW)
        columns = {key: value for key, value in self._columns.items() if key != "split"}
        tables = {key: table for key, table in self._told().items() if table is not None}
        splits = None
        if "split" in self._columns:
            column = self._columns["split"]
            splits = rounds.explained(
                rows.select(rows[subject].alias("subject_id"), rows[column].alias("split")).distinct().toArrow
            )
        return Cohort.from_table(
            rounds.explained(rows.toArrow), **columns, **tables, subjects=splits, vocabulary=self._codes_given(), name=self._name
        )

    def outline(self) -> bytes:
        """What is known of the records without them. Where no list says which codes there are, they are counted."""
        if self._outline is None:
            told = {key: table for key, table in self._told().items() if table is not None}
            columns = {key: self._columns[key] for key in ("subject", "time", "code")}
            made = _native.outline(self._name, told, self._codes, columns)
            if made is None:
                used = self._codes_used()
                if used.num_rows:
                    made = _native.outline(self._name, {**told, "events": used}, None, columns)
            if made is None:
                raise DataError("the table has no events", "give a table with rows")
            self._outline = made
        return self._outline

    def count(self, round: Round) -> list[bytes]:
        """Counts the records of every partition."""
        self._refuse_repeated_subjects()
        self._refuse_cut_patients()
        counts = self._in_order().mapInArrow(Count(round, self._columns), COUNTED)
        try:
            return rounds.collect(counts, round, self.parts())
        except DataError as failed:
            if self._shuffle or not failed.disordered:
                raise
            more = f"or give shuffle=True, which puts rows in order by {self._columns['subject']!r} and {self._columns['time']!r}"
            told = DataError(failed.message, "; ".join(filter(None, [failed.advice, more])))
            told.disordered = True
            raise told from failed

    def repaired(self, round: Round) -> Any:
        """The rows of repaired records, and what was counted, as a DataFrame that nothing has been made of yet."""
        text = self.text_subjects
        columns = {**self._columns, "text_subjects": text}
        return self._in_order().mapInArrow(Repair(round, columns), event_columns(text))

    @property
    def text_subjects(self) -> bool:
        """Whether subjects are texts, and not numbers."""
        return bool(self._events.schema[self._columns["subject"]].dataType.typeName() == "string")

    @property
    def ordinal(self) -> bool:
        """Whether times tell the order of encounters alone."""
        kind = self._events.schema[self._columns["time"]].dataType.typeName()
        return kind in ("byte", "short", "integer", "long") or bool(self._columns.get("ordinal"))

    def _check_columns(self) -> None:
        """Refuses columns that are not there, before any work is done; and names those that are there by themselves."""
        there = self._events.columns
        for key in ("subject", "time", "code", "value", "visit", "split"):
            column = self._columns.get(key)
            if column is not None and column not in there:
                raise DataError(f"the table has no column {column!r}", f"give {key}=, one of {', '.join(there)}")
        for key, names in (("value", _USUAL_VALUES), ("visit", _USUAL_VISITS)):
            usual = [name for name in names if name in there and (name != "value" or self._is_number(name))]
            if key not in self._columns and usual:
                self._columns[key] = usual[0]

    def _is_number(self, column: str) -> bool:
        return self._events.schema[column].dataType.typeName() in ("byte", "short", "integer", "long", "float", "double")

    def _join(self, subjects: Any) -> None:
        """Gives each row the id and the split of its patient."""
        self._subjects = Subjects(self._as_frame(subjects, "subjects"))
        self._events = self._subjects.joined_to(self._with_row(self._events), self._columns["subject"])
        if self._subjects.tell_splits:
            self._columns["split"] = SPLIT

    def _refuse_repeated_subjects(self) -> None:
        """Refuses a table of subjects that would double rows, or make one patient of two."""
        if self._subjects is not None:
            self._subjects.refuse_repeated()

    def _with_row(self, rows: Any) -> Any:
        from pyspark.sql import functions

        if ROW in rows.columns:
            return rows
        return rows.withColumn(ROW, functions.monotonically_increasing_id())

    def _in_order(self) -> Any:
        """The rows that are read, those of a patient together and by time."""
        from pyspark.sql import functions

        if self._rows is None:
            columns = [self._columns[key] for key in ("subject", "time", "code", "value", "visit", "split") if key in self._columns]
            rows = self._events
            if self._shuffle:
                subject, time = self._columns["subject"], self._columns["time"]
                rows = self._with_row(rows).select(*dict.fromkeys(columns), ROW)
                rows = rows.repartition(*([self._partitions] if self._partitions else []), subject)
                rows = rows.sortWithinPartitions(subject, functions.col(time).asc_nulls_first(), ROW)
            elif self._partitions:
                raise InputError("partitions= brings rows together, and shuffle=False leaves them", "leave one of them out")
            elif self._subjects is not None:
                # Spark joins in any order, and forgets one that was there before.
                rows = rows.sortWithinPartitions(ROW)
            self._rows = rows.select(*dict.fromkeys(columns))
        return self._rows

    def _rows_at_hand(self) -> Any:
        """The rows in any order, where that is cheapest."""
        return self._in_order() if self._kept else self._events

    def parts(self) -> int:
        """How many partitions there may be."""
        if not self._shuffle:
            return self._parts_there
        return self._partitions or rounds.shuffle_partitions(self._spark)

    def _told(self) -> dict[str, Any]:
        """The tables that tell of codes, on the driver."""
        for key, table in self._tables.items():
            if callable(table):
                table = table(self._rows_at_hand())
            if hasattr(table, "toArrow"):
                self._tables[key] = rounds.explained(table.toArrow)
        return self._tables

    def _codes_given(self) -> Any:
        from ..vocabulary import Vocabulary

        return None if self._codes is None else Vocabulary._of(self._codes)

    def _as_frame(self, table: Any, name: str) -> Any:
        if hasattr(table, "mapInArrow"):
            return table
        import pyarrow

        return _frame(self._spark.createDataFrame(pyarrow.table(table)), name)

    def _codes_used(self) -> Any:
        """A table on the driver with one event for each code, and one more for each that is static as well."""
        from pyspark.sql import functions

        subject, time, code = (self._columns[key] for key in ("subject", "time", "code"))
        events = self._rows_at_hand()
        now = functions.lit("2000-01-01").cast("timestamp_ntz")
        when = functions.when(events[time].isNotNull(), now)
        someone = functions.lit(0).cast("long")
        used = events.select(someone.alias(subject), when.alias(time), events[code].alias(code)).distinct()
        return rounds.explained(used.orderBy(code, time).toArrow)

    def _refuse_cut_patients(self) -> None:
        """Refuses patients whose rows are in more than one partition, by Spark's own count of them."""
        from pyspark.sql import functions

        if self._whole:
            return
        subject = self._columns["subject"]
        places = self._events.select(subject, functions.spark_partition_id().alias("_partition")).distinct()
        of_each = places.groupBy(subject).agg(
            (functions.count("*") > 1).cast("long").alias("_cut"), functions.max("_partition").alias("_last")
        )
        patients, last = rounds.explained(of_each.agg(functions.sum("_cut"), functions.max("_last")).collect)[0]
        # Partitions without rows count nothing.
        self._parts_there = 0 if last is None else last + 1
        if patients:
            raise DataError(
                f"{patients:,} patients of column {subject!r} have rows in more than one partition",
                "give shuffle=True, which brings the rows of each patient together",
            )
        self._whole = True


class _Files(Records):
    """A MEDS dataset whose data files are read by workers."""

    def __init__(self, spark: Any, path: str, partitions: int | None, name: str | None) -> None:
        self._spark = spark
        self._path = os.path.abspath(path)
        self._name = name or path
        self._outline, self._files, self._bytes, self._ordinal, self._whole = _native.outline_of_dataset(
            self._path, self._name
        )
        self._partitions = partitions

    def persist(self) -> Records:
        """Leaves the files where they are: reading them again is as good as keeping them."""
        return self

    def unpersist(self) -> Records:
        """Leaves the files where they are."""
        return self

    def sample(self, patients: int, *, seed: int = 1) -> Cohort:
        """Some patients as a cohort in memory; see :meth:`Records.sample`."""
        subjects = None
        for name in ("subjects", "subject_splits"):
            path = os.path.join(self._path, "metadata", f"{name}.parquet")
            if os.path.exists(path):
                told = self._spark.read.parquet(path)
                subjects = told if subjects is None else subjects.join(told, "subject_id", "full")
        records = Records(
            self._events_of_files(),
            subjects=subjects,
            ordinal=self._ordinal or None,
            name=self._name,
            **_native.outline_tables(self.outline()),
        )
        return records.sample(patients, seed=seed)

    def count(self, round: Round) -> list[bytes]:
        """Counts the records of every file."""
        self._refuse_cut_patients()
        counts = self._numbers().mapInArrow(CountFiles(round, self._path), COUNTED)
        return rounds.collect(counts, round, self.parts())

    def repaired(self, round: Round) -> Any:
        """The rows of repaired records, and what was counted."""
        task = RepairFiles(round, self._path, self.text_subjects)
        return self._numbers().mapInArrow(task, event_columns(self.text_subjects))

    def _numbers(self) -> Any:
        return self._spark.range(0, self._files, 1, self.parts())

    def parts(self) -> int:
        """Into how many tasks the files go."""
        if self._partitions is None:
            most = _bytes_of(rounds.setting(self._spark, "spark.sql.files.maxPartitionBytes", "128MB"))
            self._partitions = max(_TASKS_A_CORE * _cores(self._spark), -(-self._bytes // most))
        return min(self._partitions, self._files)

    def _refuse_cut_patients(self) -> None:
        """Refuses patients who are in more than one file, which Spark counts where the files do not tell."""
        from pyspark.sql import functions

        if self._whole:
            return
        places = self._events_of_files().select("subject_id", functions.input_file_name().alias("file")).distinct()
        patients = rounds.explained(places.groupBy("subject_id").count().where("count > 1").count)
        if patients:
            raise DataError(
                f"{patients:,} patients have events in more than one data file",
                "give the DataFrame of the events to Records, which brings the rows of each patient together",
            )
        self._whole = True

    def _events_of_files(self) -> Any:
        files = self._spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", "*.parquet")
        return files.parquet(os.path.join(self._path, "data"))

    @property
    def text_subjects(self) -> bool:
        """Whether subjects are texts: they are where ids are known that are no numbers."""
        return True

    @property
    def ordinal(self) -> bool:
        """Whether times tell the order of encounters alone."""
        return self._ordinal


def _frame(given: Any, name: str) -> Any:
    if not hasattr(given, "mapInArrow"):
        raise InputError(f"{name} is a {type(given).__name__}, and no DataFrame of Spark", "give a DataFrame")
    return given


def number_of_partitions(given: int | None) -> int | None:
    """Into how many partitions people want rows to be brought."""
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise InputError(f"partitions={given!r} is no number of partitions", "give a whole number above 0")
    return given


def _cores(spark: Any) -> int:
    """How many tasks Spark runs at a time, as far as it says so."""
    from pyspark.sql import functions

    # A range has as many partitions as there are cores, if it is not said otherwise.
    last = spark.range(1 << 16).select(functions.spark_partition_id().alias("part")).agg(functions.max("part"))
    return int(rounds.explained(last.collect)[0][0]) + 1


def _bytes_of(setting: str) -> int:
    """A size as Spark writes it: 134217728b, 128MB, 1g."""
    said = re.fullmatch(r"(\d+)([kmgt]?)i?b?", setting.strip().lower())
    number, unit = (said[1], said[2]) if said else ("128", "m")
    return max(int(number), 1) << 10 * (" kmgt".index(unit or " "))
