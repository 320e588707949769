//! The likelihood of visits in which clauses are looked ahead to: what sampling under rules draws from.

use consequence_enforce::{Outlook, Reading};
use consequence_network::{
    Asked, Beyond, Codewise, Glance, Objective, Reading as Logit, Said, Scoring,
};
use consequence_rules::Plan;
use rayon::prelude::*;

/// The likelihood of visits code by code, where rules change how likely some codes are.
pub(crate) struct LookingAhead<'a> {
    plan: &'a Plan,
    /// One for each row of the batch that looks ahead.
    outlooks: Vec<Option<Box<Outlook>>>,
}

/// The logits that a look-ahead needs beside those of its visit, in its order.
pub(crate) fn glances(outlook: &Outlook) -> impl Iterator<Item = Glance> {
    let glance =
        |reading: &Reading| reading.known.map(|known| Glance { known, code: reading.position });
    outlook.readings().iter().filter_map(glance)
}

impl<'a> LookingAhead<'a> {
    pub fn new(plan: &'a Plan, outlooks: Vec<Option<Box<Outlook>>>) -> Self {
        Self { plan, outlooks }
    }

    /// The positions of codes that are touched in some rows, how likely each is, and whether it is there.
    pub fn expected(&self, rows: &[Asked<'_>], said: &Said<'_>) -> Vec<(u32, f64, bool)> {
        let scored = self.scored(rows, said);
        let touched = scored.par_iter().with_min_len(4).flatten();
        touched.flat_map_iter(|one| one.outlook.expected(self.plan, &one.read(said))).collect()
    }

    /// The same of one row, by all that it reads.
    pub fn expected_by(&self, row: usize, read: &[f64]) -> Vec<(u32, f64, bool)> {
        self.of(row).map_or_else(Vec::new, |outlook| outlook.expected(self.plan, read))
    }

    fn of(&self, row: usize) -> Option<&Outlook> {
        self.outlooks[row].as_deref()
    }

    /// What each row looks ahead to, if it does.
    fn scored(&self, rows: &[Asked<'_>], said: &Said<'_>) -> Vec<Option<Scored<'_>>> {
        let width = said.logits.len() / rows.len().max(1);
        let mut ahead = 0;
        let scored = rows.iter().enumerate().map(|(number, asked)| {
            let outlook = self.of(asked.row)?;
            let (logits, first) = (number * width, asked.first);
            let one = Scored { outlook, logits, first, ahead, nats: 0.0, gradient: Vec::new() };
            ahead += glances(outlook).count();
            Some(one)
        });
        scored.collect()
    }
}

/// What a row looks ahead to: where its logits begin, and those of its glances; what it costs, and
/// what a change of each reading means.
struct Scored<'a> {
    outlook: &'a Outlook,
    logits: usize,
    /// The first code that the visit may hold.
    first: usize,
    ahead: usize,
    nats: f64,
    gradient: Vec<f64>,
}

impl Scored<'_> {
    /// Where each reading is: among the logits, or among those of glances.
    fn places(&self) -> impl Iterator<Item = Place> {
        let mut ahead = self.ahead;
        self.outlook.readings().iter().map(move |reading| match reading.known {
            None => Place::Logit(self.logits + reading.position as usize - self.first),
            Some(_) => {
                ahead += 1;
                Place::Glance(ahead - 1)
            }
        })
    }
}

impl Scored<'_> {
    /// All that it reads.
    fn read(&self, said: &Said<'_>) -> Vec<f64> {
        let read = |place: Place| match place {
            Place::Logit(at) => f64::from(said.logits[at]),
            Place::Glance(at) => f64::from(said.ahead[at]),
        };
        self.places().map(read).collect()
    }
}

#[derive(Clone, Copy)]
enum Place {
    Logit(usize),
    Glance(usize),
}

impl Beyond for LookingAhead<'_> {
    fn readings(&self, row: usize) -> Vec<Logit> {
        let logit = |reading: &Reading| Logit { code: reading.position, known: reading.known };
        self.of(row).map_or_else(Vec::new, |outlook| outlook.readings().iter().map(logit).collect())
    }

    fn score(&self, row: usize, read: &[f64], changes: &mut [f64]) -> f64 {
        self.of(row).map_or(0.0, |outlook| outlook.score(self.plan, read, changes))
    }
}

impl Objective for LookingAhead<'_> {
    fn scoring(&self) -> Scoring<'_> {
        Scoring::Beyond(self)
    }

    fn score(&self, rows: &[Asked<'_>], factor: f32, said: Said<'_>) -> Vec<f64> {
        let mut scored = self.scored(rows, &said);
        scored.par_iter_mut().with_min_len(4).flatten().for_each(|one| {
            let read = one.read(&said);
            one.gradient = vec![0.0; read.len()];
            one.nats = one.outlook.score(self.plan, &read, &mut one.gradient);
        });
        let Said { logits, side, ahead } = said;
        // Codes that are touched are settled, as far as this is concerned.
        let mut nats = Codewise.score(rows, factor, Said { logits, side, ahead });
        for (nats, one) in nats.iter_mut().zip(&scored) {
            let Some(one) = one else { continue };
            *nats += one.nats;
            for (place, change) in one.places().zip(&one.gradient) {
                let change = factor * *change as f32;
                match place {
                    Place::Logit(at) => logits[at] += change,
                    Place::Glance(at) => ahead[at] += change,
                }
            }
        }
        nats
    }
}
