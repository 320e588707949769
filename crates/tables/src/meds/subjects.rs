//! What the lists beside a dataset say of its subjects: the split of each, and the id it had before it was numbered.

use std::hash::BuildHasher;
use std::path::Path;

use arrow_array::Array;
use consequence_record::Split;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::MedsProblem;
use super::columns::{integers, strings};
use super::layout::{ORIGINAL, SPLIT, SPLITS, SUBJECT, SUBJECTS};
use super::metadata::split_named;
use super::table::Table;
use crate::TableError;

/// What is known of subjects by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Subjects {
    /// The splits of those that are in one of the three we know.
    pub splits: FxHashMap<i64, Split>,
    /// The ids of those that were numbered.
    pub ids: FxHashMap<i64, Box<str>>,
}

impl Subjects {
    /// What the lists say of all subjects.
    pub fn all(dataset: &Path) -> Result<Self, TableError> {
        Self::listed(dataset, None)
    }

    /// What they say of those of one data file, in no more memory than these take.
    pub fn of_file(dataset: &Path, file: &Path) -> Result<Self, TableError> {
        let lists = [SPLITS, SUBJECTS].map(|list| dataset.join(list).exists());
        if lists == [false; 2] {
            return Ok(Self::default());
        }
        Self::listed(dataset, Some(&Chosen::of_file(file)?))
    }

    fn listed(dataset: &Path, chosen: Option<&Chosen>) -> Result<Self, TableError> {
        let mut splits = FxHashMap::default();
        each(dataset, (SPLITS, SPLIT), chosen, |subject, name| {
            match splits.insert(subject, split_named(name)) {
                None => Ok(()),
                Some(_) => Err(MedsProblem::RepeatedSubject),
            }
        })?;
        let splits = splits.into_iter().filter_map(|(subject, split)| Some((subject, split?)));
        let splits = splits.collect();
        let mut ids: FxHashMap<i64, Box<str>> = FxHashMap::default();
        let mut known: FxHashSet<Box<str>> = FxHashSet::default();
        each(dataset, (SUBJECTS, ORIGINAL), chosen, |subject, id| {
            // Whoever reads files apart has looked at all ids before.
            let first = chosen.is_some() || known.insert(id.into());
            if !first || ids.insert(subject, id.into()).is_some() {
                return Err(MedsProblem::RepeatedSubject);
            }
            Ok(())
        })?;
        Ok(Self { splits, ids })
    }

    /// Refuses a list that gives two subjects one id, in eight bytes for each of them.
    pub fn check_ids(dataset: &Path) -> Result<(), TableError> {
        let hash = |id: &str| FxBuildHasher.hash_one(id);
        let list = (SUBJECTS, ORIGINAL);
        let mut hashes = Vec::new();
        each(dataset, list, None, |_, id| {
            hashes.push(hash(id));
            Ok(())
        })?;
        hashes.sort_unstable();
        let twice = hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let twice: FxHashSet<u64> = twice.collect();
        if twice.is_empty() {
            return Ok(());
        }
        // Two ids may have one hash, so that those few are held against each other.
        let mut known: FxHashSet<Box<str>> = FxHashSet::default();
        each(dataset, list, None, |_, id| {
            if twice.contains(&hash(id)) && !known.insert(id.into()) {
                return Err(MedsProblem::RepeatedSubject);
            }
            Ok(())
        })
    }
}

/// The subjects of a data file.
struct Chosen {
    subjects: FxHashSet<i64>,
    bounds: (i64, i64),
}

impl Chosen {
    fn of_file(file: &Path) -> Result<Self, TableError> {
        let (mut subjects, mut bounds) = (FxHashSet::default(), (i64::MAX, i64::MIN));
        each_of_file(file, |subject| {
            bounds = (bounds.0.min(subject), bounds.1.max(subject));
            subjects.insert(subject);
        })?;
        Ok(Self { subjects, bounds })
    }
}

/// Gives the subject of each run of events of one subject in a data file.
pub(crate) fn each_of_file(file: &Path, mut take: impl FnMut(i64)) -> Result<(), TableError> {
    let table = Table::open(file)?;
    table.require(SUBJECT)?;
    let mut last = None;
    table.each_batch(&[SUBJECT], |arrays, _| {
        let subjects = integers(SUBJECT, &arrays[0]);
        let subjects = subjects.map_err(|problem| TableError::of_file(file, problem))?;
        // Who reads the events tells of those without a subject.
        for subject in (0..arrays[0].len()).filter_map(|row| subjects.get(row)) {
            if last.replace(subject) != Some(subject) {
                take(subject);
            }
        }
        Ok(())
    })
}

/// Gives each subject of a list, or each that is chosen, with what a column of strings says of it. Without the list,
/// there is nothing to say.
fn each(
    dataset: &Path,
    (list, column): (&str, &'static str),
    chosen: Option<&Chosen>,
    mut take: impl FnMut(i64, &str) -> Result<(), MedsProblem>,
) -> Result<(), TableError> {
    let path = &dataset.join(list);
    if !dataset.is_dir() || !path.exists() {
        return Ok(());
    }
    let mut table = Table::open(path)?;
    table.require(SUBJECT)?;
    table.require(column)?;
    if let Some(chosen) = chosen {
        table = table.narrowed(SUBJECT, chosen.bounds);
    }
    table.each_batch(&[SUBJECT, column], |arrays, before| {
        let fail = |problem| TableError::of_file(path, problem);
        let subjects = integers(SUBJECT, &arrays[0]).map_err(fail)?;
        let texts = strings(column, &arrays[1]).map_err(fail)?;
        for row in 0..arrays[0].len() {
            let null = MedsProblem::null;
            let subject = subjects.get(row).ok_or_else(|| null(SUBJECT));
            let is_chosen = |subject| chosen.is_none_or(|all| all.subjects.contains(&subject));
            subject
                .and_then(|subject| match is_chosen(subject) {
                    true => take(subject, texts.get(row).ok_or_else(|| null(column))?),
                    false => Ok(()),
                })
                .map_err(|problem| TableError::of_row(path, before + row as u64 + 1, problem))?;
        }
        Ok(())
    })
}
