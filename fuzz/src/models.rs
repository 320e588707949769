//! Models: the card, the weights of a network, and the tables of a Markov model.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use consequence_model::{
    CARD_FILE, Decide, Generator, LookAhead, Markov, MarkovTables, Model, TABLES_FILE, Turn,
    WEIGHTS_FILE,
};
use consequence_network::{Shape, Weights, halo, recurrent};
use consequence_record::{Kind, Vocabulary};
use consequence_rules::Order;
use consequence_store::digest;

use crate::{Target, says_something, seeds};

/// `model.json`, beside the weights or the tables that it speaks of.
pub const MODEL_CARD: Target =
    Target { name: "model-card", read: model_card, seeds: cards, words: &WORDS };

/// `model.safetensors`.
pub const NETWORK_WEIGHTS: Target =
    Target { name: "network-weights", read: network_weights, seeds: weights, words: &WORDS };

/// `markov.json`.
pub const MARKOV_TABLES: Target =
    Target { name: "markov-tables", read: markov_tables, seeds: tables, words: &WORDS };

const WORDS: [&str; 35] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "\"END\"",
    "\"format\": 1",
    "\"format\": 2",
    "\"kind\": \"markov\"",
    "\"kind\": \"halo\"",
    "\"kind\": \"recurrent\"",
    "\"shape\"",
    "\"static\"",
    "\"encounter\"",
    "\"A\"",
    "\"codes\"",
    "\"positions\"",
    "\"width\"",
    "\"layers\"",
    "\"heads\"",
    "\"max_visits\"",
    "\"dtype\"",
    "\"F32\"",
    "\"F16\"",
    "\"shape\":[0]",
    "\"data_offsets\":[0,4]",
    "\"__metadata__\"",
    "\"nodes\"",
    "\"records\"",
    "\"next\"",
    "\0\0\u{1}\0",
    "\u{7f}",
];

const NETWORKS: [&str; 3] = ["model-1", "model-2", "model-3"];
const MARKOVS: [&str; 3] = ["markov-1", "markov-2", "markov-3"];

fn formats(folders: [&str; 3], file: &str) -> Vec<Vec<u8>> {
    let path = |folder| format!("crates/cli/tests/formats/{folder}/{file}");
    folders.iter().map(|folder| seeds::file(&path(folder))).collect()
}

fn cards() -> Vec<Vec<u8>> {
    [NETWORKS, MARKOVS].into_iter().flat_map(|folders| formats(folders, CARD_FILE)).collect()
}

fn weights() -> Vec<Vec<u8>> {
    formats(NETWORKS, WEIGHTS_FILE)
}

fn tables() -> Vec<Vec<u8>> {
    formats(MARKOVS, TABLES_FILE)
}

/// The card is sealed anew, as whoever meant harm would, so that what it says is looked at. What opens is
/// the same once it was written and opened again, and its probabilities are probabilities.
fn model_card(text: &[u8]) {
    static BESIDE: OnceLock<[(&str, Vec<u8>); 2]> = OnceLock::new();
    let beside = BESIDE.get_or_init(|| {
        [(NETWORKS, WEIGHTS_FILE), (MARKOVS, TABLES_FILE)]
            .map(|(folders, name)| (name, formats(folders, name).remove(0)))
    });
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in beside {
        fs::write(folder.path().join(name), bytes).expect("a file");
    }
    fs::write(folder.path().join(CARD_FILE), sealed(text)).expect("a card");
    let Some(mut model) = open(folder.path()) else { return };
    let before = model.card.clone();
    let other = tempfile::tempdir().expect("a folder");
    model.write(other.path()).expect("a model that was opened");
    let again = open(other.path()).expect("a model that was written");
    assert_eq!(again.card, model.card);
    assert_eq!((&again.card.codes, again.card.shape), (&before.codes, before.shape));
    assert_eq!((&again.card.rules, &again.card.titles), (&before.rules, &before.titles));
}

fn open(folder: &Path) -> Option<Model> {
    Model::open(folder).inspect_err(|refused| says_something(refused)).ok()
}

/// The card with the digest that it should have, where it has one.
fn sealed(text: &[u8]) -> Vec<u8> {
    const KEY: &str = "\"card_digest\": \"";
    let Ok(text) = std::str::from_utf8(text) else { return text.to_vec() };
    let Some(start) = text.rfind(KEY).map(|key| key + KEY.len()) else { return text.into() };
    let Some(length) = text[start..].find('"') else { return text.into() };
    let with = |digest: &str| [&text[..start], digest, &text[start + length..]].concat();
    let digest = digest(with(&"0".repeat(64)).as_bytes());
    with(&digest).into_bytes()
}

/// The shapes of the networks that are kept.
const SHAPES: [Shape; 2] = [
    Shape::Halo(halo::Shape {
        codes: 7,
        positions: 4,
        width: 4,
        layers: 1,
        heads: 1,
        head_units: 1,
        side: 0,
    }),
    Shape::Recurrent(recurrent::Shape { codes: 6, width: 4, head: 4, bottleneck: 32, side: 0 }),
];

/// What is taken is taken the same from its own bytes, and holds numbers only.
fn network_weights(bytes: &[u8]) {
    for shape in SHAPES {
        let weights = match Weights::from_safetensors(bytes, shape) {
            Ok(weights) => weights,
            Err(refused) => {
                says_something(&refused);
                continue;
            }
        };
        assert!(weights.values().iter().all(|value| value.is_finite()));
        let written = weights.to_safetensors().expect("weights that were read");
        let again = Weights::from_safetensors(&written, shape).expect("weights that were written");
        assert_eq!(again.values(), weights.values());
    }
}

/// Decides by a number's bits, and asserts that every probability is one.
struct Bits(u32);

impl Decide for Bits {
    fn decide(&mut self, position: u32, probability: f64, _: &mut LookAhead<'_>) -> bool {
        assert!((0.0..=1.0).contains(&probability), "{probability} at position {position}");
        self.0 >> (position % 32) & 1 == 1
    }
}

/// What is taken is taken the same from its own text, and gives probabilities in any record.
fn markov_tables(text: &[u8]) {
    let tables: MarkovTables = match serde_json::from_slice(text) {
        Ok(tables) => tables,
        Err(refused) => return says_something(&refused),
    };
    let written = serde_json::to_vec(&tables).expect("tables that were read");
    let again: MarkovTables = serde_json::from_slice(&written).expect("tables that were written");
    for (statics, encounters) in [(2, 3), (1, 2), (0, 1)] {
        let Some(markov) = Markov::new(codes(statics, encounters), tables.clone()) else {
            continue;
        };
        assert_eq!(&again, markov.tables());
        for bits in 0..16u32 {
            let mut past = markov.begin();
            let mut last: Option<Vec<u32>> = None;
            for visit in 0..4 {
                let decided = bits.wrapping_mul(0x9e37_79b9).rotate_left(visit);
                let mut decider = Bits(decided);
                let turn = Turn { past: &mut past, last: last.as_deref(), decider: &mut decider };
                markov.next(&mut [turn], &mut Vec::new());
                let range = markov.codes().range(visit as usize);
                last = Some(range.filter(|position| decided >> (position % 32) & 1 == 1).collect());
            }
        }
    }
}

fn codes(statics: usize, encounters: usize) -> Order {
    let statics = (0..statics).map(|number| (format!("s{number}"), Kind::Static));
    let encounters = (0..encounters).map(|number| (format!("e{number}"), Kind::Encounter));
    let vocabulary = Vocabulary::new(statics.chain(encounters)).expect("different names");
    Order::natural(Arc::new(vocabulary))
}
