//! What the dates, ages and values of a cohort are like.

use std::collections::BTreeMap;

use consequence_record::Scale;
use consequence_store::digest;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// What the dates, ages and values of a cohort are like, as far as no cell of any histogram tells of fewer
/// than ten patients.
///
/// Which band of days a gap is in, and which part of its values a result, are codes, which a model learns. What
/// is here tells the day within the band, and the value within the part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetailModel {
    /// When encounters are; none where only their order is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dates: Option<Dates>,
    /// How old patients are at their first encounter; none where births are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) births: Option<Births>,
    /// The days that a stay takes, by the code of its band.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) stays: BTreeMap<String, Histogram>,
    /// The values of codes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) values: BTreeMap<String, Values>,
}

/// When encounters are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dates {
    /// How often the first encounter is on each day of the week, Monday first.
    pub weekdays: [u64; 7],
    /// The months of first encounters, by the days from the first encounter to the last.
    pub starts: Vec<Starts>,
    /// The month by which nearly all records are over.
    pub last_month: i64,
    /// The days from the first encounter to the last that ten patients reach; none in models from before these were
    /// kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<i64>,
    /// The days since the encounter before, by the code of their band.
    pub gaps: BTreeMap<String, Gap>,
    /// How often an encounter on one day of the week is followed by one on another, whatever the band.
    pub weekdays_after: [[u64; 7]; 7],
    /// Whether an encounter begins after the stay before is over, but for one in a hundred.
    pub one_stay_at_a_time: bool,
}

/// The months of first encounters of records that are so long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Starts {
    /// The most days from the first encounter to the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_days: Option<i64>,
    /// Months, counted from the year 0.
    pub months: Histogram,
}

/// The days between encounters in a band.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gap {
    pub days: Histogram,
    /// How often an encounter on one day of the week is followed by one on another.
    pub weekdays_after: [[u64; 7]; 7],
}

/// How old patients are at their first encounter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Births {
    /// What births are told to.
    pub told_to: ToldTo,
    /// Ages in days, months or years, by the code of the age band.
    pub ages: BTreeMap<String, Histogram>,
}

/// What births are told to in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ToldTo {
    Day,
    Month,
    Year,
}

/// The values of a code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    /// The test that they are of.
    pub test: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Values are above this and at most that, as far as ten patients are on either side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<f32>,
    pub count: u64,
    /// The digits after the point that values are told to.
    pub decimals: u8,
    /// The values, times ten to the power of the decimals; none where too few patients have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Histogram>,
}

impl Values {
    pub fn scale(&self) -> Scale {
        Scale {
            test: self.test.clone(),
            unit: self.unit.clone(),
            above: self.above,
            up_to: self.up_to,
            count: self.count,
        }
    }
}

impl DetailModel {
    /// Whether it tells nothing at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The text that it is kept as; none if it tells nothing.
    pub fn text(&self) -> Option<String> {
        // Names and numbers always have a text.
        (!self.is_empty()).then(|| serde_json::to_string(self).unwrap_or_default())
    }

    /// The SHA-256 digest of its text; empty if it tells nothing.
    pub fn digest(&self) -> String {
        self.text().map(|text| digest(text.as_bytes())).unwrap_or_default()
    }

    /// Whether it tells when encounters are.
    pub fn dated(&self) -> bool {
        self.dates.is_some()
    }

    /// Whether it tells how long records are at most.
    pub fn bounded(&self) -> bool {
        self.dates.as_ref().is_some_and(|dates| dates.longest.is_some())
    }

    /// The days that each code of a gap stands for on average, to a tenth, by its name.
    pub fn gap_days(&self) -> BTreeMap<String, f64> {
        let gaps = self.dates.iter().flat_map(|dates| &dates.gaps);
        let rounded = |gap: &Gap| (10.0 * gap.days.mean()).round() / 10.0;
        gaps.map(|(code, gap)| (code.clone(), rounded(gap))).collect()
    }

    /// What the values of codes are, by name.
    pub fn scales(&self) -> impl Iterator<Item = (&str, Scale)> {
        self.values.iter().map(|(code, values)| (code.as_str(), values.scale()))
    }
}
