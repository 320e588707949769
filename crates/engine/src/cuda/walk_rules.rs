//! What forces codes and keeps them off while sequences are drawn: conjunctions of bits, as flat lists.
//!
//! Kernels trust these lists, so that every index is checked before they are sent to a GPU.

/// Stands for no number.
const NONE: u32 = u32::MAX;

/// Conjunctions of conditions, each filed under a bit.
#[derive(Clone, Debug, Default)]
pub struct Conjunctions {
    /// Where the conditions of each begin, and where those of the last end.
    pub starts: Vec<u32>,
    /// A bit times two, plus one if it must be set.
    pub conditions: Vec<u32>,
    /// The first visit at which each can hold, and the last times 2^16.
    pub visits: Vec<u32>,
    /// Where the items of each bit end.
    pub ends: Vec<u32>,
    /// Which conjunctions are filed under each bit.
    pub items: Vec<u32>,
}

impl Conjunctions {
    /// None, over so many bits.
    pub fn none(bits: usize) -> Self {
        Self { starts: vec![0], ends: vec![0; bits], ..Self::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.visits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.visits.is_empty()
    }

    fn check(&self, bits: usize) {
        check_lists(&self.starts[1..], self.conditions.len(), self.len());
        assert!(self.starts[0] == 0 && self.starts.len() == self.len() + 1);
        assert!(self.conditions.iter().all(|&one| ((one >> 1) as usize) < bits));
        check_lists(&self.ends, self.items.len(), bits);
        assert!(self.items.iter().all(|&item| (item as usize) < self.len()));
    }
}

/// That lists that lie end to end are so many, and end where their items do.
fn check_lists(ends: &[u32], items: usize, count: usize) {
    assert_eq!(ends.len(), count, "as many lists as there are to be");
    assert!(ends.is_sorted() && ends.last().is_none_or(|&end| end as usize == items));
    assert!(!ends.is_empty() || items == 0, "every item is in a list");
}

/// Visits that a row of bits is set by.
#[derive(Clone, Debug, Default)]
pub struct WalkWindow {
    /// Whether every earlier visit is meant.
    pub past: bool,
    /// Visits by their numbers.
    pub visits: Vec<u32>,
    /// Visits by how many visits ago they were.
    pub distances: Vec<u32>,
}

/// Lists of codes, in order.
#[derive(Clone, Debug, Default)]
pub struct CodeLists {
    /// Where each ends.
    pub ends: Vec<u32>,
    /// The codes.
    pub codes: Vec<u32>,
}

impl CodeLists {
    fn check(&self, lists: usize, codes: usize) {
        check_lists(&self.ends, self.codes.len(), lists);
        assert!(self.codes.iter().all(|&code| (code as usize) < codes));
    }
}

/// What forces codes and keeps them off.
#[derive(Clone, Debug)]
pub struct WalkRules {
    /// Bits of a row, a multiple of 64 and no fewer than there are codes: first a row of the visit at hand, then one for each
    /// window.
    pub row_bits: usize,
    /// The windows.
    pub windows: Vec<WalkWindow>,
    /// Bits of windows that anything asks for.
    pub asked: Vec<u32>,
    /// What puts codes on, or has them drawn.
    pub demands: Conjunctions,
    /// The code of each of these.
    pub outputs: Vec<u32>,
    /// By which of `soft` it is drawn; the largest number if it is put on.
    pub softs: Vec<u32>,
    /// By which number each is drawn, and with which probability.
    pub soft: Vec<(u32, f64)>,
    /// What keeps codes off, filed under them.
    pub bars: Conjunctions,
    /// What makes one of several codes wanted, and which.
    pub waits: (Conjunctions, CodeLists),
    /// The same, filed under a code that must be there for it, where that code is the less likely for it.
    pub tests: (Conjunctions, CodeLists),
    /// Demands that are filed under no bit, of the first visit and of others, by their codes.
    pub standing: [Vec<u32>; 2],
    /// Waits that are filed under none.
    pub standing_waits: [Vec<u32>; 2],
}

impl WalkRules {
    /// None, over so many codes.
    pub fn none(codes: usize) -> Self {
        let row_bits = codes.next_multiple_of(64);
        let none = || Conjunctions::none(row_bits);
        Self {
            row_bits,
            windows: Vec::new(),
            asked: vec![0; row_bits / 32],
            demands: none(),
            outputs: Vec::new(),
            softs: Vec::new(),
            soft: Vec::new(),
            bars: none(),
            waits: (none(), CodeLists::default()),
            tests: (none(), CodeLists::default()),
            standing: [Vec::new(), Vec::new()],
            standing_waits: [Vec::new(), Vec::new()],
        }
    }

    pub(super) fn bits(&self) -> usize {
        self.row_bits * (self.windows.len() + 1)
    }

    /// That all indices lie within their lists.
    pub(super) fn check(&self, codes: usize) {
        let bits = self.bits();
        assert!(self.row_bits.is_multiple_of(64) && self.row_bits >= codes);
        assert_eq!(self.asked.len(), bits / 32);
        for conjunctions in [&self.demands, &self.bars, &self.waits.0, &self.tests.0] {
            conjunctions.check(bits);
        }
        assert!(self.outputs.len() == self.demands.len() && self.softs.len() == self.demands.len());
        assert!(self.outputs.iter().all(|&output| (output as usize) < codes));
        let known = |&soft: &u32| soft == NONE || (soft as usize) < self.soft.len();
        assert!(self.softs.iter().all(known));
        self.waits.1.check(self.waits.0.len(), codes);
        self.tests.1.check(self.tests.0.len(), codes);
        // What waits does so for a code.
        let ends = &self.waits.1.ends;
        assert!(ends.iter().zip([0].iter().chain(ends)).all(|(end, start)| end > start));
        for (lists, count) in
            [(&self.standing, self.demands.len()), (&self.standing_waits, self.waits.0.len())]
        {
            assert!(lists.iter().flatten().all(|&one| (one as usize) < count));
        }
        for list in &self.standing {
            assert!(list.is_sorted_by_key(|&one| self.outputs[one as usize]));
        }
    }
}
