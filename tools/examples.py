"""Runs the programs that tests look at: examples, and the program itself."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(*what):
    """Builds a program, and gives the folder that it is in.

    It is built as a part of the whole workspace: alone it would want its dependencies with other
    features, and they would all be built again.
    """
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--workspace", *what], cwd=ROOT, check=True)
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug"


def run_example(name, folder):
    """Has an example write into a folder."""
    program = build("--example", name) / "examples" / name
    subprocess.run([str(program), str(folder)], cwd=ROOT, check=True)


def run_program(folder, *arguments, exits=0):
    """Runs the program in a folder, and gives what it prints. It must end as expected: 1 says that
    something was found."""
    program = build("--bin", "consequence") / "consequence"
    ran = subprocess.run([str(program), *arguments], cwd=folder, capture_output=True, text=True)
    if ran.returncode != exits:
        raise RuntimeError(f"{arguments[0]} ended with {ran.returncode}, not {exits}: {ran.stderr}")
    return ran.stdout
