"""Dates, stays, ages and values, worked out from the files of MEDS datasets alone."""

import datetime
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from cross_check_cohort import part

DAY = 86_400_000_000
DEAD = {"death", "dead", "died", "deceased", "expired"}
MONTHS = [datetime.date(2000, month, 1).strftime("%B") for month in range(1, 13)]
WEEKDAYS = [datetime.date(2024, 1, day).strftime("%A") for day in range(1, 8)]


@dataclass
class Event:
    code: str
    time: int
    value: float


@dataclass
class Visit:
    time: int = None
    end: int = None
    age: str = None
    events: list = field(default_factory=list)


@dataclass
class Patient:
    split: str = None
    birth: int = None
    cut: bool = False
    static: list = field(default_factory=list)
    visits: list = field(default_factory=list)


class Dataset:
    """A MEDS dataset, row by row."""

    def __init__(self, folder):
        from pyarrow import parquet

        table = lambda name: parquet.read_table(folder / name).to_pylist()
        kinds = {row["code"]: row["kind"] for row in table("metadata/codes.parquet")}
        self.static = {code for code, kind in kinds.items() if kind == "static"}
        named = lambda code: "DEATH" if kinds.get(code) == "death" else code
        self.codes = [named(code) for code, kind in kinds.items() if kind in ("static", "encounter", "death")]
        self.tests = {}
        if (folder / "metadata/values.parquet").exists():
            self.tests = {row["code"]: (row["test"], row["unit"]) for row in table("metadata/values.parquet")}
        described = json.loads((folder / "metadata/dataset.json").read_text())
        self.described = described
        people = defaultdict(Patient)
        visits = defaultdict(lambda: defaultdict(Visit))
        for path in sorted((folder / "data").glob("**/*.parquet")):
            rows = parquet.read_table(path)
            times = rows["time"].cast("int64").to_pylist()
            values = rows["numeric_value"].to_pylist() if "numeric_value" in rows.column_names else [None] * len(times)
            columns = (rows["subject_id"].to_pylist(), times, rows["code"].to_pylist(), values, rows["visit_id"].to_pylist())
            for subject, time, code, value, number in zip(*columns):
                self.take(people[subject], visits[subject], time, code, kinds[code], value, number)
        for row in table("metadata/subject_splits.parquet"):
            people[row["subject_id"]].split = row["split"]
        for subject, person in people.items():
            person.visits = [visits[subject][number] for number in sorted(visits[subject])]
        self.people = [people[subject] for subject in sorted(people)]

    @staticmethod
    def take(person, visits, time, code, kind, value, number):
        if kind == "birth":
            person.birth = time
        elif kind == "static":
            person.static.append(code)
        elif kind == "visit":
            visits[number].time = time
        elif kind == "visit_end":
            visits[number].end = time
        elif kind == "cut":
            person.cut = True
        elif kind == "age":
            visits[number].age = code.split("//")[1]
        else:
            code = "DEATH" if kind == "death" else code
            visits[number].events.append(Event(code, time, value))

    def of(self, *splits):
        return [person for person in self.people if not splits or person.split in splits]


def day(time):
    return time // DAY


def date(time):
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=time // DAY)


def ks(one, other):
    """By the empirical distributions at every number of either."""
    if not len(one) or not len(other):
        return None
    one, other = np.sort(one), np.sort(other)
    points = np.concatenate([one, other])
    below = lambda numbers: np.searchsorted(numbers, points, side="right") / len(numbers)
    return np.abs(below(one) - below(other)).max()


def summary(numbers):
    few = len(numbers) < 10
    quantiles = lambda shares: None if few else np.quantile(np.array(numbers, dtype=float), shares)
    return {
        "count": len(numbers),
        "quartiles": quantiles([0.25, 0.5, 0.75]),
        "deciles": quantiles(np.arange(1, 10) / 10),
    }


def distribution(sides):
    """What each side looks like, and how far the second and third are from the first."""
    found = {name: summary(numbers) for name, numbers in zip(("real", "synthetic", "other"), sides)}
    return {**found, "ks": ks(sides[0], sides[1]), "other_ks": ks(sides[0], sides[2])}


def spread(names, sides):
    """Visits of each name, and half of what their shares differ by."""
    counts = [np.array([Counter(side)[name] for name in names], dtype=float) for side in sides]
    apart = lambda one, other: np.abs(one / one.sum() - other / other.sum()).sum() / 2
    told = lambda other: apart(counts[0], other) if counts[0].sum() and other.sum() else None
    return {
        "rows": [(name, *(int(count[at]) for count in counts)) for at, name in enumerate(names)],
        "total_variation": told(counts[1]),
        "other_total_variation": told(counts[2]),
    }


def gaps(person):
    return [day(after.time) - day(before.time) for before, after in zip(person.visits, person.visits[1:])]


def misplaced(people):
    """What is after death, and before birth: records, visits and events."""
    found = {"after_death": Counter(), "before_birth": Counter()}
    for person in people:
        deaths = [event.time for visit in person.visits for event in visit.events if DEAD & set(re.split("[^a-z]+", event.code.lower()))]
        # A death at midnight is a date, which counts from its end.
        died = min((time + DAY - 1 if time % DAY == 0 else time for time in deaths), default=None)
        wrong = {
            "after_death": lambda time: died is not None and time > died,
            "before_birth": lambda time: person.birth is not None and day(time) < day(person.birth),
        }
        for kind, is_wrong in wrong.items():
            visits = sum(is_wrong(visit.time) for visit in person.visits)
            events = sum(
                is_wrong(event.time)
                for visit in person.visits
                for event in visit.events
                if part(event.code, False) != "time"
            )
            found[kind].update(visits=visits, events=events, records=int(visits + events > 0))
    return found


def triples(people):
    events = (event for person in people for visit in person.visits for event in visit.events)
    return [(event.code, event.value, day(event.time)) for event in events if event.value is not None]


def bands(sides):
    found = {visit.age for people in sides for person in people for visit in person.visits} - {None}
    return sorted(found, key=lambda band: [int(number) for number in re.findall(r"\d+", band)])


def timing(real, synthetic, codes):
    """All tables, of the train split of the real dataset, all of the other, and what is held out."""
    sides = [real.of("train"), synthetic.of(), real.of("held_out")]
    each = lambda of: [[number for person in side for number in of(person)] for side in sides]
    before = Counter(
        code
        for person in sides[0]
        for visit in person.visits[:-1]
        for code in {event.code for event in visit.events}
        if part(code, False) == "codes"
    )
    order = {code: number for number, code in enumerate(codes)}
    commonest = sorted(before, key=lambda code: (-before[code], order[code]))[:5]

    def after(code):
        def of(person):
            has = [any(event.code == code for event in visit.events) for visit in person.visits]
            return [gap for gap, has in zip(gaps(person), has) if has]

        return of

    tests = {**synthetic.tests, **real.tests}
    values = [defaultdict(list) for _ in sides]
    for side, found in zip(sides, values):
        for person in side:
            for visit in person.visits:
                for event in visit.events:
                    if event.value is not None:
                        found[tests[event.code][0]].append(event.value)
    units = dict(tests.values())
    in_real = sorted(values[0], key=lambda test: (-len(values[0][test]), test))
    of_test = lambda test: distribution([found.get(test, []) for found in values])
    all_tests = {test: of_test(test) for test in set(in_real) | set(values[1])}
    distances = lambda key: sorted(found[key] for found in all_tests.values() if found[key] is not None)
    known = set(triples(sides[0]))
    misplaced_in = [misplaced(side) for side in sides]
    born = lambda person: [] if person.birth is None else person.visits
    return {
        "days_between_visits": distribution(each(gaps)),
        "days_after": [(code, distribution(each(after(code)))) for code in commonest],
        "span": distribution(each(lambda person: [day(person.visits[-1].time) - day(person.visits[0].time)])),
        "weekdays": spread(WEEKDAYS, each(lambda person: [date(visit.time).strftime("%A") for visit in person.visits])),
        "months": spread(MONTHS, each(lambda person: [date(visit.time).strftime("%B") for visit in person.visits])),
        "age": distribution(each(lambda person: [(day(visit.time) - day(person.birth)) / 365.25 for visit in born(person)])),
        "age_bands": spread(bands(sides), each(lambda person: [visit.age for visit in person.visits if visit.age])),
        "stay": distribution(
            each(lambda person: [day(visit.end) - day(visit.time) for visit in person.visits if visit.end is not None])
        ),
        "values": {
            "tests": len(in_real),
            "in_both": sum(test in values[1] for test in in_real),
            "only_synthetic": sum(test not in values[0] for test in values[1]),
            "median_ks": median(distances("ks")),
            "largest_ks": max(distances("ks")),
            "other_median_ks": median(distances("other_ks")),
            "other_largest_ks": max(distances("other_ks")),
            "commonest": [(test, units[test], all_tests[test]) for test in in_real[:20]],
        },
        "after_death": [found["after_death"] for found in misplaced_in],
        "before_birth": [found["before_birth"] for found in misplaced_in],
        "known": [
            {"triples": len(triples(side)), "known": sum(triple in known for triple in triples(side))} for side in sides
        ],
    }
