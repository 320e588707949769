//! How records obey rules: hard rules are broken or not, soft ones hold as often as they do.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_enforce::{Audit, Auditor};
use consequence_feedback::Unwatched;
use consequence_feedback::words::{count, number};
use consequence_record::Selection;
use consequence_rules::{CompileError, CompileLimits, Formula, Rule, RuleSet, Says, WrittenRules};
use consequence_tally::counts;
use serde::Serialize;
use thiserror::Error;

use crate::measured::{BadRecord, check};

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

/// How records obey rules. A rule is temporal if any part of it looks at earlier visits, else
/// static.
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
/// use consequence_evaluate::violations;
/// use consequence_record::{Cohort, Record, Selection};
/// use consequence_rules::{CompileLimits, RuleSet};
///
/// let text = "rule lifelong: A in previous => A\nrule often: A => B with probability 0.9";
/// let rules = Arc::new(RuleSet::parse(text, None)?);
/// let [a, b] = ["A", "B"].map(|name| rules.vocabulary().code(name).unwrap());
/// let mut cohort = Cohort::default();
/// cohort.push("p1", &Record::new(vec![vec![], vec![a], vec![a, b], vec![]]));
/// let found = violations(Selection::all(&cohort), &rules, &CompileLimits::default())?;
/// assert_eq!((found.temporal_rules.violations, found.within_visit_rules.violations), (1, 0));
/// assert_eq!((found.soft[0].visits, found.soft[0].share), (2, Some(0.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn violations(
    records: Selection<'_>,
    rules: &Arc<RuleSet>,
    limits: &CompileLimits,
) -> Result<Violations, ViolationsError> {
    Ok(ViolationCounts::of(records, rules, limits)?.violations(rules))
}

/// What is counted of records to tell how they obey rules. Counts of other records can be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViolationCounts {
    hard: Audit,
    /// Of each soft rule, visits where its condition holds, and those of them where its output is not as it says.
    soft: Vec<[u64; 2]>,
}

counts!(ViolationCounts { hard, soft });

impl ViolationCounts {
    /// Counts records.
    pub fn of(
        records: Selection<'_>,
        rules: &Arc<RuleSet>,
        limits: &CompileLimits,
    ) -> Result<Self, ViolationsError> {
        check(records, rules.vocabulary())?;
        let hard = audit(records, Arc::clone(rules), limits)?;
        Ok(Self { hard, soft: soft_rules(records, rules, limits)? })
    }

    /// Records that break no hard rule.
    pub fn valid_records(&self) -> u64 {
        self.hard.valid_records
    }

    /// How the records obey the rules that they were counted by.
    pub fn violations(&self, rules: &RuleSet) -> Violations {
        violations_of(self, rules)
    }
}

fn violations_of(counts: &ViolationCounts, rules: &RuleSet) -> Violations {
    let found = &counts.hard;
    let soft = stated(rules).zip(&counts.soft).map(|((rule, _, _, probability), counts)| {
        let [visits, missed] = *counts;
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
    let soft = soft.collect();
    let hard = rules.iter().zip(&found.rules).filter(|(rule, _)| rule.is_hard());
    let hard: Vec<HardRule> = hard
        .map(|(rule, finding)| HardRule {
            rule: rule.name.to_string(),
            temporal: rule.is_temporal(),
            violations: finding.violations,
            records: finding.records,
        })
        .collect();
    let records = found.records;
    let obeyed = |valid_records: u64, of: &dyn Fn(&HardRule) -> bool| {
        let rules = hard.iter().filter(|rule| of(rule));
        Obeyed {
            rules: rules.clone().count() as u64,
            violations: rules.map(|rule| rule.violations).sum(),
            valid_records,
            valid_percent: (records > 0).then(|| 100.0 * valid_records as f64 / records as f64),
        }
    };
    Violations {
        records,
        visits: found.visits,
        all: obeyed(found.valid_records, &|_| true),
        within_visit_rules: obeyed(records - found.within_visit_broken, &|rule| !rule.temporal),
        temporal_rules: obeyed(records - found.temporal_broken, &|rule| rule.temporal),
        hard,
        soft,
    }
}

fn audit(
    records: Selection<'_>,
    rules: Arc<RuleSet>,
    limits: &CompileLimits,
) -> Result<Audit, CompileError> {
    Ok(Auditor::new(&WrittenRules::new(rules, limits)?).audit(records, 0, &Unwatched))
}

/// The soft rules, each with its condition, its output and its probability.
fn stated(rules: &RuleSet) -> impl Iterator<Item = (&Rule, Formula, Formula, f64)> {
    rules.iter().filter_map(|rule| match &rule.says {
        Says::Hard(_) => None,
        Says::Soft { when, code, present, probability } => {
            let condition = when.clone().unwrap_or(Formula::Constant(true));
            Some((rule, condition, Formula::literal(*code, *present), *probability))
        }
    })
}

/// An audit only knows hard rules. So each soft rule is audited as two: one that is broken wherever
/// the condition holds, and one that is broken where, besides, the output is not as it says.
fn soft_rules(
    records: Selection<'_>,
    rules: &Arc<RuleSet>,
    limits: &CompileLimits,
) -> Result<Vec<[u64; 2]>, CompileError> {
    let stated: Vec<(&Rule, Formula, Formula, f64)> = stated(rules).collect();
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
    let found = audit(records, Arc::new(hardened), limits)?;
    let both = found.rules.chunks_exact(2);
    Ok(both.map(|counts| [counts[0].violations, counts[1].violations]).collect())
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
