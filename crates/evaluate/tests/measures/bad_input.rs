//! What cannot be measured is refused, with a reason.

use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_evaluate::{
    BadRecord, CompareError, CompareOptions, Independent, LikelihoodError, ReplayOptions, compare,
    likelihood, likelihood_with_rules,
};
use consequence_model::{Generator, Markov, Turn};
use consequence_record::{Code, Cohort, Record, Selection, Vocabulary};
use consequence_rules::{CompileOptions, Order, RuleSet, compile};
use consequence_testing::every::vocabulary;

use crate::support::random_cohort;

fn one(visits: Vec<Vec<Code>>) -> Cohort {
    let mut cohort = Cohort::default();
    cohort.push("p", &Record::new(visits));
    cohort
}

fn markov(vocabulary: &Arc<Vocabulary>) -> Markov {
    let cohort = random_cohort(vocabulary, 20, 1);
    Markov::fit(Order::natural(Arc::clone(vocabulary)), Selection::all(&cohort), 10)
}

#[test]
fn records_of_another_vocabulary_are_refused() {
    let vocabulary = vocabulary(2, 3);
    let (markov, options) = (markov(&vocabulary), ReplayOptions::default());
    let refused = |cohort: &Cohort| {
        let records = Selection::all(cohort);
        let error = likelihood(&markov, records, &options).unwrap_err();
        let LikelihoodError::Record(bad) = error else { panic!("{error}") };
        let compared = compare(records, records, &vocabulary, &CompareOptions::default());
        assert_eq!(compared.unwrap_err(), CompareError::Real(bad.clone()));
        bad.to_string()
    };
    assert!(refused(&one(vec![vec![], vec![Code(77)]])).contains("code number 77"));
    assert!(refused(&one(vec![vec![Code(3)], vec![]])).contains("encounter code `E1` in visit 0"));
    assert!(refused(&one(vec![vec![], vec![Code(0)]])).contains("static code `S0` in visit 1"));
    assert!(refused(&one(vec![vec![], vec![vocabulary.end()]])).contains("`END`"));
    let (codes, nobody) = (Order::natural(Arc::clone(&vocabulary)), Cohort::default());
    let missing = Independent::fit(codes, Selection::new(&nobody, &[3]), 9);
    assert_eq!(missing.unwrap_err(), BadRecord::Missing { record: 3, records: 0 });
}

#[test]
fn rules_in_another_order_are_refused() {
    let vocabulary = vocabulary(2, 3);
    let rules = RuleSet::parse("rule r: E2 => E0", Some(Arc::clone(&vocabulary))).unwrap();
    let plan = compile(Arc::new(rules), &CompileOptions::default()).unwrap();
    let cohort = one(vec![vec![], vec![]]);
    let error = likelihood_with_rules(
        &markov(&vocabulary),
        &Enforcer::new(&plan),
        Selection::all(&cohort),
        &ReplayOptions::default(),
    );
    assert!(matches!(error, Err(LikelihoodError::OtherOrder)));
}

#[test]
fn something_that_had_no_chance_is_counted() {
    let vocabulary = vocabulary(1, 2);
    let codes = Order::natural(Arc::clone(&vocabulary));
    let [_, e0, e1, _] = [0, 1, 2, 3].map(Code);
    let seen = one(vec![vec![], vec![e0], vec![]]);
    let model = Independent::fit(codes, Selection::all(&seen), 9).unwrap();
    let cohort = one(vec![vec![], vec![e1]]);
    let likelihood =
        likelihood(&model, Selection::all(&cohort), &ReplayOptions::default()).unwrap();
    assert_eq!((likelihood.records, likelihood.infinite, likelihood.measured), (1, 1, 0));
    assert_eq!((likelihood.perplexity, likelihood.nats.total()), (None, 0.0));
    assert!(likelihood.to_string().contains("1 record left out with an infinite cost"));
}

/// A model with a defect.
struct Broken {
    codes: Order,
    probability: f64,
    skipped: u32,
}

impl Generator for Broken {
    type Past = usize;
    type Scratch = ();

    fn codes(&self) -> &Order {
        &self.codes
    }

    fn max_visits(&self) -> usize {
        9
    }

    fn begin(&self) -> usize {
        0
    }

    fn next(&self, turns: &mut [Turn<'_, usize>], (): &mut ()) {
        for turn in turns {
            for position in self.codes.range(*turn.past).skip(self.skipped as usize) {
                let mut ahead = |_: bool, _: &[u32], into: &mut [f64]| into.fill(self.probability);
                turn.decider.decide(position, self.probability, &mut ahead);
            }
            *turn.past += 1;
        }
    }
}

#[test]
fn models_with_defects_are_refused() {
    let codes = Order::natural(vocabulary(1, 2));
    let cohort = one(vec![vec![], vec![]]);
    let error = |probability, skipped| {
        let broken = Broken { codes: codes.clone(), probability, skipped };
        let records = Selection::all(&cohort);
        likelihood(&broken, records, &ReplayOptions::default()).unwrap_err().to_string()
    };
    assert!(error(f64::NAN, 0).contains("`S0` the probability NaN"));
    assert!(error(1.5, 0).contains("the probability 1.5"));
    assert!(error(0.5, 1).contains("asked for 0 codes of visit 0"));
}
