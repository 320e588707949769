//! Encounters that another follows, as rows of features and what came next.

use consequence_record::{Code, Lists, Selection};

/// Rows of features that are there or not, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    features: Lists<u32>,
    /// Features that there are.
    pub width: usize,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// The features of a row, ascending.
    pub fn row(&self, row: usize) -> &[u32] {
        self.features.list(row)
    }

    fn push(&mut self, features: impl IntoIterator<Item = u32>) {
        self.features.push(features);
    }

    #[cfg(test)]
    pub fn of(rows: &[&[u32]], width: usize) -> Self {
        let mut made = Self { width, ..Self::default() };
        rows.iter().for_each(|row| made.push(row.iter().copied()));
        made
    }
}

/// The transitions of some records, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Transitions<'a> {
    pub rows: Rows,
    /// The encounters themselves.
    pub current: Vec<&'a [Code]>,
    /// The encounters that follow.
    pub next: Vec<&'a [Code]>,
}

impl<'a> Transitions<'a> {
    /// The first transitions, up to a limit. With `codes` codes, feature `c` is code `c` in the
    /// encounter or in the static visit, and feature `codes + c` is code `c` in an earlier
    /// encounter.
    pub fn new(records: Selection<'a>, codes: usize, limit: usize) -> Self {
        let rows = Rows { width: 2 * codes, ..Rows::default() };
        let mut made = Self { rows, current: Vec::new(), next: Vec::new() };
        let mut earlier: Vec<u32> = Vec::new();
        let mut now: Vec<u32> = Vec::new();
        for record in records.records() {
            earlier.clear();
            for visit in 1..record.len().saturating_sub(1) {
                if made.next.len() == limit {
                    return made;
                }
                let current = record.visit(visit);
                now.clear();
                now.extend(record.visit(0).iter().chain(current).map(|code| code.0));
                now.sort_unstable();
                made.rows.push(now.iter().chain(&earlier).copied());
                made.current.push(current);
                made.next.push(record.visit(visit + 1));
                earlier.extend(current.iter().map(|code| code.0 + codes as u32));
                earlier.sort_unstable();
                earlier.dedup();
            }
        }
        made
    }

    /// Whether a code is in the encounter that follows, for the first rows.
    pub fn labels(&self, code: Code, rows: usize) -> Vec<bool> {
        self.next.iter().take(rows).map(|next| next.binary_search(&code).is_ok()).collect()
    }
}
