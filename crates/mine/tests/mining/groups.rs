//! Groups of codes that a demographic group never has.

use std::collections::BTreeSet;
use std::sync::Arc;

use consequence_mine::{
    Class, CodeGroup, Known, MineOptions, Mined, MinedRule, Template, mine_knowing,
};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Cohort, Kind, Record, Split, Vocabulary};
use consequence_referee::Referee;

use crate::support::reread;

/// Codes of women.
const RARE: usize = 20;

struct World {
    vocabulary: Arc<Vocabulary>,
    cohort: Cohort,
    rare: Vec<Code>,
}

/// Twenty rare codes that only women have, named as told, among twenty that both have. With `odd`,
/// one man has one of them.
fn world(seed: u64, name: impl Fn(usize) -> String, odd: bool) -> World {
    let statics = ["SEX//F", "SEX//M"].map(|name| (name.to_owned(), Kind::Static));
    let rare: Vec<String> = (0..RARE).map(name).collect();
    let common = (0..20).map(|number| format!("C//{number:02}"));
    let codes = rare.iter().cloned().chain(common.clone()).map(|name| (name, Kind::Encounter));
    let vocabulary = Arc::new(Vocabulary::new(statics.into_iter().chain(codes)).unwrap());
    let code = |name: &str| vocabulary.code(name).unwrap();
    let (rare, common): (Vec<Code>, Vec<Code>) =
        (rare.iter().map(|name| code(name)).collect(), common.map(|name| code(&name)).collect());
    let draws = Draws::new(seed);
    let mut cohort = Cohort::default();
    for number in 0..1_200 {
        let mut draws = draws.visit(number, 0, 0, Purpose::Code);
        let man = draws.below(0, 0.5);
        let mut visit: Vec<Code> = Vec::new();
        for (place, &code) in rare.iter().enumerate() {
            if !man && draws.below(1 + place as u32, 0.009) {
                visit.push(code);
            }
        }
        for (place, &code) in common.iter().enumerate() {
            if draws.below(100 + place as u32, 0.03) {
                visit.push(code);
            }
        }
        if odd && man && number > 600 && cohort.records().all(|record| record.len() < 3) {
            cohort.push(
                &number.to_string(),
                &Record::new(vec![vec![code("SEX//M")], visit, rare.clone()]),
            );
            continue;
        }
        let sex = code(if man { "SEX//M" } else { "SEX//F" });
        cohort.push(&number.to_string(), &Record::new(vec![vec![sex], visit]));
    }
    World { vocabulary, cohort, rare }
}

fn mined(world: &World, known: &Known<'_>) -> Mined {
    let splits = vec![Split::Train; world.cohort.len()];
    let options = MineOptions::default();
    mine_knowing(&world.cohort, &world.vocabulary, &splits, known, &options).unwrap()
}

fn group_rules(mined: &Mined) -> Vec<&MinedRule> {
    let about_groups =
        |rule: &&MinedRule| rule.template == Template::NeverFor && rule.label.is_some();
    mined.rules.iter().filter(about_groups).collect()
}

/// Each code is kept from each group once, and no record says otherwise.
fn written_once_and_true(world: &World, mined: &Mined) {
    let mut pairs = BTreeSet::new();
    for rule in mined.rules.iter().filter(|rule| rule.template == Template::NeverFor) {
        let (group, members) = match &rule.label {
            Some(_) => rule.codes.split_last().unwrap(),
            None => (&rule.codes[1], &rule.codes[..1]),
        };
        for member in members {
            assert!(pairs.insert((group.clone(), member.clone())), "{member} twice for {group}");
        }
        assert!(rule.label.is_none() || members.len() > 1);
    }
    let referee = Referee::new(&reread(mined, &world.vocabulary));
    for record in world.cohort.records() {
        assert!(referee.is_valid(&record.to_record()));
    }
}

#[test]
fn codes_that_begin_alike_share_what_they_show() {
    let world = world(1, |number| format!("D//6{number:02}"), false);
    let mined = mined(&world, &Known::NOTHING);
    written_once_and_true(&world, &mined);
    let rules = group_rules(&mined);
    let covered: usize = rules.iter().map(|rule| rule.codes.len() - 1).sum();
    assert!(covered >= RARE - 2, "{covered} of {RARE} codes: {rules:#?}");
    assert!(
        rules
            .iter()
            .all(|rule| rule.name.starts_with("no-D//6") && rule.name.ends_with("-for-SEX//M"))
    );
    assert!(rules.iter().all(|rule| rule.class <= Class::Likely), "{rules:#?}");
    // Women with any of the codes, counted here.
    let members: BTreeSet<&String> = rules[0].codes.iter().collect();
    let has = |codes: &[Code]| {
        codes.iter().any(|&code| members.contains(&world.vocabulary.name(code).to_owned()))
    };
    let women = world.cohort.records().filter(|record| has(record.visit(1))).count();
    assert_eq!(rules[0].records as usize, women);
}

#[test]
fn codes_whose_titles_share_a_word_and_codes_that_are_said_to_be_alike() {
    let world = world(2, |number| format!("{}{number}", (b'a' + number as u8) as char), false);
    assert!(group_rules(&mined(&world, &Known::NOTHING)).is_empty(), "nothing says they are alike");
    let titles = |code: &str| {
        (!code.contains("//")).then(|| format!("\"{code}\", in the Pregnancy\nand so on"))
    };
    let by_title = mined(&world, &Known { titles: &titles, ..Known::NOTHING });
    written_once_and_true(&world, &by_title);
    let rules = group_rules(&by_title);
    assert_eq!(rules[0].name, "no-pregnancy-for-SEX//M");
    let text = by_title.text(&titles);
    assert!(text.contains(" codes (pregnancy) for SEX//M\n"), "{text}");

    let groups = [CodeGroup { label: "of women: \"all\"".into(), codes: world.rare.clone() }];
    let given = mined(&world, &Known { groups: &groups, ..Known::NOTHING });
    written_once_and_true(&world, &given);
    assert_eq!(group_rules(&given)[0].name, "no-of-women---all--for-SEX//M");
}

#[test]
fn a_group_with_an_exception_is_no_group() {
    for seed in 1..6 {
        let world = world(seed, |number| format!("D//6{number:02}"), true);
        let mined = mined(&world, &Known::NOTHING);
        written_once_and_true(&world, &mined);
        for rule in group_rules(&mined) {
            assert!(!rule.codes.iter().any(|code| code.starts_with("D//6")), "{}", rule.statement);
        }
    }
}

#[test]
fn threads_do_not_change_the_groups() {
    let world = world(3, |number| format!("D//6{number:02}"), false);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| mined_alone(&world))
    };
    let one = on(1);
    assert!(!group_rules(&one).is_empty());
    assert_eq!(on(3), one);
}

fn mined_alone(world: &World) -> Mined {
    mined(world, &Known::NOTHING)
}
