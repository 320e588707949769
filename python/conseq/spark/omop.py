"""OMOP tables as one table of events, by joins of Spark.

What belongs together is decided as ``consequence import omop`` decides it, patient by patient, in these steps: encounters
that are listed, what names none of them by its day, deaths, what is told late, births. Each step is a frame with a row for
each encounter or event, and none has more rows than the tables it comes from. The rows say which encounter they are of, when
it began and ended, so that whoever reads them has nothing to decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import DataError, InputError

#: The sexes that OMOP has concepts for.
_SEXES = {8507: "SEX//M", 8532: "SEX//F"}
#: Events that say how a record is built, with what a table of codes calls each.
_VISIT, _END, _BIRTH, _DEATH = "VISIT", "VISIT_END", "MEDS_BIRTH", "MEDS_DEATH"
_MARKERS = {_VISIT: "visit", _END: "visit_end", _BIRTH: "birth", _DEATH: "death"}
#: Encounters that have no number are numbered by their day, far below any number.
_DAYS = -(1 << 62)
#: Ages beyond this are births that were moved to hide them.
_HIDDEN_AGE = 150
#: The days by which what belongs to a death may be told too late.
_LATE = 7
#: The bytes of a result in words, at most.
_WORD = 100

_NUMBERS = ("byte", "short", "integer", "long")
_TIMES = ("date", "timestamp", "timestamp_ntz")
_VALUES = (*_NUMBERS, "float", "double", "decimal")
_TEXTS = ("string", "varchar", "char")


class _Table(NamedTuple):
    """A table of events: what it is called, what its concepts speak of, and what its columns begin with."""

    name: str
    domain: str
    word: str
    time: str


_EVENTS = (
    _Table("condition_occurrence", "Condition", "condition", "condition_start_date"),
    _Table("procedure_occurrence", "Procedure", "procedure", "procedure_date"),
    _Table("drug_exposure", "Drug", "drug", "drug_exposure_start_date"),
    _Table("device_exposure", "Device", "device", "device_exposure_start_date"),
    _Table("observation", "Observation", "observation", "observation_date"),
    _Table("measurement", "Measurement", "measurement", "measurement_date"),
)
_READ = ("person", "visit_occurrence", *(table.name for table in _EVENTS), "death", "concept", "concept_ancestor")


def events_of(tables: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The events of all patients, and the tables that tell of their codes; that of codes by events that may be kept."""
    given = _given_tables(tables)
    persons = _persons(given["person"])
    rows = _rows(given, persons)
    encounters, rows = _with_days(_listed(given["visit_occurrence"], persons, rows), rows, persons)
    deaths, encounters, rows = _with_deaths(given.get("death"), persons, encounters, rows)
    names, described = _named(given, rows)
    events = _events(persons, encounters, deaths, rows.join(names, ["concept", "result"]))
    return events, {"codes": lambda events: _codes(events, names), "concepts": described}


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


def _persons(frame: Any) -> Any:
    """Everyone whose sex is known: ``person``, ``sex``, ``birth``."""
    from pyspark.sql import functions

    def number(name: str, needed: bool = False) -> Any:
        return _column(frame, "person", name, _NUMBERS, needed)

    def known(name: str) -> Any:
        part = number(name)
        return functions.when(part == 0, 1).otherwise(functions.coalesce(part, functions.lit(1))).cast("int")

    sex = functions.lit(None).cast("string")
    for concept, code in _SEXES.items():
        sex = functions.when(number("gender_concept_id", True) == concept, code).otherwise(sex)
    year = number("year_of_birth", True).cast("int")
    date = functions.make_date(year, known("month_of_birth"), known("day_of_birth")).cast("timestamp_ntz")
    birth = functions.coalesce(_column(frame, "person", "birth_datetime", _TIMES, needed=False), date)
    person = number("person_id", True)
    return frame.select(person.alias("person"), sex.alias("sex"), birth.alias("birth")).where("sex is not null")


def _rows(given: dict[str, Any], persons: Any) -> Any:
    """The rows of all tables of events: ``person``, ``visit``, ``time``, ``concept``, ``standard``, ``result``, ``value``,
    ``domain``, ``place``, ``row``."""
    from pyspark.sql import functions

    rows = None
    for place, table in enumerate(_EVENTS):
        if table.name in given:
            one = _rows_of(given[table.name], table).withColumn("place", functions.lit(place))
            rows = one if rows is None else rows.unionByName(one)
    if rows is None:
        raise InputError("there is no table of events", f"give some of {', '.join(table.name for table in _EVENTS)}")
    return rows.join(persons.select("person"), "person", "left_semi")


def _rows_of(frame: Any, table: _Table) -> Any:
    from pyspark.sql import functions

    def column(name: str, kinds: tuple[str, ...], needed: bool = True) -> Any:
        return _column(frame, table.name, name, kinds, needed)

    def positive(name: str, needed: bool) -> Any:
        number = column(name, _NUMBERS, needed)
        return functions.when(number > 0, number)

    nothing = functions.lit(None)
    standard = positive(f"{table.word}_concept_id", True)
    visit = column("visit_occurrence_id", _NUMBERS, False)
    value, result, words = nothing.cast("float"), nothing.cast("long"), nothing.cast("string")
    if table.domain in ("Measurement", "Observation"):
        value = column("value_as_number", _VALUES, table.domain == "Measurement")
        value = functions.when(~functions.isnan(value) & (functions.abs(value) != float("inf")), value)
        result = functions.when(value.isNull(), positive("value_as_concept_id", False))
        words = column("value_source_value", _TEXTS, False)
    row = column(f"{table.name}_id", _NUMBERS, False)
    rows = frame.select(
        column("person_id", _NUMBERS).alias("person"),
        functions.when(visit != 0, visit).alias("visit"),
        _when(frame, table.name, table.time).alias("time"),
        functions.coalesce(standard, positive(f"{table.word}_source_concept_id", False)).alias("concept"),
        standard.isNotNull().alias("standard"),
        result.alias("result"),
        value.alias("value"),
        words.alias("words"),
        functions.lit(table.domain).alias("domain"),
        functions.coalesce(row, functions.monotonically_increasing_id()).alias("row"),
    ).where("concept is not null and (visit is not null or time is not null)")
    if table.domain == "Measurement":
        rows = rows.where("value is not null or result is not null or length(words) > 0")
    # Where nothing is said in a concept there is none, whatever the table.
    return rows.withColumn("result", functions.coalesce("result", functions.lit(0))).drop("words")


def _listed(frame: Any, persons: Any, rows: Any) -> Any:
    """The encounters that have a number: ``person``, ``visit``, ``begin``, ``end``."""
    from pyspark.sql import functions

    no_time = functions.lit(None).cast("timestamp_ntz")
    visits = frame.select(
        _column(frame, "visit_occurrence", "person_id", _NUMBERS).alias("person"),
        _column(frame, "visit_occurrence", "visit_occurrence_id", _NUMBERS).alias("visit"),
        _when(frame, "visit_occurrence", "visit_start_date").alias("begin"),
        _ended(frame).alias("end"),
        no_time.alias("first"),
    ).join(persons.select("person"), "person", "left_semi")
    told = rows.where("visit is not null").select(
        "person", "visit", no_time.alias("begin"), no_time.alias("end"), rows["time"].alias("first")
    )
    found = visits.unionByName(told).groupBy("person", "visit")
    begun = found.agg(
        functions.coalesce(functions.min("begin"), functions.min("first")).alias("begin"),
        functions.max("end").alias("end"),
    ).where("begin is not null")
    same_day = (functions.to_date("end") == functions.to_date("begin")) & (functions.date_trunc("day", "end") == begun["end"])
    end = functions.when(begun["end"] >= begun["begin"], begun["end"]).when(same_day, begun["begin"])
    return begun.withColumn("end", end)


def _ended(frame: Any) -> Any:
    from pyspark.sql import functions

    exact = _column(frame, "visit_occurrence", "visit_end_datetime", _TIMES, needed=False)
    return functions.coalesce(exact, _column(frame, "visit_occurrence", "visit_end_date", _TIMES, needed=False))


def _day_number(time: Any) -> Any:
    from pyspark.sql import functions

    return functions.lit(_DAYS) + functions.unix_date(functions.to_date(time))


def _with_days(listed: Any, rows: Any, persons: Any) -> tuple[Any, Any]:
    """What names no encounter belongs to the first that began on its day, and else to one of its own; before the birth to
    none."""
    from pyspark.sql import functions

    loose = rows.where("visit is null").withColumn("day", functions.to_date("time"))
    firsts = listed.groupBy("person", functions.to_date("begin").alias("day"))
    firsts = firsts.agg(functions.min(functions.struct("begin", "visit")).alias("first"))
    firsts = firsts.select("person", "day", firsts["first"]["visit"].alias("at"))
    loose = loose.join(firsts, ["person", "day"], "left").join(persons.select("person", "birth"), "person", "left")
    alone = loose["at"].isNull()
    loose = loose.where(~(alone & functions.coalesce(loose["day"] < functions.to_date("birth"), functions.lit(False))))
    loose = loose.withColumn("visit", functions.coalesce("at", _day_number(loose["time"]))).drop("at", "birth", "day")
    rows = rows.where("visit is not null").unionByName(loose)
    days = loose.where(loose["visit"] < _DAYS // 2).groupBy("person", "visit")
    days = days.agg(functions.min("time").alias("begin")).withColumn("end", functions.lit(None).cast("timestamp_ntz"))
    return listed.unionByName(days), rows


def _with_deaths(frame: Any, persons: Any, encounters: Any, rows: Any) -> tuple[Any, Any, Any]:
    """Deaths, each in the last encounter whose days hold it, or in one of its own, and with it what is told of the days
    after: ``person``, ``visit``, ``time``."""
    from pyspark.sql import functions

    if frame is None:
        return None, encounters, rows
    time = _when(frame, "death", "death_date")
    told = frame.select(_column(frame, "death", "person_id", _NUMBERS).alias("person"), time.alias("death"))
    told = told.where("death is not null").join(persons.select("person"), "person", "left_semi")
    # A time goes before a date.
    told = told.withColumn("only_date", functions.date_trunc("day", "death") == told["death"])
    told = told.groupBy("person").agg(functions.min(functions.struct("only_date", "death")).alias("told"))
    told = told.select("person", told["told"]["only_date"].alias("only_date"), told["told"]["death"].alias("death"))
    date, last = functions.to_date("death"), functions.coalesce("end", "begin")
    held = encounters.join(told, "person")
    holds = (functions.to_date("begin") <= date) & (date <= functions.to_date(last))
    order = functions.when(functions.col("visit") < _DAYS // 2, functions.col("visit") - 2 * _DAYS)
    order = order.otherwise(functions.col("visit"))
    at_end = functions.when(functions.to_date("end") == date, functions.col("end"))
    end_of_day = functions.col("death") + functions.expr("interval 86399 seconds")
    when = functions.when(~held["only_date"], held["death"]).otherwise(functions.coalesce(at_end, end_of_day))
    place = functions.struct("begin", order, "visit", functions.greatest("begin", when).alias("time"))
    placed = held.groupBy("person", "death").agg(functions.max(functions.when(holds, place)).alias("place"))
    own = placed["place"].isNull()
    deaths = placed.select(
        "person",
        functions.when(own, _day_number(placed["death"])).otherwise(placed["place"]["visit"]).alias("visit"),
        functions.when(own, placed["death"]).otherwise(placed["place"]["time"]).alias("time"),
        own.alias("own"),
        placed["death"],
    )
    days_after = functions.col("visit") - _day_number(functions.col("death"))
    late = (functions.col("visit") < _DAYS // 2) & days_after.between(1, _LATE)
    into = deaths.select("person", "death", deaths["visit"].alias("into"))
    late = functions.coalesce(late & (functions.col("visit") != functions.col("into")), functions.lit(False))
    rows = rows.join(into, "person", "left")
    rows = rows.withColumn("visit", functions.when(late, rows["into"]).otherwise(rows["visit"])).drop("into", "death")
    encounters = encounters.join(into, "person", "left").where(~late).drop("into", "death")
    alone = deaths.where("own").select("person", "visit", deaths["time"].alias("begin"))
    encounters = encounters.unionByName(alone.withColumn("end", functions.lit(None).cast("timestamp_ntz")))
    return deaths.select("person", "visit", "time"), encounters, rows


def _named(given: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """What codes are called, ``concept``, ``result``, ``code`` and ``title``; and their concepts, as a cohort tells them.

    Of two concepts that one name stands for, the lower number has it.
    """
    from pyspark.sql import Window, functions

    first = functions.min(functions.struct("place", "domain"))
    met = rows.groupBy("concept", "result").agg(functions.max("standard").alias("standard"), first.alias("first"))
    met = met.withColumn("domain", met["first"]["domain"]).drop("first")
    number = functions.concat(functions.lit("OMOP//"), met["concept"].cast("string"))
    if "concept" not in given:
        named = met.withColumn("name", number).withColumn("title", functions.lit(None).cast("string"))
        named = named.withColumn("word", named["result"].cast("string"))
    else:
        known = _concepts(given["concept"])
        own = met.select("concept").distinct().join(known, "concept")
        once = Window.partitionBy("name").orderBy("concept")
        name = functions.when(functions.row_number().over(once) == 1, functions.col("name"))
        own = own.withColumn("name", functions.when(own["name"].isNotNull(), name))
        words = known.select(known["concept"].alias("result"), functions.substring("title", 1, _WORD).alias("word"))
        named = met.join(own, "concept", "left").join(words, "result", "left")
        named = named.withColumn("name", functions.coalesce("name", number))
        named = named.withColumn("word", functions.coalesce("word", named["result"].cast("string")))
        named = named.withColumn("standard", named["standard"] | functions.coalesce(named["is_standard"], functions.lit(False)))
        named = named.withColumn("domain", functions.coalesce("of_domain", "domain"))
    code = functions.when(named["result"] == 0, named["name"])
    named = named.withColumn("code", code.otherwise(functions.concat_ws("//", named["name"], named["word"])))
    described = named.select(
        "code",
        named["concept"].alias("concept_id"),
        functions.lit(None).cast("long").alias("ancestor_concept_id"),
        named["domain"].alias("domain_id"),
        functions.when(named["standard"], "S").alias("standard_concept"),
        functions.when(named["result"] != 0, named["result"]).alias("value_as_concept_id"),
    )
    if "concept_ancestor" in given:
        described = described.unionByName(_above(given["concept_ancestor"], described))
    return named.select("concept", "result", "code", "title"), described.orderBy("code", "ancestor_concept_id")


def _concepts(frame: Any) -> Any:
    """Concepts by number: ``concept``, ``name``, ``title``, ``of_domain``, ``is_standard``."""
    from pyspark.sql import functions

    def text(name: str, needed: bool = True) -> Any:
        column = _column(frame, "concept", name, _TEXTS, needed)
        return functions.when(functions.length(column) > 0, column)

    system, code, domain = text("vocabulary_id"), text("concept_code"), text("domain_id", False)
    is_icd = functions.upper(functions.substring(system, 1, 4)).isin("ICD9", "ICD1")
    code = functions.when(is_icd, functions.upper(functions.replace(code, functions.lit("."), functions.lit(""))))
    code = code.otherwise(text("concept_code"))
    tables = [table.domain for table in _EVENTS]
    return frame.select(
        _column(frame, "concept", "concept_id", _NUMBERS).alias("concept"),
        functions.when(system.isNotNull() & code.isNotNull(), functions.concat_ws("//", system, code)).alias("name"),
        text("concept_name").alias("title"),
        functions.when(domain.isin(*tables), domain).when(domain.isNotNull(), "Observation").alias("of_domain"),
        (text("standard_concept", False) == "S").alias("is_standard"),
    )


def _above(frame: Any, described: Any) -> Any:
    """A row more for each concept above one of those."""
    pairs = frame.select(
        _column(frame, "concept_ancestor", "ancestor_concept_id", _NUMBERS).alias("above"),
        _column(frame, "concept_ancestor", "descendant_concept_id", _NUMBERS).alias("concept_id"),
    ).where("above != concept_id")
    found = described.drop("ancestor_concept_id").join(pairs, "concept_id").withColumnRenamed("above", "ancestor_concept_id")
    return found


def _events(persons: Any, encounters: Any, deaths: Any, rows: Any) -> Any:
    """All rows that a record is read from, with the columns of MEDS."""
    from pyspark.sql import functions

    from .records import ROW

    def told(frame: Any, time: Any, code: Any, visit: Any = None, row: Any = None, value: Any = None) -> Any:
        none = functions.lit(None)
        return frame.select(
            frame["person"].alias("subject_id"),
            time.cast("timestamp_ntz").alias("time"),
            code.alias("code"),
            (none if value is None else value).cast("float").alias("numeric_value"),
            (none if visit is None else visit).cast("long").alias("visit_id"),
            (functions.lit(0) if row is None else row).cast("long").alias(ROW),
        )

    begun = encounters.groupBy("person").agg(functions.min("begin").alias("first"))
    known = persons.join(begun, "person")
    years = functions.floor(functions.months_between(known["first"], known["birth"]) / 12)
    born = known.where((functions.to_date("birth") <= functions.to_date("first")) & (years <= _HIDDEN_AGE))
    rows = rows.join(encounters.select("person", "visit", "begin"), ["person", "visit"])
    time = functions.greatest(functions.coalesce("time", "begin"), "begin")
    lit = functions.lit
    all_rows = [
        told(known, lit(None), known["sex"]),
        told(born, functions.least(born["birth"], born["first"]), lit(_BIRTH)),
        told(encounters, encounters["begin"], lit(_VISIT), encounters["visit"], encounters["visit"]),
        told(encounters.where("end is not null"), encounters["end"], lit(_END), encounters["visit"]),
        told(rows, time, rows["code"], rows["visit"], rows["row"], rows["value"]),
    ]
    if deaths is not None:
        all_rows.append(told(deaths, deaths["time"], lit(_DEATH), deaths["visit"]))
    events = all_rows[0]
    for more in all_rows[1:]:
        events = events.unionByName(more)
    return events


def _codes(events: Any, names: Any) -> Any:
    """The codes of events with what each is and means, and the marks of encounters."""
    from pyspark.sql import functions

    used = events.select("code").distinct().join(names.groupBy("code").agg(functions.min("title").alias("title")), "code", "left")
    kind = functions.when(used["code"].isin(*_SEXES.values()), "static")
    for marker, name in _MARKERS.items():
        kind = kind.when(used["code"] == marker, name)
    kind = kind.otherwise("encounter").alias("kind")
    title = functions.coalesce("title", functions.lit("")).alias("description")
    return used.select("code", title, kind).orderBy(kind != "static", "code")
