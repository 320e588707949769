//! What a reader sees first.

use serde::{Deserialize, Serialize};

/// What was compared, when, with what program, from what files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Head {
    /// The title of the page.
    pub title: String,
    /// What was compared, in one sentence.
    pub compared: String,
    /// When, as the caller writes it.
    pub when: String,
    /// The program and its version.
    pub program: String,
    /// The seed of everything random, where there is one.
    pub seed: Option<u64>,
    /// Further facts as (label, value), such as the machine or the number of runs.
    pub facts: Vec<(String, String)>,
    /// The cohorts and rules that went in.
    pub sources: Vec<Source>,
}

/// A file or folder that went into the report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// What it was used as, such as `real cohort`.
    pub role: String,
    /// Its path or name.
    pub name: String,
    /// How much is in it: records, visits, codes, rules.
    pub counts: Vec<Count>,
    /// Its SHA-256 digest in hexadecimal; empty where unknown.
    pub sha256: String,
}

/// A number of things.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// How many.
    pub count: u64,
    /// Of what, such as `records`.
    pub of: String,
}

impl Count {
    /// So many of these.
    pub fn new(count: u64, of: impl Into<String>) -> Self {
        Self { count, of: of.into() }
    }
}

/// A claim that a reviewer can rely on, or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The claim, in one sentence.
    pub text: String,
    /// The figure behind it; may be empty.
    #[serde(default)]
    pub figure: String,
    /// Whether it holds.
    pub holds: Holds,
}

/// Whether a statement holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// It could not be told, and why.
    Unknown(String),
}

/// Something to know before trusting the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caution {
    /// How grave it is.
    pub kind: CautionKind,
    /// What to know, in a sentence or two.
    pub text: String,
}

/// How grave a caution is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CautionKind {
    /// Something is off with this input or this run.
    Warning,
    /// What such figures can never show.
    Limit,
}
