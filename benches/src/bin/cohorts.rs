//! Prints what it costs to write a cohort of outpatients as MEDS and to read it again.
//!
//! `cargo run --release -p consequence-benches --bin cohorts -- [RECORDS]`; 100,000 records if no
//! number is given. The shape of the records is that of the paper's outpatient data.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use consequence_benches::timing::peak_memory;
use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Cohort, Kind, Vocabulary};
use consequence_tables::Dataset;
use consequence_tables::meds::{self, MedsOptions};

const MEGABYTE: f64 = 1024.0 * 1024.0;
const STATIC_CODES: u32 = 7;
const ENCOUNTER_CODES: u32 = 1_817;
const VISITS_A_RECORD: f64 = 35.4;
const CODES_A_VISIT: f64 = 1.69;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let records = match std::env::args().nth(1) {
        Some(number) => number.replace('_', "").parse()?,
        None => 100_000,
    };
    let dataset = outpatients(records)?;
    let cohort = &dataset.cohort;
    let codes: usize = cohort.records().flat_map(|record| record.visits()).map(<[Code]>::len).sum();
    println!("{} records, {} visits, {codes} codes", cohort.len(), cohort.visit_count());
    report_memory("the cohort in memory");

    let place = tempfile::tempdir()?;
    let path = place.path().join("cohort");
    let begun = Instant::now();
    meds::write(&path, &dataset)?;
    report("write", begun, codes);
    println!("  {:.0} MB on disk", folder_bytes(&path)? as f64 / MEGABYTE);
    report_memory("peak after writing");

    let begun = Instant::now();
    let read = meds::read(&path, &MedsOptions::default())?;
    report("read", begun, codes);
    report_memory("peak with two cohorts");
    assert!(read.cohort == dataset.cohort, "what is read is what was written");
    Ok(())
}

fn report(what: &str, begun: Instant, codes: usize) {
    let seconds = begun.elapsed().as_secs_f64();
    println!("{what}: {seconds:.2} s, {:.1} million codes a second", codes as f64 / seconds / 1e6);
}

fn report_memory(when: &str) {
    if let Some(bytes) = peak_memory() {
        println!("  {:.0} MB: {when}", bytes as f64 / MEGABYTE);
    }
}

/// Records with as many visits and codes as the paper's outpatients have, drawn at random.
fn outpatients(records: u64) -> Result<Dataset, Box<dyn std::error::Error>> {
    let names = (0..STATIC_CODES).map(|code| (format!("STATIC//{code}"), Kind::Static));
    let encounter_names =
        (0..ENCOUNTER_CODES).map(|code| (format!("ICD9CM//{code:04}"), Kind::Encounter));
    let vocabulary = Vocabulary::new(names.chain(encounter_names))?;
    let draws = Draws::new(1);
    let mut cohort = Cohort::default();
    for record in 0..records {
        let mut draw = draws.visit(record, 0, 0, Purpose::Simulation);
        let mut drawn = 0;
        let mut uniform = || {
            drawn += 1;
            draw.uniform(drawn)
        };
        let visits = count(VISITS_A_RECORD, uniform()).min(1_000);
        let mut all = vec![vec![Code(record as u32 % STATIC_CODES)]];
        for _ in 0..visits {
            let mut visit: Vec<Code> = (0..count(CODES_A_VISIT, uniform()))
                .map(|_| {
                    // The cube makes a few codes very common.
                    let place = uniform().powi(3) * f64::from(ENCOUNTER_CODES);
                    Code(STATIC_CODES + (place as u32).min(ENCOUNTER_CODES - 1))
                })
                .collect();
            visit.sort_unstable();
            visit.dedup();
            all.push(visit);
        }
        cohort.push_visits(&record.to_string(), all.iter().map(Vec::as_slice), true);
    }
    Ok(Dataset::new(cohort, Arc::new(vocabulary)))
}

/// A geometric number of the given mean: mostly small, now and then large.
fn count(mean: f64, uniform: f64) -> usize {
    (uniform.ln() / (1.0 - 1.0 / mean).ln()) as usize + 1
}

fn folder_bytes(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { folder_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
