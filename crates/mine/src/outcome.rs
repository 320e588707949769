//! From claims and what records say of them to rules.

use consequence_record::Vocabulary;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::claim::{Claim, statement};
use crate::doubt::upper_bound;
use crate::found::{Class, Dropped, Mined, MinedRule, Reason, Tally};
use crate::options::{LikelyRules, MineOptions};
use crate::pool::{Candidate, Settled, SoftRules, probability};
use crate::profile::Profile;
use crate::records::Columns;
use crate::verify::Verdicts;

/// A claim, and what the splits say of it.
#[derive(Clone, Copy)]
struct Judged {
    candidate: Candidate,
    train: Tally,
    tuning: Tally,
    /// Records of the train split with an occasion.
    records: u64,
}

pub(crate) struct Outcome<'a> {
    vocabulary: &'a Vocabulary,
    columns: &'a Columns,
    profile: &'a Profile,
    options: &'a MineOptions,
    names: FxHashSet<String>,
    soft: SoftRules,
    mined: Mined,
}

impl<'a> Outcome<'a> {
    pub fn new(
        vocabulary: &'a Vocabulary,
        columns: &'a Columns,
        profile: &'a Profile,
        options: &'a MineOptions,
    ) -> Self {
        let mined = Mined {
            longest: 0,
            train_records: profile.records,
            train_visits: profile.visits,
            tuning_records: 0,
            rules: Vec::new(),
            dropped: Vec::new(),
            tried: Vec::new(),
        };
        let (names, soft) = (FxHashSet::default(), SoftRules::default());
        Self { vocabulary, columns, profile, options, names, soft, mined }
    }

    /// `exactly` are claims that there is at most one, each with the claim that there is exactly
    /// one; verdicts come in the order of the parts, and then of these.
    pub fn finish(
        mut self,
        settled: Vec<Settled>,
        exactly: &[(Claim, Claim)],
        train: &Verdicts,
        tuning: &Verdicts,
    ) -> Mined {
        self.mined.tuning_records = tuning.records;
        let judge = |at: usize, candidate: Candidate| Judged {
            candidate,
            train: train.tallies[at],
            tuning: tuning.tallies[at],
            records: train.records_with[at],
        };
        let mut numbers = 0..;
        let mut next = |candidate: Candidate| judge(numbers.next().unwrap_or(0), candidate);
        let (mut exact, mut almost) = (Vec::new(), Vec::new());
        for part in settled {
            exact.extend(part.exact.into_iter().map(&mut next));
            almost.extend(part.almost.into_iter().map(&mut next));
            self.mined.tried.push(part.tried);
        }
        let first_exactly = train.tallies.len() - exactly.len();
        self.mined.tried.sort_by_key(|tried| tried.template);
        // What a part of the records showed may have exceptions in the others.
        exact.retain(|one| one.train.exceptions == 0);
        let upgrades: FxHashMap<Claim, Judged> = exactly
            .iter()
            .enumerate()
            .filter_map(|(place, &(claim, exactly))| {
                let of_claim = exact.iter().find(|one| one.candidate.claim == claim)?.candidate;
                let candidate = Candidate { claim: exactly, ..of_claim };
                Some((claim, judge(first_exactly + place, candidate)))
            })
            .filter(|(_, one)| one.train.exceptions + one.tuning.exceptions == 0)
            .collect();
        let exact: Vec<Judged> = exact
            .into_iter()
            .map(|one| upgrades.get(&one.candidate.claim).copied().unwrap_or(one))
            .collect();
        self.exact(exact);
        self.almost(almost);
        let Self { mut mined, .. } = self;
        mined.rules.sort_by_key(|rule| (rule.class, rule.template));
        mined.dropped.sort_by_key(|dropped| (dropped.rule.template, dropped.reason as u8));
        mined
    }

    /// Claims without exceptions in the train split.
    fn exact(&mut self, exact: Vec<Judged>) {
        let holds =
            |one: &&Judged| one.candidate.class != Class::Doubted && one.tuning.exceptions == 0;
        let covered = Covered::by(exact.iter().filter(holds), self.columns);
        let mut likely = Vec::new();
        for one in exact {
            let class = one.candidate.class;
            let reason = if covered.covers(&one.candidate) {
                Some(Reason::Covered)
            } else if class == Class::Doubted {
                Some(Reason::Doubted)
            } else {
                (one.tuning.exceptions > 0).then_some(Reason::Contradicted)
            };
            match (reason, self.options.likely) {
                (Some(reason), _) => self.drop(reason, &one, None),
                (None, LikelyRules::Soft | LikelyRules::Leave) if class == Class::Likely => {
                    likely.push(one);
                }
                _ => {
                    self.soft.hard(one.candidate.claim);
                    self.keep(&one, None);
                }
            }
        }
        for one in likely {
            let claim = one.candidate.claim;
            let soft = match self.options.likely {
                LikelyRules::Soft => probability(claim, one.train, self.profile),
                LikelyRules::Hard | LikelyRules::Leave => None,
            };
            match soft.filter(|_| self.soft.take(claim)) {
                Some(probability) => self.keep(&one, Some(probability)),
                None => self.drop(Reason::Left, &one, None),
            }
        }
    }

    /// Claims with few exceptions.
    fn almost(&mut self, mut almost: Vec<Judged>) {
        // The fewer exceptions, the sooner a soft rule gets its code.
        let rate = |one: &Judged| {
            one.train.exceptions as f64 / (one.train.support.max(1) as f64 * one.candidate.scale)
        };
        almost.sort_by(|one, other| rate(one).total_cmp(&rate(other)));
        for mut one in almost {
            one.candidate.class = Class::Frequent;
            let claim = one.candidate.claim;
            let Some(probability) = probability(claim, one.train, self.profile) else {
                continue;
            };
            let bound = self.options.near.map_or(0.0, |near| near.bound);
            let allowed = bound * one.candidate.scale * one.tuning.support as f64;
            // A handful of exceptions says nothing against a rate.
            if one.tuning.exceptions as f64 > allowed + 3.0 {
                self.drop(Reason::Contradicted, &one, Some(probability));
            } else if self.soft.take(claim) {
                self.keep(&one, Some(probability));
            } else {
                self.drop(Reason::Crowded, &one, Some(probability));
            }
        }
    }

    fn keep(&mut self, one: &Judged, probability: Option<f64>) {
        let rule = self.rule(one, probability);
        self.mined.rules.push(rule);
    }

    fn drop(&mut self, reason: Reason, one: &Judged, probability: Option<f64>) {
        let rule = self.rule(one, probability);
        self.mined.dropped.push(Dropped { reason, rule });
    }

    fn rule(&mut self, one: &Judged, probability: Option<f64>) -> MinedRule {
        let Judged { candidate, train, tuning, records } = *one;
        let Candidate { claim, misses, doubt, class, .. } = candidate;
        let soft = probability.is_some();
        let name = self.fresh(claim.name(self.columns, self.vocabulary, soft));
        let formula = claim.formula(self.columns, soft);
        let codes = claim.codes(self.columns);
        MinedRule {
            template: claim.template(),
            class,
            label: claim.label(self.columns, self.vocabulary),
            statement: statement(&name, &formula, probability, self.vocabulary),
            name,
            formula,
            codes: codes.into_iter().map(|code| self.vocabulary.name(code).to_owned()).collect(),
            probability,
            train,
            records,
            bound: upper_bound(misses, records),
            doubt,
            tuning,
        }
    }

    /// The name, with a number after it if another rule has it.
    fn fresh(&mut self, name: String) -> String {
        let mut fresh = name.clone();
        let mut number = 1;
        while !self.names.insert(fresh.clone()) {
            number += 1;
            fresh = format!("{name}-{number}");
        }
        fresh
    }
}

/// Claims that others say too.
struct Covered {
    /// Demographic groups, and codes that a rule about a group of codes keeps from them.
    absences: FxHashSet<(usize, usize)>,
    /// Codes that only come soon after another, how sure that is.
    successions: FxHashMap<(usize, usize), Class>,
}

impl Covered {
    fn by<'b>(holding: impl Iterator<Item = &'b Judged>, columns: &Columns) -> Self {
        let mut covered =
            Self { absences: FxHashSet::default(), successions: FxHashMap::default() };
        for one in holding {
            match one.candidate.claim {
                Claim::NoneFor { set, group } => {
                    let members = columns.sets[set].columns.iter();
                    covered.absences.extend(members.map(|&code| (group, code)));
                }
                Claim::SoonAfter { code, other, .. } => {
                    covered.successions.insert((code, other), one.candidate.class);
                }
                _ => {}
            }
        }
        covered
    }

    fn covers(&self, candidate: &Candidate) -> bool {
        match candidate.claim {
            Claim::NeverFor { code, group } => self.absences.contains(&(group, code)),
            Claim::OnlyAfter { code, other } => {
                self.successions.get(&(code, other)).is_some_and(|&class| class <= candidate.class)
            }
            _ => false,
        }
    }
}
