//! What is counted for common sense: categories, deaths, times between encounters, and which sex has which codes.

use consequence_record::{
    Cohort, DayBand, GAP_PREFIX, RecordView, Split, Vocabulary, ends_stay_in_death, says_dead,
};

use super::structure::{Families, FamilyCounts, FamilyScratch};
use crate::records::{Columns, add, by_family, sweep};

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
    /// By code that must come with others: records where it must, and those where it comes without.
    pub paired: Vec<u64>,
    pub unpaired: Vec<u64>,
    /// Records with a gap in their first encounter, and with none or several in a later one.
    pub gap_at_first: u64,
    pub odd_gaps_later: u64,
    /// Records with several gaps in an encounter.
    pub several_gaps: u64,
    /// Records in which an encounter follows a stay of a day or more, and in which one begins within it.
    pub follow_stay: u64,
    pub within_stay: u64,
    /// By group: records to learn from; and by group and column, those with the code.
    pub group_records: Vec<u64>,
    pub group_with: Vec<u64>,
    /// Which families of codes come together.
    pub families: FamilyCounts,
}

/// A code of death, and those one of which comes with it in its encounter: death within a stay is how the stay
/// ended, and a stay that ended in death has a death.
pub struct Pair {
    pub death: usize,
    pub others: Vec<usize>,
    /// The columns of stays one of which the encounter must have for that; none: it holds for any.
    pub stays: Vec<usize>,
}

/// What a cohort speaks of, and how often.
pub struct Found<'a> {
    pub categories: Vec<Category<'a>>,
    /// Columns whose names say that the patient died.
    pub deaths: Vec<usize>,
    /// Codes of death that come with others.
    pub pairs: Vec<Pair>,
    /// Columns of times since the encounter before.
    pub gaps: Vec<usize>,
    /// Columns of stays, each with the columns of times after which it is not over.
    pub stays: Vec<(usize, Vec<usize>)>,
    /// Codes by what stands before the first `//`.
    pub families: Families<'a>,
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
        let lengths = of_columns(&|name| DayBand::of_stay(name).is_some());
        let pairs = pairs(&deaths, &lengths, &|column| ends_stay_in_death(name(column)));
        let gaps = of_columns(&|name| name.starts_with(GAP_PREFIX));
        let stays = stays(&gaps, columns, vocabulary);
        let families = Families::of(vocabulary, columns);
        let empty = || Counts {
            without: vec![0; categories.len()],
            several: vec![0; categories.len()],
            deaths: vec![0; deaths.len()],
            goes_on: vec![0; deaths.len()],
            paired: vec![0; pairs.len()],
            unpaired: vec![0; pairs.len()],
            group_records: vec![0; columns.groups.len()],
            group_with: vec![0; columns.groups.len() * columns.len()],
            families: FamilyCounts::empty(&families, columns),
            ..Counts::default()
        };
        let work = |part: &mut (Counts, Scratch), record: usize| {
            let (counts, scratch) = part;
            scratch.read(&cohort.record(record), columns);
            counts.statics(scratch, &categories);
            counts.deaths(scratch, &deaths);
            counts.in_pairs(scratch, &pairs);
            counts.gaps(scratch, &gaps);
            counts.stays(scratch, &stays);
            counts.families.record(&scratch.encounters, &families, &mut scratch.families);
            if splits.get(record) != Some(&Split::HeldOut) {
                counts.of_groups(scratch, columns);
            }
        };
        let start = || (empty(), Scratch::default());
        let join = |(mut one, scratch): (Counts, Scratch), (other, _): (Counts, Scratch)| {
            one.add(&other);
            (one, scratch)
        };
        let workers = rayon::current_num_threads();
        let (counts, _) = sweep(cohort.len(), workers, start, work, join);
        Self { categories, deaths, pairs, gaps, stays, families, counts }
    }
}

/// What comes together where some codes of death say how a stay ended and others do not. A code that says so is
/// always within a stay; another is only where the encounter has a length.
fn pairs(deaths: &[usize], lengths: &[usize], ends_stay: &dyn Fn(usize) -> bool) -> Vec<Pair> {
    let (endings, plain): (Vec<usize>, Vec<usize>) =
        deaths.iter().partition(|&&death| ends_stay(death));
    let within = plain.iter().filter(|_| !endings.is_empty() && !lengths.is_empty());
    let within = within.map(|&death| (death, &endings, lengths));
    let ended =
        endings.iter().filter(|_| !plain.is_empty()).map(|&ending| (ending, &plain, &[][..]));
    let pair = |(death, others, stays): (usize, &Vec<usize>, &[usize])| Pair {
        death,
        others: others.clone(),
        stays: stays.to_vec(),
    };
    within.chain(ended).map(pair).collect()
}

/// Stays of a day or more, each with the times since the encounter before after which it is not over.
fn stays(gaps: &[usize], columns: &Columns, vocabulary: &Vocabulary) -> Vec<(usize, Vec<usize>)> {
    let name = |column: usize| vocabulary.name(columns.codes[column]);
    let stays = (0..columns.end()).filter_map(|column| {
        let stay = DayBand::of_stay(name(column)).filter(|stay| stay.from > 0)?;
        let shorter = |gap: &&usize| {
            let band = DayBand::of_gap(name(**gap));
            band.and_then(|band| band.to).is_some_and(|to| to <= stay.from)
        };
        let shorter: Vec<usize> = gaps.iter().filter(shorter).copied().collect();
        (!shorter.is_empty()).then_some((column, shorter))
    });
    stays.collect()
}

/// A record as it is counted.
#[derive(Debug, Default)]
struct Scratch {
    groups: Vec<usize>,
    /// Codes of the record, each once, and those of the last encounter.
    seen: Vec<u32>,
    last: Vec<u32>,
    encounters: Vec<Vec<u32>>,
    families: FamilyScratch,
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

    fn in_pairs(&mut self, scratch: &Scratch, pairs: &[Pair]) {
        for (number, Pair { death, others, stays }) in pairs.iter().enumerate() {
            let has =
                |codes: &[u32], column: &usize| codes.binary_search(&(*column as u32)).is_ok();
            let any = |codes: &[u32], of: &[usize]| of.iter().any(|column| has(codes, column));
            let must =
                |codes: &&Vec<u32>| has(codes, death) && (stays.is_empty() || any(codes, stays));
            let mut where_must = scratch.encounters.iter().filter(must).peekable();
            self.paired[number] += u64::from(where_must.peek().is_some());
            self.unpaired[number] += u64::from(where_must.any(|codes| !any(codes, others)));
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

    fn stays(&mut self, scratch: &Scratch, stays: &[(usize, Vec<usize>)]) {
        let has = |codes: &[u32], column: usize| codes.binary_search(&(column as u32)).is_ok();
        let (mut follows, mut within) = (false, false);
        for pair in scratch.encounters.windows(2) {
            for (_, shorter) in stays.iter().filter(|(stay, _)| has(&pair[0], *stay)) {
                follows = true;
                within |= shorter.iter().any(|&gap| has(&pair[1], gap));
            }
        }
        self.follow_stay += u64::from(follows);
        self.within_stay += u64::from(within);
    }

    /// Which group has which codes.
    fn of_groups(&mut self, scratch: &Scratch, columns: &Columns) {
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
        self.follow_stay += other.follow_stay;
        self.within_stay += other.within_stay;
        self.families.add(&other.families);
        for (into, from) in [
            (&mut self.without, &other.without),
            (&mut self.several, &other.several),
            (&mut self.deaths, &other.deaths),
            (&mut self.goes_on, &other.goes_on),
            (&mut self.paired, &other.paired),
            (&mut self.unpaired, &other.unpaired),
            (&mut self.group_records, &other.group_records),
            (&mut self.group_with, &other.group_with),
        ] {
            add(into, from);
        }
    }
}
