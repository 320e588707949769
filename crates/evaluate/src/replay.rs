//! Records that exist, decided again: the truth is forced, and what it costs is added up.

use consequence_enforce::{Ruling, Writer};
use consequence_model::Decide;

use crate::record::{Parts, RecordNats, SettledPosition};

/// What something other than the model says of a code, given the truth about it.
pub(crate) enum Verdict {
    /// Nothing: the model's probability counts.
    Free,
    /// It costs this much, whatever the model says.
    Nats(f64),
    /// The truth is not allowed.
    Forbidden,
}

/// Something other than the model that has a say in what codes cost.
pub(crate) trait Judge: Send {
    /// A record begins: its index in the cohort.
    fn begin(&mut self, record: usize);
    /// A visit begins.
    fn open(&mut self, visit: usize);
    /// The next code, in order, and whether it is present.
    fn judge(&mut self, position: u32, present: bool) -> Verdict;
    /// The visit ends.
    fn close(&mut self);
}

/// The model alone.
pub(crate) struct NoJudge;

impl Judge for NoJudge {
    fn begin(&mut self, _: usize) {}
    fn open(&mut self, _: usize) {}
    fn judge(&mut self, _: u32, _: bool) -> Verdict {
        Verdict::Free
    }
    fn close(&mut self) {}
}

/// Rules, from what is already decided.
pub(crate) struct ByRules<'a>(pub Writer<'a>);

impl Judge for ByRules<'_> {
    fn begin(&mut self, _: usize) {
        self.0.take();
    }

    fn open(&mut self, _: usize) {
        self.0.open();
    }

    fn judge(&mut self, position: u32, present: bool) -> Verdict {
        let ruling = self.0.ruling(position);
        self.0.place(position, present);
        match ruling {
            Ruling::Free => Verdict::Free,
            Ruling::Soft { probability, .. } => Verdict::Nats(cost(present, probability)),
            Ruling::Forced(forced) if forced == present => Verdict::Nats(0.0),
            Ruling::Forced(_) => Verdict::Forbidden,
        }
    }

    fn close(&mut self) {
        self.0.close();
    }
}

/// A list for each visit, made beforehand.
pub(crate) struct ByList<F> {
    pub list: F,
    pub record: usize,
    pub settled: Vec<SettledPosition>,
}

impl<F: FnMut(usize, usize) -> Vec<SettledPosition> + Send> Judge for ByList<F> {
    fn begin(&mut self, record: usize) {
        self.record = record;
    }

    fn open(&mut self, visit: usize) {
        self.settled = (self.list)(self.record, visit);
        self.settled.sort_by_key(|settled| settled.position);
    }

    fn judge(&mut self, position: u32, _: bool) -> Verdict {
        let found = self.settled.binary_search_by_key(&position, |settled| settled.position);
        found.map_or(Verdict::Free, |index| Verdict::Nats(self.settled[index].nats))
    }

    fn close(&mut self) {}
}

/// Forces the truth of one record, visit by visit, and adds up what it costs.
pub(crate) struct Replay<J> {
    pub judge: J,
    statics: u32,
    end: u32,
    /// The last visit that a record may have, where `END` is certain.
    last: usize,
    visit: usize,
    /// The visit as ascending positions.
    pub truth: Vec<u32>,
    passed: usize,
    /// How many codes of the visit have been asked for.
    pub asked: usize,
    parts: Parts,
    forbidden: bool,
    /// A probability that is none: the position, and what was given.
    pub bad: Option<(u32, f64)>,
}

impl<J: Judge> Replay<J> {
    pub fn new(judge: J, statics: u32, end: u32, last: usize) -> Self {
        Self {
            judge,
            statics,
            end,
            last,
            visit: 0,
            truth: Vec::new(),
            passed: 0,
            asked: 0,
            parts: Parts::default(),
            forbidden: false,
            bad: None,
        }
    }

    /// A record begins: its index in the cohort.
    pub fn begin(&mut self, record: usize) {
        self.judge.begin(record);
        self.parts = Parts::default();
        self.forbidden = false;
    }

    /// A visit begins, which holds these positions.
    pub fn open(&mut self, visit: usize, truth: Vec<u32>) {
        self.judge.open(visit);
        self.visit = visit;
        self.truth = truth;
        (self.passed, self.asked) = (0, 0);
    }

    /// What the record cost.
    pub fn outcome(&self) -> RecordNats {
        match () {
            () if self.forbidden => RecordNats::Forbidden,
            () if self.parts.total().is_infinite() => RecordNats::Infinite,
            () => RecordNats::Finite(self.parts),
        }
    }
}

impl<J: Judge> Decide for Replay<J> {
    fn decide(&mut self, position: u32, probability: f64) -> bool {
        self.asked += 1;
        let present = self.truth.get(self.passed) == Some(&position);
        self.passed += usize::from(present);
        if !(0.0..=1.0).contains(&probability) {
            self.bad = self.bad.or(Some((position, probability)));
            return present;
        }
        let verdict = self.judge.judge(position, present);
        let nats = match verdict {
            // No record goes on from here, so that one ends tells nothing; one that was cut may have
            // been cut for that very reason.
            _ if position == self.end && self.visit == self.last => 0.0,
            Verdict::Free => cost(present, probability),
            Verdict::Nats(nats) => nats,
            Verdict::Forbidden => {
                self.forbidden = true;
                0.0
            }
        };
        match position {
            _ if position < self.statics => self.parts.static_codes += nats,
            _ if position == self.end => self.parts.end += nats,
            _ => self.parts.encounter_codes += nats,
        }
        present
    }
}

/// What the truth costs under a probability: `-ln` of it.
fn cost(present: bool, probability: f64) -> f64 {
    if present { -probability.ln() } else { -(-probability).ln_1p() }
}
