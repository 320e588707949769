//! Networks as they train.

mod ends;
mod gpu;
mod looking_ahead;
mod rules_in_training;
mod training;
