//! A method made ready, and the network that is trained by it.

use std::time::{Duration, Instant};

use consequence_baselines::{BaselineError, Limits, Method, Rival};
use consequence_evaluate::{
    Likelihood, ReplayOptions, likelihood, likelihood_with_rules, likelihood_with_settled,
};
use consequence_model::{Generator, Network, NetworkGenerator};
use consequence_network::Weights;
use consequence_pipeline::{Error, Watch};
use consequence_record::{RecordView, Selection};
use consequence_rules::Order;
use consequence_store::{digest, write_atomically};
use consequence_train::{Checkpoints, Event, PaperRules, Teacher, train, untrained};
use serde::{Deserialize, Serialize};

use super::arena::Arena;
use super::files::{Files, named};
use super::{ComparisonTask, Prediction, Training};

/// How often what a stopped run can be taken up from is written.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

/// A method made ready.
pub(super) struct Contestant {
    pub method: Method,
    /// What a rival brings along.
    pub rival: Option<Rival>,
}

/// Seconds of training up to the last checkpoint.
#[derive(Default, Serialize, Deserialize)]
struct Sittings {
    seconds: f64,
}

/// Seconds of training: what is written at the end of an epoch does not count.
struct Clock {
    before: f64,
    running: Option<Instant>,
}

impl Clock {
    fn begin(before: f64) -> Self {
        Self { before, running: Some(Instant::now()) }
    }

    fn seconds(&self) -> f64 {
        self.before + self.running.map_or(0.0, |since| since.elapsed().as_secs_f64())
    }

    fn halt(&mut self) {
        (self.before, self.running) = (self.seconds(), None);
    }

    fn go_on(&mut self) {
        self.running.get_or_insert_with(Instant::now);
    }
}

impl Contestant {
    pub fn new(method: Method, arena: &Arena) -> Result<Self, BaselineError> {
        let rival = Rival::new(method, &arena.written, &arena.codes, &Limits::default())?;
        Ok(Self { method, rival })
    }

    /// The order in which its network decides codes.
    pub fn codes<'a>(&self, arena: &'a Arena) -> &'a Order {
        match self.method {
            Method::Published => &arena.natural,
            _ => &arena.codes,
        }
    }

    fn teacher<'a>(&'a self, arena: &'a Arena) -> Teacher<'a> {
        match (self.method, &self.rival) {
            (_, Some(rival)) => Teacher::Aim(rival),
            (Method::Consequence, _) => Teacher::Causal(&arena.enforcer),
            (Method::Published, _) => Teacher::Paper(PaperRules::hard(arena.enforcer.plan())),
            _ => Teacher::Off,
        }
    }

    /// An untrained network.
    fn fresh(&self, task: &ComparisonTask, arena: &Arena) -> Result<Network, Error> {
        let codes = self.codes(arena).clone();
        let sizes = task.network.sizes_for(arena.max_visits);
        let network = untrained(codes, &sizes, &arena.examples(), task.seed)?;
        match &self.rival {
            Some(rival) => Ok(rival.fitted(network, task.seed)?),
            None => Ok(network),
        }
    }

    /// Trains the network, or reads it if it has.
    pub fn fit(
        &self,
        task: &ComparisonTask,
        arena: &Arena,
        files: &Files,
        watch: &dyn Watch,
    ) -> Result<(Network, Training), Error> {
        let fresh = self.fresh(task, arena)?;
        let method = self.method.trains_as();
        let [weights, checkpoint] =
            ["weights.safetensors", "checkpoint.safetensors"].map(|name| files.path(method, name));
        let [figures, sittings] =
            ["training.json", "sittings.json"].map(|name| named(method, name));
        let records = arena.train.len() as u64;
        let whole = records * task.usual_epochs();
        if let Some(training) = files.kept::<Training>(&figures)?
            && let Ok(bytes) = std::fs::read(&weights)
            && let Ok(read) = Weights::from_safetensors(&bytes, fresh.weights().shape())
            && let Some(network) = Network::new(fresh.codes().clone(), read, arena.max_visits)
        {
            watch.advance(whole);
            return Ok((network, training));
        }
        let settings = task.network.settings();
        let fingerprint =
            digest(format!("{}\n{settings}\n{}", method.name(), task.seed).as_bytes());
        let checkpoints =
            Checkpoints { path: checkpoint.clone(), every: CHECKPOINT_EVERY, fingerprint };
        let mut clock =
            Clock::begin(files.kept::<Sittings>(&sittings)?.unwrap_or_default().seconds);
        let mut seen = 0;
        let mut options = task.network.options.clone();
        options.seed = task.seed;
        let mut kept = Ok(());
        let teacher = self.teacher(arena);
        let trained = train(
            fresh,
            &arena.examples(),
            &teacher,
            &options,
            Some(&checkpoints),
            &mut |event| {
                match event {
                    Event::Begin { .. } => {}
                    Event::Step { epoch, more, nats, .. } => {
                        seen += more;
                        watch.advance(more);
                        let name = self.method.title();
                        watch.describe(&format!("{name}: epoch {epoch}, {nats:.2} nats a record"));
                    }
                    Event::Epoch { figures, .. } => {
                        clock.halt();
                        watch.stage(&format!(
                            "{}: epoch {}, {:.3} nats a tuning record",
                            self.method.title(),
                            figures.epoch,
                            figures.tuning_nats
                        ));
                    }
                    Event::Checkpoint => {
                        kept = files.keep(&sittings, &Sittings { seconds: clock.seconds() });
                        clock.go_on();
                    }
                }
                kept.is_ok() && !watch.wants_stop()
            },
        )?;
        kept?;
        clock.halt();
        if trained.interrupted {
            return Err(Error::halted(&task.out.path));
        }
        watch.advance(whole.saturating_sub(seen));
        let live = match teacher.objective().asks_head() {
            true => trained.network.weights().live(0).into_iter().map(|(range, _)| range).collect(),
            false => trained.network.weights().live_without_head(),
        };
        let training = Training {
            seconds: clock.seconds(),
            epochs: trained.history,
            parameters: live.iter().map(|range| range.len() as u64).sum(),
        };
        let bytes = trained.network.weights().to_safetensors()?;
        write_atomically(&weights, |file| file.write_all(&bytes))?;
        files.keep(&figures, &training)?;
        consequence_store::remove_file(&checkpoint)?;
        files.forget(&sittings)?;
        Ok((trained.network, training))
    }

    /// How well the method predicts the held-out records that break no rule. Post-processing has no
    /// probabilities of its own.
    pub fn predict(&self, arena: &Arena, network: &Network) -> Result<Option<Prediction>, Error> {
        let options = ReplayOptions::default();
        let records = Selection::new(&arena.cohort, &arena.predicted);
        let found = match (self.method, &self.rival) {
            (Method::PostProcessing, _) => return Ok(None),
            (_, Some(rival)) => likelihood(&rival.generator(network), records, &options)?,
            (Method::Consequence, _) => {
                let generator = NetworkGenerator::new(network);
                likelihood_with_rules(&generator, &arena.enforcer, records, &options)?
            }
            (Method::Published, _) => {
                let generator = NetworkGenerator::new(network);
                let rules = PaperRules::hard(arena.enforcer.plan());
                let codes = generator.codes();
                let settled = |record: RecordView<'_>, visit| rules.settled(codes, record, visit);
                let found = likelihood_with_settled(&generator, settled, records, &options)?;
                return Ok(Some(Prediction {
                    normalised: false,
                    ..prediction(&found.unnormalised)
                }));
            }
            _ => likelihood(&NetworkGenerator::new(network), records, &options)?,
        };
        Ok(Some(prediction(&found)))
    }
}

fn prediction(found: &Likelihood) -> Prediction {
    Prediction {
        records: found.records,
        measured: found.measured,
        perplexity: found.perplexity,
        nats: [found.nats.static_codes, found.nats.encounter_codes, found.nats.end],
        normalised: true,
    }
}
