//! What to compare, and how thoroughly.

use std::path::PathBuf;

use consequence::train::NetworkTask;
use consequence_baselines::Method;
use consequence_pipeline::Out;
use consequence_rules::UnknownCodes;
use consequence_train::Preset;
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
/// task.effort = Effort { runs: 2, records: 20, deep_runs: 0, train_records: Some(50) };
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
    /// The methods, in the order of the tables.
    pub methods: Vec<Method>,
    /// The network that every method is put on.
    pub network: NetworkTask,
    /// How thoroughly they are measured.
    pub effort: Effort,
    /// What networks and records depend on.
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
            methods: Method::ALL.to_vec(),
            network: NetworkTask::of(Preset::default()),
            effort: Effort::PAPER,
            seed: 1,
        }
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

/// How thoroughly methods are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Effort {
    /// Repeated generations of each method.
    pub runs: u32,
    /// Records of each.
    pub records: u64,
    /// How many of the generations are also asked for utility and privacy.
    pub deep_runs: u32,
    /// The most records to train on; none: all of the train split.
    pub train_records: Option<usize>,
}

impl Effort {
    /// As the paper does: 25 generations of 10,000 records.
    pub const PAPER: Self = Self { runs: 25, records: 10_000, deep_runs: 5, train_records: None };

    /// Enough to see that everything runs.
    pub const QUICK: Self =
        Self { runs: 3, records: 1_000, deep_runs: 1, train_records: Some(4_000) };
}
