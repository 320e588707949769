//! How large, how long, how fast.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use consequence_model::Sizes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How a network trains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainOptions {
    /// What the first weights and the order of records depend on.
    pub seed: u64,
    /// The most times that every record is seen.
    pub epochs: u32,
    /// Records that are trained on at once.
    pub batch: usize,
    /// Visits that are trained on at once, at most: what bounds the memory. A longer record stands
    /// alone.
    pub batch_visits: usize,
    /// The highest learning rate.
    pub rate: f32,
    /// Steps until it is reached.
    pub warm_up: u64,
    /// What part of it is left at the end.
    pub final_rate: f32,
    /// The longest gradient, of the mean nats of a visit; a longer one is shortened.
    pub clip: f32,
    /// The part of the head's units that is left out of each step.
    pub dropout: f32,
    /// How much smaller each step makes the weights between codes, times the learning rate.
    pub decay: f32,
    /// Epochs over which weights are averaged: it is their average that is validated and kept. None
    /// for 0.
    pub average: f32,
    /// Epochs without a better network, on the tuning split, before it stops.
    pub patience: u32,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Preset::Small.options()
    }
}

/// Sizes and settings that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Trains in a minute or two, on thousands of records.
    Tiny,
    /// Trains in minutes on two cores, on tens of thousands of records.
    Small,
    /// The size of the published network.
    Paper,
}

/// No preset has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no size is called `{0}`; there are tiny, small and paper")]
pub struct UnknownPreset(String);

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        match name {
            "tiny" => Ok(Self::Tiny),
            "small" => Ok(Self::Small),
            "paper" => Ok(Self::Paper),
            _ => Err(UnknownPreset(name.to_owned())),
        }
    }
}

impl Display for Preset {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Paper => "paper",
        })
    }
}

impl Preset {
    /// The sizes of the network, for records of so many encounters.
    ///
    /// ```
    /// use consequence_train::Preset;
    ///
    /// let paper = "paper".parse::<Preset>()?.sizes(45);
    /// assert_eq!((paper.layers, paper.width, paper.heads), (12, 768, 12));
    /// # Ok::<(), consequence_train::UnknownPreset>(())
    /// ```
    pub fn sizes(self, max_visits: usize) -> Sizes {
        let (width, layers, heads, head_units) = match self {
            Self::Tiny => (32, 2, 2, 2),
            Self::Small => (64, 2, 4, 2),
            Self::Paper => (768, 12, 12, 1),
        };
        Sizes { max_visits, width, layers, heads, head_units }
    }

    /// How it trains.
    pub fn options(self) -> TrainOptions {
        let (epochs, batch, rate) = match self {
            Self::Tiny => (6, 64, 3e-3),
            Self::Small => (6, 128, 3e-3),
            Self::Paper => (50, 64, 3e-4),
        };
        TrainOptions {
            seed: 1,
            epochs,
            batch,
            batch_visits: 4_096,
            rate,
            warm_up: 100,
            final_rate: 0.02,
            clip: 10.0,
            dropout: 0.0,
            decay: 0.3,
            average: 0.5,
            patience: 2,
        }
    }
}
