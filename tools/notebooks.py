"""Makes notebooks of the example scripts: `python3 tools/notebooks.py`, or `--check` that they are up to date.

A script is cells: `# %%` begins code, `# %% [markdown]` text, whose lines are comments.
"""

import json
import re
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "python" / "examples"


def cells(script: str) -> list[tuple[str, str]]:
    """The cells of a script: `code` or `markdown`, and the text."""
    parts = re.split(r"^# %%(.*)\n", script, flags=re.MULTILINE)
    found = []
    for head, body in zip(parts[1::2], parts[2::2]):
        kind = "markdown" if "[markdown]" in head else "code"
        if kind == "markdown":
            body = "\n".join(re.sub(r"^# ?", "", line) for line in body.strip().splitlines())
        found.append((kind, body.strip("\n")))
    return found


def notebook(script: str) -> str:
    """The notebook of a script, without outputs."""
    made = []
    for number, (kind, text) in enumerate(cells(script)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    stale = []
    for script in sorted(EXAMPLES.glob("*.py")):
        made, target = notebook(script.read_text()), script.with_suffix(".ipynb")
        if check and (not target.is_file() or target.read_text() != made):
            stale.append(target.name)
        elif not check:
            target.write_text(made)
    if stale:
        print(f"not of their scripts: {', '.join(stale)}; run `python3 tools/notebooks.py`", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
