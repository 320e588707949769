//! From a cohort to rules.

use std::sync::Arc;

use consequence_record::{Cohort, Split, Vocabulary};
use rustc_hash::FxHashSet;
use thiserror::Error;

use crate::claim::{Claim, Verdicts, statement, verify};
use crate::doubt::upper_bound;
use crate::found::{Dropped, Mined, MinedRule, Reason, Tally};
use crate::options::{Cutoffs, MineOptions};
use crate::pool::{Candidate, Settled, SoftRules, probability};
use crate::profile::{Pairs, Profile};
use crate::records::Columns;
use crate::templates::{PairTemplates, never_for, one_of, stays};

/// Why a cohort cannot be mined.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum MineError {
    /// Every record needs a split.
    #[error("{records} records and {splits} splits: give each record its split, in order")]
    Splits {
        /// Records of the cohort.
        records: usize,
        /// Splits that were given.
        splits: usize,
    },
    /// There is nothing to train on.
    #[error("no record is in the train split: rules are mined there only")]
    NoTrain,
    /// More visits than counts can hold.
    #[error(
        "the cohort has {visits} visits, more than {most} that can be counted: mine a part of it"
    )]
    TooLarge {
        /// Visits of the cohort.
        visits: usize,
        /// The most that are counted.
        most: u32,
    },
}

/// Finds rules in the train split of a cohort and holds them against its tuning split. The held-out
/// split is not looked at.
///
/// ```
/// use std::sync::Arc;
/// use consequence_mine::{MineOptions, mine};
/// use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
///
/// let vocabulary = Arc::new(Vocabulary::new([("A", Kind::Encounter), ("B", Kind::Encounter)])?);
/// let (a, b) = (vocabulary.code("A").unwrap(), vocabulary.code("B").unwrap());
/// let mut cohort = Cohort::default();
/// for number in 0..400 {
///     let visit = match number % 8 { 0 => vec![a, b], 1 => vec![b], _ => vec![] };
///     cohort.push(&number.to_string(), &Record::new(vec![vec![], visit]));
/// }
/// let splits = vec![Split::Train; cohort.len()];
///
/// let mined = mine(&cohort, &vocabulary, &splits, &MineOptions::default())?;
/// assert_eq!(mined.rules.len(), 1);
/// assert_eq!(mined.rules[0].statement, "rule A-with-B: A => B");
/// assert_eq!(mined.rules[0].train.support, 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mine(
    cohort: &Cohort,
    vocabulary: &Arc<Vocabulary>,
    splits: &[Split],
    options: &MineOptions,
) -> Result<Mined, MineError> {
    if splits.len() != cohort.len() {
        return Err(MineError::Splits { records: cohort.len(), splits: splits.len() });
    }
    if u32::try_from(cohort.visit_count()).is_err() {
        return Err(MineError::TooLarge { visits: cohort.visit_count(), most: u32::MAX });
    }
    let cutoffs = options.cutoffs.unwrap_or_else(|| Cutoffs::for_cohort(cohort));
    let columns = Columns::new(vocabulary, options.end);
    let workers = rayon::current_num_threads();
    let profile = Profile::of(cohort, splits, &columns, workers);
    if profile.records == 0 {
        return Err(MineError::NoTrain);
    }
    let (together, only_after) = pairs(cohort, splits, &columns, &profile, cutoffs, options);
    let mut settled = [
        one_of(&profile, &columns, options).settle(),
        together,
        never_for(&profile, &columns, &cutoffs, options).settle(),
        only_after,
        stays(&profile, &columns, &cutoffs, options).settle(),
    ];
    settled[1].kept = join_equivalences(&settled[1].kept);

    let mut claims: Vec<Claim> = Vec::new();
    for part in &settled {
        let lists = [&part.kept, &part.doubted, &part.almost];
        claims.extend(lists.into_iter().flatten().map(|candidate| candidate.claim));
    }
    let train = verify(cohort, splits, Split::Train, &columns, &claims, workers);
    let tuning = verify(cohort, splits, Split::Tuning, &columns, &claims, workers);
    let names = FxHashSet::default();
    let outcome = Outcome { vocabulary, columns: &columns, profile: &profile, options, names };
    Ok(outcome.finish(settled, &train, &tuning))
}

/// The two templates about pairs, as many rows at a time as the memory allows.
fn pairs(
    cohort: &Cohort,
    splits: &[Split],
    columns: &Columns,
    profile: &Profile,
    cutoffs: Cutoffs,
    options: &MineOptions,
) -> (Settled, Settled) {
    let mut templates = PairTemplates::new(profile, columns, cutoffs, options);
    let (rows, ordered) = templates.rows(options);
    let row_bytes = Pairs::row_bytes(columns.len()).max(1);
    let all_bytes = row_bytes.saturating_mul(rows.len()).max(1);
    let workers = rayon::current_num_threads().min((options.memory / all_bytes).max(1));
    let block = (options.memory / row_bytes / workers).max(1);
    for (rows, ordered) in rows.chunks(block).zip(ordered.chunks(block)) {
        let pairs = Pairs::of(cohort, splits, columns, rows, ordered, workers);
        for (row, (&code, &ordered)) in rows.iter().zip(ordered).enumerate() {
            templates.row(code, row, ordered, &pairs);
        }
    }
    (templates.together.settle(), templates.only_after.settle())
}

/// Makes one claim of two that go both ways.
fn join_equivalences(kept: &[Candidate]) -> Vec<Candidate> {
    let pair = |candidate: &Candidate| match candidate.claim {
        Claim::Together { code, with } => Some((code, with)),
        _ => None,
    };
    let ways: FxHashSet<(usize, usize)> = kept.iter().filter_map(pair).collect();
    let joined = kept.iter().filter_map(|candidate| match pair(candidate) {
        Some((code, with)) if ways.contains(&(with, code)) => {
            let claim = Claim::Same { one: code, other: with };
            (code < with).then_some(Candidate { claim, ..*candidate })
        }
        _ => Some(*candidate),
    });
    joined.collect()
}

struct Outcome<'a> {
    vocabulary: &'a Vocabulary,
    columns: &'a Columns,
    profile: &'a Profile,
    options: &'a MineOptions,
    names: FxHashSet<String>,
}

impl Outcome<'_> {
    fn finish(mut self, settled: [Settled; 5], train: &Verdicts, tuning: &Verdicts) -> Mined {
        let mut mined = Mined {
            train_records: self.profile.records,
            train_visits: self.profile.visits,
            tuning_records: tuning.records,
            rules: Vec::new(),
            dropped: Vec::new(),
            tried: settled.iter().map(|part| part.tried.clone()).collect(),
        };
        let mut tallies = train.tallies.iter().copied().zip(tuning.tallies.iter().copied());
        let mut seen = |list: &[Candidate]| -> Vec<(Candidate, Tally, Tally)> {
            let pairs = list.iter().copied().zip(tallies.by_ref());
            pairs.map(|(candidate, (train, tuning))| (candidate, train, tuning)).collect()
        };
        let mut soft = SoftRules::default();
        let mut almost = Vec::new();
        for part in settled {
            for (candidate, train, tuning) in seen(&part.kept) {
                let rule = self.rule(&candidate, train, tuning, None);
                if tuning.exceptions > 0 {
                    mined.dropped.push(Dropped { reason: Reason::Contradicted, rule });
                } else {
                    soft.hard(candidate.claim);
                    mined.rules.push(rule);
                }
            }
            for (candidate, train, tuning) in seen(&part.doubted) {
                let rule = self.rule(&candidate, train, tuning, None);
                mined.dropped.push(Dropped { reason: Reason::Doubted, rule });
            }
            almost.extend(seen(&part.almost));
        }
        // The fewer exceptions, the sooner a soft rule gets its code.
        let rate = |(candidate, train, _): &(Candidate, Tally, Tally)| {
            train.exceptions as f64 / (train.support.max(1) as f64 * candidate.scale)
        };
        almost.sort_by(|one, other| rate(one).total_cmp(&rate(other)));
        for (candidate, train, tuning) in almost {
            let Some(probability) = probability(candidate.claim, train, self.profile) else {
                continue;
            };
            let allowed = self.options.near.map_or(0.0, |near| near.bound) * candidate.scale;
            // A handful of exceptions says nothing against a rate.
            let contradicted = tuning.exceptions as f64 > allowed * tuning.support as f64 + 3.0;
            let rule = self.rule(&candidate, train, tuning, Some(probability));
            if contradicted {
                mined.dropped.push(Dropped { reason: Reason::Contradicted, rule });
            } else if soft.take(candidate.claim) {
                mined.rules.push(rule);
            } else {
                mined.dropped.push(Dropped { reason: Reason::Crowded, rule });
            }
        }
        mined.rules.sort_by_key(|rule| (rule.template, rule.probability.is_some()));
        mined.dropped.sort_by_key(|dropped| (dropped.rule.template, dropped.reason as u8));
        mined
    }

    fn rule(
        &mut self,
        candidate: &Candidate,
        train: Tally,
        tuning: Tally,
        probability: Option<f64>,
    ) -> MinedRule {
        let Candidate { claim, records, misses, doubt, .. } = *candidate;
        let soft = probability.is_some();
        let name = self.fresh(claim.name(self.columns, self.vocabulary, soft));
        let formula = claim.formula(self.columns, soft);
        let codes = claim.codes(self.columns);
        MinedRule {
            template: claim.template(),
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
