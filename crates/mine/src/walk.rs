//! What a record has had so far, kept in arrays that need no clearing between records.

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
