//! What to compare, and how thoroughly.

use std::path::PathBuf;

use consequence::train::NetworkTask;
use consequence_baselines::Method;
use consequence_model::NetworkSizes;
use consequence_pipeline::words::count;
use consequence_pipeline::{Error, Out};
use consequence_rules::UnknownCodes;
use consequence_train::{DeviceChoice, Preset};
use serde::Serialize;

/// Which cohort the methods train on, and how thoroughly they are measured.
///
/// ```
/// use consequence_comparison::{ComparisonTask, Effort, Method};
/// use consequence_pipeline::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, rules, out] =
///     ["cohort.jsonl", "a.rules", "comparison"].map(|name| folder.path().join(name));
/// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"], [\"A\", \"B\"]]}}\n");
/// std::fs::write(&cohort, (0..100).map(line).collect::<String>())?;
/// std::fs::write(&rules, "rule lifelong: A in previous => A")?;
///
/// // As small as it gets. Leave these out for figures that say something.
/// let mut task = ComparisonTask::new(cohort, out).quick();
/// task.rules = vec![rules];
/// task.methods = vec![Method::Vanilla, Method::Consequence];
/// task.network.options.epochs = 1;
/// task.effort = Effort { runs: 2, records: 20, deep_runs: 0, train_records: Some(50), ..Effort::QUICK };
/// let report = task.run(&Unwatched)?;
/// let ours = &report.methods[1];
/// assert_eq!(ours.method, "consequence");
/// assert_eq!(ours.generation.temporal_violations.map(|broken| broken.mean), Some(0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ComparisonTask {
    /// The cohort: JSON lines, or a MEDS dataset. Methods train on its train split, stop by its tuning
    /// split, and predict its held-out split.
    pub cohort: PathBuf,
    /// The folder for the report and for what it is made of.
    pub out: Out,
    /// Rule files; none: rules are mined.
    pub rules: Vec<PathBuf>,
    /// What a code means that a rule names and the cohort does not have.
    pub unknown_codes: UnknownCodes,
    /// Whether to leave out the rules that the cohort brings along.
    pub no_own_rules: bool,
    /// The methods, in the order of the tables.
    pub methods: Vec<Method>,
    /// The network that every method is put on.
    pub network: NetworkTask,
    /// Another network beside it; those of vanilla and Consequence that are among the methods are put
    /// on it too.
    pub also: Option<NetworkTask>,
    /// Learning rates to try for each method, as multiples of the usual one: the one that predicts the
    /// tuning split best is taken. None: the usual one.
    pub rates: Vec<f32>,
    /// Where networks train. What a method is scored by beyond the likelihood is worked out on the CPU all the
    /// same.
    pub device: DeviceChoice,
    /// How thoroughly they are measured.
    pub effort: Effort,
    /// What networks and records depend on. The first training of a method has this seed, the next one
    /// the next number.
    pub seed: u64,
}

impl ComparisonTask {
    /// Every method on the usual network, as thoroughly as the paper does.
    pub fn new(cohort: impl Into<PathBuf>, out: impl Into<Out>) -> Self {
        Self {
            cohort: cohort.into(),
            out: out.into(),
            rules: Vec::new(),
            unknown_codes: UnknownCodes::default(),
            no_own_rules: false,
            methods: Method::ALL.to_vec(),
            network: NetworkTask::of(Preset::default()),
            also: None,
            rates: Vec::new(),
            device: DeviceChoice::Auto,
            effort: Effort::PAPER,
            seed: 1,
        }
    }

    /// The seed of a training.
    pub(crate) fn training_seed(&self, training: u32) -> u64 {
        self.seed.wrapping_add(training.into())
    }

    /// The seed of a generation; the same for all methods.
    pub(crate) fn run_seed(&self, run: u32) -> u64 {
        self.seed.wrapping_mul(1_000).wrapping_add(run.into())
    }

    /// Refuses what makes no sense together.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Effort { trainings, runs, .. } = self.effort;
        if trainings == 0 || runs < trainings {
            let (trainings, runs) =
                (count(trainings.into(), "training"), count(runs.into(), "generation"));
            return Err(Error::refused(
                format!("{trainings} of each method and {runs}: not every network would generate"),
                "ask for at least as many generations with {runs}, or for fewer with {seeds}",
            ));
        }
        if let Some(rate) = self.rates.iter().find(|&&rate| !(rate > 0.0 && rate.is_finite())) {
            return Err(Error::refused(
                format!("a learning rate cannot be {rate} times the usual one"),
                "give numbers above 0 with {rates}, such as 0.5 1 2",
            ));
        }
        let Some(also) = &self.also else { return Ok(()) };
        if network_name(also) == network_name(&self.network) {
            return Err(Error::refused(
                format!("the methods are on the {} already", network_title(also)),
                "leave out the network beside it, or choose {network=recurrent}",
            ));
        }
        match ON_BOTH.iter().any(|method| self.methods.contains(method)) {
            true => Ok(()),
            false => Err(Error::refused(
                "neither vanilla nor consequence is compared, which a second network is for",
                "leave the second network out, or name them with {methods}",
            )),
        }
    }

    /// Trainings of each method, those to choose its learning rate among them.
    pub(crate) fn trainings(&self) -> u32 {
        // One of those that choose counts.
        self.effort.trainings + self.rates.len().saturating_sub(1) as u32
    }

    /// Epochs that a training often has, for whoever waits.
    pub(crate) fn usual_epochs(&self) -> u64 {
        u64::from(self.network.options.epochs.min(10))
    }

    /// The same in minutes on two cores: a tiny network, few records, few repeated generations. The
    /// figures show that everything runs, and little more.
    #[must_use]
    pub fn quick(self) -> Self {
        Self { network: NetworkTask::of(Preset::TINY), effort: Effort::QUICK, ..self }
    }
}

/// The methods that are put on a second network.
pub(crate) const ON_BOTH: [Method; 2] = [Method::Vanilla, Method::Consequence];

/// The name of a network in files.
pub(crate) fn network_name(network: &NetworkTask) -> &'static str {
    match network.sizes {
        NetworkSizes::Recurrent(_) => "recurrent",
        NetworkSizes::Halo(_) => "halo",
    }
}

/// What a network is called in a sentence.
pub(crate) fn network_title(network: &NetworkTask) -> &'static str {
    match network.sizes {
        NetworkSizes::Recurrent(_) => "recurrent network",
        NetworkSizes::Halo(_) => "HALO network",
    }
}

/// How thoroughly methods are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Effort {
    /// Trainings of each method, each with a seed of its own.
    pub trainings: u32,
    /// Repeated generations of each method, over its trainings in turn: generation `r` is of training
    /// `r` modulo their number.
    pub runs: u32,
    /// Records of each.
    pub records: u64,
    /// How many of the generations are also asked for utility and privacy.
    pub deep_runs: u32,
    /// The most records to train on; none: all of the train split.
    pub train_records: Option<usize>,
}

impl Effort {
    /// As the paper does: one training, 25 generations of 10,000 records.
    pub const PAPER: Self =
        Self { trainings: 1, runs: 25, records: 10_000, deep_runs: 5, train_records: None };

    /// Enough to see that everything runs.
    pub const QUICK: Self =
        Self { trainings: 1, runs: 3, records: 1_000, deep_runs: 1, train_records: Some(4_000) };
}
