"""Verbs that are of no single object."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _call, _given, _native
from ._given import CohortLike, Path, RulesLike
from .cohort import Cohort
from .report import Report


def audit(cohort: CohortLike, rules: RulesLike, **settings: Any) -> Report:
    """Counts the violations of rules in a cohort, and shows where they are.

    Settings are those of :meth:`Plan.audit <conseq.Plan.audit>`.

    >>> import conseq as cq
    >>> cohort = cq.Cohort.from_records([{"id": 1, "static": [], "visits": [["DIABETES"], []]}])
    >>> report = cq.audit(cohort, cq.Rules.parse("rule lifelong: DIABETES in previous => DIABETES"))
    >>> report.found, report.temporal_violations, report.broken[0].rule.name
    (True, 1, 'lifelong')
    """
    from .judging import audit_of

    return audit_of(cohort, rules, **settings)


def enforce(cohort: CohortLike, rules: RulesLike, **settings: Any) -> Cohort:
    """Repairs a cohort, so that every record obeys every hard rule; ``report`` of what is given says how.

    Settings are those of :meth:`Plan.enforce <conseq.Plan.enforce>`.

    >>> import conseq as cq
    >>> cohort = cq.Cohort.from_records([{"id": 1, "static": [], "visits": [["DIABETES"], []]}])
    >>> repaired = cq.enforce(cohort, cq.Rules.parse("rule lifelong: DIABETES in previous => DIABETES"))
    >>> repaired.to_records()[0]["visits"], repaired.report.added_codes
    ([['DIABETES'], ['DIABETES']], 1)
    """
    from .judging import enforced

    return enforced(cohort, rules, **settings)


def diff(a: CohortLike, b: CohortLike, **settings: Any) -> Report:
    """What differs between two cohorts; settings are those of :meth:`Cohort.diff <conseq.Cohort.diff>`.

    >>> import conseq as cq
    >>> cohort = cq.Cohort.simulate("inpatient", patients=50)
    >>> cq.diff(cohort, cohort).found
    False
    """
    return _given.held(a).diff(b, **settings)


def evaluate(
    real: CohortLike,
    synthetic: CohortLike,
    rules: RulesLike = None,
    *,
    groups: RulesLike = None,
    strata: Sequence[str] = (),
    out: Path | None = None,
    force: bool = False,
    allow_unknown: bool = False,
    no_own_rules: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
) -> Report:
    """Measures synthetic records beside real ones: rules, frequencies, timing, utility, privacy.

    :param groups: rules whose ``let`` s are groups of patients, which are compared by themselves: those with a visit
        at which the name is true
    :param strata: the groups to compare; without it, all that no other group is made of
    :param out: a folder for the report as a page and as JSON
    """
    given = _given.settings(
        groups=_given.rules(groups),
        strata=list(strata),
        out=out,
        force=force,
        allow_unknown=allow_unknown,
        no_own_rules=no_own_rules,
    )
    finished = _native.evaluate(
        _given.cohort(real), _given.cohort(synthetic), _given.rules(rules), given, _call.settings(threads, progress)
    )
    return Report("evaluate", finished)


def release_check(
    synthetic: CohortLike,
    real: CohortLike,
    rules: RulesLike = None,
    *,
    html: Path | None = None,
    force: bool = False,
    rare_below: int | None = None,
    least_patients: int | None = None,
    most_violations: int | None = None,
    most_copies: float | None = None,
    most_nearer: float | None = None,
    most_membership: float | None = None,
    most_attributes: float | None = None,
    most_small_cells: float | None = None,
    most_rare_codes: float | None = None,
    most_rare_values: float | None = None,
    allow_unknown: bool = False,
    no_own_rules: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
) -> Report:
    """Whether a synthetic cohort can leave the house: rules, copies, small counts, each with a limit.

    ``found`` is true where a limit is passed, or a check could not be made.
    """
    given = _given.settings(
        html=html,
        force=force,
        rare_below=rare_below,
        least_patients=least_patients,
        most_violations=most_violations,
        most_copies=most_copies,
        most_nearer=most_nearer,
        most_membership=most_membership,
        most_attributes=most_attributes,
        most_small_cells=most_small_cells,
        most_rare_codes=most_rare_codes,
        most_rare_values=most_rare_values,
        allow_unknown=allow_unknown,
        no_own_rules=no_own_rules,
    )
    finished = _native.release(
        _given.cohort(real), _given.cohort(synthetic), _given.rules(rules), given, _call.settings(threads, progress)
    )
    return Report("release", finished)


def compare(
    cohort: CohortLike,
    out: Path,
    rules: RulesLike = None,
    *,
    methods: Sequence[str] | None = None,
    quick: bool = False,
    seeds: int | None = None,
    also_halo: bool = False,
    rates: Sequence[float] | None = None,
    runs: int | None = None,
    records: int | None = None,
    deep_runs: int | None = None,
    train_records: int | None = None,
    network: str | None = None,
    size: str | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    rate: float | None = None,
    patience: int | None = None,
    device: str | None = None,
    allow_unknown: bool = False,
    no_own_rules: bool = False,
    resume: bool = False,
    force: bool = False,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | None = None,
) -> Report:
    """Every method of the paper on one cohort: its tables and figures, as a report in a folder.

    Without rules, rules are mined in the cohort. Ctrl-C stops it so that ``resume=True`` goes on, where cohort and rules
    are given as paths.

    :param device: where networks train: ``"auto"`` for a GPU if there is one, ``"cpu"``, or ``"cuda:0"`` and so on
    """
    given = _given.settings(
        out=os.fspath(out),
        methods=methods,
        quick=quick,
        seeds=seeds,
        also_halo=also_halo,
        rates=rates,
        runs=runs,
        records=records,
        deep_runs=deep_runs,
        train_records=train_records,
        network=network,
        size=size,
        epochs=epochs,
        batch=batch,
        rate=rate,
        patience=patience,
        device=device,
        allow_unknown=allow_unknown,
        no_own_rules=no_own_rules,
        resume=resume,
        force=force,
        seed=seed,
    )
    with _given.as_paths(cohort, rules) as (path, files):
        finished = _native.compare(path, files, given, _call.settings(threads, progress))
    return Report("compare", finished)


def synthesize(
    source: CohortLike,
    out: Path,
    rules: RulesLike = None,
    *,
    kind: str | None = None,
    packs: Path | None = None,
    no_common_sense: bool = False,
    no_own_rules: bool = False,
    accept_broken: bool = False,
    allow_unknown: bool = False,
    records: int | None = None,
    generator: str = "network",
    network: str | None = None,
    size: str | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    rate: float | None = None,
    patience: int | None = None,
    resume: bool = False,
    force: bool = False,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | None = None,
) -> Report:
    """From a cohort to generated records in one go: mine, check, train, generate, audit, evaluate.

    :param source: a cohort, or the path of tables of a ``kind`` such as ``"mimic3"``
    :param out: the folder for everything that is made
    :param packs: a folder of tables that experts publish
    """
    given = _given.settings(
        out=os.fspath(out),
        kind=kind,
        packs=packs,
        no_common_sense=no_common_sense,
        no_own_rules=no_own_rules,
        accept_broken=accept_broken,
        allow_unknown=allow_unknown,
        records=records,
        generator=generator,
        network=network,
        size=size,
        epochs=epochs,
        batch=batch,
        rate=rate,
        patience=patience,
        resume=resume,
        force=force,
        seed=seed,
    )
    with _given.as_paths(source, rules) as (path, files):
        finished = _native.synthesize(path, files, given, _call.settings(threads, progress))
    return Report("synthesize", finished)
