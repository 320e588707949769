"""What goes wrong, as exceptions.

Every exception says what and where, and its ``advice`` what to do about it, in the words of this package::

    ConseqError
    ├── InputError           an argument that cannot be used            (also a ValueError)
    ├── RulesError           the text of rules; see ``diagnostics``     (also a ValueError)
    ├── CompileError         rules without a plan; see ``rules``        (also a ValueError)
    ├── DataError            records that cannot be read or measured    (also a ValueError)
    ├── ModelError           a model that cannot be read, trained or sampled
    ├── FileError            a file that cannot be read or written      (also an OSError)
    │   └── OutputExistsError  something is there already               (also a FileExistsError)
    ├── MissingPackageError  an optional package is not installed       (also an ImportError)
    └── InternalError        a defect of this package                   (also a RuntimeError)

:class:`Interrupted` stands apart: it is a ``KeyboardInterrupt``, so that ``except Exception`` lets it through.
"""

from __future__ import annotations

import os
from typing import Any


class ConseqError(Exception):
    """What every error of this package is.

    >>> import conseq as cq
    >>> try:
    ...     cq.Rules.parse("rule a: A and")
    ... except cq.ConseqError as error:
    ...     print(type(error).__name__)
    RulesError
    """

    #: What to do about it, or ``None``.
    advice: str | None

    def __init__(self, message: str, advice: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        if self.advice is None:
            return self.message
        return f"{self.message}\n  = help: {self.advice}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.message, self.advice), self.__dict__)


class InputError(ConseqError, ValueError):
    """An argument that cannot be used."""


class RulesError(ConseqError, ValueError):
    """The text of rules cannot be used.

    >>> import conseq as cq
    >>> try:
    ...     cq.Rules.parse("rule a: SEX//M in tomorrow => X")
    ... except cq.RulesError as error:
    ...     first = error.diagnostics[0]
    >>> first["line"], first["column"]
    (1, 19)
    """

    #: One dictionary for each fault: severity, message, file, line, column, help, text.
    diagnostics: list[dict[str, Any]]

    def __init__(self, message: str, advice: str | None = None) -> None:
        super().__init__(message, advice)
        self.diagnostics = []


class CompileError(ConseqError, ValueError):
    """Rules have no plan: no record can obey them together, or they are too large.

    >>> import conseq as cq
    >>> try:
    ...     cq.Rules.parse("rule always: A  rule never: not A  rule other: B => C").compile()
    ... except cq.CompileError as error:
    ...     print([rule["name"] for rule in error.rules])
    ['always', 'never']
    """

    #: The rules that are to blame, one dictionary for each: name, file, line, text.
    rules: list[dict[str, Any]]

    def __init__(self, message: str, advice: str | None = None) -> None:
        super().__init__(message, advice)
        self.rules = []


class DataError(ConseqError, ValueError):
    """Records that cannot be read or measured."""

    #: Whether it is the order of rows that is wrong, and not what they say.
    disordered: bool = False


class ModelError(ConseqError):
    """A model that cannot be read, trained or sampled."""


class FileError(ConseqError, OSError):
    """A file that cannot be read or written."""


class OutputExistsError(FileError, FileExistsError):
    """What is to be written is there already; ``force=True`` replaces it."""


class MissingPackageError(ConseqError, ImportError):
    """An optional package is not installed."""


class InternalError(ConseqError, RuntimeError):
    """A defect of this package."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped work that can be resumed; ``path`` is where it is kept."""

    #: What to do to go on.
    advice: str | None
    #: What the work can be resumed from.
    path: os.PathLike[str] | str | None

    def __init__(self, message: str, advice: str | None = None) -> None:
        super().__init__(message)
        self.advice = advice
        self.path = None
