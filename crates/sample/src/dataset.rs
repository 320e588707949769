//! Records into a MEDS dataset, shard by shard.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use consequence_model::Generator;
use consequence_record::{Code, Cohort, Split};
use consequence_store::WorkingFolder;
use consequence_tables::meds::Shards;

use crate::{Identity, Manifest, SampleError, Source, Totals};

/// How to write a dataset.
#[derive(Clone, Debug)]
pub struct DatasetOptions {
    /// How many records.
    pub records: u64,
    /// How many records a data file has; they are in memory until it is written. 10,000 by default.
    pub shard_records: u64,
    /// Whether to go on with what an earlier run left.
    pub resume: bool,
    /// Whether to replace a dataset that stands at the place, and to drop what an earlier run left
    /// unless it is to be resumed.
    pub replace: bool,
    /// What the records are made from.
    pub made_from: Identity,
    /// What the codes mean.
    pub titles: BTreeMap<Code, String>,
}

impl Default for DatasetOptions {
    fn default() -> Self {
        Self {
            records: 0,
            shard_records: 10_000,
            resume: false,
            replace: false,
            made_from: Identity::default(),
            titles: BTreeMap::new(),
        }
    }
}

/// What a run wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// Records that an earlier run had written.
    pub kept: u64,
    /// What this run wrote.
    pub totals: Totals,
}

/// Writes records 0, 1, 2, ... into a MEDS dataset at a place; record `i` is subject `i + 1`.
/// `progress` is told of records as they are done.
///
/// Until it is complete the dataset is beside its place, with `.unfinished` after its name. Each data
/// file appears there whole, once the referee has seen all its records; a run that was killed loses
/// the one it was at. With [`resume`](DatasetOptions::resume) a run writes what is missing, and the
/// dataset is, byte for byte, that of a run that was never stopped.
///
/// ```
/// use std::sync::Arc;
/// use consequence_model::{CodeOrder, Network, NetworkGenerator, Sizes};
/// use consequence_rules::RuleSet;
/// use consequence_sample::{DatasetOptions, Request, Source, write_dataset};
/// use consequence_tables::Dataset;
///
/// let rules = RuleSet::parse("rule lifelong: DIABETES in previous => DIABETES", None)?;
/// let codes = CodeOrder::natural(Arc::clone(&rules.vocabulary));
/// let sizes = Sizes { max_visits: 5, width: 8, layers: 1, heads: 2, head_units: 1 };
/// let generator = NetworkGenerator::new(&Network::drawn(codes, &sizes, 1)?);
/// let source = Source::new(&generator, &rules, Request::default())?;
///
/// let place = tempfile::tempdir()?;
/// let out = place.path().join("cohort");
/// let options = DatasetOptions { records: 250, shard_records: 100, ..DatasetOptions::default() };
/// write_dataset(&source, &out, &options, &|_| {})?;
/// assert_eq!(Dataset::open(&out)?.cohort.len(), 250);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_dataset<G: Generator>(
    source: &Source<'_, G>,
    out: impl AsRef<Path>,
    options: &DatasetOptions,
    progress: &dyn Fn(u64),
) -> Result<Written, SampleError> {
    let out = out.as_ref();
    let DatasetOptions { records, shard_records, .. } = *options;
    if records == 0 {
        return Err(SampleError::Nothing("records"));
    }
    if shard_records == 0 {
        return Err(SampleError::Nothing("records in a shard"));
    }
    let manifest = Manifest::new(source, records, shard_records, options.made_from.clone());
    let Some(shards) = open(source, out, options, &manifest)? else {
        progress(records);
        return Ok(Written { kept: records, totals: Totals::default() });
    };
    let files = records.div_ceil(shard_records) as usize;
    let range = |file: usize| {
        let first = file as u64 * shard_records;
        first..records.min(first + shard_records)
    };
    let missing: Vec<usize> = (0..files).filter(|&file| !shards.has(file)).collect();
    let mut totals = Totals::default();
    let wanted: u64 = missing.iter().map(|&file| range(file).end - range(file).start).sum();
    progress(records - wanted);
    let mut cohort = Cohort::default();
    let written =
        source.records(missing.into_iter().flat_map(range), &mut totals, |number, record| {
            let file = (number / shard_records) as usize;
            cohort.push(&(number + 1).to_string(), &record);
            if number + 1 == range(file).end {
                shards.write(file, &std::mem::take(&mut cohort))?;
            }
            progress(1);
            Ok(())
        });
    if let Err(error) = written {
        // What is worth nothing is not left for anyone to find.
        if !(0..files).any(|file| shards.has(file)) {
            let _ = shards.discard();
        }
        return Err(error);
    }
    let subjects = (1..=records as i64).map(|subject| (subject, Split::of(&subject.to_string())));
    shards.finish(files, subjects, &options.titles)?;
    Ok(Written { kept: records - wanted, totals })
}

/// Opens the folder that is filled, with the manifest in it; none if the dataset is in place already.
fn open<G: Generator>(
    source: &Source<'_, G>,
    out: &Path,
    options: &DatasetOptions,
    manifest: &Manifest,
) -> Result<Option<Shards>, SampleError> {
    let begin = || Shards::open(out, Arc::clone(source.codes().vocabulary()), options.replace);
    let unfinished = WorkingFolder::place(out)?;
    match (unfinished.is_dir(), options.resume) {
        (true, true) => {
            let there = Manifest::read(&unfinished)?;
            if let Some(there) = there {
                manifest.refuse_other(&there, &unfinished)?;
                return Ok(Some(begin()?));
            }
            // Killed before it began; what has data but no manifest is none of ours.
            let shards = begin()?;
            if shards.has(0) {
                let reason = "it has data, and no manifest".into();
                return Err(SampleError::Manifest { path: unfinished, reason });
            }
            manifest.write(shards.path())?;
            return Ok(Some(shards));
        }
        (true, false) if options.replace => begin()?.discard()?,
        (true, false) => return Err(SampleError::Unfinished(unfinished)),
        (false, true) => {
            if let Some(there) = Manifest::read(out)? {
                match manifest.refuse_other(&there, out) {
                    Ok(()) => return Ok(None),
                    Err(_) if options.replace => {}
                    Err(error) => return Err(error),
                }
            }
        }
        (false, false) => {}
    }
    let shards = begin()?;
    manifest.write(shards.path())?;
    Ok(Some(shards))
}
