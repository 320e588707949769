"""The verbs, where the records are."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _files, _given, _native
from .._given import Path, RulesLike
from ..errors import InputError
from ..model import Model
from ..report import Report
from ..rules import Rules
from . import rounds
from .records import Records, number_of_partitions
from .workers import AT_A_TIME, COUNTED, CountWritten, Generate, Written, event_columns
from .written import WrittenRecords

if TYPE_CHECKING:
    from .._native import Finished

#: The round in which records are repaired.
_REPAIR = "repair"
#: The records of a task that generates, where it is not said otherwise.
_TASK_RECORDS = 20_000


def describe(
    records: Records | Any, *, top: int = 20, split: str | None = None, hide_below: int = 0
) -> Report:
    """What records look like: sizes, lengths, dates, codes, values, and what is odd.

    :param top: codes that the text lists
    :param hide_below: what fewer patients have is counted, and not told
    """
    given = _given.settings(top=top, split=split, hide_below=hide_below)
    return _told("describe", None, given, [records])


def audit(
    records: Records | Any,
    rules: RulesLike,
    *,
    top: int = 20,
    split: str | None = None,
    hide_below: int = 0,
    referee: bool = False,
    allow_unknown: bool = False,
    no_own_rules: bool = False,
) -> Report:
    """Counts the violations of rules. Only counts leave the cluster: there are no examples."""
    given = _given.settings(
        top=top,
        split=split,
        hide_below=hide_below,
        referee=referee,
        allow_unknown=allow_unknown,
        no_own_rules=no_own_rules,
    )
    return _told("audit", rules, given, [records])


def mine(
    records: Records | Any,
    *,
    cutoffs: str | None = None,
    min_support: int | None = None,
    likely: str = "hard",
    no_soft: bool = False,
    ages_and_days: bool = False,
) -> Rules:
    """Finds rules, with the evidence for each as a comment; ``report`` says how it went.

    Settings are those of :meth:`Rules.mine <conseq.Rules.mine>`.
    """
    given = _given.settings(
        cutoffs=cutoffs, min_support=min_support, likely=likely, no_soft=no_soft, ages_and_days=ages_and_days
    )
    outcome = rounds.run(_native.work("mine", [], given), [_records(records)])
    return Rules._made("mined.rules", outcome.rules or "", Report("mine", _finished(outcome)))


def evaluate(
    real: Records | Any,
    synthetic: Records | Any,
    rules: RulesLike = None,
    *,
    groups: RulesLike = None,
    strata: Sequence[str] = (),
    out: Path | None = None,
    force: bool = False,
    allow_unknown: bool = False,
    no_own_rules: bool = False,
) -> Report:
    """Measures synthetic records beside real ones; settings are those of :func:`conseq.evaluate`.

    :param out: a folder on the driver for the report as a page; some records come there for it, by keys of their ids
    """
    given = _given.settings(
        groups=_given.rules(groups),
        strata=list(strata),
        out=out,
        force=force,
        allow_unknown=allow_unknown,
        no_own_rules=no_own_rules,
    )
    return _told("evaluate", rules, given, [real, synthetic])


def enforce(
    records: Records | Any,
    rules: RulesLike,
    *,
    model: Path | None = None,
    soft: bool = False,
    seed: int = 1,
    allow_unknown: bool = False,
    no_own_rules: bool = False,
) -> WrittenRecords:
    """Repairs records, so that every one obeys every hard rule; the referee judges each before it is handed on.

    What choices go by is counted first, in a pass of its own.

    :param model: the folder of a model that says which of several codes is the likeliest; every node must see it
    :param soft: draw soft rules too
    """
    if isinstance(model, Model):
        raise InputError("a model in memory does not go along", "save it to a folder that every node sees, and give that")
    given = _given.settings(
        model=None if model is None else os.path.abspath(model),
        soft=soft,
        seed=seed,
        allow_unknown=allow_unknown,
        no_own_rules=no_own_rules,
    )
    source = _records(records)
    outcome = rounds.run(_native.work("enforce", _given.rules(rules), given), [source], until=_REPAIR)
    if outcome.wanted != _REPAIR:
        raise InputError("there is nothing to repair", "give records")

    def counted(kept: Any) -> Finished:
        round = outcome.round()
        states = source.count(round) if kept is None else rounds.collect(kept, round, source.parts())
        return rounds.finish(outcome, states)

    return WrittenRecords(
        source._spark,
        "enforce",
        source.repaired(outcome.round()),
        source.outline(),
        name=f"{source.name} (repaired)",
        ordinal=source.ordinal,
        counted=counted,
    )


def generate(
    spark: Any,
    model: Model | Path,
    records: int,
    *,
    seed: int = 1,
    given: str | None = None,
    groups: RulesLike = None,
    mode: str = "guided",
    rules: RulesLike = None,
    temperature: float = 1.0,
    proposals: int | None = None,
    attempts: int | None = None,
    allow_unknown: bool = False,
    partitions: int | None = None,
    name: str = "generated records",
) -> WrittenRecords:
    """Writes new records, each obeying every hard rule: those of :meth:`Model.sample <conseq.Model.sample>`, by number.

    A record depends on the model, the rules, the seed and its number alone, and so neither on the partition it is
    written in nor on how often a task was tried.

    :param model: a model in memory, which goes along with the tasks, or its folder, which every node must see
    :param partitions: the tasks to write them in; without it one for each 20,000 records
    """
    partitions = number_of_partitions(partitions)
    settings = _given.settings(
        records=records,
        seed=seed,
        given=given,
        groups=_given.rules(groups),
        mode=mode,
        temperature=temperature,
        proposals=proposals,
        attempts=attempts,
        allow_unknown=allow_unknown,
    )
    sources = _given.rules(rules)
    packed: dict[str, bytes] | str
    model_digest = None
    if isinstance(model, Model):
        packed, called = _files.packed(lambda folder: model.save(folder)), model.name
    else:
        packed, called = os.path.abspath(os.fspath(model)), os.fspath(model)
        model_digest = _native.model_digest(packed)
    digest = _digest(packed, model_digest, [called, sources, settings])
    task = Generate(packed, called, sources, settings, digest, model_digest)
    generation = task.generation()
    rounds.check_workers(spark)
    if partitions is None:
        partitions = max(1, -(-records // _TASK_RECORDS))
    numbers = spark.range(0, records, 1, partitions)

    def counted(kept: Any) -> Finished:
        began = time.monotonic()
        if kept is None:
            states = rounds.collect(numbers.mapInArrow(CountWritten(task), COUNTED), Written(), partitions)
        else:
            states = rounds.collect(kept, Written(), partitions + records // AT_A_TIME)
        return generation.merge(states, time.monotonic() - began)

    return WrittenRecords(
        spark,
        "generate",
        numbers.mapInArrow(task, event_columns(False)),
        generation.outline(name),
        name=name,
        ordinal=not generation.dated(),
        counted=counted,
    )


def _told(verb: str, rules: RulesLike, given: dict[str, Any], records: Sequence[Any]) -> Report:
    work = _native.work(verb, _given.rules(rules), given)
    return Report(verb, _finished(rounds.run(work, [_records(one) for one in records])))


def _finished(outcome: rounds.Outcome) -> Finished:
    if outcome.finished is None:
        raise InputError("there is nothing to count", "give records")
    return outcome.finished


def _records(given: Any) -> Records:
    if isinstance(given, Records):
        return given
    if isinstance(given, WrittenRecords):
        return given.records
    return Records(given)


def _digest(model: dict[str, bytes] | str, model_digest: str | None, given: list[Any]) -> bytes:
    """What tells what is to be generated from anything else: the model itself, and not only where it is."""
    import hashlib
    import json

    digest = hashlib.sha256(json.dumps([model_digest, given], sort_keys=True).encode())
    for name, content in sorted(model.items()) if isinstance(model, dict) else [(model, b"")]:
        for part in (name.encode(), content):
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
