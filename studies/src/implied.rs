//! Which rules follow from others, by the solver.

use std::sync::Arc;

use consequence_record::Vocabulary;
use consequence_rules::{
    AnalysisLimits, CompileLimits, Formula, Origin, Rule, RuleSet, Strength, WrittenRules,
    superfluous,
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
/// let vocabulary = Arc::clone(&given.vocabulary);
/// let asked = RuleSet::parse("rule a: A => C  rule b: C => A", Some(Arc::clone(&vocabulary)))?;
/// let formulas = |set: &RuleSet| set.rules.iter().map(|r| r.formula.clone()).collect::<Vec<_>>();
/// assert_eq!(follows(&formulas(&given), &formulas(&asked), &vocabulary), [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn follows(given: &[Formula], asked: &[Formula], vocabulary: &Arc<Vocabulary>) -> Vec<bool> {
    let rule = |number: usize, formula: &Formula| Rule {
        name: format!("r{number}").into(),
        formula: formula.clone(),
        strength: Strength::Hard,
        visits: None,
        origin: Origin::default(),
    };
    let given: Vec<Rule> =
        given.iter().enumerate().map(|(number, formula)| rule(number, formula)).collect();
    asked
        .par_iter()
        .map(|formula| {
            let mut rules = given.clone();
            rules.push(rule(given.len(), formula));
            let rules = Arc::new(RuleSet { vocabulary: Arc::clone(vocabulary), rules });
            let written = WrittenRules::new(rules, &CompileLimits::default())
                .expect("the rules are small enough");
            let limits = AnalysisLimits { compared_rules: usize::MAX, ..AnalysisLimits::default() };
            // The last rule is the first to be held against all others.
            let (found, _) = superfluous(&written, &limits);
            found.iter().any(|superfluous| superfluous.rule == given.len())
        })
        .collect()
}
