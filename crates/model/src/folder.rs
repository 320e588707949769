//! A model on disk: a folder with the weights and a card that says what they are.
//!
//! The weights are written first and the card last, with their digest and its own in it. So a
//! folder with a card is whole, and one in which a byte was changed is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use consequence_details::DetailModel;
use consequence_feedback::{Advice, Advise};
use consequence_network::{Shape, Weights, WeightsError};
use consequence_record::{Kind, Vocabulary};
use consequence_rules::Order;
use consequence_store::{StoreError, WorkingFolder, create_directory, digest, write_atomically};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::card::{
    Card, CodeLists, FORMAT, FORMAT_OF_CODES, FORMAT_OF_CONCEPTS, FORMAT_OF_DETAILS, ModelKind,
    Unread,
};
use crate::{Concepts, Markov, Network};

/// The file that says what a model is.
pub const CARD_FILE: &str = "model.json";
/// The weights of a network.
pub const WEIGHTS_FILE: &str = "model.safetensors";
/// The tables of a Markov model.
pub const TABLES_FILE: &str = "markov.json";
/// What the dates and values of records are like.
pub const DETAILS_FILE: &str = "details.json";
/// The OMOP concepts that codes stand for.
pub const CONCEPTS_FILE: &str = "concepts.json";
/// What a run that is not over can be resumed from.
pub const CHECKPOINT_FILE: &str = "checkpoint.safetensors";

/// A trained model.
#[derive(Clone, Debug)]
pub enum Trained {
    /// A network.
    Network(Box<Network>),
    /// A Markov model.
    Markov(Box<Markov>),
}

impl Trained {
    /// The codes, in the order they are decided.
    pub fn codes(&self) -> &Order {
        match self {
            Self::Network(network) => network.codes(),
            Self::Markov(markov) => crate::Generator::codes(&**markov),
        }
    }

    /// The most encounters that a record may have.
    pub fn max_visits(&self) -> usize {
        match self {
            Self::Network(network) => network.max_visits(),
            Self::Markov(markov) => crate::Generator::max_visits(&**markov),
        }
    }
}

/// A model and what is known of it.
#[derive(Clone, Debug)]
pub struct Model {
    /// What it is, and how it came to be.
    pub card: Card,
    /// The trained model itself.
    pub trained: Trained,
    /// What the dates and values of records are like; empty where they have none.
    pub details: DetailModel,
    /// The OMOP concepts that codes stand for; empty where none is known.
    pub concepts: Concepts,
}

/// Why a folder holds no model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There is no card.
    #[error("{what}\n  --> {}", path.display())]
    NoModel {
        /// The folder.
        path: PathBuf,
        /// What is there instead.
        what: &'static str,
        /// What to do about it, settings in braces.
        help: &'static str,
    },
    /// A file cannot be read.
    #[error("cannot read the model: {reason}\n  --> {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// The card makes no sense.
    #[error("this is no model card: {what}\n  --> {}", path.display())]
    Card {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The card is not as it was written.
    #[error("{CARD_FILE} is not as it was written\n  --> {}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The model is of a format that this program does not know.
    #[error("{}\n  --> {}", unknown_format(*format), path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The number of the format.
        format: u32,
    },
    /// The card and the weights do not belong together.
    #[error("the weights are not those that {CARD_FILE} speaks of\n  --> {}", path.display())]
    OtherWeights {
        /// The file.
        path: PathBuf,
    },
    /// The card and another file of the folder do not belong together.
    #[error("{file} is not the file that {CARD_FILE} speaks of\n  --> {}", path.display())]
    OtherFile {
        /// Its name.
        file: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Another model than the one that was meant.
    #[error("the folder holds another model than it did\n  --> {}", path.display())]
    Replaced {
        /// The folder.
        path: PathBuf,
    },
    /// The weights cannot be used.
    #[error("{source}\n  --> {}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: WeightsError,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Advise for ModelError {
    fn advice(&self) -> Option<Advice> {
        Some(Advice::new(match self {
            Self::NoModel { help, .. } => help,
            Self::Unreadable { .. } => "check that this is a file you may read",
            Self::Card { .. } => {
                "the file may be damaged, or made by another version; train the model again"
            }
            Self::Changed { .. } => {
                "take it from where it came, or train again; other rules are given with {rules}"
            }
            Self::Format { .. } => "use the version that made it, or train the model again",
            Self::OtherWeights { .. } | Self::OtherFile { .. } => {
                "the folder was changed, or training it was stopped while it was written; train \
                 with {resume}, or anew"
            }
            Self::Weights { .. } => {
                "the file may be damaged or of another model; take it from where it came, or train \
                 again"
            }
            Self::Replaced { .. } => {
                "work on many machines has one model: leave the folder as it is until all is done, \
                 let every machine see the same one, and begin again"
            }
            Self::Store(error) => return error.advice(),
        }))
    }
}

fn unknown_format(format: u32) -> String {
    match format > FORMAT {
        true => format!(
            "the model was made by a newer version of this program, format {format}; this one reads \
             up to {FORMAT}"
        ),
        false => format!("there is no model of format {format}"),
    }
}

impl Model {
    /// Writes the model into a folder, which is made if it is not there. What is there is replaced.
    pub fn write(&mut self, folder: &Path) -> Result<(), ModelError> {
        create_directory(folder)?;
        let (name, bytes) = match &self.trained {
            Trained::Network(network) => {
                let path = folder.join(WEIGHTS_FILE);
                let bytes = network
                    .weights()
                    .to_safetensors()
                    .map_err(|source| ModelError::Weights { path, source })?;
                (WEIGHTS_FILE, bytes)
            }
            Trained::Markov(markov) => {
                let path = folder.join(TABLES_FILE);
                let bytes = serde_json::to_vec(markov.tables())
                    .map_err(|error| ModelError::Card { path, what: error.to_string() })?;
                (TABLES_FILE, bytes)
            }
        };
        self.card.ends = match &self.trained {
            Trained::Network(network) => network.ends().cloned(),
            Trained::Markov(_) => None,
        };
        let of_days = self.card.ends.is_some() || self.details.bounded();
        self.card.format = match (self.concepts.is_empty(), self.details.is_empty()) {
            _ if of_days => FORMAT,
            (false, _) => FORMAT_OF_CONCEPTS,
            (true, false) => FORMAT_OF_DETAILS,
            (true, true) => FORMAT_OF_CODES,
        };
        self.card.digest = digest(&bytes);
        self.card.codes = CodeLists::new(self.trained.codes());
        self.card.max_visits = self.trained.max_visits();
        (self.card.kind, self.card.shape) = match &self.trained {
            Trained::Network(network) => {
                let shape = network.weights().shape();
                (ModelKind::of(&shape), Some(shape))
            }
            Trained::Markov(_) => (ModelKind::Markov, None),
        };
        write_atomically(folder.join(name), |file| file.write_all(&bytes))?;
        self.card.details_digest = self.details.digest();
        self.card.concepts_digest = self.concepts.digest();
        let others = [(DETAILS_FILE, self.details.text()), (CONCEPTS_FILE, self.concepts.text())];
        for (name, text) in others {
            if let Some(text) = text {
                write_atomically(folder.join(name), |file| file.write_all(text.as_bytes()))?;
            }
        }
        let path = folder.join(CARD_FILE);
        let odd = |what: serde_json::Error| ModelError::Card {
            path: path.clone(),
            what: what.to_string(),
        };
        let card = self.card.seal().map_err(odd)?;
        write_atomically(path, |file| file.write_all(card.as_bytes()))?;
        Ok(())
    }

    /// Reads the model in a folder.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        Self::of_card(folder, &card_text(folder)?)
    }

    /// The digest of the model in a folder: that of its card, which has the digests of all else. Two models of one
    /// digest are one.
    pub fn digest_at(folder: &Path) -> Result<String, ModelError> {
        Ok(digest(card_text(folder)?.as_bytes()))
    }

    /// Reads the model in a folder, and refuses any but the one of this digest.
    pub fn open_same(folder: &Path, expected: &str) -> Result<Self, ModelError> {
        let text = card_text(folder)?;
        match digest(text.as_bytes()) == expected {
            true => Self::of_card(folder, &text),
            false => Err(ModelError::Replaced { path: folder.to_path_buf() }),
        }
    }

    fn of_card(folder: &Path, text: &str) -> Result<Self, ModelError> {
        let path = folder.join(CARD_FILE);
        let refused = |what: String| ModelError::Card { path: path.clone(), what };
        let card = Card::read(text).map_err(|unread| match unread {
            Unread::Odd(what) => refused(what),
            Unread::Changed => ModelError::Changed { path: path.clone() },
            Unread::Format(format) => ModelError::Format { path: path.clone(), format },
        })?;
        let codes = card.codes.order().map_err(refused)?;
        let trained = match (card.kind, card.shape) {
            (kind, Some(shape)) if kind == ModelKind::of(&shape) => {
                let path = folder.join(WEIGHTS_FILE);
                let bytes = read(&path)?;
                let weights = Weights::from_safetensors(&bytes, shape)
                    .map_err(|source| ModelError::Weights { path: path.clone(), source })?;
                belongs(&card, &path, &bytes)?;
                let network = Network::new(codes, weights, card.max_visits)
                    .ok_or_else(|| refused("the codes are not those of the network".into()))?;
                Trained::Network(Box::new(network.with_ends(card.ends.clone())))
            }
            (ModelKind::Markov, None) => {
                let path = folder.join(TABLES_FILE);
                let bytes = read(&path)?;
                belongs(&card, &path, &bytes)?;
                let damaged = |what: String| ModelError::Card { path: path.clone(), what };
                let tables =
                    serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
                let markov = Markov::new(codes, tables)
                    .ok_or_else(|| damaged("the tables are not those of these codes".into()))?;
                Trained::Markov(Box::new(markov))
            }
            _ => return Err(refused("the shape is not that of its kind of model".into())),
        };
        let details = beside(folder, DETAILS_FILE, &card.details_digest)?;
        let concepts = beside(folder, CONCEPTS_FILE, &card.concepts_digest)?;
        Ok(Self { card, trained, details, concepts })
    }
}

fn card_text(folder: &Path) -> Result<String, ModelError> {
    let path = folder.join(CARD_FILE);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(folder)),
        Err(reason) => Err(ModelError::Unreadable { path, reason }),
    }
}

/// What a file beside the card tells, as the card says that it was written.
fn beside<T: Default + DeserializeOwned>(
    folder: &Path,
    file: &'static str,
    written: &str,
) -> Result<T, ModelError> {
    if written.is_empty() {
        return Ok(T::default());
    }
    let path = folder.join(file);
    let bytes = read(&path)?;
    if digest(&bytes) != written {
        return Err(ModelError::OtherFile { file, path });
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| ModelError::Card { path, what: error.to_string() })
}

impl ModelKind {
    /// The kind of a network of this shape.
    fn of(shape: &Shape) -> Self {
        match shape {
            Shape::Recurrent(_) => Self::Recurrent,
            Shape::Halo(_) => Self::Halo,
        }
    }
}

fn missing(folder: &Path) -> ModelError {
    let unfinished = WorkingFolder::path_for(folder).unwrap_or_else(|_| folder.to_path_buf());
    let begun = |folder: &Path| folder.join(CHECKPOINT_FILE).exists();
    let (what, help) = if begun(&unfinished) || begun(folder) {
        ("the model has not finished training", "go on with `consequence train ... {resume}`")
    } else if folder.is_dir() {
        ("this folder holds no model", "give the folder that `consequence train` wrote")
    } else {
        ("there is no such model", "check the name; the path is relative to the current directory")
    };
    ModelError::NoModel { path: folder.to_path_buf(), what, help }
}

fn read(path: &Path) -> Result<Vec<u8>, ModelError> {
    fs::read(path).map_err(|reason| ModelError::Unreadable { path: path.to_path_buf(), reason })
}

fn belongs(card: &Card, path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    match card.digest == digest(bytes) {
        true => Ok(()),
        false => Err(ModelError::OtherWeights { path: path.to_path_buf() }),
    }
}

impl CodeLists {
    fn new(codes: &Order) -> Self {
        let names = |visit: usize| {
            let codes_of = codes.range(visit).map(|position| codes.code(position));
            codes_of.map(|code| codes.vocabulary().name(code).to_owned()).collect()
        };
        Self { statics: names(0), encounters: names(1) }
    }

    /// The codes numbered in the order they are decided, but for `END`, which is the last number.
    fn order(&self) -> Result<Order, String> {
        let named = |list: &[String], kind: Kind| -> Vec<(String, Kind)> {
            list.iter().filter(|name| *name != "END").map(|name| (name.clone(), kind)).collect()
        };
        let all =
            [named(&self.statics, Kind::Static), named(&self.encounters, Kind::Encounter)].concat();
        let vocabulary = Vocabulary::new(all).map_err(|error| error.to_string())?;
        let positions = self.statics.iter().chain(&self.encounters);
        let codes = positions.map(|name| vocabulary.code(name)).collect::<Option<Vec<_>>>();
        let order = codes.and_then(|codes| Order::new(codes, Arc::new(vocabulary)));
        Ok(order.ok_or("its codes are in no order, or `END` is not among them")?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use consequence_rules::Order;

    use super::{CARD_FILE, Model, ModelError, Trained, WEIGHTS_FILE};
    use crate::{HaloSizes, Network, Sizes};
    use consequence_record::{Kind, Vocabulary};

    fn halo() -> Sizes {
        Sizes::halo(4, HaloSizes { width: 8, layers: 1, heads: 2, head_units: 2 })
    }

    fn model(sizes: &Sizes) -> Model {
        let codes = [("B", Kind::Encounter), ("SEX//F", Kind::Static), ("A", Kind::Encounter)];
        let codes = Order::natural(Arc::new(Vocabulary::new(codes).unwrap()));
        let network = Network::drawn(codes, sizes, 3).unwrap();
        let (card, details, concepts) = Default::default();
        Model { card, trained: Trained::Network(Box::new(network)), details, concepts }
    }

    #[test]
    fn is_read_as_it_was_written() {
        for sizes in [Sizes::recurrent(4, 8), halo()] {
            let folder = tempfile::tempdir().unwrap();
            let mut model = model(&sizes);
            model.card.rules = "rule a: A => B\n".into();
            model.write(folder.path()).unwrap();
            let again = Model::open(folder.path()).unwrap();
            assert_eq!(again.card, model.card);
            let (Trained::Network(before), Trained::Network(after)) =
                (&model.trained, &again.trained)
            else {
                panic!("a network")
            };
            assert_eq!(before.weights().values(), after.weights().values());
            let names = |network: &Network| -> Vec<String> {
                let codes = network.codes();
                let all = codes.codes().iter();
                all.map(|&code| codes.vocabulary().name(code).to_owned()).collect()
            };
            assert_eq!(names(before), names(after));
            assert_eq!(names(after), ["SEX//F", "B", "A", "END"]);
        }
    }

    #[test]
    fn another_model_in_the_same_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        model(&halo()).write(folder.path()).unwrap();
        let digest = Model::digest_at(folder.path()).unwrap();
        assert!(Model::open_same(folder.path(), &digest).is_ok());
        let mut other = model(&halo());
        other.card.rules = "rule a: A => B\n".into();
        other.write(folder.path()).unwrap();
        assert_ne!(Model::digest_at(folder.path()).unwrap(), digest);
        let refused = Model::open_same(folder.path(), &digest).unwrap_err();
        assert!(refused.to_string().contains(&folder.path().display().to_string()), "{refused}");
        assert!(matches!(refused, ModelError::Replaced { .. }));
    }

    #[test]
    fn damage_is_found_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Model::open(folder.path()).unwrap_err();
        assert!(matches!(open(), ModelError::NoModel { .. }));
        model(&halo()).write(folder.path()).unwrap();
        let (card, weights) = (folder.path().join(CARD_FILE), folder.path().join(WEIGHTS_FILE));
        let (card_bytes, weight_bytes) = (fs::read(&card).unwrap(), fs::read(&weights).unwrap());

        fs::write(&weights, &weight_bytes[..weight_bytes.len() / 2]).unwrap();
        assert!(open().to_string().contains("not a whole safetensors file"), "{}", open());
        fs::write(&weights, b"\x80\x02}q\x00.").unwrap();
        assert!(open().to_string().contains("pickle"), "{}", open());
        let mut other = weight_bytes.clone();
        let last = other.len() - 1;
        other[last] ^= 1;
        fs::write(&weights, &other).unwrap();
        assert!(matches!(open(), ModelError::OtherWeights { .. }));
        other[last - 3..].copy_from_slice(&f32::NAN.to_le_bytes());
        fs::write(&weights, &other).unwrap();
        assert!(open().to_string().contains("not finite"), "{}", open());
        fs::write(&weights, &weight_bytes).unwrap();

        // A byte of the card, wherever it is.
        for at in 0..card_bytes.len() {
            for bit in [1, 2, 16, 32] {
                let mut other = card_bytes.clone();
                other[at] ^= bit;
                fs::write(&card, &other).unwrap();
                assert!(Model::open(folder.path()).is_err(), "byte {at}, bit {bit}");
            }
        }

        // A card of format 1 has no digest of its own.
        let text = String::from_utf8(card_bytes).unwrap();
        let digest = text.rfind(",\n  \"card_digest\"").unwrap();
        let text = format!("{}\n}}\n", &text[..digest]).replace("\"format\": 3", "\"format\": 1");
        fs::write(&card, &text).unwrap();
        assert!(Model::open(folder.path()).is_ok());
        fs::write(&card, text.replace("\"width\": 8", "\"width\": 6")).unwrap();
        assert!(open().to_string().contains("has shape"), "{}", open());
        fs::write(&card, text.replace("\"SEX//F\"", "\"A\"")).unwrap();
        assert!(open().to_string().contains("no model card"), "{}", open());
        fs::write(&card, &text[..text.len() / 2]).unwrap();
        assert!(matches!(open(), ModelError::Card { .. }));
    }
}
