//! The look-ahead of a visit that is known: what it costs and how that changes with a model's logits.
//!
//! It is for models whose answer changes only when a code comes on: between two codes that are present
//! there is one *state*. A clause that is due, or the decision diagram, reads under each state the
//! logits of the codes that it still waits for; those that are decided under the same state read them
//! together. What is computed is what [`Writer::proposal`] computes, code by code, for a model that is
//! trained with the rules: codes that make clauses due are not tested.

use std::collections::HashMap;
use std::ops::Range;

use consequence_rules::{Branch, Diagram, Plan};

use super::proposal::{met_by, possible_weights};
use super::{Ruling, Writer};

/// A logit that a look-ahead needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The position of the code.
    pub position: u32,
    /// The number of the visit's first codes that the model is to know; none where it is to know all
    /// that come before the code.
    pub known: Option<u32>,
}

/// The look-ahead of one visit.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    segments: Vec<Segment>,
    readings: Vec<Reading>,
    /// What is certain of a code that is read, whatever the model says.
    certain: Vec<Option<bool>>,
    /// The segment that each clause came to have last, and the diagram.
    latest: HashMap<Option<u32>, usize>,
    touched: Vec<Touched>,
    /// For each code touched, the segments that say something of it, and which of theirs it is.
    said: Vec<(usize, usize)>,
}

/// What one clause, or the diagram, reads under one state.
#[derive(Clone, Debug)]
struct Segment {
    /// The clause that is due, or the branch of the diagram.
    of: Reader,
    /// How many codes had come on.
    state: u32,
    readings: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Clause(u32),
    /// The branch that the diagram was at first.
    Diagram(Branch),
}

/// A code whose probability is changed.
#[derive(Clone, Debug)]
struct Touched {
    position: u32,
    present: bool,
    /// The probability that a soft rule gives it.
    soft: Option<f64>,
    said: Range<usize>,
    /// The diagram's branches for it, absent and present.
    branches: Option<[Branch; 2]>,
}

impl Outlook {
    /// Whether no code is touched.
    pub fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// All logits that it needs.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// The positions of codes whose probability is changed, ascending.
    pub fn touched(&self) -> impl Iterator<Item = u32> {
        self.touched.iter().map(|touched| touched.position)
    }

    /// What the codes that are touched cost in nats, given the logits that were asked for. Adds to
    /// `gradient` what a change of each logit means.
    pub fn score(&self, plan: &Plan, logits: &[f64], gradient: &mut [f64]) -> f64 {
        let mut read = self.read(plan, logits);
        let mut nats = 0.0;
        for touched in &self.touched {
            let said = &self.said[touched.said.clone()];
            let (odds, own) = self.odds(touched, &read, logits);
            nats += softplus(if touched.present { -odds } else { odds });
            let change = sigmoid(odds) - f64::from(u8::from(touched.present));
            if let Some(own) = own {
                gradient[own] += change;
            }
            for &(segment, code) in said {
                read[segment].take(code, touched.branches, change);
            }
        }
        for (segment, read) in self.segments.iter().zip(&mut read) {
            read.give(&mut gradient[segment.readings.clone()]);
        }
        nats
    }

    /// The position of each code that is touched, how likely it is, and whether it is present. Codes that a
    /// soft rule draws are left out.
    pub fn expected(&self, plan: &Plan, logits: &[f64]) -> Vec<(u32, f64, bool)> {
        let read = self.read(plan, logits);
        let drawn_by_model = self.touched.iter().filter(|touched| touched.soft.is_none());
        let expected = drawn_by_model.map(|touched| {
            let (odds, _) = self.odds(touched, &read, logits);
            (touched.position, sigmoid(odds), touched.present)
        });
        expected.collect()
    }

    fn read<'a>(&self, plan: &'a Plan, logits: &[f64]) -> Vec<Read<'a>> {
        let read = |segment: &Segment| {
            let (range, known) = (segment.readings.clone(), segment.readings.clone());
            let logits = logits[range].iter().zip(&self.certain[known]);
            let logits = logits.map(|(&logit, certain)| match certain {
                None => logit,
                Some(true) => f64::INFINITY,
                Some(false) => f64::NEG_INFINITY,
            });
            Read::new(segment, plan, logits.collect())
        };
        self.segments.iter().map(read).collect()
    }

    /// The log-odds that a code is proposed with, and which reading they begin with, unless a soft rule
    /// draws it.
    fn odds(&self, touched: &Touched, read: &[Read<'_>], logits: &[f64]) -> (f64, Option<usize>) {
        let said = &self.said[touched.said.clone()];
        let shift = |&(segment, code): &(usize, usize)| read[segment].shift(code, touched.branches);
        let shift: f64 = said.iter().map(shift).sum();
        match touched.soft {
            Some(probability) => ((probability / (1.0 - probability)).ln() + shift, None),
            None => {
                let (segment, code) = said[0];
                let own = self.segments[segment].readings.start + code;
                (logits[own] + shift, Some(own))
            }
        }
    }

    /// Notes that a clause or the diagram, which waits for `codes` under a state, says something of the
    /// first of them. `certain` tells what is certain of one.
    fn say(
        &mut self,
        of: Reader,
        state: u32,
        codes: &[u32],
        certain: impl Fn(u32) -> Option<bool>,
    ) {
        let key = match of {
            Reader::Clause(id) => Some(id),
            Reader::Diagram(_) => None,
        };
        let known = self.latest.get(&key).filter(|&&number| self.segments[number].state == state);
        let number = known.copied().unwrap_or_else(|| {
            let start = self.readings.len();
            let reading = |&position: &u32| Reading { position, known: Some(state) };
            self.readings.extend(codes.iter().map(reading));
            self.certain.extend(codes.iter().map(|&code| certain(code)));
            let readings = start..self.readings.len();
            self.segments.push(Segment { of, state, readings });
            self.latest.insert(key, self.segments.len() - 1);
            self.segments.len() - 1
        });
        let code = self.segments[number].readings.len() - codes.len();
        // It is decided under the state that reads it.
        let reading = self.segments[number].readings.start + code;
        self.readings[reading].known = None;
        self.said.push((number, code));
    }
}

impl Writer<'_> {
    /// Writes the next visit of a record that exists, as [`Writer::replay`], and gives what its
    /// likelihood looks ahead to. Codes that this touches are not told to `each`.
    ///
    /// # Panics
    ///
    /// If the record has ended: [`Writer::take`] it first.
    pub fn replay_ahead(
        &mut self,
        truth: &[u32],
        mut each: impl FnMut(u32, Ruling, bool),
    ) -> Outlook {
        let mut outlook = Outlook::default();
        let mut rest = truth.iter().copied().peekable();
        for position in self.open() {
            let present = rest.next_if_eq(&position).is_some();
            let ruling = self.ruling(position);
            if !self.touch(position, ruling, present, &mut outlook) {
                each(position, ruling, present);
            }
            self.place(position, present);
        }
        self.close();
        outlook
    }

    /// Notes what clauses and the diagram say of a code. Gives whether they change its probability.
    fn touch(&self, position: u32, ruling: Ruling, present: bool, outlook: &mut Outlook) -> bool {
        let soft = match ruling {
            Ruling::Forced(_) => return false,
            Ruling::Soft { probability, .. } => Some(probability),
            Ruling::Free => None,
        };
        let state = self.history.present.len() as u32;
        let first = outlook.said.len();
        for here in &self.pending.here {
            let codes = &self.enforcer.due.of(here.id)[here.code..];
            let certain = |later: u32| match later == position {
                true => None,
                false => self.certain(later, position),
            };
            outlook.say(Reader::Clause(here.id), state, codes, certain);
        }
        let mut branches = None;
        if let Some((diagram, at)) = self.branching(position) {
            let code = diagram.positions.partition_point(|&one| one < position);
            outlook.say(Reader::Diagram(at), state, &diagram.positions[code..], |_| None);
            branches = Some(diagram.branches(at, position));
        }
        let said = first..outlook.said.len();
        if said.is_empty() {
            return false;
        }
        outlook.touched.push(Touched { position, present, soft, said, branches });
        true
    }
}

/// The logits of a segment at work.
enum Read<'a> {
    Clause {
        /// For each code, the nats that none after it comes on.
        rest: Vec<f64>,
        /// What a change of those means.
        changes: Vec<f64>,
        logits: Vec<f64>,
    },
    Diagram {
        diagram: &'a Diagram,
        from: Branch,
        /// The probability of each code of the diagram; only those of the last are read.
        probabilities: Vec<f64>,
        weights: Vec<f64>,
        changes: Vec<f64>,
        /// How many of the codes are read.
        read: usize,
    },
}

impl<'a> Read<'a> {
    fn new(segment: &Segment, plan: &'a Plan, logits: Vec<f64>) -> Self {
        match (segment.of, plan.diagram()) {
            (Reader::Diagram(from), Some(diagram)) => {
                let mut probabilities = vec![0.0; diagram.positions.len() - logits.len()];
                probabilities.extend(logits.iter().map(|&logit| sigmoid(logit)));
                let mut weights = Vec::new();
                diagram.weigh(from, &probabilities, &mut weights);
                let changes = vec![0.0; weights.len()];
                let read = logits.len();
                Self::Diagram { diagram, from, probabilities, weights, changes, read }
            }
            _ => {
                let mut rest = vec![0.0; logits.len()];
                for code in (1..logits.len()).rev() {
                    rest[code - 1] = rest[code] + softplus(logits[code]);
                }
                Self::Clause { rest, changes: vec![0.0; logits.len()], logits }
            }
        }
    }

    /// What is added to the logit of a code.
    fn shift(&self, code: usize, branches: Option<[Branch; 2]>) -> f64 {
        match (self, branches) {
            (Self::Clause { rest, .. }, _) => -met_by(rest[code]).ln(),
            (Self::Diagram { weights, .. }, Some(branches)) => {
                let [absent, present] = possible_weights(branches, weights);
                if absent == present { 0.0 } else { present.ln() - absent.ln() }
            }
            (Self::Diagram { .. }, None) => 0.0,
        }
    }

    /// Takes in what a change of the shift of a code means.
    fn take(&mut self, code: usize, branches: Option<[Branch; 2]>, change: f64) {
        if change == 0.0 {
            return;
        }
        match (self, branches) {
            (Self::Clause { rest, changes, .. }, _) => {
                changes[code] -= change / rest[code].exp_m1()
            }
            (Self::Diagram { weights, changes, .. }, Some(branches)) => {
                // Where nothing can be said, nothing is learned.
                if branches.iter().all(|branch| weights[branch.index()] > 0.0) {
                    for (branch, sign) in branches.into_iter().zip([-1.0, 1.0]) {
                        changes[branch.index()] += sign * change / weights[branch.index()];
                    }
                }
            }
            (Self::Diagram { .. }, None) => {}
        }
    }

    /// Adds what a change of each logit means.
    fn give(&mut self, gradient: &mut [f64]) {
        match self {
            Self::Clause { changes, logits, .. } => {
                let mut before = 0.0;
                for (code, &logit) in logits.iter().enumerate() {
                    gradient[code] += before * sigmoid(logit);
                    before += changes[code];
                }
            }
            Self::Diagram { diagram, from, probabilities, weights, changes, read } => {
                let mut all = vec![0.0; probabilities.len()];
                diagram.weigh_backward(*from, probabilities, weights, changes, &mut all);
                let skipped = probabilities.len() - *read;
                for ((into, change), probability) in
                    gradient.iter_mut().zip(&all[skipped..]).zip(&probabilities[skipped..])
                {
                    *into += change * probability * (1.0 - probability);
                }
            }
        }
    }
}

fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

fn softplus(logit: f64) -> f64 {
    logit.max(0.0) + (-logit.abs()).exp().ln_1p()
}
