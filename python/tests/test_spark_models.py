"""Models that workers read for themselves: the one that was meant, or none."""

import pytest

import conseq as cq

try:
    import pyspark  # noqa: F401
except ImportError:
    pytest.skip("PySpark is not installed: models on a cluster were not tested", allow_module_level=True)

from conseq import _native
from conseq import spark as cs
from conseq.spark import verbs
from test_spark import broken, held, records_by_id, records_of, same  # noqa: F401

ANOTHER = "the folder holds another model than it did"


def trained(seed, patients=200):
    return cq.Model.train(cq.Cohort.simulate("inpatient", patients=patients, seed=seed), generator="markov")


def test_a_model_that_is_trained_anew_into_its_folder(spark, tmp_path):
    """Workers live on from task to task, and read the model that is there now."""
    folder = tmp_path / "model"
    for seed in (5, 6):
        model = trained(seed).save(folder, force=True)
        made = cs.generate(spark, folder, 40, seed=7, partitions=2)
        assert records_by_id(held(made)) == records_by_id(model.sample(40, seed=7))
        same(made.report(), model.sample(40, seed=7).report)


def test_a_model_that_changes_while_work_goes_on(spark, tmp_path):
    folder = tmp_path / "model"
    trained(5).save(folder)
    # No worker has read it when it is replaced.
    made = cs.generate(spark, folder, 20, seed=1234, partitions=2)
    trained(6).save(folder, force=True)
    with pytest.raises(cq.errors.ModelError) as failed:
        made.report()
    assert ANOTHER in str(failed.value) and str(folder) in str(failed.value)
    assert "leave the folder as it is until all is done" in failed.value.advice
    with pytest.raises(Exception, match=ANOTHER):
        made.events.collect()


def test_a_repair_by_a_model_that_changes(spark, cohort, broken, tmp_path):  # noqa: F811
    folder = tmp_path / "model"
    cq.Model.train(cohort, generator="markov").save(folder)
    codes = [code for code in cohort.vocabulary.encounter if code.startswith("DX//")][:3]
    rules = cq.Rules.parse(f"rule some: {codes[0]} => any of {codes[1]}, {codes[2]}\n")
    written = cs.enforce(records_of(spark, broken), rules, model=folder, seed=3)
    alone = cq.enforce(broken, rules, model=folder, seed=3)
    assert records_by_id(held(written)) == records_by_id(alone)
    trained(6).save(folder, force=True)
    with pytest.raises(cq.errors.ModelError) as failed:
        written.report()
    assert ANOTHER in str(failed.value) and str(folder) in str(failed.value)
    with pytest.raises(Exception, match=ANOTHER):
        written.events.collect()


def test_what_is_to_be_generated_is_told_apart(tmp_path):
    """By the model itself, its name, the rules and the settings."""
    folder = tmp_path / "model"
    trained(5).save(folder)
    before = _native.model_digest(str(folder))
    assert before == _native.model_digest(str(folder))
    trained(6).save(folder, force=True)
    after = _native.model_digest(str(folder))
    given = ["name", [("a.rules", "rule a: A => B")], {"seed": 1}]
    others = [
        verbs._digest(str(folder), before, given),
        verbs._digest(str(folder), after, given),
        verbs._digest(str(folder), after, ["other", *given[1:]]),
        verbs._digest(str(folder), after, [*given[:2], {"seed": 2}]),
        verbs._digest({"a": b"bc"}, None, given),
        verbs._digest({"ab": b"c"}, None, given),
    ]
    assert len(set(others)) == len(others)
    with pytest.raises(cq.errors.ModelError):
        _native.model_digest(str(tmp_path / "none"))
