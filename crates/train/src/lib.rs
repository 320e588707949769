//! Networks train on cohorts.
//!
//! - [`Preset`] and [`TrainOptions`]: which network, how large, how long, how fast.
//! - [`Teacher`]: what the rules settle, so that the network is not trained on it.
//! - [`train`]: the loop, with validation, early stopping and checkpoints that a run can be taken
//!   up from, bit for bit.
//! - [`DeviceChoice`] and [`train_on`]: the same on a GPU.
//! - [`fit_ends`] and [`settle`]: the last touches on a trained network.
#![forbid(unsafe_code)]

mod ahead;
mod calibrate;
mod checkpoint;
mod device;
mod ends;
mod error;
mod looking_ahead;
mod on_gpu;
mod options;
mod settle;
mod teacher;
mod train;
mod trainer;

pub use checkpoint::Checkpoints;
pub use consequence_engine::cuda::{Gpu, Precision, UnknownPrecision};
pub use device::{Chosen, ChosenGpus, Device, DeviceChoice, UnknownDevice};
pub use ends::fit_ends;
pub use error::TrainError;
pub use options::{NetworkKind, NoSuchPreset, Preset, Size, TrainOptions, UnknownSize};
pub use settle::settle;
pub use teacher::{Aim, PaperRules, TaughtBatch, Teacher, TrainMode, UnknownTrainMode};
pub use train::{Estimate, Event, Examples, SilentUnits, Trained, train, train_on, untrained};
