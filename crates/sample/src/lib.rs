//! Records written by a model, obeying rules.
//!
//! A [`Sampler`] is a model with the rules, the conditions and the beginnings that its records must
//! follow. It writes a batch of records at a time, which refills as records finish, and gives them
//! in order of their numbers. A record depends on the seed and on its number alone: not on the size
//! of the batch, the number of threads, the shard it is in, or a restart.
//!
//! [`write_dataset`] puts records into a MEDS dataset, shard by shard, so that a run that was
//! killed goes on where it was; [`write_lines`] puts them into one file of JSON lines.
//!
//! ```
//! use std::sync::Arc;
//! use consequence_model::{Network, NetworkGenerator, Sizes};
//! use consequence_rules::{Order, RuleSet};
//! use consequence_sample::{Request, Sampler, Totals};
//!
//! let rules = RuleSet::parse("rule lifelong: DIABETES in previous => DIABETES", None)?;
//! let codes = Order::natural(Arc::clone(rules.vocabulary()));
//! let sizes = Sizes::recurrent(5, 8);
//! let generator = NetworkGenerator::new(&Network::drawn(codes, &sizes, 1)?);
//!
//! let sampler = Sampler::new(&generator, &rules, Request::default())?;
//! let mut totals = Totals::default();
//! sampler.records(0..100, &mut totals, |number, record| {
//!     let ill: Vec<bool> = record.visits[1..].iter().map(|visit| !visit.is_empty()).collect();
//!     assert!(number < 100 && ill.is_sorted(), "once ill, always ill");
//!     Ok(())
//! })?;
//! assert_eq!(totals.records, 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod condition;
mod days;
mod decider;
mod drafts;
mod drawing;
mod encoding;
mod error;
mod groups;
mod lanes;
mod manifest;
mod on_gpu;
mod output;
mod prefix;
mod request;
mod sampler;

pub use condition::{Condition, ConditionError, Given};
pub use drawing::{Drawing, DrawnBy, Phases};
pub use error::SampleError;
pub use manifest::Identity;
pub use on_gpu::NotOnGpu;
pub use output::{DatasetOptions, Written, write_dataset, write_lines};
pub use request::{Mode, Request, Sampled, Totals};
pub use sampler::{Obeyed, Sampler};
