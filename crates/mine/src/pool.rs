//! The candidates of one template, how sure each is, and which of those with exceptions can be soft
//! rules together.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::claim::{Claim, END};
use crate::doubt::{Law, Rates, Sightings, upper_bound};
use crate::found::{Class, Tally, Template, Tried};
use crate::groups::FoundGroups;
use crate::options::{Evidence, MineOptions, NearRules};
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
    /// What the records come to, as trials of the template's law.
    pub trials: f64,
    /// The evidence against chance.
    pub nats: f64,
    /// The probability that it is no rule, as far as that is known.
    pub doubt: Option<f64>,
    pub class: Class,
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

/// Candidates with less evidence against chance than this are not kept for a second look.
const LEAST_LEVEL: u32 = 3;
/// A likely rule is more likely one than not, and more than a few records show it.
const LIKELY: f64 = 0.5;
const FEWEST: u64 = 5;
/// Further records, a tenth of a cohort, for each that was mined, eight tenths.
const AHEAD: f64 = 0.125;

/// Candidates of one template.
#[derive(Debug)]
pub(crate) struct Pool {
    evidence: Option<Evidence>,
    /// The evidence against chance that makes up for the number of candidates.
    least_nats: f64,
    /// Whether candidates are judged by each other.
    judged: bool,
    near: Option<NearRules>,
    ahead: f64,
    /// What was seen of candidates that chance cannot have made.
    sightings: Sightings,
    /// What was seen of the others, by whole nats.
    weaker: BTreeMap<u32, Sightings>,
    law: Law,
    exact: Vec<Candidate>,
    almost: Vec<Candidate>,
    tried: Tried,
}

/// What a pool comes to.
#[derive(Debug)]
pub(crate) struct Settled {
    /// Claims without exceptions that are more than chance would show, each of a class.
    pub exact: Vec<Candidate>,
    /// Claims with few exceptions.
    pub almost: Vec<Candidate>,
    pub tried: Tried,
    /// How often candidates that chance cannot have made have exceptions, where that was judged.
    pub rates: Option<Rates>,
}

impl Settled {
    /// Takes in claims about groups of codes.
    pub fn take_groups(&mut self, found: &FoundGroups) {
        let of_class =
            |class: Class| found.claims.iter().filter(|claim| claim.class == class).count() as u64;
        self.tried.candidates += found.tried;
        self.tried.without_exception += found.without_exception;
        self.tried.by_chance += found.by_chance;
        self.tried.likely += of_class(Class::Likely);
        self.exact.extend(&found.claims);
    }
}

impl Pool {
    /// For a template with this many candidates.
    pub fn new(template: Template, candidates: u64, options: &MineOptions) -> Self {
        let law = match template {
            Template::NeverFor | Template::Once | Template::Ages | Template::Apart => Law::Poisson,
            _ => Law::Binomial,
        };
        let nats = |probability: f64| (candidates.max(1) as f64 / probability).ln();
        Self {
            evidence: options.evidence,
            least_nats: options.evidence.map_or(0.0, |evidence| nats(evidence.probability)),
            // Categories are too few, and too different, to be judged by each other.
            judged: options.evidence.is_some() && template != Template::OneOf,
            near: options.near,
            ahead: AHEAD,
            sightings: Sightings::new(law),
            weaker: BTreeMap::new(),
            law,
            exact: Vec::new(),
            almost: Vec::new(),
            tried: Tried { candidates, ..Tried::new(template) },
        }
    }

    /// For claims that only a part of the train split was held against.
    pub fn of_part(mut self, part: f64) -> Self {
        self.ahead = AHEAD / part;
        self
    }

    /// Takes a candidate in. What chance would give is asked for only where it matters.
    pub fn offer(&mut self, candidate: Candidate, probability: impl FnOnce() -> Probability) {
        let exact = candidate.exceptions == 0;
        let allowed =
            |near: NearRules| near.exceptions * candidate.support as f64 * candidate.scale;
        let almost = !exact
            && candidate.claim.output().is_some()
            && self.near.is_some_and(|near| candidate.exceptions as f64 <= allowed(near));
        let misses = candidate.misses.max(u64::from(!exact));
        let sighted = self.judged && Sightings::wants(candidate.trials, misses);
        self.tried.without_exception += u64::from(exact);
        if !(exact || almost || sighted) {
            return;
        }
        let probability = probability();
        let candidate = Candidate { nats: probability.nats, ..candidate };
        let strong = self.evidence.is_none() || probability.nats >= self.least_nats;
        if !strong && (!self.judged || level(probability.nats) < LEAST_LEVEL) {
            self.tried.by_chance += u64::from(exact);
            return;
        }
        if sighted {
            let sightings = match strong {
                true => &mut self.sightings,
                false => self
                    .weaker
                    .entry(level(probability.nats))
                    .or_insert_with(|| Sightings::new(self.law)),
            };
            sightings.add(candidate.trials, misses);
        }
        if exact {
            self.exact.push(candidate);
        } else if almost && strong && self.is_near(&candidate, misses, probability) {
            self.almost.push(candidate);
        }
    }

    fn is_near(&self, candidate: &Candidate, misses: u64, probability: Probability) -> bool {
        let bound = upper_bound(misses, candidate.records);
        self.near.is_some_and(|near| {
            bound <= near.bound * candidate.scale && bound <= near.of_chance * probability.rate
        })
    }

    /// The least evidence against chance, in whole nats, at which few enough of the claims without
    /// exceptions are to be expected by chance; none if there is no such level below that of
    /// certain rules.
    fn level(&self, evidence: &Evidence) -> Option<u32> {
        let top = self.least_nats.floor() as u32;
        (LEAST_LEVEL..=top).find(|&nats| {
            let found =
                self.exact.iter().filter(|candidate| candidate.nats >= f64::from(nats)).count();
            let expected = self.tried.candidates as f64 * (-f64::from(nats)).exp();
            expected <= evidence.by_chance * found as f64
        })
    }

    /// Judges all candidates by each other.
    pub fn settle(self) -> Settled {
        let Some(evidence) = self.evidence.filter(|_| self.judged) else {
            let Self { exact, almost, tried, .. } = self;
            return Settled { exact, almost, tried, rates: None };
        };
        let strong = self.sightings.rates();
        let level = self.level(&evidence);
        let weak = level.map(|level| {
            let mut all = self.sightings.clone();
            self.weaker.range(level..).for_each(|(_, sightings)| all.join(sightings));
            all.rates()
        });
        self.settle_by(&evidence, strong, level, weak)
    }

    /// Judges all candidates by others of their kind, which had these rates of exceptions.
    pub fn settle_as(self, rates: Option<&Rates>) -> Settled {
        let (Some(evidence), Some(rates)) = (self.evidence, rates) else { return self.settle() };
        let level = self.level(&evidence);
        self.settle_by(&evidence, rates.clone(), level, Some(rates.clone()))
    }

    fn settle_by(
        self,
        evidence: &Evidence,
        strong_rates: Rates,
        level: Option<u32>,
        weak_rates: Option<Rates>,
    ) -> Settled {
        let mut settled = Settled {
            exact: Vec::new(),
            almost: self.almost.clone(),
            tried: self.tried.clone(),
            rates: None,
        };
        for candidate in &self.exact {
            let rates = if candidate.nats >= self.least_nats {
                Some((&strong_rates, true))
            } else {
                let enough = level.is_some_and(|level| candidate.nats >= f64::from(level));
                weak_rates.as_ref().filter(|_| enough).map(|rates| (rates, false))
            };
            let Some((rates, strong)) = rates else {
                settled.tried.by_chance += 1;
                continue;
            };
            let judged = self.judge(candidate, rates, strong, evidence);
            settled.tried.likely += u64::from(judged.class == Class::Likely);
            settled.tried.doubted += u64::from(judged.class == Class::Doubted);
            settled.exact.push(judged);
        }
        settled.rates = Some(strong_rates);
        settled
    }

    fn judge(
        &self,
        candidate: &Candidate,
        rates: &Rates,
        strong: bool,
        evidence: &Evidence,
    ) -> Candidate {
        let doubt = rates.doubt(candidate.trials);
        let class = if strong && doubt <= evidence.doubt {
            Class::Certain
        } else if doubt <= LIKELY
            && candidate.records >= FEWEST
            && rates.broken(candidate.trials, self.ahead) <= evidence.broken
        {
            Class::Likely
        } else {
            Class::Doubted
        };
        Candidate { doubt: Some(doubt), class, ..*candidate }
    }
}

fn level(nats: f64) -> u32 {
    nats.max(0.0) as u32
}

/// The probability that a soft rule states: how often its code is there when the rule fires, to
/// four digits. None where it would be certain.
pub(crate) fn probability(claim: Claim, train: Tally, profile: &Profile) -> Option<f64> {
    // What was never seen is taken for half an exception.
    let (exceptions, extra) = match train.exceptions {
        0 => (0.5, 1.0),
        several => (several as f64, 0.0),
    };
    let share = |part: f64, all: f64| part / (all + extra).max(1.0);
    let exact = match claim {
        Claim::Together { .. } | Claim::Last { .. } | Claim::Stays { .. } => {
            1.0 - share(exceptions, train.support as f64)
        }
        Claim::NeverFor { group, .. } => share(exceptions, profile.group_visits[group] as f64),
        Claim::OnlyAfter { other, .. } => share(exceptions, profile.visits_before(other) as f64),
        // At least the visits without the other in their past lack it in the last few too.
        Claim::SoonAfter { other, .. } => share(exceptions, profile.visits_before(other) as f64),
        Claim::Once { code } => share(exceptions, profile.visits_after(code) as f64),
        Claim::OneOf { .. }
        | Claim::OneInVisit { .. }
        | Claim::Same { .. }
        | Claim::NoneFor { .. }
        | Claim::Aged { .. }
        | Claim::Apart { .. } => return None,
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
            Claim::Last { code } => self.edge(code, END),
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
            Claim::Together { code, .. } | Claim::Last { code } => Some(code),
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
