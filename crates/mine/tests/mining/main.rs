//! Mining, from cohorts that fit on a line to a real one.

mod brute_force;
mod common_sense;
mod known_truth;
mod support;
mod templates;
mod uci;
