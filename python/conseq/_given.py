"""What people give, as the native half takes it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from .errors import InputError
from .plan import Plan
from .rules import Rules

if TYPE_CHECKING:
    from . import _native
    from .cohort import Cohort
    from .model import Model

Path: TypeAlias = Union[str, "os.PathLike[str]"]
#: A cohort: in memory, a path, or anything with ``__arrow_c_stream__``.
CohortLike: TypeAlias = Any
#: Rules: in memory, the path of a file, or several of either.
RulesLike: TypeAlias = Union[Rules, Plan, str, "os.PathLike[str]", "Sequence[Rules | str | os.PathLike[str]]", None]


def cohort(given: CohortLike) -> _native.Cohort | str:
    """A cohort as tasks take it."""
    from .cohort import Cohort

    if isinstance(given, Cohort):
        return given._native
    if isinstance(given, (str, os.PathLike)):
        return _path(given)
    if hasattr(given, "__arrow_c_stream__"):
        return Cohort.from_table(given)._native
    raise InputError(
        f"a {type(given).__name__} is no cohort",
        "give a Cohort, the path of one, or a table: anything with `__arrow_c_stream__`",
    )


def held(given: CohortLike) -> Cohort:
    """A cohort in memory, read where it is a path."""
    from .cohort import Cohort

    native = given if isinstance(given, Cohort) else cohort(given)
    if isinstance(native, Cohort):
        return native
    return Cohort.load(native) if isinstance(native, str) else Cohort._of(native)


def rules(given: RulesLike) -> list[tuple[str, str]]:
    """Rules as tasks take them: texts with names."""
    if given is None:
        return []
    if isinstance(given, Rules):
        return given.sources
    if isinstance(given, Plan):
        return given.rules.sources
    if isinstance(given, (str, os.PathLike)):
        return Rules.load(given).sources
    if isinstance(given, Iterable):
        return [source for one in given for source in rules(one)]
    raise InputError(f"a {type(given).__name__} is no rules", "give Rules, the path of a rule file, or a list of them")


def model(given: Model | Path) -> _native.Model | str:
    """A model as tasks take it."""
    from .model import Model

    if isinstance(given, Model):
        return given._native
    if isinstance(given, (str, os.PathLike)):
        return _path(given)
    raise InputError(f"a {type(given).__name__} is no model", "give a Model, or the path of one")


@contextlib.contextmanager
def as_paths(cohort_given: CohortLike, rules_given: RulesLike) -> Iterator[tuple[str, list[str]]]:
    """A cohort and rules as paths, for verbs that write down where their inputs are. What is in memory is written to a
    temporary folder for as long as the verb works."""
    import tempfile

    from .cohort import Cohort

    with tempfile.TemporaryDirectory(prefix="conseq-") as scratch:
        native = cohort(cohort_given)
        if not isinstance(native, str):
            path = os.path.join(scratch, "cohort")
            Cohort._of(native).save(path)
            native = path
        yield native, [_rule_path(one, scratch) for one in _listed(rules_given)]


def _listed(given: RulesLike) -> list[Rules | Plan | Path]:
    if given is None:
        return []
    if isinstance(given, (Rules, Plan, str, os.PathLike)):
        return [given]
    return list(given)


def _rule_path(given: Rules | Plan | Path, scratch: str) -> str:
    if isinstance(given, (str, os.PathLike)):
        return _path(given)
    own = given.rules if isinstance(given, Plan) else given
    path = os.path.join(scratch, f"{len(os.listdir(scratch))}.rules")
    own.save(path)
    return path


def settings(**given: Any) -> dict[str, Any]:
    """The settings that were given; paths as texts."""
    return {name: _plain(value) for name, value in given.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(one) for one in value)
    return value


def titles(given: Path | Sequence[Path] | None) -> list[str] | None:
    """Lists of titles: one file, or several."""
    if given is None:
        return None
    if isinstance(given, (str, os.PathLike)):
        return [os.fspath(given)]
    return [os.fspath(one) for one in given]


def _path(given: Path) -> str:
    path = os.fspath(given)
    if isinstance(path, bytes):
        raise InputError("a path is given as bytes", "give it as text, or as a pathlib.Path")
    return path
