"""Cohorts: many records over one vocabulary."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from . import _call, _files, _given, _native
from ._given import CohortLike, Path
from ._native import Cohort as NativeCohort
from .errors import DataError, InputError, MissingPackageError
from .report import Report
from .rules import codes_of
from .vocabulary import Vocabulary

#: The settings that say which column of a table is what.
_CSV_COLUMNS = ("subject", "time", "code", "visit", "end", "value", "unit", "static")


class Cohort:
    """Records of patients, in memory.

    A record is a static visit, with sex and age, and then encounters in time order; a visit is a set of codes.

    >>> import conseq as cq
    >>> cohort = cq.Cohort.from_records([
    ...     {"id": "p1", "static": ["SEX//F"], "visits": [["ICD9CM//250"], ["ICD9CM//250", "RX//insulin"]]},
    ...     {"id": "p2", "static": ["SEX//M"], "visits": [["ICD9CM//401"]]},
    ... ])
    >>> len(cohort), len(cohort.vocabulary)
    (2, 5)

    Cohorts come from files (:meth:`load`), from the tables that people have (:meth:`from_omop`, :meth:`from_mimic3`
    and their like), from frames (:meth:`from_table`), from lists (:meth:`from_records`), from a simulation
    (:meth:`simulate`) and from models. They are immutable, pickle, and go on to other programs by
    ``__arrow_c_stream__`` or the ``to_...`` methods.
    """

    __slots__ = ("_native", "report")

    _native: NativeCohort
    #: How it came to be, where a verb made it: what was read and left out, simulated, repaired or generated.
    report: Report | None

    def __init__(self) -> None:
        raise TypeError("cohorts are made by Cohort.load, from_table, from_records, simulate and their like")

    @classmethod
    def _of(cls, native: NativeCohort, report: Report | None = None) -> Cohort:
        made = cls.__new__(cls)
        made._native, made.report = native, report
        return made

    # Where cohorts come from

    @classmethod
    def load(cls, path: Path, *, threads: int | None = None, progress: bool | None = None) -> Cohort:
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
    ) -> Cohort:
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
        given = {name: one for name, one in tables.items() if one is not None}
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
    ) -> Cohort:
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
    ) -> Cohort:
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
    def _imported(cls, kind: str, path: Path, given: dict[str, Any], call: _call.Call) -> Cohort:
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
    ) -> Cohort:
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
    ) -> Cohort:
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
    ) -> Cohort:
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
    ) -> Cohort:
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
    def from_mimic3(cls, path: Path, **settings: Any) -> Cohort:
        """Reads a folder with the tables of MIMIC-III; settings are those of :meth:`from_source`."""
        return cls.from_source("mimic3", path, **settings)

    @classmethod
    def from_mimic4(cls, path: Path, **settings: Any) -> Cohort:
        """Reads a folder with the tables of MIMIC-IV; settings are those of :meth:`from_source`."""
        return cls.from_source("mimic4", path, **settings)

    @classmethod
    def from_synthea(cls, path: Path, **settings: Any) -> Cohort:
        """Reads a folder of Synthea's CSV files; settings are those of :meth:`from_source`."""
        return cls.from_source("synthea", path, **settings)

    @classmethod
    def from_uci_diabetes(cls, path: Path, **settings: Any) -> Cohort:
        """Reads the diabetes data of 130 US hospitals; settings are those of :meth:`from_source`."""
        return cls.from_source("uci-diabetes", path, **settings)

    # What it holds

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        records = len(self)
        encounters = self._native.encounters()
        return (
            f"<Cohort {self.name!r}: {records:,} record{'' if records == 1 else 's'}, "
            f"{encounters:,} encounter{'' if encounters == 1 else 's'}>"
        )

    @property
    def name(self) -> str:
        """What reports and messages call it."""
        return self._native.name()

    @property
    def vocabulary(self) -> Vocabulary:
        """Its codes."""
        return Vocabulary._of(self._native.codes())

    @property
    def titles(self) -> dict[str, str]:
        """What codes mean, for those of which it is known."""
        return self._native.titles()

    @property
    def splits(self) -> list[str]:
        """The split of every record: ``train``, ``tuning`` or ``held_out``."""
        return self._native.splits()

    @property
    def ids(self) -> list[str]:
        """Whose record each is."""
        return self._native.ids()

    @property
    def own_rules(self) -> Any:
        """The rules that every record obeys by the way it was made, or ``None``; verbs that take rules add them."""
        from .rules import Rules

        text = self._native.own_rules()
        return None if text is None else Rules.parse(text, name=f"the own rules of {self.name}")

    def truth(self) -> Any:
        """The rules that a simulation obeys; a :class:`DataError` for any other cohort."""
        from .rules import Rules

        text = self._native.truth()
        if text is None:
            raise DataError("nobody knows all rules that this cohort obeys", "simulate one, or find rules by Rules.mine")
        return Rules.parse(text, name="truth.rules")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_records())

    # What it looks like

    def head(
        self,
        records: int = 5,
        *,
        split: str | None = None,
        show_ids: bool = False,
        titles: Path | Sequence[Path] | None = None,
    ) -> Report:
        """The first records, with dates, titles and values.

        >>> import conseq as cq
        >>> print(cq.Cohort.from_records([{"id": 1, "static": [], "visits": [["A"]]}]).head())
        record 1, held out split, 1 encounter
          visit 1
            A
        <BLANKLINE>
        """
        given = _given.settings(records=records, split=split, show_ids=show_ids, titles=_given.titles(titles))
        return Report("head", _native.head(self._native, given, _call.settings(None, False)))

    def describe(
        self,
        *,
        top: int = 20,
        split: str | None = None,
        titles: Path | Sequence[Path] | None = None,
        hide_below: int = 0,
        html: Path | None = None,
        force: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Report:
        """What it looks like: sizes, lengths, dates, codes, values, and what is odd.

        :param top: codes that the text lists
        :param hide_below: what fewer patients have is counted, and not told
        :param html: a page to write
        """
        given = _given.settings(
            top=top, split=split, titles=_given.titles(titles), hide_below=hide_below, html=html, force=force
        )
        return Report("describe", _native.describe(self._native, given, _call.settings(threads, progress)))

    def codes(
        self,
        *words: str,
        top: int = 50,
        split: str | None = None,
        titles: Path | Sequence[Path] | None = None,
        hide_below: int = 0,
    ) -> Report:
        """Searches codes by name or title, and counts who has them: ``cohort.codes("diabetes")``."""
        given = _given.settings(
            words=list(words), top=top, split=split, titles=_given.titles(titles), hide_below=hide_below
        )
        return Report("codes", _native.codes(self._native, given, _call.settings(None, False)))

    def diff(
        self,
        other: CohortLike,
        *,
        top: int = 20,
        titles: Path | Sequence[Path] | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Report:
        """What differs between this cohort and another; ``found`` says whether anything does."""
        given = _given.settings(top=top, titles=_given.titles(titles))
        finished = _native.diff(self._native, _given.cohort(other), given, _call.settings(threads, progress))
        return Report("diff", finished)

    # Where it goes

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """The rows as an Arrow C stream: ``polars.DataFrame(cohort)``, ``pyarrow.table(cohort)``."""
        return self._table("events").__arrow_c_stream__(requested_schema)

    @property
    def tables(self) -> list[str]:
        """The tables that it is told by: ``events``, with one code a row, ``codes``, ``subjects``, and where there is
        something to tell ``concepts`` and ``scales``. All of them together lose nothing::

            others = {name: cohort.to_polars(name) for name in cohort.tables if name != "events"}
            again = cq.Cohort.from_table(cohort.to_polars(), **others)

        ``long`` is one more, for reading: the table of :meth:`to_csv`, with ids as they are and visits by number.
        """
        names = ["events", "codes", "subjects", "concepts", "scales"]
        return [name for name in names if name == "events" or self._native.table(name) is not None]

    def _table(self, name: str) -> Any:
        table = self._native.table(name)
        if table is None:
            raise DataError(f"the cohort has nothing to tell in a table {name!r}", f"it has {', '.join(self.tables)}")
        return table

    def to_arrow(self, table: str = "events") -> Any:
        """The rows as a table of pyarrow, in the columns of MEDS; or another of its :attr:`tables`.

        >>> import conseq as cq
        >>> cq.Cohort.from_records([{"id": 1, "static": [], "visits": [["A"]]}]).to_arrow().column_names[:3]
        ['subject_id', 'time', 'code']
        """
        return _module("pyarrow").table(self._table(table))

    def to_pandas(self, table: str = "events") -> Any:
        """The rows as a frame of pandas; or another of its :attr:`tables`."""
        _module("pandas")
        return self.to_arrow(table).to_pandas()

    def to_polars(self, table: str = "events") -> Any:
        """The rows as a frame of polars; or another of its :attr:`tables`."""
        return _module("polars").DataFrame(self._table(table))

    def to_records(self) -> list[dict[str, Any]]:
        """The records as dictionaries, which :meth:`from_records` reads.

        Titles, units and times of single codes have no place in them; :meth:`save` and :attr:`tables` lose nothing.
        """
        import tempfile

        with tempfile.TemporaryDirectory(prefix="conseq-") as scratch:
            path = os.path.join(scratch, "records.jsonl")
            self.save(path)
            with open(path, encoding="utf-8") as lines:
                return [json.loads(line) for line in lines]

    def save(self, path: Path, *, force: bool = False) -> Cohort:
        """Writes it: a MEDS dataset, or JSON lines where the name ends in ``.jsonl``. :meth:`load` reads it again."""
        self._native.save(os.fspath(path), force, _call.settings(None, False))
        return self

    def to_meds(self, path: Path, *, force: bool = False) -> Cohort:
        """Writes a MEDS dataset, which is a folder."""
        if os.fspath(path).endswith(".jsonl"):
            raise InputError("a MEDS dataset is a folder", "leave `.jsonl` out of the name, or use save")
        return self.save(path, force=force)

    def _exported(self, form: str, path: Path, force: bool, parquet: bool = False) -> Report:
        given = _given.settings(form=form, out=os.fspath(path), force=force, parquet=parquet)
        return Report("export", _native.export(self._native, given, _call.settings(None, None)))

    def to_omop(self, path: Path, *, parquet: bool = False, force: bool = False) -> Report:
        """Writes OMOP tables, as CSV or as Parquet."""
        return self._exported("omop", path, force, parquet)

    def to_csv(self, path: Path, *, force: bool = False) -> Report:
        """Writes one table with a code a row."""
        return self._exported("csv", path, force)

    def to_jsonl(self, path: Path, *, force: bool = False) -> Report:
        """Writes records as lines of JSON."""
        return self._exported("jsonl", path, force)

    def __reduce__(self) -> tuple[Any, ...]:
        files = _files.packed(lambda folder: self.save(folder))
        return (_unpickled, (files, self.name, self._native.truth(), self.report))


def _unpickled(files: dict[str, bytes], name: str, truth: str | None, report: Report | None) -> Cohort:
    call = _call.settings(None, False)
    native = _files.unpacked(files, lambda folder: _native.Cohort.load(folder, call))
    return Cohort._of(native.renamed(name, truth), report)


def _refuse_mixed_times(table: Any, time: str) -> None:
    """Refuses a column of pandas that has times with a time zone among times without: Arrow would take them as one."""
    if type(table).__module__.split(".")[0] != "pandas" or time not in table or getattr(table[time], "dtype", "") != object:
        return
    if len({value.tzinfo is None for value in table[time] if hasattr(value, "tzinfo")}) > 1:
        raise DataError(
            f"the column {time!r} has times with a time zone and times without",
            "convert them to one of the two, by pandas.to_datetime(..., utc=True) for example",
        )


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


def _module(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(f"this needs {name}, which is not installed", f"pip install {name}") from error
