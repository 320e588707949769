//! What a repair puts in where a rule leaves the choice: the shares of codes before and after.

use std::collections::BTreeSet;
use std::sync::Arc;

use consequence_enforce::{RepairPlan, repair};
use consequence_feedback::Unwatched;
use consequence_prng::Draws;
use consequence_record::{Code, Cohort};
use consequence_rules::{CompileOptions, RuleSet};

use crate::networks::Subject;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Occurrences that a code must have for its growth to count.
const OCCURRENCES: u64 = 20;

/// The rules, with the cohorts they are tried on.
pub const RULES: [(Subject, &str, &str); 3] = [
    (
        Subject::Inpatients(46_520),
        "an endocrine diagnosis stays",
        "DX//endocrine//* in past => any of DX//endocrine//*",
    ),
    (Subject::Synpuf, "diabetes stays", "ICD9CM//250* in past => any of ICD9CM//250*"),
    (Subject::Uci, "diabetes is treated", "ICD9CM//250 => any of RX//*"),
];

/// What a repair did.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Codes put in, and how many different ones.
    pub added: [usize; 2],
    /// The total variation between the shares of the rule's codes, before and after.
    pub variation: f64,
    /// The largest factor by which the share of a code with at least 20 occurrences grew.
    pub growth: f64,
}

/// Repairs a cohort by one rule; none where the cohort is not there.
pub fn run(subject: Subject, rule: &str) -> Fallible<Option<Line>> {
    let Some(loaded) = subject.load()? else { return Ok(None) };
    let text = format!("rule chosen: {rule}");
    let rules = Arc::new(RuleSet::parse(&text, Some(Arc::clone(&loaded.vocabulary)))?);
    let max_visits = u16::try_from(loaded.cohort.longest())?;
    let options = CompileOptions { max_visits, ..CompileOptions::default() };
    let plan = RepairPlan::compile(Arc::clone(&rules), &options)?;
    let repaired = repair(&plan, &loaded.cohort, &Draws::new(1), &Unwatched);
    let codes: BTreeSet<Code> = rules[0].outputs().into_iter().collect();
    let counts = |cohort: &Cohort| {
        let mut counts = vec![0u64; rules.vocabulary().len()];
        for code in cohort.records().flat_map(|record| record.visits().flatten()) {
            counts[code.index()] += 1;
        }
        counts
    };
    let counts = [&loaded.cohort, &repaired.cohort].map(counts);
    let shares = counts.each_ref().map(|counts| {
        let all: u64 = codes.iter().map(|code| counts[code.index()]).sum();
        codes.iter().map(|code| counts[code.index()] as f64 / all as f64).collect::<Vec<f64>>()
    });
    let both = || shares[0].iter().zip(&shares[1]);
    let frequent = both().zip(&codes).filter(|(_, code)| counts[0][code.index()] >= OCCURRENCES);
    let different: BTreeSet<Code> = repaired.changes.iter().map(|change| change.code).collect();
    Ok(Some(Line {
        added: [repaired.summary.added as usize, different.len()],
        variation: both().map(|(before, after)| (before - after).abs()).sum::<f64>() / 2.0,
        growth: frequent.map(|((before, after), _)| after / before).fold(0.0, f64::max),
    }))
}
