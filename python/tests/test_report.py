"""Reports: attributes, dictionaries, frames, text and HTML."""

import pickle

import pandas as pd
import polars as pl
import pytest

import conseq as cq


@pytest.fixture(scope="module")
def report(folder):
    return cq.audit(folder / "broken.jsonl", cq.Rules.load(folder / "truth.rules"))


def test_figures_are_attributes(report):
    assert report.records == 400 and report.found
    assert report.broken[0].rule.name == report["broken"][0]["rule"]["name"]
    assert "records" in report and "no_such" not in report and "records" in dir(report)
    with pytest.raises(AttributeError, match="there is no 'no_such' here"):
        report.no_such
    assert report.to_dict()["format"] == 2


def test_text_is_what_the_command_line_says(report):
    assert str(report) == report.text and "records" in str(report)
    assert repr(report).startswith("<audit report: ")


def test_frames(report):
    frame = report.to_frame()
    assert isinstance(frame, pd.DataFrame) and list(frame["rule.name"]) == [one.rule.name for one in report.broken]
    assert isinstance(report.to_frame(library="polars"), pl.DataFrame)
    with pytest.raises(cq.InputError):
        report.to_frame("no_such")
    with pytest.raises(cq.InputError):
        report.to_frame(library="abacus")
    described = cq.Cohort.simulate("inpatient", patients=20).describe()
    assert list(described.to_frame()["code"]) == [one.code for one in described.commonest]
    assert len(described.to_frame("lengths")) == 1


def test_html_is_escaped():
    rules = cq.Rules.parse('rule odd: "<script>" in previous => "<script>"')
    cohort = cq.Cohort.from_records([{"id": 1, "static": [], "visits": [["<script>"], []]}])
    html = cq.audit(cohort, rules)._repr_html_()
    assert "&lt;script&gt;" in html and "<script>" not in html
    assert "<script>" not in rules._repr_html_()


def test_reports_pickle(report):
    again = pickle.loads(pickle.dumps(report))
    assert again == report and again.text == report.text and again.found == report.found


def test_pages_are_written(report, folder, tmp_path):
    plan = cq.Rules.load(folder / "truth.rules").compile(cq.Cohort.load(folder / "broken.jsonl"))
    told = plan.audit(folder / "broken.jsonl", html=tmp_path / "audit.html", all=tmp_path / "all.csv")
    assert (tmp_path / "audit.html").read_text().startswith("<!DOCTYPE html>") and told.all.violations > 0
    with pytest.raises(cq.OutputExistsError):
        plan.audit(folder / "broken.jsonl", html=tmp_path / "audit.html")


def test_warnings_go_to_the_log(caplog):
    cq.Rules.parse("let unused = A, B\nrule a: A => B").check()
    assert any("unused" in record.message for record in caplog.records)
    assert {record.name for record in caplog.records} == {"conseq"}
