"""Same inputs, same results in Rust: every report of Python is the one that the library gives a Rust program."""

import json
import os
import pathlib
import subprocess

import pytest

import conseq as cq
from test_faces import plain

PROGRAM = pathlib.Path(
    os.environ.get("CONSEQ_EVERY_VERB", pathlib.Path(__file__).parents[2] / "target/debug/examples/every_verb")
)


@pytest.fixture(scope="module")
def told(folder, cohort, model):
    """The reports of a Rust program, by verb."""
    if not PROGRAM.exists():
        pytest.skip(f"SKIPPED: {PROGRAM} is not built, so no report was held against Rust's")
    (folder / "edits.txt").write_text(
        "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n"
        "32\t9\tMale_Only\tD\t185\tMalign neopl prostate\n"
    )
    cohort.to_omop(folder / "omop")
    model.sample(300, seed=4).save(folder / "synthetic", force=True)
    subprocess.run([PROGRAM, folder, folder / "rust"], check=True, timeout=600)
    return {path.stem: json.loads(path.read_text()) for path in (folder / "rust").glob("*.json")}


def test_every_verb(told, folder):
    truth = cq.Rules.load(folder / "truth.rules")
    cohort, synthetic = folder / "cohort", folder / "synthetic"
    held = cq.Cohort.load(cohort)
    mine = {
        "check": cq.Rules.load(folder / "clinic.rules").check(cohort),
        "audit": cq.audit(folder / "broken.jsonl", truth),
        "enforce": cq.enforce(folder / "broken.jsonl", truth).report,
        "describe": held.describe(),
        "head": held.head(),
        "codes": held.codes(),
        "diff": cq.diff(cohort, synthetic),
        "export": held.to_csv(folder / "cohort.csv"),
        "import": cq.Cohort.from_omop(folder / "omop").report,
        "mine": cq.Rules.mine(cohort).report,
        "common_sense": cq.Rules.common_sense(cohort).report,
        "rules_from": cq.Rules.from_pack("mce", folder / "edits.txt").report,
        "simulate": cq.Cohort.simulate("inpatient", patients=100).report,
        "train": cq.Model.train(cohort, truth, generator="markov").report,
        "generate": cq.Model.load(folder / "model").sample(40).report,
        "perplexity": cq.Model.load(folder / "model").perplexity(cohort),
        "evaluate": cq.evaluate(cohort, synthetic, truth),
        "release": cq.release_check(synthetic, cohort, truth),
        "synthesize": cq.synthesize(cohort, folder / "synthesis", records=30, generator="markov"),
    }
    assert set(mine) == set(told)
    for verb, report in mine.items():
        here, there = plain(report), plain(told[verb])
        for where in ("out", "html"):
            here.pop(where, None), there.pop(where, None)
        if verb == "synthesize":
            # It names the files that it wrote.
            assert set(here) == set(there)
            continue
        assert here == there, verb
