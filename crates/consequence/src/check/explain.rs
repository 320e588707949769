//! One rule, and what the compiler made of it.

use std::fmt;

use consequence_pipeline::{Error, RuleReference};
use consequence_record::Kind;
use consequence_rules::language::closest;
use consequence_rules::{
    Clause, Derivation, Formula, Literal, LiteralId, Plan, RuleSet, WrittenRules,
};
use serde::Serialize;

use super::report::{DerivedKind, DerivedRule};

/// Implications listed in the text; the rest are counted.
const SHOWN: usize = 20;

/// Names offered when no rule has the name asked for.
const OFFERED: usize = 5;

/// What the compiler made of one rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The rule.
    pub rule: RuleReference,
    /// The probability of a soft rule.
    pub probability: Option<f64>,
    /// What it comes down to: implications that conclude one code each.
    pub implications: Vec<String>,
    /// Derived rules that it takes part in.
    pub derived: Vec<DerivedRule>,
    /// False if the rules have no plan, so that nothing could be derived.
    pub has_plan: bool,
}

pub(super) fn explain(
    name: &str,
    written: &WrittenRules,
    plan: Option<&Plan>,
) -> Result<Explanation, Error> {
    let rules = written.rules();
    let Some(index) = rules.iter().position(|rule| &*rule.name == name) else {
        return Err(Error::NoSuchRule { name: name.into(), similar_names: similar(name, rules) });
    };
    let rule = &rules[index];
    let probability = rule.probability();
    let vocabulary = written.rules().vocabulary();
    let mut implications: Vec<String> = written
        .clauses()
        .filter(|clause| clause.rule as usize == index)
        .filter_map(|clause| implication(clause.literals, |literal| written.decode(literal)))
        .map(|implication| implication.text(vocabulary))
        .collect();
    if let Some(probability) = probability {
        implications
            .push(format!("{} with probability {probability}", rule.formula().text(vocabulary)));
    }
    let takes_part = |from: &[u32]| from.contains(&(index as u32));
    Ok(Explanation {
        rule: RuleReference::new(rule),
        probability,
        implications,
        derived: plan.map_or_else(Vec::new, |plan| derived(plan, takes_part)),
        has_plan: plan.is_some(),
    })
}

/// Names that begin as the wrong one does, the most alike first; else the first names there are.
/// The name that was probably meant, or else names that begin the same way.
fn similar(name: &str, rules: &RuleSet) -> Vec<String> {
    let shared = |other: &str| {
        let pairs = name.chars().zip(other.chars());
        pairs.take_while(|(one, other)| one.eq_ignore_ascii_case(other)).count()
    };
    let mut names: Vec<&str> = rules.iter().map(|rule| &*rule.name).collect();
    if let Some(meant) = closest(name, names.iter().copied()) {
        return vec![format!("`{meant}`")];
    }
    names.sort_by_key(|other| std::cmp::Reverse(shared(other)));
    let alike = names.iter().take_while(|other| shared(other) > 0).count();
    names.truncate(if alike > 0 { alike.min(OFFERED) } else { OFFERED });
    names.into_iter().map(|name| format!("`{name}`")).collect()
}

impl fmt::Display for Explanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}:{}: {}", self.rule.file, self.rule.line, self.rule.text)?;
        writeln!(out, "\ncomes down to:")?;
        shown(out, &self.implications, |out, implication| writeln!(out, "  {implication}"))?;
        if !self.has_plan {
            return writeln!(out, "\nnothing is derived from it: the rules contradict each other");
        }
        if self.derived.is_empty() {
            return writeln!(out, "\nno derived rule comes from it");
        }
        writeln!(out, "\ntakes part in:")?;
        shown(out, &self.derived, |out, derived| writeln!(out, "  {derived}"))
    }
}

/// The first items, and how many more there are.
fn shown<T>(
    out: &mut fmt::Formatter<'_>,
    items: &[T],
    mut show: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for item in items.iter().take(SHOWN) {
        show(out, item)?;
    }
    match items.len().saturating_sub(SHOWN) {
        0 if items.is_empty() => writeln!(out, "  nothing: it holds of every visit"),
        0 => Ok(()),
        more => writeln!(out, "  and {more} more (all in the report as JSON)"),
    }
}

/// The clause as an implication that concludes its last literal, the one decided last; none if no rule could say
/// it.
pub(super) fn implication(
    literals: &[LiteralId],
    decode: impl Fn(LiteralId) -> Option<Literal>,
) -> Option<Formula> {
    let Some((&last, others)) = literals.split_last() else {
        return Some(Formula::Constant(false));
    };
    let antecedent = others.iter().map(|literal| Some(decode(literal.negated())?.formula()));
    let mut antecedent = antecedent.collect::<Option<Vec<Formula>>>()?;
    let consequent = decode(last)?.formula();
    Some(match antecedent.len() {
        0 => consequent,
        1 => antecedent.remove(0).implies(consequent),
        _ => Formula::And(antecedent).implies(consequent),
    })
}

/// The clauses of a plan that nobody wrote, if `wanted` by the rules they come from.
pub(super) fn derived(plan: &Plan, wanted: impl Fn(&[u32]) -> bool) -> Vec<DerivedRule> {
    plan.clauses()
        .filter(|clause| clause.derivation != Derivation::Written)
        // What comes from no rule is that the last position ends the record.
        .filter(|clause| !clause.rules.is_empty() && wanted(clause.rules))
        .filter_map(|clause| {
            let says = implication(clause.literals, |literal| plan.decode(literal))?;
            Some((clause, says.text(plan.rules().vocabulary())))
        })
        .map(|(clause, text)| DerivedRule {
            text,
            kind: match clause.derivation {
                Derivation::LookAhead => DerivedKind::LookAhead,
                _ => DerivedKind::Implied,
            },
            visits: partial_span(plan, &clause),
            from: clause.rules.iter().map(|&rule| plan.rule(rule).name.to_string()).collect(),
        })
        .collect()
}

/// The visits a clause is required of, where these are not all visits of its kind.
fn partial_span(plan: &Plan, clause: &Clause<'_>) -> Option<[u16; 2]> {
    let (first, last) = (clause.visits.first, clause.visits.last);
    let whole = match Kind::of_visit(first.into()) {
        Kind::Static => last == 0,
        Kind::Encounter => first == 1 && usize::from(last) == plan.max_visits(),
    };
    (!whole).then_some([first, last])
}
