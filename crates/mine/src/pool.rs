//! The candidates of one template, which of them have evidence enough, and which of those with
//! exceptions can be soft rules together.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::claim::Claim;
use crate::doubt::{Law, Sightings, upper_bound};
use crate::found::{Tally, Template, Tried};
use crate::options::{MineOptions, NearRules};
use crate::profile::Profile;

/// What was seen of a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub claim: Claim,
    /// Occasions on which the claim could have failed, and on which it did.
    pub support: u64,
    pub exceptions: u64,
    /// Records with an occasion, and those whose first occasion was an exception.
    pub records: u64,
    pub misses: u64,
    /// The share of occasions that counts as all of them: of a code's visits, those that would be
    /// of the group.
    pub scale: f64,
    /// The probability that it is no rule, as far as that is known.
    pub doubt: Option<f64>,
}

/// What would be seen if codes were independent of each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probability {
    /// The share of occasions that would be exceptions.
    pub rate: f64,
    /// Minus the logarithm of the probability that there would be none.
    pub nats: f64,
}

impl Probability {
    /// For a number of records, each an exception with this probability.
    pub fn of(records: u64, rate: f64) -> Self {
        let rate = rate.clamp(0.0, 1.0 - 1e-12);
        Self { rate, nats: -(-rate).ln_1p() * records as f64 }
    }
}

/// Candidates of one template.
#[derive(Debug)]
pub(crate) struct Pool {
    law: Law,
    /// The evidence against probability that makes up for the number of candidates.
    least_nats: Option<f64>,
    /// The most that a claim may be doubted.
    doubt: Option<f64>,
    near: Option<NearRules>,
    sightings: Sightings,
    exact: Vec<Candidate>,
    almost: Vec<Candidate>,
    tried: Tried,
}

/// What a pool comes to.
#[derive(Debug)]
pub(crate) struct Settled {
    /// Claims without exceptions and with evidence enough.
    pub kept: Vec<Candidate>,
    /// Claims without exceptions that are doubted.
    pub doubted: Vec<Candidate>,
    /// Claims with few exceptions.
    pub almost: Vec<Candidate>,
    pub tried: Tried,
}

impl Pool {
    /// For a template with this many candidates.
    pub fn new(template: Template, candidates: u64, options: &MineOptions) -> Self {
        let law = match template {
            Template::NeverFor => Law::Poisson,
            _ => Law::Binomial,
        };
        let nats = |probability: f64| (candidates.max(1) as f64 / probability).ln();
        Self {
            law,
            least_nats: options.evidence.map(|evidence| nats(evidence.probability)),
            // Categories are too few, and too different, to be judged by each other.
            doubt: match (template, options.evidence) {
                (Template::OneOf, _) | (_, None) => None,
                (_, Some(evidence)) => Some(evidence.doubt),
            },
            near: options.near,
            sightings: Sightings::new(law),
            exact: Vec::new(),
            almost: Vec::new(),
            tried: Tried { template, candidates, ..Tried::new(template) },
        }
    }

    fn trials(&self, candidate: &Candidate) -> f64 {
        match self.law {
            Law::Binomial => candidate.records as f64,
            Law::Poisson => candidate.records as f64 * candidate.scale,
        }
    }

    /// Takes a candidate in. What probability would give is asked for only where it matters.
    pub fn offer(&mut self, candidate: Candidate, probability: impl FnOnce() -> Probability) {
        let exact = candidate.exceptions == 0;
        let allowed =
            |near: NearRules| near.exceptions * candidate.support as f64 * candidate.scale;
        let almost = !exact
            && candidate.claim.output().is_some()
            && self.near.is_some_and(|near| candidate.exceptions as f64 <= allowed(near));
        let misses = candidate.misses.max(u64::from(!exact));
        let trials = self.trials(&candidate);
        let sighted = self.doubt.is_some() && Sightings::wants(trials, misses);
        self.tried.without_exception += u64::from(exact);
        if !(exact || almost || sighted) {
            return;
        }
        let probability = probability();
        if self.least_nats.is_some_and(|least| probability.nats < least) {
            self.tried.by_chance += u64::from(exact);
            return;
        }
        if sighted {
            self.sightings.add(trials, misses);
        }
        if exact {
            self.exact.push(candidate);
        } else if almost && self.is_near(&candidate, misses, probability) {
            self.almost.push(candidate);
        }
    }

    fn is_near(&self, candidate: &Candidate, misses: u64, probability: Probability) -> bool {
        let bound = upper_bound(misses, candidate.records);
        self.near.is_some_and(|near| {
            bound <= near.bound * candidate.scale && bound <= near.of_chance * probability.rate
        })
    }

    /// Judges all candidates by each other.
    pub fn settle(self) -> Settled {
        let judge = self.doubt.map(|most| (most, self.sightings.rates()));
        let mut settled = Settled {
            kept: Vec::new(),
            doubted: Vec::new(),
            almost: self.almost.clone(),
            tried: self.tried.clone(),
        };
        for &candidate in &self.exact {
            let doubt = judge.as_ref().map(|(_, rates)| rates.doubt(self.trials(&candidate)));
            let candidate = Candidate { doubt, ..candidate };
            match (&judge, doubt) {
                (Some((most, _)), Some(doubt)) if doubt > *most => settled.doubted.push(candidate),
                _ => settled.kept.push(candidate),
            }
        }
        settled.tried.doubted = settled.doubted.len() as u64;
        settled
    }
}

/// The probability that a soft rule states: how often its code is there when the rule fires, to
/// four digits. None where it would be certain.
pub(crate) fn probability(claim: Claim, train: Tally, profile: &Profile) -> Option<f64> {
    let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    let exact = match claim {
        Claim::Together { .. } | Claim::Stays { .. } => {
            1.0 - share(train.exceptions, train.support)
        }
        Claim::NeverFor { group, .. } => share(train.exceptions, profile.group_visits[group]),
        Claim::OnlyAfter { other, .. } => share(train.exceptions, profile.visits_before(other)),
        Claim::OneOf { .. } | Claim::Same { .. } => return None,
    };
    let rounded: f64 = format!("{exact:.3e}").parse().unwrap_or(exact);
    (rounded > 0.0 && rounded < 1.0).then_some(rounded)
}

/// Soft rules chosen so far: one for each code they decide, and none in a cycle, as the compiler
/// asks. Only rules within a visit can close a cycle.
#[derive(Debug, Default)]
pub(crate) struct SoftRules {
    outputs: FxHashSet<usize>,
    leads_to: FxHashMap<usize, Vec<usize>>,
}

impl SoftRules {
    /// Notes a hard rule.
    pub fn hard(&mut self, claim: Claim) {
        match claim {
            Claim::Together { code, with } => self.edge(code, with),
            Claim::Same { one, other } => {
                self.edge(one, other);
                self.edge(other, one);
            }
            _ => {}
        }
    }

    /// Chooses a soft rule, if it can stand beside the others.
    pub fn take(&mut self, claim: Claim) -> bool {
        let Some(output) = claim.output() else { return false };
        let within = match claim {
            Claim::Together { code, .. } => Some(code),
            _ => None,
        };
        if self.outputs.contains(&output) || within.is_some_and(|code| self.reaches(output, code)) {
            return false;
        }
        if let Some(code) = within {
            self.edge(code, output);
        }
        self.outputs.insert(output)
    }

    fn edge(&mut self, from: usize, to: usize) {
        self.leads_to.entry(from).or_default().push(to);
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        let (mut open, mut seen) = (vec![from], FxHashSet::from_iter([from]));
        while let Some(code) = open.pop() {
            if code == to {
                return true;
            }
            let next = self.leads_to.get(&code).into_iter().flatten();
            open.extend(next.copied().filter(|&next| seen.insert(next)));
        }
        false
    }
}
