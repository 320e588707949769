//! Which codes come together, or one after the other, more or less often than by chance.

use consequence_rules::Order;
use rayon::prelude::*;

use super::counts::Counts;
use super::counts::Pack;
use super::tables::{Lifts, log_odds};

/// Occurrences by chance that are added to those seen and to those expected.
const PRIOR: f64 = 2.0;

/// Codes that never come together say something once this many occurrences were expected.
const EXPECTED: f64 = 2.0;

/// Lifts that a code may have of one kind: memory grows with the codes, never with their square.
const MOST: usize = 256;

/// Counts of pairs of codes, taken one code at a time.
pub(super) struct Pairs<'a> {
    pack: &'a Pack,
    codes: &'a Order,
    holders: Vec<Vec<u32>>,
    any: Rates,
    later: Rates,
}

/// What codes of one kind say of the codes of an encounter.
pub(super) struct Evidence {
    pub lifts: Lifts,
    /// What they say of each code on average.
    pub means: Vec<f64>,
}

/// What one code says of others, and in how many encounters it had a say.
#[derive(Default)]
struct Found {
    encounters: usize,
    lifts: Vec<(u32, f32)>,
}

/// How frequent the codes of encounters are.
struct Rates {
    encounters: u64,
    rate: Vec<f64>,
    /// The most frequent first.
    order: Vec<u32>,
}

impl Rates {
    fn new(codes: &Order, encounters: u64, rate: impl Fn(usize) -> f64) -> Self {
        let rate: Vec<f64> = (0..codes.len()).map(rate).collect();
        let mut order: Vec<u32> = codes.range(1).collect();
        order.sort_by(|&one, &other| rate[other as usize].total_cmp(&rate[one as usize]));
        Self { encounters, rate, order }
    }
}

/// How often codes were seen beside one other; empty between uses.
#[derive(Clone)]
struct Tally {
    counts: Vec<u32>,
    touched: Vec<u32>,
}

impl Tally {
    fn add(&mut self, codes: &[u32]) {
        for &code in codes {
            if self.counts[code as usize] == 0 {
                self.touched.push(code);
            }
            self.counts[code as usize] += 1;
        }
    }

    /// What was seen in `encounters` encounters, as lifts of the codes that `speaks_of` allows.
    fn lifts(
        &mut self,
        encounters: usize,
        rates: &Rates,
        speaks_of: impl Fn(u32) -> bool,
    ) -> Found {
        let expected = |code: u32| encounters as f64 * rates.rate[code as usize];
        let common = rates.order.iter().copied().take_while(|&code| expected(code) >= EXPECTED);
        let absent = common.filter(|&code| self.counts[code as usize] == 0);
        let all = self.touched.iter().copied().chain(absent).filter(|&code| speaks_of(code));
        let mut found: Vec<(f64, u32, f64)> = all
            .map(|code| {
                let (seen, expected) = (f64::from(self.counts[code as usize]), expected(code));
                let rate = rates.rate[code as usize];
                // Never reaches 1: no more encounters held the code than there were.
                let probability = rate * (seen + PRIOR) / (expected + PRIOR);
                let lift = log_odds(probability) - log_odds(rate);
                ((seen - expected).abs() * lift.abs(), code, lift)
            })
            .collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        found.truncate(MOST);
        let mut lifts: Vec<(u32, f32)> =
            found.into_iter().map(|(_, code, lift)| (code, lift as f32)).collect();
        lifts.sort_unstable_by_key(|&(code, _)| code);
        self.touched.drain(..).for_each(|code| self.counts[code as usize] = 0);
        Found { encounters, lifts }
    }
}

impl<'a> Pairs<'a> {
    pub fn new(pack: &'a Pack, codes: &'a Order, counts: &Counts) -> Self {
        let holders = pack.holders(codes.len());
        let (first, later) = (counts.encounters(false), counts.encounters(true));
        let any = Rates::new(codes, first + later, |code| counts.rate(code));
        let later = Rates::new(codes, later, |code| counts.later_rate(code));
        Self { pack, codes, holders, any, later }
    }

    /// What static codes, codes of the previous encounter, and codes of the same visit say.
    pub fn evidence(&self) -> [Evidence; 3] {
        let tally = Tally { counts: vec![0; self.codes.len()], touched: Vec::new() };
        let by_code: Vec<[Found; 3]> = (0..self.codes.len() as u32)
            .into_par_iter()
            .map_init(
                || tally.clone(),
                |tally, source| match (source as usize) < self.codes.statics() {
                    true => [self.by_static(source, tally), Found::default(), Found::default()],
                    false => [
                        Found::default(),
                        self.by_previous(source, tally),
                        self.by_current(source, tally),
                    ],
                },
            )
            .collect();
        let (all, later) = (self.any.encounters, self.later.encounters);
        [(0, all), (1, later), (2, all)].map(|(kind, encounters)| {
            let mut means = vec![0.0; self.codes.len()];
            for Found { encounters: with, lifts } in by_code.iter().map(|found| &found[kind]) {
                let share = *with as f64 / encounters.max(1) as f64;
                for &(code, lift) in lifts {
                    means[code as usize] += share * f64::from(lift);
                }
            }
            let lists = by_code.iter().map(|found| found[kind].lifts.as_slice());
            Evidence { lifts: Lifts::new(lists), means }
        })
    }

    fn holders(&self, source: u32) -> impl Iterator<Item = usize> {
        self.holders[source as usize].iter().map(|&visit| visit as usize)
    }

    fn by_static(&self, source: u32, tally: &mut Tally) -> Found {
        let mut encounters = 0;
        for mut visit in self.holders(source) {
            while let Some(after) = self.pack.after(visit) {
                tally.add(self.pack.visit(after));
                encounters += 1;
                visit = after;
            }
        }
        tally.lifts(encounters, &self.any, |_| true)
    }

    fn by_previous(&self, source: u32, tally: &mut Tally) -> Found {
        let mut encounters = 0;
        for after in self.holders(source).filter_map(|visit| self.pack.after(visit)) {
            tally.add(self.pack.visit(after));
            encounters += 1;
        }
        // Whether a code comes again is in its base rate.
        tally.lifts(encounters, &self.later, |code| code != source)
    }

    fn by_current(&self, source: u32, tally: &mut Tally) -> Found {
        for visit in self.holders(source) {
            tally.add(self.pack.visit(visit));
        }
        let encounters = self.holders[source as usize].len();
        tally.lifts(encounters, &self.any, |code| code > source)
    }
}
