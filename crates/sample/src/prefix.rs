//! Records that generated ones begin with, and why rules forbid one.

use consequence_enforce::{Enforcer, Ruling, Writer};
use consequence_record::{Code, Cohort, CohortDetails, Kind, RecordView, Selection};
use consequence_rules::{Clause, Order, Plan};
use rayon::prelude::*;

use crate::{SampleError, days};

/// What is known of the end of a record that another begins with, at the last visit that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The record may end there or go on.
    Open,
    /// The rules leave one possibility.
    Certain(bool),
}

/// A record that another begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning<'a> {
    pub record: RecordView<'a>,
    pub ending: Ending,
}

/// Records that others begin with, each found to be possible.
#[derive(Debug)]
pub(crate) struct Prefix<'a> {
    records: Selection<'a>,
    endings: Vec<Ending>,
}

impl<'a> Prefix<'a> {
    /// Refuses records that the model cannot write or the rules do not allow.
    pub fn new(
        cohort: &'a Cohort,
        details: Option<&'a CohortDetails>,
        codes: &Order,
        max_visits: usize,
        enforcer: Option<&Enforcer>,
    ) -> Result<Self, SampleError> {
        if cohort.is_empty() {
            return Err(SampleError::EmptyPrefix);
        }
        let records = Selection::all(cohort).detailed(details);
        let needs_dates = enforcer.is_some_and(|one| days::dates_are_asked(one.plan()));
        let found = (0..cohort.len()).into_par_iter().map(|index| {
            let (record, number) = (records.record(index), index + 1);
            if !is_of(codes, record) {
                return Err(SampleError::PrefixCodes { record: number });
            }
            if record.len() - 1 > max_visits {
                let visits = record.len() - 1;
                return Err(SampleError::PrefixTooLong {
                    record: number,
                    visits,
                    most: max_visits,
                });
            }
            if needs_dates && record.details().times.len() + 1 != record.len() {
                return Err(SampleError::PrefixDates { record: number });
            }
            match enforcer {
                None => Ok(Ending::Open),
                Some(enforcer) => ending(enforcer, record).map_err(|visit| {
                    let rules = blame(enforcer.plan(), record, visit);
                    SampleError::PrefixForbidden { record: number, visit, rules }
                }),
            }
        });
        // The first of those refused is named, whichever thread finds one first.
        let found: Vec<Result<Ending, SampleError>> = found.collect();
        Ok(Self { records, endings: found.into_iter().collect::<Result<_, _>>()? })
    }

    /// What record number `number` begins with.
    pub fn of(&self, number: u64) -> Beginning<'a> {
        let index = (number % self.endings.len() as u64) as usize;
        Beginning { record: self.records.record(index), ending: self.endings[index] }
    }
}

/// Whether every code of a record is one of the model's, in the visit where it belongs.
fn is_of(codes: &Order, record: RecordView<'_>) -> bool {
    let vocabulary = codes.vocabulary();
    record.len() > 1
        && record.visits().enumerate().all(|(visit, list)| {
            list.iter().all(|&code| {
                code < vocabulary.end() && vocabulary.kind(code) == Kind::of_visit(visit)
            })
        })
}

/// How a record that begins with this one can end there, or the visit at which the rules forbid it.
fn ending(enforcer: &Enforcer, record: RecordView<'_>) -> Result<Ending, usize> {
    let mut writer = enforcer.writer();
    let last = record.len() - 1;
    for visit in 0..last {
        if !writer.arrive_as(record, visit) || !copies(&mut writer, enforcer, record, visit, false)
        {
            return Err(visit);
        }
    }
    if !writer.arrive_as(record, last) {
        return Err(last);
    }
    let mut possible = |ends| {
        let mut writer = writer.clone();
        copies(&mut writer, enforcer, record, last, ends)
    };
    match [false, true].map(&mut possible) {
        [true, true] => Ok(Ending::Open),
        [true, false] => Ok(Ending::Certain(false)),
        [false, true] => Ok(Ending::Certain(true)),
        [false, false] => Err(last),
    }
}

/// Writes a visit of a record, and says whether no ruling was against it.
fn copies(
    writer: &mut Writer<'_>,
    enforcer: &Enforcer,
    record: RecordView<'_>,
    visit: usize,
    ends: bool,
) -> bool {
    let order = enforcer.plan().order();
    let codes = record.visit(visit).iter().map(|&code| order.position(code));
    let mut truth: Vec<u32> = codes.chain(ends.then(|| order.end())).collect();
    truth.sort_unstable();
    let mut allowed = true;
    writer.replay(&truth, |_, ruling, present| allowed &= ruling != Ruling::Forced(!present));
    allowed
}

/// The names of the rules that forbid a record to be as it is at a visit, whether it ends there or
/// goes on: those of the clause that needs the fewest of them.
fn blame(plan: &Plan, record: RecordView<'_>, visit: usize) -> Vec<String> {
    let end = plan.rules().vocabulary().end();
    let broken = |clause: &Clause<'_>, ends: bool| {
        let has = |then: usize, code: Code| match code == end {
            true => then == visit && ends,
            false => record.visit(then).binary_search(&code).is_ok(),
        };
        clause.visits.contains(visit)
            && !clause.literals.iter().any(|&literal| {
                // What codes do not tell is not to blame.
                plan.decode(literal).and_then(|one| one.holds(visit, has)).unwrap_or(true)
            })
    };
    let rules_against = |ends: bool| -> Vec<u32> {
        let clauses = plan.clauses().filter(|clause| broken(clause, ends));
        let fewest = clauses.min_by_key(|clause| clause.rules.len()).map(|one| one.rules.to_vec());
        let dense = || plan.diagram().map(|diagram| diagram.rules.clone());
        fewest.or_else(dense).unwrap_or_default()
    };
    let last = visit + 1 == record.len();
    let mut rules = rules_against(false);
    if last && visit > 0 {
        rules.extend(rules_against(true));
    }
    rules.sort_unstable();
    rules.dedup();
    rules.into_iter().map(|rule| plan.rule(rule).name.to_string()).collect()
}
