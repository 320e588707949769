//! What is counted of a part of the train split, for the kinds of rules beyond the paper's that
//! need counts of their own: codes that come once, and families of which a visit has one.

use consequence_record::{Cohort, Split};
use consequence_tally::{Block, Counts, counts, key};

use crate::claim::{Claim, InVisit};
use crate::found::Template;
use crate::options::{Cutoffs, Evidence, MineOptions};
use crate::pool::{Candidate, Pool, Probability};
use crate::records::{Columns, STAGES, Walk, last_of, stage, sweep};
use crate::templates::{candidate, share};

/// Which records of the train split are looked at, by a key of their ids. Of a very large cohort they are a part: what
/// it shows is held against all records afterwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// One in so many records, and one in so many of those for which distances are looked at.
    stride: u64,
    distance_stride: u64,
}

/// What the key of a record is for.
const PURPOSE: u64 = 0x6d69_6e65;

impl Sample {
    /// Records of each half, at most.
    const MOST: u64 = 30_000;

    /// Of a train split of so many records.
    pub fn of(train: u64) -> Self {
        let stride = |most: u64| train.div_ceil(most).max(1);
        Self { stride: stride(2 * Self::MOST), distance_stride: stride(Self::MOST) }
    }

    fn chosen(&self, block: &Block<'_>, wanted: impl Fn(u64) -> bool) -> Vec<usize> {
        let cohort = block.records.cohort();
        let train = block.indices().filter(|&index| block.splits[index] == Split::Train);
        train.filter(|&index| wanted(key(cohort.id(index), PURPOSE))).collect()
    }

    /// The half of them that groups of codes are formed in, by their indices in the cohort.
    pub fn forming(&self, block: &Block<'_>) -> Vec<usize> {
        self.chosen(block, |key| key & 1 == 0 && (key >> 1).is_multiple_of(self.stride))
    }

    /// The other half, in which they are tested.
    pub fn testing(&self, block: &Block<'_>) -> Vec<usize> {
        self.chosen(block, |key| key & 1 == 1 && (key >> 1).is_multiple_of(self.stride))
    }

    /// Both halves.
    pub fn all(&self, block: &Block<'_>) -> Vec<usize> {
        self.chosen(block, |key| (key >> 1).is_multiple_of(self.stride))
    }

    /// Those of them for which distances between visits are looked at.
    pub fn for_distances(&self, block: &Block<'_>) -> Vec<usize> {
        self.chosen(block, |key| (key >> 1).is_multiple_of(self.distance_stride))
    }
}

/// Counts over the sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    pub records: u64,
    pub visits: u64,
    /// Records with an encounter, and with two or more.
    begun: u64,
    longer: u64,
    /// By column: visits and records with the code, and records that have it twice.
    visits_with: Vec<u64>,
    records_with: Vec<u64>,
    again: Vec<u64>,
    /// By column: visits that have the code in their past.
    past: Vec<u64>,
    /// By column, and by how many visits follow the first with the code: records.
    later: Vec<u64>,
    /// By category: records without a code of it.
    category_missing: Vec<u64>,
    /// By family: visits with a code of it, and with two; records with one, and those of them whose
    /// first such visit has two.
    family_visits: Vec<u64>,
    family_overs: Vec<u64>,
    family_records: Vec<u64>,
    family_first_overs: Vec<u64>,
    /// By family: first encounters with a code of it.
    family_firsts: Vec<u64>,
}

counts!(Survey {
    records,
    visits,
    begun,
    longer,
    visits_with,
    records_with,
    again,
    past,
    later,
    category_missing,
    family_visits,
    family_overs,
    family_records,
    family_first_overs,
    family_firsts,
});

struct Part {
    survey: Survey,
    walk: Walk,
    /// By column: the record that last had the code twice; by family: that last had a code.
    twice_in: Vec<u64>,
    family_in: Vec<u64>,
    /// The families of a visit, one for each code that has one, in order.
    families: Vec<usize>,
    groups: Vec<usize>,
    now: Vec<u32>,
}

impl Survey {
    fn empty(columns: &Columns) -> Self {
        let codes = vec![0; columns.len()];
        let families = vec![0; columns.families.len()];
        Self {
            visits_with: codes.clone(),
            records_with: codes.clone(),
            again: codes.clone(),
            past: codes,
            later: vec![0; columns.len() * STAGES],
            category_missing: vec![0; columns.categories.len()],
            family_visits: families.clone(),
            family_overs: families.clone(),
            family_records: families.clone(),
            family_first_overs: families.clone(),
            family_firsts: families,
            ..Self::default()
        }
    }

    /// Walks these records.
    pub fn of(cohort: &Cohort, records: &[usize], columns: &Columns) -> Self {
        let start = || Part {
            survey: Self::empty(columns),
            walk: Walk::new(columns.len()),
            twice_in: vec![0; columns.len()],
            family_in: vec![0; columns.families.len()],
            families: Vec::new(),
            groups: Vec::new(),
            now: Vec::new(),
        };
        let work = |part: &mut Part, place: usize| part.record(cohort, columns, records[place]);
        let join = |mut one: Part, other: Part| {
            one.survey.add(other.survey);
            one
        };
        sweep(records.len(), rayon::current_num_threads(), start, work, join).survey
    }

    /// Codes that no record has twice. Those that end a record are left out: it says the same.
    pub fn once(
        &self,
        columns: &Columns,
        cutoffs: &Cutoffs,
        options: &MineOptions,
        ends: &[usize],
    ) -> Pool {
        let common: Vec<usize> = (0..columns.end())
            .filter(|&code| self.visits_with[code] >= cutoffs.only_after.max(1))
            .filter(|&code| self.past[code] > 0 && !ends.contains(&code))
            .collect();
        let mut pool = Pool::new(Template::Once, common.len() as u64, options);
        for code in common {
            let (visits, records) = (self.visits_with[code], self.records_with[code]);
            // As often as in visits of those who did not have it yet.
            let likely = share(records, self.visits - self.past[code]);
            let expected = self.expected(code, likely);
            let seen = Candidate {
                trials: expected,
                scale: (expected / records.max(1) as f64).min(1.0),
                ..candidate(
                    Claim::Once { code },
                    visits,
                    visits - records,
                    records,
                    self.again[code],
                )
            };
            pool.offer(seen, || Probability { rate: seen.scale, nats: expected });
        }
        pool
    }

    /// Records that would have a code again, were it as likely in each visit after its first.
    fn expected(&self, code: usize, likely: f64) -> f64 {
        let stages = self.later[code * STAGES..][..STAGES].iter().enumerate();
        let each = stages.map(|(stage, &records)| {
            let fewest = if stage == 0 { 1 } else { last_of(stage - 1).saturating_add(1) };
            records as f64 * -((fewest as f64 * (-likely).ln_1p()).exp_m1())
        });
        each.sum()
    }

    /// Families of which no visit has two codes.
    pub fn one_in_visit(&self, columns: &Columns, options: &MineOptions) -> Pool {
        let seen = |family: usize| {
            let members = columns.families[family].iter();
            members.filter(|&&column| self.visits_with[column] > 0).count()
        };
        let families: Vec<usize> =
            (0..columns.families.len()).filter(|&family| seen(family) > 1).collect();
        let mut pool = Pool::new(Template::OneInVisit, families.len() as u64, options);
        for family in families {
            let (visits, records) = (self.family_visits[family], self.family_records[family]);
            let claim = Claim::OneInVisit { family, count: InVisit::AtMostOne };
            let (overs, first) = (self.family_overs[family], self.family_first_overs[family]);
            pool.offer(candidate(claim, visits, overs, records, first), || {
                let sizes = || {
                    columns.families[family].iter().map(|&column| self.visits_with[column] as f64)
                };
                let (all, squares) =
                    (sizes().sum::<f64>(), sizes().map(|size| size * size).sum::<f64>());
                let pairs = (all * all - squares) / 2.0 / self.visits.max(1) as f64;
                // Visits of a record count once.
                let nats = pairs * records as f64 / visits.max(1) as f64;
                Probability { rate: (nats / records.max(1) as f64).min(1.0), nats }
            });
        }
        pool
    }

    /// The claim that there is exactly one, where at most one is claimed and no record of the sample
    /// lacks one.
    pub fn exactly(&self, claim: Claim, evidence: Option<Evidence>) -> Option<Claim> {
        // The probability that some lack one, where that was as likely as not at first, and any share
        // of them as likely as any other.
        let doubt = |records: u64| 1.0 / (records as f64 + 2.0);
        let sure = |records: u64| evidence.is_none_or(|evidence| doubt(records) <= evidence.doubt);
        match claim {
            Claim::OneOf { category, .. } => {
                let always = self.category_missing[category] == 0 && sure(self.records);
                always.then_some(Claim::OneOf { category, exactly: true })
            }
            Claim::OneInVisit { family, .. } => {
                let firsts = self.family_firsts[family];
                if self.family_visits[family] - firsts < self.visits - self.begun {
                    return None;
                }
                let start = self.category_missing.iter().position(|&missing| missing == 0);
                let count = match (self.begun - firsts, start) {
                    (0, _) if sure(self.begun) => InVisit::ExactlyOne,
                    (1.., Some(category)) if self.longer > 0 && sure(self.longer) => {
                        InVisit::ExactlyOneAfterFirst { category }
                    }
                    _ => return None,
                };
                Some(Claim::OneInVisit { family, count })
            }
            _ => None,
        }
    }
}

impl Part {
    fn record(&mut self, cohort: &Cohort, columns: &Columns, index: usize) {
        let record = cohort.record(index);
        if record.len() == 0 {
            return;
        }
        let Self { survey, walk, twice_in, family_in, families, groups, now } = self;
        let encounters = record.len() - 1;
        survey.records += 1;
        survey.visits += encounters as u64;
        survey.begun += u64::from(encounters > 0);
        survey.longer += u64::from(encounters > 1);
        let number = survey.records;
        columns.groups_of(&record, groups);
        for (category, missing) in survey.category_missing.iter_mut().enumerate() {
            let has = groups.iter().any(|&group| columns.category_of[group] == Some(category));
            *missing += u64::from(!has);
        }
        walk.begin_record();
        for visit in 1..=encounters {
            columns.encounter(&record, visit, now);
            walk.begin_visit(now);
            families.clear();
            for &code in now.iter() {
                let column = code as usize;
                let first = walk.is_first(code);
                survey.visits_with[column] += 1;
                survey.records_with[column] += u64::from(first);
                if !first && std::mem::replace(&mut twice_in[column], number) != number {
                    survey.again[column] += 1;
                }
                families.extend(columns.family_of[column]);
            }
            families.sort_unstable();
            for same in families.chunk_by(|one, other| one == other) {
                let (family, over) = (same[0], u64::from(same.len() > 1));
                survey.family_firsts[family] += u64::from(visit == 1);
                survey.family_visits[family] += 1;
                survey.family_overs[family] += over;
                if std::mem::replace(&mut family_in[family], number) != number {
                    survey.family_records[family] += 1;
                    survey.family_first_overs[family] += over;
                }
            }
        }
        for &code in walk.seen() {
            let after = encounters - walk.first_encounter(code);
            survey.past[code as usize] += after as u64;
            if after > 0 {
                survey.later[code as usize * STAGES + stage(after)] += 1;
            }
        }
    }
}
