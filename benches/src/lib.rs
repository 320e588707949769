//! Workloads and clocks for the programs that print what rules and cohorts cost.
#![forbid(unsafe_code)]

pub mod generator;
pub mod planted;
pub mod popularity;
pub mod preparation;
pub mod running;
pub mod scale;
pub mod streaming;
pub mod timing;
pub mod workload;
