//! Example records, visit by visit.

use serde::{Deserialize, Serialize};

/// Example records as timelines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Records {
    /// What the records are.
    pub title: String,
    /// How they were chosen; may be empty.
    pub note: String,
    /// The records.
    pub records: Vec<ExampleRecord>,
}

/// One record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExampleRecord {
    /// Its name, such as `synthetic record 17`.
    pub title: String,
    /// Where it comes from, such as the method; may be empty.
    pub source: String,
    /// Its visits, the static one first.
    pub visits: Vec<ExampleVisit>,
}

/// One visit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExampleVisit {
    /// Its name, such as `visit 3`.
    pub title: String,
    /// Its codes, and those that a rule kept out.
    pub chips: Vec<Chip>,
}

/// A code in a visit, or one that was kept out of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chip {
    /// The code.
    pub code: String,
    /// What it means, where that is known; may be empty.
    #[serde(default)]
    pub meaning: String,
    /// What a rule did to it.
    pub act: Act,
    /// The rule that acted, as its text; empty where none did.
    #[serde(default)]
    pub rule: String,
}

impl Chip {
    /// A code that no rule touched.
    pub fn free(code: impl Into<String>) -> Self {
        Self { code: code.into(), meaning: String::new(), act: Act::Free, rule: String::new() }
    }

    /// A code that a rule acted on.
    pub fn acted(code: impl Into<String>, act: Act, rule: impl Into<String>) -> Self {
        Self { code: code.into(), meaning: String::new(), act, rule: rule.into() }
    }
}

/// What a rule did to a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Nothing: the code was drawn.
    Free,
    /// A rule put it in.
    Forced,
    /// A rule kept it out: it is shown, and is not part of the visit.
    KeptOut,
    /// It is there, and breaks a rule.
    Breaks,
    /// It is not there, and a rule is broken for want of it.
    Lacking,
}
