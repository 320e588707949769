"""Every example runs, as a script, and its notebook has the same cells."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))
NEEDS = {
    "audit_a_frame": ["pandas", "pyarrow"],
    "constrain_a_gru": ["torch"],
    "from_duckdb": ["duckdb", "pyarrow"],
    "from_polars": ["polars"],
    "on_spark": ["pyspark", "pyarrow"],
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path) -> None:
    missing = [name for name in NEEDS.get(example.stem, []) if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"SKIPPED: {example.stem} needs {', '.join(missing)}")
    done = subprocess.run([sys.executable, example.name], cwd=example.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    if "SKIPPED" in done.stderr:
        pytest.skip(done.stderr.strip())


def test_notebooks_are_of_their_scripts() -> None:
    assert len(EXAMPLES) == 8
    done = subprocess.run([sys.executable, "tools/notebooks.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
