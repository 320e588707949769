//! Records in many places: rows in, repaired rows and counts out.
//!
//! What is known of a cohort and what was counted travel as bytes; whoever has rows pushes them in as they come.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use consequence::arrow::{self, Column, EventBatches, ReadOptions, TableOptions, Tables};
use consequence::generate::{self, GenerateTask, PreparedGeneration};
use consequence::parts::{
    self, FileBlocks, Merged, Outline, PartRecords, StreamBlocks, Work, sample_key,
};
use consequence::train::DeviceChoice;
use consequence::{Dataset, Error, Model, State, Watch, Whose};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::call::{Call, Waiting};
use crate::errors;
use crate::given::{ModelGiven, RulesGiven, Settings};
use crate::model::generate_task;
use crate::report::Finished;
use crate::rules::{NamedCode, vocabulary};
use crate::stream::{Batches, Table};
use crate::verbs::search;

/// Which columns of events are what.
pub fn read_options(settings: &Settings<'_>) -> PyResult<ReadOptions> {
    let mut options = ReadOptions::default();
    settings.put("subject", &mut options.columns.subject)?;
    settings.put("time", &mut options.columns.time)?;
    settings.put("code", &mut options.columns.code)?;
    let named = |column: Option<String>| column.map_or(Column::Usual, Column::Named);
    options.columns.value = named(settings.get("value")?);
    options.columns.visit = named(settings.get("visit")?);
    if let Some(split) = settings.get("split")? {
        options.columns.split = Column::Named(split);
    }
    options.ordinal = settings.get("ordinal")?;
    Ok(options)
}

fn states(bytes: &[PyBackedBytes]) -> Result<Vec<State>, Error> {
    let read = |bytes: &PyBackedBytes| State::from_bytes(bytes).map_err(damaged);
    bytes.iter().map(read).collect()
}

fn damaged(error: impl ToString) -> Error {
    Error::refused(error.to_string(), "give it as it was given")
}

fn outline_of(bytes: &[u8]) -> Result<Outline, Error> {
    Outline::from_bytes(bytes).map_err(damaged)
}

fn whose(of_synthetic: bool) -> Whose {
    if of_synthetic { Whose::Synthetic } else { Whose::Cohort }
}

/// What is known of a cohort by tables of codes, concepts and values, by codes that are given, or by a table of events in
/// which every code is; none where there is none of these.
#[pyfunction]
pub fn outline<'py>(
    py: Python<'py>,
    name: String,
    tables: BTreeMap<String, Table>,
    codes: Option<Vec<NamedCode>>,
    columns: Settings<'_>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let codes = codes.map(|codes| vocabulary(py, codes)).transpose()?;
    let options = read_options(&columns)?;
    let made = py.detach(|| {
        let (mut told, mut uses) = (Tables::default(), None);
        for (name, table) in tables {
            match name.as_str() {
                "codes" => told.codes = Some(table.whole()?),
                "concepts" => told.concepts = Some(table.whole()?),
                "scales" => told.scales = Some(table.whole()?),
                _ => {
                    let uses = uses.get_or_insert_default();
                    arrow::code_uses(&table.whole()?, 0, &options, uses)?;
                }
            }
        }
        let codes = match (codes, uses) {
            (None, Some(uses)) => Some(arrow::codes_used(uses)?),
            (codes, _) => codes,
        };
        Ok(Outline::of_tables(name, &told, codes)?)
    });
    let made = made.map_err(|error: Error| errors::raised(py, &error))?;
    Ok(made.map(|outline| PyBytes::new(py, &outline.to_bytes())))
}

/// What a MEDS dataset is without its records: what is known of it, how many data files it has and how many bytes they
/// are, whether times tell an order alone, and whether the files say that no two of them have a patient in common.
type OpenedDataset<'py> = (Bound<'py, PyBytes>, usize, u64, bool, bool);

/// Opens a MEDS dataset whose data files are read elsewhere.
#[pyfunction]
pub fn outline_of_dataset<'py>(
    py: Python<'py>,
    path: PathBuf,
    name: String,
) -> PyResult<OpenedDataset<'py>> {
    let opened = py.detach(|| {
        let (files, outline) = parts::open_dataset(&path, name, None)?;
        let apart = files.apart()?;
        Ok((files, outline, apart))
    });
    let (files, outline, apart) = opened.map_err(|error: Error| errors::raised(py, &error))?;
    let outline = PyBytes::new(py, &outline.to_bytes());
    Ok((outline, files.paths().len(), files.bytes(), !files.dated(), apart))
}

/// The tables of what is known of a cohort: codes, and where they are known concepts and values.
#[pyfunction]
pub fn outline_tables(py: Python<'_>, bytes: &[u8]) -> PyResult<BTreeMap<&'static str, Batches>> {
    let made = outline_of(bytes).and_then(|outline| {
        let tables = arrow::code_tables(&outline.dataset(), outline.listed_codes.as_deref())?;
        let named =
            [("codes", tables.codes), ("concepts", tables.concepts), ("scales", tables.scales)];
        let one = |(name, batch): (&'static str, Option<RecordBatch>)| {
            batch.map(|batch| (name, Batches::new(batch.schema(), vec![batch])))
        };
        Ok(named.into_iter().filter_map(one).collect())
    });
    made.map_err(|error| errors::raised(py, &error))
}

/// A number for each id, by which some of them can be taken: those with the lowest.
#[pyfunction]
pub fn sample_keys(ids: Vec<String>, seed: u64) -> Vec<i64> {
    // Spark has no unsigned numbers.
    ids.iter().map(|id| (sample_key(id, seed) >> 1) as i64).collect()
}

/// What whoever counts the rounds after it needs to know of a sum.
#[pyfunction]
pub fn told<'py>(py: Python<'py>, sum: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let told = py.detach(|| Ok(State::from_bytes(sum).map_err(damaged)?.told().to_bytes()));
    let told = told.map_err(|error: Error| errors::raised(py, &error))?;
    Ok(PyBytes::new(py, &told))
}

/// The digest of the model in a folder, by which it is known again.
#[pyfunction]
pub fn model_digest(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    let digest = py.detach(|| Model::digest_at(&folder));
    digest.map_err(|error| errors::raised(py, &error.into()))
}

/// Adds up what was written of some records, to be added to that of others.
#[pyfunction]
pub fn add_up_written<'py>(
    py: Python<'py>,
    counted: Vec<PyBackedBytes>,
) -> PyResult<Bound<'py, PyBytes>> {
    let sum = py.detach(|| Ok(generate::add_up(states(&counted)?)?.to_bytes()));
    let sum = sum.map_err(|error: Error| errors::raised(py, &error))?;
    Ok(PyBytes::new(py, &sum))
}

/// What to find out, by which rules, as JSON. The defaults are those of the verbs.
#[pyfunction]
pub fn work(
    py: Python<'_>,
    verb: &str,
    rules: Vec<(String, String)>,
    settings: Settings<'_>,
) -> PyResult<String> {
    let split = || Ok::<_, PyErr>(settings.split()?.map(|split| split.name().to_owned()));
    let (allow_unknown, no_own_rules) =
        (settings.is_on("allow_unknown")?, settings.is_on("no_own_rules")?);
    let top = settings.get("top")?.unwrap_or(20);
    let hide_below = settings.get("hide_below")?.unwrap_or(0);
    let work = match verb {
        "describe" => Work::Describe { top, split: split()?, hide_below },
        "audit" => Work::Audit {
            rules,
            allow_unknown,
            no_own_rules,
            top,
            split: split()?,
            hide_below,
            referee: settings.is_on("referee")?,
        },
        "mine" => Work::Mine {
            ages_and_days: settings.is_on("ages_and_days")?,
            search: search(py, &settings)?,
        },
        "enforce" => {
            let model: Option<PathBuf> = settings.get("model")?;
            let digest = model.as_deref().map(|folder| model_digest(py, folder.to_path_buf()));
            Work::Enforce {
                rules,
                allow_unknown,
                no_own_rules,
                soft: settings.is_on("soft")?,
                seed: settings.get("seed")?.unwrap_or(1),
                model,
                model_digest: digest.transpose()?,
            }
        }
        _ => Work::Evaluate {
            rules,
            groups: settings.get("groups")?.unwrap_or_default(),
            strata: settings.get("strata")?.unwrap_or_default(),
            allow_unknown,
            no_own_rules,
            out: settings.get("out")?,
            force: settings.is_on("force")?,
        },
    };
    serde_json::to_string(&work).map_err(|error| errors::raised(py, &error.into()))
}

/// Work over records in many places, with what is known of the cohorts.
#[pyclass(frozen, module = "conseq._native")]
pub struct Job(Arc<parts::Job>);

type MergedParts<'py> =
    (Option<Bound<'py, PyBytes>>, Option<(bool, &'static str)>, Option<Finished>, Option<String>);

#[pymethods]
impl Job {
    /// Work, as JSON, on cohorts of which this is known.
    #[new]
    fn new(py: Python<'_>, work: &str, outlines: Vec<PyBackedBytes>) -> PyResult<Self> {
        let made = py.detach(|| {
            let work: Work = serde_json::from_str(work)
                .map_err(|error| Error::refused(error.to_string(), "give other settings"))?;
            let outlines = outlines.iter().map(|bytes| outline_of(bytes));
            parts::Job::new(work, outlines.collect::<Result<_, _>>()?)
        });
        made.map(|job| Self(Arc::new(job))).map_err(|error| errors::raised(py, &error))
    }

    /// What counts are of.
    fn digest(&self) -> &str {
        self.0.digest()
    }

    /// How often rules were proved.
    fn proofs(&self) -> u64 {
        self.0.proofs()
    }

    /// Begins to count records in the round after those that are known. With `repaired`, the rows of repaired records are
    /// handed on: subjects as texts, or as numbers.
    fn counting(
        &self,
        py: Python<'_>,
        known: Vec<PyBackedBytes>,
        of_synthetic: bool,
        columns: Settings<'_>,
        call: Call,
    ) -> PyResult<Counting> {
        let options = read_options(&columns)?;
        let text_subjects = columns.get("text_subjects")?;
        let (job, whose) = (Arc::clone(&self.0), whose(of_synthetic));
        let (rows, input) = sync_channel::<RecordBatch>(1);
        let (output, repaired) = channel();
        let waiting = call.begin(py, move |watch| {
            let known = states(&known)?;
            let outline = job.outline(whose)?;
            let options = ReadOptions { vocabulary: Some(outline.vocabulary.clone()), ..options };
            let mut batches = input.into_iter().map(Ok);
            let mut blocks = StreamBlocks::new(outline.stream(&options)?, &mut batches);
            let records = PartRecords { whose, blocks: &mut blocks, shard: None };
            let state = job.repair(&known, records, watch, &mut |part| match text_subjects {
                Some(text_subjects) => {
                    hand_on(&part, text_subjects, |batch| output.send(batch).is_ok())
                }
                None => Ok(()),
            })?;
            Ok(state.to_bytes())
        })?;
        Ok(Counting(Mutex::new(Some(Pushing { rows, repaired, waiting }))))
    }

    /// Counts the records of some data files of a MEDS dataset in the round after those that are known.
    fn count_files<'py>(
        &self,
        py: Python<'py>,
        known: Vec<PyBackedBytes>,
        of_synthetic: bool,
        files: (PathBuf, Vec<usize>),
        call: Call,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (job, whose) = (Arc::clone(&self.0), whose(of_synthetic));
        let state = call.run(py, move |watch| {
            files_counted(&job, &known, whose, &files, watch, &mut |_| Ok(()))
        })?;
        Ok(PyBytes::new(py, &state))
    }

    /// Repairs the records of some data files of a MEDS dataset: rows as they come, then what was counted.
    fn repair_files(
        &self,
        py: Python<'_>,
        known: Vec<PyBackedBytes>,
        files: (PathBuf, Vec<usize>),
        text_subjects: bool,
        call: Call,
    ) -> PyResult<Repairing> {
        let job = Arc::clone(&self.0);
        // Some rows wait while the next are made.
        let (output, repaired) = sync_channel(1);
        let waiting = call.begin(py, move |watch| {
            files_counted(&job, &known, Whose::Cohort, &files, watch, &mut |part| {
                hand_on(&part, text_subjects, |batch| output.send(batch).is_ok())
            })
        })?;
        Ok(Repairing(Mutex::new(Some(Coming { repaired, waiting }))))
    }

    /// Adds up what was counted of some parts.
    fn add_up<'py>(
        &self,
        py: Python<'py>,
        known: Vec<PyBackedBytes>,
        counted: Vec<PyBackedBytes>,
        call: Call,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let job = Arc::clone(&self.0);
        let sum = call.run(py, move |watch| {
            Ok(job.add_up(&states(&known)?, states(&counted)?, watch)?.to_bytes())
        })?;
        Ok(PyBytes::new(py, &sum))
    }

    /// Adds up what was counted of all parts: the sum, then either what is to be counted next, or the report with the rules
    /// that were mined. Without counts, it is only told what is to be counted.
    fn merge<'py>(
        &self,
        py: Python<'py>,
        known: Vec<PyBackedBytes>,
        counted: Vec<PyBackedBytes>,
        call: Call,
    ) -> PyResult<MergedParts<'py>> {
        let job = Arc::clone(&self.0);
        let merged =
            call.run(py, move |watch| job.merge(&states(&known)?, states(&counted)?, watch))?;
        let bytes = |sum: Option<State>| sum.map(|sum| PyBytes::new(py, &sum.to_bytes()));
        Ok(match merged {
            Merged::Wanted { sum, wanted } => {
                (bytes(sum), Some((wanted.whose == Whose::Synthetic, wanted.name)), None, None)
            }
            Merged::Finished { sum, report } => {
                let rules = report.rules.clone();
                (bytes(sum), None, Some(Finished::from(*report)), rules)
            }
        })
    }
}

/// Counts the records of some data files in the round after those that are known; repaired ones are handed on.
fn files_counted(
    job: &parts::Job,
    known: &[PyBackedBytes],
    whose: Whose,
    (path, numbers): &(PathBuf, Vec<usize>),
    watch: &dyn Watch,
    take: &mut dyn FnMut(Dataset) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let files = parts::data_files(path, numbers, job.vocabulary()?)?;
    let mut blocks = FileBlocks::new(&files);
    let records = PartRecords { whose, blocks: &mut blocks, shard: None };
    Ok(job.repair(&states(known)?, records, watch, take)?.to_bytes())
}

/// Hands on the events of records, as long as they are taken.
pub fn hand_on(
    part: &Dataset,
    text_subjects: bool,
    mut take: impl FnMut(RecordBatch) -> bool,
) -> Result<(), Error> {
    let options =
        TableOptions { codes: arrow::CodeType::Text, text_subjects, ..TableOptions::default() };
    for batch in EventBatches::new(part, &options)? {
        // Whoever stopped taking rows needs no more of them.
        if !take(batch?) {
            return Err(Error::halted("rows"));
        }
    }
    Ok(())
}

/// What was handed on so far.
fn handed_on(repaired: &Receiver<RecordBatch>) -> Vec<Batches> {
    repaired.try_iter().map(|batch| Batches::new(batch.schema(), vec![batch])).collect()
}

/// Records that are counted as their rows come.
#[pyclass(frozen, module = "conseq._native")]
pub struct Counting(Mutex<Option<Pushing>>);

struct Pushing {
    rows: SyncSender<RecordBatch>,
    repaired: Receiver<RecordBatch>,
    waiting: Waiting<Vec<u8>>,
}

#[pymethods]
impl Counting {
    /// Takes more rows, and gives those of records that are repaired by then.
    fn push(&self, py: Python<'_>, table: Table) -> PyResult<Vec<Batches>> {
        let batches = table.batches().map_err(|error| errors::raised(py, &error))?;
        // Not held while the interpreter's lock is given away.
        let Some(Pushing { rows, repaired, waiting }) = self.taken() else { return Err(over(py)) };
        let (rows, all_sent) = py.detach(move || {
            let sent = batches.into_iter().try_for_each(|batch| rows.send(batch));
            (rows, sent.is_ok())
        });
        if !all_sent {
            // The work ended before its rows did, which is an error.
            return Err(waiting.finish(py).err().unwrap_or_else(|| over(py)));
        }
        let handed = handed_on(&repaired);
        let pushing = Pushing { rows, repaired, waiting };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(pushing);
        Ok(handed)
    }

    /// Waits until all rows are counted: the last rows of repaired records, and what was counted.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Vec<Batches>, Bound<'py, PyBytes>)> {
        let Some(Pushing { rows, repaired, waiting }) = self.taken() else { return Err(over(py)) };
        drop(rows);
        let state = waiting.finish(py)?;
        Ok((handed_on(&repaired), PyBytes::new(py, &state)))
    }
}

impl Counting {
    fn taken(&self) -> Option<Pushing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let pushing = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(pushing) = pushing {
            pushing.waiting.stop();
        }
    }
}

/// Records of a file that are repaired, their rows as they come.
#[pyclass(frozen, module = "conseq._native")]
pub struct Repairing(Mutex<Option<Coming>>);

/// Rows that are on their way, and then what was counted.
struct Coming {
    repaired: Receiver<RecordBatch>,
    waiting: Waiting<Vec<u8>>,
}

#[pymethods]
impl Repairing {
    /// The next rows, or at the end what was counted.
    fn next<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Option<Batches>, Option<Bound<'py, PyBytes>>)> {
        // Not held while the interpreter's lock is given away.
        let state = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Coming { repaired, waiting }) = state().take() else { return Err(over(py)) };
        match waiting.next(py, repaired)? {
            Some((batch, repaired)) => {
                *state() = Some(Coming { repaired, waiting });
                Ok((Some(Batches::new(batch.schema(), vec![batch])), None))
            }
            None => Ok((None, Some(PyBytes::new(py, &waiting.finish(py)?)))),
        }
    }
}

impl Drop for Repairing {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(Coming { waiting, .. }) = state {
            waiting.stop();
        }
    }
}

fn over(py: Python<'_>) -> PyErr {
    errors::unusable(py, "all rows are counted already", "count other rows anew")
}

/// A model with its rules, proved once and ready to write any of its records.
#[pyclass(frozen, module = "conseq._native")]
pub struct Generation {
    task: Arc<GenerateTask>,
    prepared: Arc<PreparedGeneration>,
}

#[pymethods]
impl Generation {
    #[new]
    fn new(
        py: Python<'_>,
        model: ModelGiven<'_>,
        rules: RulesGiven,
        settings: Settings<'_>,
        call: Call,
    ) -> PyResult<Self> {
        // Workers of a cluster would each want the same GPU.
        let task = generate_task(py, model, None, rules, &settings)?;
        let task = Arc::new(GenerateTask { device: DeviceChoice::Cpu, ..task });
        let ready = Arc::clone(&task);
        let prepared = call.run(py, move |watch| ready.prepared(watch))?;
        Ok(Self { task, prepared: Arc::new(prepared) })
    }

    /// What is known of the records that are written.
    fn outline<'py>(&self, py: Python<'py>, name: String) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.prepared.outline(name).to_bytes())
    }

    /// Whether records have dates.
    fn dated(&self) -> bool {
        self.prepared.dated()
    }

    /// Writes the records with numbers in a range, counted from 0: the rows, and what was written in numbers.
    fn write<'py>(
        &self,
        py: Python<'py>,
        first: u64,
        last: u64,
        call: Call,
    ) -> PyResult<(Vec<Batches>, Bound<'py, PyBytes>)> {
        let (task, prepared) = (Arc::clone(&self.task), Arc::clone(&self.prepared));
        let (output, rows) = channel();
        let state = call.run(py, move |watch| {
            let parts = (first..last, last - first);
            let part = prepared.each_part(&task, parts, watch, |part| {
                hand_on(&part, false, |batch| output.send(batch).is_ok())
            })?;
            Ok(prepared.state(&task, &part)?.to_bytes())
        })?;
        Ok((handed_on(&rows), PyBytes::new(py, &state)))
    }

    /// Adds up what was written of all parts, and gives the report.
    fn merge(
        &self,
        py: Python<'_>,
        counted: Vec<PyBackedBytes>,
        seconds: f64,
    ) -> PyResult<Finished> {
        let report = states(&counted)
            .and_then(|counted| self.prepared.merged(&self.task, counted, seconds))
            .and_then(|report| Finished::new(&report));
        report.map_err(|error| errors::raised(py, &error))
    }
}
