//! Some records of a cohort.

use std::ops::Range;

use crate::{Cohort, CohortDetails, RecordView};

/// A cohort, and which of its records are meant: all of them, or those at a list of indices.
///
/// Records are counted from 0 within the selection; [`Selection::index`] tells where one is in the
/// cohort.
///
/// ```
/// use consequence_record::{Cohort, Record, Selection};
///
/// let mut cohort = Cohort::default();
/// ["a", "b", "c"].map(|id| cohort.push(id, &Record::new(vec![vec![], vec![]])));
/// let some = Selection::new(&cohort, &[2, 0]);
/// assert_eq!((some.len(), some.index(0), Selection::all(&cohort).len()), (2, 2, 3));
/// let ids: Vec<&str> = some.indices().map(|index| cohort.id(index)).collect();
/// assert_eq!(ids, ["c", "a"]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    cohort: &'a Cohort,
    details: Option<&'a CohortDetails>,
    records: Records<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Records<'a> {
    /// So many, from an index on.
    From { first: usize, count: usize },
    /// Those at these indices.
    At(&'a [usize]),
}

impl<'a> Selection<'a> {
    /// The records at these indices, in the order given. An index beyond the cohort is found out by
    /// whoever reads it: [`Selection::record`] panics.
    pub fn new(cohort: &'a Cohort, records: &'a [usize]) -> Self {
        Self { cohort, details: None, records: Records::At(records) }
    }

    /// All records.
    pub fn all(cohort: &'a Cohort) -> Self {
        let records = Records::From { first: 0, count: cohort.len() };
        Self { cohort, details: None, records }
    }

    /// The same records with what is known of them beside their codes; nothing is, if there is none for each.
    #[must_use]
    pub fn detailed(self, details: Option<&'a CohortDetails>) -> Self {
        let details = details.filter(|details| details.len() == self.cohort.len());
        Self { details, ..self }
    }

    /// What is known of the records of the cohort beside their codes.
    pub fn details(&self) -> Option<&'a CohortDetails> {
        self.details
    }

    /// Other records of the same cohort, at these indices of it, with what is known of them.
    ///
    /// ```
    /// use consequence_record::{Cohort, CohortDetails, Details, Record, Selection};
    ///
    /// let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
    /// for day in [3, 5] {
    ///     cohort.push("", &Record::new(vec![vec![], vec![]]));
    ///     details.push(Details { times: vec![day], ..Details::default() }.view());
    /// }
    /// let all = Selection::all(&cohort).detailed(Some(&details));
    /// assert_eq!(all.others(&[1]).record(0).details().time(1), Some(5));
    /// ```
    #[must_use]
    pub fn others(self, records: &'a [usize]) -> Self {
        Self { records: Records::At(records), ..self }
    }

    /// The cohort.
    pub fn cohort(&self) -> &'a Cohort {
        self.cohort
    }

    /// The number of records selected.
    pub fn len(&self) -> usize {
        match self.records {
            Records::From { count, .. } => count,
            Records::At(records) => records.len(),
        }
    }

    /// Whether no record is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index in the cohort of a record of the selection.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn index(&self, number: usize) -> usize {
        match self.records {
            Records::From { first, count } => {
                assert!(number < count, "record {number} of {count} selected");
                first + number
            }
            Records::At(records) => records[number],
        }
    }

    /// A record of the selection.
    ///
    /// # Panics
    ///
    /// If there are not so many, or its index is beyond the cohort.
    pub fn record(&self, number: usize) -> RecordView<'a> {
        let index = self.index(number);
        self.cohort.record(index).with_details(self.details, index)
    }

    /// The indices of the records in the cohort, in the order of the selection.
    pub fn indices(&self) -> impl ExactSizeIterator<Item = usize> + Clone + use<'a> {
        let selection = *self;
        (0..selection.len()).map(move |number| selection.index(number))
    }

    /// The records, in the order of the selection.
    pub fn records(&self) -> impl ExactSizeIterator<Item = RecordView<'a>> + Clone + use<'a> {
        let selection = *self;
        (0..selection.len()).map(move |number| selection.record(number))
    }

    /// The records from one to another of the selection, as a selection of their own.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn part(&self, range: Range<usize>) -> Self {
        let records = match self.records {
            Records::From { first, count } => {
                assert!(
                    range.start <= range.end && range.end <= count,
                    "a part of {count} records"
                );
                Records::From { first: first + range.start, count: range.len() }
            }
            Records::At(records) => Records::At(&records[range]),
        };
        Self { records, ..*self }
    }

    /// The selection cut into parts of so many records; the last may have fewer.
    pub fn chunks(&self, size: usize) -> Vec<Self> {
        let starts = (0..self.len()).step_by(size.max(1));
        starts.map(|first| self.part(first..self.len().min(first + size.max(1)))).collect()
    }
}

impl<'a> From<&'a Cohort> for Selection<'a> {
    fn from(cohort: &'a Cohort) -> Self {
        Self::all(cohort)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[test]
    fn parts_of_parts_are_still_of_the_cohort() {
        let mut cohort = Cohort::default();
        (0..7).for_each(|_| cohort.push("", &Record::new(vec![vec![], vec![]])));
        let indices = |selection: Selection<'_>| selection.indices().collect::<Vec<usize>>();
        let all = Selection::all(&cohort);
        assert_eq!(indices(all.part(2..6).part(1..3)), [3, 4]);
        let listed = [6, 1, 4];
        assert_eq!(indices(Selection::new(&cohort, &listed).part(1..3)), [1, 4]);
        let chunks: Vec<Vec<usize>> = all.chunks(3).into_iter().map(indices).collect();
        assert_eq!(chunks, [&[0, 1, 2][..], &[3, 4, 5], &[6]]);
        assert!(all.part(4..4).is_empty() && all.part(4..4).chunks(2).is_empty());
    }
}
