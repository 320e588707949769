//! Rules about ages and days: planted in worlds with dates, found again, and none beside them.

use std::collections::BTreeSet;
use std::sync::Arc;

use consequence_mine::{Known, MineOptions, Mined, Template, mine_knowing};
use consequence_prng::{Draws, Purpose};
use consequence_record::calendar::{DAY, years_between};
use consequence_record::{
    Cohort, CohortDetails, Details, Kind, Record, Selection, Split, Vocabulary,
};
use consequence_referee::Referee;
use consequence_rules::{Rule, RuleSet};

use crate::support::{all_counts, reread};

/// What the codes of the world do.
const CODES: [&str; 12] = [
    "child-only",
    "adult-only",
    "over-65",
    "monthly",
    "yearly",
    "shot",
    "older-more",
    "younger-more",
    "refill",
    "any",
    "often",
    "rare-in-children",
];

/// The rules that hold in it, and no others about ages and days.
const PLANTED: [&str; 6] = [
    "AGE >= 18 => not child-only",
    "AGE < 18 => not adult-only",
    "AGE < 65 => not over-65",
    "monthly in last 27 days => not monthly",
    "yearly in last 364 days => not yearly",
    "AGE < 12 => not shot",
];

struct World {
    vocabulary: Arc<Vocabulary>,
    cohort: Cohort,
    details: CohortDetails,
    splits: Vec<Split>,
}

fn world(seed: u64, patients: usize) -> World {
    let codes = CODES.map(|name| (name, Kind::Encounter));
    let vocabulary = Arc::new(Vocabulary::new(codes).unwrap());
    let code = |name: &str| vocabulary.code(name).unwrap();
    let draws = Draws::new(seed);
    let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
    for patient in 0..patients as u64 {
        let mut shape = draws.visit(patient, 0, 0, Purpose::Code);
        let birth = (shape.uniform(0) * 90.0 * 365.0) as i64;
        let mut day = birth.max((60 * 365) + (shape.uniform(1) * 30.0 * 365.0) as i64);
        let visits = 4 + (shape.uniform(2) * 30.0) as u16;
        let (mut times, mut record) = (Vec::new(), vec![vec![]]);
        let mut last: [Option<i64>; 3] = [None; 3];
        for visit in 1..=visits {
            let mut drawn = draws.visit(patient, 0, visit, Purpose::Code);
            day += 1 + (drawn.uniform(99) * 60.0) as i64;
            let age = years_between(birth * DAY, day * DAY);
            let waited =
                |last: Option<i64>, least: i64| last.is_none_or(|last| day - last >= least);
            // A refill comes about 45 days after the one before, give or take a month.
            let due = 1.0 / (1.0 + (-((day - last[2].unwrap_or(0)) as f64 - 45.0) / 8.0).exp());
            let wanted = [
                ("child-only", age < 18 && drawn.below(1, 0.2)),
                ("adult-only", age >= 18 && drawn.below(2, 0.2)),
                ("over-65", age >= 65 && drawn.below(3, 0.2)),
                ("monthly", waited(last[0], 28) && drawn.below(4, 0.4)),
                ("yearly", waited(last[1], 365) && drawn.below(5, 0.4)),
                ("shot", age >= 12 && drawn.below(6, 0.15)),
                ("older-more", drawn.below(7, 0.3 * (age as f64 / 80.0).powi(3))),
                ("younger-more", drawn.below(8, 0.3 * (1.0 - age as f64 / 110.0).max(0.0).powi(4))),
                ("refill", drawn.below(9, 0.7 * due)),
                ("any", drawn.below(10, 0.1)),
                ("often", drawn.below(11, 0.5)),
                ("rare-in-children", drawn.below(12, if age < 18 { 0.0005 } else { 0.1 })),
            ];
            let mut codes = Vec::new();
            for (name, present) in wanted {
                if present {
                    codes.push(code(name));
                }
            }
            for (place, name) in ["monthly", "yearly", "refill"].into_iter().enumerate() {
                if codes.contains(&code(name)) {
                    last[place] = Some(day);
                }
            }
            times.push(day * DAY);
            record.push(codes);
        }
        cohort.push(&patient.to_string(), &Record::new(record));
        details.push(Details { birth: Some(birth * DAY), times, ..Details::default() }.view());
    }
    let splits = Split::of_records(&cohort);
    World { vocabulary, cohort, details, splits }
}

fn mined(world: &World, options: &MineOptions) -> Mined {
    let known = Known { details: Some(&world.details), ..Known::NOTHING };
    mine_knowing(&world.cohort, &world.vocabulary, &world.splits, &known, options).unwrap()
}

/// What hard rules about ages and days say.
fn timed(mined: &Mined) -> BTreeSet<String> {
    let of_times = |template| matches!(template, Template::Ages | Template::Apart);
    let rules = mined.rules.iter().filter(|rule| of_times(rule.template));
    rules.map(|rule| rule.statement.split_once(": ").unwrap().1.to_owned()).collect()
}

#[test]
fn planted_rules_are_found_again_and_no_others() {
    for seed in 1..=3 {
        let world = world(seed, 4_000);
        let mined = mined(&world, &MineOptions::default());
        assert_eq!(timed(&mined), PLANTED.map(str::to_owned).into(), "seed {seed}");
        reread(&mined, &world.vocabulary);
    }
}

/// Violations of a rule in the records of a split, as the referee sees them.
fn violations(world: &World, split: Split, rule: &consequence_rules::Formula) -> u64 {
    let rules = vec![Rule::hard("r", rule.clone())];
    let referee = Referee::new(&RuleSet::new(Arc::clone(&world.vocabulary), rules).unwrap());
    let records = Selection::all(&world.cohort).detailed(Some(&world.details));
    let of_split = (0..records.len()).filter(|&record| world.splits[record] == split);
    of_split.map(|record| referee.violations(&records.record(record)).len() as u64).sum()
}

#[test]
fn what_splits_say_of_them_is_what_the_referee_says() {
    let options = MineOptions { beyond: true, end: true, ..all_counts() };
    let mut contradicted = 0;
    for seed in 10..25 {
        let world = world(seed, 40);
        let mined = mined(&world, &options);
        let dropped = mined.dropped.iter().map(|dropped| &dropped.rule);
        let of_times = |template| matches!(template, Template::Ages | Template::Apart);
        let all = mined.rules.iter().chain(dropped).filter(|rule| of_times(rule.template));
        let all: Vec<_> = all.collect();
        assert!(all.len() > 5, "{}", all.len());
        for rule in all {
            let train = violations(&world, Split::Train, &rule.formula);
            assert_eq!(train, 0, "seed {seed}: {}", rule.statement);
            let tuning = violations(&world, Split::Tuning, &rule.formula);
            assert_eq!(tuning, rule.tuning.exceptions, "seed {seed}: {}", rule.statement);
            contradicted += u64::from(tuning > 0);
        }
    }
    assert!(contradicted > 5, "{contradicted}");
}

#[test]
fn without_dates_nothing_is_said_of_ages_and_days() {
    let world = world(1, 500);
    let undated = World { details: CohortDetails::default(), ..world };
    let known = Known { details: Some(&undated.details), ..Known::NOTHING };
    let World { cohort, vocabulary, splits, .. } = &undated;
    let options = MineOptions::default();
    let refused = mine_knowing(cohort, vocabulary, splits, &known, &options).unwrap_err();
    assert!(refused.to_string().contains("500 records, and details of 0"), "{refused}");
    let plain = mine_knowing(cohort, vocabulary, splits, &Known::NOTHING, &options).unwrap();
    assert!(timed(&plain).is_empty());
}
