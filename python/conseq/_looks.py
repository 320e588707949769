"""What a cohort looks like."""

from __future__ import annotations

from collections.abc import Sequence

from . import _call, _given, _native
from ._given import CohortLike, Path
from ._native import Cohort as NativeCohort
from .report import Report


class Looks:
    """The part of a cohort that shows it."""

    __slots__ = ()

    _native: NativeCohort

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
