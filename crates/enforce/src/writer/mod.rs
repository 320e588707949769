//! Visits decided code by code, or repaired, so that every hard rule holds.

mod outlook;
mod proposal;
mod score;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use consequence_prng::{Draws, Purpose, VisitDraws};
use consequence_record::{Code, Record, RecordView};
use consequence_rules::{Branch, Plan, Stage};
use thiserror::Error;

use crate::choice::{Choice, alternatives};
use crate::enforcer::{Enforcer, Source};
use crate::facts::Moment;
use crate::history::History;
use crate::index::Bits;
pub use outlook::{Outlook, Reading};
use proposal::Pending;
pub use proposal::{LookAhead, Proposal};

/// A caller of [`Writer::guided`] gave something that is not a probability.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("the probability of code number {} is {value}, not a number from 0 to 1", .code.0)]
pub struct BadProbability {
    /// The code it was given for.
    pub code: Code,
    /// What was given.
    pub value: f64,
}

/// What the rules say of one code of a visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ruling {
    /// Nothing.
    Free,
    /// A soft rule gives its probability.
    Soft {
        /// The rule's number.
        rule: u32,
        /// The probability that the code is present.
        probability: f64,
    },
    /// A hard rule decides it.
    Forced(bool),
}

/// A code of a visit that rules decided otherwise than it was proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The code's position in the plan's order.
    pub position: u32,
    /// Whether it was put in, rather than taken out.
    pub added: bool,
    /// The clause of the plan that decided it, by its number. None if a soft rule drew it, or if a
    /// decision diagram left no other value.
    pub clause: Option<u32>,
}

/// What it costs in nats that a code is present or absent, given the probability that it is
/// present: `-ln` of the probability of what is so.
pub fn nats(probability: f64, present: bool) -> f64 {
    if present { -probability.ln() } else { -(-probability).ln_1p() }
}

/// Stands for the decision diagram among the candidates for a position.
const DIAGRAM: u32 = u32::MAX;

/// Tells the number of a clause that may be due from that of a demand.
const DUE: u32 = 1 << 31;

/// Writes one record at a time, visit by visit, obeying the plan.
///
/// Each visit is sampled with [`Writer::guided`], or repaired with [`Writer::overridden`], or
/// decided step by step: [`Writer::open`], then for every position in order [`Writer::propose`], or
/// [`Writer::proposal`] or [`Writer::ruling`] and [`Writer::place`], then [`Writer::close`].
#[derive(Clone, Debug)]
pub struct Writer<'a> {
    enforcer: &'a Enforcer,
    history: History,
    /// Demands that may hold and clauses that may be due, by the position they speak of: the next one
    /// first.
    candidates: BinaryHeap<Reverse<(u32, u32)>>,
    /// The next position that some demand may speak of.
    next: u32,
    /// How many of the visit's standing demands have been passed.
    passed: usize,
    /// The branch of the plan's decision diagram, while it has a say in the visit.
    branch: Option<Branch>,
    /// Clauses that are due.
    pending: Pending,
    given: Vec<u32>,
    /// Positions that bars may speak of in a visit that is known.
    agenda: Bits,
    /// What rules decided otherwise of the visit that is repaired, or of the one repaired last.
    changes: Vec<Change>,
    record: Record,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(enforcer: &'a Enforcer) -> Self {
        let mut history = History::new(&enforcer.layout);
        history.set_stage(&enforcer.layout, Stage::OPEN);
        Self {
            enforcer,
            history,
            candidates: BinaryHeap::new(),
            next: u32::MAX,
            passed: 0,
            branch: None,
            pending: Pending::default(),
            given: Vec::new(),
            agenda: Bits::new(0),
            changes: Vec::new(),
            record: Record { visits: Vec::new(), ended: false },
        }
    }

    /// The number of the visit to be written next; 0 is the static visit.
    pub fn visit(&self) -> usize {
        self.history.visit
    }

    /// What has been written so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Takes the record and begins a new one.
    pub fn take(&mut self) -> Record {
        self.history.clear();
        std::mem::take(&mut self.record)
    }

    /// Samples the next visit: each code in the plan's order is forced by a hard rule, drawn by a
    /// soft rule, or drawn with the probability the caller gives for it. Gives the visit.
    ///
    /// The caller sees the codes decided so far, in the order they were decided. Where one of several
    /// codes has to come on, the caller is asked for those left as well, so that each comes on as often
    /// as it is likely ([`Writer::proposal`]). A code's draw is keyed by its position in the plan's
    /// order.
    ///
    /// # Panics
    ///
    /// If the record has ended: [`Writer::take`] it first.
    pub fn guided(
        &mut self,
        draws: &Draws,
        record: u64,
        mut probability: impl FnMut(Code, &[Code]) -> f64,
    ) -> Result<&[Code], BadProbability> {
        let order = &self.enforcer.layout.order;
        let mut codes = draws.visit(record, 0, self.history.visit as u16, Purpose::Code);
        let mut rules = draws.visit(record, 0, self.history.visit as u16, Purpose::Rule);
        let mut decided: Vec<Code> = Vec::new();
        let mut bad = None;
        let mut ask = |code: Code, decided: &[Code]| {
            let value = probability(code, decided);
            if (0.0..=1.0).contains(&value) {
                return value;
            }
            bad.get_or_insert(BadProbability { code, value });
            0.0
        };
        for position in self.open() {
            let code = order.code(position);
            let value = ask(code, &decided);
            let present = self.propose(
                position,
                value,
                (&mut codes, &mut rules),
                &mut |present, positions, into| {
                    decided.extend(present.then_some(code));
                    for (&position, into) in positions.iter().zip(into) {
                        *into = ask(order.code(position), &decided);
                    }
                    decided.truncate(decided.len() - usize::from(present));
                },
            );
            decided.extend(present.then_some(code));
        }
        if let Some(bad) = bad {
            self.history.abandon();
            return Err(bad);
        }
        Ok(self.close())
    }

    /// Repairs a visit: each code keeps the value it was given unless a rule forces it or draws it.
    /// `END` among the codes says that the visit is the record's last. Gives the visit.
    ///
    /// # Panics
    ///
    /// If the record has ended ([`Writer::take`] it first), or if a code is not of the vocabulary.
    pub fn overridden(&mut self, given: &[Code], draws: &Draws, record: u64) -> &[Code] {
        self.overridden_by(given, draws, record, |_| None)
    }

    /// The same, and where a clause asks for a code and several would do, `choose` is asked for the
    /// position of one. What it chooses is proposed like a code that was given: rules still decide. If
    /// they forbid it, `choose` is asked again, for one of those left, until only the one that is
    /// decided last is; that one is put in, and so it is where `choose` chooses none.
    ///
    /// # Panics
    ///
    /// As [`Writer::overridden`].
    pub fn overridden_by(
        &mut self,
        given: &[Code],
        draws: &Draws,
        record: u64,
        mut choose: impl FnMut(Choice<'_>) -> Option<u32>,
    ) -> &[Code] {
        let rules = draws.visit(record, 0, self.history.visit as u16, Purpose::Rule);
        let mut positions = std::mem::take(&mut self.given);
        positions.clear();
        positions.extend(given.iter().map(|&code| self.enforcer.layout.order.position(code)));
        positions.sort_unstable();
        // What was chosen, for which clause.
        let mut chosen: Vec<(u32, u32)> = Vec::new();
        let mut settled: Vec<u32> = Vec::new();
        loop {
            self.settle(&positions, &mut rules.clone());
            let before = chosen.len();
            for &Change { position, added, clause } in &self.changes {
                let Some(clause) = clause.filter(|clause| added && !settled.contains(clause))
                else {
                    continue;
                };
                let mut left = alternatives(self.plan(), clause);
                let all = left.len();
                left.retain(|&at| !chosen.contains(&(at, clause)));
                let choice = Choice {
                    clause,
                    left: &left,
                    forbidden: all - left.len(),
                    record: &self.record,
                };
                let other = if all > 1 { choose(choice) } else { None };
                match other.filter(|other| *other != position && left.contains(other)) {
                    Some(other) => chosen.push((other, clause)),
                    None => settled.push(clause),
                }
            }
            if chosen.len() == before {
                break;
            }
            positions.extend(chosen[before..].iter().map(|&(position, _)| position));
            positions.sort_unstable();
            positions.dedup();
        }
        // A code that was chosen and stays is a change, too; one that rules forbade is none.
        let was_given = |position: u32| {
            given.iter().any(|&code| self.enforcer.layout.order.position(code) == position)
        };
        self.changes.retain(|change| change.added || was_given(change.position));
        chosen.sort_unstable();
        chosen.dedup_by_key(|&mut (position, _)| position);
        for (position, clause) in chosen {
            if self.history.bits.get(position) && !was_given(position) {
                self.changes.push(Change { position, added: true, clause: Some(clause) });
            }
        }
        self.given = positions;
        self.close()
    }

    /// What rules decided otherwise than it was given, in the visit repaired last.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Decides all codes of the next visit, these positions being proposed, and leaves it open.
    fn settle(&mut self, positions: &[u32], rules: &mut VisitDraws) {
        let Range { start: first, end: last } = self.begin(false);
        let mut rest = positions.iter().copied().filter(|&at| first <= at && at < last).peekable();
        loop {
            let proposed = rest.peek().copied().unwrap_or(last);
            let position = proposed.min(self.next);
            if position >= last {
                break;
            }
            while rest.next_if_eq(&position).is_some() {}
            self.decide(position, proposed == position, rules);
        }
    }

    /// The code that marks the last encounter.
    pub fn end(&self) -> Code {
        self.enforcer.layout.order.vocabulary().end()
    }

    /// The first encounter of a record at which a rule the user wrote ends it, if that is not its
    /// end anyway. What was written so far is forgotten.
    pub(crate) fn ended_by_rule(&mut self, record: RecordView<'_>) -> Option<usize> {
        let Enforcer { layout, endings, .. } = self.enforcer;
        self.take();
        let mut ended = None;
        for (visit, codes) in record.visits().enumerate() {
            self.arrive_as(record, visit);
            for &code in codes {
                self.history.set_present(layout.order.position(code));
            }
            let history = &self.history;
            let mut ends = false;
            endings.for_each_open(history, |id| ends |= endings.holds(id, history));
            if ends && visit > 0 {
                ended = (!record.ends_at(visit)).then_some(visit);
                break;
            }
            self.history.advance(layout);
        }
        self.history.clear();
        ended
    }

    /// The plan that this obeys.
    pub fn plan(&self) -> &'a Plan {
        &self.enforcer.plan
    }

    /// Says where in its record the next visit stands, and those after it until this is said again.
    /// At first the record may end anywhere.
    pub fn set_stage(&mut self, stage: Stage) {
        self.history.set_stage(&self.enforcer.layout, stage);
    }

    /// Whether the next visit is possible at a stage, after what was written so far. Once it is, so
    /// is every visit after it at the stage that follows, whatever is proposed.
    pub fn goes_on(&mut self, stage: Stage) -> bool {
        self.set_stage(stage);
        self.is_possible()
    }

    /// Whether the rules speak of days, counts, ages or values, so that [`Writer::arrive`] matters.
    pub fn asks_facts(&self) -> bool {
        self.enforcer.layout.asks_facts()
    }

    /// The day of the encounter before the next visit, as far as it was said.
    pub fn day_before(&self) -> Option<i64> {
        self.history.day_before()
    }

    /// Says when the next visit begins and what else is known of it by then. Gives false if no codes that
    /// it could have obey the rules: it cannot begin then. May be said again, until the visit is opened.
    pub fn arrive(&mut self, moment: &Moment) -> bool {
        self.history.reveal(&self.enforcer.layout, moment);
        self.is_possible()
    }

    /// The same for a visit of a record that exists.
    pub fn arrive_as(&mut self, record: RecordView<'_>, visit: usize) -> bool {
        !self.asks_facts() || visit == 0 || self.arrive(&Moment::of(record, visit))
    }

    pub(crate) fn is_possible(&self) -> bool {
        let impossible = &self.enforcer.impossible;
        let mut possible = true;
        impossible.for_each_open(&self.history, |id| {
            possible &= !impossible.holds(id, &self.history);
        });
        possible
    }

    /// Begins the next visit and gives the positions, in the plan's order, of the codes that it may
    /// hold.
    ///
    /// # Panics
    ///
    /// If the record has ended: [`Writer::take`] it first.
    pub fn open(&mut self) -> Range<u32> {
        self.begin(true)
    }

    /// Begins the next visit; clauses that are due matter where codes have a probability.
    fn begin(&mut self, looks_ahead: bool) -> Range<u32> {
        // The one assertion of this crate: a caller learns only at run time whether a record ended.
        assert!(!self.record.ended, "no visit follows the end");
        let enforcer = self.enforcer;
        self.history.abandon();
        let mut open = std::mem::take(&mut self.candidates).into_vec();
        open.clear();
        self.changes.clear();
        self.passed = 0;
        enforcer.demands.for_each_prompted(&self.history, |id| {
            open.push(Reverse((enforcer.demanded[id as usize].output, id)));
        });
        self.pending.open(looks_ahead, enforcer.due.codes.len());
        if looks_ahead {
            let due = &enforcer.due;
            due.index.for_each_prompted(&self.history, |id| {
                open.push(Reverse((due.of(id)[0], DUE | id)));
            });
        }
        self.branch = None;
        if let Some(diagram) = enforcer.plan.diagram()
            && self.history.visit > 0
        {
            let holds = |atom| enforcer.layout.past(enforcer.plan.atoms(), atom, &self.history);
            self.branch = Some(diagram.start(self.history.visit, holds));
            open.extend(diagram.positions.iter().map(|&position| Reverse((position, DIAGRAM))));
        }
        self.candidates = BinaryHeap::from(open);
        self.next = self.next_candidate();
        enforcer.layout.order.range(self.history.visit)
    }

    /// What the rules say of the code at a position, from the history and the codes decided so far.
    /// To be followed by [`Writer::place`].
    pub fn ruling(&mut self, position: u32) -> Ruling {
        self.ruling_by(position, true)
    }

    /// The same, where bars may speak of the code or do not.
    fn ruling_by(&mut self, position: u32, may_be_barred: bool) -> Ruling {
        let (forced, soft) = self.demanded(position);
        if forced.is_some() {
            return Ruling::Forced(true);
        }
        if may_be_barred && self.barred(position).is_some() {
            return Ruling::Forced(false);
        }
        match [false, true].map(|present| self.possible(position, present)) {
            [true, false] => return Ruling::Forced(false),
            [false, true] => return Ruling::Forced(true),
            _ => {}
        }
        soft.map_or(Ruling::Free, |number| {
            let implication = &self.enforcer.plan.soft()[number as usize];
            Ruling::Soft { rule: implication.rule, probability: implication.probability }
        })
    }

    /// Decides the code at a position. Whoever decides against a ruling breaks a rule; what rules
    /// say of later codes follows what was decided.
    pub fn place(&mut self, position: u32, present: bool) {
        let enforcer = self.enforcer;
        if let (Some(at), Some(diagram)) = (self.branch, enforcer.plan.diagram()) {
            let branch = diagram.branches(at, position)[usize::from(present)];
            // Values that no rule allows: the diagram has nothing more to say of this visit.
            self.branch = (branch != Branch::IMPOSSIBLE).then_some(branch);
        }
        let (due, candidates) = (&enforcer.due, &mut self.candidates);
        self.pending.decided(present, |id, next| {
            // The last is forced like any code that a clause leaves no choice of.
            if let &[code, _, ..] = &due.of(id)[next..] {
                candidates.push(Reverse((code, DUE | id)));
            }
        });
        if present {
            self.history.set_present(position);
            for &id in enforcer.demands.filed(position) {
                candidates.push(Reverse((enforcer.demanded[id as usize].output, id)));
            }
            if self.pending.looks_ahead {
                for &id in due.index.filed(position) {
                    candidates.push(Reverse((due.of(id)[0], DUE | id)));
                }
            }
        }
        self.next = self.next_candidate();
    }

    /// Ends the visit and gives it.
    pub fn close(&mut self) -> &[Code] {
        let layout = &self.enforcer.layout;
        let present = &self.history.present;
        let mut visit: Vec<Code> = present
            .iter()
            .filter(|&&position| position != layout.order.end())
            .map(|&position| layout.order.code(position))
            .collect();
        visit.sort_unstable();
        self.record.ended = present.contains(&layout.order.end());
        self.record.visits.push(visit);
        self.history.advance(layout);
        self.record.visits.last().map_or(&[], Vec::as_slice)
    }

    #[inline]
    fn next_candidate(&self) -> u32 {
        let first = |list: Option<&(u32, u32)>| list.map_or(u32::MAX, |&(position, _)| position);
        let standing = first(self.standing().get(self.passed));
        let due = first(self.standing_due().get(self.pending.passed));
        let candidate = self.candidates.peek().map_or(u32::MAX, |&Reverse((position, _))| position);
        candidate.min(standing).min(due)
    }

    fn standing_due(&self) -> &'a [(u32, u32)] {
        match self.pending.looks_ahead {
            true => &self.enforcer.due.standing[usize::from(self.history.visit > 0)],
            false => &[],
        }
    }

    fn standing(&self) -> &'a [(u32, u32)] {
        &self.enforcer.standing[usize::from(self.history.visit > 0)]
    }

    /// Decides one code. Hard rules win over soft ones, soft ones over what was proposed; of two
    /// soft rules the one written later wins.
    fn decide(&mut self, position: u32, proposed: bool, rules: &mut VisitDraws) -> bool {
        let (mut clause, soft) = self.demanded(position);
        let mut present = clause.is_some() || {
            let wanted = soft.map_or(proposed, |number| {
                let implication = &self.enforcer.plan.soft()[number as usize];
                rules.below(implication.rule, implication.probability)
            });
            clause = if wanted { self.barred(position) } else { None };
            wanted && clause.is_none()
        };
        if !self.possible(position, present) {
            (present, clause) = (!present, None);
        }
        self.place(position, present);
        if present != proposed {
            self.changes.push(Change { position, added: present, clause });
        }
        present
    }

    /// The first clause found to demand the code at a position, and which soft rule speaks of it.
    /// Clauses that are due and that the code may meet are noted.
    fn demanded(&mut self, position: u32) -> (Option<u32>, Option<u32>) {
        let enforcer = self.enforcer;
        let due = &enforcer.due.index;
        self.pending.here.clear();
        let (mut forced, mut soft) = (None, None);
        let mut demand = |id: u32, history: &History| {
            if forced.is_none() && enforcer.demands.holds(id, history) {
                match enforcer.demanded[id as usize].source {
                    Source::Clause(number) => forced = Some(number),
                    Source::Soft(number) => soft = soft.max(Some(number)),
                }
            }
        };
        while let Some(&Reverse((at, id))) = self.candidates.peek()
            && at <= position
        {
            self.candidates.pop();
            match id {
                _ if at < position => {}
                DIAGRAM => {}
                DUE.. => self.pending.meet(id & !DUE, || due.holds(id & !DUE, &self.history)),
                _ => demand(id, &self.history),
            }
        }
        while let Some(&(at, id)) = self.standing().get(self.passed)
            && at <= position
        {
            self.passed += 1;
            if at == position {
                demand(id, &self.history);
            }
        }
        while let Some(&(at, id)) = self.standing_due().get(self.pending.passed)
            && at <= position
        {
            self.pending.passed += 1;
            if at == position {
                self.pending.meet(id, || due.holds(id, &self.history));
            }
        }
        (forced, soft)
    }

    /// The first clause found to keep the code at a position off.
    fn barred(&self, position: u32) -> Option<u32> {
        let Enforcer { bars, barring, .. } = self.enforcer;
        let found = bars.filed(position).iter().find(|&&id| bars.holds(id, &self.history));
        found.map(|&id| barring[id as usize])
    }

    /// Whether the plan's decision diagram, if it has a say, allows a value.
    fn possible(&self, position: u32, present: bool) -> bool {
        match (self.branch, self.enforcer.plan.diagram()) {
            (Some(at), Some(diagram)) => {
                diagram.branches(at, position)[usize::from(present)] != Branch::IMPOSSIBLE
            }
            _ => true,
        }
    }
}
