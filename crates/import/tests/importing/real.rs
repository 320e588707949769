//! The importers on real and published synthetic data, against figures that were computed apart
//! from them. Without the data the tests say that they were skipped.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use consequence_feedback::Unwatched;
use consequence_import::{
    CodeMap, CsvColumns, ImportLimits, ImportOptions, ImportSummary, Reason, Source, open,
};
use consequence_record::{Kind, Split};
use consequence_tables::Dataset;
use consequence_testing::shared;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;

fn run(source: Source, path: &PathBuf, options: &ImportOptions) -> (Dataset, ImportSummary) {
    open(&source, path, options, &Unwatched).unwrap().collect().unwrap()
}

/// Different codes and their uses in visits, by the part of the name before `//`.
fn by_system(dataset: &Dataset) -> BTreeMap<String, (usize, usize)> {
    let mut uses = vec![0; dataset.vocabulary.len()];
    for record in dataset.cohort.records() {
        for code in record.visits().flatten() {
            uses[code.index()] += 1;
        }
    }
    let mut found: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for code in dataset.vocabulary.codes().filter(|code| *code != dataset.vocabulary.end()) {
        let system = dataset.vocabulary.name(code).split("//").next().unwrap().to_owned();
        let entry = found.entry(system).or_default();
        entry.0 += 1;
        entry.1 += uses[code.index()];
    }
    found
}

/// How often a code is there.
fn count(dataset: &Dataset, name: &str) -> usize {
    let code = dataset.vocabulary.code(name).unwrap_or_else(|| panic!("{name} is not there"));
    let codes = dataset.cohort.records().flat_map(|record| record.visits().flatten());
    codes.filter(|found| **found == code).count()
}

fn counts(dataset: &Dataset, system: &str, expected: &[(&str, usize)]) {
    for (name, times) in expected {
        assert_eq!(count(dataset, &format!("{system}//{name}")), *times, "{system}//{name}");
    }
}

/// The sum of the times of encounters that ended, which are those of tables of admissions.
fn sum_of_admissions(dataset: &Dataset) -> i128 {
    let details = (0..dataset.cohort.len()).map(|record| dataset.details_of(record));
    let ended = details.flat_map(|details| details.times.iter().zip(details.ends));
    ended.filter(|(_, end)| end.is_some()).map(|(&time, _)| i128::from(time)).sum()
}

fn sum_of_times(dataset: &Dataset) -> i128 {
    let times = dataset.details.as_ref().unwrap();
    (0..times.len()).flat_map(|record| times.of(record).times).map(|&time| i128::from(time)).sum()
}

#[test]
fn mimic3() {
    let Some(path) = shared("data/inpatient/mimic3_demo") else { return };
    let (dataset, summary) = run(Source::Mimic3, &path, &ImportOptions::default());
    // 129 admissions and 61 deaths outside of them; 6723 codes of rows, 100 deaths, 90 gaps and 129 stays.
    assert_eq!((summary.patients, summary.visits, summary.codes), (100, 189, 7041));
    assert_eq!((summary.empty_visits, summary.ends, summary.births), (0, 129, 92));
    assert_eq!((summary.years, summary.after_death), (Some((2102, 2202)), 0));
    let systems = by_system(&dataset);
    assert_eq!(
        (systems["DEATH"], systems["GAP"], systems["STAY"]),
        ((1, 100), (16, 89), (12, 129))
    );
    counts(&dataset, "GAP", &[("4-7d", 1), ("60-90d", 13), ("1095-1825d", 11), ("1825-3650d", 2)]);
    counts(&dataset, "STAY", &[("0d", 3), ("3d", 19), ("7-10d", 24), ("60d+", 1)]);
    assert_eq!(systems["ICD9CM"], (581, 1761));
    assert_eq!(systems["ICD9PROC"], (164, 486));
    assert_eq!(systems["RX"], (570, 4436));
    counts(&dataset, "DISCHARGE", &[("EXPIRED", 40)]);
    counts(&dataset, "SEX", &[("F", 55), ("M", 45)]);
    let ages = [("12-18", 1), ("18-40", 5), ("40-60", 15), ("60-80", 37), ("80-100", 42)];
    counts(&dataset, "AGE", &ages);
    assert_eq!(summary.splits, [83, 9, 8]);
    assert_eq!(sum_of_admissions(&dataset), 750_131_986_140_000_000);
    let titled = |code: &_| dataset.vocabulary.name(*code).starts_with("ICD9CM//");
    assert_eq!(dataset.titles.keys().filter(|code| titled(code)).count(), 561);
    // A code twice in an admission is one code of the visit.
    assert_eq!(summary.dropped(Reason::Repeated), 506 - 486 + 10_398 - 4436);
    assert_eq!(summary.dropped(Reason::EarlyTime), 1);
    assert_eq!(summary.dropped.len(), 2, "{summary}");
    assert_eq!(summary.tables.first(), Some(&("PATIENTS".to_owned(), 100)));
}

#[test]
fn mimic3_with_options() {
    let Some(path) = shared("data/inpatient/mimic3_demo") else { return };
    let options = ImportOptions {
        truncate: Some(3),
        min_patients: 5,
        max_visits: Some(2),
        ..ImportOptions::default()
    };
    let options_without_cut = ImportOptions { max_visits: None, ..options.clone() };
    let (dataset, summary) = run(Source::Mimic3, &path, &options_without_cut);
    let systems = by_system(&dataset);
    assert_eq!((systems["ICD9CM"], systems["ICD9PROC"]), ((71, 1204), (19, 299)));
    assert_eq!((systems["RX"], systems["DISCHARGE"]), ((176, 3671), (1, 40)));
    assert_eq!(summary.dropped(Reason::RareCodes), 954 - 267);
    assert_eq!(summary.dropped(Reason::RareOccurrences), 6548 - 5214);
    assert_eq!((systems["GAP"], systems["STAY"]), ((16, 89), (12, 129)));

    let (dataset, summary) = run(Source::Mimic3, &path, &options);
    assert_eq!((summary.visits, summary.cut), (189 - 22, 7));
    assert_eq!(summary.dropped(Reason::CutVisits), 22);
    assert_eq!(dataset.cohort.records().filter(|record| !record.ended()).count(), 7);

    let whole = ImportOptions { truncate: Some(3), ..ImportOptions::default() };
    let (dataset, _) = run(Source::Mimic3, &path, &whole);
    assert_eq!(by_system(&dataset)["ICD9CM"], (275, 1624));

    let dropping = ImportOptions { min_patients: 5, drop_empty: true, ..ImportOptions::default() };
    let (_, summary) = run(Source::Mimic3, &path, &dropping);
    // What is left of the rows, deaths, gaps and stays.
    assert_eq!(summary.vocabulary, 264 + 1 + 16 + 12);
    assert_eq!(summary.codes, 4891 + 100 + (188 - 100) + 128);
    assert_eq!((summary.visits, summary.dropped(Reason::EmptyVisits)), (188, 1));
}

#[test]
fn mimic3_as_phecodes() {
    let Some(path) = shared("data/inpatient/mimic3_demo") else { return };
    let Some(map) = shared("data/rules/phecode/phecode_map_v1_2_icd9.csv.gz") else { return };
    let mut map = CodeMap::read(map, None, &ImportLimits::default()).unwrap();
    let options = ImportOptions { map: Some(map.clone()), ..ImportOptions::default() };
    let (dataset, _) = run(Source::Mimic3, &path, &options);
    let systems = by_system(&dataset);
    assert_eq!((systems["PHECODE"], systems["ICD9CM"]), ((384, 1644), (34, 59)));
    assert_eq!(systems["ICD9PROC"], (164, 486));
    map.drop_unmapped = true;
    let options = ImportOptions { map: Some(map), ..ImportOptions::default() };
    let (dataset, summary) = run(Source::Mimic3, &path, &options);
    assert!(!by_system(&dataset).contains_key("ICD9CM"));
    assert_eq!(summary.dropped(Reason::Unmapped), 59);
    let code = dataset.vocabulary.code("PHECODE//250.2").unwrap();
    assert_eq!(dataset.titles[&code], "Type 2 diabetes");
}

#[test]
fn mimic4() {
    let Some(path) = shared("data/inpatient/mimic4_demo") else { return };
    let (dataset, summary) = run(Source::Mimic4, &path, &ImportOptions::default());
    // 275 admissions and 16 deaths outside of them; 4521 codes of rows, 31 deaths, 191 gaps, 275 stays and editions.
    assert_eq!((summary.patients, summary.visits, summary.codes), (100, 291, 5293));
    assert_eq!((summary.ends, summary.births), (275, 100));
    let systems = by_system(&dataset);
    assert_eq!(
        (systems["DEATH"], systems["GAP"], systems["STAY"]),
        ((1, 31), (18, 191), (11, 275))
    );
    counts(&dataset, "GAP", &[("0d", 1), ("1d", 1), ("30-45d", 19), ("1095-1825d", 6)]);
    counts(&dataset, "STAY", &[("0d", 13), ("5-7d", 49), ("30-60d", 5)]);
    assert_eq!((systems["ICD9CM"], systems["ICD10CM"]), ((738, 2193), (734, 2313)));
    counts(&dataset, "EDITION", &[("ICD9", 152), ("ICD10", 123)]);
    counts(&dataset, "DISCHARGE", &[("EXPIRED", 15)]);
    counts(&dataset, "SEX", &[("F", 43), ("M", 57)]);
    counts(&dataset, "AGE", &[("18-40", 8), ("40-60", 34), ("60-80", 42), ("80-100", 16)]);
    assert_eq!(summary.splits, [83, 10, 7]);
    // The sum of the true admission times, which the dates of two-digit years are restored to.
    assert_eq!(sum_of_admissions(&dataset), 1_591_912_492_680_000_000);
    assert_eq!(sum_of_times(&dataset), 1_686_860_476_680_000_000);
    let ends = (0..100).flat_map(|record| dataset.details_of(record).ends.iter().flatten());
    assert_eq!(ends.map(|&end| i128::from(end)).sum::<i128>(), 1_592_075_855_280_000_000);
    let options = ImportOptions { truncate: Some(3), ..ImportOptions::default() };
    let (dataset, _) = run(Source::Mimic4, &path, &options);
    let systems = by_system(&dataset);
    assert_eq!((systems["ICD9CM"], systems["ICD10CM"]), ((330, 2027), (379, 2133)));
}

#[test]
fn mimic4_of_another_tool() {
    let file = "data/inpatient/mimic4_demo/mimic_iv_demo_meds_events.parquet";
    let Some(path) = shared(file) else { return };
    let (dataset, summary) = run(Source::Meds, &path, &ImportOptions::default());
    assert_eq!((summary.patients, summary.births), (100, 100));
    counts(&dataset, "SEX", &[("F", 43), ("M", 57)]);
    assert_eq!(count(&dataset, "DEATH"), 31);
    // Infusions end and people are moved on the day after a death in the night.
    assert_eq!((summary.after_death, summary.told_late), (0, 8));
    assert!(dataset.vocabulary.code("MEDS_BIRTH").is_none());
    // Every value of the file is in one part of its test.
    assert_eq!(dataset.scales.values().map(|scale| scale.count).sum::<u64>(), 405_236);
    assert_eq!(summary.dropped(Reason::NoValue), 0);
    let mut values = 0;
    for record in 0..dataset.cohort.len() {
        let details = dataset.details_of(record);
        for event in details.events {
            let Some(value) = event.value else { continue };
            values += 1;
            assert!(dataset.scales[&event.code].holds(value));
            assert!(
                dataset.cohort.record(record).visit(event.visit as usize).contains(&event.code)
            );
        }
    }
    assert_eq!(summary.values, values);
    for code in dataset.vocabulary.codes() {
        let name = dataset.vocabulary.name(code);
        assert!(!name.ends_with("//q5"), "{name}");
    }
}

#[test]
fn omop() {
    let Some(path) = shared("data/outpatient/synthea1k_omop") else { return };
    let (dataset, summary) = run(Source::Omop, &path, &ImportOptions::default());
    // 51,688 codes of rows and deaths, 35,665 gaps and 32,153 stays.
    assert_eq!((summary.patients, summary.visits, summary.codes), (1129, 36_794, 119_506));
    assert_eq!((summary.empty_visits, summary.vocabulary), (4630, 490 + 40 + 11));
    assert_eq!(summary.dropped(Reason::NoVisits), 1);
    // Devices have dates that no other table knows of.
    assert_eq!(summary.dropped(Reason::BeforeBirth), 1220);
    assert_eq!(summary.unread_tables, ["OBSERVATION_PERIOD.csv.gz"]);
    assert_eq!(summary.splits, [877, 133, 119]);
    // Some rows are a day and more before the visit that they belong to.
    assert_eq!(summary.dropped(Reason::EarlyTime), 1431 + 3664 + 4961 + 1552);
    let systems = by_system(&dataset);
    assert_eq!((systems["GAP"], systems["STAY"]), ((40, 35_665), (11, 32_153)));
    counts(&dataset, "GAP", &[("0d", 247), ("28d", 2612), ("371d", 2009), ("3650d+", 847)]);
    counts(&dataset, "STAY", &[("0d", 30_338), ("1d", 1504), ("14-21d", 111), ("60d+", 8)]);
    assert_eq!((systems["SNOMED"], systems["RxNorm"]), ((245, 25_992), (127, 7804)));
    assert_eq!((systems["CVX"], systems["OMOP"]), ((18, 13_797), (4, 368)));
    assert_eq!((systems["dm+d"], systems["HCPCS"]), ((92, 3465), (3, 120)));
    assert_eq!(systems["DEATH"], (1, 142));
    counts(&dataset, "SEX", &[("F", 558), ("M", 571)]);
    counts(
        &dataset,
        "AGE",
        &[("0-1", 268), ("1-5", 239), ("5-12", 206), ("12-18", 129), ("18-40", 273), ("40-60", 11)],
    );
    assert_eq!(sum_of_times(&dataset), 44_603_234_668_800_000_000);
    assert_eq!(dataset.cohort.longest(), 477);
    let bronchitis = dataset.vocabulary.code("SNOMED//10509002").unwrap();
    assert!(
        dataset.titles[&bronchitis].contains("bronchitis"),
        "{:?}",
        dataset.titles[&bronchitis]
    );

    let options = ImportOptions { drop_empty: true, min_patients: 5, ..ImportOptions::default() };
    let (dataset, summary) = run(Source::Omop, &path, &options);
    let gaps = summary.visits - summary.patients;
    assert_eq!(summary.codes, 51_187 + gaps + summary.ends);
    assert_eq!(summary.vocabulary, 403 + 43 + 11);
    assert_eq!(by_system(&dataset)["GAP"], (43, gaps as usize));
    assert_eq!(summary.visits, 32_045);
    assert_eq!(summary.empty_visits, 0);
}

#[test]
fn runs_on_disk_change_nothing() {
    let Some(path) = shared("data/outpatient/synthea1k_omop") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (whole, whole_summary) = run(Source::Omop, &path, &ImportOptions::default());
    for batch_events in [500, 9999] {
        let limits = ImportLimits { batch_events, ..ImportLimits::default() };
        let scratch = Some(folder.path().to_path_buf());
        let options = ImportOptions { limits, scratch, ..ImportOptions::default() };
        let (dataset, summary) = run(Source::Omop, &path, &options);
        assert_eq!((&dataset.cohort, &summary), (&whole.cohort, &whole_summary));
        assert_eq!(dataset.details, whole.details);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no file is left");
}

#[test]
fn uci_is_the_published_cohort() {
    let Some(path) = shared("data/inpatient/uci_diabetes130/dataset_diabetes.zip") else { return };
    let Some(reference) = shared("reference/uci") else { return };
    let options = ImportOptions { min_patients: 5, ..ImportOptions::default() };
    let import = open(&Source::UciDiabetes, &path, &options, &Unwatched).unwrap();
    let vocabulary = import.vocabulary();

    let codes: Value = read_json(reference.join("uci_vocab.json"));
    let mut encounter = 0;
    for code in vocabulary.codes().filter(|code| *code != vocabulary.end()) {
        if vocabulary.kind(code) == Kind::Encounter {
            assert_eq!(codes[vocabulary.name(code)], encounter, "{}", vocabulary.name(code));
            encounter += 1;
        }
    }
    assert_eq!(encounter, 694);

    let lines = File::open(reference.join("uci_records.jsonl.gz")).unwrap();
    let lines = BufReader::new(GzDecoder::new(BufReader::new(lines))).lines();
    let mut records = import.records();
    let mut visits = [0; 3];
    let names = |codes: &[consequence_record::Code]| -> Vec<String> {
        codes.iter().map(|code| vocabulary.name(*code).to_owned()).collect()
    };
    for (record, line) in records.by_ref().zip(lines) {
        let (record, line) = (record.unwrap(), line.unwrap());
        let expected: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(record.id, expected["id"].as_str().unwrap());
        let found: Vec<Vec<String>> =
            record.record.visits.iter().map(|visit| names(visit)).collect();
        assert_eq!(expected["static"], Value::from(found[0].clone()), "{}", record.id);
        assert_eq!(expected["visits"], Value::from(found[1..].to_vec()), "{}", record.id);
        assert!(record.record.ended && record.details.times.is_empty());
        let split = Split::ALL.iter().position(|split| *split == record.split).unwrap();
        visits[split] += found.len() - 1;
    }
    assert!(records.next().is_none());
    let summary = records.summary();

    let stats: Value = read_json(reference.join("uci_stats.json"));
    let all = &stats["all"];
    assert_eq!(all["patients"], summary.patients);
    assert_eq!(all["visits"], summary.visits);
    assert_eq!(all["codes"], summary.codes);
    assert_eq!(all["empty_visits"], summary.empty_visits);
    assert_eq!(all["distinct_codes"], summary.vocabulary);
    assert_eq!(stats["vocab"]["dropped_unknown_sex"], summary.dropped(Reason::UnknownSex));
    assert_eq!(stats["vocab"]["codes_dropped_min5"], summary.dropped(Reason::RareCodes));
    assert_eq!(visits.iter().sum::<usize>() as u64, summary.visits);
    assert_eq!(summary.splits.iter().sum::<u64>(), summary.patients);
}

fn read_json(path: PathBuf) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The claims of one table as rows of a subject, a day and a diagnosis.
fn claims_as_rows(claims: &PathBuf, rows: &mut impl Write) {
    let file = BufReader::new(File::open(claims).unwrap());
    let mut table = csv::Reader::from_reader(GzDecoder::new(file));
    let header = table.headers().unwrap().clone();
    let column_of = |name: &str| header.iter().position(|column| column == name).unwrap();
    let (subject, day) = (column_of("DESYNPUF_ID"), column_of("CLM_FROM_DT"));
    for row in table.records() {
        let row = row.unwrap();
        for (name, code) in header.iter().zip(&row) {
            if name.starts_with("ICD9_DGNS_CD") && !code.is_empty() {
                writeln!(rows, "{},{},ICD9CM//{code}", &row[subject], &row[day]).unwrap();
            }
        }
    }
}

#[test]
fn claims_as_a_long_table() {
    let Some(path) = shared("data/outpatient/synpuf_claims500") else { return };
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("claims.csv.gz");
    let mut rows = GzEncoder::new(File::create(&table).unwrap(), Compression::fast());
    writeln!(rows, "DESYNPUF_ID,CLM_FROM_DT,CODE").unwrap();
    for claims in ["carrier.csv.gz", "outpatient.csv.gz"] {
        claims_as_rows(&path.join(claims), &mut rows);
    }
    rows.finish().unwrap();
    let columns = CsvColumns {
        subject: "desynpuf_id".into(),
        time: Some("clm_from_dt".into()),
        ..CsvColumns::default()
    };
    let source = Source::Csv(columns);
    let (_, summary) = run(source.clone(), &table, &ImportOptions::default());
    let gaps = 18_448 - 412;
    assert_eq!((summary.patients, summary.visits, summary.codes), (412, 18_448, 41_661 + gaps));
    let options = ImportOptions { gaps: false, ..ImportOptions::default() };
    let (_, summary) = run(source.clone(), &table, &options);
    assert_eq!((summary.vocabulary, summary.static_vocabulary), (5896, 0));
    let options = ImportOptions { truncate: Some(3), ..options };
    assert_eq!(run(source, &table, &options).1.vocabulary, 830);
}
