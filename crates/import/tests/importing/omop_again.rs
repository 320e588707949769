//! Cohorts that were written as tables of OMOP come back as they were: codes, dates, values, concepts,
//! splits, and codes that no record has.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{plain, told};
use consequence_feedback::Unwatched;
use consequence_import::{ImportOptions, Source, open};
use consequence_record::calendar::DAY;
use consequence_record::{
    Code, Cohort, CohortDetails, Concept, Details, Domain, EventDetail, Kind, Record, Scale, Split,
    Vocabulary,
};
use consequence_tables::Dataset;
use consequence_tables::export::{self, ExportOptions};
use consequence_testing::worlds::Choices;

const STATICS: [&str; 8] = [
    "AGE//20-40",
    "AGE//40-60",
    "ETHNICITY//HISPANIC OR LATINO",
    "NOTE//static",
    "RACE//ASIAN",
    "SEX//F",
    "SEX//M",
    "SEX//OTHER",
];

/// The codes of encounters, with their concepts where they have any.
const ENCOUNTERS: [(&str, u64, Option<Domain>); 22] = [
    ("CVX//140", 40_213_154, Some(Domain::Drug)),
    ("CUT", 0, None),
    ("DEATH", 0, None),
    ("Device//a", 21_332_862, Some(Domain::Device)),
    ("GAP//1d", 0, None),
    ("GAP//2-7d", 0, None),
    ("ICD10CM//E119", 0, None),
    ("LAB//50912//q1", 0, None),
    ("LAB//50912//q2", 0, None),
    ("LAB//50912//NEG", 0, None),
    ("LOINC//2339-0//q1", 3_004_501, Some(Domain::Measurement)),
    ("LOINC//2339-0//q2", 3_004_501, Some(Domain::Measurement)),
    ("LOINC//5778-6//Yellow, clear", 3_001_122, Some(Domain::Measurement)),
    ("OMOP//4240902", 4_240_902, Some(Domain::Observation)),
    ("RX//in,su\"lin | \n", 0, None),
    ("SMOKER", 0, None),
    ("SNOMED//44054006", 201_826, Some(Domain::Condition)),
    ("SNOMED//73761001", 4_249_893, Some(Domain::Procedure)),
    ("SNOMED//999", 45_542_738, Some(Domain::Condition)),
    ("STAY//0d", 0, None),
    ("VISIT_TYPE//INPATIENT VISIT", 9201, None),
    ("VISIT_TYPE//x|y", 0, None),
];

/// The code that only a concept of the source stands for.
const OF_SOURCE: &str = "SNOMED//999";

/// Names that CSV can hold and that messages show; a line break is no part of a code.
fn name(text: &str) -> String {
    text.replace('\n', "").trim().to_owned()
}

fn cohort(case: u64) -> Dataset {
    let mut choices = Choices::new(19, case);
    let mut statics: Vec<String> = STATICS.iter().map(|text| name(text)).collect();
    let mut encounters: Vec<String> = ENCOUNTERS.iter().map(|entry| name(entry.0)).collect();
    statics.sort();
    encounters.sort();
    let codes = statics.iter().map(|name| (name, Kind::Static));
    let codes = codes.chain(encounters.iter().map(|name| (name, Kind::Encounter)));
    let vocabulary = Arc::new(Vocabulary::new(codes).unwrap());
    let (dated, numbers) = (choices.probability(0.8), choices.probability(0.5));
    let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
    for number in 1..=choices.between(1, 6) {
        let id = if numbers { format!("{}", number * 7) } else { format!("p-{number}, \"x\"") };
        let (visits, known) = record(&vocabulary, dated, &mut choices);
        let record = Record::new(visits);
        cohort.push(&id, &if choices.probability(0.3) { record.cut() } else { record });
        details.push(known.view());
    }
    let code = |text: &str| vocabulary.code(&name(text)).unwrap();
    let concepts = ENCOUNTERS.iter().filter(|entry| entry.1 > 0).map(|&(text, id, domain)| {
        let result = text.starts_with("LOINC//5778").then_some(4_164_217);
        let source = text == OF_SOURCE;
        (code(text), Concept { id, domain, source, result, ..Concept::default() })
    });
    let scale = |text: &str, above, up_to| {
        let test = text.rsplit_once("//").unwrap().0.to_owned();
        let unit = text.starts_with("LOINC").then(|| "mg/dL".to_owned());
        (code(text), Scale { test, unit, above, up_to, count: 7 })
    };
    let titles = [
        (code("SNOMED//44054006"), "Type 2 diabetes, \"mellitus\"".to_owned()),
        (code("LAB//50912//q1"), "Creatinine".to_owned()),
        (code("LAB//50912//q2"), "Creatinine".to_owned()),
    ];
    // Any division, whatever the hash of an identifier says.
    let splits = (0..cohort.len()).map(|_| Split::ALL[choices.below(3)]).collect();
    Dataset {
        splits,
        concepts: concepts.collect(),
        titles: titles.into(),
        scales: BTreeMap::from([
            scale("LAB//50912//q1", None, Some(0.1)),
            scale("LAB//50912//q2", Some(0.1), None),
            // Cut points that too few patients stand for are not told.
            scale("LOINC//2339-0//q1", None, None),
            scale("LOINC//2339-0//q2", None, None),
        ]),
        details: Some(details),
        ..Dataset::new(cohort, vocabulary)
    }
}

/// A record with anything that one can have.
fn record(
    vocabulary: &Vocabulary,
    dated: bool,
    choices: &mut Choices,
) -> (Vec<Vec<Code>>, Details) {
    let mut known = Details::default();
    let mut now = choices.below(20_000) as i64 * DAY;
    if dated && choices.probability(0.7) {
        known.birth = Some(now - choices.below(30_000) as i64 * DAY);
    }
    let mut visits = Vec::new();
    let mut ends = Vec::new();
    for visit in 0..=choices.between(1, 5) {
        let of_visit = |code: &Code| vocabulary.kind(*code) == Kind::of_visit(visit);
        let all = vocabulary.codes().filter(|&code| code != vocabulary.end()).filter(of_visit);
        let codes: Vec<Code> = all.filter(|_| choices.probability(0.3)).collect();
        if visit > 0 {
            // Several on a day, and at any time of it.
            now += choices.below(4) as i64 * DAY / 2 + choices.below(3) as i64 * 1_234_567;
            ends.push(choices.probability(0.5).then(|| now + choices.below(4) as i64 * DAY));
            known.times.push(now);
        }
        for &code in &codes {
            let moment = now + choices.between(1, 90_000) as i64 * 1_000_003;
            let time = Some(moment).filter(|_| dated && visit > 0 && choices.probability(0.2));
            let value = [0.1, -3.25, 1e7, 120.0][choices.below(4)];
            let value = Some(value).filter(|_| choices.probability(0.3));
            if time.is_some() || value.is_some() {
                known.events.push(EventDetail { visit: visit as u32, code, time, value });
            }
        }
        visits.push(codes);
    }
    if !dated {
        known.times.clear();
        ends.clear();
    }
    if ends.iter().any(Option::is_some) {
        known.ends = ends;
    }
    (visits, known)
}

/// What a code is: its title, concept and scale.
type Facts = BTreeMap<String, (Option<String>, Option<Concept>, Option<Scale>)>;

fn facts(dataset: &Dataset) -> Facts {
    let of = |code: Code| {
        let concept = dataset.concepts.get(&code).cloned();
        let known =
            (dataset.titles.get(&code).cloned(), concept, dataset.scales.get(&code).cloned());
        (dataset.vocabulary.name(code).to_owned(), known)
    };
    // A race has a concept by its word, and a kind of visit with a value is an observation.
    let told = |code: &Code| !dataset.vocabulary.name(*code).starts_with(['R', 'E', 'V']);
    dataset.vocabulary.codes().filter(told).map(of).collect()
}

fn again(dataset: &Dataset, parquet: bool, options: &ImportOptions) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("omop");
    export::omop(&path, dataset, &ExportOptions { parquet, ..ExportOptions::default() }).unwrap();
    let (again, summary) =
        open(&Source::Omop, &path, options, &Unwatched).unwrap().collect().unwrap();
    // A value has a row of its own beside that of a procedure, and beside that of a death.
    let joined = |reason: &consequence_import::Reason| {
        matches!(reason, consequence_import::Reason::Repeated)
    };
    assert!(summary.dropped.keys().all(joined), "{:?}", summary.dropped);
    assert!(summary.unread_tables.is_empty(), "{:?}", summary.unread_tables);
    again
}

#[test]
fn what_is_written_comes_back() {
    for case in 0..500 {
        let dataset = cohort(case);
        let back = again(&dataset, case % 2 == 1, &plain());
        let sorted = |dataset: &Dataset| {
            let ended = dataset.cohort.records().map(|record| record.ended());
            let mut lines: Vec<(String, bool)> = told(dataset).into_iter().zip(ended).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&back), sorted(&dataset), "case {case}");
        assert_eq!(facts(&back), facts(&dataset), "case {case}");
        assert_eq!(back.vocabulary, dataset.vocabulary, "case {case}");
        let splits = |dataset: &Dataset| -> BTreeMap<String, Split> {
            let ids = (0..dataset.cohort.len()).map(|index| dataset.cohort.id(index).to_owned());
            ids.zip(dataset.splits.iter().copied()).collect()
        };
        assert_eq!(splits(&back), splits(&dataset), "case {case}");
        assert_eq!(back.ordinal_time(), dataset.ordinal_time(), "case {case}");
    }
}

#[test]
fn a_newer_format_is_refused_and_so_is_a_scale_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("omop");
    export::omop(&path, &cohort(1), &ExportOptions::default()).unwrap();
    let notes = path.join("metadata.csv");
    let text = std::fs::read_to_string(&notes).unwrap();
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        std::fs::write(&notes, text.replacen(from, to, 1)).unwrap();
        open(&Source::Omop, &path, &plain(), &Unwatched).unwrap_err().to_string()
    };
    let newer = refused("consequence_format,1,", "consequence_format,7,");
    assert!(newer.starts_with("tables of format 7, which a newer version"), "{newer}");
    assert!(newer.ends_with("metadata.csv:2"), "{newer}");
    let broken = refused("\"\"count\"\"", "\"\"sum\"\"");
    assert!(
        broken.contains("a scale that is none") && broken.contains("metadata.csv:"),
        "{broken}"
    );
    let broken = refused("\"\"static\"\"", "\"\"fixed\"\"");
    assert!(
        broken.contains("a code without a record that is none") && broken.contains("metadata.csv:"),
        "{broken}"
    );
}

#[test]
fn codes_without_a_record_are_left_out_where_codes_of_few_patients_are() {
    let dataset = cohort(1);
    let options = ImportOptions { min_patients: 1, ..plain() };
    let back = again(&dataset, false, &options);
    let has = |code: Code| {
        let mut records = back.cohort.records();
        records.any(|record| record.visits().flatten().any(|&one| one == code))
    };
    assert!(back.vocabulary.codes().all(|code| code == back.vocabulary.end() || has(code)));
    assert!(back.vocabulary.codes().count() < dataset.vocabulary.codes().count());
}
