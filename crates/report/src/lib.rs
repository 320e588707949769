//! One page of HTML for a reviewer: what was compared, what holds, and the figures behind it.
//!
//! A [`Report`] is plain data. The caller fills it; [`Report::html`] makes one page of it that
//! needs no network, no other file and no script to be read, and `serde_json` makes the same
//! figures into a file for programs. Nothing here measures, and nothing here writes files.
//!
//! - [`Head`], [`Statement`], [`Caution`]: what was done, what holds, what to be careful about.
//! - [`Section`]: a heading and its [`Block`]s, in the caller's order.
//! - [`Table`], [`Findings`]: figures in rows.
//! - [`Scatter`], [`Bars`], [`Histograms`], [`Lines`]: plots, drawn here as SVG.
//! - [`RuleTable`]: every rule and how often it was broken, with search and sorting.
//! - [`Records`]: example records as timelines, with what the rules did.
//!
//! A [`Review`] is another page: rules for an expert to choose from, and to save as a file.
//!
//! Every name in a page is somebody's data. It is shown as text and never read as markup, and the
//! page forbids the browser to run or fetch anything but its own script and style.
//!
//! ```
//! use consequence_report::{Block, Cell, Column, Head, Report, Row, Section, Table};
//!
//! let table = Table {
//!     title: "Rules broken".to_owned(),
//!     columns: vec![Column::new("method"), Column::new("violations")],
//!     rows: vec![Row::new(vec![Cell::text("<HALO>"), Cell::number(4320.6, 1)])],
//!     ..Table::default()
//! };
//! let report = Report {
//!     head: Head { title: "Two cohorts".to_owned(), ..Head::default() },
//!     sections: vec![Section::new("violations", "Violations", vec![Block::Table(table)])],
//!     ..Report::default()
//! };
//! let page = report.html();
//! assert!(page.contains("&lt;HALO&gt;") && page.contains("4,320.6"));
//! ```
#![forbid(unsafe_code)]

mod draw;
mod tree;

pub use tree::{
    Act, Bar, BarPanel, Bars, Better, Block, Caution, CautionKind, Cell, Chip, Column, Count,
    ExampleRecord, ExampleVisit, Finding, Findings, Head, Histogram, Histograms, Holds, LinePanel,
    LineSeries, Lines, Measure, Reach, Records, Report, Review, ReviewClass, ReviewCode,
    ReviewRule, Row, RowKind, Rule, RuleTable, ScaleKind, Scatter, ScatterPanel, Section,
    Signature, Source, Statement, Strength, Table, Value, Verdict,
};
