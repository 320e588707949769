//! Our half of the comparison with the reference's way of training and generating on the CPU;
//! `speed_cpu.py` is the other.
//!
//! A [`Subject`] is a network with the rules that its records may have to obey: with probabilities that
//! are the same for every code, or those of a simulated cohort that it was trained on a little, or
//! with a hundred thousand rules. [`Writing`] times generation, [`Training`] the steps of training.

mod subject;
mod training;
mod writing;

pub use subject::{Probabilities, Scale, Subject};
pub use training::{Length, Training, full};
pub use writing::{Run, Writing, peak_memory};
