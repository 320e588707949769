//! Training: counts first, then base rates that make each code as frequent as it was seen.

use std::ops::Range;

use consequence_record::Selection;
use consequence_rules::Order;
use rayon::prelude::*;

use super::MarkovPast;
use super::counts::Counts;
use super::counts::Pack;
use super::pairs::{Evidence, Pairs};
use super::tables::StaticTree;
use super::tables::{EARLIER, FIRST, MarkovTables, NEW, PREVIOUS};
use super::tables::{Lifts, log_odds};
use super::weights::Weighting;

/// Passes that bring expected counts to those seen.
const PASSES: usize = 3;

/// One of so many records is held back to fit how much lifts count.
const KEPT_BACK: usize = 10;

/// Parts that are summed apart, whatever the number of threads.
pub(super) const PARTS: usize = 16;

pub(super) fn fit(codes: &Order, records: Selection<'_>, max_visits: usize) -> MarkovTables {
    let is_kept = |number: &usize| number % KEPT_BACK == KEPT_BACK - 1;
    let (kept, rest): (Vec<usize>, Vec<usize>) = (0..records.len()).partition(is_kept);
    let pack = |numbers: &[usize]| {
        let indices: Vec<usize> = numbers.iter().map(|&number| records.index(number)).collect();
        Pack::new(codes, Selection::new(records.cohort(), &indices))
    };
    let (tables, evidence, _) = count(codes, &pack(&rest), max_visits);
    let weighting = Weighting::fit(&tables, &evidence, &pack(&kept), codes);
    let pack = Pack::new(codes, records);
    let (mut tables, evidence, counts) = count(codes, &pack, max_visits);
    add(&mut tables, evidence, &weighting, codes.end());
    for _ in 0..PASSES {
        let expected = expect(&tables, &pack, codes);
        adjust(&mut tables, &counts, &expected, codes.range(1));
    }
    tables
}

/// Counts codes and pairs: tables without lifts, and the lifts apart.
fn count(codes: &Order, pack: &Pack, max_visits: usize) -> (MarkovTables, [Evidence; 3], Counts) {
    let static_visits = pack.records().iter().map(|visits| pack.visit(visits.start));
    let statics = StaticTree::fit(codes.statics(), static_visits);
    let counts = Counts::new(pack, codes.len(), codes.end());
    let mut base = counts.base();
    // `END` goes by the number of the encounter.
    base.iter_mut().for_each(|odds| odds[codes.end() as usize] = 0.0);
    let none = || Lifts::new((0..codes.len()).map(|_| &[][..]));
    let tables = MarkovTables {
        max_visits: max_visits.max(1),
        statics,
        base,
        ends: counts.ends(),
        by_static: none(),
        by_previous: none(),
        by_current: none(),
    };
    let evidence = Pairs::new(pack, codes, &counts).evidence();
    (tables, evidence, counts)
}

/// Adds weighted lifts to tables, and takes from the base rates what they add on average.
fn add(tables: &mut MarkovTables, evidence: [Evidence; 3], weighting: &Weighting, end: u32) {
    let MarkovTables { base, by_static, by_previous, by_current, .. } = tables;
    let tables = [by_static, by_previous, by_current];
    for (kind, (table, Evidence { mut lifts, means })) in
        tables.into_iter().zip(evidence).enumerate()
    {
        let weight = |code: u32| weighting.of(code == end)[kind];
        lifts.scale(weight);
        *table = lifts;
        for (state, odds) in base.iter_mut().enumerate() {
            // The first encounter has no encounter before it.
            if kind == 1 && state == FIRST {
                continue;
            }
            for ((code, odds), mean) in (0..).zip(odds).zip(&means) {
                *odds -= (weight(code) * mean) as f32;
            }
        }
    }
}

/// Moves the base rates so that each code is expected as often as it was seen.
fn adjust(tables: &mut MarkovTables, counts: &Counts, expected: &[Vec<f64>; 2], range: Range<u32>) {
    for (later, states) in [(false, &[FIRST][..]), (true, &[NEW, EARLIER, PREVIOUS])] {
        let encounters = counts.encounters(later) as f64;
        let odds = |count: f64| log_odds((count + 0.5) / (encounters + 1.0));
        for code in range.start as usize..range.end as usize {
            let expected = expected[usize::from(later)][code].min(encounters);
            let missed = odds(counts.seen(later, code) as f64) - odds(expected);
            states.iter().for_each(|&state| tables.base[state][code] += missed as f32);
        }
    }
}

/// How often each code is expected in first and in later encounters, given all that came before it.
fn expect(tables: &MarkovTables, pack: &Pack, codes: &Order) -> [Vec<f64>; 2] {
    let none = || [vec![0.0; codes.len()], vec![0.0; codes.len()]];
    let size = pack.records().len().div_ceil(PARTS).max(1);
    let parts: Vec<[Vec<f64>; 2]> = pack
        .records()
        .par_chunks(size)
        .map(|records| {
            let (mut sums, mut odds) = (none(), Vec::new());
            for visits in records {
                let mut past = MarkovPast::default();
                for visit in visits.clone().skip(1) {
                    let previous = pack.visit(visit - 1);
                    past.see(previous);
                    let sums = &mut sums[usize::from(past.visits > 1)];
                    let truth = pack.visit(visit);
                    let (range, end) = (codes.range(1), codes.end());
                    tables.walk(
                        &past,
                        previous,
                        range,
                        end,
                        &mut odds,
                        |position, probability, _| {
                            sums[position as usize] += probability;
                            truth.binary_search(&position).is_ok()
                        },
                    );
                }
            }
            sums
        })
        .collect();
    let mut total = none();
    for part in parts {
        for (total, part) in total.iter_mut().zip(part) {
            total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
        }
    }
    total
}
