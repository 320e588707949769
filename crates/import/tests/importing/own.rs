//! Cohorts of ours come back as they were written, with dates and values.

use std::fs;

use crate::common::{all_columns, long, plain, shown, told};
use consequence_feedback::Unwatched;
use consequence_import::{ImportOptions, Source, open};
use consequence_tables::{Dataset, meds};
use proptest::prelude::*;

fn again(dataset: &Dataset, options: &ImportOptions) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cohort");
    meds::write(&path, dataset).unwrap();
    let import = open(&Source::Meds, &path, options, &Unwatched).unwrap();
    let (again, summary) = import.collect().unwrap();
    assert!(
        summary
            .dropped
            .keys()
            .all(|reason| { matches!(reason, consequence_import::Reason::EmptyVisits) })
    );
    again
}

const TABLE: &str = "subject_id,visit,time,end,code,value,unit\n\
    1,,1980-01-01,,MEDS_BIRTH,,\n1,,,,GENDER//F,,\n1,a,2024-01-01 10:00,2024-01-03 09:00,LAB//x,1.5,mg\n\
    1,a,2024-01-02 10:00,,LAB//x,2.5,mg\n1,a,2024-01-02 10:00,,DISCHARGE//HOME,,\n\
    1,b,2024-01-20 10:00,2024-01-20 11:00,,,\n1,c,2024-02-01 10:00,,A,,\n1,,2024-02-01,,DEATH,,\n\
    2,a,2024-01-01,,LAB//x,3.5,mg\n2,b,2024-01-01,,A,,\n";

#[test]
fn what_is_left_out_moves_gaps_and_no_values() {
    let (dataset, _) = long(TABLE, all_columns(), &plain());
    let back = again(&dataset, &plain());
    assert_eq!(told(&back), told(&dataset));
    assert_eq!(back.scales, dataset.scales);
    let dropped = again(&dataset, &ImportOptions { drop_empty: true, ..plain() });
    assert!(shown(&dropped)[0].ends_with("| A DEATH GAP//30-45d"), "{:?}", shown(&dropped));
    // One without gaps gets none.
    let bare = ImportOptions { gaps: false, ..plain() };
    let (without, _) = long(TABLE, all_columns(), &bare);
    let dropped = again(&without, &ImportOptions { drop_empty: true, ..plain() });
    assert!(shown(&dropped)[0].ends_with("| A DEATH"), "{:?}", shown(&dropped));
    let rules = |dataset: &Dataset| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cohort");
        meds::write(&path, dataset).unwrap();
        open(&Source::Meds, &path, &plain(), &Unwatched).unwrap().own_rules().unwrap()
    };
    let rules = rules(&dataset);
    assert!(rules.contains("rule own-one-gap: at most one of GAP//0d, GAP//"), "{rules}");
    assert!(rules.contains("rule own-one-stay: at most one of STAY//0d, STAY//2d\n"), "{rules}");
}

#[test]
fn json_lines_come_back_with_dates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cohort.jsonl");
    let line = r#"{"id": "7", "static": [], "visits": [["A"], ["B"]], "times": ["2024-01-01T10:00:00Z", "2024-01-09"]}"#;
    fs::write(&path, format!("{line}\n")).unwrap();
    let import = open(&Source::Jsonl, &path, &plain(), &Unwatched).unwrap();
    let (dataset, summary) = import.collect().unwrap();
    // They come as they are: a gap that is not told is not made up.
    assert_eq!(told(&dataset), ["7:  | 2024-01-01 10:00: A | 2024-01-09: B"]);
    assert_eq!(summary.dropped(consequence_import::Reason::Offset), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_comes_back(
        rows in prop::collection::vec(
            (1..5_u32, 0..5_u32, 0..40_i64, 0..96_i64, prop::option::of(0..9_i64), 0..6_usize, 0..8_i32),
            1..40,
        ),
        births in prop::collection::vec(prop::option::of(0..20_000_i64), 5),
        deaths in prop::collection::vec(prop::option::of(19_990..20_050_i64), 5),
    ) {
        let date = |day: i64| consequence_record::calendar::Date(day * 86_400_000_000);
        let mut table = String::from("subject_id,visit,time,end,code,value,unit\n");
        for (subject, visit, day, quarter, stay, code, value) in rows {
            let visit = if visit == 0 { String::new() } else { format!("v{visit}") };
            let (hour, minute) = (quarter / 4, quarter % 4 * 15);
            let end = stay.map(|days| date(20_000 + day + days).to_string()).unwrap_or_default();
            let code = ["A", "B", "LAB//x", "LAB//y", "DISCHARGE//HOME", ""][code];
            let measured = if code.starts_with("LAB") { format!("{value}.5,mg") } else { ",".into() };
            table.push_str(&format!(
                "{subject},{visit},{} {hour:02}:{minute:02},{end},{code},{measured}\n", date(20_000 + day)
            ));
        }
        for (subject, (birth, death)) in births.iter().zip(&deaths).enumerate() {
            if let Some(day) = birth {
                table.push_str(&format!("{subject},,{},,MEDS_BIRTH,,\n", date(*day)));
            }
            if let Some(day) = death {
                table.push_str(&format!("{subject},,{},,DEATH,,\n", date(*day)));
            }
        }
        let (dataset, _) = long(&table, all_columns(), &plain());
        let back = again(&dataset, &plain());
        prop_assert_eq!(told(&back), told(&dataset));
        prop_assert_eq!(&back.cohort, &dataset.cohort);
        prop_assert_eq!(&back.details, &dataset.details);
        prop_assert_eq!((&back.scales, &back.splits), (&dataset.scales, &dataset.splits));
    }
}
