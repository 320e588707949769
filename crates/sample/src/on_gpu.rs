//! Records that are drawn on a GPU, visits and rules and all.
//!
//! The GPU draws the codes of records in the order that their slots become free; threads of the CPU give them dates and
//! values and have the referee judge them meanwhile, and they leave in the order of their numbers. A record that there was no
//! room for on the GPU is drawn on the CPU, which gives the same one but for what differs by the last bits of a probability.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

use consequence_enforce::{FiledConjunctions, Tables};
use consequence_engine::cuda::{
    CodeLists, Conjunctions, Gpu, GpuError, WalkDraws, WalkEnd, WalkRules, WalkWindow, Walked,
};
use consequence_model::{EndsByDays, Network, NetworkGenerator};
use consequence_network::Weights;
use consequence_network::recurrent::gpu::{DeckSize, GpuSampler, Supply, WalkSettings};
use consequence_prng::Draws;
use consequence_record::{Lists, Record};
use consequence_rules::Order;
use rayon::prelude::*;
use thiserror::Error;

use crate::drafts::{Begun, Complete, Finished, Queue};
use crate::lanes::{Dealt, Lane};
use crate::{Mode, SampleError, Sampled, Sampler, Totals};

/// Records that may wait for one before them, for each slot of the GPU.
const ROOM: usize = 32;

/// Pieces of what the GPU has drawn that may wait to be judged.
const PIECES: usize = 4;

/// Why records are drawn on the CPU although there is a GPU.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotOnGpu {
    /// The network is of a kind that only the CPU draws by.
    #[error("HALO's network is sampled on the CPU")]
    Network,
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

/// A network on a GPU, made ready for one request.
pub(crate) struct OnGpu {
    sampler: Mutex<GpuSampler>,
    /// Records that it had no room for.
    left: AtomicU64,
}

impl<'a> Sampler<'a, NetworkGenerator> {
    /// Has a GPU draw the records. If it cannot, the CPU goes on doing so, and it is told why.
    ///
    /// # Panics
    ///
    /// If the network is another than the one this was made of.
    pub fn draw_on(&mut self, gpu: Gpu, network: &Network, size: DeckSize) -> Result<(), NotOnGpu> {
        let codes = self.codes();
        assert_eq!(network.codes(), codes, "the network of the sampler");
        self.can_be_drawn_on_gpu()?;
        let Weights::Recurrent(weights) = network.weights() else { return Err(NotOnGpu::Network) };
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
        let sampler = Mutex::new(GpuSampler::new(gpu, weights, &settings, size)?);
        self.on_gpu = Some(OnGpu { sampler, left: AtomicU64::new(0) });
        Ok(())
    }

    /// Whether what is asked can be done on a GPU at all.
    fn can_be_drawn_on_gpu(&self) -> Result<(), NotOnGpu> {
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
    /// Records so far that a GPU had no room for, so that the CPU drew them.
    pub fn left_by_gpu(&self) -> u64 {
        self.on_gpu.as_ref().map_or(0, |gpu| gpu.left.load(Ordering::Relaxed))
    }

    /// The same as [`Sampler::each`], the codes being drawn on a GPU.
    pub(crate) fn each_on_gpu(
        &self,
        OnGpu { sampler: gpu, left }: &OnGpu,
        numbers: impl Iterator<Item = u64> + Send,
        totals: &mut Totals,
        each: &mut impl FnMut(Sampled) -> Result<(), SampleError>,
    ) -> Result<(), SampleError> {
        let drawn_at_once = gpu.lock().unwrap_or_else(PoisonError::into_inner).slots();
        let queue = Mutex::new(Queue::new(numbers, 1, ROOM * drawn_at_once));
        // The queue is asked and told for moments only.
        let locked = || queue.lock().unwrap_or_else(PoisonError::into_inner);
        let (send, receive) = sync_channel::<(u64, Vec<Walked>)>(PIECES);
        std::thread::scope(|scope| {
            let drawing = scope.spawn(move || {
                let mut gpu = gpu.lock().unwrap_or_else(PoisonError::into_inner);
                let mut first = 0;
                while !locked().is_over() {
                    let mut begun = 0;
                    let supply = || {
                        let mut queue = locked();
                        match queue.begin() {
                            Some(one) => {
                                begun += 1;
                                Supply::Number(one.number)
                            }
                            None if queue.is_over() => Supply::Over,
                            None => Supply::Later,
                        }
                    };
                    let mut heard = true;
                    gpu.draw(supply, |walked| {
                        heard = send.send((first, walked)).is_ok();
                        heard
                    })?;
                    if !heard {
                        break;
                    }
                    first += begun;
                }
                Ok::<_, GpuError>(())
            });
            for (first, walked) in receive {
                let finished: Vec<Finished> = walked
                    .into_par_iter()
                    .with_min_len(16)
                    .map(|walked| self.finished(first, walked, left))
                    .collect();
                let complete: Vec<Complete> = {
                    let mut queue = locked();
                    finished.into_iter().for_each(|one| queue.finish(one));
                    queue.complete()
                };
                for record in complete {
                    self.give(record, totals, each)?;
                }
            }
            match drawing.join() {
                Ok(drawn) => drawn.map_err(SampleError::Gpu),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// What came of a record that was drawn on the GPU.
    fn finished(&self, first: u64, walked: Walked, left: &AtomicU64) -> Finished {
        let serial = first + walked.index as u64;
        let number = walked.number;
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
