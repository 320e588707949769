//! Small random worlds, and what is true in them, judged literal by literal.

use std::sync::Arc;

use consequence_baselines::{Constraint, NamedRule, SpannedClause, World};
use consequence_record::{Code, Cohort, Kind, Record, Vocabulary};
use consequence_rules::{Literal, Order, VisitRange, Window};
use proptest::prelude::*;

/// Codes of encounters, without `END`.
pub const ENCOUNTER: u32 = 6;
pub const STATIC: u32 = 3;

pub fn settings() -> ProptestConfig {
    ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() }
}

/// Clauses, a record of some encounters, and logits for each code.
#[derive(Clone, Debug)]
pub struct Small {
    pub codes: Order,
    pub clauses: Vec<SpannedClause>,
    pub record: Record,
    pub logits: Vec<f32>,
}

impl Small {
    pub fn constraint(&self) -> Constraint {
        let rules = (0..self.clauses.len()).map(|rule| NamedRule {
            name: Arc::from(format!("rule {rule}")),
            // What a clause concludes is its last literal about the visit.
            outputs: self.clauses[rule]
                .literals
                .iter()
                .rev()
                .filter_map(|one| Some(one.code()?.0))
                .take(1)
                .collect(),
            hard: true,
        });
        Constraint::from_clauses(&self.codes, rules.collect(), self.clauses.clone()).unwrap()
    }

    /// The logits of the codes that a visit may hold.
    pub fn row(&self, visit: usize) -> &[f32] {
        let range = self.codes.range(visit);
        &self.logits[range.start as usize..range.end as usize]
    }

    /// What is known when a visit begins.
    pub fn known(&self, world: &World, visit: usize) -> Vec<bool> {
        let mut cohort = Cohort::default();
        cohort.push("p", &self.record);
        world.known(cohort.record(0), visit)
    }

    /// The codes present in a choice of codes, counted from the first that the visit may hold.
    pub fn present(&self, visit: usize, choice: u32) -> Vec<u32> {
        (0..self.codes.range(visit).len() as u32).filter(|code| choice >> code & 1 == 1).collect()
    }

    pub fn choices(&self, visit: usize) -> std::ops::Range<u32> {
        0..1 << self.codes.range(visit).len()
    }

    /// Whether a clause holds in a visit with a choice of codes, by its meaning.
    pub fn clause_holds(&self, clause: &SpannedClause, visit: usize, choice: u32) -> bool {
        if visit < usize::from(clause.span.first) || visit > usize::from(clause.span.last) {
            return true;
        }
        let range = self.codes.range(visit);
        clause.literals.iter().any(|literal| {
            let (code, window) = literal.code().expect("methods know codes only");
            let position = self.codes.position(code);
            let found = match window {
                None => range.contains(&position) && choice >> (position - range.start) & 1 == 1,
                Some(window) => (0..visit).any(|then| {
                    window.selects(visit, then) && self.record.visits[then].contains(&code)
                }),
            };
            found == literal.present
        })
    }

    pub fn holds(&self, visit: usize, choice: u32) -> bool {
        self.clauses.iter().all(|clause| self.clause_holds(clause, visit, choice))
    }

    /// Whether the clauses hold that speak of the visit alone, whichever encounter it is.
    pub fn static_clauses_hold(&self, visit: usize, choice: u32) -> bool {
        let whole = |span: VisitRange| match visit {
            0 => span.first == 0,
            _ => span.first <= 1 && span.last == VisitRange::OPEN,
        };
        let is_static = |clause: &&SpannedClause| {
            whole(clause.span)
                && (visit == 0 || clause.literals.iter().all(|one| one.code_now().is_some()))
        };
        self.clauses.iter().filter(is_static).all(|clause| self.clause_holds(clause, visit, choice))
    }

    /// The probability of a choice of codes drawn one by one.
    pub fn probability(&self, visit: usize, choice: u32) -> f64 {
        let probability = |&logit: &f32| 1.0 / (1.0 + (-f64::from(logit)).exp());
        let each = self.row(visit).iter().map(probability).enumerate();
        each.map(
            |(code, probability)| {
                if choice >> code & 1 == 1 { probability } else { 1.0 - probability }
            },
        )
        .product()
    }
}

fn windows() -> impl Strategy<Value = Option<Window>> {
    prop_oneof![
        6 => Just(None),
        1 => Just(Some(Window::past())),
        1 => Just(Some(Window::previous())),
        1 => Just(Some(Window::static_visit())),
        1 => Just(Some(Window::set([1], [2]))),
    ]
}

fn spans() -> impl Strategy<Value = VisitRange> {
    let span = |first, last| Just(VisitRange { first, last });
    prop_oneof![
        8 => span(1, VisitRange::OPEN),
        2 => span(0, 0),
        1 => span(0, VisitRange::OPEN),
        1 => span(2, VisitRange::OPEN),
        1 => span(1, 2),
        1 => span(3, 3),
    ]
}

const CODES: u32 = STATIC + ENCOUNTER + 1;

/// A world with at most so many clauses of so many literals.
pub fn worlds(clauses: usize, literals: usize) -> impl Strategy<Value = Small> {
    let literal =
        (windows(), 0..CODES, any::<bool>()).prop_map(|(window, code, present)| match window {
            None => Literal::now(Code(code), present),
            Some(window) => Literal::within(Code(code), window, present),
        });
    let clause = (proptest::collection::vec(literal, 1..=literals), spans());
    worlds_of(proptest::collection::vec(clause, 0..=clauses))
}

/// A world of implications within an encounter, each of one code from one or two, some of which
/// must be absent.
pub fn implications(count: usize) -> impl Strategy<Value = Small> {
    let now = |code, present| Literal::now(Code(code), present);
    let antecedent = (STATIC..CODES, proptest::bool::weighted(0.2));
    let body = proptest::collection::vec(antecedent, 1..=2);
    let clause = (body, STATIC..CODES).prop_map(move |(body, head)| {
        let body = body.into_iter().map(|(code, absent)| now(code, absent));
        (body.chain([now(head, true)]).collect(), VisitRange { first: 1, last: VisitRange::OPEN })
    });
    worlds_of(proptest::collection::vec(clause, 0..=count))
}

fn worlds_of(
    clauses: impl Strategy<Value = Vec<(Vec<Literal>, VisitRange)>>,
) -> impl Strategy<Value = Small> {
    let shuffled = Just((STATIC..CODES).map(Code).collect::<Vec<_>>()).prop_shuffle();
    let visit = proptest::collection::vec(any::<bool>(), ENCOUNTER as usize);
    let visits = proptest::collection::vec(visit, 4);
    let statics = proptest::collection::vec(any::<bool>(), STATIC as usize);
    let logits = proptest::collection::vec(-4.0f32..4.0, CODES as usize);
    (clauses, shuffled, visits, statics, logits).prop_map(
        |(clauses, shuffled, visits, statics, logits)| {
            let names = (0..STATIC + ENCOUNTER).map(|code| {
                let kind = if code < STATIC { Kind::Static } else { Kind::Encounter };
                (format!("C{code}"), kind)
            });
            let vocabulary = Arc::new(Vocabulary::new(names).unwrap());
            let order = (0..STATIC).map(Code).chain(shuffled).collect();
            let codes = Order::new(order, vocabulary).unwrap();
            let clauses = (0..).zip(clauses).map(|(rule, (literals, span))| SpannedClause {
                literals,
                span,
                rule,
            });
            let chosen = |from: u32, bits: &[bool]| -> Vec<Code> {
                (from..).zip(bits).filter(|(_, bit)| **bit).map(|(code, _)| Code(code)).collect()
            };
            let encounters = visits.iter().map(|bits| chosen(STATIC, bits));
            let record = std::iter::once(chosen(0, &statics)).chain(encounters).collect();
            let clauses = clauses.collect();
            Small { codes, clauses, record: Record::new(record), logits }
        },
    )
}

/// The measured of a function by each value, measured.
pub fn measured_gradient(values: &[f32], mut function: impl FnMut(&[f32]) -> f64) -> Vec<f64> {
    const STEP: f32 = 1.0 / 256.0;
    let mut moved = values.to_vec();
    (0..values.len())
        .map(|at| {
            let mut with = |value: f32| {
                moved[at] = value;
                function(&moved)
            };
            let (over, under) = (values[at] + STEP, values[at] - STEP);
            let measured = (with(over) - with(under)) / f64::from(over - under);
            with(values[at]);
            measured
        })
        .collect()
}

/// Whether a gradient is what was measured, written twice as large on top of ones.
pub fn doubled_over_ones(gradient: &[f32], measured_gradient: &[f64]) -> Result<(), TestCaseError> {
    prop_assert_eq!(gradient.len(), measured_gradient.len());
    for (&value, measured) in gradient.iter().zip(measured_gradient) {
        let value = (f64::from(value) - 1.0) / 2.0;
        prop_assert!(
            (value - measured).abs() < 1e-4 * (1.0 + measured.abs()),
            "{value} for {measured}"
        );
    }
    Ok(())
}
