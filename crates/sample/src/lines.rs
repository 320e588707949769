//! Records into one file of JSON lines.

use std::path::Path;

use consequence_model::Generator;
use consequence_tables::jsonl::Writer;

use crate::{SampleError, Source, Totals};

/// Writes records 0, 1, 2, ... into one file of JSON lines, which appears whole or not at all: a run
/// that was killed begins again. A file that is there is replaced only if `replace` says so. Record `i`
/// has the id `i + 1`. `progress` is told of records as they are done.
///
/// ```
/// use std::sync::Arc;
/// use consequence_model::{Network, NetworkGenerator, Sizes};
/// use consequence_rules::{Order, RuleSet};
/// use consequence_sample::{Request, Source, write_lines};
///
/// let rules = RuleSet::parse("rule lifelong: DIABETES in previous => DIABETES", None)?;
/// let codes = Order::natural(Arc::clone(&rules.vocabulary));
/// let sizes = Sizes { max_visits: 5, width: 8, layers: 1, heads: 2, head_units: 1 };
/// let generator = NetworkGenerator::new(&Network::drawn(codes, &sizes, 1)?);
/// let source = Source::new(&generator, &rules, Request::default())?;
///
/// let place = tempfile::tempdir()?;
/// let out = place.path().join("cohort.jsonl");
/// assert_eq!(write_lines(&source, &out, 10, false, &|_| {})?.records, 10);
/// assert_eq!(std::fs::read_to_string(&out)?.lines().count(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_lines<G: Generator>(
    source: &Source<'_, G>,
    out: impl AsRef<Path>,
    records: u64,
    replace: bool,
    progress: &dyn Fn(u64),
) -> Result<Totals, SampleError> {
    if records == 0 {
        return Err(SampleError::Nothing("records"));
    }
    let vocabulary = source.codes().vocabulary();
    let mut writer = match replace {
        true => Writer::create(out, vocabulary)?,
        false => Writer::create_new(out, vocabulary)?,
    };
    let mut totals = Totals::default();
    source.records(0..records, &mut totals, |number, record| {
        let visits = record.visits.iter().map(Vec::as_slice);
        writer.push(&(number + 1).to_string(), record.ended, visits)?;
        progress(1);
        Ok(())
    })?;
    writer.finish()?;
    Ok(totals)
}
