"""Plans: rules that were closed and proved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from ._given import CohortLike, Path
    from ._native import Plan as NativePlan
    from .cohort import Cohort
    from .model import Model
    from .report import Report
    from .rules import Rules


class Plan:
    """Rules that were closed under their consequences, and the proof that they can always be kept.

    Made by :meth:`Rules.compile <conseq.Rules.compile>`. Immutable, free to share between threads; pickled, it
    is compiled and proved again where it is opened.

    >>> import conseq as cq, pickle
    >>> plan = cq.Rules.parse("rule lifelong: DIABETES in previous => DIABETES").compile()
    >>> plan
    <Plan: 1 rule over 1 code, proved for records of up to 100 encounters>
    >>> pickle.loads(pickle.dumps(plan)).order == plan.order
    True
    """

    __slots__ = ("_allow_unknown", "_native", "_rules")

    _native: NativePlan
    _rules: Rules
    _allow_unknown: bool

    def __init__(self) -> None:
        raise TypeError("plans are made by Rules.compile")

    @classmethod
    def _of(cls, native: NativePlan, rules: Rules, allow_unknown: bool) -> Plan:
        made = cls.__new__(cls)
        made._native, made._rules, made._allow_unknown = native, rules, allow_unknown
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return (_compiled, (self._rules, self.vocabulary, self.max_visits, self._allow_unknown))

    @property
    def rules(self) -> Rules:
        """The rules as they were written."""
        return self._rules

    @property
    def vocabulary(self) -> Vocabulary:
        """The codes that the rules were read over."""
        return Vocabulary._of(self._native.codes())

    @property
    def order(self) -> list[str]:
        """The codes in the order in which they are decided: those that rules look at before those that they force."""
        return self._native.order()

    @property
    def max_visits(self) -> int:
        """The most encounters of a record that the proof holds for."""
        return self._native.max_visits()

    @property
    def proof(self) -> dict[str, int]:
        """What was proved: kinds of visits, statements whose negation is impossible, clauses, those derived."""
        stages, statements = self._native.proof()
        _, _, clauses, derived = self._native.sizes()
        return {"stages": stages, "statements": statements, "clauses": clauses, "derived_clauses": derived}

    def audit(
        self,
        cohort: CohortLike,
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
        no_own_rules: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Report:
        """Counts the violations in a cohort or a table, and shows where they are.

        The rules are read over the codes of the cohort; a code that only the rules name is never present in it.

        :param examples: violations shown of each rule
        :param top: rules that the text lists
        :param split: only records of this split
        :param record: only the record of this patient, explained; ``"#17"`` is the record with number 17
        :param all: a file for every violation: JSON lines or CSV, by its ending
        :param html: a page to write
        :param hide_below: rules that fewer records break are counted, and nothing else is told of them
        :param show_ids: name the patients rather than the numbers of records alone
        :param referee: let the naive referee judge every record again

        >>> import conseq as cq
        >>> plan = cq.Rules.parse("rule lifelong: DIABETES in previous => DIABETES").compile()
        >>> report = plan.audit(cq.Cohort.from_records([{"id": 1, "static": [], "visits": [["DIABETES"], []]}]))
        >>> report.found, report.broken[0].examples[0].visit
        (True, 2)
        """
        from .judging import audit_of

        return audit_of(
            cohort,
            self,
            examples=examples,
            top=top,
            split=split,
            record=record,
            all=all,
            html=html,
            force=force,
            hide_below=hide_below,
            titles=titles,
            show_ids=show_ids,
            referee=referee,
            allow_unknown=True,
            no_own_rules=no_own_rules,
            threads=threads,
            progress=progress,
        )

    def enforce(
        self,
        cohort: CohortLike,
        *,
        model: Model | Path | None = None,
        soft: bool = False,
        changes: Path | None = None,
        seed: int = 1,
        no_own_rules: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Cohort:
        """Repairs a cohort or a table, so that every record obeys every hard rule.

        Codes keep their value unless a rule forces another. ``report`` of the cohort that is given says what was
        changed.

        :param model: a model that says which of several codes is the likeliest
        :param soft: draw soft rules too
        :param changes: a file for every change

        >>> import conseq as cq
        >>> plan = cq.Rules.parse("rule lifelong: DIABETES in previous => DIABETES").compile()
        >>> cohort = cq.Cohort.from_records([{"id": 1, "static": [], "visits": [["DIABETES"], []]}])
        >>> plan.audit(plan.enforce(cohort)).found
        False
        """
        from .judging import enforced

        return enforced(
            cohort,
            self,
            model=model,
            soft=soft,
            changes=changes,
            seed=seed,
            allow_unknown=True,
            no_own_rules=no_own_rules,
            threads=threads,
            progress=progress,
        )

    def __len__(self) -> int:
        return self._native.sizes()[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((self._rules, self.max_visits))

    def __repr__(self) -> str:
        def count(number: int, thing: str) -> str:
            return f"{number:,} {thing}{'' if number == 1 else 's'}"

        codes = count(len(self._native.codes()), "code")
        return (
            f"<Plan: {count(len(self), 'rule')} over {codes}, "
            f"proved for records of up to {self.max_visits} encounters>"
        )


def _compiled(rules: Rules, vocabulary: Vocabulary, max_visits: int, allow_unknown: bool) -> Plan:
    return rules.compile(vocabulary, max_visits=max_visits, allow_unknown=allow_unknown)
