//! Every rule, and how often it was broken.

use serde::{Deserialize, Serialize};

/// A table of rules that a reader can search and sort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleTable {
    /// What the table shows.
    pub title: String,
    /// How to read it; may be empty.
    pub note: String,
    /// The synthetic cohorts that were judged: one, or one for each method.
    pub methods: Vec<String>,
    /// Which of them always has a column; the reader picks a second one.
    pub ours: usize,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// One rule, and how often it was broken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether it must hold.
    pub strength: Strength,
    /// Whether it looks at earlier visits.
    pub reach: Reach,
    /// Violations in the real cohort; none where it was not judged.
    pub real: Option<f64>,
    /// Violations in each synthetic cohort, in the order of the methods: a count, or a mean over
    /// runs.
    pub synthetic: Vec<Option<f64>>,
}

/// Whether a rule must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// It must.
    Hard,
    /// It holds with a stated probability.
    Soft,
}

/// Whether a rule looks at earlier visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// It speaks of one visit.
    Static,
    /// It looks at earlier visits.
    Temporal,
}
