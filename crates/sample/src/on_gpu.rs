//! Records that are drawn on a GPU, visits and rules and all.
//!
//! The GPU draws the codes of records in the order that their slots become free; threads of the CPU give them dates and
//! values and have the referee judge them meanwhile, and they leave in the order of their numbers. A record that there was no
//! room for on the GPU is drawn on the CPU, which gives the same one but for what differs by the last bits of a probability.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use consequence_enforce::{FiledConjunctions, Tables};
use consequence_engine::cuda::{
    CodeLists, Conjunctions, Gpu, GpuError, Handed, WalkDraws, WalkEnd, WalkRules, WalkWindow,
    Walked,
};
use consequence_model::{EndsByDays, Network, NetworkGenerator};
use consequence_network::gpu::{DeckSize, GpuSampler, Supply, WalkSettings, takes};
use consequence_prng::Draws;
use consequence_record::{Lists, Record};
use consequence_rules::Order;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use thiserror::Error;

use crate::drafts::{Begun, Complete, Finished, Queue};
use crate::drawing::Clock;
use crate::lanes::{Dealt, Lane};
use crate::{DrawnBy, Mode, SampleError, Sampled, Sampler, Totals};

/// Records that may wait for one before them, for each slot of the GPU.
const ROOM: usize = 32;

/// Pieces of what the GPU has drawn that may wait to be judged.
const PIECES: usize = 4;

/// Why records are drawn on the CPU although there is a GPU.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotOnGpu {
    /// The network is larger than a GPU takes.
    #[error("HALO's network with heads of more than 256 numbers is sampled on the CPU")]
    WideHeads,
    /// A way of writing that needs the CPU.
    #[error("mode `{0}` is done on the CPU")]
    Mode(&'static str),
    /// Records begin with others.
    #[error("records that begin with others are continued on the CPU")]
    Prefix,
    /// Records are drawn until they are of a group.
    #[error("records of groups are drawn on the CPU")]
    Groups,
    /// Rules that have no tables.
    #[error(
        "rules about days, counts, ages or values, and those that need a decision diagram, are followed on the CPU"
    )]
    Rules,
    /// The GPU cannot be used.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// A network on GPUs, made ready for one request.
pub(crate) struct OnGpu {
    samplers: Vec<Mutex<GpuSampler>>,
    drawn_by: DrawnBy,
    /// Records that they had no room for.
    left: AtomicU64,
    /// For how long each of them drew.
    drew: Vec<Clock>,
}

impl OnGpu {
    /// Records that are drawn at once.
    pub fn slots(&self) -> usize {
        self.samplers.iter().map(|sampler| locked(sampler).slots()).sum()
    }

    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    pub fn drawn_by(&self) -> DrawnBy {
        self.drawn_by.clone()
    }

    /// For how long the one drew that took longest.
    pub fn drew(&self) -> f64 {
        self.drew.iter().map(Clock::seconds).fold(0.0, f64::max)
    }
}

impl<'a> Sampler<'a, NetworkGenerator> {
    /// Has GPUs draw the records, each what it is the next to be free for. If they cannot, the CPU goes on doing so, and
    /// it is told why.
    ///
    /// # Panics
    ///
    /// If the network is another than the one this was made of.
    pub fn draw_on(
        &mut self,
        gpus: Vec<Gpu>,
        network: &Network,
        size: DeckSize,
    ) -> Result<(), NotOnGpu> {
        let codes = self.codes();
        assert_eq!(network.codes(), codes, "the network of the sampler");
        self.can_be_drawn_on_gpu(network)?;
        let weights = network.weights();
        let rules = match self.obeyed() {
            Some(rules) => walk_rules(&rules.enforcer.tables().ok_or(NotOnGpu::Rules)?),
            None => WalkRules::none(codes.len()),
        };
        let request = self.request();
        let settings = WalkSettings {
            statics: codes.range(0).end as usize,
            end: codes.end() as usize,
            last_visit: self.max_visits(),
            ends: network.ends().map(|ends| walk_end(codes, ends)).unwrap_or_default(),
            draws: WalkDraws {
                key: Draws::new(request.seed).key(),
                temperature: request.temperature,
            },
            rules,
        };
        let drawn_by = gpus.first().map_or(DrawnBy::Cpu, |gpu| DrawnBy::Gpu {
            name: gpu.name().to_owned(),
            precision: gpu.precision().name().to_owned(),
        });
        let ready = |gpu| Ok(Mutex::new(GpuSampler::new(gpu, weights, &settings, size)?));
        let samplers = gpus.into_iter().map(ready).collect::<Result<Vec<_>, GpuError>>()?;
        let (left, drew) = (AtomicU64::new(0), samplers.iter().map(|_| Clock::default()).collect());
        self.on_gpu = Some(OnGpu { samplers, drawn_by, left, drew });
        Ok(())
    }

    /// Whether what is asked can be done on a GPU at all, if there is one.
    pub fn can_be_drawn_on_gpu(&self, network: &Network) -> Result<(), NotOnGpu> {
        if !takes(&network.weights().shape()) {
            return Err(NotOnGpu::WideHeads);
        }
        if self.obeyed().is_some_and(|rules| rules.enforcer.tables().is_none()) {
            return Err(NotOnGpu::Rules);
        }
        let request = self.request();
        match request.mode {
            Mode::Guided | Mode::Off if request.pass.is_none() => {}
            Mode::Guided | Mode::Off => return Err(NotOnGpu::Mode("the published pass")),
            mode => return Err(NotOnGpu::Mode(mode.name())),
        }
        if request.prefix.is_some() {
            return Err(NotOnGpu::Prefix);
        }
        match self.has_groups() {
            true => Err(NotOnGpu::Groups),
            false => Ok(()),
        }
    }
}

impl<'a, G: consequence_model::Generator> Sampler<'a, G> {
    /// Gives back the GPUs that records were drawn on.
    pub fn into_gpus(self) -> Vec<Gpu> {
        let samplers = self.on_gpu.map(|gpu| gpu.samplers).unwrap_or_default();
        let sampler = |sampler: Mutex<GpuSampler>| {
            sampler.into_inner().unwrap_or_else(PoisonError::into_inner).into_gpu()
        };
        samplers.into_iter().map(sampler).collect()
    }

    /// Records so far that a GPU had no room for, so that the CPU drew them.
    pub fn left_by_gpu(&self) -> u64 {
        self.on_gpu.as_ref().map_or(0, OnGpu::left)
    }

    /// The same as [`Sampler::each`], the codes being drawn on a GPU.
    pub(crate) fn each_on_gpu(
        &self,
        on_gpu: &OnGpu,
        numbers: impl Iterator<Item = u64> + Send,
        totals: &mut Totals,
        each: &mut impl FnMut(Sampled) -> Result<(), SampleError>,
    ) -> Result<(), SampleError> {
        let OnGpu { samplers, left, drew, .. } = on_gpu;
        // The queue is asked and told for moments only.
        let queue = Mutex::new(Queue::new(numbers, 1, ROOM * on_gpu.slots()));
        let (send, receive) = sync_channel::<Result<Handed, GpuError>>(PIECES);
        let stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (queue, stopped) = (&queue, &stopped);
            // However this ends, nobody draws for it any more.
            let _stops = Stops(stopped);
            let drawing = samplers.iter().zip(drew).map(|(sampler, drew)| {
                let send = send.clone();
                scope.spawn(move || drawn(&mut locked(sampler), queue, &send, (stopped, drew)))
            });
            let drawing: Vec<_> = drawing.collect();
            drop(send);
            for handed in receive {
                let handed = handed.map_err(SampleError::Gpu)?;
                let began = Instant::now();
                let judged: Vec<(u64, Finished)> = (0..handed.len())
                    .into_par_iter()
                    .with_min_len(16)
                    .map(|index| handed.walked(index))
                    .map(|walked| (walked.number, self.finished(walked, left)))
                    .collect();
                self.clocks.judging.add(began.elapsed());
                let complete: Vec<Complete> = {
                    let mut queue = locked(queue);
                    for (number, finished) in judged {
                        let serial = queue.serial(number);
                        queue.finish(Finished { serial, ..finished });
                    }
                    queue.complete()
                };
                for record in complete {
                    self.give(record, totals, each)?;
                }
            }
            drawing.into_iter().try_for_each(|drawing| {
                drawing.join().map_err(|panic| std::panic::resume_unwind(panic))
            })
        })
    }

    /// What came of a record that was drawn on the GPU.
    fn finished(&self, walked: Walked, left: &AtomicU64) -> Finished {
        // Which of those under way it is, the queue knows.
        let (number, serial) = (walked.number, 0);
        let Some(visits) = walked.visits else {
            if walked.no_probability {
                return Finished { serial, outcome: Err(SampleError::Probability), rejected: 0 };
            }
            left.fetch_add(1, Ordering::Relaxed);
            return self.drawn_here(Begun { serial, number, proposal: 0 });
        };
        let codes = self.generator().codes();
        let visits = visits.into_iter().map(|visit| {
            let mut visit: Vec<_> = visit.into_iter().map(|at| codes.code(at)).collect();
            visit.sort_unstable();
            visit
        });
        let record = Record { visits: visits.collect(), ended: true };
        let (overruled, truncated) = (walked.overruled.into(), walked.truncated);
        let outcome = self.judged(number, record, overruled, truncated);
        Finished { serial, outcome, rejected: 0 }
    }

    /// Draws a record on the thread that calls.
    fn drawn_here(&self, begun: Begun) -> Finished {
        let serial = begun.serial;
        let mut lane: Lane<'_, G> = Lane::default();
        lane.run(self, &Dealt::of(begun), true);
        let finished = lane.finished().next();
        finished.unwrap_or(Finished { serial, outcome: Err(SampleError::Stopped), rejected: 0 })
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops those who draw.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Has a GPU draw records until none are left, or nobody takes them. One that runs out of memory goes on with fewer slots.
fn drawn<I: Iterator<Item = u64>>(
    sampler: &mut GpuSampler,
    queue: &Mutex<Queue<I>>,
    send: &SyncSender<Result<Handed, GpuError>>,
    (stopped, drew): (&AtomicBool, &Clock),
) {
    let is_stopped = || stopped.load(Ordering::Relaxed);
    // What the GPU took up and did not hand back, and what is to be taken up again.
    let under_way = RefCell::new(FxHashSet::default());
    let again = RefCell::new(Vec::new());
    let supply = || {
        if is_stopped() {
            return Supply::Over;
        }
        let number = match again.borrow_mut().pop() {
            Some(number) => number,
            None => {
                let mut queue = locked(queue);
                match queue.begin() {
                    Some(begun) => begun.number,
                    None if queue.is_over() => return Supply::Over,
                    None => return Supply::Later,
                }
            }
        };
        under_way.borrow_mut().insert(number);
        Supply::Number(number)
    };
    // One GPU draws a limited number of records at a stretch.
    let is_done = || again.borrow().is_empty() && locked(queue).is_over();
    while !is_stopped() && !is_done() {
        let (began, mut waited) = (Instant::now(), Duration::ZERO);
        let drawn = sampler.draw(supply, |handed| {
            let began = Instant::now();
            let mut under_way = under_way.borrow_mut();
            for index in 0..handed.len() {
                under_way.remove(&handed.number(index));
            }
            drop(under_way);
            let taken = send.send(Ok(handed)).is_ok();
            waited += began.elapsed();
            taken
        });
        drew.add(began.elapsed().saturating_sub(waited + sampler.rested()));
        let shrunk = match drawn {
            Err(GpuError::OutOfMemory) => sampler.shrink(),
            drawn => drawn.map(|()| true),
        };
        if !matches!(shrunk, Ok(true)) {
            // Nobody may listen any more.
            let _ = send.send(Err(shrunk.err().unwrap_or(GpuError::OutOfMemory)));
            return;
        }
        again.borrow_mut().extend(under_way.borrow_mut().drain());
        again.borrow_mut().sort_unstable_by(|one, other| other.cmp(one));
    }
}

/// The tables of rules as a GPU takes them.
fn walk_rules(tables: &Tables) -> WalkRules {
    let conjunctions = |from: &FiledConjunctions| {
        let (ends, conditions) = laid(&from.conditions);
        let (filed_ends, items) = laid(&from.filed);
        Conjunctions {
            starts: std::iter::once(0).chain(ends).collect(),
            conditions,
            visits: from
                .visits
                .iter()
                .map(|visits| u32::from(visits.first) | u32::from(visits.last) << 16)
                .collect(),
            ends: filed_ends,
            items,
        }
    };
    let lists = |from: &Lists<u32>| {
        let (ends, codes) = laid(from);
        CodeLists { ends, codes }
    };
    let numbers = |numbers: &[u16]| numbers.iter().map(|&number| number.into()).collect();
    WalkRules {
        row_bits: tables.row_bits as usize,
        windows: tables
            .windows
            .iter()
            .map(|window| WalkWindow {
                past: window.is_past(),
                visits: numbers(window.visits()),
                distances: numbers(window.distances()),
            })
            .collect(),
        asked: tables.asked.clone(),
        demands: conjunctions(&tables.demands),
        outputs: tables.outputs.clone(),
        softs: tables.drawn_by.iter().map(|soft| soft.unwrap_or(u32::MAX)).collect(),
        soft: tables.soft.clone(),
        bars: conjunctions(&tables.bars),
        waits: (conjunctions(&tables.due.0), lists(&tables.due.1)),
        tests: (conjunctions(&tables.tests.0), lists(&tables.tests.1)),
        standing: tables.standing.clone(),
        standing_waits: tables.standing_due.clone(),
    }
}

/// Lists end to end: where each ends, and their items.
fn laid(lists: &Lists<u32>) -> (Vec<u32>, Vec<u32>) {
    let mut end = 0;
    let ends = lists.iter().map(|list| {
        end += list.len() as u32;
        end
    });
    (ends.collect(), lists.iter().flatten().copied().collect())
}

fn walk_end(codes: &Order, ends: &EndsByDays) -> WalkEnd {
    let names: BTreeMap<&str, f64> =
        ends.days().iter().map(|(name, &days)| (name.as_str(), days)).collect();
    let of = |&code| names.get(codes.vocabulary().name(code)).copied().unwrap_or(-1.0);
    let cells = ends.cells().iter();
    WalkEnd {
        days: codes.codes().iter().map(of).collect(),
        cells: cells.map(|cell| [f64::from(cell.from_days), cell.level, cell.by_pace]).collect(),
    }
}
