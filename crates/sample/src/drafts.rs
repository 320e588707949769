//! Records under way: attempts at them, and the queue that they leave in order of their numbers.

use std::collections::{BTreeMap, VecDeque};

use consequence_model::{Generator, Turn};
use consequence_record::{Details, Record};
use consequence_referee::Referee;

use crate::SampleError;
use crate::decider::VisitDecider;
use crate::prefix::Beginning;

/// Records under way. They are begun in order, finish in any order, and leave in order.
pub(crate) struct Queue<I> {
    numbers: I,
    proposals: u16,
    /// The most records that may wait for one before them.
    room: usize,
    entries: VecDeque<Entry>,
    /// Which record the first entry is, counted from the first that was begun.
    first: u64,
    /// Proposals of the last entry that were begun.
    begun: u16,
    /// Whether no more numbers follow.
    over: bool,
}

/// A proposal to begin: which of the records under way it is for, that record's number, and which of
/// its proposals it is.
pub(crate) struct Begun {
    pub serial: u64,
    pub number: u64,
    pub proposal: u16,
}

/// What came of a proposal.
pub(crate) struct Finished {
    pub serial: u64,
    pub outcome: Result<Kept, SampleError>,
    /// Attempts before it that broke a rule.
    pub rejected: u64,
}

/// One record under way.
struct Entry {
    missing: u16,
    complete: Complete,
}

/// What came of all proposals for a record.
pub(crate) struct Complete {
    pub number: u64,
    /// The proposal that is kept, or what went wrong with one; nothing before the first.
    pub outcome: Option<Result<Kept, SampleError>>,
    /// The logarithms of the weights of its proposals.
    pub weights: Vec<f64>,
    /// Attempts that broke a rule.
    pub rejected: u64,
}

/// The proposal that is kept so far.
pub(crate) struct Kept {
    /// The largest key wins, and of equal ones the first proposal.
    pub key: f64,
    pub proposal: u16,
    /// The logarithm of its weight.
    pub weight: f64,
    pub record: Record,
    pub details: Details,
    pub overruled: u64,
    pub truncated: bool,
    /// Whether it is not of the groups given, so that it is kept only if no other is either.
    pub outside: bool,
}

impl<I: Iterator<Item = u64>> Queue<I> {
    pub fn new(numbers: I, proposals: u16, room: usize) -> Self {
        let (entries, begun) = (VecDeque::new(), proposals);
        Self { numbers, proposals, room, entries, first: 0, begun, over: false }
    }

    /// The next proposal to begin. None while too many records wait, and after the last.
    pub fn begin(&mut self) -> Option<Begun> {
        if self.begun == self.proposals {
            if self.entries.len() >= self.room {
                return None;
            }
            let Some(number) = self.numbers.next() else {
                self.over = true;
                return None;
            };
            let weights = vec![0.0; usize::from(self.proposals)];
            let complete = Complete { number, outcome: None, weights, rejected: 0 };
            self.entries.push_back(Entry { missing: self.proposals, complete });
            self.begun = 0;
        }
        let number = self.entries.back()?.complete.number;
        let serial = self.first + self.entries.len() as u64 - 1;
        self.begun += 1;
        Some(Begun { serial, number, proposal: self.begun - 1 })
    }

    /// Whether every proposal was begun.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Which of the records under way has a number.
    pub fn serial(&self, number: u64) -> u64 {
        let before = self.entries.partition_point(|entry| entry.complete.number < number);
        self.first + before as u64
    }

    /// Takes in a finished proposal.
    pub fn finish(&mut self, finished: Finished) {
        let entry = &mut self.entries[(finished.serial - self.first) as usize];
        entry.missing -= 1;
        entry.complete.take(finished);
    }

    /// The records at the front that are complete.
    pub fn complete(&mut self) -> Vec<Complete> {
        let waiting = self.entries.iter().position(|entry| entry.missing > 0);
        let complete = waiting.unwrap_or(self.entries.len());
        self.first += complete as u64;
        self.entries.drain(..complete).map(|entry| entry.complete).collect()
    }
}

impl Complete {
    fn take(&mut self, finished: Finished) {
        self.rejected += finished.rejected;
        if let Ok(kept) = &finished.outcome {
            self.weights[usize::from(kept.proposal)] = kept.weight;
        }
        let better = match (&self.outcome, &finished.outcome) {
            (None, _) => true,
            (Some(Ok(kept)), Ok(new)) => {
                new.key > kept.key || new.key == kept.key && new.proposal < kept.proposal
            }
            (Some(Ok(_)), Err(_)) => true,
            (Some(Err(_)), _) => false,
        };
        if better {
            self.outcome = Some(finished.outcome);
        }
    }
}

/// One attempt at a record, under way.
pub(crate) struct Draft<'a, G: Generator> {
    /// Which of the records under way it is for.
    pub serial: u64,
    pub decider: VisitDecider<'a>,
    /// The rules that the visit written last breaks, where that is asked.
    pub broken: Vec<usize>,
    /// Attempts at the record that were rejected, and how many of them broke each rule.
    pub rejected: u64,
    pub broken_before: BTreeMap<usize, u64>,
    /// How many of them were not of each group.
    pub outside_before: BTreeMap<usize, u64>,
    past: G::Past,
    last: Vec<u32>,
}

impl<'a, G: Generator> Draft<'a, G> {
    pub fn new(generator: &G, decider: VisitDecider<'a>) -> Self {
        let past = generator.begin();
        Self {
            serial: 0,
            decider,
            broken: Vec::new(),
            rejected: 0,
            broken_before: BTreeMap::new(),
            outside_before: BTreeMap::new(),
            past,
            last: Vec::new(),
        }
    }

    /// Begins an attempt at a record.
    pub fn begin(&mut self, generator: &G, begun: &Begun, beginning: Option<Beginning<'a>>) {
        self.serial = begun.serial;
        self.rejected = 0;
        self.broken_before.clear();
        self.outside_before.clear();
        self.decider.begin(begun.number, begun.proposal, beginning);
        self.forget(generator);
    }

    /// Begins another attempt at the same record, since this one is rejected.
    pub fn begin_again(&mut self, generator: &G) {
        self.decider.begin_again(self.decider.attempt + 1);
        self.forget(generator);
    }

    /// Counts this attempt among those that broke rules, or are not of a group.
    pub fn reject(&mut self, outside: Option<usize>) {
        self.rejected += 1;
        if let Some(group) = outside {
            *self.outside_before.entry(group).or_default() += 1;
        }
        for &rule in &self.broken {
            *self.broken_before.entry(rule).or_default() += 1;
        }
    }

    fn forget(&mut self, generator: &G) {
        self.past = generator.begin();
        self.last.clear();
        self.broken.clear();
    }

    /// The next visit, for the model.
    pub fn turn(&mut self) -> Turn<'_, G::Past> {
        let last = (self.decider.visit() > 0).then_some(self.last.as_slice());
        Turn { past: &mut self.past, last, decider: &mut self.decider }
    }

    /// Ends the visit, and finds the rules that it breaks if there is someone to judge.
    pub fn close(&mut self, referee: Option<&Referee>) {
        let visit = self.decider.visit();
        self.decider.close(&mut self.last);
        if let Some(referee) = referee {
            let record = self.decider.record();
            let broken = |&rule: &usize| {
                referee.required(rule, visit) && !referee.holds(rule, record, visit)
            };
            self.broken.extend((0..referee.rule_count()).filter(broken));
        }
    }

    /// Whether the record has ended.
    pub fn ended(&self) -> bool {
        self.decider.record().ended
    }
}
