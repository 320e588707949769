#!/usr/bin/env python3
"""Works out again, with pandas, every figure that `consequence describe` gives.

Needs `pandas` and `pyarrow`, which `make python-env` installs under `target/python`. Codes, visits, ends and
values are those of the long table that `consequence export COHORT csv` writes; what that table has no
place for (when visits began, births, splits, the codes there are) is read from the Parquet files of the
dataset. Without an argument: five imported cohorts and a simulated one. `--short`: the simulated one and
the smallest imported one. Cohorts that are there already may be named instead.
"""

import argparse
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

import pandas as pd

from examples import ROOT, build

sys.path.insert(0, str(ROOT / "studies"))
import time_values  # noqa: E402
import unprepared  # noqa: E402

SIMULATED = ("simulated",)
REAL = ("mimic3", "mimic4", "synthea", "synpuf", "uci")
DEATH = {"death", "dead", "died", "deceased", "expired"}
# Sums of the same terms in another order.
WITHIN = 1e-9


def cohort_of(name, place):
    """A cohort, made or imported."""
    if name in SIMULATED:
        unprepared.run("simulate", "inpatient", "--patients", "2000", "--out", place / name)
        return place / name
    return time_values.cohort_of(name, place, None)


class Cohort:
    """What pandas reads of a cohort."""

    def __init__(self, path, table):
        self.rows = pd.read_csv(table, dtype=str, keep_default_na=False)
        self.rows["visit"] = self.rows["visit"].astype(int)
        self.encounter = self.rows[self.rows["visit"] > 0]
        self.events = self.encounter[self.encounter["code"] != ""]
        self.statics = self.rows[self.rows["visit"] == 0]
        self.static_names = set(self.statics["code"])
        metadata = path / "metadata"
        codes = pd.read_parquet(metadata / "codes.parquet")
        # A death is written by another name.
        renamed = codes["kind"] == "death"
        codes.loc[renamed, ["code", "kind"]] = ["DEATH", "encounter"]
        self.codes = codes[codes["kind"].isin(["static", "encounter"])]
        events = pd.concat(pd.read_parquet(part) for part in sorted((path / "data").glob("*.parquet")))
        names = {kind: set(codes.loc[codes["kind"] == kind, "code"]) for kind in ("visit", "birth")}
        subjects = metadata / "subjects.parquet"
        if subjects.exists():
            known = pd.read_parquet(subjects)
            known = dict(zip(known["subject_id"], known["original_id"].astype(str)))
        else:
            known = {}
        name = lambda subject: known.get(subject, str(subject))
        splits = pd.read_parquet(metadata / "subject_splits.parquet")
        self.splits = dict(zip(splits["subject_id"].map(name), splits["split"]))
        dated = json.loads((metadata / "dataset.json").read_text()).get("time") != "ordinal"
        begins = events[events["code"].isin(names["visit"])] if dated else events[:0]
        self.begins = pd.DataFrame(
            {"subject_id": begins["subject_id"].map(name), "visit": begins["visit_id"], "begin": begins["time"]}
        )
        self.begins["day"] = self.begins["begin"].dt.normalize()
        scales = metadata / "values.parquet"
        self.scales = pd.read_parquet(scales).set_index("code") if scales.exists() else None
        births = events[events["code"].isin(names["birth"])]
        self.births = dict(zip(births["subject_id"].map(name), births["time"]))


def spread(numbers):
    """What pandas says of numbers, in our words."""
    numbers = pd.Series(numbers, dtype="float64")
    if numbers.empty:
        return {"count": 0, "mean": None, "deviation": None, "least": None, "quartiles": None, "most": None}
    deviation = numbers.std()
    return {
        "count": len(numbers),
        "mean": numbers.mean(),
        "deviation": None if pd.isna(deviation) else deviation,
        "least": numbers.min(),
        "quartiles": list(numbers.quantile([0.25, 0.5, 0.75])),
        "most": numbers.max(),
    }


def far_out(numbers):
    low, high = numbers.quantile(0.25), numbers.quantile(0.75)
    reach = 3 * (high - low)
    return int(((numbers < low - reach) | (numbers > high + reach)).sum()) if low < high else 0


def age(birth, day):
    return day.year - birth.year - ((day.month, day.day) < (birth.month, birth.day))


def family(code):
    return code.split("//", 1)[0]


def said_dead(code):
    return any(word.lower() in DEATH for word in re.split(r"[^A-Za-z]+", code))


def lengths(cohort):
    begins = cohort.begins.sort_values(["subject_id", "visit"])
    by_subject = begins.groupby("subject_id")["day"]
    gaps = by_subject.diff().dt.days.dropna()
    spans = (by_subject.last() - by_subject.first()).dt.days
    stays = []
    if "end" in cohort.encounter and len(begins):
        ends = cohort.encounter[["subject_id", "visit", "end"]].drop_duplicates()
        ends = ends[ends["end"] != ""].merge(begins, on=["subject_id", "visit"])
        stays = (pd.to_datetime(ends["end"], format="ISO8601").dt.normalize() - ends["day"]).dt.days
    aged = begins[begins["subject_id"].isin(cohort.births)]
    ages = pd.Series(
        [age(cohort.births[subject], day) for subject, day in zip(aged["subject_id"], aged["day"])],
        index=aged.index,
        dtype="float64",
    )
    first = ages[aged["visit"] == 1]
    visits = cohort.encounter.groupby("subject_id")["visit"].nunique()
    sizes = (cohort.encounter["code"] != "").groupby([cohort.encounter["subject_id"], cohort.encounter["visit"]]).sum()
    return {
        "encounters_per_patient": spread(visits),
        "codes_per_encounter": spread(sizes),
        "days_between": spread(gaps),
        "days_of_record": spread(spans),
        "days_of_stay": spread(stays),
        "age_at_first": spread(first),
        "age_at_encounters": spread(ages),
    }, sizes, gaps, stays, ages


def tests(cohort):
    if "value" not in cohort.events:
        return {}
    values = cohort.events[cohort.events["value"] != ""].copy()
    values["number"] = values["value"].astype(float)
    values["test"] = values["code"].str.replace(r"//q\d+$", "", regex=True)
    found = {}
    for test, rows in values.groupby("test"):
        units = sorted(set(rows["unit"]) - {""}) if "unit" in rows else []
        found[test] = {
            "unit": units[0] if units else None,
            "codes": rows["code"].nunique(),
            "patients": rows["subject_id"].nunique(),
            "far_out": far_out(rows["number"]),
            "values": spread(rows["number"]),
        }
    return found


def outside_part(cohort):
    """Values outside of the cut points of their code, which are kept with 32 bits, as values are."""
    if "value" not in cohort.events or cohort.scales is None:
        return 0
    values = cohort.events[(cohort.events["value"] != "") & cohort.events["code"].isin(cohort.scales.index)]
    numbers = values["value"].astype("float32").to_numpy()
    above, up_to = (cohort.scales[name].reindex(values["code"]).to_numpy() for name in ("above", "up_to"))
    # What is compared with a bound that is not there is false.
    return int(((numbers <= above) | (numbers > up_to)).sum())


def families(cohort):
    found = []
    for is_static, rows in ((True, cohort.statics), (False, cohort.events)):
        listed = cohort.codes[(cohort.codes["kind"] == "static") == is_static]["code"]
        rows = rows.assign(family=rows["code"].map(family))
        for name, codes in listed.groupby(listed.map(family)):
            of = rows[rows["family"] == name]
            found.append(
                {
                    "name": name,
                    "static": is_static,
                    "codes": len(codes),
                    "codes_seen": of["code"].nunique(),
                    "patients": of["subject_id"].nunique(),
                    "visits": len(of[["subject_id", "visit"]].drop_duplicates()),
                    "events": len(of),
                }
            )
    return {(one["name"], one["static"]): one for one in found}


def same_patients(cohort):
    """Patients with the codes, the visits and the days of another."""
    rows = cohort.rows.sort_values(["subject_id", "visit", "code"])
    key = rows["visit"].astype(str) + "\x1f" + rows["code"] + "\x1f" + rows["ended"]
    codes = key.groupby(rows["subject_id"]).agg("\x1e".join)
    if len(cohort.begins):
        begins = cohort.begins.sort_values(["subject_id", "visit"])
        days = begins["day"].astype(str).groupby(begins["subject_id"]).agg("\x1e".join)
        codes = codes + "\x1d" + days.reindex(codes.index)
    return int(codes.duplicated(keep=False).sum())


def after_death(cohort):
    deaths = cohort.events[cohort.events["code"].map(said_dead)]
    if not len(cohort.begins):
        first = deaths.groupby("subject_id")["visit"].min()
        visits = cohort.encounter.groupby("subject_id")["visit"].max()
        return int((visits.reindex(first.index) - first).sum())
    days = pd.to_datetime(deaths["time"], format="ISO8601").dt.normalize()
    died = days.groupby(deaths["subject_id"]).min().to_dict()
    begins = cohort.begins[cohort.begins["subject_id"].isin(died)]
    return sum(day > died[subject] for subject, day in zip(begins["subject_id"], begins["day"]))


class Describe(unittest.TestCase):
    names = ()
    given = ()
    figures = 0

    def test_every_figure(self):
        with tempfile.TemporaryDirectory() as place:
            place = Path(place)
            for name in (*self.names, *self.given):
                with self.subTest(name):
                    path = Path(name).resolve() if name in self.given else cohort_of(name, place)
                    table = place / "table.csv"
                    unprepared.exported(path, table)
                    ours = json.loads(unprepared.run("describe", path, "--json", "--top", 100000))
                    before = Describe.figures
                    self.compare(Cohort(path, table), ours)
                    print(f"{Path(name).name}: {Describe.figures - before:,} figures are those of pandas")

    def agree(self, what, ours, theirs):
        Describe.figures += 1
        if isinstance(ours, dict) or isinstance(ours, list):
            self.assertEqual(type(ours), type(theirs), what)
            self.assertEqual(len(ours), len(theirs), what)
            for key in ours if isinstance(ours, dict) else range(len(ours)):
                self.agree(f"{what} {key}", ours[key], theirs[key])
        elif isinstance(ours, float) and theirs is not None:
            self.assertLessEqual(abs(ours - theirs), WITHIN * max(1.0, abs(theirs)), f"{what}: {ours} {theirs}")
        else:
            self.assertEqual(ours, theirs, what)

    def compare(self, cohort, ours):
        encounters = cohort.encounter[["subject_id", "visit"]].drop_duplicates()
        patients = cohort.rows["subject_id"].nunique()
        valued = cohort.events["value"] != "" if "value" in cohort.events else pd.Series([], dtype=bool)
        agree = lambda what, theirs: self.agree(what, ours[what], theirs)
        agree("patients", patients)
        agree("encounters", len(encounters))
        agree("events", len(cohort.events))
        agree("values", int(valued.sum()))
        splits = pd.Series(cohort.splits).reindex(cohort.rows["subject_id"].unique()).value_counts()
        agree("splits", {name: int(splits.get(name, 0)) for name in ("train", "tuning", "held_out")})
        kinds = cohort.codes["kind"].value_counts()
        agree("static_vocabulary", int(kinds.get("static", 0)))
        agree("vocabulary", int(kinds.get("encounter", 0)))
        agree("codes_seen", cohort.events["code"].nunique())
        agree("dated", cohort.begins["subject_id"].nunique())
        agree("births", len(cohort.births))
        days = cohort.begins["day"]
        agree("first_date", str(days.min().date()) if len(days) else None)
        agree("last_date", str(days.max().date()) if len(days) else None)
        figures, sizes, gaps, stays, ages = lengths(cohort)
        agree("lengths", figures)
        years = days.dt.year.value_counts().sort_index()
        agree("years", [{"year": int(year), "encounters": int(many)} for year, many in years.items()])
        ours["families"] = {(one["name"], one["static"]): one for one in ours["families"]}
        agree("families", families(cohort))
        ours["tests"] = {one.pop("test"): one for one in ours["tests"]}
        measured = tests(cohort)
        agree("tests", measured)
        self.codes(cohort, ours)
        self.odd(cohort, ours["odd"], patients, sizes, gaps, stays, ages, measured)

    def codes(self, cohort, ours):
        titles = dict(zip(cohort.codes["code"], cohort.codes["description"]))
        for what, rows in (("statics", cohort.statics), ("commonest", cohort.events)):
            if what == "commonest":
                apart = rows["code"].str.fullmatch(r"(GAP|STAY)//(\d+(-\d+)?d|\d+d\+)")
                apart |= rows["code"].str.contains(r"//q\d+$", regex=True)
                rows = rows[~apart]
            patients = rows.groupby("code")["subject_id"].nunique()
            visits = rows.groupby("code").size()
            table = pd.DataFrame({"patients": patients, "visits": visits}).reset_index()
            table = table.sort_values(["patients", "visits", "code"], ascending=[False, False, True])
            theirs = [
                {"code": row.code, "patients": int(row.patients), "visits": int(row.visits)}
                for row in table.itertuples()
            ]
            for one in ours[what]:
                title = one.pop("title")
                known = titles.get(one["code"])
                if isinstance(known, str) and known:
                    self.assertEqual(title, " ".join(known.split()), one["code"])
            self.agree(what, ours[what], theirs)
        self.agree("commonest_of", ours["commonest_of"], len(ours["commonest"]))

    def odd(self, cohort, ours, patients, sizes, gaps, stays, ages, measured):
        of = lambda count, all: {"count": int(count), "of": int(all)}
        codes = len(cohort.codes)
        seen = cohort.rows[cohort.rows["code"] != ""].groupby("code")["subject_id"].nunique()
        statics = cohort.statics.assign(family=cohort.statics["code"].map(family))
        per = statics.groupby(["family", "subject_id"]).size()
        half = {name for name, one in families(cohort).items() if name[1] and 2 * one["patients"] >= patients}
        with_one = {name: per[name] for name, _ in half}
        births = cohort.begins[cohort.begins["subject_id"].isin(cohort.births)]
        born = pd.Series([cohort.births[subject] for subject in births["subject_id"]], births.index, "datetime64[us]")
        born = born.dt.normalize()
        stays, ages = pd.Series(stays, dtype="float64"), pd.Series(ages, dtype="float64")
        far = sum(one["far_out"] for one in measured.values())
        values = sum(one["values"]["count"] for one in measured.values())
        theirs = {
            "empty_encounters": of((sizes == 0).sum(), len(sizes)),
            "empty_patients": of((sizes.groupby("subject_id").sum() == 0).sum(), patients),
            "cut_patients": of(cohort.rows[cohort.rows["ended"] == "0"]["subject_id"].nunique(), patients),
            "same_patients": of(same_patients(cohort), patients),
            "same_day": of((gaps == 0).sum(), len(gaps)),
            "after_death": of(after_death(cohort), len(sizes)),
            "before_birth": of((births["day"] < born).sum(), len(births)),
            "old_age": of((ages > 120).sum(), len(ages)),
            "long_stays": of((stays > 365).sum(), len(stays)),
            "outside_part": of(outside_part(cohort), values),
            "far_out": of(far, values),
            "unseen_codes": of(codes - len(seen), codes),
            "single_codes": of((seen == 1).sum(), codes),
        }
        for what, theirs in theirs.items():
            self.agree(f"odd {what}", ours[what], theirs)
        for one in ours["without_static"]:
            self.agree("without", one["count"], patients - len(with_one[one["family"]]))
        for one in ours["several_static"]:
            self.agree("several", one["count"], int((with_one[one["family"]] > 1).sum()))
        self.assertEqual({one["family"] for one in ours["without_static"]}, set(with_one))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cohorts", nargs="*", help="cohorts that are there, in place of all others")
    parser.add_argument("--short", action="store_true", help="the simulated cohort and the smallest imported one")
    parser.add_argument("--program", type=Path, help="the program that is judged [default: the debug build]")
    arguments = parser.parse_args()
    real = REAL[:1] if arguments.short else REAL
    if not unprepared.DATA.is_dir():
        print("SKIPPED: ../shared/data is not there, so no imported cohort was described", file=sys.stderr)
        real = ()
    Describe.given = tuple(arguments.cohorts)
    Describe.names = () if arguments.cohorts else (*SIMULATED, *real)
    unprepared.Program.path = arguments.program or build("--bin", "consequence") / "consequence"
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
