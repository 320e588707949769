//! Rules, conditions and beginnings are kept, and what cannot be is refused.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_feedback::Unwatched;
use consequence_model::{Generator, Turn};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Cohort, Record, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{Order, OrderedPass, RuleSet};
use consequence_sample::{
    Condition, DatasetOptions, Given, Mode, Request, SampleError, Sampler, Totals, write_dataset,
};

use common::*;

/// Random clauses of a few literals, now and in windows.
fn random_rules(seed: u64, vocabulary: &Arc<Vocabulary>) -> RuleSet {
    let mut draw = Draws::new(seed).visit(0, 0, 0, Purpose::Simulation);
    let mut index = 0;
    let mut below = |bound: u32| {
        index += 1;
        draw.word(index) % bound
    };
    let mut text = String::new();
    for rule in 0..2 + below(5) {
        let literals: Vec<String> = (0..1 + below(3))
            .map(|_| {
                let not = ["", "not "][below(2) as usize];
                let window = ["", " in previous", " in past", " in last 2 visits", " in visit 1"];
                match below(8) {
                    0 => format!("{not}S{} in static", below(2)),
                    1 => format!("{not}END"),
                    _ => format!("{not}E{}{}", below(5), window[below(5) as usize]),
                }
            })
            .collect();
        text += &format!(
            "rule r{rule}: {} => {}E{}\n",
            literals.join(" and "),
            ["", "not "][below(2) as usize],
            below(5)
        );
    }
    if below(2) == 0 {
        text += "rule one: exactly one of S0, S1\n";
    }
    rules(&text, vocabulary)
}

#[test]
fn every_mode_that_promises_valid_records_writes_them() {
    let vocabulary = vocabulary(2, 5);
    let (mut tried, mut written) = (0, [0; 4]);
    for seed in 0..60 {
        let generator = network(&vocabulary, 4, seed);
        let set = random_rules(seed, &vocabulary);
        let referee = Referee::new(&set);
        for (index, mode) in Mode::ALL.into_iter().filter(|mode| mode.obeys()).enumerate() {
            let request = Request { mode, seed, proposals: 3, ..Request::default() };
            let sampler = match Sampler::new(&generator, &set, request) {
                Ok(sampler) => sampler,
                Err(error) => {
                    assert!(matches!(error, SampleError::Compile { .. }), "{error}");
                    continue;
                }
            };
            tried += 1;
            let done = sampler.records(0..40, &mut Totals::default(), |_, record| {
                assert!(referee.is_valid(&record), "{mode}, rules {seed}");
                assert!(record.ended && record.visits.len() <= 5);
                Ok(())
            });
            match done {
                Ok(()) => written[index] += 1,
                Err(error) => {
                    assert_eq!(mode, Mode::Reject, "{error}");
                    assert!(matches!(error, SampleError::Exhausted { .. }), "{error}");
                }
            }
        }
    }
    assert!(tried > 150 && written.iter().all(|&times| times > 20), "{tried} {written:?}");
}

fn given(text: &str, vocabulary: &Arc<Vocabulary>) -> Vec<Condition> {
    Condition::parse_list(text, &rules("", vocabulary)).unwrap()
}

#[test]
fn conditions_hold_in_every_mode() {
    let vocabulary = vocabulary(3, 4);
    let generator = network(&vocabulary, 4, 3);
    let set = rules("rule one: at most one of S0, S2  rule not-two: S2 => not S1", &vocabulary);
    let [s0, s1] = ["S0", "S1"].map(|name| vocabulary.code(name).unwrap());
    for mode in Mode::ALL {
        let given = given("S0, not S1", &vocabulary);
        let request = Request { mode, given, attempts: u16::MAX, ..Request::default() };
        let (records, _) = sample(&generator, &set, request, 200);
        let kept =
            |record: &Record| record.visits[0].contains(&s0) && !record.visits[0].contains(&s1);
        assert!(records.iter().all(kept), "{mode}");
    }
    let refused = |mode, text: &str| {
        let request = Request { mode, given: given(text, &vocabulary), ..Request::default() };
        match Sampler::new(&generator, &set, request) {
            Err(error) => error.to_string(),
            Ok(_) => String::new(),
        }
    };
    for mode in [Mode::Guided, Mode::Override, Mode::Exact, Mode::Reject] {
        let said = refused(mode, "S1, S2");
        assert!(said.ends_with("together: not-two, given S1, given S2"), "{said}");
    }
    assert_eq!(refused(Mode::Off, "S1, S2"), "", "no rules, nothing forbids it");
    let said = refused(Mode::Off, "S1, not S1");
    assert!(said.ends_with("together: given S1, given not S1"), "{said}");
}

#[test]
fn records_are_of_the_groups_given_in_every_mode() {
    let vocabulary = vocabulary(1, 4);
    let generator = network(&vocabulary, 4, 3);
    let set = rules("rule not-three: E0 => not E3", &vocabulary);
    let groups = "rule again: E1 in past and E1  rule both: E0 and E2";
    let groups = rules(groups, &vocabulary);
    let referee = Referee::new(&groups);
    let obeys = Referee::new(&set);
    let e3 = vocabulary.code("E3").unwrap();
    for mode in Mode::ALL {
        let given = Condition::parse_list("again, not both, E3, S0", &groups).unwrap();
        let request =
            Request { mode, given, attempts: u16::MAX, proposals: 2000, ..Request::default() };
        let (records, totals) = sample(&generator, &set, request, 40);
        for record in &records {
            assert!(referee.ever(0, record) && !referee.ever(1, record), "{mode}");
            assert!(record.visits[1..].iter().any(|visit| visit.contains(&e3)), "{mode}");
            assert!(!record.visits[0].is_empty(), "{mode}");
            assert!(mode == Mode::Off || obeys.is_valid(record), "{mode}");
        }
        assert_eq!(records.len(), 40);
        assert!(mode == Mode::Exact || totals.rejected > 40, "{mode}: {}", totals.rejected);
    }
}

/// What is drawn until it is of a group is distributed as those of the group that are drawn without asking.
#[test]
fn records_of_a_group_are_as_those_of_it_among_all() {
    let vocabulary = vocabulary(1, 3);
    let generator = network(&vocabulary, 3, 5);
    let set = rules("rule not-two: E0 => not E2", &vocabulary);
    let groups = rules("rule again: E1 in past and E1", &vocabulary);
    let referee = Referee::new(&groups);
    let (all, _) = sample(&generator, &set, Request::default(), 20_000);
    let all: Vec<Record> = all.into_iter().filter(|one| referee.ever(0, one)).collect();
    let given = Condition::parse_list("again", &groups).unwrap();
    let (of_group, totals) =
        sample(&generator, &set, Request { given, ..Request::default() }, 5_000);
    assert!(all.len() > 1_000 && totals.rejected > 0, "{}", all.len());
    let counted = |records: &[Record]| {
        let mut shares: BTreeMap<(usize, u32), f64> = BTreeMap::new();
        for record in records {
            for (visit, codes) in record.visits.iter().enumerate() {
                for code in codes {
                    *shares.entry((visit, code.0)).or_default() += 1.0 / records.len() as f64;
                }
            }
        }
        shares
    };
    let (among, asked) = (counted(&all), counted(&of_group));
    for (key, share) in &among {
        let other = asked.get(key).copied().unwrap_or_default();
        let (few, many) = (all.len() as f64, of_group.len() as f64);
        let deviation = (share * (1.0 - share) * (1.0 / few + 1.0 / many)).sqrt();
        assert!((share - other).abs() < 4.5 * deviation + 1e-9, "{key:?}: {share} {other}");
    }
}

#[test]
fn groups_that_no_record_is_of_end_in_an_error() {
    let vocabulary = vocabulary(1, 3);
    let generator = network(&vocabulary, 3, 5);
    let set = rules("rule never: not E0", &vocabulary);
    for mode in [Mode::Guided, Mode::Override, Mode::Reject, Mode::Exact] {
        let given = given("E0", &vocabulary);
        let request = Request { mode, given, attempts: 20, proposals: 20, ..Request::default() };
        let sampler = Sampler::new(&generator, &set, request).unwrap();
        let refused = sampler.records(0..3, &mut Totals::default(), |_, _| Ok(())).unwrap_err();
        let said = refused.to_string();
        assert!(
            matches!(refused, SampleError::OutOfGroup { record: 1, attempts: 20, .. })
                || mode == Mode::Reject && matches!(refused, SampleError::Exhausted { .. }),
            "{mode}: {said}"
        );
    }
    let asks = rules("rule soon: E0 in last 30 days", &vocabulary);
    let given = Condition::parse_list("soon", &asks).unwrap();
    let refused = Sampler::new(&generator, &set, Request { given, ..Request::default() });
    assert!(matches!(refused, Err(SampleError::NoDates)));
}

#[test]
fn conditions_are_read_or_refused() {
    let codes = Vocabulary::new([
        ("AGE, band//4 0", consequence_record::Kind::Static),
        ("notable", consequence_record::Kind::Static),
        ("A", consequence_record::Kind::Encounter),
    ])
    .unwrap();
    let codes = Arc::new(codes);
    let read = given("\"AGE, band//4 0\" , not \"notable\",notable", &codes);
    let read: Vec<(&Given, bool)> = read.iter().map(|one| (&one.what, one.present)).collect();
    let [age, notable] = [0, 1].map(|code| Given::Static(Code(code)));
    assert_eq!(read, [(&age, true), (&notable, false), (&notable, true)]);
    // A name without quotes is that of a group first; a code of encounters is one that some encounter has.
    let groups = rules("rule notable: A in past  rule twice: A and A in past", &codes);
    let read = Condition::parse_list("notable, \"notable\", not twice, A", &groups).unwrap();
    let names: Vec<Option<&str>> =
        read.iter().map(|one| one.group().map(|rule| &*rule.name)).collect();
    assert_eq!(names, [Some("notable"), None, Some("twice"), Some("A")]);
    assert!(!read[2].present);
    let refused = |text| Condition::parse_list(text, &groups).unwrap_err().to_string();
    assert!(refused("AGE//50").starts_with("the model has no code `AGE//50`, and no group"));
    assert!(refused("END").contains("every record that is written has an end"));
    assert!(refused("notable,,").starts_with("a condition is empty"));
    assert!(refused("").starts_with("a condition is empty"));
    assert!(refused("\"notable").contains("quote"));
}

#[test]
fn prefixes_are_gone_on_with() {
    let vocabulary = vocabulary(2, 4);
    let generator = network(&vocabulary, 4, 8);
    let set = rules("rule lasts: E0 in previous => E0  rule ends: E1 and E2 => END", &vocabulary);
    let code = |name: &str| vocabulary.code(name).unwrap();
    let mut cohort = Cohort::default();
    cohort.push("a", &Record::new(vec![vec![code("S0")], vec![code("E0")], vec![code("E0")]]));
    cohort.push("b", &Record::new(vec![vec![], vec![code("E3")]]).cut());
    cohort.push("c", &Record::new(vec![vec![], vec![code("E1"), code("E2")]]).cut());
    cohort.push("d", &Record::new(vec![vec![], vec![], vec![], vec![], vec![]]));
    for mode in Mode::ALL {
        let request = Request { mode, prefix: Some(&cohort), ..Request::default() };
        let (records, _) = sample(&generator, &set, request, 400);
        for (number, record) in records.iter().enumerate() {
            let begun = cohort.record(number % 4).to_record();
            assert!(record.visits.starts_with(&begun.visits), "{mode} {number}");
        }
        let longer = |index: usize| {
            let ones = records.iter().skip(index).step_by(4);
            ones.filter(|record| record.visits.len() > cohort.record(index).len()).count()
        };
        assert!((1..100).contains(&longer(0)) && (1..100).contains(&longer(1)), "{mode}");
        assert!(mode == Mode::Off || longer(2) == 0, "a rule ends it");
        assert_eq!(longer(3), 0, "the model has no more visits");
    }
}

#[test]
fn prefixes_that_cannot_be_are_refused() {
    let vocabulary = vocabulary(2, 4);
    let generator = network(&vocabulary, 3, 8);
    let set = rules(
        "rule lasts: E0 in previous => E0
         rule leads: E1 in previous => E2
         rule bars: E3 in past => not E2
         rule goes-on: E1 => not END",
        &vocabulary,
    );
    let code = |name: &str| vocabulary.code(name).unwrap();
    let refused = |visits: Vec<Vec<_>>, mode| {
        let mut cohort = Cohort::default();
        cohort.push("a", &Record::new(vec![vec![], vec![]]));
        cohort.push("b", &Record { visits, ended: true });
        let request = Request { mode, prefix: Some(&cohort), ..Request::default() };
        Sampler::new(&generator, &set, request).err().map(|error| error.to_string())
    };
    for mode in [Mode::Guided, Mode::Override, Mode::Exact, Mode::Reject] {
        let said = refused(vec![vec![], vec![code("E0")], vec![]], mode).unwrap();
        assert!(
            said.contains("record 2 of the prefix") && said.contains("visit 2 rule `lasts`"),
            "{said}"
        );
        // Nothing breaks a rule yet, and nothing can follow.
        let said = refused(vec![vec![], vec![code("E3")], vec![code("E1")]], mode).unwrap();
        assert!(
            said.contains("at visit 2") && said.contains("`leads`, `bars`, `goes-on`"),
            "{said}"
        );
        let given = vec![vec![], vec![], vec![], vec![], vec![]];
        let said = refused(given, mode).unwrap();
        assert!(said.contains("has 4 encounters; the model writes 3 at most"), "{said}");
    }
    assert_eq!(refused(vec![vec![], vec![code("E0")], vec![]], Mode::Off), None);
    let said = refused(vec![vec![], vec![code("S0")]], Mode::Off).unwrap();
    assert!(said.contains("a code that the model does not know in that visit"), "{said}");
    let empty = Cohort::default();
    let request = Request { prefix: Some(&empty), ..Request::default() };
    assert!(matches!(Sampler::new(&generator, &set, request), Err(SampleError::EmptyPrefix)));
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let vocabulary = vocabulary(1, 2);
    let generator = network(&vocabulary, 3, 8);
    let set = rules("", &vocabulary);
    for temperature in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let request = Request { temperature, ..Request::default() };
        let refused = Sampler::new(&generator, &set, request);
        assert!(matches!(refused, Err(SampleError::Temperature(_))));
    }
    let none = |mode| Request { mode, proposals: 0, attempts: 0, ..Request::default() };
    for request in
        [none(Mode::Exact), none(Mode::Reject), Request { batch: 0, ..Request::default() }]
    {
        assert!(matches!(Sampler::new(&generator, &set, request), Err(SampleError::Nothing(_))));
    }
    assert!(Sampler::new(&generator, &set, none(Mode::Guided)).is_ok());
}

#[test]
fn other_codes_are_refused() {
    let generator = network(&vocabulary(1, 2), 3, 8);
    let set = RuleSet::parse("rule other: B => C", None).unwrap();
    let refused = Sampler::new(&generator, &set, Request::default());
    assert!(matches!(refused, Err(SampleError::OtherCodes)));
}

#[test]
fn rejection_gives_up_and_names_the_rules() {
    let vocabulary = vocabulary(1, 12);
    let generator = network(&vocabulary, 3, 8);
    let text = "rule every: all of E0, E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11
                rule rare: S0 => not E1";
    let set = rules(text, &vocabulary);
    let request = Request { mode: Mode::Reject, attempts: 50, ..Request::default() };
    let sampler = Sampler::new(&generator, &set, request).unwrap();
    let index = tempfile::tempdir().unwrap();
    let options = DatasetOptions { records: 10, ..DatasetOptions::default() };
    let error =
        write_dataset(&sampler, index.path().join("out"), &options, &Unwatched).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("none of 50 attempts at record 1 ") && said.contains("`every` ("),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(index.path()).unwrap().count(), 0, "nothing is left");
}

/// A model that gives each code a probability by its name, whatever was before.
struct Constant(Order, fn(&str) -> f64);

impl Generator for Constant {
    type Past = usize;
    type Scratch = ();
    fn codes(&self) -> &Order {
        &self.0
    }
    fn max_visits(&self) -> usize {
        10
    }
    fn begin(&self) -> usize {
        0
    }
    fn next(&self, turns: &mut [Turn<'_, usize>], _: &mut ()) {
        for turn in turns {
            for position in self.0.range(*turn.past) {
                let probability = |at: u32| self.1(self.0.vocabulary().name(self.0.code(at)));
                turn.decider.decide(position, probability(position), &mut |_, others, into| {
                    let answers = others.iter().map(|&at| probability(at));
                    into.iter_mut().zip(answers).for_each(|(into, answer)| *into = answer);
                });
            }
            *turn.past += 1;
        }
    }
}

#[test]
fn a_model_that_gives_no_probabilities_is_refused() {
    let vocabulary = vocabulary(1, 2);
    let broken = Constant(Order::natural(Arc::clone(&vocabulary)), |_| f64::NAN);
    let set = rules("", &vocabulary);
    for mode in Mode::ALL {
        let sampler = Sampler::new(&broken, &set, Request { mode, ..Request::default() }).unwrap();
        let refused = sampler.records(0..3, &mut Totals::default(), |_, _| Ok(()));
        assert!(matches!(refused, Err(SampleError::Probability)));
    }
}

#[test]
fn override_puts_in_what_the_model_holds_likely() {
    let vocabulary = vocabulary(1, 3);
    // One encounter, since the end is certain.
    let probability = |name: &str| match name {
        "E0" => 0.02,
        "E1" => 0.06,
        "E2" => 0.12,
        _ => 1.0,
    };
    let model = Constant(Order::natural(Arc::clone(&vocabulary)), probability);
    let set = rules("rule one: any of E0, E1, E2", &vocabulary);
    let request = Request { mode: Mode::Override, ..Request::default() };
    let sampler = Sampler::new(&model, &set, request).unwrap();
    let mut counts = [0.0; 3];
    let each = |_, record: Record| {
        let codes = &record.visits[1];
        if let [code] = codes[..] {
            let name = vocabulary.name(code).strip_prefix('E').unwrap();
            counts[name.parse::<usize>().unwrap()] += 1.0;
        }
        Ok(())
    };
    sampler.records(0..20_000, &mut Totals::default(), each).unwrap();
    let all: f64 = counts.iter().sum();
    // Most visits are drawn empty; the few that are not have nearly the same shares.
    for (found, share) in counts.iter().zip([0.1, 0.3, 0.6]) {
        assert!((found / all - share).abs() < 0.02, "{counts:?}");
    }
}

#[test]
fn the_published_pass_is_put_over_every_visit_and_promises_nothing() {
    let vocabulary = vocabulary(2, 5);
    let set = rules("rule second: E1 => E2  rule first: E0 => E1", &vocabulary);
    let pass = OrderedPass::in_list_order(&set, 100).unwrap();
    let generator = network(&vocabulary, 1, 3);
    let off = Request { mode: Mode::Off, ..Request::default() };
    let (free, _) = sample(&generator, &set, off.clone(), 500);
    let request = Request { pass: Some(&pass), ..off.clone() };
    let (passed, totals) = sample(&generator, &set, request.clone(), 500);
    for (free, passed) in free.iter().zip(&passed) {
        let mut by_hand = Record::default();
        pass.apply(&vocabulary, &mut by_hand, &free.visits[0]);
        let last = [free.visits[1].clone(), vec![vocabulary.end()]].concat();
        pass.apply(&vocabulary, &mut by_hand, &last);
        assert_eq!(&by_hand, passed);
    }
    let referee = Referee::new(&set);
    let broken = |records: &[Record]| records.iter().filter(|one| !referee.is_valid(*one)).count();
    assert!(totals.overruled > 0 && broken(&passed) > 0 && broken(&passed) < broken(&free));

    let refused = Request { mode: Mode::Guided, ..request };
    let error = Sampler::new(&generator, &set, refused).err().unwrap();
    assert!(matches!(error, SampleError::PassAlone));
}

#[test]
fn a_pass_that_forbids_the_end_does_not_outrun_the_model() {
    let vocabulary = vocabulary(1, 2);
    let set = rules("rule on: E0 => not END", &vocabulary);
    let pass = OrderedPass::in_list_order(&set, 100).unwrap();
    let generator = network(&vocabulary, 3, 3);
    let request = Request { mode: Mode::Off, pass: Some(&pass), ..Request::default() };
    let (records, _) = sample(&generator, &set, request, 300);
    assert!(records.iter().all(|record| record.ended && record.visits.len() <= 4));
    assert!(records.iter().any(|record| record.visits.len() == 4));
}
