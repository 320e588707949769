//! A visit that is known is walked only where a rule may speak: what is told of it is what asking about
//! every code tells.

use std::sync::Arc;

use consequence_enforce::{Enforcer, Moment, Ruling, Writer};
use consequence_record::calendar::DAY;
use consequence_record::{Cohort, CohortDetails, Details, Record, RecordView, Selection};
use consequence_rules::{CompileLimits, CompileOptions, Plan, RuleSet, compile};
use consequence_testing::worlds::{Choices, Size, World};

/// A code of a visit: its position, what rules say of it, and whether it is present.
type Told = (u32, Ruling, bool);

/// Asks about every code of a visit.
fn ask(writer: &mut Writer<'_>, truth: &[u32]) -> Vec<Told> {
    let mut told = Vec::new();
    for position in writer.open() {
        let (ruling, present) = (writer.ruling(position), truth.contains(&position));
        told.push((position, ruling, present));
        writer.place(position, present);
    }
    writer.close();
    told
}

/// Compares both ways over the visits of a record. Gives how many codes are settled, and how many are
/// looked ahead to.
fn compare(plan: &Plan, enforcer: &Enforcer, record: RecordView<'_>) -> (usize, usize) {
    let (mut whole, mut quick) = (enforcer.writer(), enforcer.writer());
    let (mut settled, mut touched) = (0, 0);
    for visit in 0..record.len() {
        let truth = plan.order().positions(record, visit);
        whole.arrive_as(record, visit);
        quick.arrive_as(record, visit);
        let mut found = Vec::new();
        let outlook = quick.replay(&truth, |position, ruling, present| {
            found.push((position, ruling, present));
        });
        let mut expected = ask(&mut whole, &truth);
        for position in outlook.touched() {
            let place = expected.iter().position(|told| told.0 == position);
            let (_, ruling, present) = expected.remove(place.expect("it is a code of the visit"));
            assert!(!matches!(ruling, Ruling::Forced(_)));
            assert_eq!(present, truth.contains(&position));
        }
        expected.retain(|&(_, ruling, present)| present || ruling != Ruling::Free);
        assert_eq!(found, expected, "{:?}", plan.rules());
        let said = found.iter().filter(|(_, ruling, _)| *ruling != Ruling::Free);
        settled += said.count();
        touched += outlook.touched().count();
    }
    assert_eq!(quick.take(), record.to_record());
    (settled, touched)
}

#[test]
fn small_worlds_are_told_the_same() {
    let (mut plans, mut settled, mut touched, mut diagrams) = (0, 0, 0, 0);
    for case in 0..400 {
        let mut choices = Choices::new(11, case);
        let size = Size { codes: 6, visits: 3, rules: 8 };
        let world = World::random(size, &mut choices);
        let few = CompileLimits { derived: 0, growth: 0, ..CompileLimits::default() };
        for (limits, end_first) in
            [(CompileLimits::default(), false), (few, false), (CompileLimits::default(), true)]
        {
            let options = CompileOptions {
                max_visits: world.max_visits,
                limits,
                end_first,
                ..CompileOptions::default()
            };
            let Ok(plan) = compile(Arc::clone(&world.rules), &options) else { continue };
            let enforcer = Enforcer::new(&plan);
            plans += 1;
            diagrams += usize::from(plan.diagram().is_some());
            // Whether they obey the rules or not.
            for record in world.random_records(20, &mut choices) {
                let mut cohort = Cohort::default();
                cohort.push("", &record);
                let counts = compare(&plan, &enforcer, cohort.record(0));
                (settled, touched) = (settled + counts.0, touched + counts.1);
            }
        }
    }
    assert!(plans > 400 && diagrams > 20, "{plans} plans, {diagrams} with a diagram");
    assert!(settled > 10_000 && touched > 1_000, "{settled} settled, {touched} touched");
}

#[test]
fn days_counts_and_ages_are_told_the_same() {
    let text = "static AGE//0-17, AGE//18+
        rule a: A in last 30 days => not B
        rule b: A at least 2 times in past => not C
        rule c: not A in last 10 days => not D
        rule d: AGE < 18 => not A
        rule e: B in previous and A => any of C, D";
    let rules = Arc::new(RuleSet::parse(text, None).unwrap());
    let codes = Arc::clone(rules.vocabulary());
    let plan = compile(rules, &CompileOptions { max_visits: 6, ..CompileOptions::default() });
    let plan = plan.unwrap();
    let enforcer = Enforcer::new(&plan);
    assert!(enforcer.writer().asks_facts());
    let mut settled = 0;
    for case in 0..300 {
        let mut choices = Choices::new(3, case);
        let band = if choices.probability(0.5) { "AGE//0-17" } else { "AGE//18+" };
        let mut visits = vec![vec![codes.code(band).unwrap()]];
        let (mut day, mut times) = (10_000, Vec::new());
        for _ in 0..choices.between(1, 6) {
            day += choices.below(25) as i64;
            times.push(day * DAY);
            let there = ["A", "B", "C", "D"].iter().filter(|_| choices.probability(0.4));
            visits.push(there.map(|name| codes.code(name).unwrap()).collect());
        }
        let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
        cohort.push("", &Record::new(visits));
        details.push(Details { times, ..Details::default() }.view());
        let records = Selection::all(&cohort).detailed(Some(&details));
        assert_ne!(Moment::of(records.record(0), 1), Moment::default());
        settled += compare(&plan, &enforcer, records.record(0)).0;
    }
    assert!(settled > 1_000, "{settled} settled");
}
