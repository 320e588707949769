//! New records, written by a model, obeying rules.

mod report;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use consequence_model::{Generator, Model, NetworkGenerator, Trained};
use consequence_pipeline::model_rules::{self, ReadModel};
use consequence_pipeline::{
    CohortInput, Error, ModelInput, Out, RuleInput, Task, Watch, load, records_digest, watched,
};
use consequence_record::{Code, Cohort, CohortDetails, Vocabulary};
use consequence_rules::{RuleSet, UnknownCodes};
use consequence_sample::{
    Condition, DatasetOptions, Identity, Request, SampleError, Sampler, Written, write_dataset,
    write_lines,
};
use consequence_store::digest;
use consequence_tables::{Dataset, Format};

pub use consequence_sample::{Mode, Totals};
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
    /// How rules and model work together.
    pub mode: Mode,
    /// Rule files; none: the rules that the model was trained with.
    pub rules: Vec<RuleInput>,
    /// What a code means that a rule names and the model does not have.
    pub unknown_codes: UnknownCodes,
    /// Static codes that every record has, or has not: `SEX//F, not SMOKER`.
    pub given: Option<String>,
    /// A cohort whose records are continued.
    pub prefix: Option<CohortInput>,
    /// What the logits are divided by.
    pub temperature: f64,
    /// Proposals for each record in mode `exact`.
    pub proposals: u16,
    /// The most attempts at a record in mode `reject`.
    pub attempts: u16,
    /// Records that are written at a time; they do not depend on it.
    pub batch: usize,
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
            mode,
            rules: Vec::new(),
            unknown_codes: UnknownCodes::default(),
            given: None,
            prefix: None,
            temperature,
            proposals,
            attempts,
            batch,
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
        self.write(Sink::Parts { size, take: &mut take }, watch)
    }

    fn write(&self, sink: Sink<'_>, watch: &dyn Watch) -> Result<GenerateReport, Error> {
        let model = ReadModel::open(&self.model, watch)?;
        let vocabulary = model.trained.codes().vocabulary();
        let loaded =
            model_rules::for_writing(&model, &self.model, &self.rules, self.unknown_codes)?;
        let given = match &self.given {
            Some(text) => Condition::parse_list(text, vocabulary)?,
            None => Vec::new(),
        };
        let prefix = match &self.prefix {
            Some(input) => Some(load::cohort(input, Some(Arc::clone(vocabulary)), watch)?),
            None => None,
        };
        let prefix = prefix.as_ref().map(|prefix| &prefix.cohort);
        let trained_with = model_rules::trained_with(&model, &self.model)?;
        let request = Request {
            seed: self.seed,
            mode: self.mode,
            temperature: self.temperature,
            proposals: self.proposals,
            attempts: self.attempts,
            given,
            prefix,
            trained_with: trained_with.as_deref(),
            pass: None,
            details: Some(&model.details).filter(|details| !details.is_empty()),
            batch: self.batch,
        };
        let job = Job { task: self, model: &model, rules: &loaded.rules, prefix };
        let began = Instant::now();
        let (written, sampling) = match &model.trained {
            Trained::Network(network) => {
                job.run(&NetworkGenerator::new(network), request, sink, watch)?
            }
            Trained::Markov(markov) => job.run(&**markov, request, sink, watch)?,
        };
        let seconds = (began.elapsed().as_secs_f64(), sampling);
        let rules = (&loaded, trained_with.as_deref());
        Ok(GenerateReport::new(self, &model.card, rules, written, seconds))
    }
}

/// Where records go.
enum Sink<'a> {
    /// Into files.
    Files(&'a Out),
    /// To the caller, so many at a time.
    Parts { size: u64, take: &'a mut dyn FnMut(Dataset) -> Result<(), Error> },
}

/// What is the same for every kind of generator.
struct Job<'a> {
    task: &'a GenerateTask,
    model: &'a Model,
    rules: &'a RuleSet,
    prefix: Option<&'a Cohort>,
}

impl Job<'_> {
    /// What was written, and the seconds that it took.
    fn run<G: Generator>(
        &self,
        generator: &G,
        request: Request<'_>,
        sink: Sink<'_>,
        watch: &dyn Watch,
    ) -> Result<(Written, f64), Error> {
        let task = self.task;
        let sampler = watched(watch, "compiling and proving", None, || {
            Sampler::new(generator, self.rules, request)
        })?;
        let began = Instant::now();
        let written = watched(watch, "generating", Some(task.records), || match sink {
            Sink::Files(out) => self.to_files(&sampler, out, watch),
            Sink::Parts { size, take } => self.in_parts(&sampler, size, take, watch),
        })?;
        Ok((written, began.elapsed().as_secs_f64()))
    }

    fn to_files<G: Generator>(
        &self,
        sampler: &Sampler<'_, G>,
        out: &Out,
        watch: &dyn Watch,
    ) -> Result<Written, Error> {
        let (task, vocabulary) = (self.task, sampler.codes().vocabulary());
        if Format::to_write(&out.path) == Format::Lines {
            let totals = write_lines(sampler, &out.path, task.records, out.force, watch)?;
            return Ok(Written { totals, ..Written::default() });
        }
        let options = DatasetOptions {
            records: task.records,
            shard_records: task.shard_records,
            resume: out.resume,
            replace: out.force,
            made_from: self.identity(vocabulary)?,
            titles: self.titles(vocabulary),
            concepts: self.model.concepts.over(vocabulary),
        };
        Ok(write_dataset(sampler, &out.path, &options, watch)?)
    }

    fn in_parts<G: Generator>(
        &self,
        sampler: &Sampler<'_, G>,
        size: u64,
        take: &mut dyn FnMut(Dataset) -> Result<(), Error>,
        watch: &dyn Watch,
    ) -> Result<Written, Error> {
        let vocabulary = sampler.codes().vocabulary();
        let (titles, scales) = (self.titles(vocabulary), sampler.scales());
        let concepts = self.model.concepts.over(vocabulary);
        let detailed = sampler.dated() || !scales.is_empty();
        let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
        let (mut totals, mut refused) = (Totals::default(), None);
        let records = self.task.records;
        let given = sampler.each(0..records, &mut totals, |sampled| {
            let next = sampled.number + 1;
            cohort.push(&next.to_string(), &sampled.record);
            details.push(sampled.details.view());
            watch.advance(1);
            if !next.is_multiple_of(size) && next < records {
                return Ok(());
            }
            let (cohort, details) = (std::mem::take(&mut cohort), std::mem::take(&mut details));
            let part = Dataset {
                titles: titles.clone(),
                concepts: concepts.clone(),
                scales: scales.clone(),
                details: detailed.then_some(details),
                ..Dataset::new(cohort, Arc::clone(vocabulary))
            };
            take(part).map_err(|error| {
                refused = Some(error);
                SampleError::Stopped
            })
        });
        match (given, refused) {
            (Err(SampleError::Stopped), Some(error)) => Err(error),
            (given, _) => Ok(given.map(|()| Written { totals, ..Written::default() })?),
        }
    }

    /// What the records are made from.
    fn identity(&self, vocabulary: &Vocabulary) -> Result<Identity, Error> {
        let card = serde_json::to_vec(&self.model.card)?;
        let rules = model_rules::text(self.rules);
        let all = |cohort: &Cohort| -> Vec<usize> { (0..cohort.len()).collect() };
        Ok(Identity {
            model: digest(&card),
            rules: self.task.mode.obeys().then(|| digest(rules.as_bytes())),
            prefix: self.prefix.map(|cohort| records_digest(cohort, vocabulary, &[&all(cohort)])),
        })
    }

    fn titles(&self, vocabulary: &Vocabulary) -> BTreeMap<Code, String> {
        let titled = |(name, title): (&String, &String)| {
            vocabulary.code(name).map(|code| (code, title.clone()))
        };
        self.model.card.titles.iter().filter_map(titled).collect()
    }
}
