//! Rows of OMOP tables that were joined elsewhere, in parts, are what the import makes of the tables on one machine.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use consequence_feedback::Unwatched;
use consequence_import::{
    ImportOptions, ImportSummary, JoinedCohort, JoinedConcept, JoinedOptions, JoinedRecords,
    JoinedRows, Source, open,
};
use consequence_record::calendar::{DAY, Date};
use consequence_tables::Dataset;
use consequence_tables::arrow::{self, EventBatches, RecordStream, TableOptions};
use consequence_testing::worlds::Choices;

use crate::common::put;

/// A row of a joined table.
#[derive(Clone, Debug, Default)]
struct Row {
    person: Option<i64>,
    kind: i32,
    visit: Option<i64>,
    begin: Option<i64>,
    end: Option<i64>,
    table: Option<i32>,
    concept: Option<i64>,
    source: Option<i64>,
    value: Option<f32>,
    result: Option<i64>,
    words: Option<String>,
    unit: Option<String>,
    unit_concept: Option<i64>,
}

const DAY_NUMBER: i64 = 18_000;

/// Tables as hospitals have them: encounters without an end, events without an encounter, of another's, on days of none,
/// before birth and after death; results in words, by concepts and in two units.
fn random_rows(choices: &mut Choices, persons: i64) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut number = 0;
    for person in 1..=persons {
        let row = |kind| Row { person: Some(person), kind, ..Row::default() };
        let day = |choices: &mut Choices| Some((DAY_NUMBER + choices.below(90) as i64) * DAY);
        if choices.below(12) > 0 {
            let sex = [8507, 8532, 8532, 8507, 0][choices.below(5)];
            let year = [1950, 1980, 2019, 1800, 2030][choices.below(5)];
            let birth =
                consequence_record::calendar::day(year, 1 + choices.below(12) as i64, 1).unwrap();
            rows.push(Row { concept: Some(sex), begin: Some(birth * DAY), ..row(0) });
        }
        let mut visits = vec![None, Some(0), Some(99_999)];
        for _ in 0..choices.below(5) {
            number += 1;
            let begin = day(choices);
            let end = match choices.below(4) {
                0 => None,
                1 => begin,
                2 => begin.map(|begin| begin - DAY),
                _ => begin.map(|begin| begin + choices.below(9) as i64 * DAY),
            };
            visits.push(Some(number));
            rows.push(Row { visit: Some(number), begin, end, ..row(1) });
        }
        for table in 0..6 {
            for _ in 0..choices.below(5) {
                let (concept, source) =
                    [(201_826, 0), (0, 44_836_914), (0, 45_542_738), (9, 4), (0, 0)]
                        [choices.below(5)];
                let mut event = Row {
                    visit: visits[choices.below(visits.len())],
                    begin: day(choices).filter(|_| choices.below(20) > 0),
                    table: Some(table),
                    concept: Some(concept),
                    source: Some(source),
                    ..row(2)
                };
                if table >= 4 {
                    match choices.below(6) {
                        0 => event.result = Some(45_884_084),
                        1 => {
                            event.words =
                                Some(["positive", "___", "q7", "0"][choices.below(4)].into())
                        }
                        2 => {}
                        _ => {
                            event.value = Some(choices.below(40) as f32 / 4.0 - 2.0);
                            match choices.below(4) {
                                0 => event.unit = Some("mg".into()),
                                1 => event.unit_concept = Some(8840),
                                2 => event.unit_concept = Some(7),
                                _ => {}
                            }
                        }
                    }
                }
                rows.push(event);
            }
        }
        if choices.below(3) == 0 {
            rows.push(Row { begin: day(choices), ..row(3) });
        }
    }
    rows
}

/// Concepts: two of one name, one of another domain than its table, one of no table, and two editions of ICD.
fn concepts() -> Vec<JoinedConcept> {
    let concept = |id: u64, [title, system, code, domain, standard]: [&str; 5]| JoinedConcept {
        id,
        title: title.into(),
        system: system.into(),
        code: code.into(),
        domain: domain.into(),
        standard: standard.into(),
    };
    vec![
        concept(4, ["The same again", "SNOMED", "44054006", "Condition", "S"]),
        concept(9, ["Height", "LOINC", "8302-2", "Meas Value", "S"]),
        concept(8840, ["milligram", "UCUM", "mg", "Unit", "S"]),
        concept(201_826, ["Type 2 diabetes", "SNOMED", "44054006", "Condition", "S"]),
        concept(44_836_914, ["Diabetes", "ICD9CM", "250.00", "Condition", ""]),
        concept(45_542_738, ["Dependence", "ICD10CM", "Z99.9", "Observation", ""]),
        concept(45_884_084, ["Positive", "LOINC", "LA6576-8", "Meas Value", "S"]),
    ]
}

const TABLES: [(&str, &str, &str); 6] = [
    ("CONDITION_OCCURRENCE", "condition", "condition_start_date"),
    ("PROCEDURE_OCCURRENCE", "procedure", "procedure_date"),
    ("DRUG_EXPOSURE", "drug", "drug_exposure_start_date"),
    ("DEVICE_EXPOSURE", "device", "device_exposure_start_date"),
    ("OBSERVATION", "observation", "observation_date"),
    ("MEASUREMENT", "measurement", "measurement_date"),
];

fn date(time: Option<i64>) -> String {
    time.map(|time| Date(time).to_string()).unwrap_or_default()
}

fn number<T: ToString>(number: Option<T>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

/// The same as tables in files.
fn put_tables(folder: &std::path::Path, rows: &[Row], concepts: &[JoinedConcept]) {
    let mut tables: BTreeMap<&str, String> = BTreeMap::new();
    let mut put_row = |name, head: &str, row: String| {
        let table = tables.entry(name).or_insert_with(|| format!("{head}\n"));
        writeln!(table, "{row}").unwrap();
    };
    for row in rows {
        let person = number(row.person);
        match row.kind {
            0 => {
                let born = date(row.begin);
                let row = format!("{person},{},{},{born}", number(row.concept), &born[..4]);
                put_row("PERSON", "person_id,gender_concept_id,year_of_birth,birth_datetime", row);
            }
            1 => {
                let head = "visit_occurrence_id,person_id,visit_start_date,visit_end_date";
                let row =
                    format!("{},{person},{},{}", number(row.visit), date(row.begin), date(row.end));
                put_row("VISIT_OCCURRENCE", head, row);
            }
            2 => {
                let at = row.table.unwrap() as usize;
                let (name, word, day) = TABLES[at];
                let mut head = format!(
                    "person_id,{word}_concept_id,{word}_source_concept_id,{day},visit_occurrence_id"
                );
                let [concept, source] = [row.concept, row.source].map(number);
                let mut line = format!(
                    "{person},{concept},{source},{},{}",
                    date(row.begin),
                    number(row.visit)
                );
                if at >= 4 {
                    let words = if at == 4 { "value_as_string" } else { "value_source_value" };
                    write!(head, ",value_as_number,value_as_concept_id,{words},unit_source_value,unit_concept_id").unwrap();
                    let told = [row.words.clone(), row.unit.clone()].map(Option::unwrap_or_default);
                    let [value, result] = [number(row.value), number(row.result)];
                    write!(
                        line,
                        ",{value},{result},{},{},{}",
                        told[0],
                        told[1],
                        number(row.unit_concept)
                    )
                    .unwrap();
                }
                put_row(name, &head, line);
            }
            _ => put_row("DEATH", "person_id,death_date", format!("{person},{}", date(row.begin))),
        }
    }
    for JoinedConcept { id, title, system, code, domain, standard } in concepts {
        let row = format!("{id},{title},{system},{code},{domain},{standard}");
        let head = "concept_id,concept_name,vocabulary_id,concept_code,domain_id,standard_concept";
        put_row("CONCEPT", head, row);
    }
    put_row("CONCEPT_ANCESTOR", "ancestor_concept_id,descendant_concept_id", "5,201826".into());
    for (name, text) in tables {
        put(&folder.join(format!("{name}.csv")), &text);
    }
}

fn batch(rows: &[Row]) -> RecordBatch {
    let long = |of: fn(&Row) -> Option<i64>| {
        Arc::new(Int64Array::from_iter(rows.iter().map(of))) as ArrayRef
    };
    let time = |of: fn(&Row) -> Option<i64>| {
        Arc::new(TimestampMicrosecondArray::from_iter(rows.iter().map(of))) as ArrayRef
    };
    let text = |of: fn(&Row) -> Option<&String>| {
        Arc::new(StringArray::from_iter(rows.iter().map(|row| of(row).map(String::as_str))))
            as ArrayRef
    };
    RecordBatch::try_from_iter_with_nullable([
        ("person", long(|row| row.person), true),
        ("kind", Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.kind))), true),
        ("visit", long(|row| row.visit), true),
        ("begin", time(|row| row.begin), true),
        ("end", time(|row| row.end), true),
        ("table", Arc::new(Int32Array::from_iter(rows.iter().map(|row| row.table))), true),
        ("concept", long(|row| row.concept), true),
        ("source", long(|row| row.source), true),
        ("value", Arc::new(Float32Array::from_iter(rows.iter().map(|row| row.value))), true),
        ("result", long(|row| row.result), true),
        ("words", text(|row| row.words.as_ref()), true),
        ("unit", text(|row| row.unit.as_ref()), true),
        ("unit_concept", long(|row| row.unit_concept), true),
    ])
    .unwrap()
}

/// Whole persons in parts, each in batches that cut persons.
fn parts(rows: &[Row], parts: usize, batch_rows: usize) -> Vec<Vec<RecordBatch>> {
    let mut of_parts = vec![Vec::new(); parts];
    for person in rows.chunk_by(|one, other| one.person == other.person) {
        let id = person[0].person.unwrap() as usize;
        of_parts[id * 7 % parts].extend_from_slice(person);
    }
    of_parts.iter().map(|rows| rows.chunks(batch_rows).map(batch).collect()).collect()
}

/// What the rows become in parts: a cohort, by the events of its records.
fn joined(
    options: &JoinedOptions,
    parts: &[Vec<RecordBatch>],
) -> (Dataset, ImportSummary, Option<String>) {
    let batches = |part: &[RecordBatch]| part.iter().cloned().map(Ok).collect::<Vec<_>>();
    let counted: Vec<Vec<u8>> =
        parts.iter().rev().map(|part| JoinedRows::count(options, batches(part)).unwrap()).collect();
    let met = JoinedCohort::concepts_met(&counted).unwrap();
    let concepts =
        concepts().into_iter().rev().filter(|concept| met.contains(&concept.id)).collect();
    let cohort =
        JoinedCohort::new(options.clone(), &counted, concepts, vec![(5, 201_826)]).unwrap();
    let elsewhere = JoinedCohort::from_bytes(&cohort.to_bytes()).unwrap();
    let tallied: Vec<Vec<u8>> =
        parts.iter().map(|part| elsewhere.tally(batches(part)).unwrap()).collect();
    let cohort = cohort.tallied(&tallied).unwrap();
    let elsewhere = JoinedCohort::from_bytes(&cohort.to_bytes()).unwrap();
    let outline = cohort.outline();
    let told = arrow::code_tables(&outline, None).unwrap();
    let (mut events, mut splits) = (Vec::new(), BTreeMap::new());
    let elsewhere = Arc::new(elsewhere);
    for part in parts {
        let mut records = JoinedRecords::new(Arc::clone(&elsewhere));
        let mut made: Vec<Dataset> =
            part.iter().filter_map(|batch| records.push(batch).unwrap()).collect();
        made.extend(records.finish().unwrap());
        for made in made {
            let options = TableOptions { codes: arrow::CodeType::Text, ..TableOptions::default() };
            events.extend(EventBatches::new(&made, &options).unwrap().map(Result::unwrap));
            let id = |at| (made.cohort.id(at).to_owned(), made.splits[at]);
            splits.extend((0..made.cohort.len()).map(id));
        }
    }
    let tables = arrow::Tables { events, ..told };
    let mut read = arrow::read(&tables, &arrow::ReadOptions::default()).unwrap();
    read.splits = (0..read.cohort.len()).map(|at| splits[read.cohort.id(at)]).collect();
    // A reader that takes batches as they come is content with them, too.
    assert!(
        RecordStream::with_codes(tables.codes.unwrap(), &arrow::ReadOptions::default()).is_ok()
    );
    (read, cohort.summary().clone(), cohort.own_rules())
}

/// A cohort by names: each record's static codes, visits, times, values and split.
fn told(dataset: &Dataset) -> BTreeMap<String, String> {
    let name = |code: &consequence_record::Code| dataset.vocabulary.name(*code).to_owned();
    let one = |at: usize| {
        let record = dataset.cohort.record(at);
        let visits: Vec<Vec<String>> = (0..record.len())
            .map(|visit| {
                let mut names: Vec<String> = record.visit(visit).iter().map(name).collect();
                names.sort();
                names
            })
            .collect();
        let details = dataset.details_of(at);
        let mut events: Vec<String> = details
            .events
            .iter()
            .map(|event| {
                format!("{} {} {:?} {:?}", event.visit, name(&event.code), event.time, event.value)
            })
            .collect();
        events.sort();
        let text = format!(
            "{visits:?} {:?} {:?} {:?} {events:?} {:?} {}",
            details.birth,
            details.times,
            details.ends,
            dataset.splits[at],
            record.ended()
        );
        (dataset.cohort.id(at).to_owned(), text)
    };
    (0..dataset.cohort.len()).map(one).collect()
}

fn codes(dataset: &Dataset) -> Vec<String> {
    let vocabulary = &dataset.vocabulary;
    let one = |code| {
        let (title, concept, scale) =
            (dataset.titles.get(&code), dataset.concepts.get(&code), dataset.scales.get(&code));
        format!(
            "{} {:?} {title:?} {concept:?} {scale:?}",
            vocabulary.name(code),
            vocabulary.kind(code)
        )
    };
    vocabulary.codes().map(one).collect()
}

#[test]
fn parts_of_joined_rows_are_the_import() {
    for seed in 0..12 {
        let mut choices = Choices::new(seed, 0);
        let rows = random_rows(&mut choices, 40 + 60 * (seed as i64 % 3));
        let settings = [
            JoinedOptions::default(),
            JoinedOptions {
                age_bands: Some(Vec::new()),
                gaps: false,
                quantiles: 0,
                ..JoinedOptions::default()
            },
            JoinedOptions {
                max_visits: Some(3),
                min_patients: 4,
                quantiles: 7,
                truncate: Some(2),
                sex: false,
                ..JoinedOptions::default()
            },
        ];
        let options = &settings[seed as usize % 3];
        let of_import = ImportOptions::from(options.clone());
        let folder = tempfile::tempdir().unwrap();
        put_tables(folder.path(), &rows, &concepts());
        let import = open(&Source::Omop, folder.path(), &of_import, &Unwatched).unwrap();
        let (whole, summary) = import.collect().unwrap();
        for (count, batch_rows) in [(1, 1_000_000), (5, 3), (64, 97)] {
            let (found, seen, own_rules) = joined(options, &parts(&rows, count, batch_rows));
            assert_eq!(codes(&found), codes(&whole), "{seed}");
            assert_eq!(told(&found), told(&whole), "{seed}");
            assert_eq!(own_rules, import.own_rules(), "{seed}");
            assert_eq!(seen.patients, summary.patients);
            assert_eq!((seen.tests, seen.texts), (summary.tests, summary.texts));
            let left_out = |summary: &ImportSummary| {
                let mut left = summary.dropped.clone();
                // Told of records alone, which are made in the last round.
                left.retain(|reason, _| *reason != consequence_import::Reason::RareOccurrences);
                left
            };
            assert_eq!(left_out(&seen), left_out(&summary), "{seed}");
        }
    }
}

#[test]
fn rows_that_cannot_be_used() {
    let options = JoinedOptions::default();
    let person = Row { person: Some(1), begin: Some(0), concept: Some(8532), ..Row::default() };
    let refused =
        |rows: RecordBatch| JoinedRows::count(&options, [Ok(rows)]).unwrap_err().to_string();
    let twice = refused(batch(&[person.clone(), person.clone()]));
    assert!(twice.starts_with("a person is listed twice in the table `person`"), "{twice}");
    let nobody = refused(batch(&[Row { person: None, ..person.clone() }]));
    assert!(nobody.starts_with("column `person_id` is empty"), "{nobody}");
    let unnumbered =
        refused(batch(&[person.clone(), Row { person: Some(1), kind: 1, ..Row::default() }]));
    assert!(unnumbered.starts_with("column `visit_occurrence_id` is empty"), "{unnumbered}");
    let missing = refused(batch(&[person]).project(&[0, 1]).unwrap());
    assert!(missing.starts_with("the rows have no column `visit` of type Int64"), "{missing}");
    let none = JoinedCohort::new(options.clone(), &[], Vec::new(), Vec::new()).unwrap();
    let empty = none.tally([]).unwrap();
    let empty = none.tallied(&[empty]).unwrap_err().to_string();
    assert!(empty.starts_with("no records: it is empty"), "{empty}");
    let damaged = JoinedCohort::from_bytes(&[7; 40]).unwrap_err().to_string();
    assert!(damaged.starts_with("counts that are damaged"), "{damaged}");
    let backwards = JoinedOptions { age_bands: Some(vec![40, 20]), ..options };
    let backwards =
        JoinedCohort::new(backwards, &[], Vec::new(), Vec::new()).unwrap_err().to_string();
    assert!(backwards.starts_with("the bounds of the age bands do not rise"), "{backwards}");
}
