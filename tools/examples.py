"""Runs the example programs that tests look at."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run_example(name, folder):
    """Has an example write into a folder.

    It is built as a part of the whole workspace: alone it would want its dependencies with other
    features, and they would all be built again.
    """
    build = ["cargo", "build", "--quiet", "--locked", "--workspace", "--example", name]
    subprocess.run(build, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = ROOT / target / "debug" / "examples" / name
    subprocess.run([str(program), str(folder)], cwd=ROOT, check=True)
