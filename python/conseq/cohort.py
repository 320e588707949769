"""Cohorts: many records over one vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import _call, _files, _native
from ._destinations import Destinations
from ._looks import Looks
from ._sources import Sources
from .errors import DataError
from .report import Report
from .vocabulary import Vocabulary


class Cohort(Sources, Looks, Destinations):
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

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("cohorts are made by Cohort.load, from_table, from_records, simulate and their like")

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

    def __reduce__(self) -> tuple[Any, ...]:
        files = _files.packed(lambda folder: self.save(folder))
        return (_unpickled, (files, self.name, self._native.truth(), self.report))


def _unpickled(files: dict[str, bytes], name: str, truth: str | None, report: Report | None) -> Cohort:
    call = _call.settings(None, False)
    native = _files.unpacked(files, lambda folder: _native.Cohort.load(folder, call))
    return Cohort._of(native.renamed(name, truth), report)
