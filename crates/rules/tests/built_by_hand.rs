//! Rule sets built by hand: what the language would not let pass is refused, and nothing panics.

use std::sync::Arc;

use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::{BadRule, Formula, Rule, RuleSet, Says, Window, compile};

const A: Formula = Formula::Now(Code(0));
const B: Formula = Formula::Now(Code(1));
/// `END` is the last code of the vocabulary below.
const NOWHERE: Code = Code(3);

fn set(says: Says) -> Result<Arc<RuleSet>, BadRule> {
    let codes = [("A", Kind::Encounter), ("B", Kind::Encounter)];
    let rules = vec![Rule::hard("good", A.implies(B)), Rule::new("made", says)];
    RuleSet::new(Arc::new(Vocabulary::new(codes).unwrap()), rules).map(Arc::new)
}

fn soft(formula: Formula, probability: f64) -> Says {
    Says::soft(formula, probability).unwrap()
}

/// Why the rule called `made` is refused.
fn refused(says: Says) -> &'static str {
    let BadRule { rule, reason } = set(says).unwrap_err();
    assert_eq!(rule, "made");
    reason
}

#[test]
fn soft_rules_conclude_one_code() {
    for formula in [
        A.implies(Formula::Or(vec![A, B])),
        A.implies(Formula::In(Code(1), Window::past())),
        A.implies(Formula::In(Code(1), Window::past()).not()),
        A.implies(A.implies(B)),
        Formula::Constant(true),
        Formula::And(vec![B]),
        Formula::ExactlyOne(vec![]),
        Formula::Iff(A.into(), B.into()),
    ] {
        assert_eq!(Says::soft(formula.clone(), 0.5), None, "{formula:?}");
    }
    for formula in [B, B.not(), A.implies(B), A.implies(B.not()), A.implies(B.not().not())] {
        let plan = compile(set(soft(formula, 0.5)).unwrap(), &Default::default()).unwrap();
        assert_eq!(plan.soft().len(), 1);
    }
}

#[test]
fn a_soft_rule_has_the_formula_it_was_made_of() {
    for formula in [B, B.not(), A.implies(B), A.implies(B.not())] {
        assert_eq!(*Rule::new("soft", soft(formula.clone(), 0.5)).formula(), formula);
    }
}

#[test]
fn probabilities_are_between_0_and_1() {
    let reason = "its probability is not strictly between 0 and 1";
    for probability in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(refused(soft(A.implies(B), probability)), reason, "{probability}");
    }
    for probability in [f64::MIN_POSITIVE, 1.0 - f64::EPSILON] {
        assert!(
            compile(set(soft(A.implies(B), probability)).unwrap(), &Default::default()).is_ok()
        );
    }
}

#[test]
fn codes_are_of_the_vocabulary() {
    let reason = "it names a code that the vocabulary of the rules does not have";
    let nowhere = || Formula::Now(NOWHERE);
    let before = || Formula::In(Code(u32::MAX), Window::past());
    for formula in [
        nowhere(),
        nowhere().not(),
        before().implies(A),
        A.implies(nowhere()),
        Formula::AtMostOne(vec![A, B, nowhere()]),
        Formula::Iff(before().into(), B.into()),
        Formula::Or(vec![A, Formula::And(vec![B, before()])]),
    ] {
        assert_eq!(refused(Says::Hard(formula.clone())), reason, "{formula:?}");
    }
    assert_eq!(refused(soft(A.implies(nowhere()), 0.5)), reason);
    assert_eq!(refused(soft(before().implies(A), 0.5)), reason);
    let end = Says::Hard(Formula::Now(Code(2)));
    assert!(compile(set(end).unwrap(), &Default::default()).is_ok());
}
