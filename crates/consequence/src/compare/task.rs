//! What to compare, and how thoroughly.

use std::path::PathBuf;

use consequence_baselines::Method;
use consequence_rules::UnknownCodes;
use consequence_train::Preset;
use serde::Serialize;

use crate::train::NetworkTask;

/// Which cohort the methods train on, and how thoroughly they are measured.
#[derive(Clone, Debug)]
pub struct MethodsTask {
    /// The cohort: JSON lines, or a MEDS dataset. Methods train on its train split, stop by its tuning
    /// split, and predict its held-out split.
    pub cohort: PathBuf,
    /// The folder for the report and for what it is made of.
    pub out: PathBuf,
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
    /// Whether to go on with what an earlier run left.
    pub resume: bool,
    /// Whether to replace what is there.
    pub force: bool,
    /// What networks and records depend on.
    pub seed: u64,
}

impl MethodsTask {
    /// Every method on a network of the size `small`, as thoroughly as the paper does.
    pub fn new(cohort: impl Into<PathBuf>, out: impl Into<PathBuf>) -> Self {
        Self {
            cohort: cohort.into(),
            out: out.into(),
            rules: Vec::new(),
            unknown_codes: UnknownCodes::default(),
            methods: Method::ALL.to_vec(),
            network: NetworkTask::of(Preset::Small),
            effort: Effort::PAPER,
            resume: false,
            force: false,
            seed: 1,
        }
    }

    /// The same in minutes on two cores: a tiny network, few records, few repeated generations. The
    /// figures show that everything runs, and little more.
    #[must_use]
    pub fn quick(self) -> Self {
        Self { network: NetworkTask::of(Preset::Tiny), effort: Effort::QUICK, ..self }
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
