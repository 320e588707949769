//! Step three, closure: directional resolution from the last code to the first.
//!
//! In a closed set, deciding codes in order never meets a dead end: at each code, the clauses whose
//! last code it is either force it or leave it free. Clauses left with the past only are
//! preconditions; they are regressed into clauses about the visit before and closed again, until
//! nothing new appears.
//!
//! What holds throughout:
//! - The literals of a clause are sorted, those about the past first, so its last literal is the
//!   code decided last. A clause is resolved on that code only.
//! - A clause waits until it is popped, and is then resolved with every *processed* clause that
//!   ends in the opposite literal, or regressed. So each pair meets once, when the later of the two
//!   is popped.
//! - Clauses are popped last code first. A resolvent ends in an earlier code than its parents, so
//!   the row that is walked does not grow meanwhile; only a regressed clause may bring later codes
//!   back.
//! - A clause that another makes superfluous is dropped, not removed: its number stays good for
//!   telling where others came from.
//! - Windows only shorten when they are regressed and there are finitely many codes, so there are
//!   finitely many clauses, and closing ends; the limits are for when that is too far off.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::Outlook;
use super::clause::{Encoder, LiteralId, VisitRange};
use super::regress::{PastLiteral, regress};
use super::reveal::{GapAxis, conceal};
use super::stage::{Stage, Stages};

/// Up to this many clauses are looked through one by one.
const FEW: usize = 64;

/// Longer clauses have too many pairs of literals to look each up.
const LONGEST_BY_PAIRS: usize = 8;

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
    /// The same clause twice, required at other stages.
    Merged(u32, u32),
    /// What the diagram of dense components asks of the static visit.
    Diagram,
    /// A code that tells the days since the visit before tells them rightly.
    Told,
    /// A clause that holds whatever is revealed when the visit begins.
    Concealed(u32),
    /// Two clauses that exclude days together, or one twice that excludes all there are.
    Joined(u32, u32),
}

impl Source {
    fn is_derived(self) -> bool {
        !matches!(self, Self::Rule(_) | Self::LastVisit | Self::Diagram | Self::Told)
    }

    /// Whether a clause of this source is for the worst that may be revealed.
    fn is_worst_case(self) -> bool {
        matches!(self, Self::Concealed(_) | Self::Joined(..))
    }

    /// Whether a clause of this source is asked for by itself.
    fn is_direct(self) -> bool {
        !matches!(self, Self::Resolved(..) | Self::Merged(..))
    }
}

/// A clause of a [`Closure`], but for its literals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    start: u32,
    length: u32,
    signature: u64,
    pub visits: VisitRange,
    pub stages: Stages,
    pub source: Source,
    /// Whether it is asked for by itself: by a rule, by the visits after, or in place of a clause that
    /// was and that it makes superfluous. Others only follow from such clauses.
    pub direct: bool,
    /// Whether it is only there for the worst that may be revealed, and for no visit to be decided by.
    worst_case: bool,
    processed: bool,
    dropped: bool,
}

/// How closing a set of clauses ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// Nothing more follows.
    Complete,
    /// Every static visit is impossible: no record exists.
    Unsatisfiable,
    /// The set grew past the limit.
    TooLarge,
}

/// A growing set of clauses, closed by [`Closure::run`].
#[derive(Debug)]
pub(crate) struct Closure {
    outlook: Outlook,
    clauses: Vec<Entry>,
    literals: Vec<LiteralId>,
    /// Clauses that end in a code of the current visit, by that literal: what can be resolved.
    by_last: Vec<Vec<u32>>,
    /// Every clause under the one of its literals that had fewest: what can subsume.
    by_rarest: FxHashMap<LiteralId, Vec<u32>>,
    /// Every clause under its last two literals, or twice its only one: what can subsume, where too
    /// many have a literal in common. A rule that counts codes has millions of clauses.
    by_last_two: FxHashMap<(LiteralId, LiteralId), Vec<u32>>,
    empty: Vec<u32>,
    /// Clauses that exclude days since the visit before, and the cells that they exclude.
    by_days: Vec<(u32, (usize, usize))>,
    /// The stages that visits may be at.
    in_play: Stages,
    /// Clauses that make static visits impossible at some stages, and those stages.
    excluding: Vec<u32>,
    excluded: Stages,
    /// What is still to be resolved or regressed: last code first, short clauses first.
    waiting: BinaryHeap<(u32, Reverse<u32>, Reverse<u32>)>,
    max_derived: usize,
    derived: usize,
    /// Pairs of clauses tried so far, in all and by the position of the code they were resolved on.
    tried: usize,
    tried_at: Vec<u32>,
}

impl Closure {
    pub fn new(codes: usize, in_play: Stages, outlook: Outlook, max_derived: usize) -> Self {
        Self {
            outlook,
            clauses: Vec::new(),
            literals: Vec::new(),
            by_last: vec![Vec::new(); 2 * codes],
            by_rarest: FxHashMap::default(),
            by_last_two: FxHashMap::default(),
            empty: Vec::new(),
            by_days: Vec::new(),
            in_play,
            excluding: Vec::new(),
            excluded: Stages::NONE,
            waiting: BinaryHeap::new(),
            max_derived,
            derived: 0,
            tried: 0,
            tried_at: vec![0; codes],
        }
    }

    pub fn entry(&self, id: u32) -> &Entry {
        &self.clauses[id as usize]
    }

    pub fn literals(&self, id: u32) -> &[LiteralId] {
        let clause = &self.clauses[id as usize];
        &self.literals[clause.start as usize..(clause.start + clause.length) as usize]
    }

    /// The clauses by which no record exists at the stages they are required at.
    pub fn excluding(&self) -> &[u32] {
        &self.excluding
    }

    /// How many pairs of clauses were tried at each position.
    pub fn work(&self) -> &[u32] {
        &self.tried_at
    }

    /// The clauses that no other clause makes superfluous. Those that say for the worst case which days
    /// are possible are not among them: days are chosen once the case is known.
    pub fn kept(&mut self) -> Vec<u32> {
        for id in 0..self.clauses.len() as u32 {
            self.drop_if_subsumed(id);
        }
        let kept = |&id: &u32| {
            let clause = &self.clauses[id as usize];
            let of_days = self.literals(id).iter().any(|literal| literal.threshold().is_some());
            !(clause.dropped || clause.worst_case && of_days)
        };
        (0..self.clauses.len() as u32).filter(kept).collect()
    }

    /// Adds a sorted clause unless a present one says as much or more. Where the same clause is
    /// required at other stages already, the two become one.
    pub fn add(
        &mut self,
        literals: &[LiteralId],
        visits: VisitRange,
        stages: Stages,
        source: Source,
    ) {
        let stages = stages.meet(self.in_play);
        let signature = signature(literals);
        let key = Key { signature, visits, stages };
        if stages.is_empty() {
            return;
        }
        if let Some(there) = self.subsuming(literals, key, None) {
            self.clauses[there as usize].direct |= source.is_direct();
            self.clauses[there as usize].worst_case &= source.is_worst_case();
            return;
        }
        match self.same(literals, visits) {
            None => {
                self.file(literals, key, source);
            }
            Some(there) => {
                let id = self.push(literals, key, source);
                let both = stages.join(self.clauses[there as usize].stages);
                // The two only tell where the one that replaces them comes from.
                let (mut direct, mut worst_case) = (false, true);
                for id in [there, id] {
                    let clause = &mut self.clauses[id as usize];
                    clause.dropped = true;
                    direct |= clause.direct;
                    worst_case &= clause.worst_case;
                }
                let id =
                    self.file(literals, Key { stages: both, ..key }, Source::Merged(there, id));
                self.clauses[id as usize].direct = direct;
                self.clauses[id as usize].worst_case = worst_case;
            }
        }
    }

    fn push(&mut self, literals: &[LiteralId], key: Key, source: Source) -> u32 {
        let Key { signature, visits, stages } = key;
        let id = self.clauses.len() as u32;
        let start = self.literals.len() as u32;
        self.literals.extend_from_slice(literals);
        let length = literals.len() as u32;
        self.clauses.push(Entry {
            start,
            length,
            signature,
            visits,
            stages,
            source,
            direct: source.is_direct(),
            worst_case: source.is_worst_case(),
            processed: false,
            dropped: false,
        });
        self.derived += usize::from(source.is_derived());
        id
    }

    /// Adds a clause, has it resolved or regressed, and gives its number.
    fn file(&mut self, literals: &[LiteralId], key: Key, source: Source) -> u32 {
        let id = self.push(literals, key, source);
        let length = literals.len() as u32;
        let load = |literal: &&LiteralId| self.by_rarest.get(literal).map_or(0, Vec::len);
        match literals.iter().min_by_key(load) {
            Some(&rarest) => self.by_rarest.entry(rarest).or_default().push(id),
            None => self.empty.push(id),
        }
        if let [.., before, last] | [before @ last] = literals {
            self.by_last_two.entry((*before, *last)).or_default().push(id);
        }
        let mut priority = 0;
        if let Some(last) = literals.last()
            && let Some(position) = last.position()
        {
            self.by_last[row(position, last.present())].push(id);
            priority = position + 1;
        }
        self.waiting.push((priority, Reverse(length), Reverse(id)));
        id
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
                self.resolve(id, row(position, !last.present()), encoder);
                continue;
            }
            let Entry { visits, stages, .. } = self.clauses[id as usize];
            let revealed = |literal: &LiteralId| {
                literal.atom().is_some_and(|atom| encoder.atoms.is_revealed(atom))
            };
            if visits.first > 0 && self.literals(id).iter().any(revealed) {
                let clause = self.literals(id).to_vec();
                let Some(concealed) = conceal(encoder, &clause, visits, self.outlook) else {
                    return Closed::TooLarge;
                };
                for (clause, visits) in concealed {
                    self.add(&clause, visits, stages, Source::Concealed(id));
                }
                continue;
            }
            if last.is_some_and(|last| last.threshold().is_some()) {
                self.join_days(id, encoder);
                continue;
            }
            if visits.first == 0 {
                self.excluding.push(id);
                self.excluded = self.excluded.join(stages);
                // A static visit is never the last.
                let first = |stage: &Stage| !stage.next().is_empty();
                if self.in_play.iter().filter(first).all(|stage| self.excluded.contains(stage)) {
                    return Closed::Unsatisfiable;
                }
                continue;
            }
            // Literals about the past come first, and the last one is not about now.
            let past = |literal: &LiteralId| Some((literal.atom()?, literal.present()));
            let clause: Vec<PastLiteral> = self.literals(id).iter().filter_map(past).collect();
            let Some(earlier) = regress(encoder, &clause, visits, stages) else {
                return Closed::TooLarge;
            };
            for (clause, visits, stages) in earlier {
                self.add(&clause, visits, stages, Source::Regressed(id));
            }
        }
        Closed::Complete
    }

    /// Excludes days by a clause together with those that exclude others.
    fn join_days(&mut self, id: u32, encoder: &Encoder<'_>) {
        let rest = |closure: &Self, id: u32| -> Vec<LiteralId> {
            let literals = closure.literals(id).iter().copied();
            literals.filter(|literal| literal.threshold().is_none()).collect()
        };
        let axis = encoder.axis;
        let Entry { visits, stages, .. } = self.clauses[id as usize];
        let excluded = axis.excluded(self.literals(id));
        let own = rest(self, id);
        if axis.excluding(excluded).next().is_none() {
            self.add(&own, visits, stages, Source::Joined(id, id));
            return;
        }
        for index in 0..self.by_days.len() {
            let (other, cells) = self.by_days[index];
            let Entry { dropped, visits: there, stages: then, .. } = self.clauses[other as usize];
            let (Some(visits), stages) = (visits.meet(there), stages.meet(then)) else { continue };
            let Some(joined) = GapAxis::joined(excluded, cells) else { continue };
            if dropped || stages.is_empty() {
                continue;
            }
            self.tried += 1;
            let literals = [own.clone(), rest(self, other), axis.excluding(joined).collect()];
            if let Some(clause) = encoder.sorted(literals.concat()) {
                self.add(&clause, visits, stages, Source::Joined(id, other));
            }
        }
        self.by_days.push((id, excluded));
    }

    /// Resolves a clause with those of a row, which end in the opposite literal.
    fn resolve(&mut self, id: u32, row: usize, encoder: &Encoder<'_>) {
        let mut resolvent = Vec::new();
        // No clause added here ends in the same code, so the row stays as it is.
        for index in 0..self.by_last[row].len() {
            let other = self.by_last[row][index];
            let Entry { processed, dropped, visits, stages, .. } = self.clauses[other as usize];
            let clause = &self.clauses[id as usize];
            let stages = clause.stages.meet(stages);
            if !processed || dropped || stages.is_empty() {
                continue;
            }
            let Some(visits) = clause.visits.meet(visits) else { continue };
            self.tried += 1;
            self.tried_at[row / 2] = self.tried_at[row / 2].saturating_add(1);
            if merge(self.literals(id), self.literals(other), &mut resolvent) {
                match encoder.atoms.has_facts() {
                    false => self.add(&resolvent, visits, stages, Source::Resolved(id, other)),
                    true => {
                        if let Some(clause) = encoder.simplified(resolvent.clone()) {
                            self.add(&clause, visits, stages, Source::Resolved(id, other));
                        }
                    }
                }
            }
        }
    }

    fn drop_if_subsumed(&mut self, id: u32) -> bool {
        let Entry { signature, visits, stages, direct, worst_case, dropped, .. } =
            self.clauses[id as usize];
        let key = Key { signature, visits, stages };
        if dropped {
            return true;
        }
        let subsuming = self.subsuming(self.literals(id), key, Some(id));
        if let Some(other) = subsuming {
            self.clauses[id as usize].dropped = true;
            self.clauses[other as usize].direct |= direct;
            self.clauses[other as usize].worst_case &= worst_case;
        }
        subsuming.is_some()
    }

    /// The clause of these literals and visits that is required at other stages.
    fn same(&self, literals: &[LiteralId], visits: VisitRange) -> Option<u32> {
        if self.in_play == Stages::OPEN {
            // There are no others.
            return None;
        }
        let same = |&&id: &&u32| {
            let clause = &self.clauses[id as usize];
            !clause.dropped && clause.visits == visits && self.literals(id) == literals
        };
        let filed = match literals {
            [] => &self.empty,
            [.., before, last] | [before @ last] => self.by_last_two.get(&(*before, *last))?,
        };
        filed.iter().find(same).copied()
    }

    /// A clause other than `itself` that is a part of these literals and holds wherever they do.
    fn subsuming(&self, literals: &[LiteralId], key: Key, itself: Option<u32>) -> Option<u32> {
        let Key { signature, visits, stages } = key;
        let subsumes = |&&id: &&u32| {
            let clause = &self.clauses[id as usize];
            Some(id) != itself
                && !clause.dropped
                && clause.signature & !signature == 0
                && clause.length as usize <= literals.len()
                && clause.visits.covers(visits)
                && clause.stages.covers(stages)
                && is_part(self.literals(id), literals)
        };
        if let Some(&id) = self.empty.iter().find(subsumes) {
            return Some(id);
        }
        let lists = || literals.iter().filter_map(|literal| self.by_rarest.get(literal));
        let short = literals.len() <= LONGEST_BY_PAIRS;
        if short && lists().map(Vec::len).sum::<usize>() > FEW {
            let pairs = (0..literals.len())
                .flat_map(|last| (0..=last).map(move |first| (literals[first], literals[last])));
            let filed = pairs.filter_map(|pair| self.by_last_two.get(&pair));
            return filed.flatten().find(subsumes).copied();
        }
        lists().flatten().find(subsumes).copied()
    }
}

/// What a clause is found by, besides its literals.
#[derive(Clone, Copy)]
struct Key {
    signature: u64,
    visits: VisitRange,
    stages: Stages,
}

/// Where clauses that end in this literal are listed.
fn row(position: u32, present: bool) -> usize {
    2 * position as usize + usize::from(present)
}

fn signature(literals: &[LiteralId]) -> u64 {
    literals
        .iter()
        .fold(0, |bits, literal| bits | 1 << (literal.number().wrapping_mul(0x9E37_79B9) >> 26))
}

/// Whether every literal of the sorted `part` is in the sorted `whole`.
fn is_part(part: &[LiteralId], whole: &[LiteralId]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|literal| rest.any(|other| other == literal))
}

/// The two sorted clauses as one, without the last literal of each, which are opposite. False if
/// the result always holds.
fn merge(left: &[LiteralId], right: &[LiteralId], into: &mut Vec<LiteralId>) -> bool {
    into.clear();
    let (mut left, mut right) = (&left[..left.len() - 1], &right[..right.len() - 1]);
    loop {
        let next = match (left.first(), right.first()) {
            (None, None) => return true,
            (Some(&one), None) => one,
            (None, Some(&other)) => other,
            (Some(&one), Some(&other)) => one.min(other),
        };
        for side in [&mut left, &mut right] {
            *side = side.strip_prefix(&[next]).unwrap_or(side);
        }
        if into.last().is_some_and(|last| last.negated() == next) {
            return false;
        }
        into.push(next);
    }
}
