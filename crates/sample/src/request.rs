//! What is asked of a model, and what was written, in numbers.

use std::fmt;
use std::str::FromStr;

use consequence_details::DetailModel;
use consequence_record::{Cohort, CohortDetails, Details, Record};
use consequence_rules::{OrderedPass, RuleSet};
use consequence_tally::{Sum, counts};
use serde::{Deserialize, Serialize, Serializer};

use crate::{Condition, SampleError};

/// How rules and model work together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Rules force codes while the visit is drawn, code by code. Of several codes that would meet a
    /// rule, each is put in as often as the model finds it likely.
    #[default]
    Guided,
    /// The visit is drawn whole, then repaired.
    Override,
    /// Several guided proposals for each record, one kept by its weight: the product, over codes that
    /// rules had a say in, of the model's probability of what was decided over that of the proposal.
    /// Soft rules have no say.
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
    /// The most attempts at a record in [`Mode::Reject`], or where more than the static visit is given.
    pub attempts: u16,
    /// What every record is, or is not. Conditions on the static visit are decided as rules decide codes; for
    /// others, records are drawn again until one is as asked.
    pub given: Vec<Condition>,
    /// Records to begin with, over the codes of the model: record `i` begins with the visits of
    /// record `i` of these, and with the first again after the last. Where they end is not taken
    /// over: it is drawn.
    pub prefix: Option<&'a Cohort>,
    /// The dates, births and values of the records to begin with, which stay as they are where rules speak of such
    /// things.
    pub prefix_details: Option<&'a CohortDetails>,
    /// The rules that the model was trained with, to be set for a trained network. In [`Mode::Guided`], a
    /// code that sets off any other rule is drawn less often where the rule's conclusion is unlikely.
    pub trained_with: Option<&'a RuleSet>,
    /// The paper's method as published, for comparison: every visit is put through this pass once
    /// it is drawn, and nothing is promised. Only with [`Mode::Off`], and without conditions or a
    /// prefix.
    pub pass: Option<&'a OrderedPass>,
    /// What dates and values are like: what records are given beside their codes. Without it they have neither.
    pub details: Option<&'a DetailModel>,
    /// Records, or proposals for records, that each thread writes at a time. Records do not depend on
    /// it.
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
            prefix_details: None,
            trained_with: None,
            pass: None,
            details: None,
            batch: 128,
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
        let again = self.mode == Mode::Reject || self.given.iter().any(|one| one.group().is_some());
        if again && self.attempts == 0 {
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

/// A record that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// Its number.
    pub number: u64,
    /// Its codes.
    pub record: Record,
    /// Its dates and values, where they were asked for.
    pub details: Details,
}

/// What was written, in numbers. They depend on the records alone, and those of other records can be added.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Records.
    pub records: u64,
    /// Encounters.
    pub encounters: u64,
    /// Codes in encounters.
    pub codes: u64,
    /// Records begun, those that were not kept included.
    pub attempts: u64,
    /// Attempts that broke a rule or were not as given, and were drawn again.
    pub rejected: u64,
    /// Codes of kept records that rules decided otherwise than they were drawn.
    pub overruled: u64,
    /// Kept records that were at the last visit the model has, and would have gone on.
    pub truncated: u64,
    /// The sum over records of the number of proposals that their weights are worth.
    #[serde(serialize_with = "as_number")]
    pub effective: Sum,
    /// The sum of the weights of all proposals.
    #[serde(serialize_with = "as_number")]
    pub weight: Sum,
    /// Proposals that were weighed.
    pub weighed: u64,
}

counts!(Totals {
    records,
    encounters,
    codes,
    attempts,
    rejected,
    overruled,
    truncated,
    effective,
    weight,
    weighed,
});

fn as_number<S: Serializer>(sum: &Sum, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(sum.value())
}

impl Totals {
    /// Codes in an encounter, on average.
    pub fn codes_per_visit(&self) -> f64 {
        self.codes as f64 / self.encounters.max(1) as f64
    }

    /// The proposals for a record that are worth something, on average; none where none were
    /// weighed.
    pub fn effective_proposals(&self) -> Option<f64> {
        (self.weighed > 0).then(|| self.effective.value() / self.records.max(1) as f64)
    }

    /// The probability that a record that the model writes without rules obeys them, as far as the
    /// weights of proposals tell; none where none were weighed.
    pub fn obeying(&self) -> Option<f64> {
        (self.weighed > 0).then(|| (self.weight.value() / self.weighed as f64).min(1.0))
    }

    pub(crate) fn count(&mut self, record: &Record) {
        self.records += 1;
        self.encounters += record.visits.len() as u64 - 1;
        self.codes += record.visits[1..].iter().map(|visit| visit.len() as u64).sum::<u64>();
    }

    /// Counts the weights of all proposals for a record.
    pub(crate) fn weigh(&mut self, logarithms: &[f64]) {
        let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.weighed += logarithms.len() as u64;
        if largest > f64::NEG_INFINITY {
            let weights = logarithms.iter().map(|logarithm| (logarithm - largest).exp());
            let (sum, squares) =
                weights.fold((0.0, 0.0), |(sum, squares), one| (sum + one, squares + one * one));
            self.effective.push(sum * sum / squares);
            self.weight.push(sum * largest.exp());
        }
    }
}
