"""Where cohorts go: frames, lists and files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import _call, _given, _native
from ._given import Path
from ._native import Cohort as NativeCohort
from .errors import DataError, InputError, MissingPackageError
from .report import Report

if TYPE_CHECKING:
    from typing_extensions import Self


class Destinations:
    """The part of a cohort that hands it on."""

    __slots__ = ()

    _native: NativeCohort

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

    def save(self, path: Path, *, force: bool = False) -> Self:
        """Writes it: a MEDS dataset, or JSON lines where the name ends in ``.jsonl``. :meth:`load` reads it again."""
        self._native.save(os.fspath(path), force, _call.settings(None, False))
        return self

    def to_meds(self, path: Path, *, force: bool = False) -> Self:
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


def _module(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(f"this needs {name}, which is not installed", f"pip install {name}") from error
