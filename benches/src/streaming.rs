//! Long tables of growing size: what importing them holds in memory.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use consequence_feedback::Unwatched;
use consequence_import::{CsvColumns, ImportOptions, Source, open};
use consequence_prng::{Draws, Purpose};
use consequence_tables::meds::{Subject, Writer, WriterOptions};

use crate::timing::peak_memory;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// As many in a table of any size, so that what grows is the table alone.
const SUBJECTS: f64 = 50_000.0;
const CODES: f64 = 2_000.0;
const YEARS: f64 = 20.0;
const MEGABYTE: f64 = 1e6;

/// Writes a table of about so many bytes; its rows come in no order.
pub fn table(path: &Path, bytes: u64) -> Fallible<()> {
    let draws = Draws::new(11);
    let mut rows = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let header = "subject_id,time,code\n";
    rows.write_all(header.as_bytes())?;
    let mut written = header.len() as u64;
    let mut row = String::new();
    for number in 0.. {
        if written >= bytes {
            break;
        }
        let mut draw = draws.visit(number, 0, 0, Purpose::Simulation);
        let mut pick = |index: u32, among: f64| (draw.uniform(index) * among) as u32;
        let (year, month, day) = (2000 + pick(0, YEARS), 1 + pick(1, 12.0), 1 + pick(2, 28.0));
        let subject = 1 + pick(3, SUBJECTS);
        // The square makes some codes common and some rare.
        let code = (draw.uniform(4).powi(2) * CODES) as u32;
        row.clear();
        std::fmt::Write::write_fmt(
            &mut row,
            format_args!("{subject},{year}-{month:02}-{day:02},CODE//{code}\n"),
        )?;
        rows.write_all(row.as_bytes())?;
        written += row.len() as u64;
    }
    rows.flush()?;
    Ok(())
}

/// Imports a table into a dataset, record by record, and prints the time and the peak of memory.
pub fn import(table: &Path, folder: &Path) -> Fallible<()> {
    let begun = Instant::now();
    let source = Source::Csv(CsvColumns::default());
    let import = open(&source, table, &ImportOptions::default(), &Unwatched)?;
    let mut writer = Writer::create(folder, import.vocabulary(), WriterOptions::default())?;
    let mut records = import.records();
    for record in &mut records {
        let record = record?;
        let subject = Subject {
            id: &record.id,
            split: record.split,
            ended: record.record.ended,
            details: record.details.view(),
        };
        writer.push(subject, record.record.visits.iter().map(Vec::as_slice))?;
    }
    let summary = records.summary();
    writer.finish()?;
    let rows: u64 = summary.tables.iter().map(|(_, rows)| rows).sum();
    println!(
        "{:>6.0} MB {:>9} rows {:>6} subjects {:>5} codes{:>8.1} s{:>7.0} MB",
        std::fs::metadata(table)?.len() as f64 / MEGABYTE,
        rows,
        summary.patients,
        summary.vocabulary,
        begun.elapsed().as_secs_f64(),
        peak_memory().unwrap_or(0) as f64 / MEGABYTE
    );
    Ok(())
}
