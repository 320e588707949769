//! Rules of common sense, held against the referee.

use std::sync::Arc;

use consequence_mine::{CommonSense, Sense, common_sense};
use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{CompileOptions, RuleSet, compile};
use consequence_testing::worlds::Choices;

const NAMES: [(&str, Kind); 12] = [
    ("AGE//0-40", Kind::Static),
    ("AGE//40+", Kind::Static),
    ("SEX//F", Kind::Static),
    ("SEX//M", Kind::Static),
    ("SEX//odd, name", Kind::Static),
    ("GAP//0-7d", Kind::Encounter),
    ("GAP//7d+", Kind::Encounter),
    ("STAY//1d", Kind::Encounter),
    ("STAY//7d+", Kind::Encounter),
    ("DISCHARGE//EXPIRED", Kind::Encounter),
    ("A", Kind::Encounter),
    ("B", Kind::Encounter),
];

fn vocabulary() -> Arc<Vocabulary> {
    Arc::new(Vocabulary::new(NAMES).unwrap())
}

/// Records that mostly make sense, and sometimes do not.
fn random_cohort(vocabulary: &Vocabulary, choices: &mut Choices, slips: f64) -> Cohort {
    let code = |name: &str| vocabulary.code(name).unwrap();
    let mut cohort = Cohort::default();
    for number in 0..200 {
        let mut statics = vec![code(choices.pick(&["AGE//0-40", "AGE//40+"]))];
        statics.push(code(choices.pick(&["SEX//F", "SEX//M", "SEX//odd, name"])));
        if choices.probability(slips) {
            statics.pop();
        }
        if choices.probability(slips) {
            statics.extend([code("SEX//F"), code("SEX//M")]);
        }
        let mut visits = vec![statics];
        let encounters = choices.between(1, 5);
        for encounter in 1..=encounters {
            let mut codes = Vec::new();
            if encounter > 1 || choices.probability(slips) {
                let long = visits[encounter - 1].contains(&code("STAY//7d+"));
                let gaps = if long { ["GAP//7d+"; 2] } else { ["GAP//0-7d", "GAP//7d+"] };
                codes.push(code(choices.pick(&gaps)));
            }
            if choices.probability(0.3) {
                codes.push(code(choices.pick(&["STAY//1d", "STAY//7d+"])));
            }
            if choices.probability(slips) {
                codes.push(code("GAP//0-7d"));
            }
            if choices.probability(slips) {
                codes.push(code("GAP//7d+"));
            }
            let dies = encounter == encounters && choices.probability(0.2);
            if dies || choices.probability(slips) {
                codes.push(code("DISCHARGE//EXPIRED"));
            }
            codes.extend(["A", "B"].map(code).iter().filter(|_| choices.probability(0.1)));
            visits.push(codes);
        }
        let record = Record::new(visits);
        // A record that is cut at death has no end there.
        let record = if choices.probability(slips) { record.cut() } else { record };
        cohort.push(&number.to_string(), &record);
    }
    cohort
}

/// The number of records that the referee says break a rule.
fn broken(rule: &str, cohort: &Cohort, vocabulary: &Arc<Vocabulary>) -> u64 {
    let rules = RuleSet::parse(rule, Some(Arc::clone(vocabulary))).expect(rule);
    let referee = Referee::new(&rules);
    cohort.records().filter(|record| !referee.is_valid(record)).count() as u64
}

fn of(found: &CommonSense, sense: Sense) -> Vec<&str> {
    let formula = |statement: &str| {
        let at = statement.find(": ").unwrap();
        at + 2
    };
    let kept = found.kept().filter(|rule| rule.sense == sense);
    kept.map(|rule| &rule.statement[formula(&rule.statement)..]).collect()
}

#[test]
fn what_is_counted_is_what_the_referee_sees() {
    let vocabulary = vocabulary();
    for case in 0..60 {
        let mut choices = Choices::new(14, case);
        let slips = [0.0, 0.002, 0.05][case as usize % 3];
        let cohort = random_cohort(&vocabulary, &mut choices, slips);
        let splits = vec![Split::Train; cohort.len()];
        let found = common_sense(&cohort, &vocabulary, &splits);
        assert!(slips > 0.0 || found.left_out().count() == 0, "{case}: {found:?}");
        for rule in &found.rules {
            let seen = broken(&rule.statement, &cohort, &vocabulary);
            assert_eq!(rule.broken, seen, "{case}: {}", rule.statement);
            assert_eq!(rule.kept, seen * 100 <= rule.could_break, "{case}: {}", rule.statement);
        }
        let text = found.text() + &found.never_seen_text();
        let rules = RuleSet::parse(&text, Some(Arc::clone(&vocabulary))).expect(&text);
        assert_eq!(rules.len(), found.kept().count());
        compile(Arc::new(rules), &CompileOptions::default()).expect(&text);
    }
}

#[test]
fn sense_is_found_where_records_make_sense() {
    let vocabulary = vocabulary();
    let cohort = random_cohort(&vocabulary, &mut Choices::new(14, 1), 0.0);
    let found = common_sense(&cohort, &vocabulary, &vec![Split::Train; cohort.len()]);
    let sexes = "SEX//F, SEX//M, \"SEX//odd, name\"";
    assert_eq!(
        of(&found, Sense::OneOf),
        ["exactly one of AGE//0-40, AGE//40+", &format!("exactly one of {sexes}")]
    );
    assert_eq!(of(&found, Sense::Death), ["DISCHARGE//EXPIRED => END"]);
    assert_eq!(of(&found, Sense::Gap).len(), 2);
    assert_eq!(of(&found, Sense::Stay), ["STAY//7d+ in previous => not GAP//0-7d"]);
    assert!(found.missing.is_empty());
}

#[test]
fn a_code_that_only_women_have_is_kept_from_men_and_held_out_records_tell_nothing() {
    let vocabulary = vocabulary();
    let [female, male, a, b] =
        ["SEX//F", "SEX//M", "A", "B"].map(|name| vocabulary.code(name).unwrap());
    let (mut cohort, mut splits) = (Cohort::default(), Vec::new());
    for number in 0..60 {
        let (sex, codes) = match number % 2 {
            0 => (female, if number == 0 { vec![a, b] } else { vec![b] }),
            _ => (male, vec![b]),
        };
        cohort.push(&number.to_string(), &Record::new(vec![vec![sex], codes]));
        splits.push(Split::Train);
    }
    cohort.push("held out", &Record::new(vec![vec![male], vec![a]]));
    splits.push(Split::HeldOut);
    let found = common_sense(&cohort, &vocabulary, &splits);
    assert_eq!(of(&found, Sense::NeverSeen), ["SEX//M in static => not A"]);
}

#[test]
fn what_cannot_be_checked_is_told() {
    let vocabulary = Vocabulary::new([("A", Kind::Encounter)]).unwrap();
    let mut cohort = Cohort::default();
    cohort.push("one", &Record::new(vec![vec![], vec![]]));
    let found = common_sense(&cohort, &vocabulary, &[Split::Train]);
    assert!(found.rules.is_empty());
    assert_eq!(found.missing.len(), 2);
    assert!(found.text().contains("# ---- What could not be checked ----"));
}

#[test]
fn the_same_on_any_number_of_threads() {
    let vocabulary = vocabulary();
    let cohort = random_cohort(&vocabulary, &mut Choices::new(14, 2), 0.02);
    let splits = vec![Split::Train; cohort.len()];
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| common_sense(&cohort, &vocabulary, &splits))
    };
    assert_eq!(on(1), on(5));
}
