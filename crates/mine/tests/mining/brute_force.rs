//! All counts against the plainest way to get them, on random small cohorts.

use std::collections::BTreeMap;

use crate::support::{all_counts, reread, vocabulary};
use consequence_mine::{MineOptions, Mined, NearRules, Template, mine};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{Formula, Rule, RuleSet, Window};
use std::sync::Arc;

const NAMES: [&str; 9] = ["S//a", "S//b", "T//a", "T//b", "p", "q", "r", "s", "t"];

/// Records in which codes like to follow and accompany each other, so that rules come about.
pub fn random_cohort(seed: u64, vocabulary: &Vocabulary) -> (Cohort, Vec<Split>) {
    let draws = Draws::new(seed);
    let mut cohort = Cohort::default();
    let mut splits = Vec::new();
    let records = 3 + seed % 30;
    for number in 0..records {
        let mut shape = draws.visit(number, 0, 0, Purpose::Code);
        let mut visits = Vec::new();
        for visit in 0..2 + (shape.uniform(90) * 4.0) as u16 {
            let mut chosen = Vec::new();
            let mut codes = draws.visit(number, 1, visit, Purpose::Code);
            for code in vocabulary.codes().filter(|&code| code != vocabulary.end()) {
                let before = visits.last().is_some_and(|last: &Vec<_>| last.contains(&code));
                let with = chosen.len() as f64 * 0.15;
                let likely = if before { 0.9 } else { 0.12 + with };
                if vocabulary.kind(code) == Kind::of_visit(usize::from(visit))
                    && codes.below(code.0, likely)
                {
                    chosen.push(code);
                }
            }
            visits.push(chosen);
        }
        let record = Record::new(visits);
        let cut = shape.below(91, 0.3);
        cohort.push(&number.to_string(), &if cut { record.cut() } else { record });
        splits.push(match shape.uniform(92) {
            share if share < 0.7 => Split::Train,
            share if share < 0.85 => Split::Tuning,
            _ => Split::HeldOut,
        });
    }
    (cohort, splits)
}

/// Every rule that a template can say, by its text.
fn every_rule(vocabulary: &Vocabulary) -> BTreeMap<String, (Template, Formula)> {
    let mut rules = BTreeMap::new();
    let mut add = |template, formula: Formula| {
        rules.insert(formula.text(vocabulary), (template, formula));
    };
    let of = |kind| vocabulary.codes().filter(move |&code| vocabulary.kind(code) == kind);
    let statics: Vec<_> = of(Kind::Static).collect();
    let codes: Vec<_> = of(Kind::Encounter).collect();
    for pair in statics.chunks(2) {
        add(Template::OneOf, Formula::AtMostOne(pair.iter().map(|&c| Formula::Now(c)).collect()));
    }
    for &code in codes.iter().filter(|&&code| code != vocabulary.end()) {
        let now = Formula::Now(code);
        let previous = Formula::In(code, Window::previous());
        add(Template::Stays, previous.implies(now.clone()));
        for &group in &statics {
            let group = Formula::In(group, Window::static_visit());
            add(Template::NeverFor, group.implies(now.clone().not()));
        }
        for &other in codes.iter().filter(|&&other| other != code) {
            let (with, past) = (Formula::Now(other), Formula::In(other, Window::past()));
            if other == vocabulary.end() {
                add(Template::Last, now.clone().implies(with));
            } else {
                add(Template::Together, now.clone().implies(with));
                add(Template::OnlyAfter, past.not().implies(now.clone().not()));
            }
        }
    }
    rules
}

pub fn rule_set(vocabulary: &Arc<Vocabulary>, formula: &Formula) -> RuleSet {
    let rule = Rule::hard("r", formula.clone());
    RuleSet::new(Arc::clone(vocabulary), vec![rule]).unwrap()
}

/// Violations in a split, as the referee finds them.
pub fn violations(cohort: &Cohort, splits: &[Split], split: Split, rules: &RuleSet) -> usize {
    let referee = Referee::new(rules);
    let of_split = (0..cohort.len()).filter(|&record| splits[record] == split);
    of_split.map(|record| referee.violations(&cohort.record(record).to_record()).len()).sum()
}

/// Both ways of an equivalence, or the rule itself.
fn ways(formula: &Formula) -> Vec<Formula> {
    match formula {
        Formula::Iff(one, other) => {
            let (one, other) = ((**one).clone(), (**other).clone());
            vec![one.clone().implies(other.clone()), other.implies(one)]
        }
        other => vec![other.clone()],
    }
}

#[test]
fn the_rules_found_are_exactly_those_without_exceptions() {
    let vocabulary = vocabulary(&NAMES);
    let every = every_rule(&vocabulary);
    let mut found_any = BTreeMap::new();
    for seed in 0..150 {
        let (cohort, splits) = random_cohort(seed, &vocabulary);
        let options = MineOptions { end: true, ..all_counts() };
        let Ok(mined) = mine(&cohort, &vocabulary, &splits, &options) else { continue };
        let mut found = BTreeMap::new();
        let dropped = mined.dropped.iter().map(|dropped| &dropped.rule);
        for rule in mined.rules.iter().chain(dropped) {
            assert_eq!(rule.train.exceptions, 0);
            for way in ways(&rule.formula) {
                found.insert(way.text(&vocabulary), rule.template);
            }
            let rules = rule_set(&vocabulary, &rule.formula);
            let broken = violations(&cohort, &splits, Split::Tuning, &rules);
            assert_eq!(rule.tuning.exceptions as usize, broken, "seed {seed} {}", rule.statement);
            let support = support(rule.template, &rule.formula, &cohort, &splits);
            assert_eq!(rule.train.support as usize, support, "seed {seed} {}", rule.statement);
            *found_any.entry(rule.template).or_insert(0) += 1;
        }
        assert!(mined.rules.iter().all(|rule| rule.tuning.exceptions == 0));
        for (text, (template, formula)) in &every {
            let rules = rule_set(&vocabulary, formula);
            let kept = violations(&cohort, &splits, Split::Train, &rules) == 0;
            let enough = occasions(*template, formula, &cohort, &splits);
            assert_eq!(found.contains_key(text), kept && enough, "seed {seed}: {text}");
        }
        reread(&mined, &vocabulary);
    }
    assert_eq!(found_any.len(), 6, "every template was tried: {found_any:?}");
}

/// Occasions on which a rule could fail, counted visit by visit.
fn support(template: Template, formula: &Formula, cohort: &Cohort, splits: &[Split]) -> usize {
    let mut codes = Vec::new();
    formula.for_each_code(&mut |code, _| codes.push(code));
    let about = match (template, formula) {
        (Template::OneOf, _) | (Template::Together, Formula::Iff(..)) => codes,
        (Template::Together | Template::Last | Template::Stays, _) => codes[..1].to_vec(),
        _ => codes[1..].to_vec(),
    };
    let train = (0..cohort.len()).filter(|&record| splits[record] == Split::Train);
    let count = train.map(|record| {
        let visits = cohort.record(record).to_record().visits;
        let last = visits.len() - usize::from(template == Template::Stays);
        let any = |visit: &&Vec<_>| about.iter().any(|code| visit.contains(code));
        visits[..last].iter().filter(any).count()
    });
    count.sum()
}

/// Whether the train split has what the lowest cut-offs ask for.
fn occasions(template: Template, formula: &Formula, cohort: &Cohort, splits: &[Split]) -> bool {
    let train = || {
        let of_train = (0..cohort.len()).filter(|&record| splits[record] == Split::Train);
        of_train.map(|record| cohort.record(record).to_record())
    };
    let mut codes = Vec::new();
    formula.for_each_code(&mut |code, _| codes.push(code));
    let seen = |code| train().any(|record| record.visits.iter().any(|visit| visit.contains(&code)));
    match template {
        Template::OneOf => codes.iter().all(|&code| seen(code)),
        Template::NeverFor => seen(codes[0]) && seen(codes[1]),
        Template::Last => seen(codes[0]),
        Template::Together => seen(codes[0]) && seen(codes[1]),
        Template::OnlyAfter => seen(codes[1]),
        Template::Stays => train().any(|record| {
            record.visits.windows(2).any(|pair| pair.iter().all(|visit| visit.contains(&codes[0])))
        }),
        other => panic!("{other:?} is not among the paper's"),
    }
}

#[test]
fn exceptions_and_support_of_soft_rules_are_counted_right() {
    let vocabulary = vocabulary(&NAMES);
    let near = NearRules { exceptions: 0.5, bound: 1.0, of_chance: f64::INFINITY };
    let mut soft = 0;
    for seed in 0..80 {
        let (cohort, splits) = random_cohort(seed, &vocabulary);
        let options = MineOptions { near: Some(near), end: true, ..all_counts() };
        let Ok(mined) = mine(&cohort, &vocabulary, &splits, &options) else { continue };
        for rule in mined.rules.iter().filter(|rule| rule.probability.is_some()) {
            soft += 1;
            let hard = match (rule.template, &rule.formula) {
                (Template::NeverFor | Template::OnlyAfter, Formula::Implies(when, then)) => {
                    when.as_ref().clone().implies(then.as_ref().clone().not())
                }
                (_, formula) => formula.clone(),
            };
            let rules = rule_set(&vocabulary, &hard);
            let broken = violations(&cohort, &splits, Split::Train, &rules);
            assert_eq!(rule.train.exceptions as usize, broken, "seed {seed} {}", rule.statement);
            let fires = fires(&rule.formula, &cohort, &splits, &vocabulary);
            let happens = match rule.template {
                Template::NeverFor | Template::OnlyAfter => broken,
                _ => fires - broken,
            };
            let expected = happens as f64 / fires as f64;
            let stated = rule.probability.unwrap();
            assert!((stated - expected).abs() <= 0.001 * expected, "{}", rule.statement);
        }
        reread(&mined, &vocabulary);
    }
    assert!(soft > 100, "{soft}");
}

/// Encounters of the train split in which the antecedent holds.
pub fn fires(
    formula: &Formula,
    cohort: &Cohort,
    splits: &[Split],
    vocabulary: &Arc<Vocabulary>,
) -> usize {
    let Formula::Implies(when, _) = formula else { return 0 };
    // `when => false`, with a code that makes it speak of encounters, fails wherever it fires.
    let end = Formula::Now(vocabulary.end());
    let never = Formula::And(vec![end.clone(), end.not()]);
    violations(
        cohort,
        splits,
        Split::Train,
        &rule_set(vocabulary, &when.as_ref().clone().implies(never)),
    )
}

#[test]
fn threads_and_memory_do_not_change_the_result() {
    let vocabulary = vocabulary(&NAMES);
    for seed in [7, 29] {
        let (cohort, splits) = random_cohort(seed, &vocabulary);
        let on = |threads: usize, memory: usize| -> Mined {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let options = MineOptions { memory, end: true, ..all_counts() };
            pool.install(|| mine(&cohort, &vocabulary, &splits, &options).unwrap())
        };
        let one = on(1, 1 << 30);
        for (threads, memory) in [(2, 1 << 30), (7, 1 << 30), (3, 0), (2, 200)] {
            assert_eq!(on(threads, memory), one, "{threads} threads, {memory} bytes");
        }
    }
}
