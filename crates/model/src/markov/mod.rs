//! Counts of codes and of pairs of codes as a model of records: trained in a moment.

mod counts;
mod fit;
mod pairs;
mod tables;
mod weights;

use consequence_record::Selection;
use consequence_rules::Order;

use crate::{Generator, LookAhead, Turn};
pub use tables::MarkovTables;

/// A smoothed Markov model over codes.
///
/// The static visit is drawn from the table of static visits seen. The log-odds of a code of an
/// encounter are those of its base rate, which goes by whether the code was in the previous
/// encounter, in an earlier one, or in none, plus a lift for every static code, for every code of
/// the previous encounter, and for every code of the same visit decided before it. `END` goes by
/// the number of the encounter instead. Rates and lifts are counts, smoothed. How much the lifts
/// count is trained on a tenth of the records, kept back from counting the first time; a few more
/// passes set the base rates so that each code is expected as often as it was seen.
///
/// ```
/// use std::sync::Arc;
/// use consequence_model::{Generator, Markov};
/// use consequence_rules::Order;
/// use consequence_record::{Cohort, Kind, Record, Selection, Vocabulary};
///
/// let vocabulary = Arc::new(Vocabulary::new([("A", Kind::Encounter), ("B", Kind::Encounter)])?);
/// let [a, b] = ["A", "B"].map(|name| vocabulary.code(name).unwrap());
/// let mut cohort = Cohort::default();
/// cohort.push("p", &Record::new(vec![vec![], vec![a], vec![a, b]]));
/// let markov = Markov::fit(Order::natural(vocabulary), Selection::all(&cohort), 10);
/// assert_eq!(markov.max_visits(), 10);
///
/// let text = serde_json::to_string(markov.tables())?;
/// let again = Markov::new(markov.codes().clone(), serde_json::from_str(&text)?);
/// assert_eq!(again.unwrap().tables(), markov.tables());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Markov {
    codes: Order,
    tables: MarkovTables,
}

/// What a [`Markov`] model remembers of one record.
#[derive(Clone, Debug, Default)]
pub struct MarkovPast {
    /// Visits seen so far, the static visit among them.
    visits: usize,
    statics: Vec<u32>,
    /// The codes of all encounters so far, ascending.
    seen: Vec<u32>,
}

impl MarkovPast {
    /// Takes in a visit, as ascending positions.
    fn see(&mut self, visit: &[u32]) {
        if self.visits == 0 {
            self.statics = visit.to_vec();
        } else {
            self.seen.extend_from_slice(visit);
            self.seen.sort_unstable();
            self.seen.dedup();
        }
        self.visits += 1;
    }
}

impl Markov {
    /// Counts records. The result does not depend on the number of threads.
    ///
    /// # Panics
    ///
    /// If a record is beyond the cohort, or a visit holds a code that is not of the vocabulary or
    /// belongs in the other kind of visit.
    pub fn fit(codes: Order, records: Selection<'_>, max_visits: usize) -> Self {
        let tables = fit::fit(&codes, records, max_visits);
        Self { codes, tables }
    }

    /// A model with these tables; none if they are damaged or for other codes.
    pub fn new(codes: Order, tables: MarkovTables) -> Option<Self> {
        tables.fit(codes.statics(), codes.len()).then_some(Self { codes, tables })
    }

    /// What was trained.
    pub fn tables(&self) -> &MarkovTables {
        &self.tables
    }
}

impl Generator for Markov {
    type Past = MarkovPast;
    type Scratch = Vec<f64>;

    fn codes(&self) -> &Order {
        &self.codes
    }

    fn max_visits(&self) -> usize {
        self.tables.max_visits
    }

    fn begin(&self) -> MarkovPast {
        MarkovPast::default()
    }

    fn next(&self, turns: &mut [Turn<'_, MarkovPast>], odds: &mut Vec<f64>) {
        let (range, end) = (self.codes.range(1), self.codes.end());
        for turn in turns {
            let decide = |position, probability, ahead: &mut LookAhead<'_>| {
                turn.decider.decide(position, probability, ahead)
            };
            match turn.last {
                None => self.tables.statics.walk(decide),
                Some(last) => {
                    turn.past.see(last);
                    self.tables.walk(turn.past, last, range.clone(), end, odds, decide);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use consequence_record::{Code, Cohort, Kind, Record, Vocabulary};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Decide, LookAhead};

    fn codes() -> Order {
        let statics = ["F", "M"].map(|name| (name, Kind::Static));
        let encounters = ["A", "B", "C"].map(|name| (name, Kind::Encounter));
        Order::natural(Arc::new(Vocabulary::new(statics.into_iter().chain(encounters)).unwrap()))
    }

    fn trained() -> Markov {
        let mut cohort = Cohort::default();
        for number in 0..40u32 {
            let [sex, a, b] = [Code(number % 2), Code(2), Code(3)];
            let visits = if number % 4 == 0 {
                vec![vec![sex], vec![a]]
            } else {
                vec![vec![sex], vec![b], vec![a, b]]
            };
            cohort.push("", &Record::new(visits));
        }
        Markov::fit(codes(), Selection::all(&cohort), 5)
    }

    /// Decides by a list, and keeps the probabilities.
    struct Listed(Vec<u32>, Vec<f64>);

    impl Decide for Listed {
        fn decide(&mut self, position: u32, probability: f64, _: &mut LookAhead<'_>) -> bool {
            self.1.push(probability);
            self.0.contains(&position)
        }
    }

    fn probabilities(markov: &Markov, visits: &[&[u32]]) -> Vec<f64> {
        let mut past = markov.begin();
        let mut listed = Listed(Vec::new(), Vec::new());
        let mut last = None;
        for visit in visits {
            listed = Listed(visit.to_vec(), Vec::new());
            markov
                .next(&mut [Turn { past: &mut past, last, decider: &mut listed }], &mut Vec::new());
            last = Some(visit);
        }
        listed.1
    }

    #[test]
    fn probabilities_follow_what_was_seen() {
        let markov = trained();
        let [first, second] = [vec![0], vec![]].map(|visit| probabilities(&markov, &[&visit]));
        assert!((first[0] - 0.5).abs() < 0.01);
        assert!(first[1] < 0.02 && second[1] > 0.98, "one sex, and always one");
        let after_b = probabilities(&markov, &[&[0], &[3], &[2, 3]]);
        assert!(after_b[0] > 0.8 && after_b[1] > 0.8, "A and B follow B: {after_b:?}");
        let ends =
            [probabilities(&markov, &[&[0], &[2]])[3], probabilities(&markov, &[&[0], &[3]])[3]];
        assert!(ends[0] > ends[1], "A ends the record: {ends:?}");
        let strange = probabilities(&markov, &[&[0, 1], &[4], &[4], &[2, 3, 4]]);
        assert!(
            strange.iter().all(|&probability| 0.0 < probability && probability < 1.0),
            "{strange:?}"
        );
    }

    #[test]
    fn nothing_seen_is_no_obstacle() {
        let markov = Markov::fit(codes(), Selection::all(&Cohort::default()), 5);
        let all = probabilities(&markov, &[&[0], &[2, 3], &[4]]);
        assert!(all.iter().all(|&probability| 0.0 < probability && probability < 1.0), "{all:?}");
    }

    #[test]
    fn damaged_tables_are_refused() {
        let tables = serde_json::to_value(trained().tables()).unwrap();
        let fits = |tables: Value| {
            let tables = serde_json::from_value(tables);
            tables.is_ok_and(|tables| Markov::new(codes(), tables).is_some())
        };
        assert!(fits(tables.clone()));
        for (path, value) in [
            ("/max_visits", json!(0)),
            ("/base/0", json!([])),
            ("/base/2/3", Value::Null),
            ("/ends", json!([])),
            ("/ends/0", json!(1e300)),
            ("/statics/frequencies/0", json!(1.5)),
            ("/statics/nodes", json!([])),
            ("/statics/nodes/0/next/0/1", json!(0)),
            ("/statics/nodes/0/next/0/1", json!(99)),
            ("/statics/nodes/0/next/0/0", json!(7)),
            ("/statics/nodes/0/records", json!(1)),
            ("/by_current/targets/0", json!(6)),
            ("/by_current/ends/0", json!(99)),
            ("/by_previous/values", json!([])),
            ("/by_static/ends", json!([0])),
        ] {
            let mut damaged = tables.clone();
            *damaged.pointer_mut(path).unwrap() = value;
            assert!(!fits(damaged), "{path}");
        }
    }
}
