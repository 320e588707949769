//! The learning rate of each method, chosen for all with the same effort.

use consequence_pipeline::{Error, Watch};
use serde::{Deserialize, Serialize};

use super::ComparisonTask;
use super::arena::Arena;
use super::contestant::Contestant;
use super::files::Files;

/// A learning rate that a method was trained at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedRate {
    /// The rate.
    pub rate: f32,
    /// How many times the usual rate that is.
    pub times: f32,
    /// Nats of a tuning record at the best epoch, of what the method trains for.
    pub tuning_nats: f64,
}

/// Trains each contestant once at every rate that is to be tried, and has it go on with the one that
/// the tuning split is for. The training at that rate is the first of those that count.
pub(super) fn choose_rates(
    contestants: &mut [Contestant],
    task: &ComparisonTask,
    arena: &Arena,
    files: &Files,
    watch: &dyn Watch,
) -> Result<(), Error> {
    let seed = task.training_seed(0);
    for contestant in contestants {
        let usual = contestant.network.options.rate;
        let mut tried: Vec<TriedRate> = Vec::new();
        for &times in &task.rates {
            contestant.network.options.rate = usual * times;
            let known = contestant.trained(arena, files, seed)?;
            let training = match known {
                Some((_, training)) => training,
                None => contestant.train(task, arena, files, seed, watch)?.1,
            };
            let nats = training.epochs.iter().map(|epoch| epoch.tuning_nats);
            let tuning_nats = nats.fold(f64::INFINITY, f64::min);
            tried.push(TriedRate { rate: usual * times, times, tuning_nats });
        }
        let best = tried.iter().min_by(|a, b| a.tuning_nats.total_cmp(&b.tuning_nats));
        contestant.network.options.rate = best.map_or(usual, |best| best.rate);
        contestant.tried = tried;
    }
    Ok(())
}
