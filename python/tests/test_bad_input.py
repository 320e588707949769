"""Bad input of every kind: a typed exception that says what to do, never an abort."""

import datetime
import json
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import conseq as cq

DAY = datetime.datetime(2024, 1, 31)
AWARE = datetime.datetime(2024, 1, 31, tzinfo=datetime.timezone.utc)
GOOD = {"subject_id": [1, 1], "time": [DAY, DAY], "code": ["A", "B"]}


def tables():
    """Tables that are none, by what is wrong with them."""
    yield "no stream", [1, 2], "is no table"
    yield "nothing", None, "is no table"
    yield "a text", "frame", "is no table"
    yield "no column of subjects", pa.table({"time": [DAY], "code": ["A"]}), "subject_id"
    yield "no column of codes", pa.table({"subject_id": [1], "time": [DAY]}), "code"
    yield "subjects as floats", pa.table({**GOOD, "subject_id": [1.5, 2.5]}), "subject_id"
    yield "codes as numbers", pa.table({**GOOD, "code": [1, 2]}), "code"
    yield "codes as lists", pa.table({**GOOD, "code": [["A"], ["B"]]}), "code"
    yield "a code is missing", pa.table({**GOOD, "code": ["A", None]}), "code"
    yield "an empty code", pa.table({**GOOD, "code": ["A", ""]}), "code"
    yield "a subject is missing", pa.table({**GOOD, "subject_id": [1, None]}), "subject"
    yield "times as texts", pa.table({**GOOD, "time": ["2024-01-31", "soon"]}), "time"
    yield "times as structures", pa.table({**GOOD, "time": [{"y": 1}, {"y": 2}]}), "time"
    yield "values as texts", pa.table({**GOOD, "numeric_value": ["high", "low"]}), "numeric_value"
    yield "an infinite value", pa.table({**GOOD, "numeric_value": [float("inf"), 1.0]}), ""
    yield "an unknown zone", pa.table({**GOOD, "time": pa.array([DAY, DAY], pa.timestamp("us", "Middle/Earth"))}), "Middle"
    yield "no rows", pa.table(GOOD).slice(0, 0), ""
    yield "a column twice", pa.table([pa.array([1]), pa.array([1])], names=["subject_id", "subject_id"]), ""
    yield "naive and aware times in a pandas column", pd.DataFrame({**GOOD, "time": pd.Series([DAY, AWARE], dtype=object)}), ""
    yield "mixed objects in a pandas column", pd.DataFrame({**GOOD, "code": pd.Series(["A", 7], dtype=object)}), ""
    yield "ragged objects", pd.DataFrame({**GOOD, "code": pd.Series([["A"], "B"], dtype=object)}), ""


@pytest.mark.parametrize(("table", "word"), [pytest.param(table, word, id=name) for name, table, word in tables()])
def test_tables_that_are_none(table, word):
    with pytest.raises(cq.ConseqError) as caught:
        cq.Cohort.from_table(table)
    assert isinstance(caught.value, ValueError)
    assert word in str(caught.value)
    assert "--" not in (caught.value.advice or "")


def test_not_a_number_is_no_value():
    table = pa.table({**GOOD, "numeric_value": [float("nan"), 2.0]})
    [record] = cq.Cohort.from_table(table).to_records()
    assert record["values"] == [{"B": 2.0}]


@pytest.mark.parametrize(
    "records",
    [
        "text",
        {"id": 1},
        7,
        [7],
        [{"id": 1}],
        [{"id": 1, "static": [], "visits": "A"}],
        [{"id": 1, "static": [], "visits": [["A"], "B"]}],
        [{"id": 1, "static": [], "visits": [["A", ["B"]]]}],
        [{"id": 1, "static": [], "visits": []}],
        [{"id": 1, "static": ["A"], "visits": [["A"]]}],
        [{"id": 1, "static": [], "visits": [["A"]], "values": [{"A": float("nan")}]}],
        [{"id": 1, "static": [], "visits": [["A"]], "times": ["2024-01-31T00:00", "2024-01-31T00:00"]}],
        [{"id": 1, "static": [], "visits": [["A"]]}, {"id": 1, "static": [], "visits": [["A"]]}],
        [{"id": 1, "static": [], "visits": [[object()]]}],
    ],
)
def test_records_that_are_none(records):
    with pytest.raises((cq.DataError, cq.InputError)):
        cq.Cohort.from_records(records)


def test_messages_name_no_value_of_a_patient():
    with pytest.raises(cq.ConseqError) as caught:
        cq.Cohort.from_records([{"id": "Jane Doe", "static": [], "visits": [["A"]], "times": ["1987-06-05 what"]}])
    assert "Jane" not in str(caught.value) and "1987" not in str(caught.value)


def test_unknown_codes_are_refused(cohort):
    rules = cq.Rules.parse("rule a: NO//SUCH => DX//eye//cataract")
    for verb in [
        lambda: rules.compile(cohort),
        lambda: rules.check(cohort),
        lambda: cq.audit(cohort, rules),
        lambda: cq.enforce(cohort, rules),
        lambda: cq.Model.train(cohort, rules, generator="markov"),
        lambda: cq.evaluate(cohort, cohort, rules),
    ]:
        with pytest.raises(cq.RulesError) as caught:
            verb()
        assert caught.value.diagnostics[0]["line"] == 1
        assert "allow_unknown=True" in caught.value.advice
    assert not cq.audit(cohort, rules, allow_unknown=True).found


def test_a_model_of_another_vocabulary(model):
    other = cq.Cohort.from_records([{"id": 1, "static": [], "visits": [["NO//SUCH"]]}])
    for verb in [model.log_prob, model.perplexity, lambda cohort: model.sample(1, prefix=cohort)]:
        with pytest.raises(cq.DataError, match="NO//SUCH"):
            verb(other)


def test_models_of_another_format(model, tmp_path):
    model.save(tmp_path / "model")
    card = tmp_path / "model/model.json"
    text = card.read_text()
    told = json.loads(text)
    card.write_text(text.replace(f'"format": {told["format"]}', '"format": 999', 1).replace(f'"format":{told["format"]}', '"format":999', 1))
    with pytest.raises(cq.ModelError):
        cq.Model.load(tmp_path / "model")
    card.write_text("{")
    with pytest.raises(cq.ModelError):
        cq.Model.load(tmp_path / "model")
    with pytest.raises(cq.ModelError):
        cq.Model.load(tmp_path / "none")


@pytest.mark.parametrize(
    ("verb", "settings"),
    [
        ("sample", {"records": 0}),
        ("sample", {"records": -1}),
        ("sample", {"records": 1.5}),
        ("sample", {"records": "ten"}),
        ("sample", {"records": 5, "mode": "gently"}),
        ("sample", {"records": 5, "temperature": 0}),
        ("sample", {"records": 5, "temperature": float("nan")}),
        ("sample", {"records": 5, "seed": -1}),
        ("sample", {"records": 5, "seed": 2**64}),
        ("sample", {"records": 5, "given": "NO//SUCH"}),
        ("sample", {"records": 5, "given": "SEX//F, not SEX//F"}),
        ("sample", {"records": 5, "proposals": 0, "mode": "exact"}),
        ("generate", {"records": 5, "out": "no/such/folder/at/all.jsonl"}),
    ],
)
def test_settings_of_samples_that_make_no_sense(model, verb, settings):
    with pytest.raises(cq.ConseqError):
        getattr(model, verb)(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"generator": "magic"},
        {"generator": "markov", "epochs": 3},
        {"size": "huge"},
        {"network": "halo", "head_width": 3},
        {"epochs": 0},
        {"rate": -1.0},
        {"dropout": 0.5},
        {"max_visits": 0},
        {"train_mode": "gently"},
    ],
)
def test_settings_of_training_that_make_no_sense(cohort, settings):
    with pytest.raises(cq.InputError) as caught:
        cq.Model.train(cohort, **settings)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize("given", [5, None, object()])
def test_what_is_no_cohort_rules_or_model(cohort, given):
    with pytest.raises(cq.InputError):
        cq.audit(given, cq.Rules.parse("rule a: A => B"))
    if given is not None:
        with pytest.raises(cq.InputError):
            cq.audit(cohort, given)
    with pytest.raises(cq.ConseqError):
        cq.Cohort.from_table(given)


def test_paths_where_nothing_is(tmp_path):
    with pytest.raises(cq.DataError):
        cq.Cohort.load(tmp_path / "none")
    with pytest.raises(cq.DataError):
        cq.Cohort.from_mimic3(tmp_path / "none")
    with pytest.raises(cq.InputError, match="none of mimic3"):
        cq.Cohort.from_source("mimic5", tmp_path)
    with pytest.raises(cq.ConseqError):
        cq.audit(tmp_path / "none", cq.Rules.parse("rule a: A => B"))


def test_a_producer_that_fails_is_told():
    def batches():
        yield pa.record_batch(GOOD)
        raise RuntimeError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.table(GOOD).schema, batches())
    with pytest.raises(cq.ConseqError, match="cannot be read"):
        cq.Cohort.from_table(reader)


def test_packages_that_are_not_there_are_named(tmp_path):
    program = """
import sys
for name in ["pandas", "polars", "pyarrow", "tqdm"]:
    sys.modules[name] = None
import conseq as cq
cohort = cq.Cohort.simulate("inpatient", patients=20)
for verb in [cohort.to_pandas, cohort.to_polars, cohort.to_arrow, cohort.describe().to_frame]:
    try:
        verb()
    except cq.MissingPackageError as error:
        assert isinstance(error, ImportError) and "pip install" in error.advice
    else:
        raise SystemExit("no error")
cohort.describe(progress=True)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
