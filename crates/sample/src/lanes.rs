//! Records that threads take through the model side by side, each thread some of its own.
//!
//! A record depends on its number alone, so it does not matter which thread writes it. Threads go on
//! by themselves until all that was dealt to them is begun; what they have finished leaves in order
//! while they are at what they are dealt next.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use consequence_model::{Generator, Turn};

use crate::drafts::{Begun, Draft, Finished, Queue};
use crate::{SampleError, Sampler};

/// Proposals that all threads take from.
#[derive(Default)]
pub(crate) struct Dealt {
    begun: Mutex<VecDeque<Begun>>,
}

impl Dealt {
    /// One alone.
    pub fn of(begun: Begun) -> Self {
        Self { begun: Mutex::new(VecDeque::from([begun])) }
    }

    /// Adds proposals until there are `most`, or no more for now.
    pub fn refill(&mut self, queue: &mut Queue<impl Iterator<Item = u64>>, most: usize) {
        let begun = self.begun.get_mut().unwrap_or_else(PoisonError::into_inner);
        let missing = most.saturating_sub(begun.len());
        begun.extend(std::iter::from_fn(|| queue.begin()).take(missing));
    }

    /// Takes up to so many, and no more than a fair share of what is there.
    fn take(&self, most: usize, to: &mut Vec<Begun>) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let share = begun.len().div_ceil(rayon::current_num_threads());
        to.extend(begun.drain(..most.min(share)));
    }

    /// Whether all was taken.
    pub fn is_empty(&self) -> bool {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// The records of one thread.
pub(crate) struct Lane<'a, G: Generator> {
    taken: Vec<Begun>,
    drafts: Vec<Draft<'a, G>>,
    idle: Vec<Draft<'a, G>>,
    scratch: G::Scratch,
    finished: Vec<Finished>,
    worked: Duration,
}

impl<G: Generator> Default for Lane<'_, G> {
    fn default() -> Self {
        Self {
            taken: Vec::new(),
            drafts: Vec::new(),
            idle: Vec::new(),
            scratch: G::Scratch::default(),
            finished: Vec::new(),
            worked: Duration::ZERO,
        }
    }
}

impl<'a, G: Generator> Lane<'a, G> {
    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.drafts.is_empty()
    }

    /// What was finished since this was asked last.
    pub fn finished(&mut self) -> impl Iterator<Item = Finished> {
        self.finished.drain(..)
    }

    /// For how long it worked since this was asked last.
    pub fn worked(&mut self) -> Duration {
        std::mem::take(&mut self.worked)
    }

    /// Goes on, a visit of every record at a time, until all that was dealt is begun; `to_the_end`,
    /// until all is finished.
    pub fn run(&mut self, sampler: &'a Sampler<'_, G>, dealt: &Dealt, to_the_end: bool) {
        let began = Instant::now();
        self.go_on(sampler, dealt, to_the_end);
        self.worked += began.elapsed();
    }

    fn go_on(&mut self, sampler: &'a Sampler<'_, G>, dealt: &Dealt, to_the_end: bool) {
        let batch = sampler.request().batch;
        loop {
            dealt.take(batch - self.drafts.len(), &mut self.taken);
            for begun in self.taken.drain(..) {
                let draft = self.idle.pop();
                let mut draft = draft.unwrap_or_else(|| sampler.draft());
                draft.begin(sampler.generator(), &begun, sampler.beginning(begun.number));
                self.drafts.push(draft);
            }
            if self.drafts.is_empty() {
                return;
            }
            self.step(sampler);
            if !to_the_end && dealt.is_empty() {
                return;
            }
        }
    }

    /// One visit of every record under way.
    fn step(&mut self, sampler: &'a Sampler<'_, G>) {
        let mut turns: Vec<Turn<'_, G::Past>> = self.drafts.iter_mut().map(Draft::turn).collect();
        sampler.generator().next(&mut turns, &mut self.scratch);
        let mut at = 0;
        while at < self.drafts.len() {
            let draft = &mut self.drafts[at];
            draft.close(sampler.rejecting());
            let judged = match draft.ended() {
                true => sampler.broken_at_end(&draft.decider),
                false => Ok(Vec::new()),
            };
            let judged = judged.and_then(|broken| {
                draft.broken.extend(broken);
                match draft.ended() && draft.broken.is_empty() {
                    true => sampler.outside(&draft.decider),
                    false => Ok(None),
                }
            });
            let outside = judged.as_ref().ok().copied().flatten();
            let outcome = if draft.decider.bad_probability {
                Err(SampleError::Probability)
            } else if let Err(error) = judged {
                Err(error)
            } else if draft.decider.no_days {
                Err(SampleError::NoDays { record: draft.decider.number + 1 })
            } else if !draft.broken.is_empty() || outside.is_some() {
                draft.reject(outside);
                if draft.decider.attempt + 1 < sampler.request().attempts {
                    draft.begin_again(sampler.generator());
                    at += 1;
                    continue;
                }
                Err(sampler.exhausted(draft))
            } else if draft.ended() {
                sampler.kept(draft)
            } else {
                at += 1;
                continue;
            };
            let draft = self.drafts.swap_remove(at);
            let (serial, rejected) = (draft.serial, draft.rejected);
            self.finished.push(Finished { serial, outcome, rejected });
            self.idle.push(draft);
        }
    }
}
