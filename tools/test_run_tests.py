"""Tests of what runs the tests."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

from run_tests import programs, run_all


def message(name, executable, test=True):
    return json.dumps({
        "reason": "compiler-artifact", "executable": executable, "profile": {"test": test},
        "target": {"name": name}, "manifest_path": "/w/crates/x/Cargo.toml",
    })


class Programs(unittest.TestCase):
    def test_only_test_programs_and_the_longest_first(self):
        lines = [
            "   Compiling x", message("small", "/t/small"), message("lib", None),
            message("tool", "/t/tool", test=False), message("training", "/t/training"),
        ]
        self.assertEqual(
            programs("\n".join(lines)),
            [("training", "/t/training", Path("/w/crates/x")), ("small", "/t/small", Path("/w/crates/x"))],
        )

    def test_one_that_fails_is_told_with_its_output(self):
        with tempfile.TemporaryDirectory() as folder:
            made = []
            for name, code in [("good", 0), ("bad", 3)]:
                path = Path(folder, name)
                path.write_text(f"#!{sys.executable}\nprint('SKIPPED: {name}, {name} output')\nraise SystemExit({code})\n")
                path.chmod(0o755)
                made.append((name, str(path), Path(folder)))
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                failed = run_all(made, 2)
        self.assertEqual([name.split()[1] for name in failed], ["bad"])
        self.assertIn("bad: FAILED", told.getvalue())
        self.assertIn("SKIPPED: good", told.getvalue())


if __name__ == "__main__":
    unittest.main()
