//! Rules that say nothing new, and rules that never come into play.
//!
//! A claim about a rule rests on the other rules at the visit concerned and on nothing else. What
//! the compiler derived is not assumed: a derived clause may come from the very rule in question,
//! and what is asked of a visit for the sake of later ones does not bind a record that was cut.

use consequence_record::Kind;
use rustc_hash::FxHashMap;

use super::AnalysisLimits;
use crate::compile::{LiteralId, VisitRange, WrittenRules};
use crate::prove::{Lit, RulesAtVisit};
use crate::{Formula, Rule};

/// Why a rule could be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It holds of every visit, whatever the visit is.
    AlwaysTrue,
    /// Its antecedent holds in no visit that obeys the other rules.
    NeverFires,
    /// The rules named already say as much.
    Implied(Vec<usize>),
}

/// A rule that could be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superfluous {
    /// The rule, by index.
    pub rule: usize,
    /// Why.
    pub why: Why,
}

/// Finds hard rules that could be left out. Of several that say the same, the first stays.
///
/// Each claim holds of every record, whether it ended or was cut. A rule that could be left out
/// only because of what happens over several visits is not found.
///
/// The second part is false if the set was too large to compare each rule with all others.
///
/// ```
/// use std::sync::Arc;
/// use consequence_rules::{
///     AnalysisLimits, CompileLimits, RuleSet, Why, WrittenRules, superfluous,
/// };
///
/// let text = "rule a: A => B  rule b: B => C  rule c: A => C";
/// let rules = Arc::new(RuleSet::parse(text, None)?);
/// let written = WrittenRules::new(rules, &CompileLimits::default())?;
/// let (found, _) = superfluous(&written, &AnalysisLimits::default());
/// assert_eq!((found[0].rule, &found[0].why), (2, &Why::Implied(vec![0, 1])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn superfluous(written: &WrittenRules, limits: &AnalysisLimits) -> (Vec<Superfluous>, bool) {
    let rules = written.rules();
    if rules.len() > limits.compared_rules {
        return (repeated(written), false);
    }
    let mut found: FxHashMap<usize, Option<Reason>> = FxHashMap::default();
    for kind in [Kind::Static, Kind::Encounter] {
        for (rule, reason) in at_visits(written, kind) {
            // A rule of both kinds of visits must be superfluous in both, for whatever reasons.
            let merged = match found.remove(&rule) {
                None => reason,
                Some(other) => other.zip(reason).map(|(one, other)| one.and(other)),
            };
            found.insert(rule, merged);
        }
    }
    let mut list: Vec<Superfluous> = found
        .into_iter()
        .filter_map(|(rule, reason)| Some(Superfluous { rule, why: reason?.why() }))
        .collect();
    list.sort_by_key(|superfluous| superfluous.rule);
    (list, true)
}

/// Why a rule could be left out at visits of a kind.
#[derive(Clone, Debug)]
struct Reason {
    always_true: bool,
    never_fires: bool,
    /// The rules that say as much.
    by: Vec<usize>,
}

impl Reason {
    fn and(mut self, other: Self) -> Self {
        self.by.extend(other.by);
        self.by.sort_unstable();
        self.by.dedup();
        Self {
            always_true: self.always_true && other.always_true,
            never_fires: self.never_fires && other.never_fires,
            by: self.by,
        }
    }

    fn why(self) -> Why {
        match self {
            Self { always_true: true, .. } => Why::AlwaysTrue,
            Self { never_fires: true, .. } => Why::NeverFires,
            Self { by, .. } => Why::Implied(by),
        }
    }
}

/// For every hard rule required of visits of a kind, why it could be left out there, or `None`.
fn at_visits(written: &WrittenRules, kind: Kind) -> Vec<(usize, Option<Reason>)> {
    let set = written.rules();
    let required = |rule: &Rule| rule.is_hard() && rule.scope(set.vocabulary()).includes(kind);
    let indices: Vec<usize> = (0..set.len()).filter(|&index| required(&set[index])).collect();
    let mut visit = RulesAtVisit::new(written.encoder(), kind);
    let holds: Vec<Lit> =
        indices.iter().map(|&index| visit.formula(&set[index].formula())).collect();
    // A rule counts only while its switch is assumed.
    let switches: Vec<Lit> = holds.iter().map(|&holds| visit.switch(holds)).collect();
    let always: Vec<bool> = holds.iter().map(|&holds| !visit.possible(&[!holds])).collect();
    let mut kept: Vec<bool> = vec![true; indices.len()];
    let mut outcome = vec![None; indices.len()];
    for index in (0..indices.len()).rev() {
        let mut assumed: Vec<Lit> = (0..indices.len())
            .filter(|&other| other != index && kept[other])
            .map(|other| switches[other])
            .collect();
        if always[index] {
            outcome[index] = Some(Reason { always_true: true, never_fires: false, by: Vec::new() });
            kept[index] = false;
            continue;
        }
        assumed.push(!holds[index]);
        if visit.possible(&assumed) {
            continue;
        }
        let by = (0..indices.len()).filter(|&other| visit.in_core(switches[other]));
        let by = by.map(|other| indices[other]).collect();
        kept[index] = false;
        // A rule whose antecedent is impossible follows from whatever makes it so.
        let mut never_fires = false;
        if let Formula::Implies(antecedent, _) = &*set[indices[index]].formula() {
            assumed.pop();
            assumed.push(visit.formula(antecedent));
            never_fires = !visit.possible(&assumed);
        }
        outcome[index] = Some(Reason { always_true: false, never_fires, by });
    }
    indices.into_iter().zip(outcome).collect()
}

/// Rules each of whose clauses another rule has too, or has a part of.
fn repeated(written: &WrittenRules) -> Vec<Superfluous> {
    const LONGEST: usize = 6;
    let mut first: FxHashMap<(&[LiteralId], VisitRange), u32> = FxHashMap::default();
    let clauses: Vec<_> = written.clauses().collect();
    for clause in &clauses {
        first.entry((clause.literals, clause.visits)).or_insert(clause.rule);
    }
    let mut by: FxHashMap<u32, Option<Vec<usize>>> = FxHashMap::default();
    let mut says_something = vec![false; written.rules().len()];
    for clause in &clauses {
        says_something[clause.rule as usize] = true;
        let mut covered = None;
        if clause.literals.len() <= LONGEST {
            for set in 1u32..1 << clause.literals.len() {
                let part: Vec<LiteralId> = clause
                    .literals
                    .iter()
                    .enumerate()
                    .filter(|(bit, _)| set >> bit & 1 == 1)
                    .map(|(_, &literal)| literal)
                    .collect();
                let narrower = part.len() < clause.literals.len();
                if let Some(&rule) = first.get(&(part.as_slice(), clause.visits))
                    && (rule < clause.rule || (narrower && rule != clause.rule))
                {
                    covered = Some(rule as usize);
                    break;
                }
            }
        }
        let entry = by.entry(clause.rule).or_insert_with(|| Some(Vec::new()));
        match (entry.as_mut(), covered) {
            (Some(list), Some(rule)) => list.push(rule),
            _ => *entry = None,
        }
    }
    let mut found: Vec<Superfluous> = by
        .into_iter()
        .filter_map(|(rule, by)| {
            let mut by = by?;
            by.sort_unstable();
            by.dedup();
            Some(Superfluous { rule: rule as usize, why: Why::Implied(by) })
        })
        .collect();
    for (rule, says) in says_something.into_iter().enumerate() {
        if !says && written.rules()[rule].is_hard() {
            found.push(Superfluous { rule, why: Why::AlwaysTrue });
        }
    }
    found.sort_by_key(|superfluous| superfluous.rule);
    found
}
