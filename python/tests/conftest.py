"""What the tests share: a small cohort with its rules, saved and in memory, a model of it, and the command line."""

import json
import subprocess
import sys

import pytest

import conseq as cq
from spark_cluster import spark  # noqa: F401


@pytest.fixture(scope="session")
def cohort():
    return cq.Cohort.simulate("inpatient", patients=400, seed=5)


@pytest.fixture(scope="session")
def folder(tmp_path_factory, cohort):
    """A folder with the cohort, its rules, and a model, as files."""
    folder = tmp_path_factory.mktemp("files")
    cohort.save(folder / "cohort")
    cohort.truth().save(folder / "truth.rules")
    cq.Model.train(folder / "cohort", folder / "truth.rules", out=folder / "model", generator="markov")
    broken = [
        {"id": record["id"], "static": record["static"] * (number % 3 > 0), "visits": record["visits"][::-1]}
        for number, record in enumerate(cohort.to_records())
    ]
    cq.Cohort.from_records(broken, vocabulary=cohort).save(folder / "broken.jsonl")
    (folder / "clinic.rules").write_text(
        "static SEX//F, SEX//M\n# Why not.\nrule one-sex: exactly one of SEX//F, SEX//M\n"
        "rule stays: DX//endocrine//type-2-diabetes in previous => DX//endocrine//type-2-diabetes\n"
        "rule rarely: DX//eye//cataract => DX//eye//glaucoma with probability 0.25\n"
    )
    return folder


@pytest.fixture(scope="session")
def model(folder):
    return cq.Model.load(folder / "model")


@pytest.fixture(scope="session")
def command():
    """Runs the command line of the package with `--json`; gives the exit status and the report."""

    def run(*words):
        line = [sys.executable, "-m", "conseq", *map(str, words), "--json", "--quiet"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=600)
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, json.loads(done.stdout)

    return run
