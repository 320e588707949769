//! The compiled rule set: immutable, proved, and what every enforcer and auditor runs on.

use std::ops::Deref;
use std::sync::Arc;

use crate::RuleSet;
use crate::compile::{ClosedRules, CompileError, CompileOptions, close};
use crate::prove::{Proof, Unproved, prove};

/// The compiled rule set: [`ClosedRules`] and their proof. Cheap to clone, free to share between
/// threads.
///
/// Whatever values are proposed, deciding codes in the plan's order and obeying its clauses ends in
/// visits that break no hard rule. There is no other way to a plan than [`compile`].
#[derive(Clone, Debug)]
pub struct Plan {
    closed: ClosedRules,
    proof: Proof,
}

impl Plan {
    /// What was proved to let the plan out.
    pub fn proof(&self) -> Proof {
        self.proof
    }
}

impl Deref for Plan {
    type Target = ClosedRules;

    fn deref(&self) -> &ClosedRules {
        &self.closed
    }
}

/// Compiles rules to a proved plan.
///
/// ```
/// use std::sync::Arc;
/// use consequence_rules::{CompileError, CompileOptions, RuleSet, compile};
///
/// let rules = RuleSet::parse("rule one: A => B  rule two: C => not B", None)?;
/// let plan = compile(Arc::new(rules), &CompileOptions::default())?;
/// assert!(plan.proof().goals > 0);
/// assert_eq!(plan.clauses().filter(|clause| clause.rules.len() == 2).count(), 1); // A excludes C
///
/// let rules = RuleSet::parse("rule never-ends: not END", None)?;
/// let refused = compile(Arc::new(rules), &CompileOptions::default()).unwrap_err();
/// assert!(matches!(refused, CompileError::Unsatisfiable { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compile(rules: Arc<RuleSet>, options: &CompileOptions) -> Result<Plan, CompileError> {
    let closed = close(rules, options)?;
    match prove(&closed) {
        Ok(proof) => Ok(Plan { closed, proof }),
        Err(Unproved { visit, rule }) => {
            let rule = rule.map(|index| closed.rules()[index].name.to_string());
            Err(CompileError::Unproved { visit, rule })
        }
    }
}
