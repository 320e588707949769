//! Measures of models and of cohorts.
//!
//! - [`likelihood`]: how well a model, with rules or without, foresees records that exist.
//! - [`compare`]: how far the frequencies of codes and of pairs of codes agree in two cohorts.
//! - [`Independent`] and [`static_table`]: what a model that knows little reaches.
//!
//! Counts are exact. Sums are taken record by record and then in the order of the records, so that a
//! figure is the same for any number of threads and any size of batch.
#![forbid(unsafe_code)]

mod check;
mod compare;
mod correlation;
mod counts;
mod independent;
mod likelihood;
mod record;
mod replay;
mod shape;
mod static_table;
mod words;

pub use check::BadRecord;
pub use compare::{
    CompareError, CompareOptions, Comparison, Correlation, Correlations, Sample, compare,
};
pub use independent::Independent;
pub use likelihood::{
    BrokenRule, Likelihood, LikelihoodError, Positives, UnnormalisedLikelihood, likelihood,
    likelihood_with_rules, likelihood_with_settled,
};
pub use record::{
    Parts, RecordNats, ReplayOptions, SettledPosition, record_nats, record_nats_with_rules,
};
pub use shape::{CohortShape, StaticCode};
pub use static_table::{StaticTable, static_table};
