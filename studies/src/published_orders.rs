//! The published rules in random orders: each order compiles, is proved, and leaves no violation.

use std::sync::Arc;

use consequence_enforce::{Enforcer, Writer};
use consequence_prng::Draws;
use consequence_record::{Code, Kind, Record};
use consequence_referee::Referee;
use consequence_rules::{CompileOptions, compile};
use rayon::prelude::*;

use crate::published::Published;
use consequence_testing::worlds::Choices;

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Orders compiled and proved.
    pub orders: u64,
    /// Statements proved.
    pub goals: u64,
    /// Visits written in each of the two modes, static visits included.
    pub visits: u64,
    /// Violations in visits as proposed.
    pub violations_before: u64,
    /// Violations after `overridden`.
    pub violations_overridden: u64,
    /// Violations after `guided`.
    pub violations_guided: u64,
}

impl std::ops::Add for Seen {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            orders: self.orders + other.orders,
            goals: self.goals + other.goals,
            visits: self.visits + other.visits,
            violations_before: self.violations_before + other.violations_before,
            violations_overridden: self.violations_overridden + other.violations_overridden,
            violations_guided: self.violations_guided + other.violations_guided,
        }
    }
}

/// Tries `orders` random orders with at least `visits` visits in all.
///
/// # Panics
/// If an order is refused, or a record written is none.
pub fn try_orders(published: &Published, orders: u64, visits: u64, seed: u64) -> Seen {
    let each = visits.div_ceil(orders);
    let tried = (0..orders).into_par_iter().map(|order| try_order(published, order, each, seed));
    tried.reduce(Seen::default, |one, other| one + other)
}

fn try_order(published: &Published, number: u64, visits: u64, seed: u64) -> Seen {
    let mut choices = Choices::new(seed, number);
    let mut order: Vec<usize> = (0..published.neurons.len()).collect();
    for place in (1..order.len()).rev() {
        order.swap(place, choices.below(place + 1));
    }
    let rules = Arc::new(published.rule_set(order));
    let plan = compile(Arc::clone(&rules), &CompileOptions::default())
        .unwrap_or_else(|error| panic!("order {number}: {error}"));
    let referee = Referee::new(&rules);
    let enforcer = Enforcer::new(&plan);
    let mut writers = [enforcer.writer(), enforcer.writer()];
    let named = named_codes(published);
    let draws = Draws::new(seed);
    let mut seen = Seen { orders: 1, goals: plan.proof().goals as u64, ..Seen::default() };
    let mut record = 0;
    while seen.visits < visits {
        let proposed = proposals(published, &named, &mut choices);
        for visit in &proposed.visits {
            writers[0].overridden(visit, &draws, record);
            guided(&mut writers[1], visit, &mut choices, &draws, record);
        }
        let [overridden, guided] = writers.each_mut().map(Writer::take);
        for written in [&overridden, &guided] {
            assert_eq!(referee.defects(written), [], "order {number}");
        }
        seen.visits += proposed.visits.len() as u64;
        seen.violations_before += referee.violations(&proposed).len() as u64;
        seen.violations_overridden += referee.violations(&overridden).len() as u64;
        seen.violations_guided += referee.violations(&guided).len() as u64;
        record += 1;
    }
    seen
}

/// Samples a visit with random probabilities: certain either way for some codes, high for the
/// codes proposed, low for the rest.
fn guided(
    writer: &mut Writer<'_>,
    proposed: &[Code],
    choices: &mut Choices,
    draws: &Draws,
    record: u64,
) {
    let background = if choices.probability(0.5) { 0.0 } else { 0.01 };
    let likely = [0.3, 0.9, 1.0][choices.below(3)];
    let end = writer.end();
    let probability = |code: Code, _: &[Code]| match proposed.binary_search(&code) {
        Ok(_) => likely,
        Err(_) if code == end => 0.0,
        Err(_) => background,
    };
    writer.guided(draws, record, probability).expect("these are probabilities");
}

/// The codes that rules name: the others only fill visits.
fn named_codes(published: &Published) -> Vec<Code> {
    let neurons = published.neurons.iter();
    let mut named: Vec<Code> = neurons
        .flat_map(|neuron| {
            neuron.inputs().chain(neuron.past_present.iter().copied()).chain([neuron.output])
        })
        .collect();
    named.sort_unstable();
    named.dedup();
    named
}

/// A record of one to four encounters. Half of them are dense in codes that rules name.
fn proposals(published: &Published, named: &[Code], choices: &mut Choices) -> Record {
    let vocabulary = &published.vocabulary;
    let dense = choices.probability(0.5);
    let density = if dense { 0.1 + choices.below(80) as f64 / 100.0 } else { 0.02 };
    let encounters = choices.between(1, 4);
    let visits = (0..=encounters).map(|visit| {
        let kind = Kind::of_visit(visit);
        let probability = if visit == 0 { 0.4 } else { density };
        let of_kind = named.iter().copied().filter(|&code| vocabulary.kind(code) == kind);
        let of_kind: Vec<Code> = of_kind.filter(|_| choices.probability(probability)).collect();
        let others = if visit == 0 { 0 } else { 12 };
        let others = (0..others).map(|_| Code(choices.below(published.encounter_codes) as u32));
        of_kind.into_iter().chain(others).collect()
    });
    Record::new(visits.collect()).cut()
}
