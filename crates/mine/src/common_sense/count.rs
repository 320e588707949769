//! What is counted for common sense: categories, deaths, times between encounters, and which sex has which codes.

use consequence_record::{Cohort, RecordView, Split, Vocabulary, says_dead};

use crate::records::{Columns, add, by_family, sweep};

/// What stands before codes for the time since the encounter before.
const GAPS: &str = "GAP";

/// A category of static codes: what they share before the last `//`, and which groups they are.
#[derive(Debug)]
pub struct Category<'a> {
    pub name: &'a str,
    pub groups: Vec<usize>,
}

/// What was counted.
#[derive(Debug, Default)]
pub struct Counts {
    pub records: u64,
    /// By category: records with none of its codes, and with several.
    pub without: Vec<u64>,
    pub several: Vec<u64>,
    /// By code of death: records with it, and those of them that go on after it.
    pub deaths: Vec<u64>,
    pub goes_on: Vec<u64>,
    /// Records with a gap in their first encounter, and with none or several in a later one.
    pub gap_at_first: u64,
    pub odd_gaps_later: u64,
    /// Records with several gaps in an encounter.
    pub several_gaps: u64,
    /// By group: records to learn from; and by group and column, those with the code.
    pub group_records: Vec<u64>,
    pub group_with: Vec<u64>,
}

/// What a cohort speaks of, and how often.
pub struct Found<'a> {
    pub categories: Vec<Category<'a>>,
    /// Columns whose names say that the patient died.
    pub deaths: Vec<usize>,
    /// Columns of times since the encounter before.
    pub gaps: Vec<usize>,
    pub counts: Counts,
}

impl<'a> Found<'a> {
    /// Walks all records once.
    pub fn in_cohort(
        cohort: &Cohort,
        splits: &[Split],
        vocabulary: &'a Vocabulary,
        columns: &Columns,
    ) -> Self {
        let name = |column: usize| vocabulary.name(columns.codes[column]);
        let of_columns = |wanted: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..columns.end()).filter(|&column| wanted(name(column))).collect()
        };
        let named = by_family(vocabulary, &columns.groups);
        let categories: Vec<Category<'a>> =
            named.into_iter().map(|(name, groups)| Category { name, groups }).collect();
        let deaths = of_columns(&says_dead);
        let gaps = of_columns(&|name| name.split_once("//").is_some_and(|parts| parts.0 == GAPS));
        let empty = || Counts {
            without: vec![0; categories.len()],
            several: vec![0; categories.len()],
            deaths: vec![0; deaths.len()],
            goes_on: vec![0; deaths.len()],
            group_records: vec![0; columns.groups.len()],
            group_with: vec![0; columns.groups.len() * columns.len()],
            ..Counts::default()
        };
        let work = |part: &mut (Counts, Scratch), record: usize| {
            let (counts, scratch) = part;
            scratch.read(&cohort.record(record), columns);
            counts.statics(scratch, &categories);
            counts.deaths(scratch, &deaths);
            counts.gaps(scratch, &gaps);
            if splits.get(record) != Some(&Split::HeldOut) {
                counts.pairs(scratch, columns);
            }
        };
        let start = || (empty(), Scratch::default());
        let join = |(mut one, scratch): (Counts, Scratch), (other, _): (Counts, Scratch)| {
            one.add(&other);
            (one, scratch)
        };
        let workers = rayon::current_num_threads();
        let (counts, _) = sweep(cohort.len(), workers, start, work, join);
        Self { categories, deaths, gaps, counts }
    }
}

/// A record as it is counted.
#[derive(Debug, Default)]
struct Scratch {
    groups: Vec<usize>,
    /// Codes of the record, each once, and those of the last encounter.
    seen: Vec<u32>,
    last: Vec<u32>,
    encounters: Vec<Vec<u32>>,
}

impl Scratch {
    fn read(&mut self, record: &RecordView<'_>, columns: &Columns) {
        columns.groups_of(record, &mut self.groups);
        let encounters = record.len().saturating_sub(1);
        self.encounters.resize_with(encounters, Vec::new);
        self.seen.clear();
        for (visit, codes) in (1..).zip(&mut self.encounters) {
            columns.encounter(record, visit, codes);
            self.seen.extend_from_slice(codes);
        }
        self.seen.sort_unstable();
        self.seen.dedup();
        self.last.clear();
        if let Some(codes) = self.encounters.last().filter(|_| record.ended()) {
            self.last.extend_from_slice(codes);
        }
    }

    /// Whether a code is in an encounter that is not the last.
    fn goes_on_after(&self, column: u32) -> bool {
        let ended = self.last.binary_search(&column).is_ok();
        let before = self.encounters.len().saturating_sub(usize::from(ended));
        self.encounters[..before].iter().any(|codes| codes.binary_search(&column).is_ok())
    }
}

impl Counts {
    fn statics(&mut self, scratch: &Scratch, categories: &[Category<'_>]) {
        self.records += 1;
        for (number, category) in categories.iter().enumerate() {
            let codes = scratch.groups.iter().filter(|group| category.groups.contains(group));
            match codes.count() {
                0 => self.without[number] += 1,
                1 => {}
                _ => self.several[number] += 1,
            }
        }
    }

    fn deaths(&mut self, scratch: &Scratch, deaths: &[usize]) {
        for (number, &column) in deaths.iter().enumerate() {
            let column = column as u32;
            if scratch.seen.binary_search(&column).is_ok() {
                self.deaths[number] += 1;
                self.goes_on[number] += u64::from(scratch.goes_on_after(column));
            }
        }
    }

    fn gaps(&mut self, scratch: &Scratch, gaps: &[usize]) {
        if gaps.is_empty() || scratch.encounters.is_empty() {
            return;
        }
        let present =
            |codes: &Vec<u32>| gaps.iter().filter(|&&gap| codes.contains(&(gap as u32))).count();
        let (first, later) = scratch.encounters.split_at(1);
        self.gap_at_first += u64::from(first.iter().any(|codes| present(codes) > 0));
        self.odd_gaps_later += u64::from(later.iter().any(|codes| present(codes) != 1));
        let several = scratch.encounters.iter().any(|codes| present(codes) > 1);
        self.several_gaps += u64::from(several);
    }

    /// Which group has which codes.
    fn pairs(&mut self, scratch: &Scratch, columns: &Columns) {
        for &group in &scratch.groups {
            self.group_records[group] += 1;
            for &column in &scratch.seen {
                self.group_with[group * columns.len() + column as usize] += 1;
            }
        }
    }

    fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.gap_at_first += other.gap_at_first;
        self.odd_gaps_later += other.odd_gaps_later;
        self.several_gaps += other.several_gaps;
        for (into, from) in [
            (&mut self.without, &other.without),
            (&mut self.several, &other.several),
            (&mut self.deaths, &other.deaths),
            (&mut self.goes_on, &other.goes_on),
            (&mut self.group_records, &other.group_records),
            (&mut self.group_with, &other.group_with),
        ] {
            add(into, from);
        }
    }
}
