"""What a verb ends in."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _call
from .errors import InputError, MissingPackageError

if TYPE_CHECKING:
    from ._native import Finished

#: The list of each report that its frame has, where none is asked for.
_MAIN_LISTS = {
    "audit": "broken",
    "check": "conflicts",
    "enforce": "rules",
    "mine": "rules",
    "codes": "found",
    "describe": "commonest",
    "release": "checks",
}
_SHOWN_ROWS = 20


class Part:
    """A part of a report: what its JSON has as an object, with attributes.

    >>> part = Part({"records": 2, "first": {"visit": 1}, "more": [{"visit": 2}]})
    >>> part.records, part.first.visit, part.more[0].visit
    (2, 1, 2)
    >>> part.to_dict()["first"]
    {'visit': 1}
    """

    __slots__ = ("_data",)

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._data:
            known = ", ".join(self._data)
            raise AttributeError(f"there is no {name!r} here; there is {known}")
        return _wrapped(self._data[name])

    def __getitem__(self, name: str) -> Any:
        return _wrapped(self._data[name])

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and self._data == other._data

    def __hash__(self) -> int:
        return hash(json.dumps(self._data, sort_keys=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data!r})"

    def __getstate__(self) -> dict[str, Any]:
        return self._data

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._data = state

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists, texts and numbers; the JSON of the command line."""
        copied: dict[str, Any] = json.loads(json.dumps(self._data))
        return copied


class Report(Part):
    """What a verb found or did: figures as attributes, text for people, JSON for programs.

    The attributes are the fields of the report that the command line gives with ``--json``.

    >>> import conseq as cq
    >>> report = cq.Rules.parse("rule a: INSULIN => DIABETES").check()
    >>> report.rules.total, report.found
    (1, False)
    >>> "proved" in str(report)
    True
    >>> report.to_dict()["verdict"]["outcome"]
    'proved'
    """

    __slots__ = ("found", "kind", "text", "warnings")

    #: Which verb it is of.
    kind: str
    #: What a person reads.
    text: str
    #: Whether the verb was to look for something, and found it: a violation, a contradiction.
    found: bool
    #: What looked odd on the way.
    warnings: list[str]

    def __init__(self, kind: str, finished: Finished) -> None:
        super().__init__(json.loads(finished.json))
        self.kind = kind
        self.text = finished.text
        self.found = finished.found
        self.warnings = list(finished.warnings)
        _call.warn(self.warnings)

    def __getstate__(self) -> Any:
        return (self._data, self.kind, self.text, self.found, self.warnings)

    def __setstate__(self, state: Any) -> None:
        self._data, self.kind, self.text, self.found, self.warnings = state

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        first = self.text.strip().split("\n", 1)[0]
        return f"<{self.kind} report: {first}>"

    def to_json(self) -> str:
        """The report as JSON."""
        return json.dumps(self._data, indent=2)

    def to_frame(self, part: str | None = None, library: str | None = None) -> Any:
        """A list of the report as a frame of pandas, or of polars; without a list its single figures as one row.

        :param part: the list; without it the main one of the report, as ``broken`` of an audit
        :param library: ``"pandas"`` or ``"polars"``; without it the first that is installed
        """
        rows = self._rows(part)
        return _frame(rows, library)

    def _rows(self, part: str | None) -> list[dict[str, Any]]:
        named = part or _MAIN_LISTS.get(self.kind)
        if named is None or (part is None and not isinstance(self._data.get(named), list)):
            return [_flat({key: value for key, value in self._data.items() if not isinstance(value, list)})]
        found: Any = self._data
        for word in named.split("."):
            found = found.get(word) if isinstance(found, dict) else None
        if isinstance(found, dict):
            return [_flat(found)]
        if not isinstance(found, list):
            lists = ", ".join(key for key, value in self._data.items() if isinstance(value, list))
            raise InputError(f"the report has no list {named!r}", f"there is {lists or 'none'}")
        return [_flat(row) if isinstance(row, dict) else {named: row} for row in found]

    def _repr_html_(self) -> str:
        figures = {key: value for key, value in _flat(self._data).items() if not isinstance(value, list)}
        body = _table([[key, value] for key, value in figures.items()], [])
        named = _MAIN_LISTS.get(self.kind, "")
        rows = self._rows(None) if self._data.get(named) else []
        if rows:
            columns = list(rows[0])
            cells = [[row.get(column) for column in columns] for row in rows[:_SHOWN_ROWS]]
            more = len(rows) - _SHOWN_ROWS
            body += f"<p><b>{html.escape(named)}</b></p>{_table(cells, columns)}"
            body += f"<p>and {more} more</p>" if more > 0 else ""
        return f"<div><p><b>{html.escape(self.kind)}</b></p>{body}</div>"


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Part(value)
    if isinstance(value, list):
        return [_wrapped(one) for one in value]
    return value


def _flat(data: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Objects inside of objects as columns: ``rule.name``."""
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict) and value:
            flat.update(_flat(value, f"{before}{key}."))
        else:
            flat[f"{before}{key}"] = value
    return flat


def _frame(rows: list[dict[str, Any]], library: str | None) -> Any:
    if library not in (None, "pandas", "polars"):
        raise InputError(f"library={library!r} is not known", "give library='pandas' or library='polars'")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    for name in [library] if library else ["pandas", "polars"]:
        try:
            module = __import__(name)
        except ImportError:
            continue
        return module.DataFrame({column: [row.get(column) for row in rows] for column in columns})
    raise MissingPackageError(
        f"a frame needs {library or 'pandas or polars'}, which is not installed",
        f"pip install {library or 'pandas'}, or use to_dict()",
    )


def _table(rows: list[list[Any]], columns: list[str]) -> str:
    def cell(value: Any, tag: str = "td") -> str:
        shown = "" if value is None else f"{value:,}" if type(value) is int else str(value)
        return f"<{tag}>{html.escape(shown)}</{tag}>"

    head = "".join(cell(column, "th") for column in columns)
    lines = ["".join(cell(value) for value in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in ([head] if columns else []) + lines)
    return f"<table>{body}</table>"
