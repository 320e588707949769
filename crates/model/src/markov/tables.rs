//! The tables of a Markov model, and the walk over the codes of an encounter.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::MarkovPast;
use super::lifts::Lifts;
use super::statics::StaticTree;

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
        mut decide: impl FnMut(u32, f64) -> bool,
    ) {
        self.base_odds(past, previous, end, odds);
        past.statics.iter().for_each(|&code| self.by_static.add(code, odds));
        if past.visits > 1 {
            previous.iter().for_each(|&code| self.by_previous.add(code, odds));
        }
        for position in range {
            if decide(position, probability(odds[position as usize])) {
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
