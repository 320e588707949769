//! Workloads and clocks for the programs that print what rules and cohorts cost.
#![forbid(unsafe_code)]

pub mod dense;
pub mod family;
pub mod growth;
pub mod preparation;
pub mod running;
pub mod scale;
pub mod streaming;
pub mod teaching;
pub mod timing;
pub mod workload;

pub use consequence_studies::{generator, planted, popularity};
