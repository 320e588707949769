//! What the compiler takes for granted of rules. Those of the language have it; a set whose fields
//! were filled in by hand may not, and is refused.

use consequence_record::Code;

use super::CompileError;
use crate::{Formula, RuleSet, Strength};

/// Refuses rules that name codes which their vocabulary does not have, and soft rules that do not
/// conclude one code with a probability between 0 and 1.
pub(super) fn check(set: &RuleSet) -> Result<(), CompileError> {
    for rule in &set.rules {
        let fail = |reason| Err(CompileError::BadRule { rule: rule.name.to_string(), reason });
        let mut known = true;
        rule.formula.for_each_code(&mut |code, _| known &= code.index() < set.vocabulary.len());
        if !known {
            return fail("it names a code that the vocabulary of the rules does not have");
        }
        let Strength::Soft(probability) = rule.strength else { continue };
        if soft_parts(&rule.formula).is_none() {
            return fail(
                "it has a probability, and its consequent is not one code, present or absent",
            );
        }
        // NaN is between no two numbers.
        if !(probability > 0.0 && probability < 1.0) {
            return fail("its probability is not strictly between 0 and 1");
        }
    }
    Ok(())
}

/// The antecedent of a soft rule, if it has one, its output, and whether it concludes that the code is
/// present; `None` if its consequent is no literal about now.
pub(super) fn soft_parts(formula: &Formula) -> Option<(Option<&Formula>, Code, bool)> {
    let (antecedent, consequent) = match formula {
        Formula::Implies(antecedent, consequent) => (Some(&**antecedent), &**consequent),
        literal => (None, literal),
    };
    let (code, present) = match consequent {
        Formula::Now(code) => (*code, true),
        Formula::Not(inner) => match &**inner {
            Formula::Now(code) => (*code, false),
            _ => return None,
        },
        _ => return None,
    };
    Some((antecedent, code, present))
}
