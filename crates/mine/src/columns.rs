//! The codes that are counted, numbered without gaps.

use consequence_record::{Code, Kind, RecordView, Vocabulary};
use consequence_rules::LanguageLimits;

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
    column_of: Vec<u32>,
    group_of: Vec<u32>,
    count_end: bool,
}

impl Columns {
    /// Numbers the codes of a vocabulary. Names longer than the rule language reads are left out.
    pub fn new(vocabulary: &Vocabulary, count_end: bool) -> Self {
        let longest = LanguageLimits::default().name_bytes;
        let (mut codes, mut groups) = (Vec::new(), Vec::new());
        let mut column_of = vec![NONE; vocabulary.len()];
        let mut group_of = vec![NONE; vocabulary.len()];
        for code in vocabulary.codes().filter(|&code| vocabulary.name(code).len() <= longest) {
            let (list, numbers) = match vocabulary.kind(code) {
                Kind::Static => (&mut groups, &mut group_of),
                Kind::Encounter => (&mut codes, &mut column_of),
            };
            numbers[code.index()] = list.len() as u32;
            list.push(code);
        }
        let (category_of, categories) = categories(vocabulary, &groups);
        Self { codes, groups, category_of, categories, column_of, group_of, count_end }
    }

    /// The number of columns, `END` included.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// The column of `END`.
    pub fn end(&self) -> usize {
        self.codes.len() - 1
    }

    /// The columns of an encounter in ascending order. What does not belong in one is passed over.
    pub fn encounter(&self, record: &RecordView<'_>, visit: usize, found: &mut Vec<u32>) {
        found.clear();
        let columns = record.visit(visit).iter().map(|code| self.column_of.get(code.index()));
        let end = self.end() as u32;
        found.extend(columns.flatten().copied().filter(|&column| column < end));
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

/// Static codes that share what stands before the last `//` of their names.
fn categories(vocabulary: &Vocabulary, groups: &[Code]) -> (Vec<Option<usize>>, Vec<Vec<usize>>) {
    let category = |code: Code| Some(vocabulary.name(code).rsplit_once("//")?.0);
    let mut named: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut numbers = rustc_hash::FxHashMap::default();
    for (group, &code) in groups.iter().enumerate() {
        let Some(name) = category(code) else { continue };
        let number = *numbers.entry(name).or_insert_with(|| {
            named.push((name, Vec::new()));
            named.len() - 1
        });
        named[number].1.push(group);
    }
    let members: Vec<Vec<usize>> =
        named.into_iter().map(|(_, members)| members).filter(|members| members.len() > 1).collect();
    let mut category_of = vec![None; groups.len()];
    for (number, members) in members.iter().enumerate() {
        for &group in members {
            category_of[group] = Some(number);
        }
    }
    (category_of, members)
}
