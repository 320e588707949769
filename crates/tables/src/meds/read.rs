//! Reading a dataset, ours or another tool's: all of it, or its records one after the other, never
//! all in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::Array;
use consequence_record::{
    Code, Cohort, CohortDetails, Concept, DetailsView, RecordView, Scale, Split, Vocabulary,
};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::assemble::{Assembler, Keeping, Part};
use super::codebook::{self, Codebook, ListedCodes};
use super::layout::{
    ADMISSION, CODE, CODES, CONCEPTS, DATA, DESCRIPTION, NUMBER, OTHER_NUMBER, SUBJECT, TIME,
    VALUES, VISIT,
};
use super::rows::{Arrays, Carried, Named, Putter, Reading, Rows};
use super::subjects::Subjects;
use super::table::Table;
use super::{MedsProblem, concepts, metadata, scales};
use crate::error::Origin;
use crate::{Dataset, Limits, Problem, TableError};

/// Data files that are read at the same time, at most.
const MOST_AT_ONCE: usize = 8;

/// How to read a dataset.
#[derive(Clone, Debug)]
pub struct MedsOptions {
    /// The codes the dataset may hold; without it they are those of the dataset.
    pub vocabulary: Option<Arc<Vocabulary>>,
    /// Whether dates, stays, births and values are read too, rather than codes alone.
    pub details: bool,
    /// Whether stays, bands of age and values are among these, rather than births and dates alone, which take a
    /// small part of the memory.
    pub values: bool,
    /// How much to take in before refusing.
    pub limits: Limits,
}

impl Default for MedsOptions {
    fn default() -> Self {
        Self { vocabulary: None, details: true, values: true, limits: Limits::default() }
    }
}

/// Reads the dataset in a folder, or one file of events.
///
/// A code that a visit has twice counts once. Subjects without an encounter are left out, and those
/// that no list puts into a split are in the one that the hash of their id gives.
///
/// Of several values of a code in a visit the last is kept, with its time. A birth is no encounter. A death
/// that is said to be of no visit belongs to the last encounter that goes on on its day, if there is one.
///
/// The whole of the cohort is in memory at the end, and beside it never more than a few data files.
pub fn read(path: impl AsRef<Path>, options: &MedsOptions) -> Result<Dataset, TableError> {
    let path = path.as_ref();
    let limits = &options.limits;
    let known = Known::of(path, options)?;
    let keeping = known.keeping(options.details, options.values);
    let Subjects { splits, ids } = Subjects::all(path)?;
    let Known { files, codebook, titles, concepts, scales, dated } = known;
    let reading = Reading { codebook: &codebook, limits, ids: &ids };
    let mut gathered =
        Gathered { details: options.details.then(CohortDetails::default), ..Gathered::default() };
    let at_once = rayon::current_num_threads().clamp(1, MOST_AT_ONCE);
    for group in files.chunks(at_once) {
        let parts: Vec<Result<Part, TableError>> = group
            .par_iter()
            .map(|file| {
                let mut assembler = Assembler::new(*limits, keeping);
                read_file(file, reading, &mut assembler, |_| Ok::<_, TableError>(()))?;
                Ok(assembler.finish())
            })
            .collect();
        for (file, part) in group.iter().zip(parts) {
            gathered.append(file, part?, &splits)?;
        }
    }
    let Gathered { cohort, splits, details, .. } = gathered;
    if cohort.is_empty() {
        return Err(TableError::of_file(path, Problem::NoRecords));
    }
    let (vocabulary, details) = (codebook.vocabulary, details.filter(|it| dated || tells(it)));
    Ok(Dataset { cohort, vocabulary, splits, titles, concepts, scales, details })
}

/// Whether details tell anything of any record.
pub(crate) fn tells(details: &CohortDetails) -> bool {
    (0..details.len()).any(|record| details.of(record) != DetailsView::default())
}

/// What is known of a dataset before its events are read.
pub(super) struct Known {
    pub files: Vec<PathBuf>,
    pub codebook: Codebook,
    pub titles: BTreeMap<Code, String>,
    pub concepts: BTreeMap<Code, Concept>,
    pub scales: BTreeMap<Code, Scale>,
    /// Whether times are real, and not only an order.
    pub dated: bool,
}

impl Known {
    pub fn of(path: &Path, options: &MedsOptions) -> Result<Self, TableError> {
        let limits = &options.limits;
        let files = data_files(path)?;
        let listed = beside(path, CODES, |file| ListedCodes::read(Table::open(file)?, limits))?;
        let listed = listed.unwrap_or_default();
        let own = listed.codebook(&Origin::File(path.join(CODES)), limits)?;
        let codebook = match (&options.vocabulary, own) {
            (None, Some(own)) => own,
            (None, None) => codebook::from_events(&files, options)?,
            (Some(given), own) => Codebook::over(Arc::clone(given), own),
        };
        let ordinal = beside(path, DESCRIPTION, |file| metadata::ordinal(file, limits))?;
        let vocabulary = &codebook.vocabulary;
        let concepts =
            beside(path, CONCEPTS, |file| concepts::read(Table::open(file)?, vocabulary, limits))?;
        let scales =
            beside(path, VALUES, |file| scales::read(Table::open(file)?, vocabulary, limits))?;
        Ok(Self {
            scales: scales.unwrap_or_default(),
            titles: listed.titles(vocabulary),
            concepts: concepts.unwrap_or_default(),
            files,
            codebook,
            dated: ordinal != Some(true),
        })
    }

    /// Whether the dataset is one of ours.
    pub fn own(&self) -> bool {
        self.codebook.markers.visit.is_some()
    }

    /// How the events are put together.
    fn keeping(&self, details: bool, values: bool) -> Keeping {
        Keeping { details, values, dated: self.dated, death: self.codebook.loose_death() }
    }
}

/// The file each subject was met in.
#[derive(Default)]
pub(super) struct Met {
    files: Vec<PathBuf>,
    subjects: FxHashMap<i64, u32>,
}

impl Met {
    pub fn begin(&mut self, file: &Path) {
        self.files.push(file.to_path_buf());
    }

    /// Refuses a subject that an earlier file has.
    pub fn meet(&mut self, subject: i64, row: u64) -> Result<(), TableError> {
        self.met_before(subject).map_err(|(file, problem)| TableError::of_row(file, row, problem))
    }

    /// The same of a subject that is somewhere in the file.
    pub fn meet_in_file(&mut self, subject: i64) -> Result<(), TableError> {
        self.met_before(subject).map_err(|(file, problem)| TableError::of_file(file, problem))
    }

    fn met_before(&mut self, subject: i64) -> Result<(), (&Path, MedsProblem)> {
        let number = self.files.len().saturating_sub(1);
        match self.subjects.insert(subject, number as u32) {
            None => Ok(()),
            Some(other) => {
                let other = self.files[other as usize].clone();
                Err((&self.files[number], MedsProblem::SubjectInTwoFiles { other }))
            }
        }
    }
}

/// What has been read so far.
#[derive(Default)]
struct Gathered {
    cohort: Cohort,
    splits: Vec<Split>,
    details: Option<CohortDetails>,
    met: Met,
}

impl Gathered {
    fn append(
        &mut self,
        file: &Path,
        part: Part,
        splits: &FxHashMap<i64, Split>,
    ) -> Result<(), TableError> {
        self.met.begin(file);
        for (index, (record, &(subject, row))) in
            part.cohort.records().zip(&part.subjects).enumerate()
        {
            self.met.meet(subject, row)?;
            let id = part.cohort.id(index);
            self.cohort.push_visits(id, record.visits(), record.ended());
            self.splits.push(splits.get(&subject).copied().unwrap_or_else(|| Split::of(id)));
            if let Some(details) = &mut self.details {
                details.push(part.details.of(index));
            }
        }
        Ok(())
    }
}

/// Reads the events of one data file into an assembler, which `each` sees after every batch.
pub(super) fn read_file<E: From<TableError>>(
    path: &Path,
    reading: Reading<'_>,
    assembler: &mut Assembler,
    mut each: impl FnMut(&mut Assembler) -> Result<(), E>,
) -> Result<(), E> {
    let table = Table::open(path)?;
    let mut columns = vec![SUBJECT, TIME, CODE];
    for column in &columns {
        table.require(column)?;
    }
    table.bound_strings(CODE, reading.limits.code_bytes)?;
    let visit = [VISIT, ADMISSION].into_iter().find(|name| table.kind(name).is_some());
    columns.extend(visit);
    let value = number_column(&table).filter(|_| assembler.keeps_values());
    columns.extend(value);
    let named = Named { subject: SUBJECT, time: TIME, code: CODE, visit, value };
    let mut carried = Carried::default();
    table.each_batch_or(&columns, |arrays, before| {
        let array = |index: usize| -> &dyn Array { &arrays[index] };
        let arrays = Arrays {
            subject: array(0),
            time: array(1),
            code: array(2),
            visit: visit.map(|_| array(3)),
            value: value.map(|_| array(arrays.len() - 1)),
        };
        let rows = Rows::of_file(named, &arrays)
            .map_err(|error| TableError::of_file(path, error.problem))?;
        let mut putter = Putter::new(&rows, reading);
        for row in 0..rows.len() {
            let at = before + row as u64 + 1;
            putter
                .put(row, at, &mut carried, assembler)
                .map_err(|problem| TableError::of_row(path, at, problem))?;
        }
        each(assembler)
    })
}

/// The column of values, if a file has one.
pub(super) fn number_column(table: &Table) -> Option<&'static str> {
    [NUMBER, OTHER_NUMBER].into_iter().find(|&name| {
        // Only what MEDS calls the value must be one.
        let kind = table.kind(name);
        kind.is_some_and(|kind| name == NUMBER || kind.is_numeric())
    })
}

/// Reads a file of the metadata, if the dataset is a folder and has it.
fn beside<T>(
    path: &Path,
    name: &str,
    read: impl FnOnce(&Path) -> Result<T, TableError>,
) -> Result<Option<T>, TableError> {
    let file = path.join(name);
    if path.is_dir() && file.exists() { read(&file).map(Some) } else { Ok(None) }
}

/// The files of events: all Parquet files in `data`, in the order of their names, or the one file.
fn data_files(path: &Path) -> Result<Vec<PathBuf>, TableError> {
    let fail = |error| TableError::of_file(path, Problem::Open(error));
    if !fs::metadata(path).map_err(fail)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files = Vec::new();
    let data = path.join(DATA);
    if data.is_dir() {
        gather_files(&data, &mut files)?;
    }
    if files.is_empty() {
        let entries = fs::read_dir(path).map_err(fail)?.flatten();
        let mut found: Vec<String> =
            entries.map(|entry| format!("`{}`", entry.file_name().to_string_lossy())).collect();
        found.sort_unstable();
        return Err(TableError::of_file(path, MedsProblem::NotADataset { found }));
    }
    files.sort_unstable();
    Ok(files)
}

/// Finds Parquet files in a folder and those inside it; names that begin with a dot are not ours.
fn gather_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), TableError> {
    let fail = |error| TableError::of_file(folder, Problem::Read(error));
    for entry in fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // A link to a folder could lead back to it.
        if entry.file_type().map_err(fail)?.is_dir() {
            gather_files(&path, files)?;
        } else if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet")) {
            files.push(path);
        }
    }
    Ok(())
}

/// A dataset whose records are handed on as they are read, a batch of events in memory at a time.
pub struct Stream {
    pub(super) known: Known,
    pub(super) limits: Limits,
    details: bool,
    subjects: Subjects,
}

/// A record as it was read.
pub struct Streamed<'s> {
    /// Its identifier.
    pub id: &'s str,
    /// The split that the dataset puts it into, if it is one that we know.
    pub split: Option<Split>,
    /// Its visits.
    pub record: RecordView<'s>,
    /// What is known of it beside its codes.
    pub details: DetailsView<'s>,
}

impl Stream {
    /// Reads all but the events.
    pub fn open(path: &Path, options: &MedsOptions) -> Result<Self, TableError> {
        let (limits, details) = (options.limits, options.details);
        let known = Known::of(path, options)?;
        Ok(Self { known, limits, details, subjects: Subjects::all(path)? })
    }

    /// Whether the dataset is one of ours, which says of each code what it is.
    pub fn own(&self) -> bool {
        self.known.own()
    }

    /// The codes that the records are numbered by.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.known.codebook.vocabulary
    }

    /// What codes mean, for those of which it is known.
    pub fn titles(&self) -> &BTreeMap<Code, String> {
        &self.known.titles
    }

    /// The OMOP concepts of codes, for those of which they are known.
    pub fn concepts(&self) -> &BTreeMap<Code, Concept> {
        &self.known.concepts
    }

    /// What the values of codes are, for those that have any.
    pub fn scales(&self) -> &BTreeMap<Code, Scale> {
        &self.known.scales
    }

    /// Whether times are real, and not only an order.
    pub fn dated(&self) -> bool {
        self.known.dated
    }

    /// The id of a subject: its number, unless the dataset says otherwise.
    pub fn id(&self, subject: i64) -> Cow<'_, str> {
        match self.subjects.ids.get(&subject) {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(subject.to_string()),
        }
    }

    /// The split that the dataset puts a subject into, if it is one that we know.
    pub fn split(&self, subject: i64) -> Option<Split> {
        self.subjects.splits.get(&subject).copied()
    }

    /// The bytes of all data files.
    pub fn bytes(&self) -> u64 {
        self.known.files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    }

    /// Hands on each record, and the bytes of each data file once it is done.
    pub fn each_record<E: From<TableError>>(
        &self,
        mut take: impl FnMut(Streamed<'_>) -> Result<(), E>,
        done: impl Fn(u64),
    ) -> Result<(), E> {
        let reader = RecordReader::new(&self.known, self.limits, self.details);
        let mut met = Met::default();
        for file in &self.known.files {
            met.begin(file);
            reader.each_of_file(file, &self.subjects, &mut met, &mut take)?;
            done(file.metadata().map_or(0, |file| file.len()));
        }
        Ok(())
    }
}

/// Puts the records of data files together.
pub(super) struct RecordReader<'k> {
    known: &'k Known,
    limits: Limits,
    details: bool,
}

impl<'k> RecordReader<'k> {
    pub fn new(known: &'k Known, limits: Limits, details: bool) -> Self {
        Self { known, limits, details }
    }

    /// Hands on each record of a file; `subjects` tells of all that are in it.
    pub fn each_of_file<E: From<TableError>>(
        &self,
        file: &Path,
        subjects: &Subjects,
        met: &mut Met,
        take: &mut impl FnMut(Streamed<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut hand_on = |part: Part| -> Result<(), E> {
            for (index, (record, &(subject, row))) in
                part.cohort.records().zip(&part.subjects).enumerate()
            {
                met.meet(subject, row)?;
                take(Streamed {
                    id: part.cohort.id(index),
                    split: subjects.splits.get(&subject).copied(),
                    record,
                    details: match self.details {
                        true => part.details.of(index),
                        false => DetailsView::default(),
                    },
                })?;
            }
            Ok(())
        };
        let codebook = &self.known.codebook;
        let reading = Reading { codebook, limits: &self.limits, ids: &subjects.ids };
        let mut assembler = Assembler::new(self.limits, self.known.keeping(self.details, true));
        read_file(file, reading, &mut assembler, |assembler| hand_on(assembler.drain()))?;
        hand_on(assembler.finish())
    }
}
