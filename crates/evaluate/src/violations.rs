//! How records obey rules: hard rules are broken or not, soft ones hold as often as they do.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_enforce::{Auditor, Violation};
use consequence_rules::{CompileError, CompileLimits, Formula, Rule, RuleSet, Says, WrittenRules};
use rayon::prelude::*;
use serde::Serialize;
use thiserror::Error;

use crate::check::{BadRecord, check};
use crate::compare::Sample;
use crate::words::{count, number};

/// Records that one thread looks at together.
const CHUNK: usize = 256;

/// Why violations could not be counted.
#[derive(Debug, Error)]
pub enum ViolationsError {
    /// A record is not of the vocabulary of the rules.
    #[error(transparent)]
    Record(#[from] BadRecord),
    /// A rule is too large.
    #[error(transparent)]
    Rules(#[from] CompileError),
}

/// How records obey some of the hard rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Obeyed {
    /// The rules.
    pub rules: u64,
    /// Visits that break a rule, counted for each rule.
    pub violations: u64,
    /// Records that break none.
    pub valid_records: u64,
    /// Their share in percent; none without records.
    pub valid_percent: Option<f64>,
}

/// How often a hard rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HardRule {
    /// Its name.
    pub rule: String,
    /// Whether it looks at earlier visits.
    pub temporal: bool,
    /// Visits that break it.
    pub violations: u64,
    /// Records with such a visit.
    pub records: u64,
}

/// How often what a soft rule says is so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoftRule {
    /// Its name.
    pub rule: String,
    /// Whether it looks at earlier visits.
    pub temporal: bool,
    /// The probability it states.
    pub probability: f64,
    /// Visits where its condition holds.
    pub visits: u64,
    /// Those of them where its output is as it says.
    pub held: u64,
    /// Their share; none where the condition never holds. Where hard rules or later soft rules
    /// decide the same code, it need not come near the stated probability.
    pub share: Option<f64>,
}

/// How records obey rules. A rule is temporal if any part of it looks at earlier visits, else static.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violations {
    /// Records.
    pub records: u64,
    /// Visits, static ones included.
    pub visits: u64,
    /// All hard rules.
    pub all: Obeyed,
    /// The static hard rules.
    pub within_visit_rules: Obeyed,
    /// The temporal hard rules.
    pub temporal_rules: Obeyed,
    /// The hard rules, in the order written.
    pub hard: Vec<HardRule>,
    /// The soft rules, in the order written.
    pub soft: Vec<SoftRule>,
}

/// Counts where records break hard rules, and how often soft rules hold.
///
/// ```
/// use std::sync::Arc;
/// use consequence_evaluate::{Sample, violations};
/// use consequence_record::{Cohort, Record};
/// use consequence_rules::{CompileLimits, RuleSet};
///
/// let text = "rule lifelong: A in previous => A\nrule often: A => B with probability 0.9";
/// let rules = Arc::new(RuleSet::parse(text, None)?);
/// let [a, b] = ["A", "B"].map(|name| rules.vocabulary().code(name).unwrap());
/// let mut cohort = Cohort::default();
/// cohort.push("p1", &Record::new(vec![vec![], vec![a], vec![a, b], vec![]]));
/// let sample = Sample { cohort: &cohort, records: &[0] };
/// let found = violations(sample, &rules, &CompileLimits::default())?;
/// assert_eq!((found.temporal_rules.violations, found.within_visit_rules.violations), (1, 0));
/// assert_eq!((found.soft[0].visits, found.soft[0].share), (2, Some(0.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn violations(
    sample: Sample<'_>,
    rules: &Arc<RuleSet>,
    limits: &CompileLimits,
) -> Result<Violations, ViolationsError> {
    check(sample.cohort, sample.records.iter().copied(), rules.vocabulary())?;
    let found = audit(sample, Arc::clone(rules), limits)?;
    let soft = soft_rules(sample, rules, limits)?;
    let records = sample.records.len() as u64;
    let hard = rules.iter().zip(&found.rules).filter(|(rule, _)| rule.is_hard());
    let hard: Vec<HardRule> = hard
        .map(|(rule, &(violations, records))| HardRule {
            rule: rule.name.to_string(),
            temporal: rule.is_temporal(),
            violations,
            records,
        })
        .collect();
    let obeyed = |broken: u64, of: &dyn Fn(&HardRule) -> bool| {
        let rules = hard.iter().filter(|rule| of(rule));
        let valid_records = records - broken;
        Obeyed {
            rules: rules.clone().count() as u64,
            violations: rules.map(|rule| rule.violations).sum(),
            valid_records,
            valid_percent: (records > 0).then(|| 100.0 * valid_records as f64 / records as f64),
        }
    };
    let visits = sample.records.iter().map(|&place| sample.cohort.record(place).len() as u64);
    Ok(Violations {
        records,
        visits: visits.sum(),
        all: obeyed(found.broken, &|_| true),
        within_visit_rules: obeyed(found.broken_within_visit, &|rule| !rule.temporal),
        temporal_rules: obeyed(found.broken_temporal, &|rule| rule.temporal),
        hard,
        soft,
    })
}

/// What was found: records that break a rule of each kind, and for each rule visits and records.
#[derive(Default)]
struct Found {
    broken: u64,
    broken_within_visit: u64,
    broken_temporal: u64,
    rules: Vec<(u64, u64)>,
}

impl Found {
    fn none(rules: usize) -> Self {
        Self { rules: vec![(0, 0); rules], ..Self::default() }
    }

    fn add(&mut self, violations: &mut [Violation], rules: &RuleSet) {
        violations.sort_unstable_by_key(|violation| violation.rule);
        let (mut fixed, mut temporal) = (false, false);
        for of_rule in violations.chunk_by(|one, other| one.rule == other.rule) {
            let rule = of_rule[0].rule;
            self.rules[rule].0 += of_rule.len() as u64;
            self.rules[rule].1 += 1;
            *if rules[rule].is_temporal() { &mut temporal } else { &mut fixed } = true;
        }
        self.broken += u64::from(fixed || temporal);
        self.broken_within_visit += u64::from(fixed);
        self.broken_temporal += u64::from(temporal);
    }

    fn joined(mut self, other: Self) -> Self {
        self.broken += other.broken;
        self.broken_within_visit += other.broken_within_visit;
        self.broken_temporal += other.broken_temporal;
        for (one, more) in self.rules.iter_mut().zip(other.rules) {
            *one = (one.0 + more.0, one.1 + more.1);
        }
        self
    }
}

fn audit(
    sample: Sample<'_>,
    rules: Arc<RuleSet>,
    limits: &CompileLimits,
) -> Result<Found, CompileError> {
    let auditor = Auditor::new(&WrittenRules::new(Arc::clone(&rules), limits)?);
    let parts = sample.records.par_chunks(CHUNK).map(|places| {
        let (mut reader, mut broken) = (auditor.reader(), Vec::new());
        let mut found = Found::none(rules.len());
        for &place in places {
            reader.violations(sample.cohort.record(place), &mut broken);
            found.add(&mut broken, &rules);
        }
        found
    });
    Ok(parts.reduce(|| Found::none(rules.len()), Found::joined))
}

/// An audit only knows hard rules. So each soft rule is audited as two: one that is broken wherever
/// the condition holds, and one that is broken where, besides, the output is not as it says.
fn soft_rules(
    sample: Sample<'_>,
    rules: &Arc<RuleSet>,
    limits: &CompileLimits,
) -> Result<Vec<SoftRule>, CompileError> {
    let stated = rules.iter().filter_map(|rule| match &rule.says {
        Says::Hard(_) => None,
        Says::Soft { when, code, present, probability } => {
            let condition = when.clone().unwrap_or(Formula::Constant(true));
            Some((rule, condition, Formula::literal(*code, *present), *probability))
        }
    });
    let stated: Vec<(&Rule, Formula, Formula, f64)> = stated.collect();
    if stated.is_empty() {
        return Ok(Vec::new());
    }
    let hardened = stated.iter().flat_map(|(rule, condition, output, _)| {
        let never = Formula::And(vec![output.clone(), output.clone().not()]);
        [never, output.clone()].map(|demanded| Rule {
            says: Says::Hard(condition.clone().implies(demanded)),
            ..(*rule).clone()
        })
    });
    let hardened = RuleSet::new(Arc::clone(rules.vocabulary()), hardened.collect())
        .expect("the codes are those of the soft rules");
    let found = audit(sample, Arc::new(hardened), limits)?;
    let both = found.rules.chunks_exact(2);
    let counted = stated.into_iter().zip(both).map(|((rule, _, _, probability), counts)| {
        let (visits, missed) = (counts[0].0, counts[1].0);
        let held = visits - missed;
        SoftRule {
            rule: rule.name.to_string(),
            temporal: rule.is_temporal(),
            probability,
            visits,
            held,
            share: (visits > 0).then(|| held as f64 / visits as f64),
        }
    });
    Ok(counted.collect())
}

impl Display for Violations {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let records = count(self.records, "record");
        writeln!(out, "violations in {records}, {}", count(self.visits, "visit"))?;
        writeln!(out, "  hard rules  {}", self.all)?;
        writeln!(out, "  one visit   {}", self.within_visit_rules)?;
        writeln!(out, "  temporal    {}", self.temporal_rules)?;
        for soft in &self.soft {
            let share = soft.share.map_or("never".to_owned(), |share| format!("{share:.4}"));
            let visits = count(soft.visits, "visit");
            writeln!(
                out,
                "  soft rule {}: {share} of {visits}, stated {}",
                soft.rule, soft.probability
            )?;
        }
        Ok(())
    }
}

impl Display for Obeyed {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (rules, violations) = (count(self.rules, "rule"), count(self.violations, "violation"));
        write!(out, "{rules}, {violations}, {} records valid", number(self.valid_records))?;
        match self.valid_percent {
            Some(percent) => write!(out, " ({percent:.2}%)"),
            None => Ok(()),
        }
    }
}
