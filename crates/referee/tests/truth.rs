//! What holds where, each truth stated by hand.

use std::sync::Arc;

use consequence_record::{Code, Cohort, Kind, Record, Vocabulary};
use consequence_referee::{Defect, Referee, Violation};
use consequence_rules::{Formula, Rule, RuleSet, Says, Window};

/// Static codes.
const F: Code = Code(0);
const M: Code = Code(1);
/// Encounter codes.
const A: Code = Code(2);
const B: Code = Code(3);
const C: Code = Code(4);
const END: Code = Code(5);

fn referee_of(rules: Vec<Rule>) -> Referee {
    let kinds = [
        ("F", Kind::Static),
        ("M", Kind::Static),
        ("A", Kind::Encounter),
        ("B", Kind::Encounter),
        ("C", Kind::Encounter),
    ];
    let vocabulary = Vocabulary::new(kinds).unwrap();
    assert_eq!(vocabulary.end(), END);
    Referee::new(&RuleSet::new(Arc::new(vocabulary), rules).unwrap())
}

fn judge(formula: Formula) -> Referee {
    referee_of(vec![Rule::hard("rule", formula)])
}

fn record(visits: &[&[Code]]) -> Record {
    Record::new(visits.iter().map(|visit| visit.to_vec()).collect())
}

fn now(code: Code) -> Formula {
    Formula::Now(code)
}

/// The truth of a formula at each visit in turn.
fn truths(formula: Formula, record: &Record) -> Vec<bool> {
    let referee = judge(formula);
    (0..record.visits.len()).map(|visit| referee.holds(0, record, visit)).collect()
}

/// The visits at which a code is in a window.
fn seen(code: Code, window: Window, record: &Record) -> Vec<usize> {
    let truths = truths(Formula::In(code, window), record);
    (0..truths.len()).filter(|&visit| truths[visit]).collect()
}

#[test]
fn now_is_the_current_visit() {
    let record = record(&[&[F], &[A], &[B]]);
    assert_eq!(truths(now(F), &record), [true, false, false]);
    assert_eq!(truths(now(A), &record), [false, true, false]);
    assert_eq!(truths(now(A).not(), &record), [true, false, true]);
}

#[test]
fn static_is_visit_zero_seen_from_later() {
    let record = record(&[&[F], &[A], &[B]]);
    assert_eq!(seen(F, Window::static_visit(), &record), [1, 2]);
    assert_eq!(seen(M, Window::static_visit(), &record), [0usize; 0]);
    assert_eq!(seen(A, Window::static_visit(), &record), [0usize; 0]);
}

#[test]
fn previous_is_the_visit_before_and_of_encounter_one_the_static_visit() {
    let record = record(&[&[F], &[A], &[B], &[]]);
    assert_eq!(seen(F, Window::previous(), &record), [1]);
    assert_eq!(seen(A, Window::previous(), &record), [2]);
    assert_eq!(seen(B, Window::previous(), &record), [3]);
}

#[test]
fn past_is_every_earlier_visit_the_static_one_included() {
    let record = record(&[&[F], &[], &[A], &[], &[]]);
    assert_eq!(seen(F, Window::past(), &record), [1, 2, 3, 4]);
    assert_eq!(seen(A, Window::past(), &record), [3, 4], "not now, not before");
}

#[test]
fn a_visit_by_number_is_seen_only_from_later_visits() {
    let record = record(&[&[], &[A], &[A, B], &[A], &[]]);
    assert_eq!(seen(B, Window::at([2]), &record), [3, 4]);
    assert_eq!(seen(A, Window::at([2]), &record), [3, 4], "visit 2 does not see itself");
    assert_eq!(seen(A, Window::at([9]), &record), [0usize; 0], "there is no visit 9");
}

#[test]
fn three_visits_ago_is_that_visit_alone() {
    let record = record(&[&[F], &[A], &[], &[], &[], &[]]);
    assert_eq!(seen(F, Window::ago([3]), &record), [3]);
    assert_eq!(seen(A, Window::ago([3]), &record), [4]);
}

#[test]
fn the_last_three_visits_are_the_three_before_now() {
    let record = record(&[&[F], &[A], &[], &[], &[], &[A]]);
    assert_eq!(seen(A, Window::last(3), &record), [2, 3, 4]);
    assert_eq!(seen(F, Window::last(3), &record), [1, 2, 3]);
}

#[test]
fn a_set_holds_a_code_if_one_of_its_visits_does() {
    // {-1, 1, 4}: the visit before, encounter 1, encounter 4.
    let window = || Window::set([1, 4], [1]);
    let at_one = record(&[&[], &[A], &[], &[], &[], &[]]);
    assert_eq!(seen(A, window(), &at_one), [2, 3, 4, 5]);
    let at_two = record(&[&[], &[], &[A], &[], &[], &[]]);
    assert_eq!(seen(A, window(), &at_two), [3]);
    let at_four = record(&[&[], &[], &[], &[], &[A], &[], &[]]);
    assert_eq!(seen(A, window(), &at_four), [5, 6]);
    let in_static = record(&[&[F], &[], &[]]);
    assert_eq!(seen(F, window(), &in_static), [1]);
}

#[test]
fn a_window_that_selects_nothing_holds_no_code() {
    let record = record(&[&[F], &[A], &[A]]);
    let absent = |window| truths(Formula::In(A, window).not(), &record);
    assert_eq!(absent(Window::past()), [true, true, false]);
    assert_eq!(absent(Window::ago([7])), [true, true, true]);
    assert_eq!(absent(Window::at([2])), [true, true, true]);
    assert_eq!(absent(Window::default()), [true, true, true]);
    assert_eq!(seen(F, Window::previous(), &record), [1], "visit 0 has no visit before it");
}

#[test]
fn connectives_follow_their_tables() {
    // Encounters hold nothing, A, B, and both.
    let record = record(&[&[], &[], &[A], &[B], &[A, B]]);
    let of_encounters = |formula| truths(formula, &record)[1..].to_vec();
    let iff = Formula::Iff(Box::new(now(A)), Box::new(now(B)));
    assert_eq!(of_encounters(Formula::And(vec![now(A), now(B)])), [false, false, false, true]);
    assert_eq!(of_encounters(Formula::Or(vec![now(A), now(B)])), [false, true, true, true]);
    assert_eq!(of_encounters(now(A).implies(now(B))), [true, false, true, true]);
    assert_eq!(of_encounters(iff), [true, false, false, true]);
    assert_eq!(of_encounters(Formula::And(vec![])), [true; 4]);
    assert_eq!(of_encounters(Formula::Or(vec![])), [false; 4]);
    assert_eq!(of_encounters(Formula::Constant(true)), [true; 4]);
    assert_eq!(of_encounters(Formula::Constant(false)), [false; 4]);
}

#[test]
fn counting_forms_count() {
    // Encounters hold none, one, two and three of A, B, C.
    let record = record(&[&[], &[], &[B], &[A, C], &[A, B, C]]);
    let codes = || vec![now(A), now(B), now(C)];
    let of_encounters = |formula| truths(formula, &record)[1..].to_vec();
    assert_eq!(of_encounters(Formula::AtMostOne(codes())), [true, true, false, false]);
    assert_eq!(of_encounters(Formula::ExactlyOne(codes())), [false, true, false, false]);
    assert_eq!(of_encounters(Formula::AtMostOne(vec![])), [true; 4]);
    assert_eq!(of_encounters(Formula::ExactlyOne(vec![])), [false; 4]);
    let counted = Formula::ExactlyOne(vec![now(A).not(), Formula::In(B, Window::previous())]);
    assert_eq!(of_encounters(counted), [true, true, true, false]);
}

#[test]
fn end_holds_at_the_last_encounter_alone() {
    let whole = record(&[&[F], &[A], &[B]]);
    assert_eq!(truths(now(END), &whole), [false, false, true]);
    assert_eq!(seen(END, Window::past(), &whole), [0usize; 0], "no visit follows the end");
    let cut = whole.cut();
    assert_eq!(truths(now(END), &cut), [false, false, false]);
    let without_encounters = record(&[&[F]]);
    assert_eq!(truths(now(END), &without_encounters), [false], "visit 0 is no encounter");
}

#[test]
fn a_rule_that_forces_the_end_is_broken_by_a_cut() {
    let referee = judge(now(A).implies(now(END)));
    let ended = record(&[&[], &[], &[A]]);
    assert_eq!(referee.violations(&ended), []);
    assert_eq!(referee.violations(&ended.clone().cut()), [Violation { rule: 0, visit: 2 }]);
    let goes_on = record(&[&[], &[A], &[]]);
    assert_eq!(referee.violations(&goes_on), [Violation { rule: 0, visit: 1 }]);
}

#[test]
fn a_rule_is_required_where_its_outputs_live() {
    let scope = |formula| {
        let referee = judge(formula);
        assert_eq!(referee.required(0, 1), referee.required(0, 7), "encounters are alike");
        (referee.required(0, 0), referee.required(0, 1))
    };
    let (of_static, of_encounters, of_both) = ((true, false), (false, true), (true, true));
    let past = |code| Formula::In(code, Window::past());
    assert_eq!(scope(Formula::AtMostOne(vec![now(F), now(M)])), of_static);
    assert_eq!(scope(now(A).implies(now(B))), of_encounters);
    assert_eq!(scope(past(A).not().implies(now(B))), of_encounters);
    assert_eq!(scope(now(F).implies(now(B))), of_encounters, "the consequent decides");
    assert_eq!(scope(now(A).implies(now(M).not())), of_static);
    assert_eq!(scope(now(A).implies(now(END))), of_encounters);
    assert_eq!(scope(Formula::Or(vec![now(F), now(A)])), of_both);
    assert_eq!(scope(now(A).implies(Formula::Or(vec![now(F), now(B)]))), of_both);
    assert_eq!(scope(now(F).implies(past(A))), of_static, "the consequent only looks back");
    assert_eq!(scope(Formula::Iff(Box::new(now(F)), Box::new(now(A)))), of_both);
    assert_eq!(scope(past(F)), of_encounters, "no code now");
    assert_eq!(scope(Formula::Constant(false)), of_encounters);
    let nested = Formula::And(vec![now(F).implies(now(A))]);
    assert_eq!(scope(nested), of_both, "only an implication at the top has a consequent");
}

#[test]
fn static_rules_say_nothing_of_encounters() {
    let referee = judge(Formula::ExactlyOne(vec![now(F), now(M)]));
    assert!(referee.is_valid(&record(&[&[F], &[A], &[]])));
    let neither = record(&[&[], &[A], &[]]);
    assert_eq!(referee.violations(&neither), [Violation { rule: 0, visit: 0 }]);
    let both = record(&[&[F, M], &[A]]);
    assert_eq!(referee.violations(&both), [Violation { rule: 0, visit: 0 }]);
}

#[test]
fn every_required_visit_of_every_hard_rule_is_judged() {
    let lifelong = Formula::In(A, Window::previous()).implies(now(A));
    let apart = Formula::And(vec![now(B), now(C)]).not();
    let referee = referee_of(vec![
        Rule::hard("lifelong", lifelong),
        Rule::new("soft", Says::soft(now(A).implies(now(B)), 0.5).unwrap()),
        Rule::hard("apart", apart),
    ]);
    let record = record(&[&[], &[A], &[B, C], &[A], &[B, C]]);
    assert_eq!(referee.rule_count(), 3);
    assert_eq!(
        referee.violations(&record),
        [(0, 2), (2, 2), (0, 4), (2, 4)].map(|(rule, visit)| Violation { rule, visit })
    );
    assert!(!referee.holds(1, &record, 1), "a soft rule can be asked about");
}

#[test]
fn a_view_is_judged_as_its_record() {
    let referee = judge(now(A).implies(now(END)));
    let mut cohort = Cohort::default();
    cohort.push("other", &record(&[&[M], &[A]]));
    cohort.push("broken", &record(&[&[F], &[A], &[B]]));
    cohort.push("cut", &record(&[&[F], &[A]]).cut());
    assert!(referee.is_valid(&cohort.record(0)));
    assert_eq!(referee.violations(&cohort.record(1)), [Violation { rule: 0, visit: 1 }]);
    assert_eq!(referee.violations(&cohort.record(2)), [Violation { rule: 0, visit: 1 }]);
}

#[test]
fn misplaced_codes_are_defects_and_do_not_hold() {
    let referee = judge(Formula::Constant(true));
    let misplaced = |visit, code| Defect::Misplaced { visit, code };
    let record = record(&[&[F, A], &[M, B], &[END]]);
    assert_eq!(referee.defects(&record), [misplaced(0, A), misplaced(1, M), misplaced(2, END)]);
    assert!(referee.violations(&record).is_empty() && !referee.is_valid(&record));
    assert_eq!(truths(now(A), &record), [false, false, false]);
    assert_eq!(truths(now(M), &record), [false, false, false]);
    assert_eq!(truths(now(END), &record.cut()), [false, false, false], "stored is not derived");
}

#[test]
fn what_is_no_record_is_said_without_a_panic() {
    let referee = judge(now(B).implies(Formula::In(A, Window::past())));
    let nothing = Record::default();
    assert_eq!(referee.defects(&nothing), [Defect::NoEncounter]);
    assert_eq!(referee.defects(&record(&[&[F]])), [Defect::NoEncounter]);
    assert!(referee.holds(0, &nothing, 5));
    let foreign = record(&[&[], &[Code(77)]]);
    assert_eq!(referee.defects(&foreign), [Defect::Misplaced { visit: 1, code: Code(77) }]);
    let unordered = Record { visits: vec![vec![], vec![B, A], vec![A, A]], ended: true };
    assert_eq!(
        referee.defects(&unordered),
        [Defect::Unordered { visit: 1 }, Defect::Unordered { visit: 2 }]
    );
    assert_eq!(Defect::NoEncounter.to_string(), "there is no encounter");
}
