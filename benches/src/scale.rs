//! A cohort of full size, step by step: each with its time and its own peak of memory.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use consequence_enforce::Auditor;
use consequence_feedback::Unwatched;
use consequence_mine::{MineOptions, mine};
use consequence_record::{Code, DetailsView, Split};
use consequence_rules::{CompileLimits, CompileOptions, RuleSet, WrittenRules, compile};
use consequence_simulate::{Preset, Simulation};
use consequence_tables::meds::{self, MedsOptions, Subject, Writer, WriterOptions};

use crate::timing::{forget_peak, peak_memory};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

const SEED: u64 = 7;
/// Records that are simulated before they are written.
const PART: usize = 20_000;
const MEGABYTE: f64 = 1e6;

/// Does a piece of work and prints its name, its seconds and the peak of memory while it ran.
fn step<T>(name: &str, work: impl FnOnce() -> Fallible<T>) -> Fallible<T> {
    forget_peak();
    let begun = Instant::now();
    let done = work()?;
    let seconds = begun.elapsed().as_secs_f64();
    let peak = peak_memory().map_or("?".into(), |bytes| format!("{:.0}", bytes as f64 / MEGABYTE));
    println!("{name:<24}{seconds:>9.1} s{peak:>9} MB");
    Ok(done)
}

/// Simulates outpatients and writes them as they come.
pub fn write(folder: &Path, records: usize) -> Fallible<()> {
    let simulation = Simulation::new(Preset::Outpatient, records, SEED);
    step("simulate and write", || {
        let options = WriterOptions::default();
        let mut writer = Writer::create(folder, Arc::clone(simulation.vocabulary()), options)?;
        for part in simulation.parts(PART) {
            for (place, record) in part.records().enumerate() {
                let id = part.id(place);
                let subject = Subject {
                    id,
                    split: Split::of(id),
                    ended: record.ended(),
                    details: DetailsView::default(),
                };
                writer.push(subject, record.visits())?;
            }
        }
        Ok(writer.finish()?)
    })?;
    println!("  {:.0} MB on disk", folder_bytes(folder)? as f64 / MEGABYTE);
    Ok(())
}

/// Reads the cohort, mines it, proves what was mined, and audits the cohort with it.
pub fn read_mine_audit(folder: &Path) -> Fallible<()> {
    let dataset = step("read", || Ok(meds::read(folder, &MedsOptions::default())?))?;
    let cohort = &dataset.cohort;
    let encounters = cohort.visit_count() - cohort.len();
    let codes: usize = cohort.records().flat_map(|record| record.visits()).map(<[Code]>::len).sum();
    println!("  {} records, {encounters} encounters, {codes} codes", cohort.len());

    let mined = step("mine", || {
        Ok(mine(cohort, &dataset.vocabulary, &dataset.splits, &MineOptions::default())?)
    })?;
    let hard = mined.rules.iter().filter(|rule| rule.probability.is_none()).count();
    println!("  {hard} hard rules and {} soft", mined.rules.len() - hard);

    let text = mined.text(&|_| None);
    let rules = Arc::new(RuleSet::parse(&text, Some(Arc::clone(&dataset.vocabulary)))?);
    let max_visits = u16::try_from(cohort.longest())?;
    step("compile and prove", || {
        let options = CompileOptions { max_visits, ..CompileOptions::default() };
        Ok(compile(Arc::clone(&rules), &options)?)
    })?;
    println!("  for records of up to {max_visits} encounters");

    let audit = step("audit", || {
        let written = WrittenRules::new(Arc::clone(&rules), &CompileLimits::default())?;
        Ok(Auditor::new(&written).audit(cohort, 5, &Unwatched))
    })?;
    println!("  {} records, {} violations", audit.records, audit.violations());
    Ok(())
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
