//! Records that are in many places: what is known without them, and how they are read where they are.

mod blocks;
mod outline;
mod rules;

pub use blocks::{FileBlocks, StreamBlocks};
pub use outline::Outline;
pub use rules::{rules_in_rounds, rules_of};
