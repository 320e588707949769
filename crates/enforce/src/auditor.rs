//! Finding every violation in a cohort, from any source.

use consequence_feedback::Watch;
use consequence_record::{Record, RecordView, Selection};
use consequence_rules::WrittenRules;
use consequence_tally::{Counts, coded, counts};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::facts::Moment;
use crate::history::{History, Layout};
use crate::index::{Index, IndexBuilder};

/// Records handed to one thread at a time.
const CHUNK: usize = 512;

/// Hard rules made ready to be checked: shared by all threads.
///
/// ```
/// use std::sync::Arc;
/// use consequence_feedback::Unwatched;
/// use consequence_enforce::Auditor;
/// use consequence_record::{Cohort, Record};
/// use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
///
/// let rules = Arc::new(RuleSet::parse("rule lifelong: A in previous => A", None)?);
/// let a = rules.vocabulary().code("A").unwrap();
/// let mut cohort = Cohort::default();
/// cohort.push("p1", &Record::new(vec![vec![], vec![a], vec![]]));
///
/// let written = WrittenRules::new(rules, &CompileLimits::default())?;
/// let audit = Auditor::new(&written).audit(&cohort, 5, &Unwatched);
/// assert_eq!((audit.violations(), audit.valid_records), (1, 0));
/// assert_eq!(audit.rules[0].examples[0].visit, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Auditor {
    layout: Layout,
    /// One conjunction for each clause: that every literal of it is false.
    broken: Index,
    rule_of: Vec<u32>,
    temporal: Vec<bool>,
}

/// A hard rule broken at a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The visit; 0 is the static visit.
    pub visit: usize,
    /// The rule, by index.
    pub rule: usize,
}

/// A clause of a hard rule broken at a visit: none of its literals is true there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenClause {
    /// The visit; 0 is the static visit.
    pub visit: usize,
    /// The rule, by index.
    pub rule: usize,
    /// The clause, by its number among [`WrittenRules::clauses`].
    pub clause: usize,
}

/// Where a rule was broken first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// The record, by its index in the cohort.
    pub record: usize,
    /// The visit; 0 is the static visit.
    pub visit: usize,
}

coded!(Example { record, visit });

/// What an audit found about one rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleFinding {
    /// Visits that break the rule.
    pub violations: u64,
    /// Records with at least one such visit.
    pub records: u64,
    /// The first of them.
    pub examples: Vec<Example>,
}

coded!(RuleFinding { violations, records, examples });

/// Examples of other records come after those that are there.
impl Counts for RuleFinding {
    fn add(&mut self, other: Self) {
        self.violations += other.violations;
        self.records += other.records;
        self.examples.extend(other.examples);
    }
}

/// What an audit found. What was found in other records by the same rules can be added; without examples, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Records looked at.
    pub records: u64,
    /// Visits looked at, static visits included.
    pub visits: u64,
    /// Records that break no hard rule.
    pub valid_records: u64,
    /// Records that break a rule that looks at the current visit only.
    pub within_visit_broken: u64,
    /// Records that break a rule that looks back.
    pub temporal_broken: u64,
    /// Violations of rules that look at the current visit only.
    pub within_visit_violations: u64,
    /// Violations of rules that look back.
    pub temporal_violations: u64,
    /// One finding for each rule, in the order of the rules; soft rules have none to report.
    pub rules: Vec<RuleFinding>,
}

counts!(Audit {
    records,
    visits,
    valid_records,
    within_visit_broken,
    temporal_broken,
    within_visit_violations,
    temporal_violations,
    rules,
});

impl Audit {
    /// All violations.
    pub fn violations(&self) -> u64 {
        self.within_visit_violations + self.temporal_violations
    }

    fn add_part(&mut self, part: Part, max_examples: usize) {
        self.records += part.records;
        self.visits += part.visits;
        self.valid_records += part.valid_records;
        self.within_visit_broken += part.within_visit_broken;
        self.temporal_broken += part.temporal_broken;
        self.within_visit_violations += part.within_visit_violations;
        self.temporal_violations += part.temporal_violations;
        for (rule, more) in part.rules {
            let finding = &mut self.rules[rule];
            finding.violations += more.violations;
            finding.records += more.records;
            let room = max_examples.saturating_sub(finding.examples.len());
            finding.examples.extend(more.examples.into_iter().take(room));
        }
    }
}

/// What was found in some of the records: only rules that were broken have a finding.
#[derive(Default)]
struct Part {
    records: u64,
    visits: u64,
    valid_records: u64,
    within_visit_broken: u64,
    temporal_broken: u64,
    within_visit_violations: u64,
    temporal_violations: u64,
    rules: FxHashMap<usize, RuleFinding>,
}

impl Auditor {
    /// Prepares rules. They may contradict each other; an audit only reads.
    pub fn new(written: &WrittenRules) -> Self {
        let rules = written.rules();
        let literals = written.clauses().flat_map(|clause| clause.literals);
        let used = literals.filter_map(|literal| literal.atom());
        let layout = Layout::new(written.order(), written.atoms(), used);
        let mut builder = IndexBuilder::new(&layout);
        let mut rule_of = Vec::new();
        for clause in written.clauses() {
            let conditions = clause.literals.iter();
            builder.add(
                conditions.map(|literal| layout.condition(written.atoms(), literal.negated())),
                clause.visits,
            );
            rule_of.push(clause.rule);
        }
        Self {
            broken: builder.finish(),
            rule_of,
            temporal: rules.iter().map(|rule| rule.is_temporal()).collect(),
            layout,
        }
    }

    /// Something that checks one record at a time.
    pub fn reader(&self) -> Reader<'_> {
        Reader { auditor: self, history: History::new(&self.layout), broken: Vec::new() }
    }

    /// Checks every record, on all threads. `watch` is told of every record as it is done. Rules about days,
    /// ages and values need a selection that [tells them](Selection::detailed).
    pub fn audit<'a>(
        &self,
        records: impl Into<Selection<'a>>,
        max_examples: usize,
        watch: &dyn Watch,
    ) -> Audit {
        let parts: Vec<Part> = records
            .into()
            .chunks(CHUNK)
            .into_par_iter()
            .map_init(
                || self.reader(),
                |reader, chunk| {
                    let part = reader.audit(chunk, max_examples);
                    watch.advance(chunk.len() as u64);
                    part
                },
            )
            .collect();
        let rules = vec![RuleFinding::default(); self.temporal.len()];
        let mut audit = Audit { rules, ..Audit::default() };
        for part in parts {
            audit.add_part(part, max_examples);
        }
        audit
    }
}

/// Checks one record at a time.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    auditor: &'a Auditor,
    history: History,
    broken: Vec<u32>,
}

impl Reader<'_> {
    /// Every violation of a record: visit by visit, each rule at most once a visit.
    pub fn violations(&mut self, record: RecordView<'_>, found: &mut Vec<Violation>) {
        let auditor = self.auditor;
        found.clear();
        self.each_broken(record, |visit, clauses| {
            let rules = clauses.iter_mut();
            rules.for_each(|clause| *clause = auditor.rule_of[*clause as usize]);
            clauses.sort_unstable();
            clauses.dedup();
            found.extend(clauses.iter().map(|&rule| Violation { visit, rule: rule as usize }));
        });
    }

    /// Every broken clause of a record, visit by visit and in the order of the clauses: what it is that
    /// breaks the rules.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use consequence_enforce::Auditor;
    /// use consequence_record::{Cohort, Record};
    /// use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
    ///
    /// let rules = Arc::new(RuleSet::parse("rule treated: A => B or C", None)?);
    /// let a = rules.vocabulary().code("A").unwrap();
    /// let mut cohort = Cohort::default();
    /// cohort.push("p1", &Record::new(vec![vec![], vec![a]]));
    /// let written = WrittenRules::new(rules, &CompileLimits::default())?;
    /// let auditor = Auditor::new(&written);
    /// let mut found = Vec::new();
    /// auditor.reader().broken_clauses(cohort.record(0), &mut found);
    /// assert_eq!((found.len(), found[0].visit, found[0].clause), (1, 1, 0));
    /// assert_eq!(written.clauses().next().unwrap().literals.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn broken_clauses(&mut self, record: RecordView<'_>, found: &mut Vec<BrokenClause>) {
        let auditor = self.auditor;
        found.clear();
        self.each_broken(record, |visit, clauses| {
            clauses.sort_unstable();
            clauses.dedup();
            found.extend(clauses.iter().map(|&clause| BrokenClause {
                visit,
                rule: auditor.rule_of[clause as usize] as usize,
                clause: clause as usize,
            }));
        });
    }

    /// Every violation of a record whose visits became others, with the dates, births and values that it has.
    pub(crate) fn violations_as(
        &mut self,
        record: RecordView<'_>,
        changed: &Record,
        found: &mut Vec<Violation>,
    ) {
        found.clear();
        let auditor = self.auditor;
        self.each_broken_as(record, Some(changed), |visit, clauses| {
            let rules = clauses.iter().map(|&clause| auditor.rule_of[clause as usize] as usize);
            found.extend(rules.map(|rule| Violation { visit, rule }));
        });
        found.sort_unstable();
        found.dedup();
    }

    /// Hands on the clauses that each visit breaks, of visits that break any.
    fn each_broken(&mut self, record: RecordView<'_>, hand_on: impl FnMut(usize, &mut Vec<u32>)) {
        self.each_broken_as(record, None, hand_on);
    }

    /// The same with other visits in the place of those of the record, if there are any.
    fn each_broken_as(
        &mut self,
        record: RecordView<'_>,
        changed: Option<&Record>,
        mut hand_on: impl FnMut(usize, &mut Vec<u32>),
    ) {
        let auditor = self.auditor;
        let layout = &auditor.layout;
        for visit in 0..changed.map_or(record.len(), |changed| changed.visits.len()) {
            if visit > 0 && layout.asks_facts() {
                self.history.reveal(layout, &Moment::of(record, visit));
            }
            let codes = changed.map_or_else(|| record.visit(visit), |one| &one.visits[visit]);
            for &code in codes {
                self.history.set_present(layout.order.position(code));
            }
            let ends = match changed {
                Some(one) => one.ended && visit > 0 && visit + 1 == one.visits.len(),
                None => record.ends_at(visit),
            };
            if ends {
                self.history.set_present(layout.order.end());
            }
            self.broken.clear();
            let history = &self.history;
            let broken = &mut self.broken;
            auditor.broken.for_each_open(history, |id| {
                if auditor.broken.holds(id, history) {
                    broken.push(id);
                }
            });
            if !self.broken.is_empty() {
                hand_on(visit, &mut self.broken);
            }
            self.history.advance(layout);
        }
        self.history.clear();
    }

    fn audit(&mut self, records: Selection<'_>, max_examples: usize) -> Part {
        let mut part = Part::default();
        let mut found = Vec::new();
        let mut broken = Vec::new();
        for (index, record) in records.indices().zip(records.records()) {
            self.violations(record, &mut found);
            part.records += 1;
            part.visits += record.len() as u64;
            part.valid_records += u64::from(found.is_empty());
            broken.clear();
            let before = (part.within_visit_violations, part.temporal_violations);
            for &Violation { visit, rule } in &found {
                part.rules.entry(rule).or_default().violations += 1;
                if self.auditor.temporal[rule] {
                    part.temporal_violations += 1;
                } else {
                    part.within_visit_violations += 1;
                }
                broken.push((rule, visit));
            }
            part.within_visit_broken += u64::from(part.within_visit_violations > before.0);
            part.temporal_broken += u64::from(part.temporal_violations > before.1);
            broken.sort_unstable();
            broken.dedup_by_key(|&mut (rule, _)| rule);
            for &(rule, visit) in &broken {
                let finding = part.rules.entry(rule).or_default();
                finding.records += 1;
                if finding.examples.len() < max_examples {
                    finding.examples.push(Example { record: index, visit });
                }
            }
        }
        part
    }
}
