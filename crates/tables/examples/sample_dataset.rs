//! Writes two small MEDS datasets, `dated` and `undated`, into a folder, for other programs to
//! judge.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use consequence_record::{Code, Cohort, CohortDetails, DetailsView, Kind, Record, Vocabulary};
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
    Ok(())
}
