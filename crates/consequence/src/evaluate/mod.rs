//! How good a model is, and how close generated records come to real ones.

mod cohorts;
mod cohorts_text;
mod counting;
mod page;
mod pair;
mod perplexity;
mod sides;
mod strata;

pub use cohorts::{Deeper, EvaluateReport, EvaluateTask, FreshSample, Obedience};
pub use consequence_evaluate::{
    Comparison, Correlation, Correlations, Likelihood, Measured, Privacy, Timing, Utility,
    Violations,
};
pub(crate) use pair::Pair;
pub use perplexity::{PerplexityReport, PerplexityTask};
pub use sides::OnlyIn;
pub(crate) use sides::joined_codes;
pub use strata::{Stratum, StratumRecords};
