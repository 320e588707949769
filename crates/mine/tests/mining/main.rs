//! Mining, from cohorts that fit on a line to a real one.

mod beyond;
mod brute_force;
mod common_sense;
mod groups;
mod known_truth;
mod parts;
mod support;
mod templates;
mod times;
mod uci;
