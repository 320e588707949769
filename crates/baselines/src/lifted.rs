//! What the constraint layer makes of logits, and the loss that trains through it.

use crate::row::Gradient;
use crate::row::{sigmoid, softplus};
use crate::{Cost, Layer, Row};

/// A probability as the layer carries it: maxima and minima choose, so it is that of one code, or
/// one less it. Logits stand for probabilities, since both choose the same way and logits lose
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Carried {
    logit: f64,
    /// The code whose logit it is; none for what is always so.
    code: Option<u32>,
    /// Whether the logit is that of the code's absence.
    opposite: bool,
}

impl Carried {
    const ALWAYS: Self = Self { logit: f64::INFINITY, code: None, opposite: false };

    fn when(self, value: bool) -> Self {
        if value { self } else { Self { logit: -self.logit, opposite: !self.opposite, ..self } }
    }

    fn or(self, other: Self) -> Self {
        if other.logit > self.logit { other } else { self }
    }

    fn and(self, other: Self) -> Self {
        if other.logit < self.logit { other } else { self }
    }
}

impl Layer {
    fn carried(&self, row: Row<'_>) -> Vec<Carried> {
        row.check(&self.range);
        let logits = row.logits.iter().map(|&logit| f64::from(logit));
        let own = (0..).zip(logits);
        own.map(|(code, logit)| Carried { logit, code: Some(code), opposite: false }).collect()
    }

    /// What the layer makes of logits. A code that is demanded always has an infinite one.
    ///
    /// # Panics
    /// If there are not as many logits as the visit may hold codes.
    pub fn logits(&self, logits: &[f32]) -> Vec<f64> {
        self.lifted(Row { logits, present: &[] }).into_iter().map(|carried| carried.logit).collect()
    }

    /// The probabilities of codes that the layer makes of logits.
    ///
    /// # Panics
    /// If there are not as many logits as the visit may hold codes.
    pub fn probabilities(&self, logits: &[f32]) -> Vec<f64> {
        self.logits(logits).into_iter().map(sigmoid).collect()
    }

    fn lifted(&self, row: Row<'_>) -> Vec<Carried> {
        let mut values = self.carried(row);
        for head in &self.heads {
            for body in &head.bodies {
                let literals = body.literals.iter();
                let least = literals
                    .map(|&(code, value)| values[code as usize].when(value))
                    .fold(Carried::ALWAYS, Carried::and);
                values[head.code as usize] = values[head.code as usize].or(least);
            }
        }
        values
    }

    /// What a visit costs if each code is drawn with the probability that the layer gives it. A
    /// code that is always demanded and absent counts as broken.
    ///
    /// # Panics
    /// If the row has another width than the range of the world.
    pub fn nats(&self, row: Row<'_>) -> Cost {
        let values = self.lifted(row);
        total(&values, &row.truth(), None)
    }

    /// The loss that teaches through the layer.
    ///
    /// A code that is in the visit may be lifted by rules whose antecedents are all true. A code
    /// that is not may be lifted by any rule, and only antecedents that are false there are held to
    /// account: to lower a true one would teach what is wrong. A rule that the visit breaks is left
    /// out, and counts as broken.
    ///
    /// # Panics
    /// If the row has another width than the range of the world.
    pub fn loss(&self, row: Row<'_>) -> Cost {
        self.taught(row, None)
    }

    /// The loss that teaches; adds `scale` times its gradient by the logits to `into`.
    ///
    /// # Panics
    /// If the row or the gradient has another width than the range of the world.
    pub fn gradient(&self, row: Row<'_>, scale: f64, into: &mut [f32]) -> Cost {
        self.taught(row, Some(Gradient { scale, into }))
    }

    fn taught(&self, row: Row<'_>, gradient: Option<Gradient<'_>>) -> Cost {
        let truth = row.truth();
        let is_true = |&(code, value): &(u32, bool)| truth[code as usize] == value;
        let mut values = self.carried(row);
        let mut broken = 0;
        for head in &self.heads {
            let present = truth[head.code as usize];
            for body in &head.bodies {
                let holds = body.literals.iter().all(is_true);
                if holds != present {
                    broken += usize::from(holds);
                    continue;
                }
                let accountable =
                    body.literals.iter().filter(|literal| is_true(literal) == present);
                let least = accountable
                    .map(|&(code, value)| values[code as usize].when(value))
                    .fold(Carried::ALWAYS, Carried::and);
                values[head.code as usize] = values[head.code as usize].or(least);
            }
        }
        let mut cost = total(&values, &truth, gradient);
        cost.broken += broken;
        cost
    }
}

/// Binary cross entropy of what the layer gives.
fn total(values: &[Carried], truth: &[bool], mut gradient: Option<Gradient<'_>>) -> Cost {
    let mut cost = Cost::default();
    for (carried, &present) in values.iter().zip(truth) {
        let against = if present { -carried.logit } else { carried.logit };
        if against == f64::INFINITY {
            cost.broken += 1;
            continue;
        }
        cost.nats += softplus(against);
        if let (Some(gradient), Some(code)) = (&mut gradient, carried.code) {
            let carried_gradient = sigmoid(against);
            gradient.add(
                code,
                if present == carried.opposite { carried_gradient } else { -carried_gradient },
            );
        }
    }
    cost
}
