//! What plots show.
//!
//! Figures that are not finite are left out of a plot. Leave them out of the tree too: JSON has no
//! such figures, and a file for programs that was to hold one cannot be read back.

use serde::{Deserialize, Serialize};

/// How an axis runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleKind {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal steps of the square root: room for small figures, and zero is on the axis.
    SquareRoot,
    /// Equal steps are equal factors; zero stands beside the axis.
    Log,
}

/// A mean, with half the width of its 95% interval where it was measured several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval.
    pub half_width: Option<f64>,
}

impl Measure {
    /// A figure measured once.
    pub fn once(mean: f64) -> Self {
        Self { mean, half_width: None }
    }
}

/// Probabilities in a real cohort against those in synthetic ones: a panel for each of them.
///
/// All panels share the names and the real probabilities, so thousands of codes and several methods
/// stay light. Cap pairs of codes before they come here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scatter {
    /// What the plot shows.
    pub title: String,
    /// How to read it; may be empty.
    pub note: String,
    /// What one point is, such as `code` or `pair of codes`.
    pub point: String,
    /// What the probabilities are of, such as `of encounters`.
    pub share: String,
    /// How both axes run.
    pub scale: ScaleKind,
    /// The name of each point.
    pub names: Vec<String>,
    /// The probability of each in the real cohort.
    pub real: Vec<f64>,
    /// The synthetic cohorts.
    pub panels: Vec<ScatterPanel>,
}

/// One synthetic cohort of a scatter plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScatterPanel {
    /// The method or cohort.
    pub title: String,
    /// A figure to show beside the title, such as an R²; may be empty.
    pub figure: String,
    /// The probability of each point in this cohort, in the order of the names.
    pub synthetic: Vec<f64>,
    /// Whether the report is about this one.
    pub ours: bool,
}

/// Bars: panels side by side, a bar for each method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bars {
    /// What the plot shows.
    pub title: String,
    /// How to read it; may be empty.
    pub note: String,
    /// The panels.
    pub panels: Vec<BarPanel>,
}

/// One panel of bars.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BarPanel {
    /// What is measured, with its unit.
    pub title: String,
    /// How the axis runs. [`ScaleKind::Log`] where the spread is large.
    pub scale: ScaleKind,
    /// Digits after the point.
    pub digits: u8,
    /// What the marks beside the bars are, such as `the paper`; empty where there are none.
    pub reference: String,
    /// The bars, from the top.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bar {
    /// The method.
    pub label: String,
    /// The figure; none where it was not measured.
    pub value: Option<Measure>,
    /// A figure to compare with, drawn as a mark, such as the published one.
    pub reference: Option<f64>,
    /// Whether the report is about this one.
    pub ours: bool,
}

/// Distributions of lengths, real beside synthetic, or of one cohort alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Histograms {
    /// What the plot shows.
    pub title: String,
    /// How to read it; may be empty.
    pub note: String,
    /// The panels.
    pub panels: Vec<Histogram>,
}

/// One distribution, in two cohorts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Histogram {
    /// The method or measure.
    pub title: String,
    /// What is counted, such as `visits per record`.
    pub axis: String,
    /// The name of each bin, such as `3` or `20+`.
    pub bins: Vec<String>,
    /// The share of each bin in the real cohort, between 0 and 1.
    pub real: Vec<f64>,
    /// The share of each bin in the synthetic cohort; empty where there is one cohort alone.
    pub synthetic: Vec<f64>,
}

/// Curves: a panel or several, all on the same axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lines {
    /// What the plot shows.
    pub title: String,
    /// How to read it; may be empty.
    pub note: String,
    /// What the horizontal axis is, such as `epoch`.
    pub x_axis: String,
    /// What the vertical axis is, such as `nats per record`.
    pub y_axis: String,
    /// How the horizontal axis runs.
    pub x_scale: ScaleKind,
    /// How the vertical axis runs.
    pub y_scale: ScaleKind,
    /// The panels.
    pub panels: Vec<LinePanel>,
}

/// One panel of curves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinePanel {
    /// The method; may be empty where there is one panel.
    pub title: String,
    /// Its curves. A name has the same colour in all panels.
    pub series: Vec<LineSeries>,
}

/// One curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LineSeries {
    /// What it is, such as `tuning`.
    pub name: String,
    /// Its points as (x, y), from left to right.
    pub points: Vec<(f64, f64)>,
}
