//! What a look-ahead makes a visit cost, and how that changes with the model's logits.

use consequence_rules::{Branch, Diagram, Plan};

use super::outlook::{Outlook, Reader, Segment, Touched};
use super::proposal::{met_by, possible_weights};

impl Outlook {
    /// What the codes that are touched cost in nats, given the logits that were asked for. Adds to
    /// `gradient` what a change of each logit means.
    pub fn score(&self, plan: &Plan, logits: &[f64], gradient: &mut [f64]) -> f64 {
        let mut read = self.read(plan, logits);
        let mut nats = 0.0;
        for touched in &self.touched {
            let said = &self.said[touched.said.clone()];
            let (odds, own) = self.odds(touched, &read, logits);
            nats += softplus(if touched.present { -odds } else { odds });
            let change = sigmoid(odds) - f64::from(u8::from(touched.present));
            if let Some(own) = own {
                gradient[own] += change;
            }
            for &(segment, code) in said {
                read[segment].take(code, touched.branches, change);
            }
        }
        for (segment, read) in self.segments.iter().zip(&mut read) {
            read.give(&mut gradient[segment.readings.clone()]);
        }
        nats
    }

    /// The position of each code that is touched, how likely it is, and whether it is present. Codes that a
    /// soft rule draws are left out.
    pub fn expected(&self, plan: &Plan, logits: &[f64]) -> Vec<(u32, f64, bool)> {
        let read = self.read(plan, logits);
        let drawn_by_model = self.touched.iter().filter(|touched| touched.soft.is_none());
        let expected = drawn_by_model.map(|touched| {
            let (odds, _) = self.odds(touched, &read, logits);
            (touched.position, sigmoid(odds), touched.present)
        });
        expected.collect()
    }

    fn read<'a>(&self, plan: &'a Plan, logits: &[f64]) -> Vec<Read<'a>> {
        let read = |segment: &Segment| {
            let (range, known) = (segment.readings.clone(), segment.readings.clone());
            let logits = logits[range].iter().zip(&self.certain[known]);
            let logits = logits.map(|(&logit, certain)| match certain {
                None => logit,
                Some(true) => f64::INFINITY,
                Some(false) => f64::NEG_INFINITY,
            });
            Read::new(segment, plan, logits.collect())
        };
        self.segments.iter().map(read).collect()
    }

    /// The log-odds that a code is proposed with, and which reading they begin with, unless a soft rule
    /// draws it.
    fn odds(&self, touched: &Touched, read: &[Read<'_>], logits: &[f64]) -> (f64, Option<usize>) {
        let said = &self.said[touched.said.clone()];
        let shift = |&(segment, code): &(usize, usize)| read[segment].shift(code, touched.branches);
        let shift: f64 = said.iter().map(shift).sum();
        match touched.soft {
            Some(probability) => ((probability / (1.0 - probability)).ln() + shift, None),
            None => {
                let (segment, code) = said[0];
                let own = self.segments[segment].readings.start + code;
                (logits[own] + shift, Some(own))
            }
        }
    }
}

/// The logits of a segment at work.
enum Read<'a> {
    Clause {
        /// For each code, the nats that none after it comes on.
        rest: Vec<f64>,
        /// What a change of those means.
        changes: Vec<f64>,
        logits: Vec<f64>,
    },
    Diagram {
        diagram: &'a Diagram,
        from: Branch,
        /// The probability of each code of the diagram; only those of the last are read.
        probabilities: Vec<f64>,
        weights: Vec<f64>,
        changes: Vec<f64>,
        /// How many of the codes are read.
        read: usize,
    },
}

impl<'a> Read<'a> {
    fn new(segment: &Segment, plan: &'a Plan, logits: Vec<f64>) -> Self {
        match (segment.of, plan.diagram()) {
            (Reader::Diagram(from), Some(diagram)) => {
                let mut probabilities = vec![0.0; diagram.positions.len() - logits.len()];
                probabilities.extend(logits.iter().map(|&logit| sigmoid(logit)));
                let mut weights = Vec::new();
                diagram.weigh(from, &probabilities, &mut weights);
                let changes = vec![0.0; weights.len()];
                let read = logits.len();
                Self::Diagram { diagram, from, probabilities, weights, changes, read }
            }
            _ => {
                let mut rest = vec![0.0; logits.len()];
                for code in (1..logits.len()).rev() {
                    rest[code - 1] = rest[code] + softplus(logits[code]);
                }
                Self::Clause { rest, changes: vec![0.0; logits.len()], logits }
            }
        }
    }

    /// What is added to the logit of a code.
    fn shift(&self, code: usize, branches: Option<[Branch; 2]>) -> f64 {
        match (self, branches) {
            (Self::Clause { rest, .. }, _) => -met_by(rest[code]).ln(),
            (Self::Diagram { weights, .. }, Some(branches)) => {
                let [absent, present] = possible_weights(branches, weights);
                if absent == present { 0.0 } else { present.ln() - absent.ln() }
            }
            (Self::Diagram { .. }, None) => 0.0,
        }
    }

    /// Takes in what a change of the shift of a code means.
    fn take(&mut self, code: usize, branches: Option<[Branch; 2]>, change: f64) {
        if change == 0.0 {
            return;
        }
        match (self, branches) {
            (Self::Clause { rest, changes, .. }, _) => {
                changes[code] -= change / rest[code].exp_m1()
            }
            (Self::Diagram { weights, changes, .. }, Some(branches)) => {
                // Where nothing can be said, nothing is learned.
                if branches.iter().all(|branch| weights[branch.index()] > 0.0) {
                    for (branch, sign) in branches.into_iter().zip([-1.0, 1.0]) {
                        changes[branch.index()] += sign * change / weights[branch.index()];
                    }
                }
            }
            (Self::Diagram { .. }, None) => {}
        }
    }

    /// Adds what a change of each logit means.
    fn give(&mut self, gradient: &mut [f64]) {
        match self {
            Self::Clause { changes, logits, .. } => {
                let mut before = 0.0;
                for (code, &logit) in logits.iter().enumerate() {
                    gradient[code] += before * sigmoid(logit);
                    before += changes[code];
                }
            }
            Self::Diagram { diagram, from, probabilities, weights, changes, read } => {
                let mut all = vec![0.0; probabilities.len()];
                diagram.weigh_backward(*from, probabilities, weights, changes, &mut all);
                let skipped = probabilities.len() - *read;
                for ((into, change), probability) in
                    gradient.iter_mut().zip(&all[skipped..]).zip(&probabilities[skipped..])
                {
                    *into += change * probability * (1.0 - probability);
                }
            }
        }
    }
}

fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

fn softplus(logit: f64) -> f64 {
    logit.max(0.0) + (-logit.abs()).exp().ln_1p()
}
