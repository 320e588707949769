//! The loop of training on a GPU: batches are taught and laid out ahead on other threads, and nothing waits
//! for the GPU but what is told from time to time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use consequence_engine::Dropout;
use consequence_engine::cuda::{Gpu, ParameterRange};
use consequence_model::Network;
use consequence_network::gpu::{self, GpuBatch, GpuTrainer, Moments, Read, Staging, StepSettings};
use consequence_network::{Asked, Beyond, Codewise, Objective, Reading, Said, Scoring, Shape};
use consequence_record::Selection;

use crate::ahead::{Ready, ahead};
use crate::calibrate::Counts;
use crate::checkpoint::State;
use crate::teacher::TaughtBatch;
use crate::trainer::Told;
use crate::{Teacher, TrainError};

/// How often the loss is asked for: each time the GPU runs dry.
const ASKED_EVERY: Duration = Duration::from_millis(250);

/// Visits that are validated at once, where memory allows.
const VALIDATED: usize = 8_192;

/// What does not fit a GPU's kernels.
pub(crate) const WIDE_HEADS: &str = "HALO's network with heads of more than 256 numbers";

/// Batches for each thread that an epoch is judged by, and for how long at most: the first ones are taught
/// while the GPU has nothing to do.
const MEASURED_EACH: usize = 4;
const MEASURED: Duration = Duration::from_millis(500);

/// A network that trains on a GPU.
pub(crate) struct OnGpu<'a> {
    trainer: GpuTrainer,
    teacher: &'a Teacher<'a>,
    asked: Instant,
    /// Visits that are validated at once.
    validated: usize,
}

/// Records that are taught, and laid out for a GPU.
struct Lesson<'a> {
    taught: TaughtBatch<'a>,
    batch: GpuBatch,
    records: usize,
}

/// Records that the network is asked about.
type Batches<'a> = (Selection<'a>, &'a [Vec<usize>]);

impl<'a> OnGpu<'a> {
    pub fn new(
        gpu: Gpu,
        network: &Network,
        teacher: &'a Teacher<'a>,
        changed: &[ParameterRange],
    ) -> Result<Self, TrainError> {
        let shape = network.weights().shape();
        if !gpu::takes(&shape) {
            return Err(TrainError::NotOnGpu(WIDE_HEADS));
        }
        let trainer = GpuTrainer::new(gpu, shape, changed)?;
        Ok(Self { trainer, teacher, asked: Instant::now(), validated: VALIDATED })
    }

    /// Sends the state of training to the GPU.
    pub fn send(&mut self, state: &mut State) -> Result<(), TrainError> {
        Ok(self.trainer.send(&moments(state))?)
    }

    /// Brings it back, with the nats of the epoch so far.
    pub fn bring(&mut self, state: &mut State) -> Result<(), TrainError> {
        self.ask(state)?;
        Ok(self.trainer.bring(&mut moments(state))?)
    }

    /// Asks for the nats of the epoch so far.
    fn ask(&mut self, state: &mut State) -> Result<(), TrainError> {
        state.progress.nats = self.trainer.total_nats()?;
        self.asked = Instant::now();
        let fault = self.trainer.fault()?;
        let fault = fault.or((!state.progress.nats.is_finite()).then_some(state.progress.steps));
        fault.map_or(Ok(()), |step| Err(TrainError::NotANumber { step }))
    }

    /// Trains on batches. `settings` gives those of a step by its number, and what it leaves out; `told` is told after each step of
    /// its records and of the mean nats of a record so far, and ends it by giving false.
    pub fn steps(
        &mut self,
        state: &mut State,
        batches: Batches<'_>,
        settings: impl Fn(&State, u64) -> (StepSettings, Dropout),
        told: &mut Told<'_>,
    ) -> Result<bool, TrainError> {
        self.trainer.begin_nats(state.progress.nats)?;
        let network = state.network.clone();
        let mut mean = None;
        self.taught(&network, batches, |own, lessons| {
            for lesson in lessons {
                let Lesson { taught, mut batch, records } = lesson?;
                let number = state.progress.steps + 1;
                let scale = 1.0 / batch.rows() as f32;
                let (settings, dropout) = settings(state, number);
                own.trainer.drop_out(dropout);
                own.trainer.differentiate(&mut batch, taught.objective(), scale)?;
                own.trainer.step(&settings)?;
                state.progress.steps = number;
                state.progress.batches += 1;
                state.progress.records += records as u64;
                if mean.is_none() || own.asked.elapsed() > ASKED_EVERY {
                    own.ask(state)?;
                    mean = Some(state.progress.nats / state.progress.records as f64);
                }
                let nats = mean.unwrap_or_default();
                if !told(&mut |state| own.bring(state), state, records, nats)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// The nats of the first batch, in all, before training, and the seconds that a visit takes: batches are
    /// taught and laid out ahead of the GPU as they are while training, so whichever is slower tells.
    pub fn measured(
        &mut self,
        network: &Network,
        (records, batches): Batches<'_>,
    ) -> Result<(f64, f64), TrainError> {
        self.trainer.send_weights(network.weights().values())?;
        // Once to touch all memory, and then against the clock.
        let (nats, _) = self.differentiated(network, (records, &batches[..1]))?;
        let validated = crate::trainer::cut(records.cohort(), records.indices(), self.validated);
        self.validate(network, (records, &validated[..1]))?;
        let most = MEASURED_EACH * rayon::current_num_threads();
        let some = &batches[..batches.len().min(most)];
        let began = Instant::now();
        let (_, visits) = self.differentiated(network, (records, some))?;
        Ok((nats, began.elapsed().as_secs_f64() / visits as f64))
    }

    /// Passes of batches as in training, without the steps, until they have taken long enough to be judged by.
    /// Gives their nats, and their visits.
    fn differentiated(
        &mut self,
        network: &Network,
        batches: Batches<'_>,
    ) -> Result<(f64, usize), TrainError> {
        self.trainer.begin_nats(0.0)?;
        let began = Instant::now();
        self.taught(network, batches, |own, lessons| {
            let mut visits = 0;
            for lesson in lessons {
                let Lesson { taught, mut batch, .. } = lesson?;
                visits += batch.rows();
                own.trainer.differentiate(&mut batch, taught.objective(), 1.0)?;
                if began.elapsed() > MEASURED {
                    break;
                }
            }
            Ok((own.trainer.total_nats()?, visits))
        })
    }

    /// The nats of records, in all, under the average of the weights that were sent.
    pub fn averaged_nats(
        &mut self,
        network: &Network,
        records: Selection<'_>,
    ) -> Result<f64, TrainError> {
        let batches = crate::trainer::cut(records.cohort(), records.indices(), self.validated);
        self.validate(network, (records, &batches))
    }

    fn validate(&mut self, network: &Network, batches: Batches<'_>) -> Result<f64, TrainError> {
        self.trainer.begin_nats(0.0)?;
        self.taught(network, batches, |own, lessons| {
            for lesson in lessons {
                let Lesson { taught, mut batch, .. } = lesson?;
                own.trainer.nats(&mut batch, taught.objective(), Read::Average)?;
            }
            Ok(own.trainer.total_nats()?)
        })
    }

    /// Validates half as many visits at once from now on, and gives back what passes took.
    pub fn take_less(&mut self) {
        self.trainer.forget();
        self.validated = (self.validated / 2).max(1);
    }

    /// The nats of records, in all.
    pub fn nats(&mut self, network: &Network, records: Selection<'_>) -> Result<f64, TrainError> {
        self.trainer.send_weights(network.weights().values())?;
        self.averaged_nats(network, records)
    }

    /// The share of units that never fire in some records; none for a network without such units.
    pub fn silent_units(
        &mut self,
        network: &Network,
        records: Selection<'_>,
    ) -> Result<Option<f64>, TrainError> {
        if let Shape::Recurrent(_) = network.weights().shape() {
            return Ok(None);
        }
        self.trainer.send_weights(network.weights().values())?;
        self.trainer.begin_fired()?;
        for batch in crate::trainer::untaught(network, records, self.validated) {
            let laid = GpuBatch::new(&batch, &Codewise, &self.trainer.staging())?;
            if let Some(mut laid) = laid {
                self.trainer.note_fired(&mut laid)?;
            }
        }
        Ok(self.trainer.silent_units()?)
    }

    /// How often codes are there that no rule decides, and by how much more often they are expected.
    pub fn counts(
        &mut self,
        network: &Network,
        records: Selection<'_>,
    ) -> Result<Counts, TrainError> {
        self.trainer.send_weights(network.weights().values())?;
        self.trainer.begin_surplus()?;
        let batches = crate::trainer::cut(records.cohort(), records.indices(), self.validated);
        let mut counts = Counts::new(network.codes(), records);
        self.taught(network, (records, &batches), |own, lessons| {
            for lesson in lessons {
                let Lesson { taught, mut batch, .. } = lesson?;
                let expecting = Expecting { taught: &taught, touched: Mutex::default() };
                own.trainer.add_surplus(&mut batch, &expecting)?;
                let touched = expecting.touched.into_inner();
                let mut touched = touched.unwrap_or_else(PoisonError::into_inner);
                touched.sort_by_key(|(row, _)| *row);
                counts.touch(touched.into_iter().flat_map(|(_, touched)| touched));
                taught.batch.each_open(|code| counts.see(code));
            }
            let surplus = own.trainer.surplus()?;
            counts.expect(surplus.into_iter().enumerate());
            Ok(counts)
        })
    }

    /// Teaches batches ahead of some work.
    fn taught<R>(
        &mut self,
        network: &Network,
        (records, batches): Batches<'_>,
        work: impl FnOnce(
            &mut Self,
            &mut Ready<'_, Result<Lesson<'a>, TrainError>>,
        ) -> Result<R, TrainError>,
    ) -> Result<R, TrainError> {
        let staging: Arc<Staging> = self.trainer.staging();
        let teacher = self.teacher;
        let teach = |reader: &mut _, number: usize| {
            let chosen = records.others(&batches[number]);
            let taught = teacher.batch_by(reader, network, chosen);
            let batch = GpuBatch::new(&taught.batch, taught.objective(), &staging)?;
            let batch = batch.ok_or(TrainError::NotOnGpu("this method"))?;
            Ok(Lesson { taught, batch, records: chosen.len() })
        };
        // One thread queues the work of the GPU.
        let threads = rayon::current_num_threads().saturating_sub(1).max(1);
        ahead((threads, batches.len()), || teacher.reader(), teach, |ready| work(self, ready))
    }
}

fn moments(state: &mut State) -> Moments<'_> {
    let State { network, mean, square, average, .. } = state;
    Moments { weights: network.weights_mut().values_mut(), mean, square, average }
}

/// A row, and what a look-ahead expects of the codes that it touches there.
type Touched = (usize, Vec<(u32, f64, bool)>);

/// Tells how likely codes are that a look-ahead touches, and changes nothing.
struct Expecting<'a> {
    taught: &'a TaughtBatch<'a>,
    touched: Mutex<Vec<Touched>>,
}

impl Objective for Expecting<'_> {
    fn scoring(&self) -> Scoring<'_> {
        match self.taught.looks_ahead() {
            Some(_) => Scoring::Beyond(self),
            None => Scoring::Codewise,
        }
    }

    fn score(&self, rows: &[Asked<'_>], factor: f32, said: Said<'_>) -> Vec<f64> {
        self.taught.objective().score(rows, factor, said)
    }
}

impl Beyond for Expecting<'_> {
    fn readings(&self, row: usize) -> Vec<Reading> {
        self.taught.looks_ahead().map_or_else(Vec::new, |ahead| ahead.readings(row))
    }

    fn score(&self, row: usize, read: &[f64], changes: &mut [f64]) -> f64 {
        changes.fill(0.0);
        let Some(ahead) = self.taught.looks_ahead() else { return 0.0 };
        let touched = ahead.expected_by(row, read);
        self.touched.lock().unwrap_or_else(PoisonError::into_inner).push((row, touched));
        0.0
    }
}
