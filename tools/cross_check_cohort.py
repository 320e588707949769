"""Cohorts as Python reads them, and how often codes and pairs of codes occur in them."""

import json
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np


def part(code, static):
    """What a code tells of a record, by its name."""
    if static:
        return "static"
    if re.fullmatch(r"(GAP|STAY)//(\d+(-\d+)?d|\d+d\+)", code):
        return "time"
    return "values" if re.search(r"//q\d+$", code) else "codes"


class Vocabulary:
    """The codes by number."""

    def __init__(self, entries):
        self.codes = [entry["code"] for entry in entries]
        self.static = np.array([entry["static"] for entry in entries])
        self.parts = [part(entry["code"], entry["static"]) for entry in entries]
        self.numbers = {code: number for number, code in enumerate(self.codes)}

    def names(self, numbers):
        return [self.codes[number] for number in numbers]


@dataclass
class Record:
    static: list
    visits: list
    ended: bool
    id: str = ""


class Cohort:
    """Records from JSON lines."""

    def __init__(self, path, vocabulary):
        self.records = []
        with open(path) as lines:
            for line in lines:
                record = json.loads(line)
                numbers = lambda codes: sorted(vocabulary.numbers[code] for code in codes)
                visits = [numbers(visit) for visit in record["visits"]]
                ended = record.get("ended", True)
                self.records.append(Record(numbers(record["static"]), visits, ended, record["id"]))

    def at(self, indices):
        return [self.records[index] for index in indices]


def codes_only(records, vocabulary):
    """The records without codes that tell time or a value, which no measure of codes counts."""
    counted = [part in ("static", "codes") for part in vocabulary.parts]
    if all(counted):
        return records
    keep = lambda codes: [code for code in codes if counted[code]]
    kept = lambda record: [keep(visit) for visit in record.visits]
    return [Record(record.static, kept(record), record.ended, record.id) for record in records]


def frequencies(records, vocabulary):
    """Counts and trials: codes as an array, pairs and sequential pairs by both codes."""
    codes, pairs, sequences = np.zeros(len(vocabulary.codes)), Counter(), Counter()
    encounters = transitions = 0
    for record in records:
        for visit in record.visits:
            encounters += 1
            codes[visit] += 1
            pairs.update((one, other) for one in visit for other in visit if one < other)
        for visit, following in zip(record.visits, record.visits[1:]):
            transitions += 1
            sequences.update((one, other) for one in visit for other in following)
    return {
        "code": (codes, encounters),
        "pair": (pairs, encounters),
        "sequence": (sequences, transitions),
    }


def r2(real, synthetic, counted):
    """The keys seen in either that have a counted code, and how far their frequencies agree."""
    (one, one_trials), (other, other_trials) = real, synthetic
    if isinstance(one, Counter):
        keys = [key for key in one.keys() | other.keys() if counted[key[0]] or counted[key[1]]]
    else:
        keys = [key for key in np.flatnonzero(one + other) if counted[key]]
    truth = np.array([one[key] for key in keys]) / one_trials
    guess = np.array([other[key] for key in keys]) / other_trials
    return len(keys), 1 - ((truth - guess) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()


def top_pairs(real, synthetic, limit):
    """The most frequent pairs by the higher frequency, then by the codes."""
    (one, one_trials), (other, other_trials) = real, synthetic
    points = [(key, one[key] / one_trials, other[key] / other_trials) for key in one.keys() | other.keys()]
    return sorted(points, key=lambda point: (-max(point[1:]), point[0]))[:limit]


def shape(records, vocabulary):
    """How many records, encounters and codes there are, and their distributions."""
    lengths = [len(record.visits) for record in records]
    sizes = [len(visit) for record in records for visit in record.visits]
    statics = Counter(code for record in records for code in record.static)
    return {
        "records": len(records),
        "encounters": sum(lengths),
        "codes": sum(sizes),
        "visits_per_record": np.bincount(lengths),
        "codes_per_visit": np.bincount(sizes),
        "static_codes": {vocabulary.codes[code]: statics[code] for code in np.flatnonzero(vocabulary.static)},
    }
