//! How large, how long, how fast.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use consequence_model::{HaloSizes, NetworkSizes, RecurrentSizes};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How a network trains.
///
/// The learning rate rises in a line, stays, and falls each time that tuning nats stop falling; when
/// it has fallen far enough, training is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainOptions {
    /// What the first weights and the order of records depend on.
    pub seed: u64,
    /// The most times that every record is seen.
    pub epochs: u32,
    /// Visits that are trained on at once; none: as many as suit the cohort. A longer record stands
    /// alone.
    pub batch: Option<usize>,
    /// The highest learning rate.
    pub rate: f32,
    /// Steps until it is reached.
    pub warm_up: u64,
    /// What the rate is multiplied by when it falls.
    pub rate_drop: f32,
    /// What part of the highest rate is the last: below it training is over.
    pub final_rate: f32,
    /// The part of tuning nats that an epoch must gain for the rate not to fall.
    pub least_gain: f64,
    /// Epochs that gain less than that, all of them together, before the rate falls; more where an epoch
    /// has few steps.
    pub patience: u32,
    /// The longest gradient, of the mean nats of a visit; a longer one is shortened.
    pub clip: f32,
    /// The part of HALO's head units that is left out of each step.
    pub dropout: f32,
    /// How much smaller each step makes the weights that belong to single codes, times the learning
    /// rate.
    pub decay: f32,
    /// Epochs over which weights are averaged: it is their average that is validated and kept. None
    /// for 0.
    pub average: f32,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Preset::default().options()
    }
}

/// Visits of a step, chosen so that an epoch has some hundreds of steps.
pub(crate) fn batch_visits(visits: usize) -> usize {
    (visits / 350).clamp(128, 4_096)
}

/// A kind of network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkKind {
    /// A gated running average over visits and one state a visit.
    #[default]
    Recurrent,
    /// The published network.
    Halo,
}

impl Display for NetworkKind {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Recurrent => "recurrent",
            Self::Halo => "halo",
        })
    }
}

/// How large a network is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// For a first look.
    Tiny,
    /// As usual.
    #[default]
    Small,
    /// Twice as wide.
    Large,
    /// The size of the published network.
    Paper,
}

/// No size has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no size is called `{0}`; there are tiny, small, large and paper")]
pub struct UnknownSize(String);

impl FromStr for Size {
    type Err = UnknownSize;

    fn from_str(name: &str) -> Result<Self, UnknownSize> {
        let all = [Self::Tiny, Self::Small, Self::Large, Self::Paper];
        let found = all.into_iter().find(|size| size.to_string() == name);
        found.ok_or_else(|| UnknownSize(name.to_owned()))
    }
}

impl Display for Size {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Large => "large",
            Self::Paper => "paper",
        })
    }
}

/// Sizes and settings that go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    kind: NetworkKind,
    size: Size,
}

/// A network does not come in this size.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("there is no {kind} network of the size {size}")]
pub struct NoSuchPreset {
    /// The kind of network.
    pub kind: NetworkKind,
    /// The size.
    pub size: Size,
}

impl Preset {
    /// The recurrent network for a first look.
    pub const TINY: Self = Self { kind: NetworkKind::Recurrent, size: Size::Tiny };

    /// A network of a kind and a size.
    ///
    /// ```
    /// use consequence_model::NetworkSizes;
    /// use consequence_train::{NetworkKind, Preset, Size};
    ///
    /// let paper = Preset::new(NetworkKind::Halo, Size::Paper)?;
    /// assert!(matches!(paper.sizes(), NetworkSizes::Halo(sizes) if sizes.layers == 12));
    /// assert!(Preset::new(NetworkKind::Recurrent, Size::Paper).is_err());
    /// # Ok::<(), consequence_train::NoSuchPreset>(())
    /// ```
    pub fn new(kind: NetworkKind, size: Size) -> Result<Self, NoSuchPreset> {
        match (kind, size) {
            (NetworkKind::Recurrent, Size::Paper) | (NetworkKind::Halo, Size::Large) => {
                Err(NoSuchPreset { kind, size })
            }
            _ => Ok(Self { kind, size }),
        }
    }

    /// The sizes of the network.
    pub fn sizes(self) -> NetworkSizes {
        let recurrent = |head: usize| NetworkSizes::Recurrent(RecurrentSizes::of_head(head));
        let halo = |width: usize, layers: usize, heads: usize, head_units: usize| {
            NetworkSizes::Halo(HaloSizes { width, layers, heads, head_units })
        };
        match (self.kind, self.size) {
            (NetworkKind::Recurrent, Size::Tiny) => recurrent(64),
            (NetworkKind::Recurrent, Size::Small) => recurrent(256),
            (NetworkKind::Recurrent, _) => recurrent(512),
            (NetworkKind::Halo, Size::Tiny) => halo(32, 2, 2, 2),
            (NetworkKind::Halo, Size::Small) => halo(64, 2, 4, 2),
            (NetworkKind::Halo, _) => halo(768, 12, 12, 1),
        }
    }

    /// How it trains.
    pub fn options(self) -> TrainOptions {
        let (rate, decay) = match (self.kind, self.size) {
            (NetworkKind::Recurrent, _) => (6e-3, 1.5),
            (NetworkKind::Halo, Size::Paper) => (6e-4, 1.0),
            (NetworkKind::Halo, _) => (3e-3, 1.0),
        };
        TrainOptions {
            seed: 1,
            epochs: 300,
            batch: None,
            rate,
            warm_up: 100,
            rate_drop: 0.25,
            final_rate: 0.01,
            least_gain: 2e-3,
            patience: 1,
            clip: 10.0,
            dropout: 0.0,
            decay,
            average: 0.5,
        }
    }
}
