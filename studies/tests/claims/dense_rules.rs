//! Rules that depend on each other too densely for clauses still get a proved plan.

use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_prng::Draws;
use consequence_record::{Code, Kind, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{CompileOptions, Formula, Rule, RuleSet, Window, compile};
use consequence_testing::worlds::Choices;

/// The last code tells whether an odd number of the first `width` codes is present, and also whether
/// an odd number of the next `width` is. What follows for those alone takes `2^(2 width - 1)` clauses.
fn parities(width: u32) -> RuleSet {
    let names = (0..=2 * width).map(|code| (format!("c{code}"), Kind::Encounter));
    let now = |code: u32| Formula::Now(Code(code));
    let same = |one: Formula, other: Formula| Formula::Iff(one.into(), other.into());
    let odd = |codes: std::ops::Range<u32>| {
        codes.map(now).reduce(|one, other| same(one, other).not()).expect("some codes")
    };
    let formulas = [
        same(now(2 * width), odd(0..width)),
        same(now(2 * width), odd(width..2 * width)),
        // One code stays as it was, so the diagram has to look back and ahead.
        same(now(3), Formula::In(Code(3), Window::previous())),
    ];
    let rules = formulas
        .into_iter()
        .enumerate()
        .map(|(index, formula)| Rule::hard(format!("r{index}"), formula));
    let rules = rules.collect();
    RuleSet::new(Arc::new(Vocabulary::new(names).unwrap()), rules).unwrap()
}

#[test]
fn parities_are_proved_and_obeyed() {
    let rules = Arc::new(parities(10));
    let plan = compile(rules.clone(), &CompileOptions::default()).expect("satisfiable");
    let diagram = plan.diagram().expect("too dense for clauses");
    println!("{} nodes over {} codes", diagram.len(), diagram.positions.len());
    let (enforcer, referee, draws) = (Enforcer::new(&plan), Referee::new(&rules), Draws::new(1));
    let mut choices = Choices::new(5, 0);
    let mut seen = rustc_hash::FxHashSet::default();
    for record in 0..200 {
        let mut writer = enforcer.writer();
        while !writer.record().ended {
            let density = choices.pick(&[0.0, 0.02, 0.3, 0.9, 1.0]);
            writer.guided(&draws, record, |_, _| density).unwrap();
        }
        let record = writer.take();
        assert!(referee.is_valid(&record));
        seen.extend(record.visits);
    }
    assert!(seen.len() > 100, "many visits are possible, and many come up");
}
