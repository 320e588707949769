"""Cohorts: from tables and back, with nothing lost; what is wrong with a table is told."""

import datetime
import pickle

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import conseq as cq
from conseq import _sources


def others(cohort, way):
    return {name: getattr(cohort, way)(name) for name in cohort.tables if name != "events"}


@pytest.mark.parametrize("way", ["to_arrow", "to_pandas", "to_polars"])
def test_round_trips_lose_nothing(cohort, way):
    again = cq.Cohort.from_table(getattr(cohort, way)(), **others(cohort, way), name=cohort.name)
    report = cohort.diff(again)
    assert not report.found, str(report)
    assert again.ids == cohort.ids and again.splits == cohort.splits and again.titles == cohort.titles
    assert again.to_records() == cohort.to_records()
    assert again.vocabulary == cohort.vocabulary


@pytest.mark.parametrize("way", ["to_arrow", "to_pandas", "to_polars"])
def test_undated_cohorts_and_cut_records_come_back(way):
    cohort = cq.Cohort.from_records(
        [
            {"id": "a b", "static": ["SEX//F"], "visits": [["X"], [], ["Y", "X"]]},
            {"id": "c", "static": [], "visits": [[]], "ended": False},
        ]
    )
    again = cq.Cohort.from_table(getattr(cohort, way)(), **others(cohort, way), ordinal=True)
    assert again.to_records() == cohort.to_records()


def test_cohorts_pickle(cohort):
    again = pickle.loads(pickle.dumps(cohort))
    assert not cohort.diff(again).found
    assert (again.name, again.truth(), again.own_rules) == (cohort.name, cohort.truth(), cohort.own_rules)
    assert again.report.to_dict() == cohort.report.to_dict()
    # What older files of pickled cohorts name.
    made_by = cohort.__reduce__()[0]
    assert (made_by.__module__, made_by.__name__) == ("conseq.cohort", "_unpickled")


def test_records_come_back(cohort):
    records = cohort.to_records()
    again = cq.Cohort.from_records(records)
    # Codes of a visit are a set; they are listed in the order of the vocabulary.
    assert [record["id"] for record in again.to_records()] == [record["id"] for record in records]
    for mine, theirs in zip(again.to_records(), records, strict=True):
        assert {key: value for key, value in mine.items() if key not in ("static", "visits")} == {
            key: value for key, value in theirs.items() if key not in ("static", "visits")
        }
        assert [set(visit) for visit in mine["visits"]] == [set(visit) for visit in theirs["visits"]]
    assert cq.Cohort.from_records(again.to_records()).to_records() == again.to_records()
    assert len(records) == len(cohort) == len(cohort.ids)


FRAME = {
    "subject_id": [1, 1, 2, 2],
    "time": [None, datetime.datetime(2024, 1, 31), datetime.datetime(2024, 2, 1), datetime.datetime(2024, 2, 2, 7)],
    "code": ["SEX//F", "ICD9CM//250", "ICD9CM//401", "ICD9CM//250"],
    "numeric_value": [None, 1.5, None, None],
}


def chunked(columns, rows):
    """A frame of polars as it is once it was read from several files."""
    whole = pl.DataFrame(columns)
    return pl.concat([whole[first : first + rows] for first in range(0, len(whole), rows)], rechunk=False)


def test_chunks_of_polars_are_handed_over_as_they_lie():
    frame = chunked(FRAME, 2)
    assert frame.n_chunks("all") == [2] * 4
    assert pa.table(_sources._in_chunks(frame))["code"].num_chunks == 2
    assert _sources._in_chunks(whole := pl.DataFrame(FRAME)) is whole


def test_every_kind_of_table_is_the_same_cohort():
    duckdb = pytest.importorskip("duckdb")
    frame = pd.DataFrame(FRAME)
    tables = {
        "pandas": frame,
        "pandas with Arrow types": frame.convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.DataFrame(FRAME),
        "polars in chunks": chunked(FRAME, 2),
        "polars in chunks of columns that differ": chunked(FRAME, 2).with_columns(
            pl.concat([pl.Series("note", ["a", "b", "c"]), pl.Series("note", ["d"])], rechunk=False)
        ),
        "polars with categories": pl.DataFrame(FRAME).with_columns(pl.col("code").cast(pl.Categorical)),
        "pyarrow": pa.table(FRAME),
        "large strings": pa.table(FRAME).set_column(2, "code", pa.array(FRAME["code"], pa.large_string())),
        "string views": pa.table(FRAME).set_column(2, "code", pa.array(FRAME["code"], pa.string_view())),
        "dictionaries": pa.table(FRAME).set_column(2, "code", pa.array(FRAME["code"]).dictionary_encode()),
        "a reader": pa.table(FRAME).to_reader(max_chunksize=1),
        "duckdb": duckdb.sql("select * from frame"),
    }
    wanted = cq.Cohort.from_table(pa.table(FRAME)).to_records()
    assert len(wanted) == 2 and wanted[0]["static"] == ["SEX//F"]
    for name, table in tables.items():
        assert cq.Cohort.from_table(table).to_records() == wanted, name


def test_columns_have_the_names_that_are_given():
    frame = pl.DataFrame(FRAME).rename({"subject_id": "who", "time": "when", "code": "what", "numeric_value": "much"})
    named = cq.Cohort.from_table(frame, subject="who", time="when", code="what", value="much")
    assert named.to_records() == cq.Cohort.from_table(pl.DataFrame(FRAME)).to_records()


def test_a_table_is_a_cohort_for_every_verb(cohort):
    rules = cq.Rules.parse("rule stays: ICD9CM//250 in previous => ICD9CM//250")
    frame = pl.DataFrame({**FRAME, "subject_id": [1, 1, 1, 1]})
    report = rules.compile(cq.Cohort.from_table(frame)).audit(frame)
    assert report.found and report.broken[0].rule.name == "stays"
    assert not rules.compile().audit(rules.compile().enforce(frame)).found


def test_what_a_cohort_holds(cohort):
    assert set(cohort.splits) == {"train", "tuning", "held_out"}
    assert cohort.own_rules is not None and len(cohort.truth()) > 0
    assert "SEX//F" in cohort.vocabulary and cohort.vocabulary.is_static("SEX//F")
    assert repr(cohort).startswith("<Cohort 'simulated inpatient cohort': 400 records, ")
    with pytest.raises(cq.DataError):
        cq.Cohort.from_records([{"id": 1, "static": [], "visits": [[]]}]).truth()


def test_saved_cohorts_are_not_replaced(cohort, tmp_path):
    cohort.save(tmp_path / "a")
    with pytest.raises(cq.OutputExistsError) as caught:
        cohort.save(tmp_path / "a")
    assert isinstance(caught.value, FileExistsError) and "force=True" in str(caught.value)
    cohort.save(tmp_path / "a", force=True)
    assert not cohort.diff(tmp_path / "a").found
