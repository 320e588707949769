//! Writing a dataset; subjects whose ids are no numbers are numbered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use consequence_record::{Code, Concept, DetailsView, Scale, Split, Vocabulary};
use consequence_store::{AtomicFolder, StoreError, create_directory, write_atomically};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::encode::{self, Events, Shard, write_table};
use super::layout::{
    DATA, METADATA, ORIGINAL, OWN_RULES, SUBJECT, SUBJECTS, TRUTH, data_file, is_part,
};
use super::metadata::{self, Extent};
use super::{concepts, scales};
use crate::{Dataset, WriteError};

/// Full shards that wait to be encoded together, at most.
const MOST_WAITING: usize = 8;

/// How to write a dataset.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Whether to replace a dataset that stands at the path; any other folder is never replaced.
    pub replace: bool,
    /// The rows after which a data file is full; a subject is never split. A million by default,
    /// which takes about 30 MB a file while it is written.
    pub shard_rows: usize,
    /// What the codes mean.
    pub titles: BTreeMap<Code, String>,
    /// The OMOP concepts that they stand for.
    pub concepts: BTreeMap<Code, Concept>,
    /// What their values are.
    pub scales: BTreeMap<Code, Scale>,
    /// Rules that are known to hold, as text for a file `truth.rules` beside the two folders.
    pub truth: Option<String>,
    /// Rules that every record obeys by the way it was made, as text for `metadata/own.rules`; see
    /// [`own_rules`](super::own_rules).
    pub own_rules: Option<String>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            replace: false,
            shard_rows: 1_000_000,
            titles: BTreeMap::new(),
            concepts: BTreeMap::new(),
            scales: BTreeMap::new(),
            truth: None,
            own_rules: None,
        }
    }
}

/// What is known of a record beside its visits.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'s> {
    /// Its id.
    pub id: &'s str,
    /// The part of the cohort it belongs to.
    pub split: Split,
    /// False for a record that was cut before its real end.
    pub ended: bool,
    /// What is known of it beside its codes. All records of a dataset have times, or none has.
    pub details: DetailsView<'s>,
}

/// Writes a dataset record by record, in as much memory as a few data files take.
///
/// The files are the same whatever the number of threads.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Code, DetailsView, Kind, Split, Vocabulary};
/// use consequence_tables::meds::{self, MedsOptions, Subject, Writer, WriterOptions};
///
/// let vocabulary = Arc::new(Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?);
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("cohort");
/// let mut writer = Writer::create(&path, Arc::clone(&vocabulary), WriterOptions::default())?;
/// let subject =
///     Subject { id: "p1", split: Split::Train, ended: true, details: DetailsView::default() };
/// writer.push(subject, [&[][..], &[Code(0)], &[]])?;
/// writer.finish()?;
/// let dataset = meds::read(&path, &MedsOptions::default())?;
/// assert_eq!(dataset.cohort.record(0).visit(1), [Code(0)]);
/// assert_eq!(dataset.cohort.record(0).len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    /// The path as the caller gave it, for messages.
    path: PathBuf,
    folder: AtomicFolder,
    options: WriterOptions,
    vocabulary: Arc<Vocabulary>,
    /// The names of all codes, the markers last.
    names: Arc<StringArray>,
    numbering: Numbering,
    subjects: Vec<i64>,
    splits: Vec<Split>,
    /// Whether the encounters have times; known from the first record on.
    dated: Option<bool>,
    /// What there is beside codes and times so far.
    extent: Extent,
    shard: Shard,
    full: Vec<(PathBuf, Shard)>,
    shard_count: usize,
}

impl Writer {
    /// Begins a dataset; nothing is at `path` before [`finish`](Self::finish).
    pub fn create(
        path: impl AsRef<Path>,
        vocabulary: Arc<Vocabulary>,
        options: WriterOptions,
    ) -> Result<Self, WriteError> {
        let path = path.as_ref();
        let folder = begin(path, options.replace)?;
        for inner in [DATA, METADATA] {
            create_directory(&folder.path().join(inner)).map_err(|error| error.told_of(path))?;
        }
        Ok(Self {
            path: path.to_path_buf(),
            folder,
            shard: Shard::with_capacity(options.shard_rows.min(1 << 20)),
            options,
            names: Arc::new(metadata::names(&vocabulary)),
            vocabulary,
            numbering: Numbering::default(),
            subjects: Vec::new(),
            splits: Vec::new(),
            dated: None,
            extent: Extent::default(),
            full: Vec::new(),
            shard_count: 0,
        })
    }

    /// Appends a record: its static visit, then its encounters, of which there is at least one.
    /// After an error the writer cannot be used any more.
    pub fn push<'a, V>(&mut self, subject: Subject<'_>, visits: V) -> Result<(), WriteError>
    where
        V: IntoIterator<Item = &'a [Code]>,
        V::IntoIter: ExactSizeIterator,
    {
        let number = self.subjects.len() + 1;
        let fail = |reason| Err(WriteError::Record { number, reason });
        let dated = !subject.details.times.is_empty();
        if *self.dated.get_or_insert(dated) != dated {
            return fail("has times where others have none, or the reverse");
        }
        let Some(number) = self.numbering.number(subject.id) else {
            return fail("has the id of an earlier one");
        };
        let events = Events { number, ended: subject.ended, details: subject.details };
        if let Err(reason) = events.push(&mut self.shard, &self.vocabulary, visits) {
            return fail(reason);
        }
        self.extent.take(subject.details);
        self.subjects.push(number);
        self.splits.push(subject.split);
        if self.shard.rows() >= self.options.shard_rows {
            self.close_shard();
            if self.full.len() >= rayon::current_num_threads().min(MOST_WAITING) {
                self.encode_full()?;
            }
        }
        Ok(())
    }

    /// Sets a full shard aside. Where it ends depends on the records alone.
    fn close_shard(&mut self) {
        let next = Shard::with_capacity(self.options.shard_rows.min(1 << 20));
        let path = self.folder.path().join(data_file(self.shard_count));
        self.full.push((path, std::mem::replace(&mut self.shard, next)));
        self.shard_count += 1;
    }

    fn encode_full(&mut self) -> Result<(), StoreError> {
        let names = &self.names;
        let written =
            self.full.par_drain(..).try_for_each(|(path, shard)| shard.write(&path, names));
        written.map_err(|error| error.told_of(&self.path))
    }

    /// Writes what is left and puts the dataset in place.
    pub fn finish(mut self) -> Result<(), WriteError> {
        if self.shard.rows() > 0 || self.shard_count == 0 {
            self.close_shard();
        }
        self.encode_full()?;
        self.write_rest().map_err(|error| error.told_of(&self.path))?;
        Ok(self.folder.commit()?)
    }

    /// Writes all but the events.
    fn write_rest(&mut self) -> Result<(), StoreError> {
        let folder = self.folder.path();
        let WriterOptions { titles, concepts, scales, .. } = &self.options;
        let mut extent = std::mem::take(&mut self.extent);
        extent.detailed |= !scales.is_empty();
        metadata::write_codes(folder, &self.vocabulary, &self.names, titles, &extent)?;
        concepts::write(folder, &self.vocabulary, concepts)?;
        scales::write(folder, &self.vocabulary, scales)?;
        let subjects = self.subjects.iter().copied().zip(self.splits.iter().copied());
        metadata::write_splits(folder, subjects)?;
        metadata::write_description(folder, &self.vocabulary, &extent, self.dated == Some(true))?;
        for (name, text) in [(TRUTH, &self.options.truth), (OWN_RULES, &self.options.own_rules)] {
            if let Some(text) = text {
                let path = self.folder.path().join(name);
                write_atomically(path, |out| out.write_all(text.as_bytes()))?;
            }
        }
        let given = std::mem::take(&mut self.numbering).given();
        if !given.is_empty() {
            let ids = given.iter().map(|(id, _)| &**id);
            let columns: Vec<ArrayRef> = vec![
                Arc::new(encode::names(ids)),
                Arc::new(Int64Array::from_iter_values(given.iter().map(|&(_, number)| number))),
            ];
            let fields = vec![
                Field::new(ORIGINAL, DataType::Utf8, false),
                Field::new(SUBJECT, DataType::Int64, false),
            ];
            write_table(&self.folder.path().join(SUBJECTS), fields, Ok(columns))?;
        }
        Ok(())
    }
}

/// Refuses a path where no dataset could be written, before there is one to write. Nothing is left
/// there.
pub(crate) fn try_path(path: &Path, replace: bool) -> Result<(), StoreError> {
    begin(path, replace).map(drop)
}

fn begin(path: &Path, replace: bool) -> Result<AtomicFolder, StoreError> {
    if replace { AtomicFolder::replacing(path, is_part) } else { AtomicFolder::create(path) }
}

/// Writes a dataset into a new folder.
pub fn write(path: impl AsRef<Path>, dataset: &Dataset) -> Result<(), WriteError> {
    write_with(path, dataset, &WriterOptions::default())
}

/// Writes a dataset; its own titles, concepts and scales count, and not those of the options.
pub fn write_with(
    path: impl AsRef<Path>,
    dataset: &Dataset,
    options: &WriterOptions,
) -> Result<(), WriteError> {
    let (titles, concepts) = (dataset.titles.clone(), dataset.concepts.clone());
    let scales = dataset.scales.clone();
    let options = WriterOptions { titles, concepts, scales, ..options.clone() };
    let mut writer = Writer::create(path, Arc::clone(&dataset.vocabulary), options)?;
    for (index, record) in dataset.cohort.records().enumerate() {
        let id = dataset.cohort.id(index);
        let subject = Subject {
            id,
            split: dataset.splits.get(index).copied().unwrap_or_else(|| Split::of(id)),
            ended: record.ended(),
            details: dataset.details_of(index),
        };
        writer.push(subject, record.visits())?;
    }
    writer.finish()
}

/// Where numbers begin for the odd id in a cohort of numbers.
const ODD_START: i64 = 1 << 62;

/// Gives each id a number, and finds ids that come twice.
///
/// If the first id is a number, ids that are numbers stay as they are, and the others get numbers
/// from 2^62 on, which no number that is kept can reach. If it is not, all are counted from 1.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    style: Option<Style>,
    kept: FxHashSet<i64>,
    given: FxHashMap<Box<str>, i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Kept,
    Counted,
}

impl Numbering {
    /// The number of an id; none if it has been given before.
    pub fn number(&mut self, id: &str) -> Option<i64> {
        let number = kept(id);
        let style = *self.style.get_or_insert(match number {
            Some(_) => Style::Kept,
            None => Style::Counted,
        });
        let start = match (style, number) {
            (Style::Kept, Some(number)) => return self.kept.insert(number).then_some(number),
            (Style::Kept, None) => ODD_START,
            (Style::Counted, _) => 1,
        };
        let number = start + self.given.len() as i64;
        match self.given.insert(id.into(), number) {
            None => Some(number),
            Some(_) => None,
        }
    }

    /// The ids that are not their own number, in the order of their numbers.
    pub fn given(self) -> Vec<(Box<str>, i64)> {
        let mut given: Vec<_> = self.given.into_iter().collect();
        given.sort_unstable_by_key(|&(_, number)| number);
        given
    }
}

/// The number that an id is, if it is written as numbers are.
fn kept(id: &str) -> Option<i64> {
    let number: i64 = id.parse().ok()?;
    let canonical = id == "0" || !id.starts_with(['0', '+', '-']);
    (canonical && number < ODD_START).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(ids: &[&str]) -> Vec<Option<i64>> {
        let mut numbering = Numbering::default();
        ids.iter().map(|id| numbering.number(id)).collect()
    }

    #[test]
    fn numbers_stay_and_odd_ids_never_meet_them() {
        assert_eq!(numbers(&["12", "0", "12"]), [Some(12), Some(0), None]);
        let odd = ["7", "007", "+7", "-7", "p", "4611686018427387904", "p"];
        let given = |index| Some(ODD_START + index);
        let expected = [Some(7), given(0), given(1), given(2), given(3), given(4), None];
        assert_eq!(numbers(&odd), expected);
    }

    #[test]
    fn words_are_counted_and_numbers_among_them_too() {
        assert_eq!(numbers(&["p9", "2", "p9", ""]), [Some(1), Some(2), None, Some(3)]);
    }
}
