//! What a model is, and how it came to be.

use std::collections::BTreeMap;

use consequence_halo::Shape;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the format of cards.
pub(crate) const FORMAT: u32 = 1;

/// What a model is, and how it came to be: `model.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The version of the format.
    pub format: u32,
    /// What kind of model it is.
    pub kind: ModelKind,
    /// The sizes of a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// The most encounters that a record may have.
    pub max_visits: usize,
    /// The codes.
    pub codes: CodeLists,
    /// What codes mean, for those of which it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub titles: BTreeMap<String, String>,
    /// The rules it was trained with, in the rule language.
    pub rules: String,
    /// How rules took part in training.
    pub train_mode: String,
    /// What it learnt from.
    pub data: Data,
    /// The settings of training.
    pub training: Value,
    /// What every epoch came to.
    pub history: Vec<Epoch>,
    /// The SHA-256 digest of the weights.
    pub digest: String,
}

/// What kind of model it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// A HALO network.
    #[default]
    Halo,
    /// A Markov model.
    Markov,
}

/// The codes in the order they are decided, `END` among those of encounters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeLists {
    /// Static codes.
    #[serde(rename = "static")]
    pub statics: Vec<String>,
    /// Codes of encounters.
    #[serde(rename = "encounter")]
    pub encounters: Vec<String>,
}

/// What a model learnt from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Records of the train split.
    pub train_records: usize,
    /// Records of the tuning split.
    pub tuning_records: usize,
    /// The SHA-256 digest of the records.
    pub digest: String,
}

/// What an epoch came to, in mean nats of a record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Epoch {
    /// The epoch, counted from 1.
    pub epoch: u32,
    /// While learning.
    pub train_nats: f64,
    /// On the tuning split, afterwards.
    pub tuning_nats: f64,
}
