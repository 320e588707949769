//! How good a model is, and how close generated records come to real ones.

mod cohorts;
mod cohorts_text;
mod perplexity;
mod union;

pub use cohorts::{CompareReport, CompareTask, FreshSample, Obedience, compare};
pub use consequence_evaluate::{Comparison, Correlation, Correlations, Likelihood};
pub use perplexity::{PerplexityReport, PerplexityTask, perplexity};
