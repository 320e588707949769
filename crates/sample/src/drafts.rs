//! Records under way: attempts at them, and the queue that they leave in order of their numbers.

use std::collections::{BTreeMap, VecDeque};

use consequence_model::{Generator, Turn};
use consequence_record::Record;
use consequence_referee::Referee;

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
}

/// One record under way.
pub(crate) struct Entry {
    pub number: u64,
    missing: u16,
    /// The logarithms of the weights of its proposals.
    pub weights: Vec<f64>,
    kept: Option<Kept>,
    /// Attempts that were rejected, and how many of them broke each rule.
    pub rejected: u64,
    pub broken: BTreeMap<usize, u64>,
}

/// The proposal that is kept so far.
pub(crate) struct Kept {
    /// The largest key wins, and of equal ones the first proposal.
    pub key: f64,
    pub proposal: u16,
    pub record: Record,
    pub overruled: u64,
    pub truncated: bool,
}

impl<I: Iterator<Item = u64>> Queue<I> {
    pub fn new(numbers: I, proposals: u16, room: usize) -> Self {
        Self { numbers, proposals, room, entries: VecDeque::new(), first: 0, begun: proposals }
    }

    /// The next proposal to begin: which record it is for, that record's number, and which of its
    /// proposals it is. None while too many records wait, and after the last.
    pub fn begin(&mut self) -> Option<(u64, u64, u16)> {
        if self.begun == self.proposals {
            if self.entries.len() >= self.room {
                return None;
            }
            let number = self.numbers.next()?;
            self.entries.push_back(Entry {
                number,
                missing: self.proposals,
                weights: vec![0.0; usize::from(self.proposals)],
                kept: None,
                rejected: 0,
                broken: BTreeMap::new(),
            });
            self.begun = 0;
        }
        let entry = self.entries.back()?;
        let serial = self.first + self.entries.len() as u64 - 1;
        self.begun += 1;
        Some((serial, entry.number, self.begun - 1))
    }

    /// The record under way that a proposal is for.
    pub fn entry(&mut self, serial: u64) -> &mut Entry {
        &mut self.entries[(serial - self.first) as usize]
    }

    /// The records at the front that are complete.
    pub fn complete(&mut self) -> Vec<(Entry, Kept)> {
        let mut complete = Vec::new();
        while self.entries.front().is_some_and(|entry| entry.missing == 0)
            && let Some(mut entry) = self.entries.pop_front()
        {
            self.first += 1;
            let kept = entry.kept.take();
            complete.extend(kept.map(|kept| (entry, kept)));
        }
        complete
    }
}

impl Entry {
    /// Takes in a finished proposal.
    pub fn finish(&mut self, proposal: Kept, weight: f64) {
        self.missing -= 1;
        self.weights[usize::from(proposal.proposal)] = weight;
        let better = self.kept.as_ref().is_none_or(|kept| {
            proposal.key > kept.key || proposal.key == kept.key && proposal.proposal < kept.proposal
        });
        if better {
            self.kept = Some(proposal);
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
    past: G::Past,
    last: Vec<u32>,
}

impl<'a, G: Generator> Draft<'a, G> {
    pub fn new(generator: &G, decider: VisitDecider<'a>) -> Self {
        let past = generator.begin();
        Self { serial: 0, decider, broken: Vec::new(), past, last: Vec::new() }
    }

    /// Begins an attempt at a record.
    pub fn begin(
        &mut self,
        generator: &G,
        (serial, number): (u64, u64),
        attempt: u16,
        beginning: Option<Beginning<'a>>,
    ) {
        self.serial = serial;
        self.decider.begin(number, attempt, beginning);
        self.forget(generator);
    }

    /// Begins another attempt at the same record.
    pub fn begin_again(&mut self, generator: &G) {
        self.decider.begin_again(self.decider.attempt + 1);
        self.forget(generator);
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
