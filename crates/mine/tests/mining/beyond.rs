//! Kinds of rules beyond the paper's, against the plainest way to find them, on random small cohorts.

use std::collections::BTreeSet;
use std::sync::Arc;

use consequence_mine::{Class, LikelyRules, MineOptions, Mined, Reason, Template, mine};
use consequence_record::{Code, Cohort, Kind, Split, Vocabulary};
use consequence_rules::{Formula, Window};

use crate::brute_force::{random_cohort, rule_set, violations};
use crate::support::{all_counts, cohort, mine_all, reread, said, vocabulary};

/// Two categories of static codes, a family of two codes, and others.
fn with_family() -> Arc<Vocabulary> {
    let statics = ["S//a", "S//b", "T//a", "T//b"].map(|name| (name, Kind::Static));
    let codes = ["g//a", "g//b", "p", "q", "r"].map(|name| (name, Kind::Encounter));
    Arc::new(Vocabulary::new(statics.into_iter().chain(codes)).unwrap())
}

/// The records with one code of a category each, and one of the family in every visit, or in every
/// visit but the first.
fn tidy(seed: u64, cohort: &Cohort, vocabulary: &Vocabulary) -> Cohort {
    let mut tidied = Cohort::default();
    for (number, record) in cohort.records().enumerate() {
        let mut record = record.to_record();
        let code = |name: &str| vocabulary.code(name).unwrap();
        record.visits[0] = vec![code(["S//a", "S//b"][number % 2])];
        let family = ["g//a", "g//b"].map(code);
        for (visit, codes) in record.visits.iter_mut().enumerate().skip(1) {
            codes.retain(|code| !family.contains(code));
            if visit > 1 || seed % 4 == 1 {
                codes.push(family[(number + visit) % 2]);
                codes.sort_unstable();
            }
        }
        tidied.push(&number.to_string(), &record);
    }
    tidied
}

/// Counts alone, beyond the paper.
fn beyond() -> MineOptions {
    MineOptions { beyond: true, end: true, ..all_counts() }
}

/// Every rule beyond the paper's that the train split has no exception to, as text.
fn expected(cohort: &Cohort, splits: &[Split], vocabulary: &Arc<Vocabulary>) -> BTreeSet<String> {
    let holds_in = |split: Split, formula: &Formula| {
        violations(cohort, splits, split, &rule_set(vocabulary, formula)) == 0
    };
    let holds = |formula: &Formula| holds_in(Split::Train, formula);
    let records: Vec<_> = Split::Train
        .indices(splits)
        .into_iter()
        .map(|index| cohort.record(index).to_record().visits)
        .collect();
    let visits = || records.iter().flat_map(|visits| visits.iter().skip(1));
    let seen = |code: Code| visits().any(|visit| visit.contains(&code));
    let followed = |code: Code| {
        let first =
            |visits: &&Vec<Vec<Code>>| visits.iter().position(|visit| visit.contains(&code));
        records.iter().any(|visits| first(&visits).is_some_and(|at| at + 1 < visits.len()))
    };
    let of = |kind| {
        let codes = vocabulary.codes().filter(move |&code| vocabulary.kind(code) == kind);
        codes.filter(|&code| code != vocabulary.end()).collect::<Vec<Code>>()
    };
    let (statics, codes) = (of(Kind::Static), of(Kind::Encounter));
    let now = Formula::Now;
    let each = |codes: &[Code]| codes.iter().map(|&code| now(code)).collect::<Vec<Formula>>();
    let mut found = BTreeSet::new();
    let mut add = |formula: &Formula| {
        found.insert(formula.text(vocabulary));
    };
    let exactly: Vec<&[Code]> =
        statics.chunks(2).filter(|pair| holds(&Formula::ExactlyOne(each(pair)))).collect();
    for pair in statics.chunks(2).filter(|pair| {
        pair.iter().all(|code| records.iter().any(|visits| visits[0].contains(code)))
    }) {
        let formula = Formula::ExactlyOne(each(pair));
        if holds(&formula) && holds_in(Split::Tuning, &formula) {
            add(&formula);
        }
    }
    let family = &codes[..2];
    let at_most = Formula::AtMostOne(each(family));
    if family.iter().all(|&code| seen(code)) && holds(&at_most) {
        let always = Formula::ExactlyOne(each(family));
        let later = exactly.first().map(|pair| {
            let first = pair.iter().map(|&code| Formula::In(code, Window::previous())).collect();
            Formula::Or(first).not().implies(always.clone())
        });
        let longer = records.iter().any(|visits| visits.len() > 2);
        let best =
            if holds(&always) { Some(always) } else { later.filter(|rule| longer && holds(rule)) };
        let best = best.filter(|rule| holds_in(Split::Tuning, rule));
        add(&best.unwrap_or(at_most));
    }
    for &code in &codes {
        let last = now(code).implies(now(vocabulary.end()));
        let once = Formula::In(code, Window::past()).implies(now(code).not());
        if followed(code) && holds(&once) && !holds(&last) {
            add(&once);
        }
        for &other in codes.iter().filter(|&&other| other != code && seen(code)) {
            let after = |window: Window| Formula::In(other, window).not().implies(now(code).not());
            let soon = (1..=3).map(|visits| after(Window::last(visits))).find(&holds);
            if let Some(soon) = soon.filter(|_| holds(&after(Window::past()))) {
                add(&soon);
            }
        }
    }
    found
}

#[test]
fn the_rules_found_are_exactly_those_without_exceptions() {
    let vocabulary = with_family();
    let mut kinds = BTreeSet::new();
    for seed in 0..200 {
        let (cohort, splits) = random_cohort(seed, &vocabulary);
        let cohort = if seed % 2 == 0 { cohort } else { tidy(seed, &cohort, &vocabulary) };
        let Ok(mined) = mine(&cohort, &vocabulary, &splits, &beyond()) else { continue };
        let dropped = mined.dropped.iter().map(|dropped| &dropped.rule);
        let mut found = BTreeSet::new();
        for rule in mined.rules.iter().chain(dropped) {
            let of_paper = match rule.template {
                Template::OneOf => rule.statement.contains(": at most one of "),
                Template::OneInVisit | Template::SoonAfter | Template::Once => false,
                _ => true,
            };
            let rules = rule_set(&vocabulary, &rule.formula);
            assert_eq!(violations(&cohort, &splits, Split::Train, &rules), 0, "{}", rule.statement);
            let tuning = violations(&cohort, &splits, Split::Tuning, &rules) as u64;
            assert_eq!(rule.tuning.exceptions, tuning, "seed {seed} {}", rule.statement);
            if !of_paper {
                found.insert(rule.formula.text(&vocabulary));
                let start = rule.statement.split_once(": ").unwrap().1;
                kinds.insert((rule.template, start.split(' ').next().unwrap() == "exactly"));
            }
        }
        assert_eq!(found, expected(&cohort, &splits, &vocabulary), "seed {seed}");
        reread(&mined, &vocabulary);
    }
    let few = [Template::OneOf, Template::OneInVisit].map(|kind| (kind, true));
    let others = [Template::OneInVisit, Template::SoonAfter, Template::Once];
    for kind in few.into_iter().chain(others.map(|kind| (kind, false))) {
        assert!(kinds.contains(&kind), "{kind:?} was tried: {kinds:?}");
    }
}

#[test]
fn what_comes_after_is_covered_by_what_comes_soon_after() {
    let vocabulary = vocabulary(&["first", "later", "noise"]);
    let cohort = cohort(
        &vocabulary,
        &[
            (40, "| first noise | later | noise | noise | noise"),
            (40, "| noise | first | noise later | | |"),
            (200, "| first | | noise | | |"),
            (400, "| noise | | noise | |"),
        ],
    );
    let mined = mine_all(&cohort, &vocabulary, &MineOptions::default());
    let said = said(&mined);
    assert!(said.contains(&"not first in previous => not later".to_owned()), "{said:?}");
    let covered = mined.dropped.iter().find(|one| one.reason == Reason::Covered).unwrap();
    assert!(covered.rule.statement.ends_with("not first in past => not later"));
}

#[test]
fn a_family_of_which_every_visit_but_the_first_has_one() {
    let statics = ["SEX//F", "SEX//M"].map(|name| (name, Kind::Static));
    let codes = ["GAP//long", "GAP//short", "q"].map(|name| (name, Kind::Encounter));
    let vocabulary = Arc::new(Vocabulary::new(statics.into_iter().chain(codes)).unwrap());
    let records = [
        (60, "SEX//F | q | GAP//long | q GAP//short"),
        (60, "SEX//M | | GAP//short q | GAP//long"),
        (60, "SEX//M | q"),
    ];
    let all = cohort(&vocabulary, &records);
    let mined = mine_all(&all, &vocabulary, &MineOptions::default());
    let rule = mined.rules.iter().find(|rule| rule.template == Template::OneInVisit).unwrap();
    assert!(rule.statement.ends_with(" in previous) => exactly one of GAP//long, GAP//short"));
    assert_eq!((rule.train.support, rule.records), (240, 120));
    let text = mined.text(&|_| None);
    assert!(text.contains("# every visit but a record's first has one of GAP, and no visit two\n"));
    reread(&mined, &vocabulary);

    let some = cohort(&vocabulary, &[records[0], records[1], (1, "SEX//F | q | q")]);
    let said = said(&mine_all(&some, &vocabulary, &MineOptions::default()));
    assert!(said.contains(&"at most one of GAP//long, GAP//short".to_owned()), "{said:?}");
}

/// Pairs of codes that nearly always come together, so that those which always do are only likely.
fn likely_ones(how: LikelyRules) -> (Mined, Arc<Vocabulary>) {
    let names: Vec<String> =
        (0..30).flat_map(|number| [format!("a{number}"), format!("b{number}")]).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let vocabulary = vocabulary(&names);
    let mut lines = Vec::new();
    for number in 0..30 {
        lines.push((24, format!("| a{number} b{number}")));
        lines.push((6, format!("| b{number}")));
        let odd = if number % 8 == 1 { 1 + number / 16 } else { 0 };
        lines.push((odd, format!("| a{number}")));
    }
    lines.push((3000, "|".to_owned()));
    let lines: Vec<(usize, &str)> =
        lines.iter().map(|(copies, text)| (*copies, text.as_str())).collect();
    let options = MineOptions { likely: how, near: None, ..MineOptions::default() };
    (mine_all(&cohort(&vocabulary, &lines), &vocabulary, &options), vocabulary)
}

#[test]
fn likely_rules_are_hard_or_soft_or_left() {
    let (hard, vocabulary) = likely_ones(LikelyRules::Hard);
    let likely = hard.of(Class::Likely);
    assert!(likely.len() >= 8, "{:#?}", hard.rules);
    assert!(likely.iter().all(|rule| rule.probability.is_none()));
    assert!(hard.text(&|_| None).contains("# ==== Likely: "));
    reread(&hard, &vocabulary);

    let (soft, _) = likely_ones(LikelyRules::Soft);
    let rules = soft.of(Class::Likely);
    assert!(rules.iter().all(|rule| rule.probability.is_some_and(|share| share > 0.9)));
    let left = soft.dropped.iter().filter(|one| one.reason == Reason::Left).count();
    assert_eq!(rules.len() + left, likely.len());
    reread(&soft, &vocabulary);

    let (left, _) = likely_ones(LikelyRules::Leave);
    assert!(left.of(Class::Likely).is_empty());
    let listed = left.dropped.iter().filter(|one| one.reason == Reason::Left).count();
    assert_eq!(listed, likely.len());
    assert!(left.text(&|_| None).contains("# Likely, and left out of the rules:\n#   "));
    reread(&left, &vocabulary);
    assert_eq!(hard.of(Class::Certain), left.of(Class::Certain));
}
