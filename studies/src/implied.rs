//! Which rules follow from others, by the solver.

use std::sync::Arc;

use consequence_record::Vocabulary;
use consequence_rules::{
    AnalysisLimits, CompileLimits, Formula, Rule, RuleSet, WrittenRules, superfluous,
};
use rayon::prelude::*;

/// For each formula asked about, whether it follows from those given.
///
/// Each is asked about alone, so that none is held to follow from another that is asked about. What
/// follows only over several visits counts as not following: the answer errs against the claim.
///
/// # Panics
/// If a formula has no clausal form of a reasonable size.
///
/// ```
/// use std::sync::Arc;
/// use consequence_rules::RuleSet;
/// use consequence_studies::implied::follows;
///
/// let given = RuleSet::parse("rule g: A => B  rule h: B => C", None)?;
/// let vocabulary = Arc::clone(given.vocabulary());
/// let asked = RuleSet::parse("rule a: A => C  rule b: C => A", Some(Arc::clone(&vocabulary)))?;
/// let formulas = |set: &RuleSet| -> Vec<_> {
///     set.iter().map(|rule| rule.formula().into_owned()).collect()
/// };
/// assert_eq!(follows(&formulas(&given), &formulas(&asked), &vocabulary), [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn follows(given: &[Formula], asked: &[Formula], vocabulary: &Arc<Vocabulary>) -> Vec<bool> {
    let rule = |number: usize, formula: &Formula| Rule::hard(format!("r{number}"), formula.clone());
    let given: Vec<Rule> =
        given.iter().enumerate().map(|(number, formula)| rule(number, formula)).collect();
    asked
        .par_iter()
        .map(|formula| {
            let mut rules = given.clone();
            rules.push(rule(given.len(), formula));
            let rules = Arc::new(
                RuleSet::new(Arc::clone(vocabulary), rules)
                    .expect("the codes are of the vocabulary"),
            );
            let written = WrittenRules::new(rules, &CompileLimits::default())
                .expect("the rules are small enough");
            let limits = AnalysisLimits { compared_rules: usize::MAX, ..AnalysisLimits::default() };
            // The last rule is the first to be held against all others.
            let (found, _) = superfluous(&written, &limits);
            found.iter().any(|superfluous| superfluous.rule == given.len())
        })
        .collect()
}
