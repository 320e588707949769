//! What a repair did, rule by rule and code by code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};
use std::path::Path;

use consequence_enforce::{Repair, Repaired, RepairedCode};
use consequence_pipeline::words::number;
use consequence_record::{Code, Cohort, Selection, Vocabulary};
use consequence_rules::Plan;
use consequence_tables::export::Rows;
use consequence_tally::counts;
use serde::Serialize;
use serde_json::json;

/// What one rule did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleChanges {
    /// The rule.
    pub rule: String,
    /// Codes that it put into visits, alone or together with others.
    pub added_codes: u64,
    /// Codes that it took out.
    pub removed_codes: u64,
    /// How often it put in each of the codes that it put in most.
    pub added_most: Vec<(String, u64)>,
}

/// A code that many more visits have after a repair, or many fewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MovedCode {
    /// The code.
    pub code: String,
    /// Visits that had it.
    pub before: u64,
    /// Visits that have it now.
    pub after: u64,
}

impl Display for MovedCode {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (before, after) = (number(self.before), number(self.after));
        write!(
            out,
            "warning: `{}` was in {before} visits and is in {after} now: look at the rules that name it",
            self.code
        )
    }
}

/// Codes that are named of a rule.
const NAMED: usize = 5;

/// Visits by which a code must move at least for a warning.
const MOVED_VISITS: u64 = 20;

/// What a repair did to some records, in numbers. Those of other records can be added.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeCounts {
    pub repair: Repair,
    pub written: u64,
    /// By the name of a rule: how often it took out each code, and how often it put it in.
    by_rule: BTreeMap<String, [BTreeMap<Code, u64>; 2]>,
    /// By code: visits that had it, and visits that have it now.
    before: Vec<u64>,
    after: Vec<u64>,
}

counts!(ChangeCounts { repair, written, by_rule, before, after });

impl ChangeCounts {
    /// What was done to some records.
    pub fn of(plan: &Plan, before: Selection<'_>, repaired: &Repaired) -> Self {
        let mut by_rule: BTreeMap<String, [BTreeMap<Code, u64>; 2]> = BTreeMap::new();
        for change in &repaired.changes {
            for rule in names(plan, change) {
                if !by_rule.contains_key(rule) {
                    by_rule.insert(rule.to_owned(), Default::default());
                }
                if let Some(counts) = by_rule.get_mut(rule) {
                    *counts[usize::from(change.added)].entry(change.code).or_default() += 1;
                }
            }
        }
        let visits = |records: Selection<'_>| {
            let mut visits = vec![0_u64; plan.order().vocabulary().len()];
            for code in records.records().flat_map(|record| record.visits().flatten()) {
                visits[code.index()] += 1;
            }
            visits
        };
        Self {
            repair: repaired.summary,
            written: repaired.cohort.len() as u64,
            by_rule,
            before: visits(before),
            after: visits(Selection::all(&repaired.cohort)),
        }
    }
}

/// What each rule did, the busiest first.
pub(super) fn by_rule(counts: &ChangeCounts, vocabulary: &Vocabulary) -> Vec<RuleChanges> {
    let mut found: Vec<RuleChanges> = counts
        .by_rule
        .iter()
        .map(|(rule, [removed, added])| {
            let mut most: Vec<(String, u64)> = added
                .iter()
                .map(|(&code, &count)| (vocabulary.name(code).to_owned(), count))
                .collect();
            most.sort_by(|(a, more), (b, less)| less.cmp(more).then(a.cmp(b)));
            most.truncate(NAMED);
            RuleChanges {
                rule: rule.clone(),
                added_codes: added.values().sum(),
                removed_codes: removed.values().sum(),
                added_most: most,
            }
        })
        .collect();
    found.sort_by(|a, b| {
        let all = |one: &RuleChanges| one.added_codes + one.removed_codes;
        all(b).cmp(&all(a)).then_with(|| a.rule.cmp(&b.rule))
    });
    found
}

/// The rules that decided a code; none where a soft rule drew it or rules together left no choice.
fn names<'a>(plan: &'a Plan, change: &RepairedCode) -> BTreeSet<&'a str> {
    let rules = change.clause.map(|clause| plan.clause(clause).rules).unwrap_or_default();
    rules.iter().map(|&rule| &*plan.rule(rule).name).collect()
}

/// The codes that visits have more or less often by more than a fifth, and by 20 visits at least.
pub(super) fn moved(counts: &ChangeCounts, vocabulary: &Vocabulary) -> Vec<MovedCode> {
    let all = vocabulary.codes().map(|code| MovedCode {
        code: vocabulary.name(code).to_owned(),
        before: counts.before[code.index()],
        after: counts.after[code.index()],
    });
    let by = |one: &MovedCode| one.before.abs_diff(one.after);
    let mut moved: Vec<MovedCode> =
        all.filter(|one| by(one) >= MOVED_VISITS && 5 * by(one) > one.before).collect();
    moved.sort_by(|a, b| by(b).cmp(&by(a)).then_with(|| a.code.cmp(&b.code)));
    moved
}

/// Writes every change: as a table if the file's name ends in `.csv`, else as lines of JSON.
pub(super) fn list(
    out: &mut dyn Write,
    path: &Path,
    plan: &Plan,
    cohort: &Cohort,
    changes: &[RepairedCode],
) -> io::Result<()> {
    let lines = changes.iter().map(|change| Line {
        record: cohort.id(change.record),
        visit: change.visit,
        code: plan.order().vocabulary().name(change.code),
        change: if change.added { "added" } else { "removed" },
        rules: names(plan, change),
    });
    if path.extension().is_none_or(|extension| extension != "csv") {
        return lines.into_iter().try_for_each(|line| writeln!(out, "{}", json!(line)));
    }
    let mut rows = Rows::new(out);
    rows.field("record").field("visit").field("code").field("change").field("rules").end()?;
    for Line { record, visit, code, change, rules } in lines {
        let rules: Vec<&str> = rules.into_iter().collect();
        rows.field(record).field(visit).field(code).field(change).field(rules.join(" ")).end()?;
    }
    Ok(())
}

/// A change, as it is listed.
#[derive(Serialize)]
struct Line<'a> {
    record: &'a str,
    visit: usize,
    code: &'a str,
    change: &'static str,
    rules: BTreeSet<&'a str>,
}
