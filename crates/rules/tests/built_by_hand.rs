//! Rules built through public fields: what the compiler cannot use is refused, and nothing panics.

use std::sync::Arc;

use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::{
    CompileError, CompileLimits, CompileOptions, Formula, Origin, Rule, RuleSet, Strength, Window,
    WrittenRules, compile,
};

const A: Formula = Formula::Now(Code(0));
const B: Formula = Formula::Now(Code(1));
/// `END` is the last code of the vocabulary below.
const NOWHERE: Code = Code(3);

fn set(formula: Formula, strength: Strength) -> Arc<RuleSet> {
    let codes = [("A", Kind::Encounter), ("B", Kind::Encounter)];
    let good = Rule {
        name: "good".into(),
        formula: A.implies(B),
        strength: Strength::Hard,
        visits: None,
        origin: Origin::default(),
    };
    let rule = Rule { name: "made".into(), formula, strength, ..good.clone() };
    let vocabulary = Arc::new(Vocabulary::new(codes).unwrap());
    Arc::new(RuleSet { vocabulary, rules: vec![good, rule] })
}

/// Why the rule called `made` is refused, by the compiler and as written alike.
fn refused(formula: Formula, strength: Strength) -> &'static str {
    let rules = set(formula, strength);
    let written = WrittenRules::new(Arc::clone(&rules), &CompileLimits::default()).unwrap_err();
    for end_first in [false, true] {
        let options = CompileOptions { end_first, ..CompileOptions::default() };
        let error = compile(Arc::clone(&rules), &options).unwrap_err();
        assert_eq!(error.to_string(), written.to_string());
    }
    match written {
        CompileError::BadRule { rule, reason } => {
            assert_eq!(rule, "made");
            reason
        }
        other => panic!("{other}"),
    }
}

#[test]
fn soft_rules_conclude_one_code() {
    let half = Strength::Soft(0.5);
    let reason = "it has a probability, and its consequent is not one code, present or absent";
    for formula in [
        A.implies(Formula::Or(vec![A, B])),
        A.implies(Formula::In(Code(1), Window::past())),
        A.implies(Formula::In(Code(1), Window::past()).not()),
        A.implies(B.not().not()),
        A.implies(A.implies(B)),
        Formula::Constant(true),
        Formula::And(vec![B]),
        Formula::ExactlyOne(vec![]),
        Formula::Iff(A.into(), B.into()),
    ] {
        assert_eq!(refused(formula.clone(), half), reason, "{formula:?}");
    }
    for formula in [B, B.not(), A.implies(B), A.implies(B.not())] {
        let plan = compile(set(formula, half), &CompileOptions::default()).unwrap();
        assert_eq!(plan.soft().len(), 1);
    }
}

#[test]
fn probabilities_are_between_0_and_1() {
    let reason = "its probability is not strictly between 0 and 1";
    for probability in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let said = refused(A.implies(B), Strength::Soft(probability));
        assert_eq!(said, reason, "{probability}");
    }
    for probability in [f64::MIN_POSITIVE, 1.0 - f64::EPSILON] {
        let rules = set(A.implies(B), Strength::Soft(probability));
        assert!(compile(rules, &CompileOptions::default()).is_ok());
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
        assert_eq!(refused(formula.clone(), Strength::Hard), reason, "{formula:?}");
    }
    assert_eq!(refused(A.implies(nowhere()), Strength::Soft(0.5)), reason);
    assert_eq!(refused(before().implies(A), Strength::Soft(0.5)), reason);
    assert!(compile(set(Formula::Now(Code(2)), Strength::Hard), &Default::default()).is_ok());
}
