"""The help of the command line as the program itself tells it, put into a page when the page is built.

    ```{program-help}
    ```

lists every command. The program is the one that the environment variable CONSEQUENCE names, else
`target/debug/consequence`.
"""

import os
import re
import subprocess
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
# Tells nothing of the work that a command does.
OF_HELP = {"help"}


def told(*words: str) -> str:
    program = Path(os.environ.get("CONSEQUENCE", ROOT / "target/debug/consequence")).resolve()
    if not program.is_file():
        raise ExtensionError(
            f"no program at {program}: build it with `cargo build -p consequence-cli`, or name it with CONSEQUENCE"
        )
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True)
    if done.returncode != 0:
        raise ExtensionError(f"`consequence {' '.join(words)} --help` fails: {done.stderr}")
    return done.stdout


def commands(help_text: str) -> list[str]:
    """The commands that a help text lists."""
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", help_text, re.MULTILINE)
    lines = listed.group(1).splitlines() if listed else []
    names = (re.match(r"  ([a-z0-9-]+)", line) for line in lines)
    return [name.group(1) for name in names if name and name.group(1) not in OF_HELP]


class ProgramHelp(SphinxDirective):
    """A section for each command, and for each command inside of it."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        whole = told()
        block = nodes.literal_block(whole, whole, language="none")
        return [block, *(self.section([name]) for name in commands(whole))]

    def section(self, words: list[str]) -> nodes.section:
        text, name = told(*words), " ".join(words)
        section = nodes.section(ids=[nodes.make_id(name)], names=[nodes.fully_normalize_name(name)])
        section += nodes.title(name, name)
        section += nodes.literal_block(text, text, language="none")
        section += [self.section([*words, inner]) for inner in commands(text)]
        return section


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("program-help", ProgramHelp)
    return {"parallel_read_safe": True}
