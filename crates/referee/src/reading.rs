//! What the referee asks of a record, however it is kept.

use consequence_record::{Code, Record, RecordView};

/// Visits that can be judged.
pub trait Visits {
    /// The number of visits, the static visit included.
    fn visit_count(&self) -> usize;

    /// The codes stored in a visit; none where there is no such visit.
    fn codes(&self, visit: usize) -> &[Code];

    /// Whether the record has an end, rather than having been cut.
    fn has_ended(&self) -> bool;
}

impl Visits for Record {
    fn visit_count(&self) -> usize {
        self.visits.len()
    }

    fn codes(&self, visit: usize) -> &[Code] {
        self.visits.get(visit).map_or(&[], Vec::as_slice)
    }

    fn has_ended(&self) -> bool {
        self.ended
    }
}

impl Visits for RecordView<'_> {
    fn visit_count(&self) -> usize {
        self.len()
    }

    fn codes(&self, visit: usize) -> &[Code] {
        if visit < self.len() { self.visit(visit) } else { &[] }
    }

    fn has_ended(&self) -> bool {
        self.ended()
    }
}
