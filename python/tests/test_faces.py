"""Same inputs, same results: through Python objects, through paths, and on the command line, for every verb."""

import pytest

import conseq as cq

#: What tells how long something took, or where it was written.
TIMES = {"seconds", "sampling_seconds", "reading_seconds", "records_per_second", "timing"}


def plain(report):
    """A report without times."""

    def without(value):
        if isinstance(value, dict):
            return {key: without(one) for key, one in value.items() if key not in TIMES and "seconds" not in key}
        if isinstance(value, list):
            return [without(one) for one in value]
        return value

    return without(report.to_dict() if isinstance(report, cq.Report) else report)


def same(report, told, but=()):
    """Whether a report and the one of the command line are the same, but for some fields."""
    status, told = told
    mine, theirs = plain(report), plain(told)
    for field in but:
        mine.pop(field, None)
        theirs.pop(field, None)
    assert mine == theirs
    assert report.found == (status == 1)


#: How a cohort and rules are called differs where they are in memory.
NAMED = ["cohort", "files", "records_are_lines", "codes"]


def test_check(folder, command):
    rules = cq.Rules.load(folder / "clinic.rules")
    same(rules.check(), command("check", folder / "clinic.rules"))
    told = command("check", folder / "clinic.rules", "--cohort", folder / "cohort", "--explain", "stays")
    same(rules.check(folder / "cohort", explain="stays"), told)


def test_audit(folder, cohort, command):
    rules = cq.Rules.load(folder / "truth.rules")
    told = command("audit", folder / "broken.jsonl", "--rules", folder / "truth.rules", "--show-ids")
    assert told[0] == 1
    same(cq.audit(folder / "broken.jsonl", rules, show_ids=True), told)
    broken = cq.Cohort.load(folder / "broken.jsonl")
    same(cq.audit(broken, rules, show_ids=True), told, NAMED)
    same(rules.compile(broken).audit(broken, show_ids=True), told, NAMED)


def test_enforce(folder, command, tmp_path):
    rules = cq.Rules.load(folder / "truth.rules")
    told = command("enforce", folder / "broken.jsonl", "--rules", folder / "truth.rules", "--out", tmp_path / "a.jsonl")
    repaired = cq.enforce(folder / "broken.jsonl", rules)
    same(repaired.report, told, ["out"])
    assert repaired.to_records() == cq.Cohort.load(tmp_path / "a.jsonl").to_records()
    again = rules.compile(repaired).enforce(cq.Cohort.load(folder / "broken.jsonl"))
    assert again.to_records() == repaired.to_records()


def test_simulate(cohort, command, tmp_path):
    told = command("simulate", "inpatient", "--patients", 400, "--seed", 5, "--out", tmp_path / "cohort")
    same(cohort.report, told, ["out", "truth"])
    assert not cq.diff(cohort, tmp_path / "cohort").found
    assert cohort.truth().sources[0][1] == (tmp_path / "cohort/truth.rules").read_text()


def test_describe_head_codes(folder, cohort, command):
    loaded = cq.Cohort.load(folder / "cohort")
    same(loaded.describe(), command("describe", folder / "cohort"))
    same(loaded.head(3), command("head", folder / "cohort", "-n", 3))
    same(loaded.codes("DX//eye*"), command("codes", folder / "cohort", "DX//eye*"))
    same(cohort.describe(top=5), command("describe", folder / "cohort", "--top", 5), ["cohort"])


def test_diff(folder, command):
    told = command("diff", folder / "cohort", folder / "broken.jsonl")
    same(cq.diff(folder / "cohort", folder / "broken.jsonl"), told)


def test_export(folder, cohort, command, tmp_path):
    for form, name in [("csv", "a.csv"), ("jsonl", "a.jsonl"), ("omop", "omop")]:
        told = command("export", folder / "cohort", form, "--out", tmp_path / f"theirs-{name}")
        mine = getattr(cohort, f"to_{form}")(tmp_path / f"mine-{name}")
        same(mine, told, ["cohort", "out"])
        if form != "omop":
            assert (tmp_path / f"mine-{name}").read_bytes() == (tmp_path / f"theirs-{name}").read_bytes()


def test_import(folder, cohort, command, tmp_path):
    cohort.to_omop(tmp_path / "omop")
    told = command("import", "omop", tmp_path / "omop", "--out", tmp_path / "cohort")
    mine = cq.Cohort.from_omop(tmp_path / "omop")
    same(mine.report, told, ["out"])
    assert not cq.diff(mine, tmp_path / "cohort").found
    cohort.to_csv(tmp_path / "a.csv")
    told = command("import", "csv", tmp_path / "a.csv", "--truncate", 3, "--out", tmp_path / "cut")
    same(cq.Cohort.from_source("csv", tmp_path / "a.csv", truncate=3).report, told, ["out"])


def test_mine(folder, cohort, command, tmp_path):
    told = command("mine", folder / "cohort", "--out", tmp_path / "mined.rules")
    rules = cq.Rules.mine(folder / "cohort")
    same(rules.report, told, ["out"])
    assert rules.to_text() == cq.Rules.load(tmp_path / "mined.rules").to_text()
    assert cq.Rules.mine(cohort).to_text() == rules.to_text()


def test_common_sense(folder, command, tmp_path):
    told = command("rules", "common-sense", folder / "cohort", "--out", tmp_path / "a.rules")
    rules = cq.Rules.common_sense(folder / "cohort")
    same(rules.report, told, ["out"])
    assert rules.to_text() == cq.Rules.load(tmp_path / "a.rules").to_text()


def test_rules_from(folder, command, tmp_path):
    table = tmp_path / "edits.txt"
    table.write_text(
        "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n"
        "32\t9\tMale_Only\tD\t185\tMalign neopl prostate\n"
    )
    told = command("rules", "from", "mce", table, "--out", tmp_path / "a.rules")
    rules = cq.Rules.from_pack("mce", table)
    same(rules.report, told, ["out"])
    assert rules.to_text() == cq.Rules.load(tmp_path / "a.rules").to_text()


@pytest.mark.parametrize("settings", [{"generator": "markov"}, {"size": "tiny", "epochs": 1}])
def test_train_generate_and_predict(folder, cohort, command, tmp_path, settings):
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    told = command(
        "train", folder / "cohort", "--rules", folder / "truth.rules", "--out", tmp_path / "theirs", "--seed", 9, *words
    )
    trained = cq.Model.train(folder / "cohort", cq.Rules.load(folder / "truth.rules"), seed=9, **settings)
    same(trained.report, told, ["out"])
    theirs = cq.Model.load(tmp_path / "theirs")
    assert trained.card == theirs.card

    words = ["--records", 60, "--given", "SEX//F", "--seed", 3]
    told = command("generate", tmp_path / "theirs", *words, "--out", tmp_path / "new")
    new = trained.sample(60, given="SEX//F", seed=3)
    same(new.report, told, ["out", "model", "files", "shards", "kept_shards"])
    assert not cq.diff(new, tmp_path / "new").found
    parts = [record for part in trained.stream(60, batch=25, given="SEX//F", seed=3) for record in part.to_records()]
    assert parts == new.to_records()
    report = trained.generate(60, tmp_path / "mine", given="SEX//F", seed=3)
    assert report.records == 60 and not cq.diff(tmp_path / "mine", tmp_path / "new").found

    told = command("evaluate", "--perplexity", tmp_path / "theirs", "--real", folder / "cohort")
    same(theirs.perplexity(folder / "cohort"), told)
    held_out = [one for one, split in zip(theirs.log_prob(cohort), cohort.splits, strict=True) if split == "held_out"]
    assert -sum(held_out) == pytest.approx(sum(told[1]["likelihood"]["nats"].values()))


def test_evaluate_and_release(folder, cohort, command, model):
    new = model.sample(300, seed=4)
    new.save(folder / "synthetic", force=True)
    given = ["--real", folder / "cohort", "--rules", folder / "truth.rules"]
    rules = cq.Rules.load(folder / "truth.rules")
    told = command("evaluate", "--synthetic", folder / "synthetic", *given)
    same(cq.evaluate(folder / "cohort", folder / "synthetic", rules), told)
    same(cq.evaluate(cohort, new, rules), told, ["real", "synthetic", "files"])
    told = command("release", folder / "synthetic", *given)
    same(cq.release_check(folder / "synthetic", folder / "cohort", rules), told)


def test_groups(folder, cohort, command, model, tmp_path):
    codes = ", ".join(f'"{code}"' for code in cohort.vocabulary.encounter[:40])
    text = f"let common = {codes}\nlet again = common in past and common\n"
    (tmp_path / "groups.rules").write_text(text)
    groups = cq.Rules.parse(text)
    model.save(tmp_path / "model")
    words = ["--records", 40, "--given", "SEX//F, again", "--groups", tmp_path / "groups.rules", "--seed", 3]
    told = command("generate", tmp_path / "model", *words, "--out", tmp_path / "new")
    new = model.sample(40, given="SEX//F, again", groups=groups, seed=3)
    same(new.report, told, ["out", "model", "files", "shards", "kept_shards"])
    assert new.report.of_groups and not cq.diff(new, tmp_path / "new").found
    words = ["--real", folder / "cohort", "--synthetic", tmp_path / "new", "--groups", tmp_path / "groups.rules"]
    told = command("evaluate", *words)
    same(cq.evaluate(folder / "cohort", tmp_path / "new", groups=groups), told)
    assert [one["name"] for one in told[1]["strata"]] == ["again"]
    told = command("evaluate", *words, "--strata", "common")
    same(cq.evaluate(folder / "cohort", tmp_path / "new", groups=tmp_path / "groups.rules", strata=["common"]), told)
    with pytest.raises(cq.errors.InputError, match="no group has that name") as refused:
        model.sample(5, given="agian", groups=groups)
    assert "again" in str(refused.value)


def test_synthesize(folder, command, tmp_path):
    words = ["--records", 50, "--generator", "markov", "--seed", 2]
    told = command("synthesize", folder / "cohort", "--out", tmp_path / "theirs", *words)
    mine = cq.synthesize(folder / "cohort", tmp_path / "mine", records=50, generator="markov", seed=2)
    assert mine.found == (told[0] == 1)
    assert not cq.diff(tmp_path / "mine/synthetic", tmp_path / "theirs/synthetic").found
    assert set(mine) == set(told[1])


def test_compare(folder, command, tmp_path):
    words = ["--quick", "--methods", "consequence", "--epochs", 1, "--runs", 1, "--records", 20, "--deep-runs", 1]
    told = command("compare", folder / "cohort", "--rules", folder / "clinic.rules", "--out", tmp_path / "theirs", *words)
    mine = cq.compare(
        folder / "cohort",
        tmp_path / "mine",
        folder / "clinic.rules",
        quick=True,
        methods=["consequence"],
        epochs=1,
        runs=1,
        records=20,
        deep_runs=1,
    )
    assert set(mine) == set(told[1])
    assert plain(mine)["digests"] == plain(told[1])["digests"]
