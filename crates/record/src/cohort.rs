//! Records, one by one and many at once.

use crate::{Code, CohortDetails, DetailsView};

/// One record that owns its visits: visit 0 is the static visit, the rest are encounters.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Record {
    /// The visits, each sorted and without duplicates.
    pub visits: Vec<Vec<Code>>,
    /// False for a record that was cut before its real end: its last visit has no `END`.
    pub ended: bool,
}

impl Record {
    /// A record that ends with its last visit. Sorts each visit and drops repeated codes.
    pub fn new(mut visits: Vec<Vec<Code>>) -> Self {
        for visit in &mut visits {
            visit.sort_unstable();
            visit.dedup();
        }
        Self { visits, ended: true }
    }

    /// The same record without an end.
    pub fn cut(mut self) -> Self {
        self.ended = false;
        self
    }
}

/// A record borrowed from a [`Cohort`].
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    /// Where each visit ends among the codes of the record.
    visit_ends: &'a [u32],
    /// The codes of the record.
    codes: &'a [Code],
    ended: bool,
    /// What is known beside its codes: which record of these it is.
    details: Option<(&'a CohortDetails, usize)>,
}

impl<'a> RecordView<'a> {
    /// The same with what is known of it beside its codes: those of a record of this index.
    #[must_use]
    pub(crate) fn with_details(self, details: Option<&'a CohortDetails>, index: usize) -> Self {
        Self { details: details.map(|details| (details, index)), ..self }
    }

    /// What is known of it beside its codes: nothing, unless it comes from a
    /// [`Selection`](crate::Selection) that knows more.
    pub fn details(&self) -> DetailsView<'a> {
        self.details.map(|(details, index)| details.of(index)).unwrap_or_default()
    }

    /// The number of visits, the static visit included.
    #[allow(clippy::len_without_is_empty, reason = "the static visit is always there")]
    pub fn len(&self) -> usize {
        self.visit_ends.len()
    }

    /// The codes of a visit, sorted. `END` is not among them.
    pub fn visit(&self, visit: usize) -> &'a [Code] {
        let start = if visit == 0 { 0 } else { self.visit_ends[visit - 1] as usize };
        &self.codes[start..self.visit_ends[visit] as usize]
    }

    /// All visits in order, the static visit first.
    pub fn visits(&self) -> impl ExactSizeIterator<Item = &'a [Code]> + use<'a> {
        let view = *self;
        (0..view.len()).map(move |visit| view.visit(visit))
    }

    /// Whether `END` holds at this visit.
    pub fn ends_at(&self, visit: usize) -> bool {
        self.ended && visit > 0 && visit + 1 == self.len()
    }

    /// Whether the record has an end, rather than having been cut.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// A copy that owns its visits.
    pub fn to_record(&self) -> Record {
        Record { visits: self.visits().map(<[Code]>::to_vec).collect(), ended: self.ended }
    }
}

/// Many records over one vocabulary, in flat arrays: four bytes a code and four a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cohort {
    ids: String,
    id_ends: Vec<u64>,
    /// Where the visits of each record begin, and where those of the last one end.
    visit_starts: Vec<u64>,
    /// Where the codes of each record begin, and where those of the last one end.
    code_starts: Vec<u64>,
    /// Where each visit ends among the codes of its record.
    visit_ends: Vec<u32>,
    codes: Vec<Code>,
    ended: Vec<bool>,
}

impl Default for Cohort {
    fn default() -> Self {
        Self {
            ids: String::new(),
            id_ends: Vec::new(),
            visit_starts: vec![0],
            code_starts: vec![0],
            visit_ends: Vec::new(),
            codes: Vec::new(),
            ended: Vec::new(),
        }
    }
}

impl Cohort {
    /// Appends a record. Its visits must be sorted, as [`Record::new`] leaves them.
    pub fn push(&mut self, id: &str, record: &Record) {
        self.push_visits(id, record.visits.iter().map(Vec::as_slice), record.ended);
    }

    /// Appends a record from borrowed visits, each sorted and without duplicates.
    ///
    /// # Panics
    ///
    /// If the record has more than 2^32 codes, which would take 16 GiB.
    pub fn push_visits<'a>(
        &mut self,
        id: &str,
        visits: impl IntoIterator<Item = &'a [Code]>,
        ended: bool,
    ) {
        let first = self.codes.len();
        for visit in visits {
            debug_assert!(visit.windows(2).all(|pair| pair[0] < pair[1]), "visits are sorted sets");
            self.codes.extend_from_slice(visit);
            self.visit_ends.push((self.codes.len() - first) as u32);
        }
        assert!(self.codes.len() - first <= u32::MAX as usize, "a record of 2^32 codes");
        self.visit_starts.push(self.visit_ends.len() as u64);
        self.code_starts.push(self.codes.len() as u64);
        self.ids.push_str(id);
        self.id_ends.push(self.ids.len() as u64);
        self.ended.push(ended);
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.ended.len()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.ended.is_empty()
    }

    /// The number of visits in all records, static visits included.
    pub fn visit_count(&self) -> usize {
        self.visit_ends.len()
    }

    /// A record by its index in the cohort.
    pub fn record(&self, index: usize) -> RecordView<'_> {
        let between = |starts: &[u64]| starts[index] as usize..starts[index + 1] as usize;
        RecordView {
            visit_ends: &self.visit_ends[between(&self.visit_starts)],
            codes: &self.codes[between(&self.code_starts)],
            ended: self.ended[index],
            details: None,
        }
    }

    /// The identifier of a record.
    pub fn id(&self, index: usize) -> &str {
        let from = if index == 0 { 0 } else { self.id_ends[index - 1] as usize };
        &self.ids[from..self.id_ends[index] as usize]
    }

    /// All records in order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = RecordView<'_>> {
        (0..self.len()).map(|index| self.record(index))
    }

    /// The visits of the longest record, the static visit not counted.
    pub fn longest(&self) -> usize {
        self.records().map(|record| record.len() - 1).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_empty_visits_and_ids_apart() {
        let mut cohort = Cohort::default();
        let first = Record::new(vec![vec![Code(3)], vec![], vec![Code(2), Code(1), Code(2)]]);
        let second = Record::new(vec![vec![], vec![Code(1)]]).cut();
        cohort.push("a", &first);
        cohort.push("bc", &second);
        assert_eq!(cohort.record(0).to_record(), first);
        assert_eq!(cohort.record(1).to_record(), second);
        assert_eq!((cohort.id(0), cohort.id(1)), ("a", "bc"));
        assert_eq!(cohort.record(0).visit(2), [Code(1), Code(2)]);
        assert!(cohort.record(0).ends_at(2) && !cohort.record(0).ends_at(1));
        assert!(!cohort.record(1).ends_at(1), "a cut record has no end");
        assert_eq!((cohort.visit_count(), cohort.longest()), (5, 2));
    }
}
