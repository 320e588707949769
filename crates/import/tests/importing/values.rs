//! Values, units and results in words: what becomes of them, odd ones included.

use std::collections::BTreeMap;
use std::fs;

use crate::common::{all_columns, import, long, plain, shown, told};
use consequence_import::{ImportLimits, ImportOptions, Reason, Source, UnitTable};
use consequence_record::{Scale, Split};
use consequence_tables::Dataset;
use proptest::prelude::*;

const HEADER: &str = "subject_id,visit,time,end,code,value,unit\n";

fn scales(dataset: &Dataset) -> BTreeMap<&str, &Scale> {
    let named = dataset.scales.iter();
    named.map(|(&code, scale)| (dataset.vocabulary.name(code), scale)).collect()
}

fn unit_table(text: &str) -> UnitTable {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("units.csv");
    fs::write(&path, text).unwrap();
    UnitTable::read(&path, &ImportLimits::default()).unwrap()
}

/// The first ids that are in the train split.
fn trained(count: usize) -> Vec<String> {
    let ids = (0..).map(|number: u32| number.to_string());
    ids.filter(|id| Split::of(id) == Split::Train).take(count).collect()
}

#[test]
fn the_last_value_of_each_part_counts() {
    let [one, two, three, four] = trained(4).try_into().unwrap();
    let mut table = String::from(HEADER);
    for (subject, time, value) in [
        (&one, "2024-01-01 10:00", "1"),
        // Out of order: the last by time is the 1.5.
        (&two, "2024-01-01 12:00", "1.5"),
        (&two, "2024-01-01 11:00", "2"),
        (&two, "2024-01-01 11:30", "9"),
        // At one time the last row counts.
        (&three, "2024-01-01 10:00", "3"),
        (&three, "2024-01-01 10:00", "2.5"),
        (&four, "2024-01-01 10:00", "10"),
        (&four, "2024-01-01 10:00", "11"),
    ] {
        table.push_str(&format!("{subject},a,{time},,LAB//x,{value},mg\n"));
    }
    let options = ImportOptions { quantiles: 2, ..plain() };
    let (dataset, summary) = long(&table, all_columns(), &options);
    assert_eq!(
        told(&dataset),
        [
            format!("{one}:  | 2024-01-01 10:00: LAB//x//q1=1"),
            format!(
                "{two}:  | 2024-01-01 11:00: LAB//x//q1=1.5@2024-01-01 12:00 LAB//x//q2=9@2024-01-01 11:30"
            ),
            format!("{three}:  | 2024-01-01 10:00: LAB//x//q1=2.5 LAB//x//q2=3"),
            format!("{four}:  | 2024-01-01 10:00: LAB//x//q2=11"),
        ]
    );
    let scale = |above, up_to, count| Scale {
        test: "LAB//x".into(),
        unit: Some("mg".into()),
        above,
        up_to,
        count,
    };
    // 1, 1.5, 2 and 2.5; 3, 9, 10 and 11.
    let (low, high) = (scale(None, Some(2.5), 4), scale(Some(2.5), None, 4));
    assert_eq!(scales(&dataset), [("LAB//x//q1", &low), ("LAB//x//q2", &high)].into());
    assert_eq!((summary.tests, summary.values), (1, 6));
    assert_eq!(summary.dropped(Reason::Repeated), 2);
    // Without values codes are what they are called.
    let bare = ImportOptions { quantiles: 0, ..plain() };
    let (dataset, _) = long(&table, all_columns(), &bare);
    assert_eq!(shown(&dataset)[0], format!("{one}:  | LAB//x"));
    assert!(dataset.scales.is_empty() && dataset.details_of(0).events.is_empty());
}

#[test]
fn parts_that_cannot_be_are_not_made() {
    let mut table = String::from(HEADER);
    for (index, subject) in trained(8).iter().enumerate() {
        let skewed = index.saturating_sub(5);
        table.push_str(&format!("{subject},a,2024-01-01,,LAB//same,7,\n"));
        table.push_str(&format!("{subject},a,2024-01-01,,LAB//skewed,{skewed},\n"));
    }
    let (dataset, _) = long(&table, all_columns(), &plain());
    let known: Vec<(&str, u64)> =
        scales(&dataset).into_iter().map(|(name, scale)| (name, scale.count)).collect();
    assert_eq!(known, [("LAB//same//q1", 8), ("LAB//skewed//q1", 6), ("LAB//skewed//q2", 2)]);
    assert_eq!(scales(&dataset)["LAB//same//q1"].up_to, None);
}

#[test]
fn units_that_disagree() {
    let subjects = trained(5);
    let mut table = String::from(HEADER);
    for (subject, value, unit) in [
        (&subjects[0], "1", "mg"),
        (&subjects[1], "2", "mg"),
        (&subjects[2], "3000", "ug"),
        (&subjects[3], "4", ""),
        (&subjects[4], "5000", "ug"),
        (&subjects[4], "6", "mg"),
    ] {
        table.push_str(&format!("{subject},a,2024-01-01,,LAB//x,{value},{unit}\n"));
        table.push_str(&format!("{subject},a,2024-01-01,,A,,\n"));
    }
    let (dataset, summary) = long(&table, all_columns(), &plain());
    assert!(scales(&dataset).values().all(|scale| scale.unit.as_deref() == Some("mg")));
    assert_eq!(scales(&dataset).values().map(|scale| scale.count).sum::<u64>(), 3);
    assert_eq!(summary.dropped(Reason::OtherUnit), 3);
    assert_eq!(shown(&dataset)[2], format!("{}:  | A", subjects[2]));

    let units = Some(unit_table("code,from,to,factor,offset\n*,ug,mg,0.001,\nLAB//x,,mg,1,0.5\n"));
    let (dataset, summary) = long(&table, all_columns(), &ImportOptions { units, ..plain() });
    let values: Vec<f32> = (0..5)
        .flat_map(|record| dataset.details_of(record).events.iter().filter_map(|event| event.value))
        .collect();
    assert_eq!(values, [1., 2., 3., 4.5, 5., 6.]);
    assert_eq!(summary.dropped(Reason::OtherUnit), 0);
    // What the table turns the commonest into is the unit of all; a row of the code goes before others.
    let units = Some(unit_table("code,from,to,factor\n,mg,ug,5\nLAB//x,mg,ug,1000\n"));
    let (dataset, summary) = long(&table, all_columns(), &ImportOptions { units, ..plain() });
    assert!(scales(&dataset).values().all(|scale| scale.unit.as_deref() == Some("ug")));
    assert_eq!(dataset.details_of(0).events[0].value, Some(1000.));
    assert_eq!(summary.dropped(Reason::OtherUnit), 1);
    // Values that a table makes infinite are none.
    let units = Some(unit_table("code,from,to,factor\n,mg,mg,1e300\n"));
    let (_, summary) = long(&table, all_columns(), &ImportOptions { units, ..plain() });
    assert_eq!((summary.values, summary.dropped(Reason::NoValue)), (0, 3));
}

#[test]
fn tables_of_units_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("units.csv");
    for (text, problem) in [
        ("code,from,to\n", "missing column `factor`"),
        ("code,from,to,factor\nx,a,b,two\n", "the value in column `factor` is not a number"),
        ("code,from,to,factor\nx,a,b,0\n", "the value in column `factor` is not a number"),
        ("code,from,to,factor\nx,a,b,inf\n", "the value in column `factor` is not a number"),
        ("code,from,to,factor\nx,a,b,1\nx,a,c,2\n", "the table of units says two things"),
    ] {
        fs::write(&path, text).unwrap();
        let error = UnitTable::read(&path, &ImportLimits::default()).unwrap_err();
        assert!(error.to_string().starts_with(problem), "{error}");
    }
}

#[test]
fn codes_that_are_parts_already() {
    let table = format!("{HEADER}1,a,2024-01-01,,LAB//x//q3,7.5,mg\n");
    let (dataset, _) = long(&table, all_columns(), &plain());
    assert_eq!(told(&dataset), ["1:  | 2024-01-01: LAB//x//q3=7.5"]);
    let scale =
        Scale { test: "LAB//x".into(), unit: Some("mg".into()), count: 1, ..Scale::default() };
    assert_eq!(scales(&dataset)["LAB//x//q3"], &scale);
}

#[test]
fn results_in_words() {
    let mut events = String::from(
        "subject_id,hadm_id,itemid,charttime,value,valuenum,valueuom\n\
         1,10,7,2030-01-01 11:00:00,POS,,\n1,10,7,2030-01-01 12:00:00,POS,,\n\
         1,10,7,2030-01-01 12:00:00,___,,\n1,10,7,2030-01-01 12:00:00,,,\n\
         1,10,7,2030-01-01 12:00:00,3,3,mg\n1,10,7,2030-01-01 12:00:00,inf,inf,mg\n",
    );
    // Sixty rarer ones: 49 of them are codes, and the first by name are.
    for number in 0..60 {
        events.push_str(&format!("1,10,7,2030-01-01 10:00:00,t{number:02},,\n"));
    }
    let files = [
        ("patients.csv", "subject_id,gender,dob\n1,F,1950-01-01\n"),
        ("admissions.csv", "subject_id,hadm_id,admittime\n1,10,2030-01-01 10:00:00\n"),
        ("diagnoses_icd.csv", "subject_id,hadm_id,icd9_code\n1,10,4019\n"),
        ("labevents.csv", events.as_str()),
        ("d_labitems.csv", "itemid,label\n7,Culture\n"),
    ];
    let (dataset, summary) = import(Source::Mimic3, &files, &plain());
    let text = &told(&dataset)[0];
    assert!(text.contains(" LAB//7//POS@2030-01-01 11:00 "), "{text}");
    assert!(text.contains(" LAB//7//q1=3@2030-01-01 12:00 "), "{text}");
    assert!(text.ends_with(" LAB//7//t48") && !text.contains("LAB//7//t49"), "{text}");
    assert!(text.contains(" LAB//7//other text "), "{text}");
    assert_eq!((summary.texts, summary.tests, summary.dropped(Reason::NoValue)), (51, 1, 3));
    assert_eq!(summary.dropped(Reason::Repeated), 1 + 10);
    let other = dataset.vocabulary.code("LAB//7//other text").unwrap();
    assert_eq!(dataset.titles[&other], "Culture");
}

#[test]
fn measurements_of_omop() {
    let files = [
        ("PERSON.csv", "person_id,gender_concept_id,year_of_birth\n1,8532,1980\n"),
        (
            "VISIT_OCCURRENCE.csv",
            "person_id,visit_occurrence_id,visit_start_date,visit_end_date\n1,7,2020-01-01,2020-01-03\n",
        ),
        (
            "MEASUREMENT.csv",
            "person_id,measurement_concept_id,measurement_date,measurement_datetime,visit_occurrence_id,\
             value_as_number,value_as_concept_id,value_source_value,unit_source_value,unit_concept_id\n\
             1,100,2020-01-02,2020-01-02 08:00:00,7,5.5,0,5.5,,8840\n\
             1,100,2020-01-02,2020-01-02 09:00:00,7,6.5,0,6.5,mg/dL,8840\n\
             1,100,2020-01-02,2020-01-02 10:00:00,7,90,0,90,mmol/L,0\n\
             1,200,2020-01-01,,7,,45884084,Positive,,\n1,200,2020-01-01,,7,,0,trace,,\n\
             1,200,2020-01-01,,7,,,,,\n",
        ),
        (
            "CONCEPT.csv",
            "concept_id,concept_name,vocabulary_id,concept_code\n100,Glucose,LOINC,2345-7\n\
             8840,milligram per deciliter,UCUM,mg/dL\n45884084,Positive,LOINC,LA6576-8\n\
             200,Ketones,LOINC,5797-6\n",
        ),
    ];
    let (dataset, summary) = import(Source::Omop, &files, &plain());
    let parts = scales(&dataset);
    assert!(parts.keys().all(|name| name.starts_with("LOINC//2345-7//q")), "{parts:?}");
    assert!(parts.values().all(|scale| scale.unit.as_deref() == Some("mg/dL")), "{parts:?}");
    assert_eq!(parts.values().map(|scale| scale.count).sum::<u64>(), 2);
    let text = &told(&dataset)[0];
    assert!(text.contains("LOINC//5797-6//Positive LOINC//5797-6//trace STAY//2d"), "{text}");
    assert_eq!(summary.dropped(Reason::OtherUnit), 1);
    assert_eq!(summary.dropped(Reason::NoValue), 1);
}

proptest! {
    /// Every value is in a part that holds it, parts are cut where those of the train split say, and
    /// none of them is empty.
    #[test]
    fn values_are_in_parts_that_hold_them(
        values in prop::collection::vec((0..30_u32, 0..12_i32), 1..80),
        quantiles in 2..6_usize,
    ) {
        let mut table = String::from(HEADER);
        for (subject, value) in &values {
            table.push_str(&format!("{subject},a,2024-01-01,,LAB//x,{value},\n"));
        }
        let options = ImportOptions { quantiles, ..plain() };
        let (dataset, _) = long(&table, all_columns(), &options);
        let parts: Vec<&Scale> = dataset.scales.values().collect();
        prop_assert_eq!(parts.len(), dataset.vocabulary.len() - 1);
        let mut train: Vec<i32> = values
            .iter()
            .filter(|(subject, _)| Split::of(&subject.to_string()) == Split::Train)
            .map(|&(_, value)| value)
            .collect();
        train.sort_unstable();
        let largest = values.iter().map(|&(_, value)| value).max().unwrap();
        let mut cuts: Vec<f32> = (1..quantiles)
            .filter_map(|part| train.get((train.len() * part).div_ceil(quantiles).max(1) - 1))
            .filter(|&&cut| cut < largest)
            .map(|&cut| cut as f32)
            .collect();
        cuts.dedup();
        prop_assert_eq!(parts.iter().filter_map(|part| part.up_to).collect::<Vec<_>>(), cuts.clone());
        prop_assert_eq!(parts.iter().filter_map(|part| part.above).collect::<Vec<_>>(), cuts);
        for part in &parts {
            let held = values.iter().filter(|(_, value)| part.holds(*value as f32)).count();
            prop_assert!(held > 0);
            prop_assert_eq!(part.count, held as u64);
        }
        for record in 0..dataset.cohort.len() {
            let details = dataset.details_of(record);
            prop_assert_eq!(details.events.len(), dataset.cohort.record(record).visit(1).len());
            for event in details.events {
                let value = event.value.unwrap();
                prop_assert!(dataset.scales[&event.code].holds(value));
                let id: u32 = dataset.cohort.id(record).parse().unwrap();
                let last = values.iter().rev().find(|(subject, value)| {
                    *subject == id && dataset.scales[&event.code].holds(*value as f32)
                });
                prop_assert_eq!(last.map(|(_, value)| *value as f32), Some(value));
            }
        }
    }
}
