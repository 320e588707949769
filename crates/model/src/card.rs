//! What a model is, and how it came to be.

use std::collections::BTreeMap;

use consequence_network::Shape;
use consequence_store::digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::EndsByDays;

/// The number of the format of models. Format 1 had no digest of the card; format 2 had no recurrent
/// networks; format 3 had no dates and values; format 4 had no concepts; in format 5 `END` did not move with the days
/// that a record had gone on for.
pub(crate) const FORMAT: u32 = 6;
/// The number that a model with concepts has whose `END` does not move and whose records may take any time: what reads
/// format 5 reads it.
pub(crate) const FORMAT_OF_CONCEPTS: u32 = 5;
/// The number that such a model without concepts has: what reads format 4 reads it.
pub(crate) const FORMAT_OF_DETAILS: u32 = 4;
/// The number that a model without dates and values has: what reads format 3 reads it.
pub(crate) const FORMAT_OF_CODES: u32 = 3;

/// What a model is, and how it came to be: `model.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The number of the format.
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
    /// Rules that it obeys when it writes, and that have no part in training or in what it predicts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub writing_rules: String,
    /// How rules took part in training.
    pub train_mode: String,
    /// What it trained on.
    pub data: Data,
    /// The settings of training.
    pub training: Value,
    /// What every epoch came to.
    pub history: Vec<Epoch>,
    /// How the `END` of a network moves with the days that a record has gone on for; none where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<EndsByDays>,
    /// The SHA-256 digest of the weights, or of the tables.
    pub digest: String,
    /// The SHA-256 digest of what dates and values are like; none in a model that has neither.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details_digest: String,
    /// The SHA-256 digest of the concepts of codes; none in a model that knows none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub concepts_digest: String,
    /// The SHA-256 digest of the text of the card, with zeros where this digest stands; none in a
    /// card of format 1. It comes last, so that it can be told from anything else that looks like
    /// it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub card_digest: String,
}

/// The beginning of a card of any format.
#[derive(Deserialize)]
struct Numbered {
    format: u32,
}

/// What stands for the card's own digest while that is computed.
const NO_DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Why a text is no card.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It makes no sense.
    Odd(String),
    /// It is not as it was written.
    Changed,
    /// It is of another format.
    Format(u32),
}

impl Card {
    /// The text of the card, sealed: with its own digest in it.
    pub(crate) fn seal(&mut self) -> Result<String, serde_json::Error> {
        self.card_digest = NO_DIGEST.into();
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        self.card_digest = digest(text.as_bytes());
        Ok(with_last(&text, NO_DIGEST, &self.card_digest))
    }

    /// Reads the text of a card, and refuses one that was changed since it was sealed.
    pub(crate) fn read(text: &str) -> Result<Self, Unread> {
        let odd = |error: serde_json::Error| Unread::Odd(error.to_string());
        let Numbered { format } = serde_json::from_str(text).map_err(odd)?;
        if !(1..=FORMAT).contains(&format) {
            return Err(Unread::Format(format));
        }
        let card: Self = serde_json::from_str(text).map_err(odd)?;
        let sealed = match format {
            1 => card.card_digest.is_empty(),
            _ => {
                digest(with_last(text, &card.card_digest, NO_DIGEST).as_bytes()) == card.card_digest
            }
        };
        if sealed { Ok(card) } else { Err(Unread::Changed) }
    }
}

/// A text with the last occurrence of a part of it replaced.
fn with_last(text: &str, from: &str, to: &str) -> String {
    match text.rfind(from) {
        Some(at) => [&text[..at], to, &text[at + from.len()..]].concat(),
        None => text.to_owned(),
    }
}

/// What kind of model it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// A recurrent network.
    #[default]
    Recurrent,
    /// A HALO network.
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

/// What a model trained on.
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
    /// While training.
    pub train_nats: f64,
    /// On the tuning split, afterwards.
    pub tuning_nats: f64,
}
