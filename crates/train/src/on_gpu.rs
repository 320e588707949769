//! The loop of training on a GPU: batches are taught and laid out ahead on other threads, and nothing waits
//! for the GPU but what is told from time to time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use consequence_engine::Dropout;
use consequence_engine::cuda::{Gpu, GpuError, ParameterRange};
use consequence_model::Network;
use consequence_network::gpu::{self, GpuBatch, GpuTrainer, Moments, Read, Staging, StepSettings};
use consequence_network::{Asked, Beyond, Codewise, Objective, Reading, Said, Scoring, Shape};
use consequence_record::Selection;

use crate::ahead::{Ready, ahead};
use crate::calibrate::Counts;
use crate::checkpoint::State;
use crate::teacher::{TaughtBatch, TeacherReader};
use crate::train::visits;
use crate::trainer::{FEWEST_VISITS, StepTold, Told};
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
    /// Visits of a piece of a step: as many as it has, until memory lacks.
    most: Arc<AtomicUsize>,
}

/// Records that are taught, and laid out for a GPU.
struct Piece<'a> {
    taught: TaughtBatch<'a>,
    batch: GpuBatch,
}

/// The pieces of a batch: one, where memory suffices.
type Lesson<'a> = Vec<Piece<'a>>;

/// Teaches records, in pieces of so many visits at most, and lays them out.
fn lesson<'a>(
    teacher: &'a Teacher<'a>,
    reader: &mut TeacherReader<'_>,
    network: &Network,
    (records, most): (Selection<'_>, usize),
    staging: &Staging,
) -> Result<Lesson<'a>, TrainError> {
    let mut piece = |records: Selection<'_>| {
        let taught = teacher.batch_by(reader, network, records);
        let batch = GpuBatch::new(&taught.batch, taught.objective(), staging)?;
        let batch = batch.ok_or(TrainError::NotOnGpu("this method"))?;
        Ok(Piece { taught, batch })
    };
    match most {
        usize::MAX => Ok(vec![piece(records)?]),
        most => {
            let pieces = crate::trainer::cut(records.cohort(), records.indices(), most);
            pieces.iter().map(|some| records.others(some)).map(piece).collect()
        }
    }
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
        let (asked, most) = (Instant::now(), Arc::new(AtomicUsize::new(usize::MAX)));
        Ok(Self { trainer, teacher, asked, validated: VALIDATED, most })
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

    /// Asks for the nats of the epoch so far. Waits for the steps that are under way.
    pub fn ask(&mut self, state: &mut State) -> Result<(), TrainError> {
        state.progress.nats = self.trainer.total_nats()?;
        self.asked = Instant::now();
        let fault = self.trainer.fault()?;
        let fault = fault.or((!state.progress.nats.is_finite()).then_some(state.progress.steps));
        fault.map_or(Ok(()), |step| Err(TrainError::NotANumber { step }))
    }

    /// Trains on batches. `settings` gives those of a step by its number, and what it leaves out; `told` is told after each step, and
    /// ends it by giving false. A step that memory lacks for is worked through in pieces: what they come to is added up.
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
            for (index, lesson) in lessons.enumerate() {
                let number = state.progress.steps + 1;
                let (settings, dropout) = settings(state, number);
                own.trainer.drop_out(dropout);
                own.trainer.mark()?;
                let chosen = batches.0.others(&batches.1[index]);
                let mut done = lesson.and_then(|lesson| own.differentiate(lesson));
                while matches!(done, Err(TrainError::Gpu(GpuError::OutOfMemory)))
                    && own.takes_smaller_pieces(visits(chosen))
                {
                    done = own.again(&network, chosen);
                }
                done?;
                own.trainer.step(&settings)?;
                let records = chosen.len();
                state.progress.steps = number;
                state.progress.batches += 1;
                state.progress.records += records as u64;
                if mean.is_none() || own.asked.elapsed() > ASKED_EVERY {
                    own.ask(state)?;
                    mean = Some(state.progress.nats / state.progress.records as f64);
                }
                let nats = mean.unwrap_or_default();
                let pieces_of =
                    Some(own.most.load(Ordering::Relaxed)).filter(|&most| most < usize::MAX);
                let step = StepTold { records, nats, pieces_of };
                if !told(&mut |state| own.bring(state), state, step)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// The gradient of the mean nats of a batch.
    fn differentiate(&mut self, lesson: Lesson<'_>) -> Result<(), TrainError> {
        let rows: usize = lesson.iter().map(|piece| piece.batch.rows()).sum();
        for (number, Piece { taught, mut batch }) in lesson.into_iter().enumerate() {
            let how = (1.0 / rows as f32, number == 0);
            self.trainer.differentiate_piece(&mut batch, taught.objective(), how)?;
        }
        Ok(self.trainer.finish()?)
    }

    /// Works batches through in pieces of half as many visits from now on, as memory was not enough for one of so many. False if
    /// they would be too few.
    fn takes_smaller_pieces(&self, visits: usize) -> bool {
        let most = self.most.load(Ordering::Relaxed).min(visits) / 2;
        let enough = most >= FEWEST_VISITS;
        if enough {
            self.most.store(most, Ordering::Relaxed);
        }
        enough
    }

    /// The gradient of a batch that memory was not enough for, in pieces.
    fn again(&mut self, network: &Network, records: Selection<'_>) -> Result<(), TrainError> {
        let most = self.most.load(Ordering::Relaxed);
        self.trainer.forget();
        self.trainer.back_to_mark()?;
        let reader = &mut self.teacher.reader();
        let staging = self.trainer.staging();
        let lesson = lesson(self.teacher, reader, network, (records, most), &staging)?;
        self.differentiate(lesson)
    }

    /// Does what validates records, with fewer visits at once where memory lacks.
    fn with_enough_memory<R>(
        &mut self,
        work: impl Fn(&mut Self) -> Result<R, TrainError>,
    ) -> Result<R, TrainError> {
        loop {
            match work(self) {
                Err(TrainError::Gpu(GpuError::OutOfMemory)) if self.validated > FEWEST_VISITS => {
                    self.take_less();
                }
                done => return done,
            }
        }
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
                let lesson = lesson?;
                visits += lesson.iter().map(|piece| piece.batch.rows()).sum::<usize>();
                own.differentiate(lesson)?;
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
        self.with_enough_memory(|own| {
            let batches = crate::trainer::cut(records.cohort(), records.indices(), own.validated);
            own.validate(network, (records, &batches))
        })
    }

    fn validate(&mut self, network: &Network, batches: Batches<'_>) -> Result<f64, TrainError> {
        self.trainer.begin_nats(0.0)?;
        self.taught(network, batches, |own, lessons| {
            for lesson in lessons {
                for Piece { taught, mut batch } in lesson? {
                    own.trainer.nats(&mut batch, taught.objective(), Read::Average)?;
                }
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
        self.with_enough_memory(|own| {
            own.trainer.begin_fired()?;
            for batch in crate::trainer::untaught(network, records, own.validated) {
                let laid = GpuBatch::new(&batch, &Codewise, &own.trainer.staging())?;
                if let Some(mut laid) = laid {
                    own.trainer.note_fired(&mut laid)?;
                }
            }
            Ok(own.trainer.silent_units()?)
        })
    }

    /// How often codes are there that no rule decides, and by how much more often they are expected.
    pub fn counts(
        &mut self,
        network: &Network,
        records: Selection<'_>,
    ) -> Result<Counts, TrainError> {
        self.trainer.send_weights(network.weights().values())?;
        self.with_enough_memory(|own| own.counted(network, records))
    }

    fn counted(&mut self, network: &Network, records: Selection<'_>) -> Result<Counts, TrainError> {
        self.trainer.begin_surplus()?;
        let batches = crate::trainer::cut(records.cohort(), records.indices(), self.validated);
        let mut counts = Counts::new(network.codes(), records);
        self.taught(network, (records, &batches), |own, lessons| {
            for lesson in lessons {
                for Piece { taught, mut batch } in lesson? {
                    let expecting = Expecting { taught: &taught, touched: Mutex::default() };
                    own.trainer.add_surplus(&mut batch, &expecting)?;
                    let touched = expecting.touched.into_inner();
                    let mut touched = touched.unwrap_or_else(PoisonError::into_inner);
                    touched.sort_by_key(|(row, _)| *row);
                    counts.touch(touched.into_iter().flat_map(|(_, touched)| touched));
                    taught.batch.each_open(|code| counts.see(code));
                }
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
        let most = Arc::clone(&self.most);
        let teach = |reader: &mut _, number: usize| {
            let chosen = (records.others(&batches[number]), most.load(Ordering::Relaxed));
            lesson(teacher, reader, network, chosen, &staging)
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
