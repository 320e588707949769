//! Records as they are counted: codes as columns without gaps, a walk that knows what came before,
//! all records on all threads, and how far into a record a visit is.

use consequence_record::{Code, Kind, Part, RecordView, Vocabulary};
use consequence_rules::LanguageLimits;
use rayon::prelude::*;

const NONE: u32 = u32::MAX;

/// Encounter codes as columns and static codes as groups. `END` is the last column.
#[derive(Debug)]
pub(crate) struct Columns {
    /// The code of each column.
    pub codes: Vec<Code>,
    /// The code of each group.
    pub groups: Vec<Code>,
    /// The category of each group, if it has one.
    pub category_of: Vec<Option<usize>>,
    /// The groups of each category with two or more of them.
    pub categories: Vec<Vec<usize>>,
    /// The family of each column, if it has one.
    pub family_of: Vec<Option<usize>>,
    /// The columns of each family with two or more of them.
    pub families: Vec<Vec<usize>>,
    /// Whether a column is of a part of a test's values.
    pub is_value: Vec<bool>,
    /// Sets of columns that claims speak of.
    pub sets: Vec<CodeSet>,
    column_of: Vec<u32>,
    group_of: Vec<u32>,
    count_end: bool,
}

/// Columns that have something in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodeSet {
    /// What they have in common.
    pub label: String,
    /// In ascending order.
    pub columns: Vec<usize>,
}

impl Columns {
    /// Numbers the codes of a vocabulary that tell what happened, and not when: what is seen of days is an
    /// accident of the cohort's size. Names longer than the rule language reads are left out.
    pub fn of_events(vocabulary: &Vocabulary, count_end: bool) -> Self {
        Self::of(vocabulary, count_end, |code| vocabulary.part(code) != Part::Time)
    }

    /// Numbers all codes of a vocabulary.
    pub fn of_all(vocabulary: &Vocabulary, count_end: bool) -> Self {
        Self::of(vocabulary, count_end, |_| true)
    }

    fn of(vocabulary: &Vocabulary, count_end: bool, counts: impl Fn(Code) -> bool) -> Self {
        let longest = LanguageLimits::default().name_bytes;
        let (mut codes, mut groups) = (Vec::new(), Vec::new());
        let mut column_of = vec![NONE; vocabulary.len()];
        let mut group_of = vec![NONE; vocabulary.len()];
        let readable = |&code: &Code| vocabulary.name(code).len() <= longest && counts(code);
        for code in vocabulary.codes().filter(readable) {
            let (list, numbers) = match vocabulary.kind(code) {
                Kind::Static => (&mut groups, &mut group_of),
                Kind::Encounter => (&mut codes, &mut column_of),
            };
            numbers[code.index()] = list.len() as u32;
            list.push(code);
        }
        let (category_of, categories) = families(vocabulary, &groups);
        let (family_of, families) = families(vocabulary, &codes);
        let is_value = codes.iter().map(|&code| vocabulary.part(code) == Part::Values).collect();
        let sets = Vec::new();
        Self {
            codes,
            groups,
            category_of,
            categories,
            family_of,
            families,
            is_value,
            sets,
            column_of,
            group_of,
            count_end,
        }
    }

    /// The number of columns, `END` included.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// The column of `END`.
    pub fn end(&self) -> usize {
        self.codes.len() - 1
    }

    /// The codes of a category.
    pub fn of_category(&self, category: usize) -> Vec<Code> {
        self.categories[category].iter().map(|&group| self.groups[group]).collect()
    }

    /// The column of a code, if it has one.
    pub fn column(&self, code: Code) -> Option<usize> {
        let column = *self.column_of.get(code.index())?;
        (column != NONE).then_some(column as usize)
    }

    /// The columns of an encounter in ascending order. What does not belong in one is passed over.
    pub fn encounter(&self, record: &RecordView<'_>, visit: usize, found: &mut Vec<u32>) {
        let codes = record.visit(visit);
        found.clear();
        found.reserve(codes.len() + 1);
        let end = self.end() as u32;
        for code in codes {
            match self.column_of.get(code.index()) {
                Some(&column) if column < end => found.push(column),
                _ => {}
            }
        }
        if self.count_end && record.ends_at(visit) {
            found.push(end);
        }
    }

    /// The groups of a record.
    pub fn groups_of(&self, record: &RecordView<'_>, found: &mut Vec<usize>) {
        found.clear();
        let groups = record.visit(0).iter().map(|code| self.group_of.get(code.index()));
        found.extend(groups.flatten().filter(|&&group| group != NONE).map(|&group| group as usize));
    }
}

/// Codes by what stands before the last `//` of their names. A code without `//` is of no family.
pub(crate) fn by_family<'a>(
    vocabulary: &'a Vocabulary,
    codes: &[Code],
) -> Vec<(&'a str, Vec<usize>)> {
    let mut named: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut numbers = rustc_hash::FxHashMap::default();
    for (place, &code) in codes.iter().enumerate() {
        let Some((name, _)) = vocabulary.name(code).rsplit_once("//") else { continue };
        let number = *numbers.entry(name).or_insert_with(|| {
            named.push((name, Vec::new()));
            named.len() - 1
        });
        named[number].1.push(place);
    }
    named
}

/// Families of several codes: the family of each code, and the members of each family.
fn families(vocabulary: &Vocabulary, codes: &[Code]) -> (Vec<Option<usize>>, Vec<Vec<usize>>) {
    let mut named: Vec<Vec<usize>> =
        by_family(vocabulary, codes).into_iter().map(|(_, members)| members).collect();
    named.retain(|members| members.len() > 1);
    let mut family_of = vec![None; codes.len()];
    for (number, members) in named.iter().enumerate() {
        for &place in members {
            family_of[place] = Some(number);
        }
    }
    (family_of, named)
}

/// Which codes were seen in this record and this visit, by column.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// The number before the record's first encounter: encounters of all records are counted up.
    origin: u64,
    now: u64,
    first: Vec<u64>,
    /// The codes of the record so far, in order of first appearance.
    seen: Vec<u32>,
    before: usize,
}

impl Walk {
    pub fn new(columns: usize) -> Self {
        Self { origin: 1, now: 1, first: vec![0; columns], seen: Vec::new(), before: 0 }
    }

    /// Starts a record: nothing was seen.
    pub fn begin_record(&mut self) {
        // Whatever was seen before this number was seen in another record.
        self.origin = self.now + 1;
        self.now = self.origin;
        self.seen.clear();
        self.before = 0;
    }

    /// Enters the next encounter, which has these codes.
    pub fn begin_visit(&mut self, codes: &[u32]) {
        self.before = self.seen.len();
        self.now += 1;
        for &code in codes {
            let code = code as usize;
            if self.first[code] < self.origin {
                self.first[code] = self.now;
                self.seen.push(code as u32);
            }
        }
    }

    /// Whether this encounter is the code's first. Asked of codes of this encounter.
    pub fn is_first(&self, code: u32) -> bool {
        self.first[code as usize] == self.now
    }

    /// Whether the code was in an earlier encounter.
    pub fn in_past(&self, code: u32) -> bool {
        let first = self.first[code as usize];
        first >= self.origin && first < self.now
    }

    /// The codes of earlier encounters.
    pub fn past(&self) -> &[u32] {
        &self.seen[..self.before]
    }

    /// The codes of earlier encounters and of this one.
    pub fn seen(&self) -> &[u32] {
        &self.seen
    }

    /// The encounter in which the code was first seen, counted from 1.
    pub fn first_encounter(&self, code: u32) -> usize {
        (self.first[code as usize] - self.origin) as usize
    }
}

/// Counts over `records` records: each worker fills a part of its own over a run of records, and
/// the parts are joined in order. Sums of whole numbers come out the same however they are split.
pub(crate) fn sweep<Part: Send>(
    records: usize,
    workers: usize,
    start: impl Fn() -> Part + Sync,
    work: impl Fn(&mut Part, usize) + Sync,
    join: impl Fn(Part, Part) -> Part,
) -> Part {
    let workers = workers.max(1);
    let parts: Vec<Part> = (0..workers)
        .into_par_iter()
        .map(|worker| {
            let mut part = start();
            for record in records * worker / workers..records * (worker + 1) / workers {
                work(&mut part, record);
            }
            part
        })
        .collect();
    parts.into_iter().reduce(join).unwrap_or_else(start)
}

/// Adds up two lists of counts.
pub(crate) fn add<Count: Copy + std::ops::AddAssign>(into: &mut [Count], from: &[Count]) {
    for (sum, &count) in into.iter_mut().zip(from) {
        *sum += count;
    }
}

/// The number of stages.
pub(crate) const STAGES: usize = 28;

/// The stage of encounter number `visit`, counted from 1: the first four encounters have one each,
/// then two stages for each doubling.
pub(crate) fn stage(visit: usize) -> usize {
    if visit <= 4 {
        return visit.saturating_sub(1);
    }
    let power = (visit - 1).ilog2() as usize;
    let upper_half = (visit - 1) >> (power - 1) & 1;
    (2 * power + upper_half).min(STAGES - 1)
}

/// The last encounter of a stage.
pub(crate) fn last_of(stage: usize) -> usize {
    match stage {
        0..4 => stage + 1,
        stage if stage + 1 >= STAGES => usize::MAX,
        stage => (2 + stage % 2 + 1) << (stage / 2 - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_cover_all_encounters_in_order() {
        for visit in 1..70_000 {
            let own = stage(visit);
            assert!(visit <= last_of(own), "{visit}");
            assert!(own == 0 || visit > last_of(own - 1), "{visit} in {own}");
        }
        assert_eq!(stage(usize::MAX), STAGES - 1);
    }
}
