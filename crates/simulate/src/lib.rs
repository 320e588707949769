//! Built-in cohorts: simulated patients with rules planted among them.
//!
//! The presets have the size and shape of the paper's datasets, and structure worth training: codes
//! of very different frequency, diseases that come together and stay, codes that go by sex and age,
//! categories with codes below them, what follows later. Every record obeys the rules of
//! [`Truth`], which is there to be found again.
//!
//! [`Simulation`] has the codes alone. [`DetailedSimulation`] has the same codes, and births, dates,
//! stays, deaths and the values of ten tests, [`TESTS`].
//!
//! ```
//! use consequence_simulate::{Preset, Simulation, measure};
//!
//! let simulation = Simulation::new(Preset::Inpatient, 2_000, 7);
//! let figures = measure(&simulation.cohort(), simulation.vocabulary());
//! assert!((figures.codes_per_visit - 13.61).abs() < 1.0);
//! ```
#![forbid(unsafe_code)]

mod bonds;
mod catalogue;
mod detailed;
mod measurements;
mod patient;
mod planted;
mod preset;
mod probability;
mod simulation;
mod timeline;
mod truth;
mod world;

pub use detailed::DetailedSimulation;
pub use measurements::{TESTS, Test};
pub use preset::{Figures, Preset, UnknownPreset, measure};
pub use simulation::Simulation;
pub use truth::{Planted, RuleKind, Truth};
