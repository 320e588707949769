//! What is asked of a model.

use std::fmt;
use std::str::FromStr;

use consequence_record::Cohort;
use consequence_rules::OrderedPass;
use serde::{Deserialize, Serialize};

use crate::{Condition, SampleError};

/// How rules and model work together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Rules force codes while the visit is drawn, code by code.
    #[default]
    Guided,
    /// The visit is drawn whole, then repaired.
    Override,
    /// Several guided proposals for each record, one kept by its weight: the product of the probabilities
    /// that the model gave to what rules forced. Soft rules have no say.
    Exact,
    /// Records are drawn freely, and drawn again until one obeys. Soft rules have no say.
    Reject,
    /// No rules.
    Off,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 5] = [Self::Guided, Self::Override, Self::Exact, Self::Reject, Self::Off];

    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guided => "guided",
            Self::Override => "override",
            Self::Exact => "exact",
            Self::Reject => "reject",
            Self::Off => "off",
        }
    }

    /// Whether every record obeys the hard rules.
    pub fn obeys(self) -> bool {
        self != Self::Off
    }

    /// Whether soft rules are drawn.
    pub fn draws_soft_rules(self) -> bool {
        matches!(self, Self::Guided | Self::Override)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or(())
    }
}

/// What is asked of a model.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What every draw depends on.
    pub seed: u64,
    /// How rules and model work together.
    pub mode: Mode,
    /// What the logits are divided by: below 1 the likely becomes likelier, 1 changes nothing.
    pub temperature: f64,
    /// Proposals for each record in [`Mode::Exact`].
    pub proposals: u16,
    /// The most attempts at a record in [`Mode::Reject`].
    pub attempts: u16,
    /// Conditions on the static visit of every record.
    pub given: Vec<Condition>,
    /// Records to go on with, over the codes of the model: record `i` begins with the visits of
    /// record `i` of these, and with the first again after the last. Where they end is not taken
    /// over: it is drawn.
    pub prefix: Option<&'a Cohort>,
    /// The paper's method as published, for comparison: every visit is put through this pass once it
    /// is drawn, and nothing is promised. Only with [`Mode::Off`], and without conditions or records
    /// to go on with.
    pub pass: Option<&'a OrderedPass>,
    /// Records, or proposals for records, that are written at a time. Records do not depend on it.
    pub batch: usize,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self {
            seed: 1,
            mode: Mode::default(),
            temperature: 1.0,
            proposals: 16,
            attempts: 1000,
            given: Vec::new(),
            prefix: None,
            pass: None,
            batch: 256,
        }
    }
}

impl Request<'_> {
    /// Refuses numbers that make no sense.
    pub(crate) fn check(&self) -> Result<(), SampleError> {
        let temperature = self.temperature;
        if !(temperature > 0.0 && temperature.is_finite()) {
            return Err(SampleError::Temperature(temperature));
        }
        if self.mode == Mode::Exact && self.proposals == 0 {
            return Err(SampleError::Nothing("proposals"));
        }
        if self.mode == Mode::Reject && self.attempts == 0 {
            return Err(SampleError::Nothing("attempts"));
        }
        let alone = self.mode == Mode::Off && self.given.is_empty() && self.prefix.is_none();
        if self.pass.is_some() && !alone {
            return Err(SampleError::PassAlone);
        }
        if self.batch == 0 {
            return Err(SampleError::Nothing("records at a time"));
        }
        Ok(())
    }

    /// How often each record is begun at least.
    pub(crate) fn proposals(&self) -> u16 {
        if self.mode == Mode::Exact { self.proposals } else { 1 }
    }
}
