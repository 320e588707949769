"""Rules: what a person writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import _call, _native
from .errors import FileError, InputError
from .plan import Plan
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from ._given import CohortLike, Path
    from ._native import Rules as NativeRules
    from .cohort import Cohort
    from .report import Report


class Rule(NamedTuple):
    """A rule as it was written."""

    #: Its name.
    name: str
    #: Its text on one line.
    text: str
    #: How often it holds; ``None``: always.
    probability: float | None
    #: The file it is from, or how its text is called.
    file: str

    @property
    def is_hard(self) -> bool:
        """Whether it must hold."""
        return self.probability is None


class Rules:
    """Rules as text, parsed.

    >>> import conseq as cq
    >>> rules = cq.Rules.parse('''
    ... rule no-delivery-in-men:    SEX//M in static => not ICD9CM//650
    ... rule diabetes-is-lifelong:  ICD9CM//250 in previous => ICD9CM//250
    ... ''')
    >>> len(rules), [rule.name for rule in rules]
    (2, ['no-delivery-in-men', 'diabetes-is-lifelong'])
    >>> rules
    <Rules: 2 rules>

    Rules are read over the codes of a cohort, or of a list, when they are used; see :meth:`compile`.
    """

    __slots__ = ("_native", "report")

    _native: NativeRules
    #: How they came to be, where they were mined or made of a table.
    report: Report | None

    def __init__(self, sources: Iterable[tuple[str, str]]) -> None:
        """Texts, each with a name that messages use; one whose name ends in ``.json`` is JSON.

        :meth:`parse` and :meth:`load` are shorter.
        """
        self.report = None
        self._native = _native.Rules(list(sources))
        _call.warn(self._native.warnings())

    @classmethod
    def parse(cls, text: str, name: str = "rules") -> Rules:
        """Reads rules from a text.

        :raises RulesError: with line and column of every fault

        >>> import conseq as cq
        >>> cq.Rules.parse("rule insulin: RX//insulin => ICD9CM//250").to_text()
        'rule insulin: RX//insulin => ICD9CM//250\\n'
        """
        return cls([(name, text)])

    @classmethod
    def load(cls, *paths: str | os.PathLike[str]) -> Rules:
        """Reads rules from files: the rule language, or JSON where the name ends in ``.json``.

        >>> import conseq as cq, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "clinic.rules")
        >>> _ = path.write_text("rule insulin: RX//insulin => ICD9CM//250")
        >>> len(cq.Rules.load(path))
        1
        """
        if not paths:
            raise InputError("no rule file is named", "give the path of at least one")
        return cls([(os.fspath(path), _read(path)) for path in paths])

    @classmethod
    def mine(
        cls,
        cohort: CohortLike,
        *,
        cutoffs: str | None = None,
        min_support: int | None = None,
        likely: str = "hard",
        no_soft: bool = False,
        review: Path | None = None,
        titles: Path | None = None,
        ages_and_days: bool = False,
        force: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Rules:
        """Finds rules in a cohort, with the evidence for each as a comment; ``report`` says how it went.

        Rules are mined in the train split and held against the tuning split.

        :param cutoffs: ``"inpatient"`` or ``"outpatient"``: the support that the paper asks for
        :param min_support: the visits that have to show a rule
        :param likely: ``"hard"``, ``"soft"`` or ``"leave"``: what becomes of rules without an exception
        :param no_soft: leave out rules that hold nearly always
        :param review: a page on which an expert chooses from them
        :param ages_and_days: look for ages at which codes never come, and for the fewest days between two of a code

        >>> import conseq as cq
        >>> rules = cq.Rules.mine(cq.Cohort.simulate("inpatient", patients=2000))
        >>> len(rules) > 0
        True
        """
        from . import _given
        from .report import Report

        given = _given.settings(
            cutoffs=cutoffs,
            min_support=min_support,
            likely=likely,
            no_soft=no_soft,
            review=review,
            titles=titles,
            ages_and_days=ages_and_days,
            force=force,
        )
        text, finished = _native.mine(_given.cohort(cohort), given, _call.settings(threads, progress))
        return cls._made("mined.rules", text, Report("mine", finished))

    @classmethod
    def common_sense(cls, cohort: CohortLike) -> Rules:
        """The rules that nobody needs to be told: one sex, one age, nothing after death.

        >>> import conseq as cq
        >>> rules = cq.Rules.common_sense(cq.Cohort.simulate("inpatient", patients=100))
        >>> len(rules) > 0
        True
        """
        from . import _given
        from .report import Report

        text, finished = _native.common_sense(_given.cohort(cohort), _call.settings(None, None))
        return cls._made("common-sense.rules", text, Report("common_sense", finished))

    @classmethod
    def from_pack(
        cls,
        table: str,
        file: Path,
        *,
        cohort: CohortLike | None = None,
        vocabulary: Path | None = None,
        level: str | None = None,
        over: str | None = None,
        codes: Path | None = None,
        ancestors: Path | None = None,
        prefix: str | None = None,
        procedure_prefix: str | None = None,
        female: Sequence[str] | None = None,
        male: Sequence[str] | None = None,
        ages: str | None = None,
        years: int | None = None,
        stays: float | None = None,
        code_first: float | None = None,
    ) -> Rules:
        """Makes rules of a table that experts publish.

        :param table: which: ``"mce"``, ``"dqd"``, ``"phecode"``, ``"cci"`` or ``"icd10"``
        :param file: the table as it is published
        :param cohort: the cohort whose codes the rules are to speak of
        :param level: ``"codes"`` or ``"categories"``
        """
        from . import _given
        from .report import Report

        given = _given.settings(
            table=table,
            file=os.fspath(file),
            vocabulary=vocabulary,
            level=level,
            over=over,
            codes=codes,
            ancestors=ancestors,
            prefix=prefix,
            procedure_prefix=procedure_prefix,
            female=female,
            male=male,
            ages=ages,
            years=years,
            stays=stays,
            code_first=code_first,
        )
        native = None if cohort is None else _given.cohort(cohort)
        text, finished = _native.rules_from(native, given, _call.settings(None, None))
        return cls._made(f"{table}.rules", text, Report("rules_from", finished))

    @classmethod
    def _made(cls, name: str, text: str, report: Report) -> Rules:
        made = cls([(name, text)])
        made.report = report
        return made

    def check(
        self,
        cohort: CohortLike | None = None,
        *,
        explain: str | None = None,
        max_visits: int | None = None,
        vocabulary: Path | None = None,
        titles: Path | Sequence[Path] | None = None,
        allow_unknown: bool = False,
        no_own_rules: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Report:
        """Analyses the rules: conflicts with a record in which they meet, cycles, superfluous rules, the proof.

        ``found`` is true where no record can obey all of them.

        :param cohort: the cohort whose codes they speak of, and whose records are held against them
        :param explain: a rule to explain, by name

        >>> import conseq as cq
        >>> report = cq.Rules.parse("rule treat: DIABETES => INSULIN  rule spare: ALLERGY => not INSULIN").check()
        >>> report.conflicts[0].demands.name, report.conflicts[0].forbids.name
        ('treat', 'spare')
        """
        from . import _given
        from .report import Report

        given = _given.settings(
            explain=explain,
            max_visits=None if max_visits is None else visits_of(max_visits),
            vocabulary=vocabulary,
            titles=_given.titles(titles),
            allow_unknown=allow_unknown,
            no_own_rules=no_own_rules,
        )
        native = None if cohort is None else _given.cohort(cohort)
        return Report("check", _native.check(self.sources, native, given, _call.settings(threads, progress)))

    def save(self, path: Path, *, force: bool = False) -> Rules:
        """Writes the rules to a file, with their comments; as JSON where its name ends in ``.json``."""
        if os.fspath(path).lower().endswith(".json"):
            text = self.to_json()
        elif any(name.lower().endswith(".json") for name, _ in self.sources):
            text = self.to_text()
        else:
            text = "\n".join(text.rstrip("\n") + "\n" for _, text in self.sources)
        _native.write_text(os.fspath(path), text, force)
        return self

    def __len__(self) -> int:
        return len(self._native.rules())

    def __iter__(self) -> Iterator[Rule]:
        for file, name, text, probability in self._native.rules():
            yield Rule(name, text, probability, file)

    def __getitem__(self, name: str | int) -> Rule:
        rules = list(self)
        if isinstance(name, int):
            return rules[name]
        for rule in rules:
            if rule.name == name:
                return rule
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(rule.name == name for rule in self)

    def __add__(self, other: Rules) -> Rules:
        """Both, one after the other."""
        if not isinstance(other, Rules):
            return NotImplemented
        return Rules(self.sources + other.sources)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and self.sources == other.sources

    def __hash__(self) -> int:
        return hash(tuple(self.sources))

    def __repr__(self) -> str:
        count = len(self)
        return f"<Rules: {count} rule{'' if count == 1 else 's'}>"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.to_text())}</pre>"

    def __reduce__(self) -> tuple[type[Rules], tuple[list[tuple[str, str]]]]:
        return (Rules, (self.sources,))

    @property
    def sources(self) -> list[tuple[str, str]]:
        """The texts as they were read, with their names."""
        return self._native.sources

    def to_text(self) -> str:
        """The rules in the rule language; comments are left out."""
        return self._native.to_text()

    def to_json(self) -> str:
        """The rules as JSON, which :meth:`parse` reads under a name that ends in ``.json``.

        >>> import conseq as cq
        >>> rules = cq.Rules.parse("rule a: X in past => not Y with probability 1%")
        >>> again = cq.Rules.parse(rules.to_json(), name="a.json")
        >>> again.to_text() == rules.to_text()
        True
        """
        return self._native.to_json()

    def to_tuples(
        self, codes: Cohort | Vocabulary | Iterable[str] | None = None, *, allow_unknown: bool = False
    ) -> str:
        """The rules as seven-field tuples, the published form; only rules that conclude one code have one."""
        return self._native.to_tuples(codes_of(codes), allow_unknown)

    def compile(
        self,
        codes: Cohort | Vocabulary | Iterable[str] | None = None,
        *,
        max_visits: int = 100,
        allow_unknown: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Plan:
        """Closes the rules under their consequences and proves that they can always be kept.

        :param codes: the codes there are: a cohort, a :class:`Vocabulary`, or names of codes of encounters;
            without it, those that the rules name
        :param max_visits: the most encounters of a record
        :param allow_unknown: take codes that only the rules name as never present, rather than as mistakes
        :raises CompileError: where no record can obey them together, with the rules that are to blame

        >>> import conseq as cq
        >>> plan = cq.Rules.parse("rule a: A => B  rule b: B => not C").compile()
        >>> plan.proof["statements"] > 0
        True
        """
        plan, warnings = self._native.compile(
            codes_of(codes), visits_of(max_visits), allow_unknown, _call.settings(threads, progress)
        )
        _call.warn(warnings)
        return Plan._of(plan, self, allow_unknown)


def _read(path: str | os.PathLike[str]) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise FileError(f"the rule file is not UTF-8\n  --> {os.fspath(path)}", "save it as UTF-8") from error
    except OSError as error:
        advice = "check the name; the path is relative to the current directory"
        raise FileError(f"cannot read the rule file: {error.strerror}\n  --> {os.fspath(path)}", advice) from error


def codes_of(codes: Cohort | Vocabulary | Iterable[str] | None) -> list[tuple[str, bool]] | None:
    """Codes with whether each is static, of whatever has them."""
    if codes is None:
        return None
    if isinstance(codes, Vocabulary):
        return codes._pairs()
    from .cohort import Cohort

    if isinstance(codes, Cohort):
        return codes.vocabulary._pairs()
    if isinstance(codes, str) or not isinstance(codes, Iterable):
        raise InputError(f"a {type(codes).__name__} gives no codes", "give a cohort, a Vocabulary, or a list of codes")
    return Vocabulary(encounter=codes)._pairs()


def visits_of(given: int) -> int:
    """A number of encounters that a record may have."""
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= 10_000:
        raise InputError(f"max_visits={given!r} is no number of encounters", "give max_visits= 1 to 10_000")
    return given
