//! Writes three small MEDS datasets, `dated`, `undated` and `detailed`, into a folder, for other programs
//! to judge.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use consequence_record::calendar::DAY;
use consequence_record::{
    AgeBand, Code, Cohort, CohortDetails, Details, DetailsView, EventDetail, Kind, Record, Scale,
    Vocabulary,
};
use consequence_tables::Dataset;
use consequence_tables::meds::{self, WriterOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name a folder")?;
    let codes = [
        ("SEX//F", Kind::Static),
        ("SEX//M", Kind::Static),
        ("ICD9CM//250", Kind::Encounter),
        ("größe//糖", Kind::Encounter),
    ];
    let vocabulary = Arc::new(Vocabulary::new(codes)?);
    let options = WriterOptions { shard_rows: 40, ..WriterOptions::default() };
    for (name, dated) in [("dated", true), ("undated", false)] {
        let mut cohort = Cohort::default();
        let mut times = CohortDetails::default();
        for number in 0..30_u32 {
            let encounters = 1 + number % 4;
            let visit = |visit: u32| match (number + visit) % 3 {
                0 => vec![],
                1 => vec![Code(2)],
                _ => vec![Code(2), Code(3)],
            };
            let mut visits = vec![vec![Code(number % 2)]];
            visits.extend((0..encounters).map(visit));
            let record = Record { visits, ended: number % 5 != 0 };
            // Numbers stay as they are; words get numbers and a table of their own.
            let id = if dated { number.to_string() } else { format!("patient-{number}") };
            cohort.push(&id, &record);
            let hours =
                (0..encounters).map(|visit| i64::from(number * 100 + visit) * 3_600_000_000);
            let hours: Vec<i64> = hours.collect();
            times.push(DetailsView { times: &hours, ..DetailsView::default() });
        }
        let dataset = Dataset {
            titles: BTreeMap::from([(Code(2), "Diabetes mellitus".to_owned())]),
            details: dated.then_some(times),
            ..Dataset::new(cohort, Arc::clone(&vocabulary))
        };
        meds::write_with(folder.join(name), &dataset, &options)?;
    }
    meds::write_with(folder.join("detailed"), &detailed()?, &options)?;
    Ok(())
}

/// Records with births, ends, ages, values, codes at times of their own, and a death in every third.
fn detailed() -> Result<Dataset, Box<dyn Error>> {
    let names = ["ICD9CM//250", "LAB//A1C//q1", "LAB//A1C//q2", "DISCHARGE//HOME", "DEATH"];
    let vocabulary = Vocabulary::new(
        std::iter::once(("SEX//F", Kind::Static)).chain(names.map(|name| (name, Kind::Encounter))),
    )?;
    let [diabetes, low, high, home, death] = [1, 2, 3, 4, 5].map(Code);
    let mut cohort = Cohort::default();
    let mut known = CohortDetails::default();
    for number in 0..30_i64 {
        let dies = number % 3 == 0;
        let leaves = if dies { death } else { home };
        let visits = vec![vec![Code(0)], vec![diabetes, low], vec![low, high, leaves]];
        cohort.push(&number.to_string(), &Record::new(visits));
        let begin = (10_000 + number) * DAY;
        let (times, end) = (vec![begin, begin + 40 * DAY], begin + 43 * DAY);
        let event = |visit, code, time, value| EventDetail { visit, code, time, value };
        let events = vec![
            event(1, low, None, Some(4.5)),
            event(2, low, Some(begin + 41 * DAY), Some(5.0)),
            event(2, high, None, Some(5.5 + number as f32)),
            event(2, leaves, Some(end), None),
        ];
        let age = AgeBand { from: 60, to: Some(70) };
        known.push(
            Details {
                birth: Some((number - 15_000) * DAY),
                times,
                ends: vec![None, Some(end)],
                ages: vec![Some(age), Some(AgeBand { from: 90, to: None })],
                events,
            }
            .view(),
        );
    }
    let unit = Some("%".to_owned());
    let below =
        Scale { test: "LAB//A1C".into(), unit, up_to: Some(5.25), count: 60, ..Scale::default() };
    let above = Scale { above: below.up_to, up_to: None, count: 30, ..below.clone() };
    Ok(Dataset {
        scales: BTreeMap::from([(low, below), (high, above)]),
        details: Some(known),
        ..Dataset::new(cohort, Arc::new(vocabulary))
    })
}
