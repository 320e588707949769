"""Tests of what runs the tests."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

from run_tests import OF_MANY_FILES, programs, run_all


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
            programs("\n".join(lines), None),
            [("training", ["/t/training"], Path("/w/crates/x")), ("small", ["/t/small"], Path("/w/crates/x"))],
        )

    def test_a_program_of_many_files_runs_once_a_file_and_leaves_no_test_out(self):
        tests = ["bad_input::a", "demo::b", "bad_input::inner::c", "d"]
        found = programs(message("command_line", "/t/all"), lambda executable, folder: tests)
        folder = Path("/w/crates/x")
        self.assertEqual(found, [
            ("demo", ["/t/all", "--exact", "demo::b"], folder),
            ("bad_input", ["/t/all", "--exact", "bad_input::a", "bad_input::inner::c"], folder),
            ("main", ["/t/all", "--exact", "d"], folder),
        ])

    def test_programs_of_many_files_are_there(self):
        root = Path(__file__).resolve().parent.parent
        there = {path.parent.name for path in root.glob("**/tests/*/main.rs") if "target" not in path.relative_to(root).parts}
        self.assertLessEqual(set(OF_MANY_FILES), there)


class Libraries(unittest.TestCase):
    def test_one_that_is_not_built_for_tests_has_none(self):
        root = Path(__file__).resolve().parent.parent
        without = []
        for manifest in [*root.glob("crates/*/Cargo.toml"), *root.glob("*/Cargo.toml")]:
            if manifest.parent.name != "target" and "\ntest = false" in manifest.read_text():
                without.append(manifest.parent.name)
                for path in manifest.parent.glob("src/**/*.rs"):
                    self.assertNotRegex(path.read_text(), r"#\[test\]|cfg\(test\)", f"{path} has tests that nobody builds")
        self.assertIn("baselines", without)

    def test_one_that_fails_is_told_with_its_output(self):
        with tempfile.TemporaryDirectory() as folder:
            made = []
            for name, code in [("good", 0), ("bad", 3)]:
                path = Path(folder, name)
                path.write_text(f"#!{sys.executable}\nprint('SKIPPED: {name}, {name} output')\nraise SystemExit({code})\n")
                path.chmod(0o755)
                made.append((name, [str(path)], Path(folder)))
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                failed = run_all(made, 2)
        self.assertEqual([name.split()[1] for name in failed], ["bad"])
        self.assertIn("bad: FAILED", told.getvalue())
        self.assertIn("SKIPPED: good", told.getvalue())


if __name__ == "__main__":
    unittest.main()
