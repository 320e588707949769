"""Where cohorts come from: files, frames, lists, a simulation, and the tables that people have."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import _call, _given, _native
from ._given import Path
from ._native import Cohort as NativeCohort
from .errors import DataError, InputError
from .report import Report
from .rules import codes_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from .cohort import Cohort
    from .vocabulary import Vocabulary

#: The settings that say which column of a table is what.
_CSV_COLUMNS = ("subject", "time", "code", "visit", "end", "value", "unit", "static")


class Sources:
    """The half of a cohort that reads it in."""

    __slots__ = ("_native", "report")

    _native: NativeCohort
    #: How it came to be, where a verb made it: what was read and left out, simulated, repaired or generated.
    report: Report | None

    @classmethod
    def _of(cls, native: NativeCohort, report: Report | None = None) -> Self:
        made = cls.__new__(cls)
        made._native, made.report = native, report
        return made

    @classmethod
    def load(cls, path: Path, *, threads: int | None = None, progress: bool | None = None) -> Self:
        """Reads a cohort as it is: JSON lines, or a MEDS dataset.

        >>> import conseq as cq, tempfile
        >>> folder = tempfile.mkdtemp() + "/cohort"
        >>> _ = cq.Cohort.simulate("inpatient", patients=50).save(folder)
        >>> len(cq.Cohort.load(folder))
        50
        """
        return cls._of(_native.Cohort.load(os.fspath(path), _call.settings(threads, progress)))

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        subject: str = "subject_id",
        time: str = "time",
        code: str = "code",
        value: str | None = None,
        visit: str | None = None,
        ordinal: bool | None = None,
        vocabulary: Cohort | Vocabulary | Iterable[str] | None = None,
        codes: Any = None,
        subjects: Any = None,
        concepts: Any = None,
        scales: Any = None,
        name: str = "table",
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Reads a table with one code a row: anything with ``__arrow_c_stream__``.

        Frames of pandas and polars, tables and readers of pyarrow, relations of duckdb. Rows of one visit are one
        encounter; without such a column, rows of one day are. A row without a time is a static code.

        :param subject: the column that says who: whole numbers or texts
        :param time: the column that says when: times, days, or the numbers of visits
        :param code: the column of codes
        :param value: the column of what was measured; without it ``numeric_value``, if there
        :param visit: the column that says in which encounter; without it ``visit_id`` or ``hadm_id``, if there
        :param ordinal: whether times tell the order of encounters alone, and not when they were
        :param vocabulary: the codes there are; without it those that the table has
        :param codes: the other tables that a cohort is told by, as :meth:`to_arrow` gives them; see :attr:`tables`

        >>> import conseq as cq, pandas as pd
        >>> frame = pd.DataFrame({
        ...     "subject_id": [1, 1, 2],
        ...     "time": pd.to_datetime(["2024-01-31", "2024-02-01", "2024-01-31"]),
        ...     "code": ["ICD9CM//250", "RX//insulin", "ICD9CM//401"],
        ... })
        >>> len(cq.Cohort.from_table(frame))
        2
        """
        columns = _given.settings(subject=subject, time=time, code=code, value=value, visit=visit, ordinal=ordinal)
        columns |= {} if vocabulary is None else {"vocabulary": codes_of(vocabulary)}
        tables = {"events": table, "codes": codes, "subjects": subjects, "concepts": concepts, "scales": scales}
        given = {name: _in_chunks(one) for name, one in tables.items() if one is not None}
        if "events" not in given:
            raise InputError("None is no table", "give anything with `__arrow_c_stream__`")
        _refuse_mixed_times(table, time)
        return cls._of(_native.Cohort.from_table(given, name, columns, _call.settings(threads, progress)))

    @classmethod
    def from_records(
        cls,
        records: Iterable[dict[str, Any]],
        *,
        vocabulary: Cohort | Vocabulary | Iterable[str] | None = None,
        name: str = "records",
    ) -> Self:
        """Reads records from dictionaries, in the form of the lines of JSON: ``id``, ``static``, ``visits``, and
        where they are known ``times``, ``ends``, ``birth``, ``values`` and ``ended``.

        :param vocabulary: the codes there are; without it those that the records have

        >>> import conseq as cq
        >>> cohort = cq.Cohort.from_records([{"id": 1, "static": [], "visits": [["A"], []]}])
        >>> cohort.to_records()
        [{'id': '1', 'static': [], 'visits': [['A'], []]}]
        """
        return cls._of(_native.Cohort.from_lines(_lines(records), name, codes_of(vocabulary)))

    @classmethod
    def simulate(
        cls,
        preset: str = "inpatient",
        *,
        patients: int | None = None,
        seed: int = 1,
        codes_only: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Makes simulated patients; :meth:`truth` has the rules that they obey.

        >>> import conseq as cq
        >>> cohort = cq.Cohort.simulate("outpatient", patients=20, seed=7)
        >>> len(cohort)
        20
        """
        given = _given.settings(preset=preset, patients=patients, seed=seed, codes_only=codes_only)
        native, finished = _native.simulate(given, _call.settings(threads, progress))
        return cls._of(native, Report("simulate", finished))

    @classmethod
    def _imported(cls, kind: str, path: Path, given: dict[str, Any], call: _call.Call) -> Self:
        native, finished = _native.import_tables(kind, os.fspath(path), given, call)
        return cls._of(native, Report("import", finished))

    @classmethod
    def from_meds(
        cls,
        path: Path,
        *,
        truncate: int | None = None,
        map: Path | None = None,
        min_patients: int | None = None,
        max_visits: int | None = None,
        drop_empty: bool = False,
        gaps: bool = True,
        quantiles: int | None = None,
        titles: Path | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Reads a MEDS dataset, ours or another tool's, or one Parquet file of its events.

        :param truncate: the characters of ICD codes to keep; 3 gives categories
        :param map: a table that turns codes into others
        :param min_patients: leave out codes of encounters that fewer patients have
        :param max_visits: the encounters to keep of each patient, the first ones
        :param quantiles: into how many parts values are put; 0 leaves measurements out
        :param titles: a table of codes and what they mean
        """
        given = _given.settings(
            truncate=truncate,
            map=map,
            min_patients=min_patients,
            max_visits=max_visits,
            drop_empty=drop_empty,
            gaps=gaps,
            quantiles=quantiles,
            titles=titles,
        )
        return cls._imported("meds", path, given, _call.settings(threads, progress))

    @classmethod
    def from_omop(
        cls,
        path: Path,
        *,
        truncate: int | None = None,
        map: Path | None = None,
        min_patients: int | None = None,
        max_visits: int | None = None,
        drop_empty: bool = False,
        gaps: bool = True,
        quantiles: int | None = None,
        titles: Path | None = None,
        ages: Sequence[int] | None = None,
        sex: bool = True,
        race: bool = False,
        ethnicity: bool = False,
        visit_types: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Reads a folder of OMOP tables, 5.3 or 5.4. ``ages`` are where age bands begin, in years; none: no ages."""
        given = _given.settings(
            truncate=truncate,
            map=map,
            min_patients=min_patients,
            max_visits=max_visits,
            drop_empty=drop_empty,
            gaps=gaps,
            quantiles=quantiles,
            titles=titles,
            ages=ages,
            sex=sex,
            race=race,
            ethnicity=ethnicity,
            visit_types=visit_types,
        )
        return cls._imported("omop", path, given, _call.settings(threads, progress))

    @classmethod
    def from_source(
        cls,
        kind: str,
        path: Path,
        *,
        truncate: int | None = None,
        map: Path | None = None,
        min_patients: int | None = None,
        max_visits: int | None = None,
        drop_empty: bool = False,
        gaps: bool = True,
        quantiles: int | None = None,
        titles: Path | None = None,
        ages: Sequence[int] | None = None,
        sex: bool = True,
        split_seed: int | None = None,
        threads: int | None = None,
        progress: bool | None = None,
        **columns: Any,
    ) -> Self:
        """Reads the tables of a source: ``mimic3``, ``mimic4``, ``omop``, ``synthea``, ``uci-diabetes``, ``csv``,
        ``jsonl`` or ``meds``.

        >>> import conseq as cq, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "events.csv")
        >>> _ = path.write_text("subject_id,time,code\\n7,2024-01-31,ICD9CM//250.01\\n")
        >>> cohort = cq.Cohort.from_source("csv", path, truncate=3)
        >>> cohort.vocabulary.encounter
        ['ICD9CM//250']

        ``columns`` are those of :meth:`from_csv`, for ``csv`` alone.
        """
        unknown = sorted(set(columns) - set(_CSV_COLUMNS if kind == "csv" else ()))
        if unknown:
            raise InputError(f"{kind} has no setting {unknown[0]!r}", "leave it out")
        given = _given.settings(
            truncate=truncate,
            map=map,
            min_patients=min_patients,
            max_visits=max_visits,
            drop_empty=drop_empty,
            gaps=gaps,
            quantiles=quantiles,
            titles=titles,
            ages=ages,
            sex=sex,
            split_seed=split_seed,
            **columns,
        )
        return cls._imported(kind, path, given, _call.settings(threads, progress))

    @classmethod
    def from_csv(
        cls,
        path: Path,
        *,
        subject: str = "subject_id",
        time: str | None = None,
        code: str = "code",
        visit: str | None = None,
        end: str | None = None,
        value: str | None = None,
        unit: str | None = None,
        static: Sequence[str] | None = None,
        **settings: Any,
    ) -> Self:
        """Reads a table with one code a row: ``.csv``, ``.csv.gz`` or ``.parquet``.

        :param time: the column that says when; without it ``time``, unless ``visit`` is given
        :param visit: the column that says in which encounter
        :param end: the column that says when the encounter ended
        :param static: columns whose values are static codes: ``sex`` gives ``SEX//F``

        The other settings are those of :meth:`from_source`.

        >>> import conseq as cq, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "claims.csv")
        >>> _ = path.write_text("patient,day,dx,sex\\n7,2024-01-31,ICD9CM//250,F\\n")
        >>> cq.Cohort.from_csv(path, subject="patient", time="day", code="dx", static=["sex"]).to_records()[0]["static"]
        ['SEX//F']
        """
        return cls.from_source(
            "csv",
            path,
            subject=subject,
            time=time,
            code=code,
            visit=visit,
            end=end,
            value=value,
            unit=unit,
            static=static,
            **settings,
        )

    @classmethod
    def from_mimic3(cls, path: Path, **settings: Any) -> Self:
        """Reads a folder with the tables of MIMIC-III; settings are those of :meth:`from_source`."""
        return cls.from_source("mimic3", path, **settings)

    @classmethod
    def from_mimic4(cls, path: Path, **settings: Any) -> Self:
        """Reads a folder with the tables of MIMIC-IV; settings are those of :meth:`from_source`."""
        return cls.from_source("mimic4", path, **settings)

    @classmethod
    def from_synthea(cls, path: Path, **settings: Any) -> Self:
        """Reads a folder of Synthea's CSV files; settings are those of :meth:`from_source`."""
        return cls.from_source("synthea", path, **settings)

    @classmethod
    def from_uci_diabetes(cls, path: Path, **settings: Any) -> Self:
        """Reads the diabetes data of 130 US hospitals; settings are those of :meth:`from_source`."""
        return cls.from_source("uci-diabetes", path, **settings)


def _refuse_mixed_times(table: Any, time: str) -> None:
    """Refuses a column of pandas that has times with a time zone among times without: Arrow would take them as one."""
    if type(table).__module__.split(".")[0] != "pandas" or time not in table or getattr(table[time], "dtype", "") != object:
        return
    if len({value.tzinfo is None for value in table[time] if hasattr(value, "tzinfo")}) > 1:
        raise DataError(
            f"the column {time!r} has times with a time zone and times without",
            "convert them to one of the two, by pandas.to_datetime(..., utc=True) for example",
        )


def _in_chunks(table: Any) -> Any:
    """The table, in a form that is handed over without a copy.

    A frame of polars that lies in several chunks, as it does when it was read from several files, is copied into one
    before it is handed over; the same columns as one series of structs are not.
    """
    if type(table).__module__.split(".")[0] == "polars" and hasattr(table, "to_struct") and table.n_chunks() > 1:
        return table.to_struct("")
    return table


def _lines(records: Iterable[dict[str, Any]]) -> str:
    if isinstance(records, (str, bytes, dict)) or not isinstance(records, Iterable):
        raise InputError(f"a {type(records).__name__} is no list of records", "give a list of dictionaries")
    lines = []
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise DataError(f"record {number} is a {type(record).__name__}", "give a dictionary for each record")
        try:
            lines.append(json.dumps(record, allow_nan=False, default=_text))
        except (TypeError, ValueError) as error:
            # The error of json may show a value; only its kind is told.
            reason = "a number that is not finite" if isinstance(error, ValueError) else "something without a JSON form"
            raise DataError(f"record {number} has {reason}", "give texts, finite numbers and lists") from None
    return "\n".join(lines)


def _text(value: Any) -> str:
    """Dates as text."""
    import datetime

    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    raise TypeError(type(value).__name__)
