//! Records into files: a MEDS dataset, shard by shard, or JSON lines.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use consequence_feedback::Watch;
use consequence_model::Generator;
use consequence_record::{Code, Cohort, CohortDetails, Concept, Split, Vocabulary};
use consequence_store::{StoreError, WorkingFolder};
use consequence_tables::jsonl::Writer;
use consequence_tables::meds::{CodeFacts, Shards};
use rayon::prelude::*;

use crate::encoding::{Encoding, Full};
use crate::manifest::Manifest;
use crate::{Identity, SampleError, Sampled, Sampler, Totals, manifest};

/// How to write a dataset.
#[derive(Clone, Debug)]
pub struct DatasetOptions {
    /// How many records.
    pub records: u64,
    /// How many records a data file has; they are in memory until it is written, those of as many files as there are threads, and
    /// of eight at most. 10,000 by default.
    pub shard_records: u64,
    /// Whether to resume what an earlier run left.
    pub resume: bool,
    /// Whether to replace a dataset that stands at the path, and to drop what an earlier run left
    /// unless it is to be resumed.
    pub replace: bool,
    /// What the records are made from.
    pub made_from: Identity,
    /// What the codes mean.
    pub titles: BTreeMap<Code, String>,
    /// The OMOP concepts that the codes stand for.
    pub concepts: BTreeMap<Code, Concept>,
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
            concepts: BTreeMap::new(),
        }
    }
}

impl DatasetOptions {
    /// What is known of codes, beside them.
    fn facts<G: Generator>(&self, sampler: &Sampler<'_, G>) -> CodeFacts {
        let (titles, concepts) = (self.titles.clone(), self.concepts.clone());
        CodeFacts { titles, concepts, scales: sampler.scales() }
    }
}

/// What a run wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// Records that an earlier run had written, in files that are as they were then.
    pub kept: u64,
    /// Files that were not as an earlier run had written them, and were written again.
    pub rewritten: Vec<String>,
    /// What this run wrote.
    pub totals: Totals,
}

/// Writes records 0, 1, 2, ... into a MEDS dataset at a path; record `i` is subject `i + 1`.
/// `watch` is told of every record as it is done.
///
/// Until it is complete the dataset is beside its path, with `.unfinished` after its name. Each
/// data file appears there whole, once the referee has seen all its records; a run that was killed
/// loses those it was at. With [`resume`](DatasetOptions::resume) a run writes what is missing or
/// was changed since, by the digests of its manifest, and the dataset is, byte for byte, that of a
/// run that was never stopped. A file that is none of the dataset's is refused. A dataset that is
/// complete is looked through in the same way, and mended.
///
/// ```
/// use std::sync::Arc;
/// use consequence_model::{Network, NetworkGenerator, Sizes};
/// use consequence_rules::{Order, RuleSet};
/// use consequence_feedback::Unwatched;
/// use consequence_sample::{DatasetOptions, Request, Sampler, write_dataset};
/// use consequence_tables::Dataset;
///
/// let rules = RuleSet::parse("rule lifelong: DIABETES in previous => DIABETES", None)?;
/// let codes = Order::natural(Arc::clone(rules.vocabulary()));
/// let sizes = Sizes::recurrent(5, 8);
/// let generator = NetworkGenerator::new(&Network::drawn(codes, &sizes, 1)?);
/// let sampler = Sampler::new(&generator, &rules, Request::default())?;
///
/// let folder = tempfile::tempdir()?;
/// let out = folder.path().join("cohort");
/// let options = DatasetOptions { records: 250, shard_records: 100, ..DatasetOptions::default() };
/// write_dataset(&sampler, &out, &options, &Unwatched)?;
/// assert_eq!(Dataset::open(&out)?.cohort.len(), 250);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_dataset<G: Generator>(
    sampler: &Sampler<'_, G>,
    out: impl AsRef<Path>,
    options: &DatasetOptions,
    watch: &dyn Watch,
) -> Result<Written, SampleError> {
    let out = out.as_ref();
    let DatasetOptions { records, shard_records, .. } = *options;
    if records == 0 {
        return Err(SampleError::Nothing("records"));
    }
    if shard_records == 0 {
        return Err(SampleError::Nothing("records in a shard"));
    }
    let files = records.div_ceil(shard_records) as usize;
    let wanted = Manifest::new(sampler, records, shard_records, options.made_from.clone());
    let Some((shards, mut manifest)) = open(sampler, out, options, wanted, files)? else {
        watch.advance(records);
        return Ok(Written { kept: records, ..Written::default() });
    };
    let range = |file: usize| {
        let first = file as u64 * shard_records;
        first..records.min(first + shard_records)
    };
    let folder = shards.path().to_path_buf();
    let facts = options.facts(sampler);
    let describing = Shards::describing(&facts);
    let (missing, rewritten) = missing(&folder, &mut manifest, files, &describing);
    manifest.write(&folder)?;
    let mut totals = Totals::default();
    let wanted: u64 = missing.iter().map(|&file| range(file).end - range(file).start).sum();
    watch.advance(records - wanted);
    let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
    let dated = sampler.dated();
    let detailed = dated || !facts.scales.is_empty();
    let encoding = Encoding::new(&shards, &folder, manifest, sampler.writing());
    let written = rayon::in_place_scope(|scope| {
        sampler.each(missing.into_iter().flat_map(range), &mut totals, |sampled| {
            let number = sampled.number;
            let file = (number / shard_records) as usize;
            cohort.push(&(number + 1).to_string(), &sampled.record);
            details.push(sampled.details.view());
            if number + 1 == range(file).end {
                let cohort = std::mem::take(&mut cohort);
                let details = Some(std::mem::take(&mut details)).filter(|_| detailed);
                encoding.encode(scope, Full { file, cohort, details })?;
            }
            watch.advance(1);
            Ok(())
        })
    });
    let finished = encoding.finish();
    let mut manifest = match written.and(finished) {
        Ok(manifest) => manifest,
        Err(error) => {
            // What is worth nothing is not left for anyone to find.
            if !(0..files).any(|file| shards.has(file)) {
                let _ = shards.discard();
            }
            return Err(error);
        }
    };
    let subjects = (1..=records as i64).map(|subject| (subject, Split::of(&subject.to_string())));
    shards.describe(subjects, &facts, dated)?;
    for name in &describing {
        manifest.note(&folder, name)?;
    }
    manifest.write(&folder)?;
    refuse_strangers(&folder, files, &describing)?;
    shards.commit()?;
    Ok(Written { kept: records - wanted, rewritten, totals })
}

/// The data files that are to be written, and the names of all files that are there but are not as
/// they were written. The manifest forgets all but the data files that stay.
fn missing(
    folder: &Path,
    manifest: &mut Manifest,
    files: usize,
    describing: &[&str],
) -> (Vec<usize>, Vec<String>) {
    let names: Vec<String> = (0..files).map(Shards::name).collect();
    let whole: Vec<bool> = names.par_iter().map(|name| manifest.has(folder, name)).collect();
    let missing: Vec<usize> = (0..files).filter(|&file| !whole[file]).collect();
    let changed = |name: &&str| {
        manifest.files.contains_key(*name)
            && folder.join(name).exists()
            && !manifest.has(folder, name)
    };
    let written_again = missing.iter().map(|&file| &*names[file]).chain(describing.iter().copied());
    let rewritten = written_again.filter(changed).map(str::to_owned).collect();
    let kept = names.into_iter().zip(whole).filter_map(|(name, whole)| whole.then_some(name));
    manifest.files = kept.filter_map(|name| manifest.files.remove_entry(&name)).collect();
    (missing, rewritten)
}

/// Opens the folder that is filled, and what is known of the files in it; none if the dataset is in
/// place already, as it was written.
fn open<G: Generator>(
    sampler: &Sampler<'_, G>,
    out: &Path,
    options: &DatasetOptions,
    wanted: Manifest,
    files: usize,
) -> Result<Option<(Shards, Manifest)>, SampleError> {
    let vocabulary = || Arc::clone(sampler.codes().vocabulary());
    let describing = Shards::describing(&options.facts(sampler));
    let begin = || Shards::open(out, vocabulary(), options.replace);
    let names = || (0..files).map(Shards::name);
    let unfinished = WorkingFolder::path_for(out)?;
    match (unfinished.is_dir(), options.resume) {
        (true, true) => {
            let mut there = Manifest::read(&unfinished)?;
            if let Some(there) = &mut there {
                wanted.refuse_other(there, &unfinished)?;
                wanted.take_up(there, &unfinished, names())?;
            }
            let shards = begin()?;
            // Killed before it began; what has data but no manifest is none of ours.
            if there.is_none() && shards.has(0) {
                let reason = "it has data, and no manifest".into();
                return Err(SampleError::Manifest { path: unfinished, reason });
            }
            refuse_strangers(&unfinished, files, &describing)?;
            return Ok(Some((shards, there.unwrap_or(wanted))));
        }
        (true, false) if options.replace => begin()?.discard()?,
        (true, false) => return Err(SampleError::Unfinished(unfinished)),
        (false, true) => match Manifest::read(out) {
            Ok(None) => {}
            Ok(Some(mut there)) => {
                let same = wanted.refuse_other(&there, out);
                match same.and_then(|()| wanted.take_up(&mut there, out, names())) {
                    Ok(()) => return complete(out, vocabulary(), there, files, &describing),
                    Err(_) if options.replace => {}
                    Err(error) => return Err(error),
                }
            }
            Err(_) if options.replace => {}
            Err(error) => return Err(error),
        },
        (false, false) => {}
    }
    Ok(Some((begin()?, wanted)))
}

/// Looks through a dataset that is in place. One that is not as it was written is taken back.
fn complete(
    out: &Path,
    vocabulary: Arc<Vocabulary>,
    manifest: Manifest,
    files: usize,
    describing: &[&str],
) -> Result<Option<(Shards, Manifest)>, SampleError> {
    refuse_strangers(out, files, describing)?;
    let mut names: Vec<String> = (0..files).map(Shards::name).collect();
    names.extend(describing.iter().map(|&name| name.to_owned()));
    match names.par_iter().all(|name| manifest.has(out, name)) {
        true => Ok(None),
        false => Ok(Some((Shards::reopen(out, vocabulary)?, manifest))),
    }
}

/// Refuses a folder with anything in it that is not of the dataset: a reader would take it for a
/// part.
fn refuse_strangers(folder: &Path, files: usize, describing: &[&str]) -> Result<(), SampleError> {
    let ours = (0..files).map(|file| PathBuf::from(Shards::name(file)));
    let others = describing.iter().copied().chain([manifest::FILE]).map(PathBuf::from);
    let mut known: HashSet<PathBuf> = ours.chain(others).collect();
    let folders: HashSet<PathBuf> =
        known.iter().filter_map(|name| name.parent()).map(Path::to_path_buf).collect();
    known.extend(folders.iter().filter(|name| !name.as_os_str().is_empty()).cloned());
    let mut looked = vec![PathBuf::new()];
    while let Some(inner) = looked.pop() {
        let path = folder.join(&inner);
        let fail = |error| StoreError::new(&path, error);
        for entry in fs::read_dir(&path).map_err(fail)? {
            let name = inner.join(entry.map_err(fail)?.file_name());
            match known.contains(&name) {
                true if folders.contains(&name) => looked.push(name),
                true => {}
                false => return Err(SampleError::Stranger(folder.join(name))),
            }
        }
    }
    Ok(())
}

/// Writes records 0, 1, 2, ... into one file of JSON lines, which appears whole or not at all: a
/// run that was killed begins again. A file that is there is replaced only if `replace` says so.
/// Record `i` has the id `i + 1`. `watch` is told of every record as it is done.
///
/// ```
/// use std::sync::Arc;
/// use consequence_model::{Network, NetworkGenerator, Sizes};
/// use consequence_rules::{Order, RuleSet};
/// use consequence_feedback::Unwatched;
/// use consequence_sample::{Request, Sampler, write_lines};
///
/// let rules = RuleSet::parse("rule lifelong: DIABETES in previous => DIABETES", None)?;
/// let codes = Order::natural(Arc::clone(rules.vocabulary()));
/// let sizes = Sizes::recurrent(5, 8);
/// let generator = NetworkGenerator::new(&Network::drawn(codes, &sizes, 1)?);
/// let sampler = Sampler::new(&generator, &rules, Request::default())?;
///
/// let folder = tempfile::tempdir()?;
/// let out = folder.path().join("cohort.jsonl");
/// assert_eq!(write_lines(&sampler, &out, 10, false, &Unwatched)?.records, 10);
/// assert_eq!(std::fs::read_to_string(&out)?.lines().count(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_lines<G: Generator>(
    sampler: &Sampler<'_, G>,
    out: impl AsRef<Path>,
    records: u64,
    replace: bool,
    watch: &dyn Watch,
) -> Result<Totals, SampleError> {
    if records == 0 {
        return Err(SampleError::Nothing("records"));
    }
    let vocabulary = sampler.codes().vocabulary();
    let mut writer = match replace {
        true => Writer::create(out, vocabulary)?,
        false => Writer::create_new(out, vocabulary)?,
    };
    let mut totals = Totals::default();
    sampler.each(0..records, &mut totals, |Sampled { number, record, details }| {
        let began = Instant::now();
        let visits = record.visits.iter().map(Vec::as_slice);
        let id = (number + 1).to_string();
        writer.push_detailed(&id, record.ended, details.view(), visits)?;
        sampler.has_written(began.elapsed());
        watch.advance(1);
        Ok(())
    })?;
    writer.finish()?;
    Ok(totals)
}
