//! Rows of a table, added up by lists of their numbers.

use crate::rows::{each_row, each_strip};

/// Lists of numbers, one for each row of a matrix.
///
/// ```
/// use consequence_engine::Lists;
///
/// let mut lists = Lists::default();
/// lists.push([3, 5]);
/// lists.push([]);
/// assert_eq!((lists.len(), lists.of(0), lists.of(1)), (2, &[3, 5][..], &[][..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    items: Vec<u32>,
    ends: Vec<usize>,
}

impl Lists {
    /// Appends a list.
    pub fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        self.items.extend(list);
        self.ends.push(self.items.len());
    }

    /// The list of a row.
    pub fn of(&self, row: usize) -> &[u32] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.items[start..self.ends[row]]
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All lists, the first row first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.len()).map(|row| self.of(row))
    }

    /// Forgets all lists, keeping the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.ends.clear();
    }
}

/// A table whose rows are added up: each row of it counts from a column of its own on.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Columns of the table.
    pub width: usize,
    /// The column at which the first row begins to count.
    pub first: usize,
    /// How much later each further row begins.
    pub step: usize,
}

impl Steps {
    /// A table all of whose columns count.
    pub fn whole(width: usize) -> Self {
        Self { width, first: 0, step: 0 }
    }

    /// The column at which a row begins to count.
    #[inline]
    pub fn from(&self, item: u32) -> usize {
        self.first + self.step * item as usize
    }
}

/// Adds to each row the rows of the table that its list names. Rows may be narrower than the table:
/// they take its first columns.
///
/// ```
/// use consequence_engine::{Lists, Steps, add_gathered};
///
/// let mut lists = Lists::default();
/// lists.push([0, 1]);
/// let mut to = [100.0, 100.0];
/// let steps = Steps { width: 2, first: 0, step: 1 };
/// add_gathered(&mut to, 2, &[1.0, 2.0, 3.0, 4.0], &lists, steps);
/// assert_eq!(to, [101.0, 106.0]);
/// ```
pub fn add_gathered(to: &mut [f32], width: usize, table: &[f32], lists: &Lists, steps: Steps) {
    each_row(to, width, |row, to| {
        for &item in lists.of(row) {
            let (start, from) = (item as usize * steps.width, steps.from(item));
            if from < width {
                crate::add(&mut to[from..], &table[start + from..start + width]);
            }
        }
    });
}

/// The gradient of [`add_gathered`] with respect to the table, added to `table`: rows in order.
pub fn scatter_rows(
    table: &mut [f32],
    gradient: &[f32],
    width: usize,
    lists: &Lists,
    steps: Steps,
) {
    each_strip(table, steps.width, |first, mut strip| {
        let end = (first + strip.columns()).min(width);
        for (gradient, list) in gradient.chunks_exact(width).zip(lists.iter()) {
            for &item in list {
                let start = steps.from(item).max(first);
                if start < end {
                    let to = &mut strip.row(item as usize)[start - first..end - first];
                    crate::add(to, &gradient[start..end]);
                }
            }
        }
    });
}
