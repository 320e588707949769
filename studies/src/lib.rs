//! What the project claims, shown by programs that print it.
//!
//! Each study is a function with a size: the program of its name runs it long, a test runs it short.
#![forbid(unsafe_code)]

pub mod alternatives;
pub mod evidence;
pub mod generator;
pub mod implied;
pub mod look_ahead;
pub mod mining;
pub mod mining_splits;
pub mod networks;
pub mod neuron;
pub mod paper;
pub mod paper_oracle;
pub mod pass_verdicts;
pub mod peers;
pub mod planted;
pub mod popularity;
pub mod published;
pub mod published_orders;
pub mod real_cohorts;
pub mod real_rules;
pub mod repairs;
pub mod rule_gain;
pub mod sampled_worlds;
pub mod small_worlds;
pub mod soft_frequency;
pub mod speed_cpu;
pub mod superfluous_claims;
pub mod training;
pub mod training_simulated;
pub mod training_uci;
