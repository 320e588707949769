//! Counter-based random numbers: a draw is a function of its key, never of what was drawn before.
//!
//! Everything random in a synthetic record is keyed by the seed, the record's number, the attempt,
//! the visit, the [`Purpose`] of the draw and the index of the code or rule it is for. So a record
//! is the same whatever the batch, the thread, the shard or the restart that made it.
//!
//! ```
//! use consequence_prng::{Draws, Purpose};
//!
//! let draws = Draws::new(7);
//! let mut codes = draws.visit(1_000, 0, 3, Purpose::Code);
//! let late = codes.uniform(90);
//! let early = codes.uniform(2);
//!
//! let mut again = draws.visit(1_000, 0, 3, Purpose::Code);
//! assert_eq!((again.uniform(2), again.uniform(90)), (early, late));
//! assert!(!again.below(5, 0.0) && again.below(5, 1.0));
//! ```
#![forbid(unsafe_code)]

mod draws;

pub use draws::{Draws, Purpose, VisitDraws, philox4x32_10};
