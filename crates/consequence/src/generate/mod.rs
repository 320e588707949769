//! New records, written by a model, obeying rules.

mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use consequence_model::{Generator, Model, NetworkGenerator, Trained};
use consequence_pipeline::model_rules::{self, ReadModel};
use consequence_pipeline::{Error, Out, Task, Watch, load, records_digest, watched};
use consequence_record::{Code, Cohort, Vocabulary};
use consequence_rules::{RuleSet, UnknownCodes};
use consequence_sample::{
    Condition, DatasetOptions, Identity, Request, Sampler, Written, write_dataset, write_lines,
};
use consequence_store::digest;
use consequence_tables::Format;

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
    pub model: PathBuf,
    /// The folder to write, or the file if its name ends in `.jsonl`.
    pub out: Out,
    /// How many records.
    pub records: u64,
    /// How rules and model work together.
    pub mode: Mode,
    /// Rule files; none: the rules that the model was trained with.
    pub rules: Vec<PathBuf>,
    /// What a code means that a rule names and the model does not have.
    pub unknown_codes: UnknownCodes,
    /// Static codes that every record has, or has not: `SEX//F, not SMOKER`.
    pub given: Option<String>,
    /// A cohort whose records are continued.
    pub prefix: Option<PathBuf>,
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
    pub fn new(model: impl Into<PathBuf>, records: u64, out: impl Into<Out>) -> Self {
        let Request { seed, mode, temperature, proposals, attempts, batch, .. } =
            Request::default();
        Self {
            model: model.into(),
            out: out.into(),
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
        let lines = Format::to_write(&self.out.path) == Format::Lines;
        let _out = match lines || !self.out.resume {
            true => self.out.cohort()?,
            false => self.out.lock()?,
        };
        let model = ReadModel::open(&self.model, watch)?;
        let vocabulary = model.trained.codes().vocabulary();
        let loaded =
            model_rules::for_writing(&model, &self.model, &self.rules, self.unknown_codes)?;
        let given = match &self.given {
            Some(text) => Condition::parse_list(text, vocabulary)?,
            None => Vec::new(),
        };
        let prefix = match &self.prefix {
            Some(path) => Some(load::cohort(path, Some(Arc::clone(vocabulary)), watch)?.cohort),
            None => None,
        };
        let trained_with = model_rules::trained_with(&model, &self.model)?;
        let request = Request {
            seed: self.seed,
            mode: self.mode,
            temperature: self.temperature,
            proposals: self.proposals,
            attempts: self.attempts,
            given,
            prefix: prefix.as_ref(),
            trained_with: trained_with.as_deref(),
            pass: None,
            details: Some(&model.details).filter(|details| !details.is_empty()),
            batch: self.batch,
        };
        let job = Job { task: self, model: &model, rules: &loaded.rules, prefix: prefix.as_ref() };
        let began = Instant::now();
        let (written, sampling) = match &model.trained {
            Trained::Network(network) => {
                job.run(&NetworkGenerator::new(network), request, watch)?
            }
            Trained::Markov(markov) => job.run(&**markov, request, watch)?,
        };
        let seconds = (began.elapsed().as_secs_f64(), sampling);
        let rules = (&loaded, trained_with.as_deref());
        Ok(GenerateReport::new(self, &model.card, rules, written, seconds))
    }
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
        watch: &dyn Watch,
    ) -> Result<(Written, f64), Error> {
        let task = self.task;
        let sampler = watched(watch, "compiling and proving", None, || {
            Sampler::new(generator, self.rules, request)
        })?;
        let began = Instant::now();
        let made_from = self.identity(sampler.codes().vocabulary())?;
        let written = watched(watch, "generating", Some(task.records), || {
            if Format::to_write(&task.out.path) == Format::Lines {
                let totals =
                    write_lines(&sampler, &task.out.path, task.records, task.out.force, watch)?;
                return Ok(Written { totals, ..Written::default() });
            }
            let options = DatasetOptions {
                records: task.records,
                shard_records: task.shard_records,
                resume: task.out.resume,
                replace: task.out.force,
                made_from,
                titles: self.titles(sampler.codes().vocabulary()),
                concepts: self.model.concepts.over(sampler.codes().vocabulary()),
            };
            write_dataset(&sampler, &task.out.path, &options, watch)
        })?;
        Ok((written, began.elapsed().as_secs_f64()))
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
