//! What a sample says for a planted rule, counted apart from the miner.
//!
//! The miner states what it asks for: the paper's cut-offs, and that independent codes would not
//! show the same by chance. Here both are counted again, plainly, over the train split.

use consequence_mine::{Cutoffs, MineOptions};
use consequence_record::{Code, Cohort, Kind, RecordView, Split, Vocabulary};
use consequence_rules::Rule;
use consequence_simulate::{Planted, RuleKind};

/// How far a sample speaks for a planted rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Not of a kind that is looked for.
    OtherKind,
    /// Fewer occasions than the cut-offs ask for.
    Few,
    /// Independent codes might show the same, with so many candidates.
    ByChance,
    /// Enough occasions, and not by chance.
    Enough,
}

/// Occasions of a rule, and the least evidence against probability that its kind needs.
struct Occasions {
    reached: bool,
    nats: f64,
    candidates: f64,
}

/// Counts over the train split, `END` among the codes.
pub struct Sample<'a> {
    train: Vec<RecordView<'a>>,
    vocabulary: &'a Vocabulary,
    cutoffs: Cutoffs,
    /// The most that the probability of a probability find may be, over all candidates.
    probability: f64,
    encounters: f64,
    codes: f64,
    visits: Vec<u64>,
    records: Vec<u64>,
    /// By code: the codes of all visits that have it.
    company: Vec<u64>,
    repeats: Vec<u64>,
    /// By code: records in which a visit follows the first one that has it.
    followed: Vec<u64>,
    /// By static code: records, and codes of all their encounters.
    group_records: Vec<u64>,
    group_codes: Vec<u64>,
}

fn share(part: u64, all: f64) -> f64 {
    (part as f64 + 0.5) / (all + 1.0)
}

fn codes_at(record: &RecordView<'_>, visit: usize, end: Code) -> Vec<Code> {
    let mut codes = record.visit(visit).to_vec();
    codes.extend(record.ends_at(visit).then_some(end));
    codes
}

impl<'a> Sample<'a> {
    /// Counts the train split of a cohort, to be held against what the options ask for.
    pub fn new(
        cohort: &'a Cohort,
        splits: &[Split],
        vocabulary: &'a Vocabulary,
        options: &MineOptions,
    ) -> Self {
        let train = cohort.records().zip(splits).filter(|(_, split)| **split == Split::Train);
        let zeros = vec![0; vocabulary.len()];
        let mut sample = Self {
            train: train.map(|(record, _)| record).collect(),
            vocabulary,
            cutoffs: options.cutoffs.unwrap_or_else(|| match options.evidence {
                Some(_) => Cutoffs::for_cohort(cohort),
                None => Cutoffs::published(cohort),
            }),
            probability: options.evidence.unwrap_or_default().probability,
            encounters: 0.0,
            codes: 0.0,
            visits: zeros.clone(),
            records: zeros.clone(),
            company: zeros.clone(),
            repeats: zeros.clone(),
            followed: zeros.clone(),
            group_records: zeros.clone(),
            group_codes: zeros,
        };
        let mut seen_in = vec![usize::MAX; vocabulary.len()];
        for (number, record) in sample.train.clone().iter().enumerate() {
            sample.count(number, record, &mut seen_in);
        }
        sample
    }

    fn count(&mut self, number: usize, record: &RecordView<'_>, seen_in: &mut [usize]) {
        let mut of_record = 0;
        for visit in 1..record.len() {
            let codes = codes_at(record, visit, self.vocabulary.end());
            let last = visit + 1 == record.len();
            of_record += codes.len() as u64;
            self.encounters += 1.0;
            for code in &codes {
                let at = code.index();
                self.visits[at] += 1;
                self.company[at] += codes.len() as u64;
                let first = std::mem::replace(&mut seen_in[at], number) != number;
                self.records[at] += u64::from(first);
                self.followed[at] += u64::from(first && !last);
                let again = !last && record.visit(visit + 1).contains(code);
                self.repeats[at] += u64::from(again);
            }
        }
        self.codes += of_record as f64;
        for group in record.visit(0) {
            self.group_records[group.index()] += 1;
            self.group_codes[group.index()] += of_record;
        }
    }

    /// How far the sample speaks for a planted rule.
    pub fn support(&self, rule: &Rule, planted: &Planted) -> Support {
        let mut codes = Vec::new();
        rule.formula().for_each_code(&mut |code, _| codes.push(code));
        let all = match (planted.kind, codes.as_slice()) {
            (RuleKind::OneOfCategory, members) => vec![self.one_of(members)],
            (RuleKind::Together, &[code, with]) => vec![self.together(code, with)],
            (RuleKind::EndsRecord, &[code, end]) => {
                let candidates = self.common(self.cutoffs.together).count() as f64;
                vec![Occasions { candidates, ..self.together(code, end) }]
            }
            (RuleKind::Equivalent, &[one, other]) => {
                vec![self.together(one, other), self.together(other, one)]
            }
            (RuleKind::NeverInGroup, &[group, code]) => vec![self.never(group, code)],
            (RuleKind::OnlyAfter, &[first, code]) => vec![self.only_after(first, code)],
            (RuleKind::Lifelong, &[code, _]) => vec![self.stays(code)],
            _ => return Support::OtherKind,
        };
        let by_chance =
            |seen: &Occasions| seen.nats < (seen.candidates.max(1.0) / self.probability).ln();
        match (all.iter().all(|seen| seen.reached), all.iter().any(by_chance)) {
            (false, _) => Support::Few,
            (true, true) => Support::ByChance,
            (true, false) => Support::Enough,
        }
    }

    /// The encounter codes, `END` not among them, that are in so many visits.
    fn common(&self, least: u64) -> impl Iterator<Item = Code> {
        let codes = self.vocabulary.codes().filter(|&code| code != self.vocabulary.end());
        let encounter = codes.filter(|&code| self.vocabulary.kind(code) == Kind::Encounter);
        encounter.filter(move |code| self.visits[code.index()] >= least)
    }

    fn one_of(&self, members: &[Code]) -> Occasions {
        let size = |code: &Code| self.group_records[code.index()] as f64;
        let all: f64 = members.iter().map(size).sum();
        let squares: f64 = members.iter().map(|code| size(code).powi(2)).sum();
        let nats = (all * all - squares) / 2.0 / self.train.len() as f64;
        let reached = members.iter().filter(|code| size(code) > 0.0).count() > 1;
        // Sex and age.
        Occasions { reached, nats, candidates: 2.0 }
    }

    fn together(&self, code: Code, with: Code) -> Occasions {
        let likely = share(self.visits[with.index()], self.encounters)
            .max(share(self.company[with.index()], self.codes));
        let rows = self.common(self.cutoffs.together).count();
        Occasions {
            reached: self.visits[code.index()] >= self.cutoffs.together,
            nats: -likely.ln() * self.records[code.index()] as f64,
            candidates: rows as f64 * (self.common(0).count() as f64 - 1.0),
        }
    }

    fn never(&self, group: Code, code: Code) -> Occasions {
        let of_records = self.group_records[group.index()] as f64 / self.train.len() as f64;
        let of_codes = self.group_codes[group.index()] as f64 / self.codes;
        let groups = self.group_records.iter().filter(|&&records| records > 0).count();
        let rows = self.common(self.cutoffs.never_for).count();
        Occasions {
            reached: self.visits[code.index()] >= self.cutoffs.never_for,
            nats: -(1.0 - of_records.min(of_codes)).ln() * self.records[code.index()] as f64,
            candidates: rows as f64 * groups as f64,
        }
    }

    fn stays(&self, code: Code) -> Occasions {
        let Cutoffs { stays, repeats, .. } = self.cutoffs;
        let again = |code: Code| self.repeats[code.index()] >= repeats;
        let likely = share(self.visits[code.index()], self.encounters);
        Occasions {
            reached: self.visits[code.index()] >= stays && again(code),
            nats: -likely.ln() * self.followed[code.index()] as f64,
            candidates: self.common(stays).filter(|&code| again(code)).count() as f64,
        }
    }

    /// What came before is as likely as it is that far into a record, visit by visit.
    fn only_after(&self, first: Code, code: Code) -> Occasions {
        let longest = self.train.iter().map(RecordView::len).max().unwrap_or(0);
        let (mut with, mut all, mut begins) =
            (vec![0; longest], vec![0; longest], vec![0; longest]);
        for record in &self.train {
            let (mut in_past, mut begun) = (false, false);
            for visit in 1..record.len() {
                all[visit] += 1;
                with[visit] += u64::from(in_past);
                if !begun && record.visit(visit).contains(&code) {
                    begins[visit] += 1;
                    begun = true;
                }
                in_past |= record.visit(visit).contains(&first);
            }
        }
        let nats = (1..longest)
            .map(|visit| -share(with[visit], all[visit] as f64).ln() * begins[visit] as f64)
            .sum();
        let rows = self.common(self.cutoffs.only_after).count();
        Occasions {
            reached: self.visits[code.index()] >= self.cutoffs.only_after,
            nats,
            candidates: rows as f64 * (self.common(0).count() as f64 - 1.0),
        }
    }
}
