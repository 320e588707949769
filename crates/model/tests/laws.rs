//! What holds of every model: the order of codes, probabilities over all records of a small world, and
//! models on disk, whole and damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use consequence_details::DetailModel;
use consequence_model::{
    CARD_FILE, Card, Concepts, DayCounter, Decide, EndCell, EndsByDays, Generator, HaloSizes,
    LookAhead, Markov, Model, ModelError, Network, NetworkGenerator, NetworkSizes, RecurrentSizes,
    Sizes, TABLES_FILE, Trained, Turn, WEIGHTS_FILE,
};
use consequence_record::{Code, Cohort, Kind, Record, Selection};
use consequence_rules::Order;
use consequence_testing::worlds::Choices;
use consequence_testing::{every, stir};

const MAX_VISITS: usize = 2;

/// Codes of a small world in some order that decides static codes first.
fn codes(case: u64) -> Order {
    let vocabulary = every::vocabulary(2, 2);
    let mut choices = Choices::new(1, case);
    let mut codes: Vec<Code> = vocabulary.codes().collect();
    for last in (1..codes.len()).rev() {
        codes.swap(last, choices.below(last + 1));
    }
    codes.sort_by_key(|&code| vocabulary.kind(code) != Kind::Static);
    Order::new(codes, vocabulary).expect("static codes come first")
}

/// Records in which the codes depend on each other and on the visit before.
fn seen(codes: &Order, records: u64) -> Cohort {
    let mut cohort = Cohort::default();
    for number in 0..records {
        let mut choices = Choices::new(2, number);
        let first = choices.probability(0.7);
        let statics = [first, first ^ choices.probability(0.9)];
        let mut visits = vec![(0..2).filter(|&code| statics[code as usize]).map(Code).collect()];
        for visit in 1..=choices.between(1, MAX_VISITS) {
            let before: &Vec<Code> = &visits[visit - 1];
            let stays = visit > 1 && before.contains(&Code(2));
            let one = choices.probability(if stays { 0.9 } else { 0.3 });
            let other = choices.probability(if one { 0.2 } else { 0.6 });
            let held = [(Code(2), one), (Code(3), other)];
            visits.push(held.into_iter().filter(|held| held.1).map(|held| held.0).collect());
        }
        cohort.push("", &Record::new(visits));
    }
    assert_eq!(codes.vocabulary().end(), Code(4));
    cohort
}

fn markov(codes: &Order, cohort: &Cohort) -> Markov {
    Markov::fit(codes.clone(), Selection::all(cohort), MAX_VISITS)
}

/// A network that was not trained, with weights large enough for codes to depend on each other.
fn network(codes: &Order, side: usize, is_halo: bool) -> Network {
    let halo = HaloSizes { width: 8, layers: 2, heads: 2, head_units: 2 };
    let recurrent = RecurrentSizes { head: 8, width: 4, bottleneck: 2 };
    let sizes = match is_halo {
        true => Sizes::halo(MAX_VISITS, halo),
        false => Sizes { max_visits: MAX_VISITS, network: NetworkSizes::Recurrent(recurrent) },
    };
    let network = Network::drawn(codes.clone(), &sizes, 3).expect("sizes");
    let mut network = network.with_side(side, 3).expect("sizes");
    let values = network.weights_mut().values_mut();
    match is_halo {
        true => values.iter_mut().for_each(|value| *value *= 4.0),
        false => stir(values, 3.0),
    }
    network
}

/// Records end later at first and sooner after a month; a code of the small world stands for forty days, and the other for
/// three.
fn ends(codes: &Order) -> EndsByDays {
    let names = codes.range(1).map(|at| codes.code(at)).filter(|&code| code != Code(4));
    let names = names.map(|code| codes.vocabulary().name(code).to_owned());
    let days: BTreeMap<String, f64> = names.zip([40.0, 3.0]).collect();
    let cell = |from_days, level, by_pace| EndCell { from_days, level, by_pace };
    EndsByDays::new(days, vec![cell(0, -1.5, 0.25), cell(28, 1.0, 0.5)]).expect("cells in order")
}

/// Decides a visit as it is, and keeps which positions were asked for and what was said.
struct Replay {
    present: Vec<u32>,
    asked: Vec<(u32, f64)>,
}

impl Decide for Replay {
    fn decide(&mut self, position: u32, probability: f64, _: &mut LookAhead<'_>) -> bool {
        self.asked.push((position, probability));
        self.present.contains(&position)
    }
}

/// What a model says of every visit of some records, all of them visit by visit in one batch.
fn replayed<G: Generator>(model: &G, cohort: &Cohort) -> Vec<Vec<Vec<(u32, f64)>>> {
    let codes = model.codes();
    let mut pasts: Vec<G::Past> = cohort.records().map(|_| model.begin()).collect();
    let mut said = vec![Vec::new(); cohort.len()];
    let mut scratch = G::Scratch::default();
    for visit in 0..=cohort.longest() {
        let here: Vec<usize> =
            (0..cohort.len()).filter(|&index| visit < cohort.record(index).len()).collect();
        let last: Vec<Option<Vec<u32>>> = here
            .iter()
            .map(|&index| Some(codes.positions(cohort.record(index), visit.checked_sub(1)?)))
            .collect();
        let mut deciders: Vec<Replay> = here
            .iter()
            .map(|&index| codes.positions(cohort.record(index), visit))
            .map(|present| Replay { present, asked: Vec::new() })
            .collect();
        let pasts = pasts.iter_mut().enumerate().filter(|(index, _)| here.contains(index));
        let mut turns: Vec<Turn<'_, G::Past>> = pasts
            .zip(&last)
            .zip(&mut deciders)
            .map(|(((_, past), last), decider)| Turn { past, last: last.as_deref(), decider })
            .collect();
        model.next(&mut turns, &mut scratch);
        here.iter().zip(deciders).for_each(|(&index, decider)| said[index].push(decider.asked));
    }
    said
}

fn cohort(records: &[Record]) -> Cohort {
    let mut cohort = Cohort::default();
    records.iter().for_each(|record| cohort.push("", record));
    cohort
}

/// The probability of a record by what a model says; the end is certain where no visit may follow.
fn probability(codes: &Order, record: &Record, said: &[Vec<(u32, f64)>]) -> f64 {
    let one = cohort(std::slice::from_ref(record));
    let of_visit = |(visit, asked): (usize, &Vec<(u32, f64)>)| -> f64 {
        let present = codes.positions(one.record(0), visit);
        let free = asked.iter().filter(|(at, _)| visit < MAX_VISITS || *at != codes.end());
        let value = |&(at, p): &(u32, f64)| if present.contains(&at) { p } else { 1.0 - p };
        free.map(value).product()
    };
    said.iter().enumerate().map(of_visit).product()
}

/// Every position once and in order, proper probabilities that add up to 1 over all records, and the same
/// ones for a record whether it is alone or among others.
fn is_a_distribution(model: &impl Generator) {
    let codes = model.codes();
    let records = every::records(codes.vocabulary(), MAX_VISITS);
    let said = replayed(model, &cohort(&records));
    let mut total = 0.0;
    for (number, (record, said)) in records.iter().zip(&said).enumerate() {
        for (visit, asked) in said.iter().enumerate() {
            let positions = asked.iter().map(|(position, _)| *position);
            assert!(positions.eq(codes.range(visit)), "every position, in order");
            assert!(asked.iter().all(|(_, p)| 0.0 < *p && *p < 1.0), "{asked:?}");
        }
        total += probability(codes, record, said);
        if number % 7 == 0 {
            let alone = replayed(model, &cohort(std::slice::from_ref(record)));
            assert_eq!(&alone[0], said, "alone and among others");
        }
    }
    assert!((total - 1.0).abs() < 1e-9, "{total}");
}

#[test]
fn an_order_is_a_permutation_that_keeps_kinds_apart() {
    for case in 0..40 {
        let codes = codes(case);
        let (vocabulary, order) = (codes.vocabulary(), &codes);
        assert_eq!((codes.len(), codes.statics()), (5, 2));
        assert_eq!((codes.range(0), codes.range(1), codes.range(7)), (0..2, 2..5, 2..5));
        assert_eq!(order.code(codes.end()), vocabulary.end());
        for visit in [0, 1] {
            for position in codes.range(visit) {
                let code = order.code(position);
                assert_eq!(order.position(code), position);
                assert_eq!(vocabulary.kind(code), Kind::of_visit(visit));
            }
        }
        let records = every::records(vocabulary, MAX_VISITS);
        for record in records.iter().cloned().chain(records.iter().cloned().map(Record::cut)) {
            let one = cohort(std::slice::from_ref(&record));
            for (visit, expected) in record.visits.iter().enumerate() {
                let positions = codes.positions(one.record(0), visit);
                assert!(positions.is_sorted_by(|one, other| one < other));
                let mut found: Vec<Code> = positions.iter().map(|&at| order.code(at)).collect();
                let ends = found.iter().position(|&code| code == vocabulary.end());
                ends.map(|at| found.remove(at));
                assert_eq!(ends.is_some(), record.ended && visit + 1 == record.visits.len());
                found.sort_unstable();
                assert_eq!(&found, expected);
            }
        }
    }
}

#[test]
fn probabilities_of_all_records_add_up_in_any_order_of_codes() {
    for case in 0..6 {
        let codes = codes(case);
        is_a_distribution(&markov(&codes, &seen(&codes, 300)));
        for is_halo in [false, true] {
            let alone = network(&codes, 0, is_halo);
            is_a_distribution(&NetworkGenerator::new(&alone));
            let timed = alone.with_ends(Some(ends(&codes)));
            is_a_distribution(&NetworkGenerator::new(&timed));
            let beside = network(&codes, codes.len(), is_halo);
            is_a_distribution(&NetworkGenerator::without_head(&beside));
        }
    }
}

fn logit(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

#[test]
fn nothing_but_the_end_moves_and_it_moves_by_the_days_before_it() {
    for case in 0..6 {
        let codes = codes(case);
        let (alone, ends) = (network(&codes, 0, false), ends(&codes));
        let records = every::records(codes.vocabulary(), MAX_VISITS);
        let all = cohort(&records);
        let before = replayed(&NetworkGenerator::new(&alone), &all);
        let timed = NetworkGenerator::new(&alone.with_ends(Some(ends.clone())));
        let after = replayed(&timed, &all);
        let counter = DayCounter::new(&codes, ends.days());
        for (index, (before, after)) in before.iter().zip(&after).enumerate() {
            let mut elapsed = None;
            for (visit, (before, after)) in before.iter().zip(after).enumerate() {
                let present = codes.positions(all.record(index), visit);
                for (&(position, before), &(_, after)) in before.iter().zip(after) {
                    if position == codes.end() {
                        let moved = ends.shift(counter.at_end(elapsed, &present));
                        assert!((logit(after) - logit(before) - moved).abs() < 1e-9);
                    } else {
                        assert_eq!(before, after);
                    }
                }
                elapsed = counter.after(elapsed, &present);
            }
        }
        assert_ne!(before, after);
    }
}

/// Decides an encounter as it is, and asks ahead for the end at every code before it.
struct Asking {
    present: Vec<u32>,
    end: u32,
    ahead: Vec<(u32, f64)>,
    said: f64,
}

impl Decide for Asking {
    fn decide(&mut self, position: u32, probability: f64, ahead: &mut LookAhead<'_>) -> bool {
        let present = self.present.contains(&position);
        if position < self.end {
            let mut into = [0.0];
            ahead(present, &[self.end], &mut into);
            self.ahead.push((position, into[0]));
        } else if position == self.end {
            self.said = probability;
        }
        present
    }
}

#[test]
fn who_looks_ahead_to_the_end_is_told_what_comes() {
    for case in 0..6 {
        let codes = codes(case);
        let timed = network(&codes, 0, false).with_ends(Some(ends(&codes)));
        let generator = NetworkGenerator::new(&timed);
        for present in every::visits(codes.vocabulary(), 1) {
            let mut present: Vec<u32> = present.iter().map(|&code| codes.position(code)).collect();
            present.sort_unstable();
            let (mut past, mut scratch) = (generator.begin(), Default::default());
            let mut none = Replay { present: vec![], asked: vec![] };
            let turn = Turn { past: &mut past, last: None, decider: &mut none };
            generator.next(&mut [turn], &mut scratch);
            let (ahead, end) = (Vec::new(), codes.end());
            let mut asking = Asking { present: present.clone(), end, ahead, said: 0.0 };
            let turn = Turn { past: &mut past, last: Some(&[]), decider: &mut asking };
            generator.next(&mut [turn], &mut scratch);
            // Once all codes before the end that are there have been decided, nothing more is to come.
            let known = |&&(at, _): &&(u32, f64)| {
                present.iter().all(|&code| code <= at || code >= codes.end())
            };
            for (_, ahead) in asking.ahead.iter().filter(known) {
                assert!((ahead - asking.said).abs() < 1e-6, "{ahead} {}", asking.said);
            }
        }
    }
}

/// The static visit of a Markov model is the table of those seen, but for half a record of smoothing at
/// each code; and every code of encounters is expected about as often as it was seen.
#[test]
fn a_markov_model_expects_what_it_saw() {
    let codes = codes(0);
    let seen = seen(&codes, 4_000);
    let model = markov(&codes, &seen);
    let said = replayed(&model, &seen);
    let records = seen.len() as f64;
    for statics in every::visits(codes.vocabulary(), 0) {
        let times = seen.records().filter(|record| record.visit(0) == statics).count() as f64;
        let one = Record::new(vec![statics, vec![]]);
        let asked = replayed(&model, &cohort(std::slice::from_ref(&one))).remove(0);
        let expected = records * probability(&codes, &one, &asked[..1]);
        assert!((expected - times).abs() <= 1.0, "{expected} for {times}");
    }
    for position in codes.range(1) {
        let (mut expected, mut times) = (0.0, 0.0);
        for (record, said) in seen.records().zip(&said) {
            for (visit, asked) in said.iter().enumerate().skip(1) {
                let of = asked.iter().find(|(at, _)| *at == position);
                expected += of.map_or(0.0, |(_, probability)| *probability);
                times += f64::from(u8::from(codes.positions(record, visit).contains(&position)));
            }
        }
        assert!(
            (expected - times).abs() < 0.01 * times,
            "position {position}: {expected}, {times}"
        );
    }
}

#[test]
fn a_markov_model_does_not_depend_on_the_number_of_threads() {
    let codes = codes(3);
    let seen = seen(&codes, 2_000);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| markov(&codes, &seen).tables().clone())
    };
    let alone = on(1);
    assert!([2, 3, 5].into_iter().all(|threads| on(threads) == alone));
}

fn models(codes: &Order) -> [(Model, &'static str); 3] {
    let card = || Card { rules: "rule r: E0 => E1\n".into(), ..Card::default() };
    let markov = Trained::Markov(Box::new(markov(codes, &seen(codes, 100))));
    let alone = network(codes, 0, false);
    let timed = Trained::Network(Box::new(alone.clone().with_ends(Some(ends(codes)))));
    let network = Trained::Network(Box::new(alone));
    [
        (
            Model {
                card: card(),
                trained: markov,
                details: DetailModel::default(),
                concepts: Concepts::default(),
            },
            TABLES_FILE,
        ),
        (
            Model {
                card: card(),
                trained: network,
                details: DetailModel::default(),
                concepts: Concepts::default(),
            },
            WEIGHTS_FILE,
        ),
        (
            Model {
                card: card(),
                trained: timed,
                details: DetailModel::default(),
                concepts: Concepts::default(),
            },
            WEIGHTS_FILE,
        ),
    ]
}

fn said_by(model: &Model, records: &Cohort) -> Vec<Vec<Vec<(u32, f64)>>> {
    match &model.trained {
        Trained::Markov(markov) => replayed(&**markov, records),
        Trained::Network(network) => replayed(&NetworkGenerator::new(network), records),
    }
}

fn refused(folder: &Path) -> ModelError {
    let error = Model::open(folder).err().unwrap_or_else(|| panic!("{}", folder.display()));
    assert!(!error.to_string().is_empty());
    error
}

#[test]
fn a_model_says_the_same_after_a_round_through_its_folder() {
    let codes = codes(4);
    let records = cohort(&every::records(codes.vocabulary(), MAX_VISITS));
    for (mut model, name) in models(&codes) {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("made/by/writing");
        model.write(&place).expect("a model");
        let again = Model::open(&place).expect("the same model");
        assert_eq!(again.card, model.card);
        // What reads older formats reads what they could say.
        assert_eq!(again.card.format, if again.card.ends.is_some() { 6 } else { 3 });
        assert_eq!(again.trained.max_visits(), MAX_VISITS);
        // Numbers of codes may differ, names and positions do not.
        let names = |codes: &Order| -> Vec<String> {
            let name = |&code: &Code| codes.vocabulary().name(code).to_owned();
            codes.codes().iter().map(name).collect()
        };
        assert_eq!(names(again.trained.codes()), names(&codes));
        let renamed = |record: &Record| {
            let vocabulary = again.trained.codes().vocabulary();
            let code =
                |code: &Code| vocabulary.code(codes.vocabulary().name(*code)).expect("a code");
            let visits = record.visits.iter().map(|visit| visit.iter().map(code).collect());
            Record { ended: record.ended, ..Record::new(visits.collect()) }
        };
        let other: Vec<Record> = records.records().map(|one| renamed(&one.to_record())).collect();
        assert_eq!(said_by(&again, &cohort(&other)), said_by(&model, &records));
        let read = |name: &str| fs::read(place.join(name)).expect("a file");
        let before = [CARD_FILE, name].map(read);
        Model { ..again }.write(&place).expect("a model");
        assert_eq!([CARD_FILE, name].map(read), before, "writing again changes nothing");
    }
}

#[test]
fn a_model_with_any_byte_changed_or_missing_is_refused() {
    let codes = codes(5);
    let [one, other] = [1, 2].map(|_| tempfile::tempdir().expect("a folder"));
    for (mut model, name) in models(&codes) {
        model.write(one.path()).expect("a model");
        let path = one.path().join(name);
        let whole = fs::read(&path).expect("a file");
        let step = 1 + whole.len() / 1_500;
        for at in (0..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(&path, &damaged).expect("a file");
            refused(one.path());
        }
        for length in (0..whole.len()).step_by(5 * step) {
            fs::write(&path, &whole[..length]).expect("a file");
            refused(one.path());
        }
        fs::write(&path, [&whole[..], b" "].concat()).expect("a file");
        refused(one.path());
        fs::remove_file(&path).expect("a file");
        let said = refused(one.path()).to_string();
        assert!(said.contains(name), "{said}");
        fs::write(&path, &whole).expect("a file");
        Model::open(one.path()).expect("whole again");
    }
    // Both kinds of weights may lie there; the card says which count. Those of another model do not.
    let seen = seen(&codes, 101);
    let trained = Trained::Markov(Box::new(markov(&codes, &seen)));
    let (card, details, concepts) = Default::default();
    Model { card, trained, details, concepts }.write(other.path()).expect("a model");
    let [mut first, ..] = models(&codes);
    first.0.write(one.path()).expect("a model");
    fs::copy(other.path().join(TABLES_FILE), one.path().join(TABLES_FILE)).expect("a copy");
    assert!(matches!(refused(one.path()), ModelError::OtherWeights { .. }));
    fs::copy(other.path().join(CARD_FILE), one.path().join(CARD_FILE)).expect("a copy");
    Model::open(one.path()).expect("the other model");
    fs::remove_file(one.path().join(CARD_FILE)).expect("a card");
    assert!(matches!(refused(one.path()), ModelError::NoModel { .. }));
    assert!(matches!(refused(&one.path().join("nowhere")), ModelError::NoModel { .. }));
}
