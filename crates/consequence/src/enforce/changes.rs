//! What a repair did, rule by rule and code by code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use consequence_enforce::{Repaired, RepairedCode};
use consequence_pipeline::words::number;
use consequence_record::{Code, Cohort};
use consequence_rules::Plan;
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
    /// Visits that have it now, of those that are left.
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

/// What each rule did, the busiest first.
pub(super) fn by_rule(plan: &Plan, changes: &[RepairedCode]) -> Vec<RuleChanges> {
    let mut rules: BTreeMap<&str, [BTreeMap<Code, u64>; 2]> = BTreeMap::new();
    for change in changes {
        for rule in names(plan, change) {
            let counts = &mut rules.entry(rule).or_default()[usize::from(change.added)];
            *counts.entry(change.code).or_default() += 1;
        }
    }
    let vocabulary = plan.order().vocabulary();
    let mut found: Vec<RuleChanges> = rules
        .into_iter()
        .map(|(rule, [removed, added])| {
            let mut most: Vec<(String, u64)> = added
                .iter()
                .map(|(&code, &count)| (vocabulary.name(code).to_owned(), count))
                .collect();
            most.sort_by(|(a, more), (b, less)| less.cmp(more).then(a.cmp(b)));
            most.truncate(NAMED);
            RuleChanges {
                rule: rule.to_owned(),
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
pub(super) fn moved(plan: &Plan, cohort: &Cohort, repaired: &Repaired) -> Vec<MovedCode> {
    let mut moves: BTreeMap<Code, [u64; 2]> = BTreeMap::new();
    for change in &repaired.changes {
        moves.entry(change.code).or_default()[usize::from(change.added)] += 1;
    }
    moves.retain(|_, [removed, added]| removed.abs_diff(*added) >= MOVED_VISITS);
    let mut before: BTreeMap<Code, u64> = moves.keys().map(|&code| (code, 0)).collect();
    if !before.is_empty() {
        let codes = cohort.records().flat_map(|record| record.visits().flatten());
        for code in codes {
            if let Some(count) = before.get_mut(code) {
                *count += 1;
            }
        }
    }
    let vocabulary = plan.order().vocabulary();
    let moved = moves.into_iter().map(|(code, [removed, added])| MovedCode {
        code: vocabulary.name(code).to_owned(),
        before: before[&code],
        after: (before[&code] + added).saturating_sub(removed),
    });
    let mut moved: Vec<MovedCode> =
        moved.filter(|one| 5 * one.before.abs_diff(one.after) > one.before).collect();
    moved.sort_by(|a, b| {
        let by = |one: &MovedCode| one.before.abs_diff(one.after);
        by(b).cmp(&by(a)).then_with(|| a.code.cmp(&b.code))
    });
    moved
}

/// Every change as a line: of CSV if the file's name ends so, else of JSON.
pub(super) fn listed(
    path: &Path,
    plan: &Plan,
    cohort: &Cohort,
    changes: &[RepairedCode],
) -> String {
    let as_csv = path.extension().is_some_and(|extension| extension == "csv");
    let mut text = String::new();
    if as_csv {
        text.push_str("record,visit,code,change,rules\n");
    }
    for change in changes {
        let record = cohort.id(change.record);
        let code = plan.order().vocabulary().name(change.code);
        let what = if change.added { "added" } else { "removed" };
        let rules: Vec<&str> = names(plan, change).into_iter().collect();
        let visit = change.visit;
        text += &match as_csv {
            true => format!(
                "{},{visit},{},{what},{}\n",
                field(record),
                field(code),
                field(&rules.join(" "))
            ),
            false => format!(
                "{}\n",
                json!({
                    "record": record, "visit": visit, "code": code, "change": what, "rules": rules,
                })
            ),
        };
    }
    text
}

/// A field of CSV, quoted where it must be.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
