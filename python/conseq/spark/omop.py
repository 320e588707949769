"""OMOP tables as records.

Spark brings the rows of each person together, by one shuffle, and no more: what becomes of them is decided by the code of
``consequence import omop``, on the workers. Rows are gone through three times. In the first two rounds concepts, values,
codes and days are counted; names of codes, parts of values and bands of days follow from the sums. In the third rows
become the events of records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _native
from ..errors import DataError, InputError
from . import rounds
from .workers import COUNTED, CountRows, RecordsOfRows, TallyRows, event_columns

_NUMBERS = ("byte", "short", "integer", "long")
_TIMES = ("date", "timestamp", "timestamp_ntz")
_VALUES = (*_NUMBERS, "float", "double", "decimal")
_TEXTS = ("string", "varchar", "char")

#: What a row is.
_PERSON, _VISIT, _EVENT, _DEATH = range(4)


class _Table(NamedTuple):
    """A table of events: what it is called, what its columns begin with, and which say when and what in words."""

    name: str
    word: str
    time: str
    words: str | None = None


#: In the order in which the import reads them.
_EVENTS = (
    _Table("condition_occurrence", "condition", "condition_start_date"),
    _Table("procedure_occurrence", "procedure", "procedure_date"),
    _Table("drug_exposure", "drug", "drug_exposure_start_date"),
    _Table("device_exposure", "device", "device_exposure_start_date"),
    _Table("observation", "observation", "observation_date", "value_as_string"),
    _Table("measurement", "measurement", "measurement_date", "value_source_value"),
)
_READ = ("person", "visit_occurrence", *(table.name for table in _EVENTS), "death", "concept", "concept_ancestor")


class Joined(NamedTuple):
    """What OMOP tables are once their rows were counted."""

    #: The rows of each person together.
    rows: Any
    #: What becomes of them, for workers.
    known: bytes
    #: What is known of the records without them.
    outline: bytes
    #: How much was left out, by why.
    left_out: dict[str, int]
    #: Into how many partitions rows were brought, at most.
    parts: int

    def events(self) -> Any:
        """The events of the records: whole patients, in order."""
        return self.rows.mapInArrow(RecordsOfRows(self.known), event_columns(False)).drop("state")


def join(tables: Mapping[str, Any], name: str, partitions: int | None, settings: dict[str, Any]) -> Joined:
    """Brings rows together and counts them."""
    given = _given_tables(tables)
    rows = _rows(given)
    rows = rows.repartition(*([partitions] if partitions else []), "person")
    rows = rows.sortWithinPartitions("person", "kind", "table", "row").drop("row")
    parts = partitions or rounds.shuffle_partitions(given["person"].sparkSession)
    with _kept(rows):
        counted = _states(rows, CountRows(settings), parts)
        concepts, ancestors = _concepts(given, _native.joined_concepts(counted))
        joined = _native.Joined(counted, concepts, ancestors, settings)
        joined = joined.tallied(_states(rows, TallyRows(joined.to_bytes()), parts))
    return Joined(rows, joined.to_bytes(), joined.outline(name), joined.left_out(), parts)


@contextmanager
def _kept(rows: Any) -> Iterator[None]:
    """Keeps rows in the cluster while they are counted, where it can."""
    from pyspark.errors import PySparkException

    try:
        rows.persist()
    except PySparkException:  # A cluster that keeps nothing for its users brings them together twice.
        yield
        return
    try:
        yield
    finally:
        rows.unpersist()


def _states(rows: Any, task: CountRows | TallyRows, parts: int) -> list[bytes]:
    return rounds.collect(rows.mapInArrow(task, COUNTED), task, parts)


def _given_tables(tables: Mapping[str, Any]) -> dict[str, Any]:
    given = {name.lower(): frame for name, frame in tables.items()}
    for name, frame in given.items():
        if name not in _READ:
            raise InputError(f"there is no use for a table {name!r}", f"give some of {', '.join(_READ)}")
        if not hasattr(frame, "mapInArrow"):
            raise InputError(f"{name} is a {type(frame).__name__}, and no DataFrame of Spark", "give a DataFrame")
    for name in ("person", "visit_occurrence"):
        if name not in given:
            raise InputError(f"the table {name!r} is missing", f"give {name}=, a DataFrame")
    return given


def _column(frame: Any, table: str, name: str, kinds: tuple[str, ...], needed: bool = True) -> Any:
    """A column of a table, of a type that it can be read from; nothing where it may be missing and is."""
    from pyspark.sql import functions

    found = [field for field in frame.schema.fields if field.name.lower() == name]
    if not found:
        if needed:
            raise DataError(f"the table {table!r} has no column {name!r}", "give the table as OMOP has it")
        return functions.lit(None).cast(_type(kinds))
    kind = found[0].dataType.typeName()
    if kind not in kinds and kind not in ("void", "null"):
        raise DataError(
            f"the column {name!r} of {table!r} is of type {kind}", f"convert it to {_type(kinds)}, as OMOP has it"
        )
    return frame[found[0].name].cast(_type(kinds))


def _type(kinds: tuple[str, ...]) -> str:
    return {_NUMBERS: "long", _TIMES: "timestamp_ntz", _VALUES: "float"}.get(kinds, "string")


def _when(frame: Any, table: str, date: str) -> Any:
    """A time, or else a date; the date must be a column."""
    from pyspark.sql import functions

    exact = _column(frame, table, date.removesuffix("date") + "datetime", _TIMES, needed=False)
    return functions.coalesce(exact, _column(frame, table, date, _TIMES))


def _rows(given: dict[str, Any]) -> Any:
    """All rows with the columns that ``JoinedRows`` documents, and ``row``, their order within a table."""
    frames = [_persons(given["person"]), _visits(given["visit_occurrence"])]
    events = [(place, table) for place, table in enumerate(_EVENTS) if table.name in given]
    if not events:
        raise InputError("there is no table of events", f"give some of {', '.join(table.name for table in _EVENTS)}")
    frames.extend(_events(given[table.name], table, place) for place, table in events)
    if "death" in given:
        frames.append(_deaths(given["death"]))
    rows = frames[0]
    for more in frames[1:]:
        rows = rows.unionByName(more)
    return rows


#: The columns of rows, and their types.
_COLUMNS = {
    "person": "long",
    "kind": "int",
    "visit": "long",
    "begin": "timestamp_ntz",
    "end": "timestamp_ntz",
    "table": "int",
    "concept": "long",
    "source": "long",
    "value": "float",
    "result": "long",
    "words": "string",
    "unit": "string",
    "unit_concept": "long",
    "row": "long",
}


def _row(frame: Any, kind: int, **told: Any) -> Any:
    """Rows of a kind; what they do not tell is null."""
    from pyspark.sql import functions

    told["kind"] = functions.lit(kind)
    nothing = functions.lit(None)
    return frame.select(*(told.get(name, nothing).cast(type).alias(name) for name, type in _COLUMNS.items()))


def _persons(frame: Any) -> Any:
    from pyspark.sql import functions

    def number(name: str, needed: bool = False) -> Any:
        return _column(frame, "person", name, _NUMBERS, needed)

    def known(name: str) -> Any:
        # A month or day of 0 is one that is not known.
        part = number(name)
        return functions.when(part == 0, 1).otherwise(functions.coalesce(part, functions.lit(1))).cast("int")

    year = number("year_of_birth", True).cast("int")
    date = functions.make_date(year, known("month_of_birth"), known("day_of_birth")).cast("timestamp_ntz")
    birth = functions.coalesce(_column(frame, "person", "birth_datetime", _TIMES, needed=False), date)
    return _row(frame, _PERSON, person=number("person_id", True), concept=number("gender_concept_id", True), begin=birth)


def _visits(frame: Any) -> Any:
    from pyspark.sql import functions

    def time(name: str) -> Any:
        return _column(frame, "visit_occurrence", name, _TIMES, needed=False)

    return _row(
        frame,
        _VISIT,
        person=_column(frame, "visit_occurrence", "person_id", _NUMBERS),
        visit=_column(frame, "visit_occurrence", "visit_occurrence_id", _NUMBERS),
        begin=_when(frame, "visit_occurrence", "visit_start_date"),
        end=functions.coalesce(time("visit_end_datetime"), time("visit_end_date")),
        row=_column(frame, "visit_occurrence", "visit_occurrence_id", _NUMBERS),
    )


def _events(frame: Any, table: _Table, place: int) -> Any:
    from pyspark.sql import functions

    def column(name: str, kinds: tuple[str, ...], needed: bool = False) -> Any:
        return _column(frame, table.name, name, kinds, needed)

    told = {
        "person": column("person_id", _NUMBERS, True),
        "visit": column("visit_occurrence_id", _NUMBERS),
        "begin": _when(frame, table.name, table.time),
        "table": functions.lit(place),
        "concept": column(f"{table.word}_concept_id", _NUMBERS, True),
        "source": column(f"{table.word}_source_concept_id", _NUMBERS),
        "row": functions.coalesce(column(f"{table.name}_id", _NUMBERS), functions.monotonically_increasing_id()),
    }
    if table.words is not None:
        told["value"] = column("value_as_number", _VALUES, table.name == "measurement")
        told["result"] = column("value_as_concept_id", _NUMBERS)
        told["words"] = column(table.words, _TEXTS)
        told["unit"] = column("unit_source_value", _TEXTS)
        told["unit_concept"] = column("unit_concept_id", _NUMBERS)
    return _row(frame, _EVENT, **told)


def _deaths(frame: Any) -> Any:
    person = _column(frame, "death", "person_id", _NUMBERS)
    return _row(frame, _DEATH, person=person, begin=_when(frame, "death", "death_date"))


def _concepts(given: dict[str, Any], met: list[int]) -> tuple[Any, Any]:
    """The rows that describe the concepts that were met, and those above them, on the driver; none where no table does."""
    found: list[Any] = []
    for table, key, numbers, texts in (
        ("concept", "concept_id", ("concept_id",), ("concept_name", "vocabulary_id", "concept_code", "domain_id", "standard_concept")),
        ("concept_ancestor", "descendant_concept_id", ("ancestor_concept_id", "descendant_concept_id"), ()),
    ):
        if table not in given:
            found.append(None)
            continue
        frame = given[table]
        optional = ("domain_id", "standard_concept")
        columns = [_column(frame, table, name, _NUMBERS).alias(name) for name in numbers]
        columns += [_column(frame, table, name, _TEXTS, name not in optional).alias(name) for name in texts]
        wanted = frame.sparkSession.createDataFrame([(concept,) for concept in met], f"{key} long")
        rows = frame.select(*columns).join(wanted, key, "left_semi")
        found.append(rounds.explained(rows.toArrow))
    return found[0], found[1]
