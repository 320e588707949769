"""Tests of the dependency check."""

import unittest

from check_dependencies import Expression, arrow_faults, arrows, licence_faults, version_faults


class Licences(unittest.TestCase):
    def test_allowed(self):
        for text in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "Apache-2.0 / MIT",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        ]:
            self.assertTrue(Expression(text).allowed(), text)

    def test_refused(self):
        for text in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR GPL-3.0) AND GPL-3.0",
            "GPL-2.0 WITH Classpath-exception-2.0",
            "MIT WITH something",
        ]:
            self.assertFalse(Expression(text).allowed(), text)

    def test_and_binds_tighter_than_or(self):
        self.assertTrue(Expression("MIT OR GPL-3.0 AND GPL-2.0").allowed())
        self.assertFalse(Expression("GPL-3.0 OR MIT AND GPL-2.0").allowed())

    def test_nonsense(self):
        for text in ["MIT OR", "(MIT", "MIT MIT", "AND", ")"]:
            with self.assertRaises(ValueError, msg=text):
                Expression(text).allowed()

    def test_a_missing_licence_is_a_fault(self):
        packages = [{"name": "a", "version": "1", "license": None}]
        self.assertEqual(list(licence_faults(packages)), ["a 1: no licence is named"])


class Versions(unittest.TestCase):
    def test_doubles_are_found_and_idle_exceptions_too(self):
        packages = [
            {"name": "a", "version": "1.0.0"},
            {"name": "a", "version": "2.0.0"},
            {"name": "b", "version": "1.0.0"},
        ]
        faults = list(version_faults(packages))
        self.assertEqual(faults[0], "a: there in versions 1.0.0, 2.0.0")
        self.assertTrue(all("no longer needed" in fault for fault in faults[1:]))


class Arrows(unittest.TestCase):
    def faults(self, **graph):
        return list(arrow_faults({name: (set(built), set(tested)) for name, (built, tested) in graph.items()}))

    def test_down_and_sideways_is_fine(self):
        graph = {"rules": (["record"], []), "model": (["network", "rules"], ["testing"]), "network": ([], []), "record": ([], [])}
        self.assertEqual(self.faults(**graph, testing=(["rules"], []), studies=(["model", "testing"], [])), [])

    def test_up_is_a_fault(self):
        self.assertEqual(self.faults(record=(["rules"], [])), ["record: it is built with rules, which is not below it"])
        self.assertEqual(self.faults(cli=(["testing"], [])), ["cli: it is built with testing, which is not below it"])
        self.assertEqual(self.faults(mine=([], ["studies"])), ["mine: its tests are built with studies"])
        self.assertEqual(self.faults(attic=([], [])), ["attic: it has no room in tools/check_dependencies.py"])

    def test_a_cycle_through_tests_is_a_fault(self):
        faults = self.faults(rules=([], ["testing"]), testing=(["referee"], []), referee=(["rules"], []))
        self.assertEqual(
            faults,
            ["a cycle of dependencies, those of tests included: referee -> rules -> testing -> referee"],
        )

    def test_kinds_of_dependencies(self):
        def dependency(name, kind):
            return {"name": name, "kind": kind}

        packages = [
            {"name": "consequence", "dependencies": [dependency("consequence-rules", None), dependency("serde", None)]},
            {"name": "consequence-rules", "dependencies": [dependency("consequence-testing", "dev")]},
            {"name": "consequence-testing", "dependencies": []},
            {"name": "serde", "dependencies": []},
        ]
        graph = arrows(packages)
        self.assertEqual(graph["consequence"], ({"rules"}, set()))
        self.assertEqual(graph["rules"], (set(), {"testing"}))
        self.assertNotIn("serde", graph)


if __name__ == "__main__":
    unittest.main()
