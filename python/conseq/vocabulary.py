"""The codes there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .errors import InputError


class Vocabulary:
    """Codes in their order: static ones, which visit 0 has, and those of encounters.

    >>> import conseq as cq
    >>> codes = cq.Vocabulary(static=["SEX//F", "SEX//M"], encounter=["ICD9CM//250"])
    >>> len(codes), "SEX//F" in codes, codes.static
    (3, True, ['SEX//F', 'SEX//M'])

    ``END``, which holds at the last encounter, is not listed.
    """

    __slots__ = ("_codes", "_kinds")

    def __init__(self, static: Iterable[str] = (), encounter: Iterable[str] = ()) -> None:
        pairs = [(code, True) for code in _texts(static)] + [(code, False) for code in _texts(encounter)]
        self._set(pairs)

    def _set(self, pairs: list[tuple[str, bool]]) -> None:
        self._codes = [code for code, _ in pairs]
        self._kinds = dict(pairs)
        if len(self._kinds) < len(pairs):
            twice = next(code for index, code in enumerate(self._codes) if code in self._codes[:index])
            raise InputError(f"the code {twice!r} is listed twice", "list every code once, as static or not")

    @classmethod
    def _of(cls, pairs: list[tuple[str, bool]]) -> Vocabulary:
        made = cls.__new__(cls)
        made._set(pairs)
        return made

    def _pairs(self) -> list[tuple[str, bool]]:
        return [(code, self._kinds[code]) for code in self._codes]

    @property
    def static(self) -> list[str]:
        """The static codes."""
        return [code for code in self._codes if self._kinds[code]]

    @property
    def encounter(self) -> list[str]:
        """The codes of encounters."""
        return [code for code in self._codes if not self._kinds[code]]

    def is_static(self, code: str) -> bool:
        """Whether a code is one of visit 0; a ``KeyError`` where there is no such code."""
        return self._kinds[code]

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __contains__(self, code: object) -> bool:
        return code in self._kinds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._pairs() == other._pairs()

    def __hash__(self) -> int:
        return hash(tuple(self._pairs()))

    def __repr__(self) -> str:
        return f"<Vocabulary: {len(self.static)} static codes, {len(self.encounter)} of encounters>"

    def __reduce__(self) -> tuple[object, ...]:
        return (Vocabulary._of, (self._pairs(),))


def _texts(codes: Iterable[str]) -> list[str]:
    if isinstance(codes, str):
        raise InputError("a list of codes is given as one text", f"give [{codes!r}]")
    listed = list(codes)
    for code in listed:
        if not isinstance(code, str) or not code:
            raise InputError(f"a code is a text, and not {code!r}", "give the names of codes")
    return listed
