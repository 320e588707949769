//! How good a model is, and how close generated records come to real ones.

mod cohorts;
mod cohorts_text;
mod page;
mod pair;
mod perplexity;

pub use cohorts::{Deeper, EvaluateReport, EvaluateTask, FreshSample, Obedience};
pub(crate) use cohorts::{judged, rules_over};
pub use consequence_evaluate::{
    Comparison, Correlation, Correlations, Likelihood, Measured, Privacy, Timing, Utility,
    Violations,
};
pub use pair::OnlyIn;
pub(crate) use pair::Pair;
pub use perplexity::{PerplexityReport, PerplexityTask};
