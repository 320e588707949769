//! A method on a network, and how it is trained.

use std::time::{Duration, Instant};

use consequence::train::NetworkTask;
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
use consequence_train::{
    Checkpoints, Event, PaperRules, Precision, Teacher, TrainOptions, train_on, untrained,
};
use serde::{Deserialize, Serialize};

use super::arena::Arena;
use super::choice::TriedRate;
use super::files::Files;
use super::task::{network_name, network_title};
use super::{ComparisonTask, Prediction, Training};

/// How often what a stopped run can be taken up from is written.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

/// What is kept of a training: the network, and how it went.
const WEIGHTS: &str = "weights.safetensors";
const TRAINING: &str = "training.json";

/// A method made ready, on a network.
pub(super) struct Contestant {
    pub method: Method,
    /// What a rival brings along.
    pub rival: Option<Rival>,
    /// The network that it is put on.
    pub network: NetworkTask,
    /// Whether that is the second network, beside the one of all methods.
    pub beside: bool,
    /// The learning rates that were tried; none where there was no choice.
    pub tried: Vec<TriedRate>,
    /// Whether there is a choice of learning rates, so that files tell which one they are of.
    choosing: bool,
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
    pub fn new(
        method: Method,
        task: &ComparisonTask,
        arena: &Arena,
    ) -> Result<Self, BaselineError> {
        let rival = Rival::new(method, &arena.written, &arena.codes, &Limits::default())?;
        let (network, choosing) = (task.network.clone(), !task.rates.is_empty());
        Ok(Self { method, rival, network, beside: false, tried: Vec::new(), choosing })
    }

    /// The same method on the second network.
    pub fn beside(
        method: Method,
        also: &NetworkTask,
        task: &ComparisonTask,
        arena: &Arena,
    ) -> Result<Self, BaselineError> {
        let first = Self::new(method, task, arena)?;
        Ok(Self { network: also.clone(), beside: true, ..first })
    }

    /// Its name in tables.
    pub fn title(&self) -> String {
        match self.beside {
            true => format!("{}, {}", self.method.title(), network_title(&self.network)),
            false => self.method.title().to_owned(),
        }
    }

    /// The name of a file about it.
    pub fn file(&self, what: &str) -> String {
        self.file_of(self.method, what)
    }

    /// The name of a file about one of its trained networks.
    fn trained_file(&self, seed: u64, what: &str) -> String {
        let rate = match self.choosing {
            true => format!("rate-{}-", self.network.options.rate),
            false => String::new(),
        };
        self.file_of(self.method.trains_as(), &format!("{rate}seed-{seed}-{what}"))
    }

    fn file_of(&self, method: Method, what: &str) -> String {
        match self.beside {
            true => format!("{}-{}-{what}", method.name(), network_name(&self.network)),
            false => format!("{}-{what}", method.name()),
        }
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
    fn fresh(&self, arena: &Arena, seed: u64) -> Result<Network, Error> {
        let codes = self.codes(arena).clone();
        let sizes = self.network.sizes_for(arena.max_visits);
        let network = untrained(codes, &sizes, &arena.examples(), seed)?;
        match &self.rival {
            Some(rival) => Ok(rival.fitted(network, seed)?),
            None => Ok(network),
        }
    }

    /// The network that was trained with a seed, if it was.
    pub fn trained(
        &self,
        arena: &Arena,
        files: &Files,
        seed: u64,
    ) -> Result<Option<(Network, Training)>, Error> {
        let figures = self.trained_file(seed, TRAINING);
        let Some(training) = files.kept::<Training>(&figures)? else { return Ok(None) };
        let Ok(bytes) = std::fs::read(files.path(&self.trained_file(seed, WEIGHTS))) else {
            return Ok(None);
        };
        let fresh = self.fresh(arena, seed)?;
        let read = Weights::from_safetensors(&bytes, fresh.weights().shape()).ok();
        let network =
            read.and_then(|read| Network::new(fresh.codes().clone(), read, arena.max_visits));
        Ok(network.map(|network| (network, training)))
    }

    /// Trains a network with a seed, or takes up a training that was stopped.
    pub fn train(
        &self,
        task: &ComparisonTask,
        arena: &Arena,
        files: &Files,
        seed: u64,
        watch: &dyn Watch,
    ) -> Result<(Network, Training), Error> {
        let checkpoint = files.path(&self.trained_file(seed, "checkpoint.safetensors"));
        let sittings = self.trained_file(seed, "sittings.json");
        let whole = arena.train.len() as u64 * task.usual_epochs();
        let settings = self.network.settings();
        let method = self.method.trains_as().name();
        let fingerprint = digest(format!("{method}\n{settings}\n{seed}").as_bytes());
        let checkpoints =
            Checkpoints { path: checkpoint.clone(), every: CHECKPOINT_EVERY, fingerprint };
        let mut clock =
            Clock::begin(files.kept::<Sittings>(&sittings)?.unwrap_or_default().seconds);
        let mut seen = 0;
        let options = TrainOptions { seed, ..self.network.options.clone() };
        let mut kept = Ok(());
        let teacher = self.teacher(arena);
        let mut name = self.title();
        if self.choosing {
            name += &format!(", learning rate {}", options.rate);
        }
        if task.effort.trainings > 1 {
            name += &format!(", seed {seed}");
        }
        let chosen = task.device.find(Precision::Fast, &self.network.sizes, &teacher)?;
        let trained = train_on(
            chosen.device,
            self.fresh(arena, seed)?,
            &arena.examples(),
            &teacher,
            &options,
            Some(&checkpoints),
            &mut |event| {
                match event {
                    Event::Begin { .. } | Event::LessMemory { .. } => {}
                    Event::Step { epoch, more, nats, .. } => {
                        seen += more;
                        watch.advance(more);
                        watch.describe(&format!("{name}: epoch {epoch}, {nats:.2} nats a record"));
                    }
                    Event::Epoch { figures, .. } => {
                        clock.halt();
                        watch.stage(&format!(
                            "{name}: epoch {}, {:.3} nats a tuning record",
                            figures.epoch, figures.tuning_nats
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
        let live = match teacher.asks_head() {
            true => trained.network.weights().live(0).into_iter().map(|(range, _)| range).collect(),
            false => trained.network.weights().live_without_head(),
        };
        let training = Training {
            seconds: clock.seconds(),
            epochs: trained.history,
            parameters: live.iter().map(|range| range.len() as u64).sum(),
            device: chosen.why,
        };
        let bytes = trained.network.weights().to_safetensors()?;
        let weights = files.path(&self.trained_file(seed, WEIGHTS));
        write_atomically(&weights, |file| file.write_all(&bytes))?;
        files.keep(&self.trained_file(seed, TRAINING), &training)?;
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
        nats: found.nats.each(),
        normalised: true,
    }
}
