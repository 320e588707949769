//! How often each code was seen, by what was before, in records as positions, end to end.

use std::ops::Range;

use consequence_record::{Lists, Selection};
use consequence_rules::Order;

use super::tables::log_odds;
use super::tables::{EARLIER, FIRST, NEW, PREVIOUS, STATES};

/// Encounters that the rate over all encounters counts for, beside those in one state.
const PRIOR: f64 = 8.0;

/// Encounters, by number, that have a probability of `END` of their own.
const NUMBERED: usize = 32;

/// How often each code was in each state, and how often it was then present.
pub(super) struct Counts {
    present: [Vec<u64>; STATES],
    /// Of the states that need the code to have been seen; the rest follow.
    probabilities: [Vec<u64>; STATES],
    /// The number of first encounters, second ones, ...
    numbered: Vec<u64>,
    /// How many of them were the last of an ended record.
    ended: Vec<u64>,
}

impl Counts {
    pub fn new(pack: &Pack, codes: usize, end: u32) -> Self {
        let none = || [0; STATES].map(|_: u8| vec![0u64; codes]);
        let mut counts = Self {
            present: none(),
            probabilities: none(),
            numbered: vec![0; NUMBERED],
            ended: vec![0; NUMBERED],
        };
        let mut state = vec![NEW; codes];
        let mut seen: Vec<u32> = Vec::new();
        for visits in pack.records() {
            for (number, visit) in visits.clone().skip(1).enumerate() {
                let slot = number.min(NUMBERED - 1);
                counts.numbered[slot] += 1;
                counts.ended[slot] += u64::from(pack.visit(visit).binary_search(&end).is_ok());
                for &code in &seen {
                    counts.probabilities[state[code as usize]][code as usize] += 1;
                }
                for &code in pack.visit(visit) {
                    let state = if number == 0 { FIRST } else { state[code as usize] };
                    counts.present[state][code as usize] += 1;
                }
                seen.iter().for_each(|&code| state[code as usize] = EARLIER);
                for &code in pack.visit(visit) {
                    if state[code as usize] == NEW {
                        seen.push(code);
                    }
                    state[code as usize] = PREVIOUS;
                }
            }
            seen.drain(..).for_each(|code| state[code as usize] = NEW);
        }
        for code in 0..codes {
            let known = counts.probabilities[EARLIER][code] + counts.probabilities[PREVIOUS][code];
            counts.probabilities[FIRST][code] = counts.encounters(false);
            counts.probabilities[NEW][code] = counts.encounters(true) - known;
        }
        counts
    }

    /// The number of first or of later encounters.
    pub fn encounters(&self, later: bool) -> u64 {
        if later { self.numbered[1..].iter().sum() } else { self.numbered[0] }
    }

    /// How many first or later encounters held a code.
    pub fn seen(&self, later: bool, code: usize) -> u64 {
        let states: &[usize] = if later { &[NEW, EARLIER, PREVIOUS] } else { &[FIRST] };
        states.iter().map(|&state| self.present[state][code]).sum()
    }

    /// The share of all encounters that held a code.
    pub fn rate(&self, code: usize) -> f64 {
        let all = self.encounters(false) + self.encounters(true);
        let seen = self.seen(false, code) + self.seen(true, code);
        (seen as f64 + 0.5) / (all as f64 + 1.0)
    }

    /// The share of encounters after the first that held a code.
    pub fn later_rate(&self, code: usize) -> f64 {
        let seen = self.seen(true, code) as f64 + PRIOR * self.rate(code);
        seen / (self.encounters(true) as f64 + PRIOR)
    }

    /// The log-odds of each code in each state.
    pub fn base(&self) -> [Vec<f32>; STATES] {
        std::array::from_fn(|state| {
            let all = self.present[state].iter().zip(&self.probabilities[state]).enumerate();
            let odds = all.map(|(code, (&present, &probabilities))| {
                let rate = self.rate(code);
                log_odds((present as f64 + PRIOR * rate) / (probabilities as f64 + PRIOR)) as f32
            });
            odds.collect()
        })
    }

    /// The log-odds of `END` at each encounter: what was seen there, and the probability before it.
    pub fn ends(&self) -> Vec<f32> {
        let mut probability = self.rate_of_end();
        let each = self.numbered.iter().zip(&self.ended).map(|(&number, &ended)| {
            probability = (ended as f64 + PRIOR * probability) / (number as f64 + PRIOR);
            log_odds(probability) as f32
        });
        each.collect()
    }

    fn rate_of_end(&self) -> f64 {
        let sum = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
        (sum(&self.ended) + 0.5) / (sum(&self.numbered) + 1.0)
    }
}

/// The records to train on: visits end to end, each as ascending positions, `END` among them.
pub(super) struct Pack {
    visits: Lists<u32>,
    records: Vec<Range<usize>>,
    /// Whether a visit is the last of its record.
    last: Vec<bool>,
}

impl Pack {
    pub fn new(codes: &Order, records: Selection<'_>) -> Self {
        let mut pack = Self { visits: Lists::default(), records: Vec::new(), last: Vec::new() };
        for record in records.records() {
            let first = pack.last.len();
            for visit in 0..record.len() {
                pack.visits.push(codes.positions(record, visit));
                pack.last.push(visit + 1 == record.len());
            }
            pack.records.push(first..pack.last.len());
        }
        pack
    }

    /// The visits of each record, the static visit first.
    pub fn records(&self) -> &[Range<usize>] {
        &self.records
    }

    /// The codes of a visit.
    pub fn visit(&self, visit: usize) -> &[u32] {
        self.visits.list(visit)
    }

    /// The visit that follows in the same record.
    pub fn after(&self, visit: usize) -> Option<usize> {
        (!self.last[visit]).then_some(visit + 1)
    }

    /// For each of so many codes, the visits that hold it.
    pub fn holders(&self, codes: usize) -> Vec<Vec<u32>> {
        let mut holders = vec![Vec::new(); codes];
        for visit in 0..self.last.len() {
            self.visit(visit).iter().for_each(|&code| holders[code as usize].push(visit as u32));
        }
        holders
    }
}
