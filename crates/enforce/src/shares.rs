//! Which of several codes a repair puts in where a rule leaves the choice.
//!
//! One that the patient had before, at the latest visit that has any. Else one is drawn by how often
//! each is there in visits of the cohort that meet the clause by themselves.

use std::collections::{BTreeMap, BTreeSet};

use consequence_prng::VisitDraws;
use consequence_record::{Code, RecordView, Selection, Vocabulary};
use consequence_rules::{Clause, Plan};
use consequence_tally::{Counts, coded, counts};
use rayon::prelude::*;

use crate::choice::{Choice, alternatives};
use crate::enforcer::Enforcer;
use crate::history::History;

/// Visits that a count is taken from at least, if there is another that is less special.
const ENOUGH: u64 = 50;

/// How often each code is there in visits of a cohort that meet a clause by themselves, for clauses
/// that leave a choice.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    tables: BTreeMap<u32, Table>,
    sexes: Vec<Code>,
}

coded!(Shares { tables, sexes });

/// Shares of other records, by the same plan, can be added.
impl Counts for Shares {
    fn add(&mut self, other: Self) {
        self.tables.add(other.tables);
        self.sexes =
            if self.sexes.is_empty() { other.sexes } else { std::mem::take(&mut self.sexes) };
    }
}

/// What is counted of one clause.
#[derive(Clone, Debug)]
struct Table {
    alternatives: Vec<u32>,
    /// In visits of which the clause asks for one of the codes, and in all that have one.
    due: Tally,
    all: Tally,
}

/// Which codes they are does not depend on the records.
impl Counts for Table {
    fn add(&mut self, other: Self) {
        self.due.add(other.due);
        self.all.add(other.all);
    }
}

coded!(Table { alternatives, due, all });

/// Counts of all patients, and of those of each sex.
#[derive(Clone, Debug)]
struct Tally {
    visits: Vec<u64>,
    counts: Vec<Vec<u64>>,
}

counts!(Tally { visits, counts });

impl Tally {
    fn new(groups: usize, codes: usize) -> Self {
        Self { visits: vec![0; groups], counts: vec![vec![0; codes]; groups] }
    }

    fn count(&mut self, group: usize, present: &[usize]) {
        self.visits[group] += 1;
        for &code in present {
            self.counts[group][code] += 1;
        }
    }

    fn of(&self, group: usize) -> (u64, &[u64]) {
        (self.visits[group], &self.counts[group])
    }
}

impl Shares {
    /// Counts the codes of some clauses of a plan.
    pub(crate) fn count(
        enforcer: &Enforcer,
        clauses: &BTreeSet<u32>,
        records: Selection<'_>,
    ) -> Self {
        let plan = &enforcer.plan;
        let sexes = sexes(plan.order().vocabulary());
        let groups = 1 + sexes.len();
        let empty = Self {
            tables: clauses
                .iter()
                .map(|&clause| {
                    let alternatives = alternatives(plan, clause);
                    let tally = Tally::new(groups, alternatives.len());
                    (clause, Table { alternatives, due: tally.clone(), all: tally })
                })
                .collect(),
            sexes,
        };
        if empty.tables.is_empty() {
            return empty;
        }
        // The clauses that have a code, and its place among theirs.
        let mut having: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
        for (&clause, table) in &empty.tables {
            for (at, &position) in table.alternatives.iter().enumerate() {
                having.entry(position).or_default().push((clause, at));
            }
        }
        let counted = (0..records.len())
            .into_par_iter()
            .fold(
                || (empty.clone(), History::new(&enforcer.layout)),
                |(mut shares, mut history), index| {
                    shares.count_record(enforcer, &having, &mut history, records.record(index));
                    (shares, history)
                },
            )
            .map(|(shares, _)| shares);
        counted.reduce(
            || empty.clone(),
            |mut sum, more| {
                sum.add(more);
                sum
            },
        )
    }

    fn count_record(
        &mut self,
        enforcer: &Enforcer,
        having: &BTreeMap<u32, Vec<(u32, usize)>>,
        history: &mut History,
        record: RecordView<'_>,
    ) {
        let (layout, plan) = (&enforcer.layout, &enforcer.plan);
        let group = self.group(record.visit(0));
        history.clear();
        for (visit, codes) in record.visits().enumerate() {
            let mut met: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for &code in codes {
                let position = layout.order.position(code);
                history.set_present(position);
                for &(clause, at) in having.get(&position).into_iter().flatten() {
                    met.entry(clause).or_default().push(at);
                }
            }
            for (clause, present) in met {
                let Some(table) = self.tables.get_mut(&clause) else { continue };
                let clause = plan.clause(clause);
                if !clause.visits.contains(visit) {
                    continue;
                }
                let due = asks(enforcer, &clause, &table.alternatives, history);
                for group in BTreeSet::from([0, group]) {
                    table.all.count(group, &present);
                    if due {
                        table.due.count(group, &present);
                    }
                }
            }
            history.advance(layout);
        }
    }

    /// The group of a patient by the static visit: 0 if no sex is known, or several are.
    fn group(&self, statics: &[Code]) -> usize {
        let mut known =
            self.sexes.iter().enumerate().filter(|(_, sex)| statics.binary_search(sex).is_ok());
        match (known.next(), known.next()) {
            (Some((sex, _)), None) => 1 + sex,
            _ => 0,
        }
    }

    /// Chooses a code, with draws of the record and visit.
    pub(crate) fn choose(
        &self,
        plan: &Plan,
        choice: Choice<'_>,
        draws: &mut VisitDraws,
    ) -> Option<u32> {
        let table = self.tables.get(&choice.clause)?;
        let group = choice.record.visits.first().map_or(0, |statics| self.group(statics));
        let tallies = [table.due.of(group), table.due.of(0), table.all.of(group), table.all.of(0)];
        let enough = tallies.iter().find(|(visits, _)| *visits >= ENOUGH);
        let any = || tallies.iter().rev().find(|(visits, _)| *visits > 0);
        let counts = enough.or_else(any).map(|(_, counts)| *counts);
        let weight = |position: u32| {
            let at = table.alternatives.iter().position(|&other| other == position);
            counts.zip(at).map_or(0.0, |(counts, at)| counts[at] as f64)
        };
        choice.pick(plan.order(), weight, draws.uniform(choice.key(plan)))
    }
}

/// Whether a clause asks for one of its codes: whether all that it says besides is false.
fn asks(enforcer: &Enforcer, clause: &Clause<'_>, codes: &[u32], history: &History) -> bool {
    let Enforcer { layout, plan, .. } = enforcer;
    clause.literals.iter().all(|&literal| {
        let choice = literal.present()
            && literal.position().is_some_and(|position| codes.contains(&position));
        choice || !layout.condition(plan.atoms(), literal).holds(&history.bits)
    })
}

/// The static codes that say a sex.
fn sexes(vocabulary: &Vocabulary) -> Vec<Code> {
    let says = |&code: &Code| {
        let prefix = vocabulary.name(code).split("//").next().unwrap_or_default();
        ["SEX", "GENDER"].iter().any(|word| prefix.eq_ignore_ascii_case(word))
    };
    vocabulary.statics().filter(says).collect()
}
