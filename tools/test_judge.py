"""What the judge takes for absurd, on records small enough to see."""

import csv
import tempfile
import unittest
from pathlib import Path

import judge


def subject(statics, *encounters):
    return judge.Subject(list(statics), {number: list(codes) for number, codes in enumerate(encounters, 1)})


def verdict(*subjects, titles=None):
    kinds = {
        code: judge.kind_of(code, titles or {})
        for subject in subjects
        for codes in subject.encounters.values()
        for code in codes
    }
    return judge.judge(dict(enumerate(subjects)), kinds)


class Kinds(unittest.TestCase):
    def test_families_of_codes(self):
        for code, kind in [
            ("ICD9CM//64413", "pregnant"),
            ("ICD9CM//V220", "pregnant"),
            ("ICD9CM//185", "male"),
            ("ICD9CM//6202", "female"),
            ("ICD9CM//250", None),
            ("ICD9CM//E880", None),
            ("ICD9PROC//6029", "male"),
            ("ICD9PROC//741", "pregnant"),
            ("ICD9PROC//3961", None),
            ("ICD10CM//O80", "pregnant"),
            ("ICD10CM//O9A211", "pregnant"),
            ("ICD10CM//N401", "male"),
            ("ICD10CM//E119", None),
            ("DIAGNOSIS//ICD//10//C61", "male"),
            ("RX//aspirin", None),
        ]:
            self.assertEqual(judge.kind_of(code, {}), kind, code)

    def test_words_of_titles(self):
        for title, kind in [
            ("Normal pregnancy", "pregnant"),
            ("Neoplasm of prostate", "male"),
            ("Ligation of bilateral fallopian tubes", "female"),
            ("Maternal hypertension affecting fetus or newborn", None),
            ("Prostaglandin E1 injection", None),
            ("Sprain of cervical spine", None),
            ("Routine laboratory test", None),
        ]:
            self.assertEqual(judge.title_kind(title), kind, title)

    def test_titles_are_found_by_the_system_and_the_code(self):
        titles = {("SNOM", "72892002"): "Normal pregnancy", ("ICD9", "V1046"): "History of prostate cancer"}
        self.assertEqual(judge.kind_of("SNOMED//72892002", titles), "pregnant")
        self.assertEqual(judge.kind_of("ICD9CM//V10.46", titles), "male")
        self.assertIsNone(judge.kind_of("CVX//72892002", titles))


class Verdicts(unittest.TestCase):
    def test_each_absurdity_counts_once_a_record(self):
        found = verdict(
            subject(["SEX//M", "AGE//20-40"], ["ICD9CM//650"], ["ICD9CM//650", "ICD9CM//V22"]),
            subject(["SEX//F", "AGE//20-40"], ["ICD9CM//185"]),
            subject(["SEX//F", "AGE//20-40"], ["DEATH"], ["ICD9CM//401"]),
            subject(["SEX//F", "AGE//20-40"], ["ICD9CM//401"], ["DISCHARGE//EXPIRED"]),
            subject(["SEX//F", "SEX//M", "AGE//20-40", "AGE//80+"], []),
            subject([], ["ICD9CM//401"]),
        )
        structure = judge.ABSURD[judge.ABSURD.index("no age") + 1 :]
        others = {name: count for name, count in found["absurd"].items() if name not in structure}
        self.assertEqual(set(others.values()), {1})
        self.assertEqual(found["records"], 6)

    def test_deaths_in_stays_are_how_they_ended_where_both_are_told(self):
        whole = subject(["SEX//F", "AGE//80+"], ["STAY//2d", "DEATH", "DISCHARGE//EXPIRED"])
        at_home = subject(["SEX//F", "AGE//80+"], ["DEATH"])
        half = subject(["SEX//F", "AGE//80+"], ["STAY//2d", "DEATH", "DISCHARGE//HOME"])
        of = lambda *subjects: verdict(*subjects)["absurd"]["deaths told by half"]
        self.assertEqual(of(whole, at_home), 0)
        self.assertEqual(of(whole, at_home, half), 1)
        self.assertEqual(of(at_home, half), 0)

    def test_what_encounters_are_made_of(self):
        person = ["SEX//F", "AGE//80+"]
        real = [subject(person, ["STAY//2d", "ICD9CM//401"], ["DEATH"])] * 10
        bound = judge.bound_to_stays(dict(enumerate(real)))
        self.assertEqual(bound, {("ICD9CM", "STAY")})
        self.assertEqual(judge.bound_to_stays(dict(enumerate(real[:9]))), set())
        everywhere = [subject(person, ["STAY//2d", "ICD9CM//401"])] * 10
        self.assertEqual(judge.bound_to_stays(dict(enumerate(everywhere))), set())
        odd = [
            subject(person, ["ICD9CM//401", "DEATH"]),
            subject(person, ["GAP//2d"], []),
            subject(person, ["STAY//2d", "HOSPITAL_DISCHARGE//HOME", "HOSPITAL_DISCHARGE//DIED"]),
            subject(person, ["STAY//2d", "DIAGNOSIS//ICD//9//401", "DIAGNOSIS//ICD//10//I10"]),
        ]
        kinds = {code: None for one in real + odd for codes in one.encounters.values() for code in codes}
        for people, count in ((real, 0), (odd, 1)):
            found = judge.judge(dict(enumerate(people)), kinds, bound)["absurd"]
            self.assertEqual([found[name] for name in judge.ABSURD[-4:]], [count] * 4)

    def test_sensible_records_are_let_pass(self):
        found = verdict(
            subject(["SEX//F", "AGE//20-40"], ["ICD9CM//650"], ["ICD9CM//401", "DISCHARGE//EXPIRED", "DEATH"]),
            subject(["SEX//M", "AGE//60-80"], ["ICD9CM//185"], ["DEATH"]),
        )
        self.assertEqual(set(found["absurd"].values()), {0})
        self.assertEqual((found["dead"], found["pregnant women"]), (2, 1))

    def test_what_is_worse_than_reality_and_what_is_off(self):
        real = verdict(*[subject(["SEX//F", "AGE//20-40"], ["A"])] * 10)
        synthetic = verdict(
            *[subject(["SEX//F", "AGE//20-40"], ["A"])] * 7, *[subject(["SEX//F"], [])] * 3
        )
        found = judge.compare(real, synthetic)
        self.assertEqual(found["worse"], ["no age", "encounters without a code"])
        self.assertEqual([row["name"] for row in found["off"]], ["A"])


    def test_luck_is_that_of_real_records_drawn_anew(self):
        rare = [subject(["SEX//F", "AGE//20-40"], ["A"] if number < 3 else ["B"]) for number in range(30)]
        people = dict(enumerate(rare))
        kinds = {"A": None, "B": None}
        self.assertGreaterEqual(judge.off_by_luck(people, kinds, 30), 1)
        self.assertEqual(judge.off_by_luck(people, kinds, 100_000, times=1), 0)


class Tables(unittest.TestCase):
    def test_an_exported_table_is_read_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "long.csv")
            with open(path, "w", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(["subject_id", "visit", "time", "code", "static", "ended"])
                rows.writerow(["p1", 0, "", "SEX//F", 1, 1])
                rows.writerow(["p1", 1, "2000-01-01", "A, or B", 0, 1])
                rows.writerow(["p1", 2, "2000-01-02", "", 0, 1])
            subjects = judge.read_subjects(path)
        self.assertEqual(subjects["p1"].statics, ["SEX//F"])
        self.assertEqual(subjects["p1"].encounters, {1: ["A, or B"], 2: []})


if __name__ == "__main__":
    unittest.main()
