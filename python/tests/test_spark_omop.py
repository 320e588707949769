"""OMOP tables joined by Spark are the records that the import makes of them on one machine."""

import datetime
import pathlib
import random
import re

import pytest

import conseq as cq

try:
    import pyarrow as pa
    import pyarrow.csv
    import pyspark  # noqa: F401
except ImportError:
    pytest.skip("PySpark is not installed: OMOP tables were not joined by Spark", allow_module_level=True)

from conseq import spark as cs
from test_spark import held, records_by_id

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared/data/outpatient/synthea1k_omop"
TABLES = (
    "person",
    "visit_occurrence",
    "condition_occurrence",
    "procedure_occurrence",
    "drug_exposure",
    "device_exposure",
    "observation",
    "measurement",
    "death",
    "concept",
)


def as_numbers(code):
    """A code without what the import makes of numbers, parts of values; none if it is nothing else, as stays are."""
    return "" if code.startswith("STAY//") else re.sub(r"//q[1-4]$", "", code)


def same(spark_records, folder):
    """Whether records are those of the import, but for the codes that it makes of numbers."""
    whole = cq.Cohort.from_omop(folder, ages=[], gaps=False)
    written = cs.enforce(spark_records.persist(), cq.Rules.parse(""), no_own_rules=True)
    cohort = held(written)
    found, known = records_by_id(cohort), records_by_id(whole)
    assert found.keys() == known.keys()
    for name, record in known.items():
        visits = [{as_numbers(code) for code in visit} - {""} for visit in record["visits"]]
        values = [{as_numbers(code): value for code, value in told.items()} for told in record.get("values", [])]
        record["visits"] = [sorted(visit) for visit in visits]
        if values:
            record["values"] = values
        found[name]["visits"] = [sorted(visit) for visit in found[name]["visits"]]
        assert found[name] == record, name
    listed = [
        {as_numbers(row["code"]): row["title"] for row in one.codes()["found"]} | {"": None} for one in (cohort, whole)
    ]
    assert listed[0] == listed[1]
    spark_records.unpersist()


def random_tables(seed, persons=60):
    """Tables as hospitals have them: encounters without an end, events without an encounter, on days of none, after death."""
    draw = random.Random(seed)
    begin = datetime.date(2019, 1, 1)

    def day(least=0, most=60):
        return begin + datetime.timedelta(days=draw.randint(least, most))

    tables = {
        "person": [],
        "visit_occurrence": [],
        "condition_occurrence": [],
        "measurement": [],
        "drug_exposure": [],
        "death": [],
    }
    number = 0
    for person in range(1, persons + 1):
        year = draw.choice([1950, 1980, 2019, 1800])
        tables["person"].append(
            {"person_id": person, "gender_concept_id": draw.choice([8507, 8532, 8532, 0]), "year_of_birth": year}
        )
        visits = []
        for _ in range(draw.randint(0, 4)):
            number += 1
            start = day()
            end = draw.choice([None, start, start + datetime.timedelta(days=draw.randint(1, 9))])
            visits.append(number)
            row = {"visit_occurrence_id": number, "person_id": person, "visit_start_date": start, "visit_end_date": end}
            tables["visit_occurrence"].append(row)

        def event(word, table, extra=None):
            concept, source = draw.choice([(201826, 0), (4, 44836914), (0, 45542738), (9, None), (0, 0)])
            row = {
                f"{table}_id": len(tables[table]) + 1,
                "person_id": person,
                f"{word}_concept_id": concept,
                f"{word}_source_concept_id": source,
                "visit_occurrence_id": draw.choice([*visits, None, 0, 99999]),
            }
            tables[table].append(row | (extra or {}))

        for _ in range(draw.randint(0, 6)):
            event("condition", "condition_occurrence", {"condition_start_date": day()})
        for _ in range(draw.randint(0, 3)):
            event("drug", "drug_exposure", {"drug_exposure_start_date": day()})
        for _ in range(draw.randint(0, 3)):
            value, result = draw.choice([(6.5, None), (None, 45884084), (None, None), (-1.25, 0)])
            told = {"measurement_date": day(), "value_as_number": value, "value_as_concept_id": result}
            event("measurement", "measurement", told)
        if draw.random() < 0.4:
            tables["death"].append({"person_id": person, "death_date": day(30, 75)})
    tables["concept"] = [
        {
            "concept_id": concept,
            "concept_name": name,
            "domain_id": domain,
            "vocabulary_id": system,
            "standard_concept": standard,
            "concept_code": code,
        }
        for concept, name, domain, system, standard, code in [
            (4, "The same again", "Condition", "SNOMED", "S", "44054006"),
            (201826, "Type 2 diabetes", "Condition", "SNOMED", "S", "44054006"),
            (45542738, "Dependence", "Observation", "ICD10CM", None, "Z99.9"),
            (45884084, "Positive", "Meas Value", "LOINC", "S", "LA6576-8"),
        ]
    ]
    return {name: pa.Table.from_pylist(rows) for name, rows in tables.items()}


@pytest.mark.parametrize("seed", [1, 2])
def test_random_tables(spark, tmp_path, seed):
    tables = random_tables(seed)
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, tmp_path / f"{name.upper()}.csv")
    frames = {name: spark.createDataFrame(table) for name, table in tables.items()}
    same(cs.Records.from_omop(frames), tmp_path)


@pytest.mark.skipif(not SHARED.exists(), reason="SKIPPED: the OMOP tables of Synthea are not there")
def test_tables_of_synthea(spark):
    tables = {}
    for name in TABLES:
        path = SHARED / f"{name.upper()}.csv.gz"
        if path.exists():
            frame = spark.read.csv(str(path), header=True, inferSchema=True)
            # A column without values is one of strings to Spark.
            kinds = {"_id": "long", "_datetime": "timestamp_ntz", "as_number": "double"}
            for column, kind in frame.dtypes:
                wanted = next((to for end, to in kinds.items() if column.endswith(end)), None)
                if wanted and kind == "string" and name != "concept":
                    frame = frame.withColumn(column, frame[column].cast(wanted))
            tables[name] = frame
    same(cs.Records.from_omop(tables), SHARED)


def test_tables_that_cannot_be_used(spark):
    person = spark.createDataFrame([(1, 8507, 1980)], "person_id long, gender_concept_id int, year_of_birth int")
    visits = spark.createDataFrame(
        [(1, 10, "2020-01-01")], "person_id long, visit_occurrence_id long, visit_start_date string"
    )
    drugs = spark.createDataFrame(
        [(1, 10, 5, "2020-01-01")],
        "person_id long, visit_occurrence_id long, drug_concept_id int, drug_exposure_start_date string",
    )
    with pytest.raises(cq.errors.InputError, match="visit_occurrence.*is missing"):
        cs.Records.from_omop({"person": person})
    with pytest.raises(cq.errors.InputError, match="no use for a table 'visits'"):
        cs.Records.from_omop({"person": person, "visits": visits})
    with pytest.raises(cq.errors.InputError, match="no DataFrame of Spark"):
        cs.Records.from_omop({"person": [1], "visit_occurrence": visits})
    with pytest.raises(cq.errors.DataError, match="'drug_exposure_start_date' of 'drug_exposure' is of type string"):
        cs.Records.from_omop({"person": person, "visit_occurrence": visits, "drug_exposure": drugs})
    with pytest.raises(cq.errors.InputError, match="no table of events"):
        cs.Records.from_omop({"person": person, "visit_occurrence": visits})
