"""Models: trained on a cohort, they write new records that obey rules."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _call, _files, _given, _native
from ._given import CohortLike, Path, RulesLike
from ._native import Model as NativeModel
from .cohort import Cohort
from .report import Report
from .rules import Rules, visits_of
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .torch import Network


class Model:
    """A trained model.

    >>> import conseq as cq
    >>> cohort = cq.Cohort.simulate("inpatient", patients=300)
    >>> model = cq.Model.train(cohort, rules=cohort.truth(), generator="markov")
    >>> new = model.sample(100, seed=7)
    >>> cohort.truth().compile(new, allow_unknown=True).audit(new).found
    False
    """

    __slots__ = ("_native", "report")

    _native: NativeModel
    #: How it was trained, where :meth:`train` made it.
    report: Report | None

    def __init__(self) -> None:
        raise TypeError("models are made by Model.train and Model.load")

    @classmethod
    def _of(cls, native: NativeModel, report: Report | None = None) -> Model:
        made = cls.__new__(cls)
        made._native, made.report = native, report
        return made

    @classmethod
    def train(
        cls,
        cohort: CohortLike,
        rules: RulesLike = None,
        *,
        out: Path | None = None,
        generator: str = "network",
        network: str | None = None,
        size: str | None = None,
        epochs: int | None = None,
        batch: int | None = None,
        rate: float | None = None,
        patience: int | None = None,
        decay: float | None = None,
        width: int | None = None,
        head_width: int | None = None,
        head_units: int | None = None,
        layers: int | None = None,
        heads: int | None = None,
        dropout: float | None = None,
        train_mode: str | None = None,
        writing_rules: RulesLike = None,
        device: str | None = None,
        precision: str | None = None,
        max_visits: int | None = None,
        accept_broken: bool = False,
        allow_unknown: bool = False,
        no_own_rules: bool = False,
        vocabulary: Path | None = None,
        checkpoint_every: int | None = None,
        resume: bool = False,
        force: bool = False,
        seed: int = 1,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Model:
        """Trains a model on the train split of a cohort; its tuning split tells when to stop.

        :param rules: what the model is to obey; they are compiled and proved first
        :param out: the folder of the model; with it a run that Ctrl-C stopped goes on with ``resume=True``.
            Without it the model is in memory alone.
        :param generator: ``"network"``, or ``"markov"`` for counts of codes and of pairs of codes
        :param network: ``"recurrent"`` or ``"halo"``
        :param size: ``"tiny"``, ``"small"``, ``"large"`` or ``"paper"``
        :param train_mode: ``"causal"``, ``"paper"`` or ``"off"``: how rules take part in training
        :param writing_rules: what the model obeys when it writes, and that has no part in training
        :param device: ``"auto"`` for a GPU if there is one, ``"cpu"``, or ``"cuda:0"``, ``"cuda:1"`` and so on
        :param precision: how a GPU multiplies: ``"fast"``, with factors rounded to 10 bits, or ``"full"``, as the CPU does
        :param accept_broken: train with rules that more than one record in a hundred breaks
        :param checkpoint_every: seconds between checkpoints
        """
        given = _given.settings(
            out=out,
            generator=generator,
            network=network,
            size=size,
            epochs=epochs,
            batch=batch,
            rate=rate,
            patience=patience,
            decay=decay,
            width=width,
            head_width=head_width,
            head_units=head_units,
            layers=layers,
            heads=heads,
            dropout=dropout,
            train_mode=train_mode,
            device=device,
            precision=precision,
            max_visits=None if max_visits is None else visits_of(max_visits),
            accept_broken=accept_broken,
            allow_unknown=allow_unknown,
            no_own_rules=no_own_rules,
            vocabulary=vocabulary,
            checkpoint_every=checkpoint_every,
            resume=resume,
            force=force,
            seed=seed,
        )
        native, finished = _native.train(
            _given.cohort(cohort),
            _given.rules(rules),
            _given.rules(writing_rules),
            given,
            _call.settings(threads, progress),
        )
        return cls._of(native, Report("train", finished))

    @classmethod
    def load(cls, path: Path, *, progress: bool | None = None) -> Model:
        """Reads the folder of a model."""
        return cls._of(_native.Model.load(os.fspath(path), _call.settings(None, progress)))

    def save(self, path: Path, *, force: bool = False) -> Model:
        """Writes it to a folder, which the command line reads too."""
        self._native.save(os.fspath(path), force, _call.settings(None, False))
        return self

    def __repr__(self) -> str:
        card = self.card
        return f"<Model: {card['kind']}, {len(self.vocabulary):,} codes, up to {self.max_visits} encounters>"

    @property
    def name(self) -> str:
        """What reports and messages call it: its folder, where it has one."""
        return self._native.name()

    @property
    def card(self) -> dict[str, Any]:
        """All that is known of it: kind, sizes, rules, digests of its data, history of losses."""
        card: dict[str, Any] = json.loads(self._native.card())
        return card

    @property
    def vocabulary(self) -> Vocabulary:
        """Its codes."""
        return Vocabulary._of(self._native.codes())

    @property
    def rules(self) -> Rules:
        """The rules that it was trained with."""
        return Rules.parse(self._native.rules(), name="the model's rules")

    @property
    def max_visits(self) -> int:
        """The most encounters of a record that it writes."""
        return self._native.max_visits()

    def sample(
        self,
        records: int,
        *,
        seed: int = 1,
        given: str | None = None,
        groups: RulesLike = None,
        prefix: CohortLike | None = None,
        mode: str = "guided",
        rules: RulesLike = None,
        temperature: float = 1.0,
        proposals: int | None = None,
        attempts: int | None = None,
        device: str | None = None,
        precision: str | None = None,
        allow_unknown: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Cohort:
        """Writes new records, each obeying every hard rule; the referee judges every one.

        A record depends on the model, the rules, the seed and its number alone.

        :param given: what every record has, or has not: static codes, codes of encounters, groups, as in
            ``"SEX//F, not SMOKER, diabetes"``
        :param groups: rules whose ``let`` s are groups that can be given: records with a visit at which the name is
            true are drawn until there are enough
        :param prefix: a cohort whose records are continued
        :param mode: ``"guided"``, ``"override"``, ``"exact"``, ``"reject"`` or ``"off"``
        :param rules: other rules than the model's own
        :param temperature: what the logits are divided by
        :param device: where codes are drawn: ``"auto"`` for every GPU that there is, ``"cpu"``, or ``"cuda:0"`` and so on
        :param precision: how GPUs multiply: ``"full"``, so that nearly every record is that of the CPU, or ``"fast"``, with
            factors rounded to 10 bits
        """
        native, finished = _native.sample(
            self._native,
            None if prefix is None else _given.cohort(prefix),
            _given.rules(rules),
            _sampling(
                records, seed, given, groups, mode, temperature, proposals, attempts, device, precision, allow_unknown
            ),
            _call.settings(threads, progress),
        )
        return Cohort._of(native, Report("generate", finished))

    def stream(
        self,
        records: int,
        *,
        batch: int = 1000,
        seed: int = 1,
        given: str | None = None,
        groups: RulesLike = None,
        prefix: CohortLike | None = None,
        mode: str = "guided",
        rules: RulesLike = None,
        temperature: float = 1.0,
        proposals: int | None = None,
        attempts: int | None = None,
        device: str | None = None,
        precision: str | None = None,
        allow_unknown: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Iterator[Cohort]:
        """The records of :meth:`sample`, a cohort of ``batch`` at a time: any number of them in little memory.

        >>> import conseq as cq
        >>> cohort = cq.Cohort.simulate("inpatient", patients=200)
        >>> model = cq.Model.train(cohort, generator="markov")
        >>> [len(part) for part in model.stream(25, batch=10)]
        [10, 10, 5]
        """
        stream = _native.stream(
            self._native,
            None if prefix is None else _given.cohort(prefix),
            _given.rules(rules),
            {
                **_sampling(
                    records, seed, given, groups, mode, temperature, proposals, attempts, device, precision, allow_unknown
                ),
                "stream_batch": batch,
            },
            _call.settings(threads, progress),
        )
        return map(Cohort._of, stream)

    def generate(
        self,
        records: int,
        out: Path,
        *,
        seed: int = 1,
        given: str | None = None,
        groups: RulesLike = None,
        prefix: CohortLike | None = None,
        mode: str = "guided",
        rules: RulesLike = None,
        temperature: float = 1.0,
        proposals: int | None = None,
        attempts: int | None = None,
        device: str | None = None,
        precision: str | None = None,
        allow_unknown: bool = False,
        shard_records: int | None = None,
        resume: bool = False,
        force: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Report:
        """Writes the records of :meth:`sample` to files: a MEDS dataset, or JSON lines where the name ends in
        ``.jsonl``. A dataset that was not finished is completed with ``resume=True``."""
        settings = _sampling(
            records, seed, given, groups, mode, temperature, proposals, attempts, device, precision, allow_unknown
        )
        settings |= _given.settings(out=os.fspath(out), shard_records=shard_records, resume=resume, force=force)
        finished = _native.generate(
            self._native,
            None if prefix is None else _given.cohort(prefix),
            _given.rules(rules),
            settings,
            _call.settings(threads, progress),
        )
        return Report("generate", finished)

    def log_prob(
        self,
        cohort: CohortLike,
        *,
        rules: RulesLike = None,
        no_rules: bool = False,
        allow_unknown: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> list[float]:
        """The logarithm of the probability of every record; ``-inf`` where the rules forbid it or it is too long.

        >>> import conseq as cq
        >>> cohort = cq.Cohort.simulate("inpatient", patients=200)
        >>> model = cq.Model.train(cohort, generator="markov")
        >>> len(model.log_prob(cohort))
        200
        """
        given = _given.settings(no_rules=no_rules, allow_unknown=allow_unknown)
        return _native.log_probabilities(
            self._native, _given.cohort(cohort), _given.rules(rules), given, _call.settings(threads, progress)
        )

    def perplexity(
        self,
        cohort: CohortLike,
        *,
        split: str = "held_out",
        rules: RulesLike = None,
        no_rules: bool = False,
        allow_unknown: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Report:
        """How well it predicts the records of a split of a cohort."""
        given = _given.settings(split=split, no_rules=no_rules, allow_unknown=allow_unknown)
        finished = _native.perplexity(
            self._native, _given.cohort(cohort), _given.rules(rules), given, _call.settings(threads, progress)
        )
        return Report("perplexity", finished)

    def as_torch(self) -> Network:
        """Its network as a module of PyTorch with the same weights; ``network.into(model)`` is the way back.

        :raises MissingPackageError: where PyTorch is not installed
        :raises InputError: where it has no network
        """
        from .torch import as_torch

        return as_torch(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (_files.packed(lambda folder: self.save(folder)), self.name, self.report))


def _unpickled(files: dict[str, bytes], name: str, report: Report | None) -> Model:
    call = _call.settings(None, False)
    native = _files.unpacked(files, lambda folder: _native.Model.load(folder, call))
    return Model._of(native.renamed(name), report)


def _sampling(
    records: int,
    seed: int,
    given: str | None,
    groups: RulesLike,
    mode: str,
    temperature: float,
    proposals: int | None,
    attempts: int | None,
    device: str | None,
    precision: str | None,
    allow_unknown: bool,
) -> dict[str, Any]:
    return _given.settings(
        records=records,
        seed=seed,
        given=given,
        groups=_given.rules(groups),
        mode=mode,
        temperature=temperature,
        proposals=proposals,
        attempts=attempts,
        device=device,
        precision=precision,
        allow_unknown=allow_unknown,
    )
