//! All that changes while a network trains, and the file that a run is resumed from, with a digest
//! over all of it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use consequence_model::{Epoch, Network};
use consequence_store::{digest, write_atomically};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use crate::TrainError;

/// Where a run can be resumed from.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// The file.
    pub path: PathBuf,
    /// How often to write it; it is also written at the end of every epoch.
    pub every: Duration,
    /// What the run depends on. A checkpoint with another fingerprint is refused.
    pub fingerprint: String,
}

/// A file that a run can be resumed from.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    checkpoints: Checkpoints,
    last: Instant,
}

/// The tensors of a checkpoint.
const TENSORS: [&str; 5] = ["weights", "mean", "square", "average", "best"];
const PROGRESS: &str = "progress";
const FINGERPRINT: &str = "fingerprint";
const DIGEST: &str = "digest";

/// What says which program made a checkpoint. Format 1 had no digest, and no number; of format 2 the
/// learning rate fell by a number of epochs fixed beforehand.
const FORMAT: &str = "format";
const FORMAT_NUMBER: &str = "3";
const VERSION: &str = "version";
const OUR_VERSION: &str = env!("CARGO_PKG_VERSION");

impl Checkpoint {
    pub fn new(checkpoints: &Checkpoints) -> Self {
        Self { checkpoints: checkpoints.clone(), last: Instant::now() }
    }

    /// Whether it is time to write one.
    pub fn is_due(&self) -> bool {
        self.last.elapsed() >= self.checkpoints.every
    }

    pub fn write(&mut self, state: &State) -> Result<(), TrainError> {
        let weights = state.network.weights().values();
        let parts = [weights, &state.mean, &state.square, &state.average, &state.best];
        let bytes = parts.map(|part| -> Vec<u8> {
            part.iter().flat_map(|number| number.to_le_bytes()).collect()
        });
        let written = || -> Result<Vec<u8>, String> {
            let mut views = Vec::new();
            for (name, bytes) in TENSORS.iter().zip(&bytes) {
                let view = TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes);
                views.push((*name, view.map_err(|error| error.to_string())?));
            }
            let progress =
                serde_json::to_string(&state.progress).map_err(|error| error.to_string())?;
            let fingerprint = self.checkpoints.fingerprint.clone();
            let digest = digest_of(bytes.each_ref().map(Vec::as_slice), &progress, &fingerprint);
            let said = [
                (PROGRESS, progress),
                (FINGERPRINT, fingerprint),
                (DIGEST, digest),
                (FORMAT, FORMAT_NUMBER.into()),
                (VERSION, OUR_VERSION.into()),
            ];
            let metadata: HashMap<String, String> =
                said.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            safetensors::serialize(views, Some(metadata)).map_err(|error| error.to_string())
        };
        let written = written().map_err(|what| self.refused(what))?;
        write_atomically(&self.checkpoints.path, |file| file.write_all(&written))?;
        self.last = Instant::now();
        Ok(())
    }

    /// The state to go on from; that of the network given, if there is no checkpoint.
    pub fn read(&self, network: Network) -> Result<State, TrainError> {
        let bytes = match std::fs::read(&self.checkpoints.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(State::new(network));
            }
            Err(error) => return Err(self.refused(error.to_string())),
        };
        let mut state = State::new(network);
        let refused = |what: String| self.refused(what);
        let file = SafeTensors::deserialize(&bytes).map_err(|error| refused(error.to_string()))?;
        let (_, header) =
            SafeTensors::read_metadata(&bytes).map_err(|error| refused(error.to_string()))?;
        let metadata = header.metadata().as_ref();
        let said = |name: &str| metadata.and_then(|metadata| metadata.get(name));
        refuse_other_version(said(FORMAT), said(VERSION)).map_err(refused)?;
        let (Some(progress), Some(digest)) = (said(PROGRESS), said(DIGEST)) else {
            return Err(refused("it does not say how far it had come".into()));
        };
        let mut found: [&[u8]; TENSORS.len()] = [&[]; TENSORS.len()];
        for (name, part) in TENSORS.iter().zip(&mut found) {
            *part = file.tensor(name).map_err(|error| refused(error.to_string()))?.data();
        }
        let fingerprint = said(FINGERPRINT).map_or("", String::as_str);
        if *digest != digest_of(found, progress, fingerprint) {
            return Err(refused("it is not as it was written".into()));
        }
        if said(FINGERPRINT) != Some(&self.checkpoints.fingerprint) {
            return Err(refused("it was made with other records, rules or settings".into()));
        }
        state.progress = serde_json::from_str::<Progress>(progress)
            .map_err(|error| refused(error.to_string()))?;
        let weights = state.network.weights_mut().values_mut();
        let parts =
            [weights, &mut state.mean, &mut state.square, &mut state.average, &mut state.best];
        for (name, part) in TENSORS.iter().zip(parts) {
            let tensor = file.tensor(name).map_err(|error| refused(error.to_string()))?;
            if tensor.dtype() != Dtype::F32 || tensor.data().len() != 4 * part.len() {
                return Err(refused(format!("`{name}` is of another size than the network")));
            }
            let (words, _) = tensor.data().as_chunks::<4>();
            for (to, &word) in part.iter_mut().zip(words) {
                *to = f32::from_le_bytes(word);
            }
        }
        Ok(state)
    }

    fn refused(&self, what: String) -> TrainError {
        TrainError::Checkpoint { path: self.checkpoints.path.clone(), what }
    }
}

/// The digest of all that a checkpoint says, taken part by part: the parts are large.
fn digest_of(tensors: [&[u8]; TENSORS.len()], progress: &str, fingerprint: &str) -> String {
    let texts = [progress, fingerprint].map(str::as_bytes);
    digest(tensors.into_iter().chain(texts).map(digest).collect::<String>().as_bytes())
}

/// Whether another version of the program made it, and which.
fn refuse_other_version(format: Option<&String>, version: Option<&String>) -> Result<(), String> {
    let Some(version) = version else {
        return Err("it was made by an older version of this program".into());
    };
    match version == OUR_VERSION && format.is_some_and(|format| format == FORMAT_NUMBER) {
        true => Ok(()),
        false => Err(format!(
            "it was made by version {version} of this program (format {}), and this is version \
             {OUR_VERSION} (format {FORMAT_NUMBER})",
            format.map_or("1", String::as_str)
        )),
    }
}

/// All that changes while a network trains.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub network: Network,
    /// Mean gradient and mean square of it.
    pub mean: Vec<f32>,
    pub square: Vec<f32>,
    /// The average of the weights of late.
    pub average: Vec<f32>,
    /// The best average so far, on the tuning split.
    pub best: Vec<f32>,
    pub progress: Progress,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Steps taken in all.
    pub steps: u64,
    /// Epochs that are over.
    pub epochs: u32,
    /// Batches of the current epoch that are over.
    pub batches: u64,
    /// Records seen in the current epoch, and their nats.
    pub records: u64,
    pub nats: f64,
    /// Steps since enough was gained, and the nats of a tuning record then.
    pub stale: u64,
    pub gained_at: f64,
    /// Learning rates in a row that gave no better network, the present one among them.
    pub fruitless: u32,
    /// What part of the highest learning rate is left.
    pub rate_left: f32,
    /// Nats of a record before training, roughly.
    pub untrained_nats: f64,
    pub history: Vec<Epoch>,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            steps: 0,
            epochs: 0,
            batches: 0,
            records: 0,
            nats: 0.0,
            stale: 0,
            gained_at: f64::MAX,
            fruitless: 1,
            rate_left: 1.0,
            untrained_nats: f64::MAX,
            history: Vec::new(),
        }
    }
}

impl State {
    pub fn new(network: Network) -> Self {
        let size = network.weights().values().len();
        let best = network.weights().values().to_vec();
        Self {
            network,
            mean: vec![0.0; size],
            square: vec![0.0; size],
            average: best.clone(),
            best,
            progress: Progress::default(),
        }
    }

    /// The epoch whose weights are the best, and its nats of a tuning record.
    pub fn best_epoch(&self) -> Option<&Epoch> {
        let history = self.progress.history.iter();
        history.min_by(|a, b| a.tuning_nats.total_cmp(&b.tuning_nats))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consequence_model::{Network, NetworkSizes, RecurrentSizes, Sizes};
    use consequence_record::{Kind, Vocabulary};
    use consequence_rules::Order;
    use std::sync::Arc;

    fn network() -> Network {
        let codes = [("A", Kind::Encounter), ("SEX//F", Kind::Static)];
        let codes = Order::natural(Arc::new(Vocabulary::new(codes).unwrap()));
        let network = RecurrentSizes { head: 4, width: 4, bottleneck: 2 };
        let sizes = Sizes { max_visits: 2, network: NetworkSizes::Recurrent(network) };
        Network::drawn(codes, &sizes, 3).unwrap()
    }

    #[test]
    fn a_changed_byte_is_refused_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint.safetensors");
        let checkpoints = Checkpoints {
            path: path.clone(),
            every: Duration::from_secs(60),
            fingerprint: "f".into(),
        };
        let mut checkpoint = Checkpoint::new(&checkpoints);
        let mut state = State::new(network());
        state.progress.steps = 7;
        checkpoint.write(&state).unwrap();
        assert_eq!(checkpoint.read(network()).unwrap().progress, state.progress);
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1 << (at % 8);
            std::fs::write(&path, &other).unwrap();
            assert!(checkpoint.read(network()).is_err(), "byte {at}");
        }
    }

    #[test]
    fn another_version_is_named() {
        let [ours, other] = [OUR_VERSION, "0.0.7"].map(str::to_owned);
        let [format, newer] = [FORMAT_NUMBER, "9"].map(str::to_owned);
        assert_eq!(refuse_other_version(Some(&format), Some(&ours)), Ok(()));
        let said = refuse_other_version(Some(&format), Some(&other)).unwrap_err();
        assert!(said.starts_with("it was made by version 0.0.7 of this program"), "{said}");
        let said = refuse_other_version(Some(&newer), Some(&ours)).unwrap_err();
        assert!(said.contains("(format 9)"), "{said}");
        let said = refuse_other_version(None, None).unwrap_err();
        assert!(said.contains("older version"), "{said}");
    }
}
