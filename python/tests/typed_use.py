"""What a type checker makes of the package. Not run: `mypy` reads it."""

from collections.abc import Iterator
from typing import Any

import conseq as cq
from typing_extensions import assert_type


def verbs(frame: Any) -> None:
    cohort = assert_type(cq.Cohort.from_table(frame, subject="person", time="day"), cq.Cohort)
    rules = assert_type(cq.Rules.load("clinic.rules"), cq.Rules)
    assert_type([rule.probability for rule in rules], list[float | None])
    plan = assert_type(rules.compile(cohort, max_visits=50), cq.Plan)
    report = assert_type(plan.audit(frame, top=5, threads=2), cq.Report)
    assert_type(report.found, bool)
    assert_type(report.to_dict(), dict[str, Any])
    assert_type(plan.enforce(cohort), cq.Cohort)
    model = assert_type(cq.Model.train(cohort, rules=[rules, "more.rules"], size="tiny", seed=3), cq.Model)
    assert_type(model.sample(10, given="SEX//F", prefix=cohort, mode="exact"), cq.Cohort)
    assert_type(model.stream(10, batch=5), Iterator[cq.Cohort])
    assert_type(model.log_prob("cohort"), list[float])
    assert_type(cq.evaluate(cohort, "synthetic", rules), cq.Report)
    assert_type(cq.Synthesizer(rules=plan).fit(frame).score(cohort), float)


def refused(cohort: cq.Cohort) -> None:
    cq.Cohort.simulate("inpatient", patients="many")  # type: ignore[arg-type]
    cq.Rules.parse(7)  # type: ignore[arg-type]
    cq.Model.train(cohort, sise="tiny")  # type: ignore[call-arg]
    cohort.no_such()  # type: ignore[attr-defined]
