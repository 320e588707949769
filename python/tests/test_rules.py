"""Rules: read, listed, written, compiled; and what is wrong with them is pointed at."""

import pickle

import pytest

import conseq as cq

CLINIC = """
static SEX//F, SEX//M
rule one-sex:    exactly one of SEX//F, SEX//M
rule no-men:     SEX//M in static => not ICD9CM//650
rule lifelong:   ICD9CM//250 in previous => ICD9CM//250
rule rarely:     ICD9CM//250 => ICD9CM//401 with probability 0.25
"""


def test_rules_are_listed_in_order():
    rules = cq.Rules.parse(CLINIC)
    assert [rule.name for rule in rules] == ["one-sex", "no-men", "lifelong", "rarely"]
    assert [rule.is_hard for rule in rules] == [True, True, True, False]
    assert rules["rarely"].probability == 0.25
    assert rules[1].text == "rule no-men: SEX//M in static => not ICD9CM//650"
    assert "lifelong" in rules and "short" not in rules
    with pytest.raises(KeyError):
        rules["short"]


def test_text_and_json_lose_nothing():
    rules = cq.Rules.parse(CLINIC)
    text = cq.Rules.parse(rules.to_text())
    json = cq.Rules.parse(rules.to_json(), name="clinic.json")
    assert text.to_text() == json.to_text() == rules.to_text()
    several = rules + cq.Rules.parse("rule more: A => B", name="more")
    assert cq.Rules.parse(several.to_json(), name="all.json").to_text() == several.to_text()
    assert '"rules"' in cq.Rules.parse("rule a: A in past => B").to_tuples()


def test_rules_and_plans_pickle():
    rules = cq.Rules.parse(CLINIC)
    assert pickle.loads(pickle.dumps(rules)) == rules
    vocabulary = cq.Vocabulary(static=["SEX//M", "SEX//F"], encounter=["ICD9CM//650", "ICD9CM//250", "ICD9CM//401"])
    plan = rules.compile(vocabulary, max_visits=7)
    again = pickle.loads(pickle.dumps(plan))
    assert (again.order, again.proof, again.max_visits) == (plan.order, plan.proof, 7)
    assert again.vocabulary == vocabulary and again == plan


def test_a_plan_is_over_the_codes_that_are_given():
    rules = cq.Rules.parse("rule no-x: A => not X*")
    assert rules.compile(["A", "X1", "X2"]).proof["clauses"] == 2
    assert len(rules.compile(["A", "X1"]).vocabulary) == 2
    assert rules.compile(["X1"], allow_unknown=True).proof["clauses"] == 0


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("rule a: X and", 1, 14), ("rule a: X\nrule a: in", 2, 9), ("rule a: SEX//M in tomorrow => X", 1, 19)],
)
def test_faults_of_the_text_are_pointed_at(text, line, column):
    with pytest.raises(cq.RulesError) as caught:
        cq.Rules.parse(text, name="mine")
    first = caught.value.diagnostics[0]
    assert (first["severity"], first["file"], first["line"], first["column"]) == ("error", "mine", line, column)
    assert isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.diagnostics == caught.value.diagnostics and str(again) == str(caught.value)


def test_unknown_codes_are_refused_with_the_code_that_was_meant():
    with pytest.raises(cq.RulesError) as caught:
        cq.Rules.parse("rule a: ICD9CM//25O").compile(["ICD9CM//250"])
    assert "did you mean `ICD9CM//250`" in caught.value.diagnostics[0]["help"]
    assert "allow_unknown=True" in caught.value.advice
    assert "--" not in caught.value.advice


def test_a_contradiction_names_the_rules_to_blame():
    with pytest.raises(cq.CompileError) as caught:
        cq.Rules.parse("rule always: A  rule never: not A  rule other: B => C").compile()
    assert [rule["name"] for rule in caught.value.rules] == ["always", "never"]
    assert caught.value.advice.startswith("drop or change one of them")


@pytest.mark.parametrize("codes", ["ICD9CM//250", 5, [5], [""], ["A", "A"], ["END"]])
def test_codes_that_are_none_are_refused(codes):
    with pytest.raises(cq.InputError):
        cq.Rules.parse("rule a: A => B").compile(codes, allow_unknown=True)


@pytest.mark.parametrize("max_visits", [0, -1, 10_001, 2.5, "9", True])
def test_numbers_of_visits_that_make_no_sense_are_refused(max_visits):
    with pytest.raises(cq.InputError, match="max_visits"):
        cq.Rules.parse("rule a: A => B").compile(max_visits=max_visits)


def test_files_that_cannot_be_read_are_told(tmp_path):
    with pytest.raises(cq.FileError, match="cannot read the rule file") as caught:
        cq.Rules.load(tmp_path / "none.rules")
    assert isinstance(caught.value, OSError)
    (tmp_path / "latin.rules").write_bytes(b"# \xe9")
    with pytest.raises(cq.ConseqError):
        cq.Rules.load(tmp_path / "latin.rules")
    with pytest.raises(cq.InputError):
        cq.Rules.load()
