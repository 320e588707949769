//! MultiPlexNet: a hidden choice between terms, each of which makes the rules hold.
//!
//! The rules within a visit are brought into disjunctive normal form. For each component of the rules a
//! network gives one more output per term, the probability that this term is the one in force; the
//! codes that the term fixes have its values, the others are drawn. A visit's probability sums over
//! all terms that it satisfies.
//!
//! It can express every static rule, as long as there are not too many terms, and every visit it
//! writes obeys them. It cannot express temporal rules.

use std::ops::Range;

use crate::circuit::owners;
use crate::row::Gradient;
use crate::row::log_sum;
use crate::{BaselineError, Coin, Cost, Limits, Row, Terms, Unexpressed, World};

/// Visits of one kind as mixtures over the terms of each component.
///
/// The logits of all terms are one list: those of the first component, then those of the next. The
/// probability of a code may depend on the codes before it in the visit: a mixture needs nothing
/// but the logit that each code has in its turn.
#[derive(Clone, Debug)]
pub struct Mixture {
    range: Range<u32>,
    parts: Vec<Part>,
    /// Which part decides a code, counted from the first of the range.
    owners: Vec<Option<u32>>,
    unexpressed: Vec<Unexpressed>,
}

/// One component.
#[derive(Clone, Debug)]
struct Part {
    terms: Terms,
    /// Where its terms begin among all.
    first: usize,
    /// For each code of the component, the terms that fix it, and to what.
    fixing: Vec<Vec<(u32, bool)>>,
}

impl Part {
    fn logs<'a>(&self, term_logits: &'a [f32]) -> impl Iterator<Item = f64> + use<'a> {
        let logits = &term_logits[self.first..self.first + self.terms.terms().len()];
        let total = log_sum(logits.iter().map(|&logit| f64::from(logit)));
        logits.iter().map(move |&logit| f64::from(logit) - total)
    }
}

impl Mixture {
    /// The rules within a visit of a world.
    pub fn new(world: &World, limits: &Limits) -> Result<Self, BaselineError> {
        let mut parts = Vec::new();
        let mut first = 0;
        for component in world.static_components() {
            let terms = Terms::new(world, &component, limits)?;
            let mut fixing = vec![Vec::new(); terms.codes().len()];
            for (number, term) in (0..).zip(terms.terms()) {
                for &(position, value) in term {
                    if let Ok(code) = terms.codes().binary_search(&position) {
                        fixing[code].push((number, value));
                    }
                }
            }
            let count = terms.terms().len();
            parts.push(Part { terms, first, fixing });
            first += count;
        }
        let owners = owners(&world.range(), parts.iter().map(|part| part.terms.codes()));
        let unexpressed = world.beyond_the_visit();
        Ok(Self { range: world.range(), parts, owners, unexpressed })
    }

    /// Rules it cannot express.
    pub fn unexpressed(&self) -> &[Unexpressed] {
        &self.unexpressed
    }

    /// The terms of each component.
    pub fn components(&self) -> impl ExactSizeIterator<Item = &Terms> {
        self.parts.iter().map(|part| &part.terms)
    }

    /// How many terms there are in all components.
    pub fn term_count(&self) -> usize {
        self.parts.iter().map(|part| part.terms.terms().len()).sum()
    }

    /// What a visit costs. A component that the visit breaks counts as broken.
    ///
    /// # Panics
    /// If the row has another width than the range of the world, or there are not as many logits of
    /// terms as [`Mixture::term_count`].
    pub fn nats(&self, row: Row<'_>, term_logits: &[f32]) -> Cost {
        self.cost(row, term_logits, None)
    }

    /// What a visit costs; adds `scale` times the gradient by the logits of codes to `codes`, by
    /// those of terms to `terms`.
    ///
    /// # Panics
    /// As [`Mixture::nats`], and if a gradient has another width than its logits.
    pub fn gradient(
        &self,
        row: Row<'_>,
        term_logits: &[f32],
        scale: f64,
        codes: &mut [f32],
        terms: &mut [f32],
    ) -> Cost {
        let gradients = (Gradient { scale, into: codes }, Gradient { scale, into: terms });
        self.cost(row, term_logits, Some(gradients))
    }

    fn cost(
        &self,
        row: Row<'_>,
        term_logits: &[f32],
        mut gradients: Option<(Gradient<'_>, Gradient<'_>)>,
    ) -> Cost {
        row.check(&self.range);
        assert_eq!(term_logits.len(), self.term_count(), "one logit for every term");
        let truth = row.truth();
        let code_gradient =
            |code: u32, coin: Coin| coin.probability() - f64::from(u8::from(truth[code as usize]));
        let mut cost = Cost::default();
        for (code, _) in (0..).zip(&self.owners).filter(|(_, owner)| owner.is_none()) {
            let coin = row.coin(code);
            cost.nats += coin.nats(truth[code as usize]);
            if let Some((codes, _)) = &mut gradients {
                codes.add(code, code_gradient(code, coin));
            }
        }
        for part in &self.parts {
            let own = part.terms.codes().iter().map(|&position| position - self.range.start);
            let own: Vec<u32> = own.collect();
            let coins: Vec<Coin> = own.iter().map(|&code| row.coin(code)).collect();
            let probabilities: Vec<f64> = part.logs(term_logits).collect();
            // All codes are drawn; but the terms that fix a code give back what it cost.
            let mut logs = probabilities.clone();
            for ((&code, coin), fixing) in own.iter().zip(&coins).zip(&part.fixing) {
                let present = truth[code as usize];
                for &(term, value) in fixing {
                    logs[term as usize] +=
                        if value == present { coin.nats(present) } else { f64::NEG_INFINITY };
                }
            }
            let total = log_sum(logs.iter().copied());
            if total == f64::NEG_INFINITY {
                cost.broken += 1;
                continue;
            }
            let drawn = own.iter().zip(&coins);
            cost.nats += drawn.map(|(&code, coin)| coin.nats(truth[code as usize])).sum::<f64>();
            cost.nats -= total;
            if let Some((codes, terms)) = &mut gradients {
                let shares: Vec<f64> = logs.iter().map(|log| (log - total).exp()).collect();
                for ((&code, &coin), fixing) in own.iter().zip(&coins).zip(&part.fixing) {
                    let fixed: f64 = fixing.iter().map(|&(term, _)| shares[term as usize]).sum();
                    codes.add(code, code_gradient(code, coin) * (1.0 - fixed));
                }
                for (term, (log, share)) in
                    (part.first as u32..).zip(probabilities.iter().zip(shares))
                {
                    terms.add(term, log.exp() - share);
                }
            }
        }
        cost
    }

    /// Decides the codes of a visit one by one.
    ///
    /// # Panics
    /// If there are not as many logits as terms.
    pub fn walk(&self, term_logits: &[f32]) -> MixtureWalk<'_> {
        assert_eq!(term_logits.len(), self.term_count(), "one logit for every term");
        let logs = self.parts.iter().map(|part| part.logs(term_logits).collect());
        MixtureWalk { mixture: self, logs: logs.collect() }
    }
}

/// Decides the codes of a visit so that the rules hold: each code is asked for and decided once, in
/// ascending order, counted from the first that the visit may hold.
#[derive(Clone, Debug)]
pub struct MixtureWalk<'a> {
    mixture: &'a Mixture,
    /// The logarithm of the weight of each term of each component.
    logs: Vec<Vec<f64>>,
}

impl<'a> MixtureWalk<'a> {
    /// The probability of a code given those decided, where a network gives it this probability.
    /// Exactly 0 or 1 where every term left fixes the code.
    pub fn probability(&self, code: u32, probability: f64) -> f64 {
        let Some((owner, fixing)) = self.fixing(code) else { return probability };
        let logs = &self.logs[owner];
        let total = log_sum(logs.iter().copied());
        if total == f64::NEG_INFINITY {
            return probability;
        }
        let share = |wanted: bool| {
            let terms = fixing.iter().filter(|(_, value)| *value == wanted);
            log_sum(terms.map(|&(term, _)| logs[term as usize])) - total
        };
        let drawn = self.drawn(owner, fixing);
        let (on, off) = (share(true).exp(), share(false).exp());
        match drawn == f64::NEG_INFINITY {
            true if off == 0.0 => 1.0,
            true => on,
            false => (on + (drawn - total).exp() * probability).min(1.0),
        }
    }

    /// Decides the code, which a network gave this probability.
    pub fn decide(&mut self, code: u32, probability: f64, present: bool) {
        let Some((owner, fixing)) = self.fixing(code) else { return };
        let cost = Coin::from_probability(probability).log(present);
        // Terms that draw the code pay for it; the others hold or fall.
        let logs = &mut self.logs[owner];
        let mut fixing = fixing.iter().peekable();
        for (term, log) in (0..).zip(logs) {
            *log += match fixing.next_if(|(fixed, _)| *fixed == term) {
                Some(&(_, value)) if value == present => 0.0,
                Some(_) => f64::NEG_INFINITY,
                None => cost,
            };
        }
    }

    /// The logarithm of the weight of the terms that draw a code.
    fn drawn(&self, owner: usize, fixing: &[(u32, bool)]) -> f64 {
        let mut fixing = fixing.iter().peekable();
        let all = (0..).zip(&self.logs[owner]);
        let drawing = all.filter(|(term, _)| fixing.next_if(|(fixed, _)| fixed == term).is_none());
        log_sum(drawing.map(|(_, &log)| log))
    }

    /// The component of a code, and the terms that fix it.
    fn fixing(&self, code: u32) -> Option<(usize, &'a [(u32, bool)])> {
        let mixture = self.mixture;
        let owner = mixture.owners[code as usize]? as usize;
        let part = &mixture.parts[owner];
        let at = part.terms.codes().binary_search(&(mixture.range.start + code)).ok()?;
        Some((owner, &part.fixing[at]))
    }
}
