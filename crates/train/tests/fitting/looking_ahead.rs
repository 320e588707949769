//! Clauses that one of several codes may meet: one likelihood for training, for perplexity and for
//! sampling, over worlds small enough to list every record.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_engine::Dropout;
use consequence_evaluate::{Likelihood, ReplayOptions, likelihood_with_rules};
use consequence_model::{
    EndCell, EndsByDays, Generator, HaloSizes, Markov, Network, NetworkGenerator, NetworkSizes,
    RecurrentSizes, Sizes,
};
use consequence_network::TrainingPass;
use consequence_record::{Cohort, Record, Selection};
use consequence_rules::{CompileLimits, CompileOptions, Plan, RuleSet, compile};
use consequence_testing::every;
use consequence_testing::worlds::{Choices, Size, World};
use consequence_train::{Teacher, TrainMode};

/// Rules that leave a choice of codes, some of them soft.
const ALTERNATIVES: [&str; 4] = [
    "rule r: any of E0, E1, E2, E3",
    "rule r: S0 in static => any of E1, E2, E3  rule s: E0 => any of E2, E3",
    "rule r: exactly one of S0, S1  rule s: E0 in past => any of E0, E1, E2
     rule t: E1 => not E2  rule u: S1 in static => E1 with probability 0.3",
    "rule r: E0 and not E1 => any of E2, E3, END  rule s: E2 in previous => any of E2, E3
     rule t: E3 in past => E2 with probability 0.6",
];

/// Rules by which some of the codes that are waited for are out already, by the past or by the visit.
const OUT_ALREADY: &str =
    "rule r: any of E1, E2, E3  rule s: S0 in static => not E2  rule t: E0 => not E3";

/// Plans of small worlds: those that leave a choice of codes, and some that have a decision diagram.
fn plans() -> Vec<Plan> {
    let vocabulary = every::vocabulary(2, 4);
    let plan = |rules: &Arc<RuleSet>, max_visits, limits| {
        let options = CompileOptions { max_visits, limits, ..CompileOptions::default() };
        compile(Arc::clone(rules), &options).ok()
    };
    let of_text = |text: &str| {
        let rules = RuleSet::parse(text, Some(Arc::clone(&vocabulary))).unwrap();
        plan(&Arc::new(rules), 2, CompileLimits::default())
    };
    let mut plans: Vec<Plan> = ALTERNATIVES.iter().filter_map(|text| of_text(text)).collect();
    let (mut by_clauses, mut by_diagram) = (Vec::new(), Vec::new());
    for case in 0..400 {
        let size = Size { codes: 6, visits: 2, rules: 8 };
        let World { rules, max_visits } = World::random(size, &mut Choices::new(5, case));
        let few = CompileLimits { derived: 0, growth: 0, ..CompileLimits::default() };
        by_clauses.extend(plan(&rules, max_visits, CompileLimits::default()));
        let dense = plan(&rules, max_visits, few);
        by_diagram.extend(dense.filter(|plan| plan.diagram().is_some()));
    }
    assert!(by_diagram.len() >= 20, "{} plans have a diagram", by_diagram.len());
    plans.extend(by_clauses.into_iter().take(20));
    plans.extend(by_diagram.into_iter().take(20));
    plans.push(of_text(OUT_ALREADY).expect("its rules can be kept"));
    plans
}

/// A recurrent network and HALO, with weights large enough that codes depend on each other.
fn networks(plan: &Plan, scale: f32) -> [Network; 2] {
    let sizes = [
        NetworkSizes::Recurrent(RecurrentSizes { head: 8, width: 8, bottleneck: 4 }),
        NetworkSizes::Halo(HaloSizes { width: 8, layers: 1, heads: 2, head_units: 2 }),
    ];
    sizes.map(|network_kind| {
        let sizes = Sizes { max_visits: plan.max_visits(), network: network_kind };
        let mut network = Network::drawn(plan.order().clone(), &sizes, 5).unwrap();
        let values = network.weights_mut().values_mut();
        match network_kind {
            // What is zero for good must stay so.
            NetworkSizes::Halo(_) => values.iter_mut().for_each(|value| *value *= 4.0 * scale),
            NetworkSizes::Recurrent(_) => consequence_testing::stir(values, scale),
        }
        network
    })
}

/// Every record that ends.
fn every_record(plan: &Plan) -> Cohort {
    let mut cohort = Cohort::default();
    let records = every::records(plan.order().vocabulary(), plan.max_visits());
    records.iter().for_each(|record| cohort.push("", record));
    cohort
}

/// The likelihood of every record by itself.
fn each(generator: &impl Generator, enforcer: &Enforcer, cohort: &Cohort) -> Vec<Likelihood> {
    let options = ReplayOptions::default();
    let one = |record| likelihood_with_rules(generator, enforcer, record, &options).unwrap();
    Selection::all(cohort).chunks(1).into_iter().map(one).collect()
}

fn adds_up(generator: &impl Generator, enforcer: &Enforcer, cohort: &Cohort) {
    let measured = each(generator, enforcer, cohort).into_iter().filter(|one| one.measured == 1);
    let total: f64 = measured.map(|one| (-one.nats.total()).exp()).sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}: {:?}", enforcer.plan().rules());
}

#[test]
fn probabilities_add_up_to_one() {
    for plan in plans() {
        let cohort = every_record(&plan);
        for enforcer in [Enforcer::new(&plan), Enforcer::for_model(&plan, None)] {
            for network in networks(&plan, 1.0) {
                adds_up(&NetworkGenerator::new(&network), &enforcer, &cohort);
                // The same if the end moves by the days that codes stand for.
                let days = BTreeMap::from([("E0".to_owned(), 40.0), ("E2".to_owned(), 9.0)]);
                let cell = |from_days, level| EndCell { from_days, level, by_pace: 0.3 };
                let ends = EndsByDays::new(days, vec![cell(0, -2.0), cell(7, 0.5), cell(28, 1.5)]);
                let timed = network.with_ends(ends);
                adds_up(&NetworkGenerator::new(&timed), &enforcer, &cohort);
            }
            let markov =
                Markov::fit(plan.order().clone(), Selection::all(&cohort), plan.max_visits());
            adds_up(&markov, &enforcer, &cohort);
        }
    }
}

/// The records that the rules allow.
fn valid(generator: &impl Generator, enforcer: &Enforcer, cohort: &Cohort) -> (Cohort, Vec<f64>) {
    let (mut valid, mut nats) = (Cohort::default(), Vec::new());
    for (record, one) in cohort.records().zip(each(generator, enforcer, cohort)) {
        if one.measured == 1 {
            valid.push("", &record.to_record());
            nats.push(one.nats.total());
        }
    }
    (valid, nats)
}

#[test]
fn training_costs_what_perplexity_measures() {
    let mut looked = 0;
    for plan in plans() {
        let (cohort, enforcer) = (every_record(&plan), Enforcer::new(&plan));
        for network in networks(&plan, 1.0) {
            let generator = NetworkGenerator::new(&network);
            let (valid, nats) = valid(&generator, &enforcer, &cohort);
            let teacher = Teacher::new(TrainMode::Causal, &enforcer);
            let taught = teacher.batch(&network, Selection::all(&valid));
            let found =
                TrainingPass::default().nats(network.weights(), &taught.batch, taught.objective());
            let mut found = found.into_iter();
            for (record, nats) in valid.records().zip(nats) {
                let cost: f64 = found.by_ref().take(record.len()).sum();
                assert!(
                    (cost - nats).abs() < 1e-4 * (1.0 + nats),
                    "{cost} {nats}: {:?} {:?}",
                    record.to_record(),
                    plan.rules()
                );
                looked += 1;
            }
        }
    }
    assert!(looked > 10_000, "{looked} records were compared");
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let (mut compared, mut kinks) = (0, 0);
    for plan in plans() {
        let (cohort, enforcer) = (every_record(&plan), Enforcer::new(&plan));
        for mut network in networks(&plan, 0.25) {
            let generator = NetworkGenerator::new(&network);
            let (valid, _) = valid(&generator, &enforcer, &cohort);
            let step = valid.len().div_ceil(12);
            let some: Vec<Record> =
                valid.records().step_by(step).map(|record| record.to_record()).collect();
            let mut few = Cohort::default();
            some.iter().for_each(|record| few.push("", record));
            let teacher = Teacher::new(TrainMode::Causal, &enforcer);
            let taught = teacher.batch(&network, Selection::all(&few));
            let mut gradient = vec![0.0; network.weights().values().len()];
            let mut pass = TrainingPass::default();
            let (objective, dropout) = (taught.objective(), Dropout::default());
            pass.train(network.weights(), &taught.batch, objective, 1.0, dropout, &mut gradient);
            let live = network.weights().live(network.codes().statics());
            let live = live.into_iter().flat_map(|(range, _)| range);
            for index in live.step_by(11) {
                let before = network.weights().values()[index];
                let step = 1e-3f32;
                let mut at = |value: f32| -> f64 {
                    network.weights_mut().values_mut()[index] = value;
                    pass.nats(network.weights(), &taught.batch, taught.objective()).iter().sum()
                };
                let [below, here, above] = [-step, 0.0, step].map(|step| at(before + step));
                network.weights_mut().values_mut()[index] = before;
                let [left, right] = [here - below, above - here].map(|rise| rise / f64::from(step));
                let (measured, found) = ((left + right) / 2.0, f64::from(gradient[index]));
                let near = |one: f64, other: f64| (one - other).abs() < 3e-2 * (1.0 + one.abs());
                // Where a unit of HALO begins to fire there is no gradient.
                let smooth = near(left, right);
                assert!(
                    near(measured, found) || !smooth,
                    "{index}: {measured} {found}: {:?}",
                    plan.rules()
                );
                kinks += usize::from(!smooth);
                compared += usize::from(measured.abs() > 1e-2);
            }
        }
    }
    assert!(compared > 1_000, "{compared} gradients were worth comparing");
    assert!(kinks < compared / 20, "{kinks} gradients could not be compared");
}
