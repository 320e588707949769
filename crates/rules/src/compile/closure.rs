//! Step three, closure: directional resolution from the last code to the first.
//!
//! In a closed set, deciding codes in order never meets a dead end: at each code, the clauses whose
//! last code it is either force it or leave it free. Clauses left with the past only are
//! preconditions; they are regressed into clauses about the visit before and closed again, until
//! nothing new appears.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::clause::{Encoded, Encoder, Span};
use super::regress::regress;

/// Where a clause came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A hard rule, by index.
    Rule(u32),
    /// The last position a record may have always ends it.
    LastVisit,
    /// Two clauses resolved on their common last code.
    Resolved(u32, u32),
    /// A precondition moved to the visit before.
    Regressed(u32),
    /// What the diagram of dense components asks of the static visit.
    Diagram,
}

impl Source {
    fn is_derived(self) -> bool {
        matches!(self, Self::Resolved(..) | Self::Regressed(_))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clause {
    start: u32,
    length: u32,
    signature: u64,
    pub span: Span,
    pub source: Source,
    processed: bool,
    dropped: bool,
}

/// How closing a set of clauses ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// Nothing more follows.
    Complete,
    /// The clause by this number is empty at visit 0: no record exists.
    Unsatisfiable(u32),
    /// The set grew past the limit.
    TooLarge,
}

/// A growing set of clauses, closed by [`Closure::run`].
#[derive(Debug)]
pub(crate) struct Closure {
    clauses: Vec<Clause>,
    literals: Vec<Encoded>,
    /// Clauses that end in a code of the current visit, by that literal: what can be resolved.
    by_last: Vec<Vec<u32>>,
    /// Every clause under the one of its literals that had fewest: what can subsume.
    by_rarest: FxHashMap<Encoded, Vec<u32>>,
    empty: Vec<u32>,
    /// What is still to be resolved or regressed: last code first, short clauses first.
    waiting: BinaryHeap<(u32, Reverse<u32>, Reverse<u32>)>,
    max_derived: usize,
    derived: usize,
    /// Pairs of clauses tried so far, in all and by the position of the code they were resolved on.
    tried: usize,
    tried_at: Vec<u32>,
}

impl Closure {
    pub fn new(codes: usize, max_derived: usize) -> Self {
        Self {
            clauses: Vec::new(),
            literals: Vec::new(),
            by_last: vec![Vec::new(); 2 * codes],
            by_rarest: FxHashMap::default(),
            empty: Vec::new(),
            waiting: BinaryHeap::new(),
            max_derived,
            derived: 0,
            tried: 0,
            tried_at: vec![0; codes],
        }
    }

    pub fn clause(&self, id: u32) -> &Clause {
        &self.clauses[id as usize]
    }

    pub fn literals(&self, id: u32) -> &[Encoded] {
        let clause = &self.clauses[id as usize];
        &self.literals[clause.start as usize..(clause.start + clause.length) as usize]
    }

    /// How many pairs of clauses were tried at each position.
    pub fn work(&self) -> &[u32] {
        &self.tried_at
    }

    /// The clauses that no other clause makes superfluous.
    pub fn kept(&mut self) -> Vec<u32> {
        for id in 0..self.clauses.len() as u32 {
            self.drop_if_subsumed(id);
        }
        (0..self.clauses.len() as u32).filter(|&id| !self.clauses[id as usize].dropped).collect()
    }

    /// Adds a sorted clause unless a present one says as much or more.
    pub fn add(&mut self, literals: &[Encoded], span: Span, source: Source) {
        let signature = signature(literals);
        if self.subsumed(literals, signature, span, None) {
            return;
        }
        let id = self.clauses.len() as u32;
        let start = self.literals.len() as u32;
        self.literals.extend_from_slice(literals);
        let length = literals.len() as u32;
        self.clauses.push(Clause {
            start,
            length,
            signature,
            span,
            source,
            processed: false,
            dropped: false,
        });
        self.derived += usize::from(source.is_derived());
        let load = |literal: &&Encoded| self.by_rarest.get(literal).map_or(0, Vec::len);
        match literals.iter().min_by_key(load) {
            Some(&rarest) => self.by_rarest.entry(rarest).or_default().push(id),
            None => self.empty.push(id),
        }
        let mut place = 0;
        if let Some(last) = literals.last()
            && let Some(position) = last.position()
        {
            self.by_last[row(position, last.present())].push(id);
            place = position + 1;
        }
        self.waiting.push((place, Reverse(length), Reverse(id)));
    }

    /// Resolves and regresses until nothing new appears.
    pub fn run(&mut self, encoder: &mut Encoder<'_>) -> Closed {
        while let Some((_, _, Reverse(id))) = self.waiting.pop() {
            if self.derived > self.max_derived || self.tried > 10 * self.max_derived + 1_000_000 {
                return Closed::TooLarge;
            }
            if self.drop_if_subsumed(id) {
                continue;
            }
            self.clauses[id as usize].processed = true;
            let last = self.literals(id).last().copied();
            if let Some(last) = last
                && let Some(position) = last.position()
            {
                self.resolve(id, row(position, !last.present()));
                continue;
            }
            let span = self.clauses[id as usize].span;
            if span.first == 0 {
                return Closed::Unsatisfiable(id);
            }
            let clause = self.literals(id).to_vec();
            let Some(earlier) = regress(encoder, &clause, span) else { return Closed::TooLarge };
            for (clause, span) in earlier {
                self.add(&clause, span, Source::Regressed(id));
            }
        }
        Closed::Complete
    }

    /// Resolves a clause with those of a row, which end in the opposite literal.
    fn resolve(&mut self, id: u32, row: usize) {
        let mut resolvent = Vec::new();
        // No clause added here ends in the same code, so the row stays as it is.
        for index in 0..self.by_last[row].len() {
            let other = self.by_last[row][index];
            let Clause { processed, dropped, span, .. } = self.clauses[other as usize];
            if !processed || dropped {
                continue;
            }
            let Some(span) = self.clauses[id as usize].span.meet(span) else { continue };
            self.tried += 1;
            self.tried_at[row / 2] = self.tried_at[row / 2].saturating_add(1);
            if merge(self.literals(id), self.literals(other), &mut resolvent) {
                self.add(&resolvent, span, Source::Resolved(id, other));
            }
        }
    }

    fn drop_if_subsumed(&mut self, id: u32) -> bool {
        let Clause { signature, span, dropped, .. } = self.clauses[id as usize];
        if dropped || self.subsumed(self.literals(id), signature, span, Some(id)) {
            self.clauses[id as usize].dropped = true;
        }
        self.clauses[id as usize].dropped
    }

    /// Whether a clause other than `itself` is a part of these literals and holds wherever they do.
    fn subsumed(
        &self,
        literals: &[Encoded],
        signature: u64,
        span: Span,
        itself: Option<u32>,
    ) -> bool {
        let subsumes = |&id: &u32| {
            let clause = &self.clauses[id as usize];
            Some(id) != itself
                && !clause.dropped
                && clause.signature & !signature == 0
                && clause.length as usize <= literals.len()
                && clause.span.covers(span)
                && is_part(self.literals(id), literals)
        };
        let filed = |literal: &Encoded| {
            self.by_rarest.get(literal).is_some_and(|list| list.iter().any(subsumes))
        };
        self.empty.iter().any(subsumes) || literals.iter().any(filed)
    }
}

/// Where clauses that end in this literal are listed.
fn row(position: u32, present: bool) -> usize {
    2 * position as usize + usize::from(present)
}

fn signature(literals: &[Encoded]) -> u64 {
    literals
        .iter()
        .fold(0, |bits, literal| bits | 1 << (literal.number().wrapping_mul(0x9E37_79B9) >> 26))
}

/// Whether every literal of the sorted `part` is in the sorted `whole`.
fn is_part(part: &[Encoded], whole: &[Encoded]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|literal| rest.any(|other| other == literal))
}

/// The two sorted clauses as one, without the last literal of each, which are opposite. False if
/// the result always holds.
fn merge(left: &[Encoded], right: &[Encoded], into: &mut Vec<Encoded>) -> bool {
    into.clear();
    let (mut left, mut right) = (&left[..left.len() - 1], &right[..right.len() - 1]);
    loop {
        let next = match (left.first(), right.first()) {
            (None, None) => return true,
            (Some(&one), Some(&other)) if one == other => {
                left = &left[1..];
                right = &right[1..];
                one
            }
            (Some(&one), other) if other.is_none_or(|&other| one < other) => {
                left = &left[1..];
                one
            }
            (_, Some(&other)) => {
                right = &right[1..];
                other
            }
            (Some(_), None) => unreachable!("covered by the guard above"),
        };
        if into.last().is_some_and(|last| last.negated() == next) {
            return false;
        }
        into.push(next);
    }
}
