//! The look-ahead of a visit that is known: which logits of a model it needs, and what for.
//!
//! It is for models whose answer changes only when a code comes on: between two codes that are present
//! there is one *state*. A clause that is due, or the decision diagram, reads under each state the
//! logits of the codes that it still waits for; those that are decided under the same state read them
//! together. What is computed is what [`Writer::proposal`] computes, code by code, for a model that is
//! trained with the rules: codes that make clauses due are not tested.

use std::ops::Range;

use consequence_rules::Branch;

use super::proposal::Here;
use super::{Ruling, Writer};
use crate::index::Bits;

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
    pub(super) segments: Vec<Segment>,
    readings: Vec<Reading>,
    /// What is certain of a code that is read, whatever the model says.
    pub(super) certain: Vec<Option<bool>>,
    /// The segment that the diagram came to have last.
    of_diagram: Option<usize>,
    pub(super) touched: Vec<Touched>,
    /// For each code touched, the segments that say something of it, and which of theirs it is.
    pub(super) said: Vec<(usize, usize)>,
}

/// What one clause, or the diagram, reads under one state.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// The clause that is due, or the branch of the diagram.
    pub of: Reader,
    /// How many codes had come on.
    pub state: u32,
    pub readings: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Clause(u32),
    /// The branch that the diagram was at first.
    Diagram(Branch),
}

/// A code whose probability is changed.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub position: u32,
    pub present: bool,
    /// The probability that a soft rule gives it.
    pub soft: Option<f64>,
    pub said: Range<usize>,
    /// The diagram's branches for it, absent and present.
    pub branches: Option<[Branch; 2]>,
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

    /// Notes that a clause or the diagram, which waits for `codes` under a state, says something of the
    /// first of them. `latest` is the segment that it came to have last, and `certain` tells what is certain
    /// of a code. Gives the segment that it has now.
    fn say(
        &mut self,
        (of, latest): (Reader, Option<usize>),
        state: u32,
        codes: &[u32],
        certain: impl Fn(u32) -> Option<bool>,
    ) -> usize {
        let number = latest.filter(|&number| self.segments[number].state == state);
        let number = number.unwrap_or_else(|| {
            let start = self.readings.len();
            let reading = |&position: &u32| Reading { position, known: Some(state) };
            self.readings.extend(codes.iter().map(reading));
            self.certain.extend(codes.iter().map(|&code| certain(code)));
            let readings = start..self.readings.len();
            self.segments.push(Segment { of, state, readings });
            // Most of its codes are decided under this state.
            self.touched.reserve(codes.len());
            self.said.reserve(codes.len());
            self.segments.len() - 1
        });
        let code = self.segments[number].readings.len() - codes.len();
        // It is decided under the state that reads it.
        let reading = self.segments[number].readings.start + code;
        self.readings[reading].known = None;
        self.said.push((number, code));
        number
    }
}

impl Writer<'_> {
    /// Writes the next visit of a record that exists, given as ascending positions, whatever the rules
    /// say, and gives what its likelihood looks ahead to. `each` is told, in order, of every code that is
    /// present or that rules say something of, unless this touches it: its position, what the rules say of
    /// it, and whether it is present. Nothing is spent on the others: work grows with the codes that are
    /// present and those that rules settle, not with all that a visit may hold.
    ///
    /// # Panics
    ///
    /// If the record has ended: [`Writer::take`] it first.
    pub fn replay(&mut self, truth: &[u32], mut each: impl FnMut(u32, Ruling, bool)) -> Outlook {
        let (mut outlook, barred) = (Outlook::default(), self.enforcer.barred());
        let Range { start, end } = self.open();
        let mut agenda = std::mem::replace(&mut self.agenda, Bits::new(0));
        barred.begin(&self.history, &mut agenda);
        let mut rest = truth.iter().copied().filter(|&at| start <= at && at < end).peekable();
        let mut from = start;
        loop {
            let proposed = rest.peek().copied().unwrap_or(end);
            let position = proposed.min(self.next).min(agenda.next(from).unwrap_or(end));
            if position >= end {
                break;
            }
            from = position + 1;
            let present = position == proposed;
            while rest.next_if_eq(&position).is_some() {}
            if position == self.next {
                let ruling = self.ruling_by(position, agenda.get(position));
                let touched = self.touch(position, ruling, present, (&agenda, &mut outlook));
                if !touched && (present || ruling != Ruling::Free) {
                    each(position, ruling, present);
                }
                self.place(position, present);
            } else {
                // Nothing but a bar can speak of it.
                let off = self.barred(position).is_some();
                if off || present {
                    each(position, if off { Ruling::Forced(false) } else { Ruling::Free }, present);
                }
                if present {
                    self.place(position, true);
                }
            }
            if present {
                barred.prompted(position).iter().for_each(|&at| _ = agenda.set(at));
            }
        }
        self.agenda = agenda;
        self.close();
        outlook
    }

    /// Notes what clauses and the diagram say of a code. Gives whether they change its probability. Codes that
    /// are not on the agenda are barred by nothing.
    fn touch(
        &mut self,
        position: u32,
        ruling: Ruling,
        present: bool,
        (agenda, outlook): (&Bits, &mut Outlook),
    ) -> bool {
        let soft = match ruling {
            Ruling::Forced(_) => return false,
            Ruling::Soft { probability, .. } => Some(probability),
            Ruling::Free => None,
        };
        let (state, end) = (self.history.present.len() as u32, self.enforcer.plan.order().end());
        let first = outlook.said.len();
        for at in 0..self.pending.here.len() {
            let Here { id, code } = self.pending.here[at];
            let codes = &self.enforcer.due.of(id)[code..];
            let certain = |later: u32| match later == position {
                false if agenda.get(later) || later == end => self.certain(later, position),
                _ => None,
            };
            let (of, latest) = (Reader::Clause(id), self.pending.segment(id));
            let number = outlook.say((of, latest), state, codes, certain);
            self.pending.set_segment(id, number);
        }
        let mut branches = None;
        if let Some((diagram, at)) = self.branching(position) {
            let code = diagram.positions.partition_point(|&one| one < position);
            let (of, latest) = (Reader::Diagram(at), outlook.of_diagram);
            let number = outlook.say((of, latest), state, &diagram.positions[code..], |_| None);
            outlook.of_diagram = Some(number);
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
