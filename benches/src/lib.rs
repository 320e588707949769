//! Workloads and clocks for the programs that print what rules cost.
#![forbid(unsafe_code)]

pub mod generator;
pub mod planted;
pub mod popularity;
pub mod preparation;
pub mod running;
pub mod timing;
pub mod workload;
