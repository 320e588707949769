//! Writing a dataset.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use consequence_record::{Code, Kind, Split, Vocabulary};
use consequence_store::{AtomicFolder, StoreError, create_directory, write_atomically};
use rayon::prelude::*;
use serde_json::json;

use super::encode::{self, Shard, write_table};
use super::layout::{
    CODE, CODES, CUT_KIND, DATA, DESCRIPTION, KIND, METADATA, Markers, ORIGINAL, PARENTS, SPLIT,
    SPLITS, SUBJECT, SUBJECTS, TITLE, VISIT, VISIT_KIND, ordinal_time,
};
use super::numbering::Numbering;
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
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self { replace: false, shard_rows: 1_000_000, titles: BTreeMap::new() }
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
    /// When its encounters were, in microseconds since 1970, in order; none where only the order is
    /// known. All records of a dataset have times, or none has.
    pub times: Option<&'s [i64]>,
}

/// Writes a dataset record by record, in as much memory as a few data files take.
///
/// The files are the same whatever the number of threads.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Code, Kind, Split, Vocabulary};
/// use consequence_tables::meds::{self, MedsOptions, Subject, Writer, WriterOptions};
///
/// let vocabulary = Arc::new(Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?);
/// let place = tempfile::tempdir()?;
/// let path = place.path().join("cohort");
/// let mut writer = Writer::create(&path, Arc::clone(&vocabulary), WriterOptions::default())?;
/// let subject = Subject { id: "p1", split: Split::Train, ended: true, times: None };
/// writer.push(subject, [&[][..], &[Code(0)], &[]])?;
/// writer.finish()?;
/// let dataset = meds::read(&path, &MedsOptions::default())?;
/// assert_eq!(dataset.cohort.record(0).visit(1), [Code(0)]);
/// assert_eq!(dataset.cohort.record(0).len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer {
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
        let ours = |name: &OsStr| options.replace && (name == DATA || name == METADATA);
        let folder = AtomicFolder::replacing(path, ours)?;
        create_directory(&folder.path().join(DATA))?;
        create_directory(&folder.path().join(METADATA))?;
        let markers = Markers::beside(&vocabulary);
        let codes = vocabulary.codes().filter(|&code| code != vocabulary.end());
        let marks = [&markers.visit, &markers.cut].map(|mark| mark.as_deref().unwrap_or_default());
        let names = encode::names(codes.map(|code| vocabulary.name(code)).chain(marks));
        Ok(Self {
            folder,
            shard: Shard::with_capacity(options.shard_rows.min(1 << 20)),
            options,
            names: Arc::new(names),
            vocabulary,
            numbering: Numbering::default(),
            subjects: Vec::new(),
            splits: Vec::new(),
            dated: None,
            full: Vec::new(),
            shard_count: 0,
        })
    }

    /// Appends a record: its static visit, then its encounters, of which there is at least one.
    /// After an error the writer is of no more use.
    pub fn push<'a, V>(&mut self, subject: Subject<'_>, visits: V) -> Result<(), WriteError>
    where
        V: IntoIterator<Item = &'a [Code]>,
        V::IntoIter: ExactSizeIterator,
    {
        let place = self.subjects.len() + 1;
        let fail = |reason| Err(WriteError::Record { number: place, reason });
        let visits = visits.into_iter();
        let count = visits.len();
        if count < 2 {
            return fail("has no encounter");
        }
        if *self.dated.get_or_insert(subject.times.is_some()) != subject.times.is_some() {
            return fail("has times where others have none, or the reverse");
        }
        if let Some(times) = subject.times {
            if times.len() + 1 != count {
                return fail("has more encounters than times, or the reverse");
            }
            if !times.is_sorted() {
                return fail("has encounters that go back in time");
            }
        }
        let Some(number) = self.numbering.number(subject.id) else {
            return fail("has the id of an earlier one");
        };
        // The numbers of the markers follow those of the codes; `END` has none.
        let visit_marker = self.vocabulary.end().0 as i32;
        for (visit, codes) in visits.enumerate() {
            let place = (visit > 0).then(|| {
                let time = subject.times.map(|times| times[visit - 1]);
                (time.unwrap_or_else(|| ordinal_time(visit)), visit as i64)
            });
            if visit > 0 {
                self.shard.push(number, visit_marker, place);
            }
            if !subject.ended && visit + 1 == count {
                self.shard.push(number, visit_marker + 1, place);
            }
            for &code in codes {
                if code >= self.vocabulary.end() {
                    return fail("has a code that is not of the vocabulary, or stores `END`");
                }
                if self.vocabulary.kind(code) != Kind::of_visit(visit) {
                    return fail("has a static code in an encounter, or the reverse");
                }
                self.shard.push(number, code.0 as i32, place);
            }
        }
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
        let path = self.folder.path().join(DATA).join(format!("{:06}.parquet", self.shard_count));
        self.full.push((path, std::mem::replace(&mut self.shard, next)));
        self.shard_count += 1;
    }

    fn encode_full(&mut self) -> Result<(), StoreError> {
        let names = &self.names;
        self.full.par_drain(..).try_for_each(|(path, shard)| shard.write(&path, names))
    }

    /// Writes what is left and puts the dataset in place.
    pub fn finish(mut self) -> Result<(), WriteError> {
        if self.shard.rows() > 0 || self.shard_count == 0 {
            self.close_shard();
        }
        self.encode_full()?;
        self.write_codes()?;
        self.write_splits()?;
        self.write_description()?;
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
        Ok(self.folder.commit()?)
    }

    fn write_codes(&self) -> Result<(), StoreError> {
        let vocabulary = &self.vocabulary;
        let codes = || vocabulary.codes().filter(|&code| code != vocabulary.end());
        let titles = codes().map(|code| self.options.titles.get(&code).map(String::as_str));
        let markers = [Some("one for each encounter"), Some("the record was cut here")];
        let kinds = codes().map(|code| match vocabulary.kind(code) {
            Kind::Static => "static",
            Kind::Encounter => "encounter",
        });
        let (lists, no_parents) = encode::no_lists(self.names.len());
        let columns: Vec<ArrayRef> = vec![
            Arc::clone(&self.names) as ArrayRef,
            Arc::new(titles.chain(markers).collect::<StringArray>()),
            no_parents,
            Arc::new(encode::names(kinds.chain([VISIT_KIND, CUT_KIND]))),
        ];
        let fields = vec![
            Field::new(CODE, DataType::Utf8, false),
            Field::new(TITLE, DataType::Utf8, true),
            Field::new(PARENTS, lists, true),
            Field::new(KIND, DataType::Utf8, false),
        ];
        write_table(&self.folder.path().join(CODES), fields, Ok(columns))
    }

    fn write_splits(&self) -> Result<(), StoreError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(self.subjects.clone())),
            Arc::new(encode::names(self.splits.iter().map(|split| split.name()))),
        ];
        let fields = vec![
            Field::new(SUBJECT, DataType::Int64, false),
            Field::new(SPLIT, DataType::Utf8, false),
        ];
        write_table(&self.folder.path().join(SPLITS), fields, Ok(columns))
    }

    fn write_description(&self) -> Result<(), StoreError> {
        let time = if self.dated == Some(true) { "recorded" } else { "ordinal" };
        let description = json!({
            "etl_name": "consequence",
            "etl_version": env!("CARGO_PKG_VERSION"),
            "meds_version": "0.4.1",
            "other_extension_columns": [VISIT],
            "time": time,
        });
        write_atomically(self.folder.path().join(DESCRIPTION), |out| {
            serde_json::to_writer_pretty(&mut *out, &description)?;
            out.write_all(b"\n")
        })
    }
}

/// Writes a dataset into a new folder.
pub fn write(path: impl AsRef<Path>, dataset: &Dataset) -> Result<(), WriteError> {
    write_with(path, dataset, &WriterOptions::default())
}

/// Writes a dataset; its own titles count, and not those of the options.
pub fn write_with(
    path: impl AsRef<Path>,
    dataset: &Dataset,
    options: &WriterOptions,
) -> Result<(), WriteError> {
    let options = WriterOptions { titles: dataset.titles.clone(), ..options.clone() };
    let mut writer = Writer::create(path, Arc::clone(&dataset.vocabulary), options)?;
    for (index, record) in dataset.cohort.records().enumerate() {
        let id = dataset.cohort.id(index);
        let subject = Subject {
            id,
            split: dataset.splits.get(index).copied().unwrap_or_else(|| Split::of(id)),
            ended: record.ended(),
            times: dataset
                .times
                .as_ref()
                .map(|times| if index < times.len() { times.of(index) } else { &[] }),
        };
        writer.push(subject, record.visits())?;
    }
    writer.finish()
}
