#!/usr/bin/env python3
"""Works out again, with numpy and scikit-learn, every figure that `crates/evaluate` gives.

Needs `numpy` and `scikit-learn`, which `make python-env` installs under `target/python`. Cohorts, rules
and figures come from the example `measures`; a folder it wrote, given as an argument, is read instead.
Nothing is shared with the program but the cohorts, the order of the codes, and the lists of records
that were drawn. Prints a table of each figure, ours and Python's.
"""

import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from scipy.stats import t as student

import cross_check_dates as dates
import cross_check_privacy as privacy
import cross_check_rules as rules
import cross_check_utility as utility
from cross_check_cohort import Cohort, Record, Vocabulary, codes_only, frequencies, r2, shape, top_pairs
from examples import run_example

GIVEN = None

# Sums of the same terms in another order.
EXACT = 1e-9
# Two solvers that stop near the one optimum.
SOLVED = 1e-8

# Of a record's nats, in their order.
PARTS = ["static", "codes", "end", "time", "values"]


def write_measures(folder):
    """Has the example write its cohorts and figures."""
    run_example("measures", folder)
    return folder


def independent(vocabulary, train, held_out):
    """Nats of records where codes are independent; records with something of probability 0 left out."""
    size = len(vocabulary.codes)
    static = np.array([np.isin(np.arange(size), record.static) for record in train])
    encounters = [visit for record in train for visit in record.visits]
    present = np.zeros((len(encounters), size + 1), dtype=bool)
    for row, visit in enumerate(encounters):
        present[row, visit] = True
    present[np.cumsum([len(record.visits) for record in train]) - 1, size] = True
    static, present = static.mean(axis=0), present.mean(axis=0)
    kind = np.array([PARTS.index(part) for part in vocabulary.parts] + [PARTS.index("end")])
    nats, positives, measured = np.zeros(5), np.zeros(5, dtype=int), 0
    with np.errstate(divide="ignore"):
        tables = [(-np.log(probability), -np.log1p(-probability)) for probability in (static, present)]

    def cost(table, held):
        there = np.zeros(len(table[0]), dtype=bool)
        there[held] = True
        return np.where(there, table[0], table[1])

    for record in held_out:
        of = cost(tables[0], record.static)
        parts = np.zeros(5)
        parts[0] = of[vocabulary.static].sum()
        for index, visit in enumerate(record.visits):
            last = index + 1 == len(record.visits) and record.ended
            of = cost(tables[1], visit + ([size] if last else []))
            parts[1:] += [of[kind == number].sum() for number in range(1, 5)]
        if np.isfinite(parts).all():
            nats += parts
            measured += 1
            present = record.static + [code for visit in record.visits for code in visit]
            positives += np.bincount(kind[present], minlength=5)
            positives[PARTS.index("end")] += int(record.ended)
    return {
        "measured": measured,
        "infinite": len(held_out) - measured,
        "nats": dict(zip(("static_codes", "encounter_codes", "end", "time", "values"), nats)),
        "nats_per_record": nats.sum() / measured,
        "perplexity": np.exp(nats[:3].sum() / positives[:3].sum()),
    }


SIDES = ("real", "synthetic", "other")


class Measures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = GIVEN or write_measures(Path(cls.temporary.name))
        read = lambda name: json.loads((folder / name).read_text())
        cls.vocabulary = Vocabulary(read("vocabulary.json"))
        cls.rules = read("rules.json")
        cls.measures = read("measures.json")
        cls.cohorts = {
            name: Cohort(folder / f"{name}.jsonl", cls.vocabulary) for name in ("real", "good", "bad")
        }
        cls.train = cls.cohorts["real"].at(cls.measures["train"])
        cls.held_out = cls.cohorts["real"].at(cls.measures["held_out"])
        cls.dated = [folder / "dated-real", folder / "dated-synthetic"]
        cls.table = []

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()
        print(f"\n{'measure':58} {'ours':>20} {'python':>20} {'difference':>10}")
        for measure, ours, theirs, difference in cls.table:
            print(f"{measure:58} {ours!s:>20.20} {theirs!s:>20.20} {difference:>10.1e}")
        print(f"{len(cls.table)} figures compared")

    def agree(self, measure, ours, theirs, within=EXACT):
        """Compares one figure, and remembers it for the table. Whole numbers must be the same."""
        if ours is None or theirs is None:
            self.assertIs(ours, theirs, measure)
            return
        whole = isinstance(ours, int)
        theirs = int(theirs) if whole and theirs == int(theirs) else float(theirs)
        difference = abs(ours - theirs)
        self.table.append((measure, ours, theirs, difference))
        if whole:
            self.assertEqual(ours, theirs, measure)
        else:
            self.assertLessEqual(difference, within * max(1.0, abs(theirs)), measure)

    def each(self):
        measured = self.measures["cohorts"]
        return [(name, measured[name], self.cohorts[name].records) for name in ("good", "bad")]

    def test_correlations(self):
        for name, ours, records in self.each():
            real, synthetic = (frequencies(codes_only(part, self.vocabulary), self.vocabulary) for part in (self.train, records))
            codes, encounters = real["code"]
            rare = codes < ours["comparison"]["rare_below"] * encounters
            for which, counted in (("all", np.ones_like(rare)), ("rare", rare)):
                for kind in ("code", "pair", "sequence"):
                    keys, figure = r2(real[kind], synthetic[kind], counted)
                    theirs = ours["comparison"][which][kind]
                    self.agree(f"{name}: keys, {which} {kind}", theirs["keys"], keys)
                    self.agree(f"{name}: R2, {which} {kind}", theirs["r2"], figure)

    def test_shapes(self):
        for name, ours, records in self.each():
            for which, part in (("real", self.train), ("synthetic", records)):
                found = shape(codes_only(part, self.vocabulary), self.vocabulary)
                given = ours["comparison"][which]
                for key in ("records", "encounters", "codes"):
                    self.agree(f"{name}: {key}, {which}", given[key], found[key])
                for key in ("visits_per_record", "codes_per_visit"):
                    self.assertEqual(given[key], found[key].tolist())
                statics = {entry["code"]: entry["records"] for entry in given["static_codes"]}
                self.assertEqual(statics, found["static_codes"])

    def test_scatter_points(self):
        for name, ours, records in self.each():
            real, synthetic = (frequencies(codes_only(part, self.vocabulary), self.vocabulary) for part in (self.train, records))
            one, other = (counts / trials for counts, trials in (real["code"], synthetic["code"]))
            seen = np.flatnonzero(one + other)
            points = ours["shares"]["codes"]
            self.assertEqual(points["names"], self.vocabulary.names(seen))
            worst = np.abs(np.array(points["shares"]) - [one[seen], other[seen]]).max()
            self.agree(f"{name}: points of {len(seen)} codes, furthest off", worst, 0.0)
            for key, kind, between in (("pairs", "pair", " + "), ("sequences", "sequence", " then ")):
                expected = top_pairs(real[kind], synthetic[kind], ours["pairs"])
                points = ours["shares"][key]
                names = [between.join(self.vocabulary.names(pair)) for pair, _, _ in expected]
                self.assertEqual(points["names"], names)
                found = [[a for _, a, _ in expected], [b for _, _, b in expected]]
                worst = np.abs(np.array(points["shares"]) - found).max()
                self.agree(f"{name}: points of {len(names)} {key}, furthest off", worst, 0.0)

    def test_violations(self):
        for name, ours, records in self.each():
            ours = ours["violations"]
            found = rules.violations(self.rules, records, self.vocabulary)
            for which in ("all", "within_visit_rules", "temporal_rules"):
                for key in ("rules", "violations", "valid_records", "valid_percent"):
                    self.agree(f"{name}: {key}, {which}", ours[which][key], found[which][key])
            self.assertEqual(ours["visits"], found["visits"])
            self.assertEqual(ours["hard"], found["hard"])
            self.assertEqual(len(ours["soft"]), len(found["soft"]))
            for given, expected in zip(ours["soft"], found["soft"]):
                for key in ("rule", "temporal", "probability"):
                    self.assertEqual(given[key], expected[key])
                for key in ("visits", "held", "share"):
                    self.agree(f"{name}: {key}, {given['rule']}", given[key], expected[key])
        self.assertGreater(self.measures["cohorts"]["bad"]["violations"]["within_visit_rules"]["violations"], 0)
        self.assertGreater(self.measures["cohorts"]["bad"]["violations"]["temporal_rules"]["violations"], 0)

    def test_interval(self):
        given = self.measures["interval"]
        values, ours = np.array(given["values"]), given["interval"]
        self.agree("interval: mean", ours["mean"], values.mean())
        error = values.std(ddof=1) / np.sqrt(len(values))
        errors = student.ppf(0.975, len(values) - 1) if len(values) < 20 else 1.96
        self.agree("interval: half width", ours["half_width"], errors * error)
        self.agree("interval: runs", ours["runs"], len(values))

    def test_independent(self):
        ours = self.measures["independent"]
        found = independent(self.vocabulary, self.train, self.held_out)
        self.agree_on_likelihood("independent codes", ours, found)

    def agree_on_likelihood(self, name, ours, found):
        for key in ("measured", "infinite", "nats_per_record", "perplexity"):
            self.agree(f"{name}: {key}", ours[key], found[key])
        for key, nats in found["nats"].items():
            self.agree(f"{name}: nats, {key}", ours["nats"][key], nats)

    def test_dates_and_values(self):
        if importlib.util.find_spec("pyarrow") is None:
            self.skipTest("pyarrow is not there, so dates and values were not worked out again")
        real, synthetic = map(dates.Dataset, self.dated)
        ours, found = self.measures["dated"]["timing"], dates.timing(real, synthetic, real.codes)
        for key in ("days_between_visits", "span", "age", "stay"):
            self.agree_on_distribution(key, ours[key], found[key])
        self.assertEqual([entry["code"] for entry in ours["days_after"]], [code for code, _ in found["days_after"]])
        for entry, (code, expected) in zip(ours["days_after"], found["days_after"]):
            self.agree_on_distribution(f"days after {code}", entry, expected)
        for key in ("weekdays", "months", "age_bands"):
            rows = [(row["name"], row["real"], row["synthetic"], row["other"]) for row in ours[key]["rows"]]
            self.assertEqual(rows, found[key]["rows"])
            for distance in ("total_variation", "other_total_variation"):
                self.agree(f"{key}: {distance}", ours[key][distance], found[key][distance])
        values = found["values"]
        for key in ("tests", "in_both", "only_synthetic"):
            self.agree(f"values: {key}", ours["values"][key], values[key])
        for key in ("median_ks", "largest_ks", "other_median_ks", "other_largest_ks"):
            self.agree(f"values: {key}", ours["values"][key], values[key])
        told = [(entry["test"], entry["unit"]) for entry in ours["values"]["commonest"]]
        self.assertEqual(told, [(test, unit) for test, unit, _ in values["commonest"]])
        for entry, (test, _, expected) in zip(ours["values"]["commonest"], values["commonest"]):
            self.agree_on_distribution(f"values of {test}", entry, expected)
        for key in ("after_death", "before_birth", "known"):
            for side, expected in zip(SIDES, found[key]):
                for count, number in expected.items():
                    self.agree(f"{key}: {count}, {side}", ours[key][side][count], number)
        self.assertGreater(ours["after_death"]["real"]["events"], 0)
        self.assertGreater(ours["before_birth"]["real"]["visits"], 0)
        self.assertGreater(ours["known"]["other"]["known"], 0)

    def agree_on_distribution(self, name, ours, found):
        for distance in ("ks", "other_ks"):
            self.agree(f"{name}: {distance}", ours[distance], found[distance])
        for side in SIDES:
            self.agree(f"{name}: count, {side}", ours[side]["count"], found[side]["count"])
            for which in ("quartiles", "deciles"):
                given, expected = ours[side][which], found[side][which]
                self.assertEqual(given is None, expected is None)
                for at, (one, other) in enumerate(zip(given or [], [] if expected is None else expected)):
                    self.agree(f"{name}: {which}, {side}, {at + 1}", one, other)

    def test_figures_beside_dates_and_values(self):
        """Codes that tell time or a value are in no R2 and no perplexity, and their nats stand apart."""
        if importlib.util.find_spec("pyarrow") is None:
            self.skipTest("pyarrow is not there, so dates and values were not worked out again")
        real, synthetic = map(dates.Dataset, self.dated)
        vocabulary = Vocabulary([{"code": code, "static": code in real.static} for code in real.codes])
        number = lambda codes: sorted({vocabulary.numbers[code] for code in codes})

        def records(people):
            visits = lambda person: [number(event.code for event in visit.events) for visit in person.visits]
            return [Record(number(person.static), visits(person), not person.cut) for person in people]

        train, held_out, generated = map(records, (real.of("train"), real.of("held_out"), synthetic.of()))
        ours = self.measures["dated"]["comparison"]
        one, other = (frequencies(codes_only(part, vocabulary), vocabulary) for part in (train, generated))
        for kind in ("code", "pair", "sequence"):
            keys, figure = r2(one[kind], other[kind], np.ones(len(vocabulary.codes), dtype=bool))
            self.agree(f"dated: keys, {kind}", ours["all"][kind]["keys"], keys)
            self.agree(f"dated: R2, {kind}", ours["all"][kind]["r2"], figure)
        self.agree("dated: codes", ours["real"]["codes"], shape(codes_only(train, vocabulary), vocabulary)["codes"])
        found = independent(vocabulary, train, held_out)
        self.agree_on_likelihood("dated", self.measures["dated"]["independent"], found)
        self.assertGreater(found["nats"]["time"], 0)
        self.assertGreater(found["nats"]["values"], 0)

    def test_utility(self):
        for name, ours, records in self.each():
            given = ours["utility"]["measured"]
            parts = (codes_only(part, self.vocabulary) for part in (self.train, records, self.held_out))
            found = utility.utility(*parts, self.vocabulary, ours["codes"], ours["examples"])
            self.agree(f"{name}: transitions trained on", given["trained_on"], found["trained_on"])
            self.agree(f"{name}: transitions tried on", given["tried_on"], found["tried_on"])
            codes = [entry["code"] for entry in given["codes"]]
            self.assertEqual(codes, self.vocabulary.names(found["codes"]))
            left_out = [entry["code"] for entry in given["left_out"]]
            self.assertEqual(left_out, self.vocabulary.names(found["left_out"]))
            for side in ("real", "synthetic"):
                for entry, expected in zip(given["codes"], found[side]):
                    at = f"{name}: {entry['code']}, {side}"
                    self.agree(f"{at}: positives", entry[side]["positives"], expected["positives"])
                    self.agree(f"{at}: intercept", entry[side]["intercept"], expected["intercept"], SOLVED)
                    self.agree(f"{at}: norm", entry[side]["norm"], expected["norm"], SOLVED)
                    for key in ("auroc", "average_precision"):
                        self.agree(f"{at}: {key}", entry[side]["scores"][key], expected[key])
                for key in ("auroc", "average_precision"):
                    mean = np.mean([expected[key] for expected in found[side]])
                    self.agree(f"{name}: mean {key}, {side}", given[side][key], mean)

    def test_privacy(self):
        for name, ours, records in self.each():
            drawn, given = ours["drawn"], ours["privacy"]
            self.assertEqual(len(drawn["train"]), len(drawn["held_out"]))
            for key, known in (("train", self.measures["train"]), ("held_out", self.measures["held_out"])):
                self.assertLessEqual(set(drawn[key]), set(known))
                self.assertEqual(len(set(drawn[key])), given["real_records"])
            real = self.cohorts["real"]
            sets = privacy.Sets(
                self.vocabulary,
                train=codes_only(real.at(drawn["train"]), self.vocabulary),
                held_out=codes_only(real.at(drawn["held_out"]), self.vocabulary),
                synthetic=codes_only([records[index] for index in drawn["synthetic"]], self.vocabulary),
            )
            measured = lambda key: given[key]["measured"]
            for key, theirs in privacy.closest(sets).items():
                part, _, figure = key.rpartition("/")
                ours_at = measured("closest")[part][figure] if part else measured("closest")[figure]
                self.agree(f"{name}: closest records, {key}", ours_at, theirs)
            for key, theirs in privacy.membership(sets).items():
                self.agree(f"{name}: membership, {key}", measured("membership")[key], theirs)
            sensitive, found = privacy.attributes(sets, ours["sensitive"])
            self.assertEqual(measured("attributes")["sensitive"], self.vocabulary.names(sensitive))
            for source, figures in found.items():
                self.assertEqual(measured("attributes")[source]["guesses"], figures["guesses"])
                for key in ("f1", "balanced_accuracy"):
                    ours_at = measured("attributes")[source][key]
                    self.agree(f"{name}: attributes, {source}, {key}", ours_at, figures[key])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        GIVEN = Path(sys.argv.pop(1))
    unittest.main()
