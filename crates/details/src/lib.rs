//! What the dates, ages and values of a cohort are like, and new ones like them.
//!
//! The codes of a record tell in which band of days an encounter follows the one before, how long a stay takes,
//! and in which part of a test's values a result is: a model learns those. A [`DetailModel`] tells the rest, the
//! day within the band and the value within the part, as [`Histogram`]s of which no cell stands for fewer than
//! ten patients. A [`Drawer`] gives records dates and values by it, and a [`Checker`] finds what cannot be.
#![forbid(unsafe_code)]

mod check;
mod diary;
mod draw;
mod fit;
mod histogram;
mod model;

pub use check::Checker;
pub use diary::{Diary, gone_on};
pub use draw::Drawer;
pub use histogram::{FEWEST_PATIENTS, Histogram};
pub use model::DetailModel;
