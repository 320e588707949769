//! Dates, ends, births and deaths: what becomes of them, odd ones included.

use std::fs;

use crate::common::{all_columns, import, long, plain, shown, told};
use consequence_feedback::Unwatched;
use consequence_import::{CsvColumns, ImportOptions, Reason, Source, open};
use consequence_record::{DayBand, Split};

#[test]
fn days_are_those_of_the_calendar() {
    let table = "subject_id,time,code\n1,2024-01-01 23:59,A\n1,2024-01-02 00:01,B\n\
                 1,2024-02-29,A\n1,2034-03-01,A\n";
    let (dataset, _) = long(table, CsvColumns::default(), &plain());
    // A minute over midnight is a day, and ten years are not the same as one.
    assert_eq!(shown(&dataset), ["1:  | A | B GAP//1d | A GAP//45-60d | A GAP//3650d+"]);
    let bare = ImportOptions { gaps: false, ..plain() };
    let (dataset, _) = long(table, CsvColumns::default(), &bare);
    assert_eq!(shown(&dataset), ["1:  | A | B | A | A"]);
}

#[test]
fn gaps_follow_the_encounters_that_are_left() {
    // The second encounter has a rare code alone, and no other gap is of so many days.
    let table = "subject_id,time,code\n1,2024-01-01,A\n1,2024-01-02,RARE\n1,2024-01-11,A\n\
                 2,2024-01-01,A\n2,2024-01-02,A\n";
    let options = ImportOptions { min_patients: 2, drop_empty: true, ..plain() };
    let (dataset, summary) = long(table, CsvColumns::default(), &options);
    assert_eq!(shown(&dataset), ["1:  | A | A GAP//7-14d", "2:  | A | A GAP//1d"]);
    assert_eq!((summary.visits, summary.codes, summary.vocabulary), (4, 6, 3));
    assert_eq!(summary.dropped(Reason::RareOccurrences), 1);
    let options = ImportOptions { max_visits: Some(2), ..plain() };
    let (dataset, _) = long(table, CsvColumns::default(), &options);
    assert_eq!(shown(&dataset)[0], "1:  | A | GAP//1d RARE");
}

#[test]
fn every_gap_is_in_its_band() {
    let mut table = String::from("subject_id,time,code\n");
    for subject in 0..20_i64 {
        let mut day = 10_000 + subject;
        for visit in 0..12_i64 {
            day += (subject * 7 + visit * visit * 31) % 900;
            let date = consequence_record::calendar::Date(day * 86_400_000_000);
            table.push_str(&format!("{subject},{date} {:02}:30,A\n", visit % 24));
        }
    }
    let (dataset, _) = long(&table, CsvColumns::default(), &plain());
    let mut gaps = 0;
    for record in 0..dataset.cohort.len() {
        let (visits, details) = (dataset.cohort.record(record), dataset.details_of(record));
        for visit in 1..visits.len() {
            let names = visits.visit(visit).iter().map(|&code| dataset.vocabulary.name(code));
            let found: Vec<DayBand> = names.filter_map(DayBand::of_gap).collect();
            let day = |visit| details.time(visit).unwrap().div_euclid(86_400_000_000);
            match visit {
                1 => assert!(found.is_empty()),
                _ => assert!(found.len() == 1 && found[0].holds(day(visit) - day(visit - 1))),
            }
            gaps += found.len();
        }
    }
    assert!(gaps > 150);
}

#[test]
fn encounters_end() {
    let table = "subject_id,visit,time,end,code,value,unit\n\
                 1,a,2024-01-01 10:00,2024-01-03 09:00,A,,\n\
                 1,a,2024-01-02 08:00,2024-01-04 09:00,DISCHARGE//HOME,,\n\
                 1,b,2024-02-01 10:00,2024-01-31 10:00,A,,\n\
                 1,c,2024-03-01 10:00,2024-03-01,A,,\n1,d,2024-04-01 10:00,,A,,\n\
                 2,a,2024-01-01 10:00,2024-01-01 11:00,DISCHARGE//HOME,,\n";
    let (dataset, summary) = long(table, all_columns(), &plain());
    assert_eq!(
        told(&dataset),
        [
            // A discharge has its own time where it is told.
            "1:  | 2024-01-01 10:00 - 2024-01-04 09:00: A DISCHARGE//HOME@2024-01-02 08:00 STAY//3d \
             | 2024-02-01 10:00: A GAP//30-45d \
             | 2024-03-01 10:00 - 2024-03-01 10:00: A GAP//21-30d STAY//0d \
             | 2024-04-01 10:00: A GAP//30-45d",
            "2:  | 2024-01-01 10:00 - 2024-01-01 11:00: DISCHARGE//HOME@2024-01-01 11:00 STAY//0d",
        ]
    );
    assert_eq!((summary.ends, summary.dropped(Reason::EndBeforeBegin)), (3, 1));
    // Where every stay is of no day, codes would say nothing; the ends are kept.
    let table = "subject_id,visit,time,end,code,value,unit\n\
                 1,a,2024-01-01 10:00,2024-01-01 12:00,A,,\n1,b,2024-01-02,2024-01-02,A,,\n";
    let (dataset, summary) = long(table, all_columns(), &plain());
    assert_eq!(
        told(&dataset),
        ["1:  | 2024-01-01 10:00 - 2024-01-01 12:00: A | 2024-01-02 - 2024-01-02: A GAP//1d"]
    );
    assert_eq!((summary.ends, summary.vocabulary), (2, 2));
    // An encounter that has gaps and stays alone is without a code.
    let table = "subject_id,visit,time,end,code,value,unit\n1,a,2024-01-01,2024-01-02,A,,\n\
                 1,b,2024-02-01,2024-02-03,,,\n";
    let (_, summary) = long(table, all_columns(), &plain());
    assert_eq!((summary.visits, summary.empty_visits), (2, 1));
    let options = ImportOptions { drop_empty: true, ..plain() };
    let (dataset, summary) = long(table, all_columns(), &options);
    assert_eq!(shown(&dataset), ["1:  | A STAY//1d"]);
    assert_eq!(summary.dropped(Reason::EmptyVisits), 1);
}

const PATIENTS: &str = "subject_id,gender,dob,dod\n\
    1,F,1950-01-01 00:00:00,2030-01-05 00:00:00\n2,M,1950-01-01,2030-02-01 00:00:00\n\
    3,M,2031-01-01,\n4,F,1700-01-01,2030-01-03 00:00:00\n5,F,1950-01-01,2030-01-01\n6,F,1950-01-01,2029-01-01\n";
const ADMISSIONS: &str = "subject_id,hadm_id,admittime,dischtime,deathtime,hospital_expire_flag\n\
    1,10,2030-01-01 10:00:00,2030-01-05 14:00:00,,1\n\
    2,20,2030-01-01 10:00:00,2030-01-05 14:00:00,,0\n\
    3,30,2030-01-01 10:00:00,2030-01-05 14:00:00,,0\n\
    4,40,2030-01-01 10:00:00,2030-01-05 14:00:00,,0\n\
    4,41,2030-01-02 10:00:00,2030-01-03 11:00:00,2030-01-03 10:30:00,1\n\
    5,50,2030-01-01 10:00:00,,,0\n5,51,2030-01-02 10:00:00,,,0\n";
const DIAGNOSES: &str = "subject_id,hadm_id,icd9_code\n1,10,25000\n";

#[test]
fn births_and_deaths() {
    let files = [
        ("patients.csv", PATIENTS),
        ("admissions.csv", ADMISSIONS),
        ("diagnoses_icd.csv", DIAGNOSES),
    ];
    let (dataset, summary) = import(Source::Mimic3, &files, &plain());
    assert_eq!(
        told(&dataset),
        [
            // A date of death on the day of the discharge is the time of that.
            "1: *1950-01-01 AGE//80-100 SEX//F | 2030-01-01 10:00 - 2030-01-05 14:00: \
             DEATH@2030-01-05 14:00 DISCHARGE//EXPIRED@2030-01-05 14:00 ICD9CM//25000 STAY//4d",
            // On no visit it is one of its own.
            "2: *1950-01-01 AGE//80-100 SEX//M | 2030-01-01 10:00 - 2030-01-05 14:00: STAY//4d \
             | 2030-02-01: DEATH GAP//30-45d",
            // Two hold it: it is in the last. A birth that hides an age is none.
            "4: AGE//80-100 SEX//F | 2030-01-01 10:00 - 2030-01-05 14:00: STAY//4d \
             | 2030-01-02 10:00 - 2030-01-03 11:00: DEATH@2030-01-03 10:30 \
             DISCHARGE//EXPIRED@2030-01-03 11:00 GAP//1d STAY//1d",
            // A date without a time is the end of the day; what is after stays.
            "5: *1950-01-01 AGE//80-100 SEX//F | 2030-01-01 10:00: DEATH@2030-01-01 23:59:59 \
             | 2030-01-02 10:00: GAP//1d",
        ]
    );
    assert_eq!((summary.births, summary.after_death), (3, 1));
    let dropped: Vec<(Reason, u64)> = summary.dropped.into_iter().collect();
    assert_eq!(
        dropped,
        [(Reason::NoVisits, 1), (Reason::UnknownAge, 1), (Reason::BirthAfterVisit, 1)]
    );
    // Without ages, who was born after the first encounter stays, and the birth does not.
    let options = ImportOptions { age_bands: Some(Vec::new()), ..plain() };
    let (dataset, summary) = import(Source::Mimic3, &files, &options);
    assert_eq!(told(&dataset)[2], "3: SEX//M | 2030-01-01 10:00 - 2030-01-05 14:00: STAY//4d");
    assert_eq!(summary.dropped(Reason::BirthAfterVisit), 1);
}

#[test]
fn rows_have_their_own_times() {
    let files = [
        ("patients.csv", "subject_id,gender,dob\n1,F,1950-01-01\n"),
        ("admissions.csv", "subject_id,hadm_id,admittime\n1,10,2030-01-01 10:00:00\n"),
        ("diagnoses_icd.csv", "subject_id,hadm_id,icd9_code\n1,10,4019\n"),
        (
            "prescriptions.csv",
            "subject_id,hadm_id,drug,startdate\n1,10,late,2030-01-03\n1,10,late,2030-01-02\n\
             1,10,same,2030-01-01\n1,10,early,2029-12-31\n1,10,twice,2030-01-02\n1,10,twice,\n",
        ),
    ];
    let (dataset, summary) = import(Source::Mimic3, &files, &plain());
    assert_eq!(
        told(&dataset),
        ["1: *1950-01-01 AGE//80-100 SEX//F | 2030-01-01 10:00: ICD9CM//4019 RX//early \
          RX//late@2030-01-02 RX//same RX//twice"]
    );
    assert_eq!(summary.dropped(Reason::EarlyTime), 1);
    let (mut files, bad) =
        (files.to_vec(), "subject_id,hadm_id,drug,startdate\n1,10,x,2030-02-30\n");
    files[3].1 = bad;
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let error = open(&Source::Mimic3, folder.path(), &plain(), &Unwatched).unwrap_err();
    assert!(error.to_string().starts_with("the value in column `startdate` is not a date"));
}

#[test]
fn offsets_are_dropped_and_counted() {
    let table = "subject_id,time,code\n1,2024-01-01T23:30:00-05:00,A\n1,2024-01-01 23:30:00,B\n\
                 1,2024-01-02T00:10:00Z,C\n1,2024-01-02 00:20,D\n";
    let (dataset, summary) = long(table, CsvColumns::default(), &plain());
    assert_eq!(
        told(&dataset),
        ["1:  | 2024-01-01 23:30: A B | 2024-01-02 00:10: C D@2024-01-02 00:20 GAP//1d"]
    );
    assert_eq!(summary.dropped(Reason::Offset), 2);
}

#[test]
fn uci_tells_an_age_at_each_encounter() {
    let mut names = String::from(
        "patient_nbr,encounter_id,gender,age,discharge_disposition_id,diag_1,diag_2,diag_3,\
         A1Cresult,max_glu_serum",
    );
    let drugs = "metformin,repaglinide,nateglinide,chlorpropamide,glimepiride,acetohexamide,glipizide,\
                 glyburide,tolbutamide,pioglitazone,rosiglitazone,acarbose,miglitol,troglitazone,\
                 tolazamide,examide,citoglipton,insulin,glyburide-metformin,glipizide-metformin,\
                 glimepiride-pioglitazone,metformin-rosiglitazone,metformin-pioglitazone";
    names.push_str(&format!(",{drugs}\n"));
    let rest = ",No".repeat(23);
    for row in ["7,2,Female,[50-60),1", "7,1,Female,[40-50),1", "7,3,Female,?,1"] {
        names.push_str(&format!("{row},250.01,?,?,None,None{rest}\n"));
    }
    let (dataset, _) = import(Source::UciDiabetes, &[("diabetic_data.csv", &names)], &plain());
    assert_eq!(
        told(&dataset),
        [
            "7: AGE//40-60 SEX//F | 40-50 years: ICD9CM//250 | 50-60 years: ICD9CM//250 | ICD9CM//250"
        ]
    );
    assert!(dataset.ordinal_time());
}

#[test]
fn people_of_long_tables() {
    let table = "subject_id,time,code\n1,1980-05-01,MEDS_BIRTH\n1,2024-01-01 10:00,A\n\
                 1,2024-01-01,MEDS_DEATH\n1,,GENDER//F\n2,2024-01-01,SEX//male\n2,2024-01-01,A\n\
                 2,2024-02-01,DEATH\n2,,SEX//F\n";
    let (dataset, summary) = long(table, CsvColumns::default(), &plain());
    assert_eq!(
        told(&dataset),
        [
            "1: *1980-05-01 AGE//40-60 SEX//F | 2024-01-01 10:00: A DEATH@2024-01-01 23:59:59",
            "2: SEX//M | 2024-01-01: A | 2024-02-01: DEATH GAP//30-45d",
        ]
    );
    assert_eq!(summary.dropped(Reason::LaterStatic), 1);
    assert_eq!(dataset.splits, [Split::of("1"), Split::of("2")]);
}

#[test]
fn rules_of_gaps_and_stays() {
    let rules = |table: &str, options: &ImportOptions| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.csv");
        fs::write(&path, table).unwrap();
        let columns = CsvColumns { value: None, unit: None, ..all_columns() };
        let source = Source::Csv(columns);
        open(&source, &path, options, &Unwatched).unwrap().own_rules().unwrap_or_default()
    };
    let all_end = "subject_id,visit,time,end,code\n1,a,2024-01-01,2024-01-02,A\n\
                   1,b,2024-02-01,2024-02-04,A\n";
    let text = rules(all_end, &plain());
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "rule own-no-gap-at-first: not (any of STAY//1d, STAY//3d) in previous => none of GAP//30-45d",
            "rule own-one-gap-later: (any of STAY//1d, STAY//3d) in previous => exactly one of GAP//30-45d",
            "rule own-one-stay: exactly one of STAY//1d, STAY//3d",
        ]
    );
    let some_end = all_end.replace(",2024-02-04,", ",,");
    let text = rules(&some_end, &plain());
    assert!(text.contains("rule own-one-gap: at most one of GAP//30-45d\n"), "{text}");
    assert!(text.contains("rule own-one-stay: at most one of STAY//1d\n"), "{text}");
    let text = rules(&some_end, &ImportOptions { gaps: false, ..plain() });
    assert!(!text.contains("GAP"), "{text}");
    // A table that has such codes gets no others.
    let given = "subject_id,visit,time,end,code\n1,a,2024-01-01,2024-01-02,A\n\
                 1,b,2024-02-01,,GAP//30-90d\n1,b,2024-02-01,,STAY//0d\n";
    let text = rules(given, &plain());
    assert!(text.contains("rule own-one-gap: at most one of GAP//30-90d\n"), "{text}");
    assert!(text.contains("rule own-one-stay: at most one of STAY//0d\n"), "{text}");
}
