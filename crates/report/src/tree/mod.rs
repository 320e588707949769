//! What a report says, as plain data: what a reader sees first, every rule and how often it was
//! broken, example records visit by visit; and, in the modules, tables and plots, and rules to choose from.

mod plots;
mod review;
mod table;

use serde::{Deserialize, Serialize};

pub use plots::{
    Bar, BarPanel, Bars, Histogram, Histograms, LinePanel, LineSeries, Lines, Measure, ScaleKind,
    Scatter, ScatterPanel,
};
pub use review::{Review, ReviewClass, ReviewCode, ReviewRule};
pub use table::{Better, Cell, Column, Finding, Findings, Row, RowKind, Table, Value, Verdict};

/// A whole report. Every part may be empty; an empty part is left out of the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// What was compared, when, with what.
    pub head: Head,
    /// What was done, in plain words; a paragraph each.
    pub summary: Vec<String>,
    /// What holds and what does not.
    pub statements: Vec<Statement>,
    /// What a reader must know before trusting the figures.
    pub cautions: Vec<Caution>,
    /// The figures, in the order in which they are shown.
    pub sections: Vec<Section>,
}

/// A heading and what stands under it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Section {
    /// A short word for programs and links, such as `violations`.
    pub key: String,
    /// The heading.
    pub title: String,
    /// How to read what follows, in a sentence or two; may be empty.
    pub lead: String,
    /// Tables, plots and lists.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section without a lead.
    pub fn new(key: impl Into<String>, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { key: key.into(), title: title.into(), lead: String::new(), blocks }
    }
}

/// One table, plot or list of a section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Figures in rows.
    Table(Table),
    /// Published findings, one by one.
    Findings(Findings),
    /// Probabilities in two cohorts, point by point.
    Scatter(Scatter),
    /// A figure for each of several methods.
    Bars(Bars),
    /// Distributions of lengths in two cohorts.
    Histograms(Histograms),
    /// Curves.
    Lines(Lines),
    /// Every rule, and how often it was broken.
    Rules(RuleTable),
    /// Example records as timelines.
    Records(Records),
    /// Lines to be filled in by hand.
    Signature(Signature),
}

/// Lines to be filled in by hand, on paper.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Signature {
    /// What is signed.
    pub title: String,
    /// What to know before signing; may be empty.
    pub note: String,
    /// What is to be filled in, a line each.
    pub lines: Vec<String>,
}

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
    /// It could not be determined, and why.
    Unknown(String),
}

/// Something to know before trusting the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caution {
    /// How serious it is.
    pub kind: CautionKind,
    /// What to know, in a sentence or two.
    pub text: String,
}

/// How serious a caution is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CautionKind {
    /// Something is off with this input or this run.
    Warning,
    /// What such figures can never show.
    Limit,
}

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
    /// It is not there, and a rule is broken because it is missing.
    Lacking,
}

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
