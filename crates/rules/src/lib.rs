//! The rule language, its compiler and its proofs.
#![forbid(unsafe_code)]

mod formula;

pub use formula::{Formula, Origin, Rule, RuleSet, Scope, Strength, Window};
