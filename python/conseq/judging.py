"""How well cohorts obey rules, and repairing those that do not."""

from __future__ import annotations

from collections.abc import Sequence

from . import _call, _given, _native
from ._given import CohortLike, Path, RulesLike
from .cohort import Cohort
from .model import Model
from .report import Report


def audit_of(
    cohort: CohortLike,
    rules: RulesLike,
    *,
    examples: int | None = None,
    top: int | None = None,
    split: str | None = None,
    record: str | None = None,
    all: Path | None = None,
    html: Path | None = None,
    force: bool = False,
    hide_below: int = 0,
    titles: Path | Sequence[Path] | None = None,
    show_ids: bool = False,
    referee: bool = False,
    vocabulary: Path | None = None,
    allow_unknown: bool = False,
    no_own_rules: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
) -> Report:
    """Counts the violations of rules in a cohort."""
    given = _given.settings(
        examples=examples,
        top=top,
        split=split,
        record=record,
        all=all,
        html=html,
        force=force,
        hide_below=hide_below,
        titles=_given.titles(titles),
        show_ids=show_ids,
        referee=referee,
        vocabulary=vocabulary,
        allow_unknown=allow_unknown,
        no_own_rules=no_own_rules,
    )
    finished = _native.audit(
        _given.cohort(cohort), _given.rules(rules), given, _call.settings(threads, progress)
    )
    return Report("audit", finished)


def enforced(
    cohort: CohortLike,
    rules: RulesLike,
    *,
    model: Model | Path | None = None,
    soft: bool = False,
    changes: Path | None = None,
    seed: int = 1,
    vocabulary: Path | None = None,
    allow_unknown: bool = False,
    no_own_rules: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
) -> Cohort:
    """Repairs a cohort."""
    given = _given.settings(
        soft=soft,
        changes=changes,
        seed=seed,
        vocabulary=vocabulary,
        allow_unknown=allow_unknown,
        no_own_rules=no_own_rules,
    )
    native, finished = _native.enforce(
        _given.cohort(cohort),
        _given.rules(rules),
        None if model is None else _given.model(model),
        given,
        _call.settings(threads, progress),
    )
    return Cohort._of(native, Report("enforce", finished))
