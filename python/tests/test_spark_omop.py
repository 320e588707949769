"""OMOP tables joined by Spark are the records that the import makes of them on one machine."""

import datetime
import pathlib
import random

import pytest

import conseq as cq

try:
    import pyarrow as pa
    import pyarrow.csv
    import pyspark  # noqa: F401
except ImportError:
    pytest.skip("PySpark is not installed: OMOP tables were not joined by Spark", allow_module_level=True)

from conseq import spark as cs
from test_spark import held, records_by_id, same

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


def same_records(spark_records, folder, **settings):
    """Whether records are those that the import makes of the tables in a folder: codes, dates, values, titles, own rules."""
    whole = cq.Cohort.from_omop(folder, **settings)
    written = cs.enforce(spark_records.persist(), cq.Rules.parse(""), no_own_rules=True)
    cohort = held(written)
    assert records_by_id(cohort) == records_by_id(whole)
    told = [one.codes() for one in (cohort, whole)]
    assert told[0]["found"] == told[1]["found"]
    assert cohort.to_arrow("codes").to_pylist() == whole.to_arrow("codes").to_pylist()
    for name in ("concepts", "scales"):
        tables = [one.to_arrow(name).to_pylist() if name in one.tables else None for one in (cohort, whole)]
        assert tables[0] == tables[1], name
    same(cs.describe(spark_records), whole.describe())
    # With the rules that the import knows of its records.
    same(cs.audit(spark_records, cq.Rules.parse("")), cq.audit(whole, cq.Rules.parse("")))
    spark_records.unpersist()
    return whole


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


#: Settings of the import, beside none.
SETTINGS = {1: {}, 2: {"ages": [], "gaps": False, "quantiles": 2, "min_patients": 3, "max_visits": 3, "truncate": 2}}


@pytest.mark.parametrize("seed", SETTINGS)
def test_random_tables(spark, tmp_path, seed):
    tables = random_tables(seed)
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, tmp_path / f"{name.upper()}.csv")
    frames = {name: spark.createDataFrame(table) for name, table in tables.items()}
    records = cs.Records.from_omop(frames, name="records", **SETTINGS[seed])
    same_records(records, tmp_path, **SETTINGS[seed])
    assert records.left_out["subjects whose sex is not known"] > 0
    if seed == 1:
        # A model of some of them is one of their dates, too.
        model = cq.Model.train(records.sample(40), generator="markov")
        assert any(record.get("times") for record in model.sample(5).to_records())


def test_where_rows_lie_does_not_matter(spark):
    """Many parts, few parts, one of which has no rows."""
    tables = random_tables(5, persons=30)
    found = []
    for parts in (1, 9):
        frames = {name: spark.createDataFrame(table).repartition(parts) for name, table in tables.items()}
        records = cs.Records.from_omop(frames, partitions=parts * 4)
        found.append((records.outline(), records.left_out, records_by_id(records.sample(30))))
    assert found[0] == found[1]


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
    same_records(cs.Records.from_omop(tables, name="records"), SHARED)


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
    with pytest.raises(cq.errors.DataError, match="'visit_start_date' of 'visit_occurrence' is of type string"):
        cs.Records.from_omop({"person": person, "visit_occurrence": visits, "drug_exposure": drugs})
    days = visits.withColumn("visit_start_date", visits["visit_start_date"].cast("date"))
    with pytest.raises(cq.errors.DataError, match="'drug_exposure_start_date' of 'drug_exposure' is of type string"):
        cs.Records.from_omop({"person": person, "visit_occurrence": days, "drug_exposure": drugs})
    with pytest.raises(cq.errors.InputError, match="no table of events"):
        cs.Records.from_omop({"person": person, "visit_occurrence": days})
    drugs = drugs.withColumn("drug_exposure_start_date", drugs["drug_exposure_start_date"].cast("date"))
    with pytest.raises(cq.errors.DataError, match="a person is listed twice in the table `person`"):
        cs.Records.from_omop({"person": person.union(person), "visit_occurrence": days, "drug_exposure": drugs})
    nobody = person.where("person_id > 1")
    with pytest.raises(cq.errors.DataError, match="no records: 2 rows of subjects that are not listed"):
        cs.Records.from_omop({"person": nobody, "visit_occurrence": days, "drug_exposure": drugs})
