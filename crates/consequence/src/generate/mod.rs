//! New records, written by a model, obeying rules.

mod in_parts;
mod report;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use consequence_model::{Generator, Network, NetworkGenerator, Trained};
use consequence_network::gpu::DeckSize;
use consequence_pipeline::load::{LoadedCohort, LoadedRules};
use consequence_pipeline::model_rules::{self, ReadModel};
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{
    CohortInput, Error, ModelInput, Out, RuleInput, Task, Watch, load, records_digest, watched,
};
use consequence_record::{Code, Cohort, Vocabulary};
use consequence_rules::{RuleSet, UnknownCodes};
use consequence_sample::{
    Condition, DatasetOptions, Identity, NotOnGpu, Obeyed, Request, SampleError, Sampler, Written,
    write_dataset, write_lines,
};
use consequence_store::digest;
use consequence_tables::{Dataset, Format};
use consequence_train::{ChosenGpus, DeviceChoice, Precision};

use crate::parts::PartWriter;

pub use consequence_sample::{Drawing, DrawnBy, Mode, Phases, Totals};
pub use in_parts::{WrittenPart, add_up};
pub use report::GenerateReport;

/// What to generate, and how.
///
/// ```
/// use consequence::generate::GenerateTask;
/// use consequence::train::{ModelChoice, TrainTask};
/// use consequence::{Dataset, Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, model, out] =
///     ["cohort.jsonl", "model", "new"].map(|name| folder.path().join(name));
/// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"], [\"A\", \"B\"]]}}\n");
/// std::fs::write(&cohort, (0..50).map(line).collect::<String>())?;
/// let train = TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(cohort, &model) };
/// train.run(&Unwatched)?;
///
/// let report = GenerateTask::new(&model, 20, &out).run(&Unwatched)?;
/// assert_eq!(report.totals.records, 20);
/// assert_eq!(Dataset::open(&out)?.cohort.len(), 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GenerateTask {
    /// The folder of the model.
    pub model: ModelInput,
    /// The folder to write, or the file if its name ends in `.jsonl`; none: the records are given by
    /// [`generated`](Self::generated) or [`each_part`](Self::each_part) alone.
    pub out: Option<Out>,
    /// How many records.
    pub records: u64,
    /// Only one of a number of parts of them, counted from 1; none: all.
    pub shard: Option<(u32, u32)>,
    /// How rules and model work together.
    pub mode: Mode,
    /// Rule files; none: the rules that the model was trained with.
    pub rules: Vec<RuleInput>,
    /// What a code means that a rule names and the model does not have.
    pub unknown_codes: UnknownCodes,
    /// What every record is, or is not: static codes, codes that some encounter has, and groups:
    /// `SEX//F, not SMOKER, diabetes`.
    pub given: Option<String>,
    /// Files whose names are groups that can be given.
    pub groups: Vec<RuleInput>,
    /// A cohort whose records are continued.
    pub prefix: Option<CohortInput>,
    /// What the logits are divided by.
    pub temperature: f64,
    /// Proposals for each record in mode `exact`.
    pub proposals: u16,
    /// The most attempts at a record, in mode `reject` or where codes of encounters or groups are given.
    pub attempts: u16,
    /// Records that are written at a time; they do not depend on it.
    pub batch: usize,
    /// Where codes are drawn: on every GPU that is there, on one, or on the CPU.
    pub device: DeviceChoice,
    /// How GPUs multiply: in 32 bits nearly every record is that of the CPU.
    pub precision: Precision,
    /// Records of a data file.
    pub shard_records: u64,
    /// What every draw depends on.
    pub seed: u64,
}

impl GenerateTask {
    /// So many records of a model, obeying the rules that it was trained with.
    pub fn new(model: impl Into<ModelInput>, records: u64, out: impl Into<Out>) -> Self {
        Self { out: Some(out.into()), ..Self::in_memory(model, records) }
    }

    /// The same, and nothing is written.
    pub fn in_memory(model: impl Into<ModelInput>, records: u64) -> Self {
        let Request { seed, mode, temperature, proposals, attempts, batch, .. } =
            Request::default();
        Self {
            model: model.into(),
            out: None,
            records,
            shard: None,
            mode,
            rules: Vec::new(),
            unknown_codes: UnknownCodes::default(),
            given: None,
            groups: Vec::new(),
            prefix: None,
            temperature,
            proposals,
            attempts,
            batch,
            device: DeviceChoice::Auto,
            precision: Precision::Full,
            shard_records: DatasetOptions::default().shard_records,
            seed,
        }
    }
}

impl Task for GenerateTask {
    type Report = GenerateReport;

    /// Generates records and writes them, each after the referee has found that it obeys the rules.
    ///
    /// A record depends on the model, the rules, the seed and its number alone. A dataset that was not
    /// finished is completed with [`resume`](Out::resume); JSON lines are written in one go.
    fn run(&self, watch: &dyn Watch) -> Result<GenerateReport, Error> {
        let Some(out) = &self.out else { return Ok(self.generated(watch)?.1) };
        if self.shard.is_some() {
            return self.write_part(out, watch);
        }
        let lines = Format::to_write(&out.path) == Format::Lines;
        let _out = match lines || !out.resume {
            true => out.cohort()?,
            false => out.lock()?,
        };
        self.write(Sink::Files(out), watch)
    }
}

impl GenerateTask {
    /// Generates records and gives them. Nothing is written.
    ///
    /// ```
    /// use consequence::generate::GenerateTask;
    /// use consequence::train::{ModelChoice, TrainTask};
    /// use consequence::{Task, Unwatched};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let [cohort, model] = ["cohort.jsonl", "model"].map(|name| folder.path().join(name));
    /// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"], [\"B\"]]}}\n");
    /// std::fs::write(&cohort, (0..50).map(line).collect::<String>())?;
    /// TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(cohort, &model) }.run(&Unwatched)?;
    ///
    /// let task = GenerateTask::in_memory(&model, 7);
    /// let (records, report) = task.generated(&Unwatched)?;
    /// assert_eq!((records.cohort.len(), report.records), (7, 7));
    /// let mut parts = Vec::new();
    /// task.each_part(5, &Unwatched, |part| Ok(parts.push(part.cohort.len())))?;
    /// assert_eq!(parts, [5, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generated(&self, watch: &dyn Watch) -> Result<(Dataset, GenerateReport), Error> {
        let mut whole = None;
        let report = self.each_part(self.records, watch, |part| {
            whole = Some(part);
            Ok(())
        })?;
        let whole = whole.ok_or(SampleError::Nothing("records"))?;
        Ok((whole, report))
    }

    /// Generates records and hands them on, so many at a time: they are in memory only until then. An
    /// error of `take` ends it, and is given back.
    pub fn each_part(
        &self,
        size: u64,
        watch: &dyn Watch,
        mut take: impl FnMut(Dataset) -> Result<(), Error>,
    ) -> Result<GenerateReport, Error> {
        if self.records == 0 {
            return Err(SampleError::Nothing("records").into());
        }
        if size == 0 {
            return Err(SampleError::Nothing("records of a part").into());
        }
        self.write(Sink::Parts { range: 0..self.records, size, take: &mut take }, watch)
    }

    /// The numbers of the records that are written, from 0.
    pub fn numbers(&self) -> Range<u64> {
        let Some((part, of)) = self.shard else { return 0..self.records };
        let from = |part: u32| {
            (u128::from(self.records) * u128::from(part) / u128::from(of.max(1))) as u64
        };
        from(part.saturating_sub(1))..from(part)
    }

    /// Writes one part of the records, which is a cohort of its own.
    fn write_part(&self, out: &Out, watch: &dyn Watch) -> Result<GenerateReport, Error> {
        let _out = out.cohort()?;
        let mut writer = PartWriter::new(out);
        let numbers = self.numbers();
        if numbers.is_empty() {
            let what = format!("of {} records no part is left", self.records);
            return Err(Error::refused(what, "ask for more records, or for fewer parts"));
        }
        let sink = Sink::Parts {
            range: numbers.clone(),
            size: self.shard_records.max(1),
            take: &mut |part| writer.add(&part),
        };
        let part = Self { records: numbers.end - numbers.start, ..self.clone() };
        let report = part.write(sink, watch)?;
        writer.finish()?;
        Ok(report)
    }

    fn write(&self, sink: Sink<'_>, watch: &dyn Watch) -> Result<GenerateReport, Error> {
        let began = Instant::now();
        let prepared = self.prepared(watch)?;
        let began_writing = Instant::now();
        let written = prepared.write(self, sink, watch)?;
        let seconds = (began.elapsed().as_secs_f64(), began_writing.elapsed().as_secs_f64());
        Ok(prepared.written(self, written, seconds))
    }

    /// A model with its rules, which are compiled and proved: ready to write any of its records.
    pub fn prepared(&self, watch: &dyn Watch) -> Result<PreparedGeneration, Error> {
        let model = ReadModel::open(&self.model, watch)?;
        let vocabulary = model.trained.codes().vocabulary();
        let loaded =
            model_rules::for_writing(&model, &self.model, &self.rules, self.unknown_codes)?;
        let groups =
            model_rules::groups(&model, &self.model, &self.groups, self.unknown_codes)?.rules;
        let given = match &self.given {
            Some(text) => Condition::parse_list(text, &groups.rules)?,
            None => Vec::new(),
        };
        let prefix = match &self.prefix {
            Some(input) => Some(load::detailed_cohort(input, Some(Arc::clone(vocabulary)), watch)?),
            None => None,
        };
        let trained_with = model_rules::trained_with(&model, &self.model)?;
        let network = match &model.trained {
            Trained::Network(network) => Some(NetworkGenerator::new(network)),
            Trained::Markov(_) => None,
        };
        let mut prepared = PreparedGeneration {
            model,
            network,
            loaded,
            groups,
            given,
            prefix,
            trained_with,
            obeyed: None,
        };
        let obeyed = watched(watch, "compiling and proving", None, || {
            let (rules, request) = (&prepared.loaded.rules, prepared.request(self));
            match (&prepared.network, &prepared.model.trained) {
                (Some(network), _) => Obeyed::prepare(network, rules, &request),
                (None, Trained::Markov(markov)) => Obeyed::prepare(&**markov, rules, &request),
                (None, Trained::Network(network)) => {
                    Obeyed::prepare(&NetworkGenerator::new(network), rules, &request)
                }
            }
        })?;
        prepared.obeyed = obeyed;
        Ok(prepared)
    }
}

/// A model with its rules, which are compiled and proved: ready to write any of its records, as often as it is asked.
pub struct PreparedGeneration {
    model: ReadModel,
    /// The network, ready to write; none of a Markov model.
    network: Option<NetworkGenerator>,
    loaded: LoadedRules,
    groups: LoadedRules,
    given: Vec<Condition>,
    prefix: Option<LoadedCohort>,
    trained_with: Option<Arc<RuleSet>>,
    obeyed: Option<Arc<Obeyed>>,
}

/// What helps who named a GPU that is not good for it.
const ON_CPU: &str = "leave {device} out, or give {device=cpu}";

/// Has so many records of a network drawn where it was asked, and tells where that is. Gives the seconds that it took.
fn draw_on(
    sampler: &mut Sampler<'_, NetworkGenerator>,
    network: &Network,
    (task, records): (&GenerateTask, u64),
    watch: &dyn Watch,
) -> Result<f64, Error> {
    let began = Instant::now();
    let refused = |error: NotOnGpu| Error::refused(error.to_string(), ON_CPU);
    let ChosenGpus { gpus, why, left_out } =
        task.device.find_all(task.precision).map_err(|error| refused(error.into()))?;
    let (devices, size) = (gpus.len(), DeckSize::of(records));
    let drawn_on = match gpus.is_empty() {
        true => Ok(()),
        false => sampler.draw_on(gpus, network, size),
    };
    let why = match (drawn_on, task.device) {
        (Ok(()), _) => why,
        (Err(error), DeviceChoice::Auto) => format!("the CPU: {error}"),
        (Err(error), _) => return Err(refused(error)),
    };
    watch.note(&format!("generating on {why}"));
    left_out.iter().for_each(|one| watch.note(&format!("note: {one}, and is left out")));
    let (wanted, slots) = (devices * size.slots, sampler.drawing().slots);
    if let Some(slots) = slots.filter(|&slots| slots < wanted) {
        watch.note(&fewer("has memory for", slots, wanted));
    }
    Ok(began.elapsed().as_secs_f64())
}

/// That the GPU draws fewer records at once than it would.
fn fewer(has: &str, slots: usize, wanted: usize) -> String {
    let (slots, wanted) = (count(slots as u64, "record"), number(wanted as u64));
    format!(
        "note: the GPU {has} {slots} at a time, not {wanted}; they are the same, and come slower"
    )
}

/// Where records go.
enum Sink<'a> {
    /// Into files.
    Files(&'a Out),
    /// Those with numbers in a range, to the caller, so many at a time.
    Parts { range: Range<u64>, size: u64, take: &'a mut dyn FnMut(Dataset) -> Result<(), Error> },
}

impl Sink<'_> {
    /// How many records go there.
    fn records(&self, task: &GenerateTask) -> u64 {
        match self {
            Self::Files(_) => task.records,
            Self::Parts { range, .. } => range.end.saturating_sub(range.start),
        }
    }
}

impl PreparedGeneration {
    fn written(
        &self,
        task: &GenerateTask,
        written: (Written, Drawing),
        seconds: (f64, f64),
    ) -> GenerateReport {
        let rules = (&self.loaded, self.trained_with.as_deref());
        let of_groups = self.given.iter().any(|one| one.group().is_some());
        GenerateReport::new(task, &self.model.card, rules, of_groups, written, seconds)
    }

    fn request<'a>(&'a self, task: &GenerateTask) -> Request<'a> {
        Request {
            seed: task.seed,
            mode: task.mode,
            temperature: task.temperature,
            proposals: task.proposals,
            attempts: task.attempts,
            given: self.given.clone(),
            prefix: self.prefix.as_ref().map(|prefix| &prefix.cohort),
            prefix_details: self.prefix.as_ref().and_then(|prefix| prefix.details.as_ref()),
            trained_with: self.trained_with.as_deref(),
            pass: None,
            details: Some(&self.model.details).filter(|details| !details.is_empty()),
            batch: task.batch,
        }
    }

    fn write(
        &self,
        task: &GenerateTask,
        sink: Sink<'_>,
        watch: &dyn Watch,
    ) -> Result<(Written, Drawing), Error> {
        let request = self.request(task);
        let records = sink.records(task);
        match &self.model.trained {
            Trained::Markov(markov) => {
                if let DeviceChoice::Cuda(_) = task.device {
                    let what = "a model of counts is not drawn from on a GPU";
                    return Err(Error::refused(what, ON_CPU));
                }
                let sampler = Sampler::prepared(&**markov, self.obeyed.clone(), request)?;
                self.write_by(&sampler, task, sink, watch)
            }
            Trained::Network(network) => {
                let fresh;
                let generator = match &self.network {
                    Some(generator) => generator,
                    None => {
                        fresh = NetworkGenerator::new(network);
                        &fresh
                    }
                };
                let mut sampler = Sampler::prepared(generator, self.obeyed.clone(), request)?;
                let opening = draw_on(&mut sampler, network, (task, records), watch)?;
                let before = sampler.drawing().slots.unwrap_or_default();
                let (written, mut drawing) = self.write_by(&sampler, task, sink, watch)?;
                if let Some(slots) = drawing.slots {
                    drawing.phases.opening = opening;
                    if slots < before {
                        watch.note(&fewer("ran out of memory, and drew", slots, before));
                    }
                }
                Ok((written, drawing))
            }
        }
    }

    fn write_by<G: Generator>(
        &self,
        sampler: &Sampler<'_, G>,
        task: &GenerateTask,
        sink: Sink<'_>,
        watch: &dyn Watch,
    ) -> Result<(Written, Drawing), Error> {
        let written = watched(watch, "generating", Some(sink.records(task)), || match sink {
            Sink::Files(out) => self.to_files(sampler, task, out, watch),
            Sink::Parts { range, size, take } => self.in_parts(sampler, range, size, take, watch),
        })?;
        Ok((written, sampler.drawing()))
    }

    fn to_files<G: Generator>(
        &self,
        sampler: &Sampler<'_, G>,
        task: &GenerateTask,
        out: &Out,
        watch: &dyn Watch,
    ) -> Result<Written, Error> {
        let vocabulary = sampler.codes().vocabulary();
        if Format::to_write(&out.path) == Format::Lines {
            let totals = write_lines(sampler, &out.path, task.records, out.force, watch)?;
            return Ok(Written { totals, ..Written::default() });
        }
        let options = DatasetOptions {
            records: task.records,
            shard_records: task.shard_records,
            resume: out.resume,
            replace: out.force,
            made_from: self.identity(task, vocabulary)?,
            titles: self.titles(vocabulary),
            concepts: self.model.concepts.over(vocabulary),
        };
        Ok(write_dataset(sampler, &out.path, &options, watch)?)
    }

    /// What the records are made from.
    fn identity(&self, task: &GenerateTask, vocabulary: &Vocabulary) -> Result<Identity, Error> {
        let card = serde_json::to_vec(&self.model.card)?;
        let rules = model_rules::text(&self.loaded.rules);
        let groups = &self.groups.rules;
        let all = |cohort: &Cohort| -> Vec<usize> { (0..cohort.len()).collect() };
        let prefix = self.prefix.as_ref().map(|prefix| &prefix.cohort);
        Ok(Identity {
            model: digest(&card),
            rules: task.mode.obeys().then(|| digest(rules.as_bytes())),
            groups: (!groups.is_empty()).then(|| digest(model_rules::text(groups).as_bytes())),
            prefix: prefix.map(|cohort| records_digest(cohort, vocabulary, &[&all(cohort)])),
        })
    }

    fn titles(&self, vocabulary: &Vocabulary) -> BTreeMap<Code, String> {
        let titled = |(name, title): (&String, &String)| {
            vocabulary.code(name).map(|code| (code, title.clone()))
        };
        self.model.card.titles.iter().filter_map(titled).collect()
    }
}
