//! What is claimed, shown short; `make study` shows it at full length.

mod alternatives;
mod dense_rules;
mod look_ahead;
mod mining;
mod mining_splits;
mod paper_oracle;
mod pass_verdicts;
mod published_orders;
mod real_rules;
mod repairs;
mod sampled_worlds;
mod small_worlds;
mod soft_frequency;
mod speed_cpu;
mod superfluous_claims;
mod training;
