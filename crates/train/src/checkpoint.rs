//! All that is needed to go on, in one file.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use consequence_model::Network;
use consequence_store::write_atomically;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::TrainError;
use crate::state::{Progress, State};

/// Where a run can be taken up from.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// The file.
    pub path: PathBuf,
    /// How often to write it; it is also written at the end of every epoch.
    pub every: Duration,
    /// What the run depends on. A checkpoint with another fingerprint is refused.
    pub fingerprint: String,
}

/// A file that a run can be taken up from.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    place: Checkpoints,
    last: Instant,
}

/// The tensors of a checkpoint.
const TENSORS: [&str; 5] = ["weights", "mean", "square", "average", "best"];
const PROGRESS: &str = "progress";
const FINGERPRINT: &str = "fingerprint";

impl Checkpoint {
    pub fn new(place: &Checkpoints) -> Self {
        Self { place: place.clone(), last: Instant::now() }
    }

    /// Whether it is time to write one.
    pub fn is_due(&self) -> bool {
        self.last.elapsed() >= self.place.every
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
            let fingerprint = self.place.fingerprint.clone();
            let metadata = HashMap::from([
                (PROGRESS.to_owned(), progress),
                (FINGERPRINT.to_owned(), fingerprint),
            ]);
            safetensors::serialize(views, Some(metadata)).map_err(|error| error.to_string())
        };
        let written = written().map_err(|what| self.refused(what))?;
        write_atomically(&self.place.path, |file| file.write_all(&written))?;
        self.last = Instant::now();
        Ok(())
    }

    /// The state to go on from; that of the network given, if there is no checkpoint.
    pub fn read(&self, network: Network) -> Result<State, TrainError> {
        let bytes = match std::fs::read(&self.place.path) {
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
        let Some(progress) = said(PROGRESS) else {
            return Err(refused("it does not say how far it had come".into()));
        };
        if said(FINGERPRINT) != Some(&self.place.fingerprint) {
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
        TrainError::Checkpoint { path: self.place.path.clone(), what }
    }
}
