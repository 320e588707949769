//! What a report says, as plain data.

mod head;
mod plots;
mod records;
mod rules;
mod table;

use serde::{Deserialize, Serialize};

pub use head::{Caution, CautionKind, Count, Head, Holds, Source, Statement};
pub use plots::{
    Bar, BarPanel, Bars, Histogram, Histograms, LinePanel, LineSeries, Lines, Measure, ScaleKind,
    Scatter, ScatterPanel,
};
pub use records::{Act, Chip, ExampleRecord, ExampleVisit, Records};
pub use rules::{Reach, Rule, RuleTable, Strength};
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
}
