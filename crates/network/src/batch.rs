//! Whole records, end to end.

use std::ops::Range;

use consequence_engine::{Lists, Sequences, Settled};

/// The codes that rows of outputs are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outputs {
    /// The codes that the visit may hold.
    pub codes: Range<usize>,
    /// The rows concerned, in order.
    pub rows: Vec<u32>,
}

/// Records to train on, packed end to end without padding.
///
/// Row `t` of a record is given visit `t - 1`, or the mark that begins a record, and is asked for
/// visit `t`.
///
/// ```
/// use consequence_network::Batch;
///
/// let mut batch = Batch::new(9);
/// batch.begin();
/// batch.push(0..2, [1], []);      // the first visit may hold codes 0 and 1, and holds 1
/// batch.push(2..9, [3, 8], []);
/// assert_eq!((batch.rows(), batch.records()), (2, 1));
/// ```
#[derive(Clone, Debug)]
pub struct Batch {
    start: u32,
    lengths: Vec<usize>,
    inputs: Lists,
    targets: Lists,
    settled: Vec<Settled>,
    settled_ends: Vec<usize>,
    facts: Vec<u32>,
    fact_ends: Vec<usize>,
    ahead: Vec<Glance>,
    ahead_ends: Vec<usize>,
    outputs: Vec<Outputs>,
}

/// A code that is asked for by less than is known of its visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// How many of the visit's first codes are known; the others are taken to be absent. The network
    /// must have had some code to decide by them alone.
    pub known: u32,
    /// The code.
    pub code: u32,
}

impl Batch {
    /// No records yet; `start` is the code that marks the beginning of a record.
    pub fn new(start: u32) -> Self {
        Self {
            start,
            lengths: Vec::new(),
            inputs: Lists::default(),
            targets: Lists::default(),
            settled: Vec::new(),
            settled_ends: Vec::new(),
            facts: Vec::new(),
            fact_ends: Vec::new(),
            ahead: Vec::new(),
            ahead_ends: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Forgets all records, keeping the memory.
    pub fn clear(&mut self) {
        self.lengths.clear();
        self.inputs.clear();
        self.targets.clear();
        self.settled.clear();
        self.settled_ends.clear();
        self.facts.clear();
        self.fact_ends.clear();
        self.ahead.clear();
        self.ahead_ends.clear();
        self.outputs.clear();
    }

    /// Begins a record.
    pub fn begin(&mut self) {
        self.lengths.push(0);
    }

    /// Appends a visit to the record: the codes it may hold, those it holds in ascending order, and
    /// outputs that something else decides. Their numbers count from the first code it may hold.
    ///
    /// # Panics
    ///
    /// If no record was begun.
    pub fn push(
        &mut self,
        codes: Range<usize>,
        visit: impl IntoIterator<Item = u32>,
        settled: impl IntoIterator<Item = Settled>,
    ) {
        let row = self.targets.len() as u32;
        match self.lengths.last_mut() {
            None => panic!("a visit belongs to a record"),
            Some(0) => self.inputs.push([self.start]),
            Some(_) => {
                let before: Vec<u32> = self.targets.of(row as usize - 1).to_vec();
                self.inputs.push(before);
            }
        }
        if let Some(length) = self.lengths.last_mut() {
            *length += 1;
        }
        self.targets.push(visit);
        self.settled.extend(settled);
        self.settled_ends.push(self.settled.len());
        self.fact_ends.push(self.facts.len());
        self.ahead_ends.push(self.ahead.len());
        match self.outputs.iter_mut().find(|outputs| outputs.codes == codes) {
            Some(outputs) => outputs.rows.push(row),
            // Nothing is asked of a visit that can hold nothing.
            None if codes.is_empty() => {}
            None => self.outputs.push(Outputs { codes, rows: vec![row] }),
        }
    }

    /// Adds facts about the visit pushed last, by numbers that its objective understands.
    pub fn note(&mut self, facts: impl IntoIterator<Item = u32>) {
        self.facts.extend(facts);
        if let Some(end) = self.fact_ends.last_mut() {
            *end = self.facts.len();
        }
    }

    /// Asks for more logits of the visit pushed last.
    pub fn look_ahead(&mut self, glances: impl IntoIterator<Item = Glance>) {
        self.ahead.extend(glances);
        if let Some(end) = self.ahead_ends.last_mut() {
            *end = self.ahead.len();
        }
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.lengths.len()
    }

    /// The number of rows: one for each visit.
    pub fn rows(&self) -> usize {
        self.targets.len()
    }

    /// Calls a function with every code that is present and that nothing else decides.
    pub fn each_open(&self, mut each: impl FnMut(u32)) {
        for group in &self.outputs {
            for &row in &group.rows {
                let first = group.codes.start as u32;
                let mut settled: Vec<u32> =
                    self.settled(row as usize).iter().map(|one| one.output).collect();
                settled.sort_unstable();
                let target = self.target(row as usize).iter();
                let open = target.filter(|&code| settled.binary_search(&(code - first)).is_err());
                open.for_each(|&code| each(code));
            }
        }
    }

    pub(crate) fn sequences(&self) -> Sequences {
        Sequences::of(self.lengths.iter().copied())
    }

    pub(crate) fn inputs(&self) -> &Lists {
        &self.inputs
    }

    pub(crate) fn target(&self, row: usize) -> &[u32] {
        self.targets.of(row)
    }

    pub(crate) fn settled(&self, row: usize) -> &[Settled] {
        &self.settled[of_row(&self.settled_ends, row)]
    }

    pub(crate) fn facts(&self, row: usize) -> &[u32] {
        &self.facts[of_row(&self.fact_ends, row)]
    }

    pub(crate) fn glances(&self, row: usize) -> &[Glance] {
        &self.ahead[of_row(&self.ahead_ends, row)]
    }

    pub(crate) fn glances_at_any(&self) -> bool {
        !self.ahead.is_empty()
    }

    pub(crate) fn outputs(&self) -> &[Outputs] {
        &self.outputs
    }
}

/// Where a row's items are, given where those of each row end.
fn of_row(ends: &[usize], row: usize) -> Range<usize> {
    let start = if row == 0 { 0 } else { ends[row - 1] };
    start..ends[row]
}
