"""Models: trained, sampled, scored, streamed, saved, pickled and stopped."""

import itertools
import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap

import pytest

import conseq as cq


def test_samples_obey_and_depend_on_the_seed_alone(model, cohort):
    new = model.sample(200, seed=3)
    plan = cohort.truth().compile(new, allow_unknown=True)
    assert not plan.audit(new, referee=True).found
    assert model.sample(200, seed=3, threads=1).to_records() == new.to_records()
    assert model.sample(50, seed=3).to_records() == new.to_records()[:50]
    assert model.sample(200, seed=4).to_records() != new.to_records()


@pytest.mark.parametrize("mode", ["guided", "override", "exact", "reject", "off"])
def test_every_mode_writes_records(model, mode):
    assert len(model.sample(20, mode=mode, seed=1)) == 20


def test_given_codes_and_prefixes(model, cohort):
    assert all("SEX//F" in record["static"] for record in model.sample(30, given="SEX//F").to_records())
    keep = ("id", "static")
    short = cq.Cohort.from_records(
        [{**{key: record[key] for key in keep}, "visits": record["visits"][:1]} for record in cohort.to_records()[:5]],
        vocabulary=cohort,
    )
    begun = model.sample(5, prefix=short).to_records()
    assert [set(record["visits"][0]) for record in begun] == [set(record["visits"][0]) for record in short.to_records()]


def test_streams_can_be_left(model):
    first = list(itertools.islice(model.stream(1_000_000, batch=10, seed=2), 2))
    assert [len(part) for part in first] == [10, 10]
    assert first[0].to_records() == model.sample(10, seed=2).to_records()
    with pytest.raises(cq.ConseqError):
        list(model.stream(10, batch=0))
    with pytest.raises(cq.ConseqError):
        list(model.stream(10, mode="gently"))


def test_other_rules_than_its_own(model):
    rules = cq.Rules.parse("rule never: not DX//eye//cataract")
    assert not any("DX//eye//cataract" in visit for record in model.sample(50, rules=rules).to_records() for visit in record["visits"])


def test_models_pickle_and_save(model, tmp_path):
    again = pickle.loads(pickle.dumps(model))
    assert again.card == model.card and again.name == model.name
    assert again.sample(5).to_records() == model.sample(5).to_records()
    model.save(tmp_path / "model")
    with pytest.raises(cq.OutputExistsError):
        model.save(tmp_path / "model")
    model.save(tmp_path / "model", force=True)
    assert cq.Model.load(tmp_path / "model").card == model.card


def test_log_probabilities(model, cohort):
    logarithms = model.log_prob(cohort)
    assert len(logarithms) == len(cohort) and all(one < 0 for one in logarithms)
    broken = cq.Cohort.from_records([{"id": 1, "static": ["SEX//F", "SEX//M"], "visits": [[]]}])
    assert model.log_prob(broken) == [-math.inf]


def test_the_estimator(cohort):
    synthesizer = cq.Synthesizer(rules=cohort.truth(), generator="markov")
    with pytest.raises(cq.ModelError):
        synthesizer.sample(1)
    assert synthesizer.fit(cohort) is synthesizer
    assert len(synthesizer.sample(7)) == 7
    assert synthesizer.score(cohort) == pytest.approx(sum(synthesizer.model_.log_prob(cohort)) / len(cohort))
    clone = cq.Synthesizer(**synthesizer.get_params())
    assert clone.get_params() == synthesizer.get_params()
    assert clone.set_params(generator="network", size="tiny").settings["size"] == "tiny"
    with pytest.raises(cq.InputError, match="there is no setting"):
        cq.Synthesizer(depth=3)


@pytest.mark.parametrize("kept", [True, False])
def test_ctrl_c_stops_training_and_leaves_a_checkpoint(tmp_path, folder, kept):
    out = str(tmp_path / "model") if kept else None
    program = textwrap.dedent(
        f"""
        import conseq as cq
        print("ready", flush=True)
        try:
            cq.Model.train({str(folder / "cohort")!r}, out={out!r}, size="tiny", epochs=100000, patience=100000,
                           checkpoint_every=1)
        except KeyboardInterrupt as error:
            assert isinstance(error, cq.Interrupted) == {kept}, type(error)
            assert not {kept} or "resume=True" in error.advice, error.advice
            print("stopped", flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        try:
            child.wait(timeout=6)
        except subprocess.TimeoutExpired:
            pass
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=120)[0] == "stopped\n"
    finally:
        child.kill()
    assert os.path.isdir(tmp_path / "model.unfinished") == kept
