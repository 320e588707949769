//! Codes that only come within a few visits after another, looked for among those that only come
//! after it.

use consequence_tally::{Block, Counts as _, counts};

use crate::claim::Claim;
use crate::found::Template;
use crate::options::MineOptions;
use crate::pool::{Pool, Probability, Settled};
use crate::records::{Columns, STAGES, stage, sweep};
use crate::survey::Sample;
use crate::templates::{candidate, share};

/// The most visits that are looked back.
const FARTHEST: usize = 3;

/// Counts for pairs of codes, the first of which only comes after the second.
pub(crate) struct Counts {
    /// By pair: visits and records with the code.
    visits: Vec<u64>,
    records: Vec<u64>,
    /// By pair and distance: visits that do not have the other so near, and records whose first
    /// visit with the code does not.
    exceptions: Vec<[u64; FARTHEST]>,
    misses: Vec<[u64; FARTHEST]>,
    /// By pair and stage: records that have the code first there.
    first_at: Vec<u64>,
    /// By other code and stage: visits with it in their past, and, by distance, so near.
    past_at: Vec<u64>,
    near_at: Vec<[u64; FARTHEST]>,
}

counts!(Counts { visits, records, exceptions, misses, first_at, past_at, near_at });

struct Part {
    counts: Counts,
    /// By pair: the record that last had the code.
    seen_in: Vec<u64>,
    /// By other code: the record that last had it, and the encounter.
    lately: Vec<(u64, usize)>,
    record: u64,
    now: Vec<u32>,
}

/// Looks for the shortest distance of each pair of codes, of which the first only comes after the second.
pub(crate) struct Near<'a> {
    columns: &'a Columns,
    pairs: Vec<(usize, usize)>,
    /// The second codes of pairs, in order.
    others: Vec<usize>,
    /// By column: its place among these.
    place_of: Vec<usize>,
    /// By column: its pairs, and the places of their second codes.
    pairs_of: Vec<Vec<(usize, usize)>>,
}

impl<'a> Near<'a> {
    /// For these pairs: a code and the one it comes after.
    pub fn new(columns: &'a Columns, pairs: Vec<(usize, usize)>) -> Self {
        let mut others: Vec<usize> = pairs.iter().map(|&(_, other)| other).collect();
        others.sort_unstable();
        others.dedup();
        let place = |code: usize| others.binary_search(&code).unwrap_or(usize::MAX);
        let place_of: Vec<usize> = (0..columns.len()).map(place).collect();
        let mut pairs_of: Vec<Vec<(usize, usize)>> = vec![Vec::new(); columns.len()];
        for (pair, &(code, other)) in pairs.iter().enumerate() {
            pairs_of[code].push((pair, place(other)));
        }
        Self { columns, pairs, others, place_of, pairs_of }
    }

    /// Counts records of a sample.
    pub fn of(&self, block: &Block<'_>, sample: &Sample) -> Counts {
        let (cohort, records) = (block.records.cohort(), sample.for_distances(block));
        let start = || Part {
            counts: Counts::new(self.pairs.len(), self.others.len()),
            seen_in: vec![0; self.pairs.len()],
            lately: vec![(0, 0); self.others.len()],
            record: 0,
            now: Vec::new(),
        };
        let work = |part: &mut Part, index: usize| {
            let record = cohort.record(records[index]);
            part.record += 1;
            for visit in 1..record.len() {
                self.columns.encounter(&record, visit, &mut part.now);
                part.visit(visit, &self.pairs_of, &self.place_of);
            }
        };
        let join = |mut one: Part, other: Part| {
            one.counts.add(other.counts);
            one
        };
        sweep(records.len(), rayon::current_num_threads(), start, work, join).counts
    }

    /// What was found.
    pub fn settled(&self, counts: &Counts, options: &MineOptions) -> Settled {
        let candidates = (self.pairs.len() * FARTHEST) as u64;
        let mut pool = Pool::new(Template::SoonAfter, candidates, options);
        for (pair, &(code, other)) in self.pairs.iter().enumerate() {
            let nearest = (0..FARTHEST).find(|&step| counts.exceptions[pair][step] == 0);
            // Where none is without exceptions, the farthest says how many such claims have few.
            let step = nearest.unwrap_or(FARTHEST - 1);
            let (visits, records) = (counts.visits[pair], counts.records[pair]);
            let seen = candidate(
                Claim::SoonAfter { code, other, visits: step as u16 + 1 },
                visits,
                counts.exceptions[pair][step],
                records,
                counts.misses[pair][step],
            );
            pool.offer(seen, || counts.probability(pair, self.place_of[other], step));
        }
        let mut settled = pool.settle();
        // What only comes after another with exceptions is no tighter than that it comes after it.
        settled.almost.clear();
        settled
    }
}

impl Counts {
    fn new(pairs: usize, others: usize) -> Self {
        Self {
            visits: vec![0; pairs],
            records: vec![0; pairs],
            exceptions: vec![[0; FARTHEST]; pairs],
            misses: vec![[0; FARTHEST]; pairs],
            first_at: vec![0; pairs * STAGES],
            past_at: vec![0; others * STAGES],
            near_at: vec![[0; FARTHEST]; others * STAGES],
        }
    }

    /// How likely the other code, where it is in the past, is so near, that far into a record.
    fn probability(&self, pair: usize, other: usize, step: usize) -> Probability {
        let (mut nats, mut misses) = (0.0, 0.0);
        for stage in 0..STAGES {
            let first = self.first_at[pair * STAGES + stage] as f64;
            if first > 0.0 {
                let place = other * STAGES + stage;
                let near = share(self.near_at[place][step], self.past_at[place]);
                nats -= first * near.ln();
                misses += first * (1.0 - near);
            }
        }
        Probability { rate: misses / self.records[pair].max(1) as f64, nats }
    }
}

impl Part {
    fn visit(&mut self, visit: usize, pairs_of: &[Vec<(usize, usize)>], place_of: &[usize]) {
        let Self { counts, seen_in, lately, record, now } = self;
        for (other, &(of_record, at)) in lately.iter().enumerate() {
            if of_record == *record {
                let place = other * STAGES + stage(visit);
                counts.past_at[place] += 1;
                for (step, near) in counts.near_at[place].iter_mut().enumerate() {
                    *near += u64::from(visit - at <= step + 1);
                }
            }
        }
        for &column in now.iter() {
            for &(pair, other) in &pairs_of[column as usize] {
                let (of_record, at) = lately[other];
                let distance = if of_record == *record { visit - at } else { usize::MAX };
                let first = std::mem::replace(&mut seen_in[pair], *record) != *record;
                counts.visits[pair] += 1;
                counts.records[pair] += u64::from(first);
                if first {
                    counts.first_at[pair * STAGES + stage(visit)] += 1;
                }
                for step in 0..FARTHEST {
                    let far = distance > step + 1;
                    counts.exceptions[pair][step] += u64::from(far);
                    counts.misses[pair][step] += u64::from(far && first);
                }
            }
        }
        for &column in now.iter() {
            if let Some(last) = lately.get_mut(place_of[column as usize]) {
                *last = (*record, visit);
            }
        }
    }
}
