//! Records of a cohort that is a window of time end with the window, whatever the network has of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_evaluate::{ReplayOptions, likelihood_with_rules};
use consequence_model::{Network, NetworkGenerator, Sizes};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Cohort, Kind, Record, RecordView, Selection, Vocabulary};
use consequence_rules::{CompileOptions, RuleSet, compile};
use consequence_sample::{Request, Sampler, Totals};
use consequence_train::{Examples, fit_ends, untrained};

const GAPS: [(&str, f64); 3] =
    [("GAP//7-14d", 10.0), ("GAP//30-45d", 37.0), ("GAP//90-120d", 104.0)];

/// Days that the cohort covers.
const WINDOW: f64 = 600.0;

fn vocabulary() -> Arc<Vocabulary> {
    let names = GAPS.map(|(name, _)| (name, Kind::Encounter));
    Arc::new(Vocabulary::new(names.into_iter().chain([("DEATH", Kind::Encounter)])).unwrap())
}

/// Patients who come as often as they do until the window closes; one encounter in two hundred is the last for
/// another reason.
fn cohort(vocabulary: &Vocabulary, records: u64) -> Cohort {
    let mut cohort = Cohort::default();
    for number in 0..records {
        let mut draws = Draws::new(3).visit(number, 0, 0, Purpose::Simulation);
        let mut at = 0;
        let mut uniform = || {
            at += 1;
            draws.uniform(at)
        };
        let often = uniform();
        let mut visits = vec![vec![], vec![]];
        let mut elapsed = 0.0;
        loop {
            let gap = match uniform() {
                short if short < often => 0,
                other if other < often + 0.7 * (1.0 - often) => 1,
                _ => 2,
            };
            elapsed += GAPS[gap].1;
            if elapsed > WINDOW {
                break;
            }
            visits.push(vec![vocabulary.code(GAPS[gap].0).unwrap()]);
            if uniform() < 0.005 {
                let last = visits.last_mut().unwrap();
                last.push(vocabulary.code("DEATH").unwrap());
                last.sort_unstable();
                break;
            }
        }
        cohort.push("", &Record::new(visits));
    }
    cohort
}

fn span(vocabulary: &Vocabulary, record: RecordView<'_>) -> f64 {
    let days = GAPS.map(|(name, days)| (vocabulary.code(name).unwrap(), days));
    let of = |code| days.iter().find(|(gap, _)| *gap == code).map_or(0.0, |(_, days)| *days);
    (0..record.len()).flat_map(|visit| record.visit(visit).iter().map(|&code| of(code))).sum()
}

/// The largest difference between the shares of records that are at most so long.
fn distance(mut one: Vec<f64>, mut other: Vec<f64>) -> f64 {
    one.sort_by(f64::total_cmp);
    other.sort_by(f64::total_cmp);
    let share =
        |list: &[f64], at: f64| list.partition_point(|&days| days <= at) as f64 / list.len() as f64;
    let off = one.iter().chain(&other).map(|&at| (share(&one, at) - share(&other, at)).abs());
    off.fold(0.0, f64::max)
}

fn written(network: &Network, rules: &RuleSet) -> Vec<f64> {
    let generator = NetworkGenerator::new(network);
    let request = Request { trained_with: Some(rules), ..Request::default() };
    let sampler = Sampler::new(&generator, rules, request).unwrap();
    let mut written = Cohort::default();
    let push = |_, record: Record| {
        written.push("", &record);
        Ok(())
    };
    sampler.records(0..1_000, &mut Totals::default(), push).unwrap();
    let vocabulary = network.codes().vocabulary();
    assert!(written.records().all(|record| record.len() <= network.max_visits() + 1));
    written.records().map(|record| span(vocabulary, record)).collect()
}

#[test]
fn records_end_with_the_window() {
    let vocabulary = vocabulary();
    let text = "rule one: at most one of GAP//*  rule last: DEATH => END";
    let rules = Arc::new(RuleSet::parse(text, Some(Arc::clone(&vocabulary))).unwrap());
    let options = CompileOptions { max_visits: 80, ..CompileOptions::default() };
    let plan = compile(Arc::clone(&rules), &options).unwrap();
    let (enforcer, cohort) = (Enforcer::new(&plan), cohort(&vocabulary, 900));
    let split = |from: usize, to: usize| (from..to).collect::<Vec<usize>>();
    let (train, tuning, held_out) = (split(0, 600), split(600, 700), split(700, 900));
    let examples = Examples {
        train: Selection::new(&cohort, &train),
        tuning: Selection::new(&cohort, &tuning),
    };
    let sizes = Sizes::recurrent(80, 8);
    let network = untrained(plan.order().clone(), &sizes, &examples, 1).unwrap();
    let days: BTreeMap<String, f64> = GAPS.map(|(name, days)| (name.to_owned(), days)).into();
    let ends = fit_ends(&network, Some(&enforcer), &examples, &days).expect("days tell the end");
    assert_eq!(fit_ends(&network, Some(&enforcer), &examples, &days).as_ref(), Some(&ends));
    let timed = network.clone().with_ends(Some(ends));
    let again = fit_ends(&timed, Some(&enforcer), &examples, &days);
    assert_eq!(again.as_ref(), timed.ends(), "what is there already has no part in it");

    let nats = |network: &Network| {
        let generator = NetworkGenerator::new(network);
        let records = Selection::new(&cohort, &held_out);
        let options = ReplayOptions::default();
        likelihood_with_rules(&generator, &enforcer, records, &options).unwrap().nats
    };
    let (before, after) = (nats(&network), nats(&timed));
    assert!(after.end < 0.8 * before.end, "{} {}", before.end, after.end);
    assert_eq!((before.time, before.encounter_codes), (after.time, after.encounter_codes));

    let real: Vec<f64> = cohort.records().map(|record| span(&vocabulary, record)).collect();
    let off = |network: &Network| distance(written(network, &rules), real.clone());
    let (before, after) = (off(&network), off(&timed));
    // Gaps are those of a network that was never trained, so that the window is met as well as these allow.
    assert!(before > 0.6 && after < before / 2.0, "{before} {after}");
}

#[test]
fn a_cohort_without_gaps_has_no_days_to_go_by() {
    let vocabulary = Arc::new(Vocabulary::new([("A", Kind::Encounter)]).unwrap());
    let mut cohort = Cohort::default();
    let a = vocabulary.code("A").unwrap();
    for number in 0..300 {
        cohort.push("", &Record::new([vec![], vec![a], vec![a]][..2 + number % 2].to_vec()));
    }
    let examples = Examples { train: Selection::all(&cohort), tuning: Selection::all(&cohort) };
    let codes = consequence_rules::Order::natural(vocabulary);
    let network = untrained(codes, &Sizes::recurrent(3, 8), &examples, 1).unwrap();
    assert_eq!(fit_ends(&network, None, &examples, &BTreeMap::new()), None);
}
