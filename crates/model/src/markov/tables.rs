//! The tables of a Markov model: the static visits seen, as a tree, base rates, and how much the
//! presence of one code raises the odds of others. With them, the walk over the codes of an
//! encounter.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::MarkovPast;
use crate::LookAhead;

/// Log-odds stay within this, so that nothing is ever certain.
const MOST_ODDS: f64 = 30.0;

/// What the base rate of a code goes by.
pub(super) const STATES: usize = 4;
/// The first encounter.
pub(super) const FIRST: usize = 0;
/// A later encounter of a record in which the code has not been yet.
pub(super) const NEW: usize = 1;
/// The code was in an encounter before the previous one.
pub(super) const EARLIER: usize = 2;
/// The code was in the previous encounter.
pub(super) const PREVIOUS: usize = 3;

/// The tables of a [`Markov`](super::Markov) model, ready to be written to a file.
///
/// Codes are numbered by their positions in the order they are decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkovTables {
    pub(super) max_visits: usize,
    pub(super) statics: StaticTree,
    /// The log-odds of each code, by state.
    pub(super) base: [Vec<f32>; STATES],
    /// The log-odds of `END` at encounter 1, 2, ...; the last speaks for all that follow.
    pub(super) ends: Vec<f32>,
    /// What static codes say of encounters.
    pub(super) by_static: Lifts,
    /// What the codes of an encounter say of the next.
    pub(super) by_previous: Lifts,
    /// What a code says of those decided after it in the same visit.
    pub(super) by_current: Lifts,
}

impl MarkovTables {
    /// The log-odds of every code of an encounter before any lift.
    pub(super) fn base_odds(
        &self,
        past: &MarkovPast,
        previous: &[u32],
        end: u32,
        odds: &mut Vec<f64>,
    ) {
        let encounter = past.visits;
        let base = &self.base[if encounter == 1 { FIRST } else { NEW }];
        odds.clear();
        odds.extend(base.iter().map(|&odds| f64::from(odds)));
        if encounter > 1 {
            for (state, codes) in [(EARLIER, past.seen.as_slice()), (PREVIOUS, previous)] {
                for &code in codes {
                    odds[code as usize] = f64::from(self.base[state][code as usize]);
                }
            }
        }
        let hazard = self.ends[(encounter - 1).min(self.ends.len() - 1)];
        odds[end as usize] += f64::from(hazard);
    }

    /// Has every code of an encounter decided, in order; `odds` is memory to work in.
    pub(super) fn walk(
        &self,
        past: &MarkovPast,
        previous: &[u32],
        range: Range<u32>,
        end: u32,
        odds: &mut Vec<f64>,
        mut decide: impl FnMut(u32, f64, &mut LookAhead<'_>) -> bool,
    ) {
        self.base_odds(past, previous, end, odds);
        past.statics.iter().for_each(|&code| self.by_static.add(code, odds));
        if past.visits > 1 {
            previous.iter().for_each(|&code| self.by_previous.add(code, odds));
        }
        for position in range {
            let mut ahead = |present: bool, positions: &[u32], into: &mut [f64]| {
                let lifts = if present { self.by_current.by(position) } else { HashMap::new() };
                for (&other, into) in positions.iter().zip(into) {
                    let lift = lifts.get(&other).copied().unwrap_or(0.0);
                    *into = probability(odds[other as usize] + lift);
                }
            };
            if decide(position, probability(odds[position as usize]), &mut ahead) {
                self.by_current.add(position, odds);
            }
        }
    }

    /// Whether the tables are sound, and for so many codes.
    pub(super) fn fit(&self, statics: usize, codes: usize) -> bool {
        let finite = |odds: &Vec<f32>| odds.iter().all(|odds| odds.is_finite());
        self.max_visits > 0
            && self.statics.matches(statics)
            && self.base.iter().all(|odds| odds.len() == codes && finite(odds))
            && !self.ends.is_empty()
            && finite(&self.ends)
            && [&self.by_static, &self.by_previous, &self.by_current]
                .iter()
                .all(|lifts| lifts.fit(codes))
    }
}

/// The probability of log-odds.
pub(super) fn probability(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds.clamp(-MOST_ODDS, MOST_ODDS)).exp())
}

/// For each code that may be present, the codes whose log-odds it changes, and by how much.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Lifts {
    ends: Vec<u32>,
    targets: Vec<u32>,
    values: Vec<f32>,
}

impl Lifts {
    /// One list for each code, in order.
    pub fn new<'a>(lists: impl Iterator<Item = &'a [(u32, f32)]>) -> Self {
        let mut lifts = Self::default();
        for list in lists {
            lifts.targets.extend(list.iter().map(|&(target, _)| target));
            lifts.values.extend(list.iter().map(|&(_, value)| value));
            lifts.ends.push(lifts.targets.len() as u32);
        }
        lifts
    }

    /// Where the lifts by a code are.
    fn of(&self, source: u32) -> Range<usize> {
        let source = source as usize;
        let start = if source == 0 { 0 } else { self.ends[source - 1] as usize };
        start..self.ends[source] as usize
    }

    /// What the presence of a code says of others, by their positions.
    pub fn by(&self, source: u32) -> HashMap<u32, f64> {
        let range = self.of(source);
        let values = self.values[range.clone()].iter().map(|&value| f64::from(value));
        self.targets[range].iter().copied().zip(values).collect()
    }

    /// Adds what the presence of a code says of others.
    #[inline]
    pub fn add(&self, source: u32, odds: &mut [f64]) {
        let range = self.of(source);
        for (&target, &value) in self.targets[range.clone()].iter().zip(&self.values[range]) {
            odds[target as usize] += f64::from(value);
        }
    }

    /// Multiplies what is said of each code.
    pub fn scale(&mut self, weight: impl Fn(u32) -> f64) {
        for (&target, value) in self.targets.iter().zip(&mut self.values) {
            *value = (f64::from(*value) * weight(target)) as f32;
        }
    }

    /// Whether these are lifts between so many codes.
    pub fn fit(&self, codes: usize) -> bool {
        self.ends.len() == codes
            && self.ends.is_sorted()
            && self.ends.last().map_or(0, |&end| end as usize) == self.targets.len()
            && self.targets.len() == self.values.len()
            && self.targets.iter().all(|&target| (target as usize) < codes)
            && self.values.iter().all(|value| value.is_finite())
    }
}

/// The log-odds of a probability.
pub(super) fn log_odds(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

/// Records that a code's overall frequency counts for, beside those that began alike.
const PRIOR: f64 = 0.5;

/// A table of sets of static codes, read code by code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StaticTree {
    frequencies: Vec<f64>,
    nodes: Vec<Node>,
}

/// All records whose static visits begin with the same codes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Node {
    records: u64,
    /// By the next code present.
    next: Vec<(u32, u32)>,
}

/// The records that are alike so far: how they go on, and how many they are.
#[derive(Clone, Copy)]
struct Place<'a> {
    next: &'a [(u32, u32)],
    alike: u64,
}

impl StaticTree {
    /// Counts static visits, each as ascending positions below `statics`.
    pub fn fit<'a>(statics: usize, visits: impl Iterator<Item = &'a [u32]>) -> Self {
        let mut counts = vec![0u64; statics];
        let mut nodes = vec![Node::default()];
        for visit in visits {
            let mut at = 0;
            nodes[at].records += 1;
            for &position in visit {
                counts[position as usize] += 1;
                let index = nodes[at].next.binary_search_by_key(&position, |&(code, _)| code);
                let child = match index {
                    Ok(index) => nodes[at].next[index].1,
                    Err(index) => {
                        let child = nodes.len() as u32;
                        nodes.push(Node::default());
                        nodes[at].next.insert(index, (position, child));
                        child
                    }
                };
                at = child as usize;
                nodes[at].records += 1;
            }
        }
        let records = nodes[0].records as f64;
        let frequency = |&count: &u64| (count as f64 + 0.5) / (records + 1.0);
        Self { frequencies: counts.iter().map(frequency).collect(), nodes }
    }

    /// Has every static code decided, in order.
    pub fn walk(&self, mut decide: impl FnMut(u32, f64, &mut LookAhead<'_>) -> bool) {
        let mut at = Place { next: &self.nodes[0].next, alike: self.nodes[0].records };
        for position in 0..self.frequencies.len() as u32 {
            let (probability, after) = self.step(at, position);
            let mut ahead = |present: bool, positions: &[u32], into: &mut [f64]| {
                let last = positions.iter().max().map_or(position, |&last| last);
                let mut at = after[usize::from(present)];
                let following: Vec<f64> = (position + 1..=last)
                    .map(|position| {
                        let (probability, [absent, _]) = self.step(at, position);
                        at = absent;
                        probability
                    })
                    .collect();
                for (&other, into) in positions.iter().zip(into) {
                    *into = following[(other - position - 1) as usize];
                }
            };
            at = after[usize::from(decide(position, probability, &mut ahead))];
        }
    }

    /// The probability of a static code, and where one is with it absent and with it present.
    fn step<'a>(&'a self, at: Place<'a>, position: u32) -> (f64, [Place<'a>; 2]) {
        let child = at.next.split_first().filter(|(first, _)| first.0 == position);
        let node = child.map(|(first, _)| &self.nodes[first.1 as usize]);
        let present = node.map_or(0, |node| node.records);
        let frequency = self.frequencies[position as usize];
        let probability = (present as f64 + PRIOR * frequency) / (at.alike as f64 + PRIOR);
        let rest = child.map_or(at.next, |(_, rest)| rest);
        let absent = Place { next: rest, alike: at.alike - present };
        let with = node.map_or(Place { next: &[], alike: 0 }, |node| Place {
            next: &node.next,
            alike: node.records,
        });
        (probability, [absent, with])
    }

    /// Whether this is a tree over so many static codes.
    pub fn matches(&self, statics: usize) -> bool {
        let proper = |&frequency: &f64| 0.0 < frequency && frequency < 1.0;
        self.frequencies.len() == statics
            && self.frequencies.iter().all(proper)
            && !self.nodes.is_empty()
            && (0..).zip(&self.nodes).all(|(index, node)| self.fits(index, node, statics))
    }

    fn fits(&self, index: u32, node: &Node, statics: usize) -> bool {
        let mut left = node.records;
        node.next.is_sorted_by(|one, other| one.0 < other.0)
            && node.next.iter().all(|&(position, child)| {
                let Some(below) = self.nodes.get(child as usize) else { return false };
                let further = below.next.first().is_none_or(|first| first.0 > position);
                let rest = left.checked_sub(below.records);
                left = rest.unwrap_or(0);
                rest.is_some() && further && child > index && (position as usize) < statics
            })
    }
}
