//! All that changes while a network trains.

use consequence_model::{Epoch, Network};
use serde::{Deserialize, Serialize};

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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Epochs since the best.
    pub stale: u32,
    pub history: Vec<Epoch>,
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
