//! Rules of common sense, held against the referee.

use std::sync::Arc;

use consequence_mine::{CommonSense, Sense, common_sense};
use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{CompileOptions, RuleSet, compile};
use consequence_testing::worlds::Choices;

const NAMES: [(&str, Kind); 13] = [
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
    ("DEATH", Kind::Encounter),
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
            let stays = choices.probability(0.3);
            if stays {
                codes.push(code(choices.pick(&["STAY//1d", "STAY//7d+"])));
            }
            if choices.probability(slips) {
                codes.push(code("GAP//0-7d"));
            }
            if choices.probability(slips) {
                codes.push(code("GAP//7d+"));
            }
            let dies = encounter == encounters && choices.probability(0.2);
            if dies != choices.probability(slips) {
                codes.push(code("DEATH"));
            }
            if (dies && stays) != choices.probability(slips) {
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
    assert_eq!(of(&found, Sense::Death), ["DISCHARGE//EXPIRED => END", "DEATH => END"]);
    assert_eq!(
        of(&found, Sense::StayDeath),
        ["DEATH and (STAY//1d or STAY//7d+) => DISCHARGE//EXPIRED", "DISCHARGE//EXPIRED => DEATH"]
    );
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

/// What is found of deaths in stays in a hundred records, each with one encounter of these codes.
fn stay_deaths(names: &[&str], records: &[&[&str]]) -> CommonSense {
    let names = names.iter().map(|&name| (name, Kind::Encounter));
    let vocabulary = Vocabulary::new(names).unwrap();
    let mut cohort = Cohort::default();
    for number in 0..100 {
        let codes = records[number % records.len()].iter();
        let codes = codes.map(|name| vocabulary.code(name).unwrap()).collect();
        cohort.push(&number.to_string(), &Record::new(vec![vec![], codes]));
    }
    common_sense(&cohort, &vocabulary, &[Split::Train; 100])
}

#[test]
fn deaths_within_stays_are_asked_for_where_codes_and_records_tell_of_them() {
    let names = ["STAY//1d", "DEATH", "DISCHARGE//EXPIRED", "DISCHARGE//HOME"];
    let [stay, death, expired, home] = names;
    let all =
        stay_deaths(&names, &[&[stay, death, expired], &[stay, home], &[death], &[expired, death]]);
    let both = ["DEATH and STAY//1d => DISCHARGE//EXPIRED", "DISCHARGE//EXPIRED => DEATH"];
    assert_eq!(of(&all, Sense::StayDeath), both);
    let told = all.rules.iter().filter(|rule| rule.sense == Sense::StayDeath);
    assert_eq!(
        told.map(|rule| (rule.could_break, rule.broken)).collect::<Vec<_>>(),
        [(25, 0), (50, 0)]
    );

    // Records that do otherwise: neither is a rule, and both are told.
    let otherwise = stay_deaths(&names, &[&[stay, death], &[stay, expired], &[stay, home]]);
    assert!(of(&otherwise, Sense::StayDeath).is_empty());
    assert_eq!(otherwise.left_out().count(), 2);

    // Records that never show it, and vocabularies without such codes: nothing is asked for.
    let apart = stay_deaths(&names, &[&[stay, home], &[death]]);
    let no_length = stay_deaths(&names[1..], &[&[death], &[home]]);
    let one_kind = stay_deaths(&[stay, expired, home], &[&[stay, expired], &[stay, home]]);
    for found in [apart, no_length, one_kind] {
        assert!(found.rules.iter().all(|rule| rule.sense != Sense::StayDeath), "{found:?}");
    }
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

/// What is found in a hundred records, each with one encounter of these codes.
fn structure(names: &[&str], records: &[&[&str]]) -> Vec<String> {
    let found = stay_deaths(names, records);
    of(&found, Sense::Structure).into_iter().map(str::to_owned).collect()
}

#[test]
fn codes_of_stays_need_one_and_an_encounter_without_is_a_death() {
    let names = [
        "STAY//1d",
        "STAY//2d",
        "DX//1",
        "DX//2",
        "DX//rare",
        "DISCHARGE//HOME",
        "DEATH",
        "ODD NAME",
    ];
    let stay: [&[&str]; 3] = [
        &["STAY//1d", "DX//1", "DX//2"],
        &["STAY//2d", "DX//2", "DISCHARGE//HOME"],
        &["STAY//2d", "DX//1", "ODD NAME"],
    ];
    let found = structure(&names, &[stay[0], stay[1], stay[2], &["DEATH"]]);
    assert_eq!(
        found,
        [
            "none of STAY//* => none of DX//*, DISCHARGE//HOME, \"ODD NAME\"",
            "none of DX//* => none of STAY//*, DISCHARGE//HOME, \"ODD NAME\"",
            "none of STAY//* => any of DEATH",
            "at most one of STAY//*",
        ]
    );
    // Where diagnoses are made elsewhere too, they need no stay; no encounter is empty.
    let found = structure(&names, &[stay[0], stay[1], &["DX//1"], &["DX//2", "ODD NAME"]]);
    assert!(!found.iter().any(|rule| rule.contains("none of DX//*")), "{found:?}");
    assert!(found.contains(&"none of STAY//* => none of DISCHARGE//HOME".to_owned()), "{found:?}");
    let found = structure(&names[2..4], &[&["DX//1"], &["DX//2"]]);
    assert_eq!(found, ["any of DX//*", "at most one of DX//*"]);
    // Empty encounters that are real, and codes that come together, are let be.
    assert!(structure(&names[2..4], &[&["DX//1", "DX//2"], &["DX//2"], &[]]).is_empty());
}

#[test]
fn what_few_records_show_is_no_structure() {
    let names = ["STAY//1d", "RARE//1", "DX//1", "DX//2"];
    let mut records: Vec<&[&str]> = vec![&["DX//1"]; 50];
    records.extend([&["STAY//1d", "DX//1"][..]; 41]);
    records.extend([&["STAY//1d", "DX//1", "RARE//1"][..]; 9]);
    let found = structure(&names, &records);
    assert!(
        found.iter().all(|rule| !rule.contains("RARE") || rule.starts_with("any of")),
        "{found:?}"
    );
    // Nor is what chance explains: nearly every encounter is a stay.
    let mut records: Vec<&[&str]> = vec![&["STAY//1d", "DX//1"]; 97];
    records.extend([&["DX//2"][..]; 3]);
    let found = structure(&names, &records);
    assert!(found.iter().all(|rule| !rule.contains("none of STAY")), "{found:?}");
}
