//! Our half of the comparison with the reference's way of training and generating on the CPU;
//! `speed_cpu.py` is the other.
//!
//! A [`Subject`] is a network with the rules that its records may have to obey: with chances that
//! are the same for every code, or those of a simulated cohort that it has learnt a little from, or
//! with a hundred thousand rules. [`Writing`] times generation, [`Learning`] the steps of training.

mod learning;
mod subject;
mod writing;

pub use learning::{Learning, Length, full};
pub use subject::{Chances, Scale, Subject};
pub use writing::{Run, Writing, peak_memory};
