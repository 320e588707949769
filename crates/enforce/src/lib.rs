//! A proved plan at run time.
#![forbid(unsafe_code)]

mod condition;
mod enforcer;
mod history;
mod index;

pub use enforcer::{BadProbability, Enforcer, Writer};
