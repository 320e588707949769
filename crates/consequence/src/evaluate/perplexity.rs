//! How well a model predicts real records.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_evaluate::{
    Likelihood, ReplayOptions, UnnormalisedLikelihood, likelihood, likelihood_with_rules,
    likelihood_with_settled, log_probabilities,
};
use consequence_model::{Generator, Model, ModelKind, NetworkGenerator, Trained};
use consequence_pipeline::load::{LoadedCohort, LoadedRules};
use consequence_pipeline::model_rules::{self, ReadModel};
use consequence_pipeline::words::count;
use consequence_pipeline::{
    CohortInput, Error, ModelInput, Report, RuleInput, Task, Watch, load, watched,
};
use consequence_record::{RecordView, Selection, Split, Vocabulary};
use consequence_rules::{CompileOptions, RuleSet, UnknownCodes, compile};
use consequence_train::{PaperRules, TrainMode};
use serde::Serialize;

/// Which model to measure, and on what.
///
/// ```
/// use consequence::evaluate::PerplexityTask;
/// use consequence::train::{ModelChoice, TrainTask};
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, model] = ["cohort.jsonl", "model"].map(|name| folder.path().join(name));
/// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"], [\"A\", \"B\"]]}}\n");
/// std::fs::write(&cohort, (0..200).map(line).collect::<String>())?;
/// let train = TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(&cohort, &model) };
/// train.run(&Unwatched)?;
///
/// let report = PerplexityTask::new(&model, &cohort).run(&Unwatched)?;
/// assert!(report.likelihood.perplexity.unwrap() < 1.1, "all records are alike");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PerplexityTask {
    /// The folder of the model.
    pub model: ModelInput,
    /// The real cohort.
    pub real: CohortInput,
    /// The split whose records are predicted.
    pub split: Split,
    /// Rule files; none: the rules that the model was trained with.
    pub rules: Vec<RuleInput>,
    /// Whether the model is measured alone, without any rules.
    pub no_rules: bool,
    /// What a code means that a rule names and the model does not have.
    pub unknown_codes: UnknownCodes,
}

impl PerplexityTask {
    /// A model with its own rules, on the held-out split.
    pub fn new(model: impl Into<ModelInput>, real: impl Into<CohortInput>) -> Self {
        Self {
            model: model.into(),
            real: real.into(),
            split: Split::HeldOut,
            rules: Vec::new(),
            no_rules: false,
            unknown_codes: UnknownCodes::default(),
        }
    }
}

/// How well a model predicts real records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerplexityReport {
    /// The model, as the user named it.
    pub model: String,
    /// What kind of model it is.
    pub generator: ModelKind,
    /// The real cohort.
    pub real: String,
    /// The split whose records are predicted.
    pub split: &'static str,
    /// The rule files; the model's folder where its own rules were taken.
    pub files: Vec<String>,
    /// Hard rules in force.
    pub hard_rules: usize,
    /// Soft rules in force.
    pub soft_rules: usize,
    /// The likelihood of the records.
    pub likelihood: Likelihood,
    /// The paper's figure, for a model trained as the paper does.
    pub paper: Option<UnnormalisedLikelihood>,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
}

/// The cohort over the codes of a model, with dates and values where rules ask for them.
fn read(
    cohort: &CohortInput,
    rules: &LoadedRules,
    vocabulary: &Arc<Vocabulary>,
    watch: &dyn Watch,
) -> Result<LoadedCohort, Error> {
    let codes = Some(Arc::clone(vocabulary));
    match rules.rules.ask_details() {
        true => load::detailed_cohort(cohort, codes, watch),
        false => load::cohort(cohort, codes, watch),
    }
}

impl Task for PerplexityTask {
    type Report = PerplexityReport;

    /// Measures the likelihood of real records under a model with rules: each code is predicted from what
    /// is already decided, as when records are generated.
    fn run(&self, watch: &dyn Watch) -> Result<PerplexityReport, Error> {
        let (model, loaded) = self.opened(watch)?;
        let vocabulary = model.trained.codes().vocabulary();
        let real = read(&self.real, &loaded, vocabulary, watch)?;
        let records = self.split.indices(&real.splits);
        if records.is_empty() {
            let what = format!("no record is in the {} split", self.split);
            return Err(Error::refused_at(&self.real, what, "measure on another split"));
        }
        let records = real.records().others(&records);
        let trained_with = model_rules::trained_with(&model, &self.model)?;
        let trained_with = trained_with.as_deref();
        let measure = Measure { model: &model, rules: &loaded.rules, trained_with, records };
        let (likelihood, paper) = match &model.trained {
            Trained::Network(network) => measure.of(&NetworkGenerator::new(network), watch)?,
            Trained::Markov(markov) => measure.of(&**markov, watch)?,
        };
        let hard = loaded.rules.iter().filter(|rule| rule.is_hard()).count();
        Ok(PerplexityReport {
            model: self.model.to_string(),
            generator: model.card.kind,
            real: self.real.shown(),
            split: self.split.name(),
            files: loaded.files,
            hard_rules: hard,
            soft_rules: loaded.rules.len() - hard,
            likelihood,
            paper,
            warnings: loaded.warnings.iter().map(|warning| warning.render()).collect(),
        })
    }
}

impl PerplexityTask {
    /// The logarithm of the probability of every record of the cohort, whatever its split, in their order. It is
    /// minus infinity for a record that the rules forbid, and for one that cannot be written.
    ///
    /// ```
    /// use consequence::evaluate::PerplexityTask;
    /// use consequence::train::{ModelChoice, TrainTask};
    /// use consequence::{Task, Unwatched};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let [cohort, model] = ["cohort.jsonl", "model"].map(|name| folder.path().join(name));
    /// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"], [\"B\"]]}}\n");
    /// std::fs::write(&cohort, (0..50).map(line).collect::<String>())?;
    /// TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(&cohort, &model) }.run(&Unwatched)?;
    ///
    /// let each = PerplexityTask::new(&model, &cohort).log_probabilities(&Unwatched)?;
    /// assert!(each.len() == 50 && each.iter().all(|one| one.is_finite() && *one < 0.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn log_probabilities(&self, watch: &dyn Watch) -> Result<Vec<f64>, Error> {
        let (model, loaded) = self.opened(watch)?;
        let vocabulary = model.trained.codes().vocabulary();
        let real = read(&self.real, &loaded, vocabulary, watch)?;
        let trained_with = model_rules::trained_with(&model, &self.model)?;
        let measure = Measure {
            model: &model,
            rules: &loaded.rules,
            trained_with: trained_with.as_deref(),
            records: real.records(),
        };
        match &model.trained {
            Trained::Network(network) => measure.each(&NetworkGenerator::new(network), watch),
            Trained::Markov(markov) => measure.each(&**markov, watch),
        }
    }

    /// The model, and the rules over its codes.
    fn opened(&self, watch: &dyn Watch) -> Result<(ReadModel, LoadedRules), Error> {
        let model = ReadModel::open(&self.model, watch)?;
        let mut loaded =
            model_rules::over_model(&model, &self.model, &self.rules, self.unknown_codes)?;
        if self.no_rules {
            let none = RuleSet::empty(Arc::clone(model.trained.codes().vocabulary()));
            (loaded.rules, loaded.files) = (Arc::new(none), Vec::new());
        }
        Ok((model, loaded))
    }
}

/// What is the same for every kind of generator.
struct Measure<'a> {
    model: &'a Model,
    rules: &'a Arc<RuleSet>,
    trained_with: Option<&'a RuleSet>,
    records: Selection<'a>,
}

impl Measure<'_> {
    fn of<G: Generator>(
        &self,
        generator: &G,
        watch: &dyn Watch,
    ) -> Result<(Likelihood, Option<UnnormalisedLikelihood>), Error> {
        let total = Some(self.records.len() as u64);
        let options = ReplayOptions { watch, ..ReplayOptions::default() };
        if self.rules.is_empty() {
            let alone = watched(watch, "measuring", total, || {
                likelihood(generator, self.records, &options)
            })?;
            return Ok((alone, None));
        }
        let enforcer = watched(watch, "compiling and proving", None, || self.enforcer(generator))?;
        let with_rules = watched(watch, "measuring", total, || {
            likelihood_with_rules(generator, &enforcer, self.records, &options)
        })?;
        if self.model.card.train_mode != TrainMode::Paper.to_string() {
            return Ok((with_rules, None));
        }
        let (codes, paper) = (generator.codes(), PaperRules::new(enforcer.plan()));
        let settled = |record: RecordView<'_>, visit| paper.settled(codes, record, visit);
        let paper = watched(watch, "measuring as the paper does", total, || {
            likelihood_with_settled(generator, settled, self.records, &options)
        })?;
        Ok((with_rules, Some(paper)))
    }

    /// The logarithm of the probability of each record.
    fn each<G: Generator>(&self, generator: &G, watch: &dyn Watch) -> Result<Vec<f64>, Error> {
        let total = Some(self.records.len() as u64);
        let options = ReplayOptions { watch, ..ReplayOptions::default() };
        let enforcer = match self.rules.is_empty() {
            true => None,
            false => {
                Some(watched(watch, "compiling and proving", None, || self.enforcer(generator))?)
            }
        };
        Ok(watched(watch, "measuring", total, || {
            log_probabilities(generator, enforcer.as_ref(), self.records, &options)
        })?)
    }

    /// The rules closed and proved in the model's order of codes.
    fn enforcer<G: Generator>(&self, generator: &G) -> Result<Enforcer, Error> {
        let options = CompileOptions {
            max_visits: u16::try_from(generator.max_visits()).unwrap_or(u16::MAX),
            order: Some(generator.codes().clone()),
            ..CompileOptions::default()
        };
        let plan = compile(Arc::clone(self.rules), &options)
            .map_err(|error| Error::compile(self.rules, error))?;
        Ok(Enforcer::for_model(&plan, self.trained_with))
    }
}

impl Report for PerplexityReport {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Display for PerplexityReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let rules = match self.hard_rules + self.soft_rules {
            0 => "no rules".to_owned(),
            rules => count(rules as u64, "rule"),
        };
        writeln!(out, "{} on {} ({} split), with {rules}", self.model, self.real, self.split)?;
        write!(out, "\n{}", self.likelihood)?;
        match &self.paper {
            Some(paper) => write!(out, "\n{paper}"),
            None => Ok(()),
        }
    }
}
