//! The paper's five kinds of rules, and those that end a record, looked for in the counts.

use crate::claim::Claim;
use crate::found::{Class, Template};
use crate::options::{Cutoffs, MineOptions};
use crate::pool::{Candidate, Pool, Probability};
use crate::profile::{PairRow, Profile};
use crate::records::{Columns, STAGES};

/// A share that is never quite 0 or 1, as counts cannot tell.
pub(crate) fn share(part: u64, all: u64) -> f64 {
    (part as f64 + 0.5) / (all as f64 + 1.0)
}

/// A candidate whose records are trials.
pub(crate) fn candidate(
    claim: Claim,
    support: u64,
    exceptions: u64,
    records: u64,
    misses: u64,
) -> Candidate {
    Candidate {
        claim,
        support,
        exceptions,
        records,
        misses,
        scale: 1.0,
        trials: records as f64,
        nats: 0.0,
        doubt: None,
        class: Class::Certain,
    }
}

/// A group's part in what chance would give: its part of all records or of all codes, whichever is
/// less, since who has more visits has more occasions.
pub(crate) fn part_of_group(records: [u64; 2], codes: [u64; 2]) -> f64 {
    let part = |[of_group, all]: [u64; 2]| of_group as f64 / all.max(1) as f64;
    part(records).min(part(codes))
}

/// At most one of each category of static codes.
pub(crate) fn one_of(profile: &Profile, columns: &Columns, options: &MineOptions) -> Pool {
    let mut pool = Pool::new(Template::OneOf, columns.categories.len() as u64, options);
    for (category, members) in columns.categories.iter().enumerate() {
        let sizes = || members.iter().map(|&group| profile.group_records[group]);
        let overlaps = profile.category_overlaps[category];
        let support = sizes().sum::<u64>().saturating_sub(overlaps).min(profile.records);
        if sizes().filter(|&size| size > 0).count() < 2 {
            continue;
        }
        let claim = Claim::OneOf { category, exactly: false };
        pool.offer(candidate(claim, support, overlaps, support, overlaps), || {
            let squares: f64 = sizes().map(|size| (size as f64).powi(2)).sum();
            let all = sizes().sum::<u64>() as f64;
            let pairs = (all * all - squares) / 2.0;
            let expected = pairs / profile.records.max(1) as f64;
            Probability { rate: (expected / support.max(1) as f64).min(1.0), nats: expected }
        });
    }
    pool
}

/// Codes that a group never has.
pub(crate) fn never_for(
    profile: &Profile,
    columns: &Columns,
    cutoffs: &Cutoffs,
    options: &MineOptions,
) -> Pool {
    let common: Vec<usize> = (0..columns.end())
        .filter(|&code| profile.visits_with[code] >= cutoffs.never_for.max(1))
        .collect();
    let groups: Vec<usize> = (0..columns.groups.len())
        .filter(|&group| profile.group_records[group] >= cutoffs.group_records.max(1))
        .collect();
    let candidates = common.len() as u64 * groups.len() as u64;
    let mut pool = Pool::new(Template::NeverFor, candidates, options);
    for &group in &groups {
        let scale = part_of_group(
            [profile.group_records[group], profile.records],
            [profile.group_codes[group], profile.codes],
        );
        for &code in &common {
            let cell = group * columns.len() + code;
            let seen = Candidate {
                scale,
                trials: profile.records_with[code] as f64 * scale,
                ..candidate(
                    Claim::NeverFor { code, group },
                    profile.visits_with[code],
                    profile.group_visits_with[cell],
                    profile.records_with[code],
                    profile.group_records_with[cell],
                )
            };
            pool.offer(seen, || Probability::of(profile.records_with[code], scale));
        }
    }
    pool
}

/// Codes that stay once they are there.
pub(crate) fn stays(
    profile: &Profile,
    columns: &Columns,
    cutoffs: &Cutoffs,
    options: &MineOptions,
) -> Pool {
    let common: Vec<usize> = (0..columns.end())
        .filter(|&code| profile.visits_with[code] >= cutoffs.stays.max(1))
        .filter(|&code| profile.stays[code] >= cutoffs.repeats.max(1))
        .collect();
    let mut pool = Pool::new(Template::Stays, common.len() as u64, options);
    for code in common {
        let (moves, first_moves) = (profile.moves[code], profile.first_moves[code]);
        let seen = candidate(
            Claim::Stays { code },
            moves,
            moves - profile.stays[code],
            first_moves,
            first_moves - profile.first_stays[code],
        );
        pool.offer(seen, || {
            Probability::of(first_moves, 1.0 - share(profile.visits_with[code], profile.visits))
        });
    }
    pool
}

/// The kinds of rules about pairs of codes, with the rows that each is looked for in.
pub(crate) struct PairTemplates<'a> {
    profile: &'a Profile,
    columns: &'a Columns,
    cutoffs: Cutoffs,
    pub together: Pool,
    pub last: Pool,
    pub only_after: Pool,
}

impl<'a> PairTemplates<'a> {
    pub fn new(
        profile: &'a Profile,
        columns: &'a Columns,
        cutoffs: Cutoffs,
        options: &MineOptions,
    ) -> Self {
        let others = columns.len().saturating_sub(2) as u64;
        let rows = |least: u64| {
            (0..columns.end()).filter(|&code| profile.visits_with[code] >= least.max(1)).count()
        };
        // What a value goes with is a matter of degree. Bonds that nearly hold would have those that do
        // hold doubted, since claims of a kind are judged by each other.
        let codes = (0..columns.end()).filter(|&code| !columns.is_value[code]);
        let bound =
            codes.clone().filter(|&code| profile.visits_with[code] >= cutoffs.together.max(1));
        let together = bound.count() as u64 * (codes.count() as u64).saturating_sub(1);
        let last = if options.end { rows(cutoffs.together) as u64 } else { 0 };
        let only_after = rows(cutoffs.only_after) as u64 * others;
        Self {
            profile,
            columns,
            cutoffs,
            together: Pool::new(Template::Together, together, options),
            last: Pool::new(Template::Last, last, options),
            only_after: Pool::new(Template::OnlyAfter, only_after, options),
        }
    }

    /// The codes whose pairs are counted, and of which of them what came before is.
    pub fn rows(&self, options: &MineOptions) -> (Vec<usize>, Vec<bool>) {
        let ordered = |code: usize| {
            // In a record's first encounter nothing came before: that is an exception to whatever
            // a code might come after.
            let exceptions = self.profile.first_at[code * STAGES];
            let records = self.profile.records_with[code] as f64;
            let near = options.near.map_or(0.0, |near| near.exceptions * records);
            let looked_at = if options.evidence.is_some() { 10.0 } else { 0.0 };
            self.is_row(code, self.cutoffs.only_after) && exceptions as f64 <= near.max(looked_at)
        };
        let all = (0..self.columns.end())
            .map(|code| (code, ordered(code)))
            .filter(|&(code, ordered)| ordered || self.is_row(code, self.cutoffs.together));
        all.unzip()
    }

    fn is_row(&self, code: usize, least: u64) -> bool {
        self.profile.visits_with[code] >= least.max(1)
    }

    /// Takes in the counts of one row.
    pub fn row(&mut self, code: usize, ordered: bool, pairs: PairRow<'_>) {
        let profile = self.profile;
        let (visits, records) = (profile.visits_with[code], profile.records_with[code]);
        if self.is_row(code, self.cutoffs.together) {
            let (together, at_first) = (pairs.together, pairs.at_first);
            for with in (0..self.columns.len()).filter(|&with| with != code) {
                let is_end = with == self.columns.end();
                let of_values = self.columns.is_value[code] || self.columns.is_value[with];
                if together[with] == 0 || (of_values && !is_end) {
                    continue;
                }
                let (claim, pool) = match is_end {
                    true => (Claim::Last { code }, &mut self.last),
                    false => (Claim::Together { code, with }, &mut self.together),
                };
                let seen = candidate(
                    claim,
                    visits,
                    visits - u64::from(together[with]),
                    records,
                    records - u64::from(at_first[with]),
                );
                pool.offer(seen, || {
                    // Visits with many codes are those that a code is likely found in.
                    let plain = share(profile.visits_with[with], profile.visits);
                    let crowded = share(profile.company[with], profile.codes);
                    Probability::of(records, 1.0 - plain.max(crowded))
                });
            }
        }
        if ordered {
            let before = pairs.before;
            for other in (0..self.columns.end()).filter(|&other| other != code) {
                if before[other] == 0 {
                    continue;
                }
                let misses = records - u64::from(before[other]);
                let claim = Claim::OnlyAfter { code, other };
                let seen = candidate(claim, records, misses, records, misses);
                self.only_after.offer(seen, || probability_before(profile, code, other));
            }
        }
    }
}

/// How likely the other code is in the past of the visits that have the code first, judged by how
/// far into their records these visits are.
fn probability_before(profile: &Profile, code: usize, other: usize) -> Probability {
    let (mut nats, mut misses, mut records) = (0.0, 0.0, 0.0);
    for stage in 0..STAGES {
        let first = profile.first_at[code * STAGES + stage] as f64;
        if first > 0.0 {
            let past = share(profile.past_at[other * STAGES + stage], profile.visits_at[stage]);
            nats -= first * past.ln();
            misses += first * (1.0 - past);
            records += first;
        }
    }
    Probability { rate: if records > 0.0 { misses / records } else { 0.0 }, nats }
}
