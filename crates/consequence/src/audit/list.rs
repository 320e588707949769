//! Every violation, as a file: JSON lines, or a table of comma-separated values.

use std::io::{self, Write};
use std::path::Path;

use consequence_enforce::Auditor;
use consequence_pipeline::{Error, OpenOut, Watch, watched};
use consequence_record::Selection;
use consequence_tables::export::Rows;
use rayon::prelude::*;

use super::cause::{Causes, ExplainedViolation};
use crate::look::Seen;

/// Records whose violations are held at a time.
const CHUNK: usize = 4096;

/// The columns of the table; the patient only where that was asked for.
const COLUMNS: [&str; 9] =
    ["record", "id", "visit", "date", "rule", "has", "lacks", "explanation", "location"];

/// How violations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Lines,
    Table,
}

impl Form {
    /// By the ending of the name.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
        match ending.as_ref().and_then(|ending| ending.to_str()) {
            Some("csv") => Ok(Self::Table),
            Some("jsonl" | "ndjson") => Ok(Self::Lines),
            _ => Err(Error::refused_at(
                path,
                "violations are written as JSON lines or as CSV, and the name says neither",
                "let the name end in .jsonl or .csv",
            )),
        }
    }
}

/// Writes every violation of rules that are told, in the order of the records, and says how many.
pub(super) fn write<'a>(
    out: &OpenOut<'_>,
    form: Form,
    (auditor, causes): (&Auditor, &Causes<'_>),
    records: Selection<'a>,
    seen: &(impl Fn(usize) -> Seen<'a> + Sync),
    told: &(impl Fn(&ExplainedViolation) -> bool + Sync),
    (show_ids, watch): (bool, &dyn Watch),
) -> Result<u64, Error> {
    let mut count = 0;
    let fill = |file: &mut dyn Write| -> io::Result<()> {
        let columns = COLUMNS.iter().filter(|&&column| show_ids || column != "id");
        if form == Form::Table {
            let mut rows = Rows::new(&mut *file);
            columns.for_each(|column| {
                rows.field(column);
            });
            rows.end()?;
        }
        for part in records.chunks(CHUNK) {
            let indices: Vec<usize> = part.indices().collect();
            let found: Vec<Vec<ExplainedViolation>> = indices
                .into_par_iter()
                .map_init(|| auditor.reader(), |reader, index| causes.of(reader, &seen(index)))
                .collect();
            for violation in found.iter().flatten().filter(|one| told(one)) {
                match form {
                    Form::Lines => {
                        serde_json::to_writer(&mut *file, violation)?;
                        file.write_all(b"\n")?;
                    }
                    Form::Table => row(&mut Rows::new(&mut *file), violation)?,
                }
                count += 1;
            }
            watch.advance(part.len() as u64);
        }
        Ok(())
    };
    watched(watch, "listing violations", Some(records.len() as u64), || out.write(fill))?;
    Ok(count)
}

fn row<W: Write>(rows: &mut Rows<W>, violation: &ExplainedViolation) -> io::Result<()> {
    rows.field(violation.record);
    if let Some(id) = &violation.id {
        rows.field(id);
    }
    let codes = |codes: Vec<&str>| codes.join("; ");
    rows.field(violation.visit).optional(violation.date.as_ref()).field(&violation.rule);
    rows.field(codes(violation.has.iter().map(|one| one.code.as_str()).collect()));
    rows.field(codes(violation.lacks.iter().map(|one| one.code.as_str()).collect()));
    rows.field(violation).field(format!("{}:{}", violation.file, violation.line)).end()
}
