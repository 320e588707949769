//! Conditions as single bit tests over what is known of a record, and conjunctions of them, found
//! by what is present: work grows with the codes that are on.

use consequence_record::Lists;
use consequence_rules::VisitRange;

use crate::history::{History, Layout};

/// Asks whether one bit of a [`Bits`] is set, or whether it is not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition(u32);

impl Condition {
    pub fn new(bit: u32, wanted: bool) -> Self {
        Self(bit << 1 | u32::from(wanted))
    }

    pub fn bit(self) -> u32 {
        self.0 >> 1
    }

    pub fn wanted(self) -> bool {
        self.0 & 1 == 1
    }

    #[inline]
    pub fn holds(self, bits: &Bits) -> bool {
        bits.get(self.bit()) == self.wanted()
    }
}

/// A row of bits.
#[derive(Clone, Debug)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub fn new(bits: u32) -> Self {
        Self(vec![0; (bits as usize).div_ceil(64)])
    }

    #[inline]
    pub fn get(&self, bit: u32) -> bool {
        self.0[(bit >> 6) as usize] >> (bit & 63) & 1 == 1
    }

    /// Sets a bit and says whether it was clear before.
    #[inline]
    pub fn set(&mut self, bit: u32) -> bool {
        let word = &mut self.0[(bit >> 6) as usize];
        let fresh = *word >> (bit & 63) & 1 == 0;
        *word |= 1 << (bit & 63);
        fresh
    }

    #[inline]
    pub fn clear(&mut self, bit: u32) {
        self.0[(bit >> 6) as usize] &= !(1 << (bit & 63));
    }

    /// Sets the bits of another row, and no others.
    pub fn copy(&mut self, other: &Self) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    /// The first bit that is set, from one on.
    #[inline]
    pub fn next(&self, from: u32) -> Option<u32> {
        let first = (from >> 6) as usize;
        let mut word = self.0.get(first)? & (u64::MAX << (from & 63));
        let mut number = first;
        while word == 0 {
            number += 1;
            word = *self.0.get(number)?;
        }
        Some((number as u32) << 6 | word.trailing_zeros())
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        size_of_val(self.0.as_slice())
    }
}

#[derive(Clone, Copy, Debug)]
struct Conjunction {
    start: u32,
    visits: VisitRange,
}

/// Many conjunctions, each filed under one bit it needs, or under none if it needs only absences.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    conjunctions: Vec<Conjunction>,
    conditions: Vec<Condition>,
    filed: Lists<u32>,
    unprompted: [Vec<u32>; 2],
}

impl Index {
    /// Whether a conjunction holds.
    #[inline]
    pub fn holds(&self, id: u32, history: &History) -> bool {
        let Conjunction { start, visits } = self.conjunctions[id as usize];
        let end = self.conjunctions[id as usize + 1].start;
        visits.contains(history.visit)
            && self.conditions[start as usize..end as usize]
                .iter()
                .all(|condition| condition.holds(&history.bits))
    }

    /// The conditions of a conjunction.
    pub fn conditions(&self, id: u32) -> &[Condition] {
        let start = self.conjunctions[id as usize].start as usize;
        let end = self.conjunctions[id as usize + 1].start as usize;
        &self.conditions[start..end]
    }

    /// Whether a conjunction holds by what is decided before a position of the current visit: codes that
    /// are not decided yet may still come on.
    pub fn holds_already(&self, id: u32, history: &History, position: u32) -> bool {
        let open =
            |one: &Condition| !one.wanted() && history.is_now(one.bit()) && one.bit() >= position;
        self.holds(id, history) && !self.conditions(id).iter().any(open)
    }

    /// How many conjunctions there are.
    pub fn len(&self) -> usize {
        self.conjunctions.len() - 1
    }

    /// The visits at which a conjunction can hold.
    pub fn visits(&self, id: u32) -> VisitRange {
        self.conjunctions[id as usize].visits
    }

    /// The conjunctions filed under a bit.
    #[inline]
    pub fn filed(&self, bit: u32) -> &[u32] {
        self.filed.list(bit as usize)
    }

    /// The conjunctions that need nothing to be present, for the static visit or for encounters.
    pub fn unprompted(&self, visit: usize) -> &[u32] {
        &self.unprompted[usize::from(visit > 0)]
    }

    /// Calls `found` with every conjunction filed under what is known of the past.
    pub fn for_each_prompted(&self, history: &History, mut found: impl FnMut(u32)) {
        for &bit in history.lasting.iter().chain(history.moving()) {
            self.filed(bit).iter().copied().for_each(&mut found);
        }
    }

    /// Calls `found` with every conjunction that may hold of the visit as it stands.
    pub fn for_each_open(&self, history: &History, mut found: impl FnMut(u32)) {
        self.unprompted(history.visit).iter().copied().for_each(&mut found);
        self.for_each_prompted(history, &mut found);
        for &position in &history.present {
            self.filed(position).iter().copied().for_each(&mut found);
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        size_of_val(self.conjunctions.as_slice())
            + size_of_val(self.conditions.as_slice())
            + self.filed.memory()
            + self.unprompted.iter().map(|list| size_of_val(list.as_slice())).sum::<usize>()
    }
}

/// The bit that a conjunction is looked up by: a code of the current visit if it needs one, else a bit
/// that comes and goes, else one that lasts; of several the one that fewest are looked up by so far. None
/// if it needs only absences.
pub(crate) fn prompt(layout: &Layout, conditions: &[Condition], load: &mut [u32]) -> Option<u32> {
    let rank = |bit: u32| match (layout.is_now(bit), layout.is_lasting(bit)) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => 2,
    };
    // Nothing is looked up by a stage: a visit is always at one.
    let prompts = |condition: &&Condition| condition.wanted() && !layout.is_stage(condition.bit());
    let needed = conditions.iter().filter(prompts).map(|condition| condition.bit());
    let rarest = needed.min_by_key(|&bit| (rank(bit), load[bit as usize]));
    if let Some(bit) = rarest {
        load[bit as usize] += 1;
    }
    rarest
}

/// Collects conjunctions and files each where it is looked at least.
pub(crate) struct IndexBuilder<'a> {
    layout: &'a Layout,
    conjunctions: Vec<Conjunction>,
    conditions: Vec<Condition>,
    filed_under: Vec<Option<u32>>,
    load: Vec<u32>,
}

impl<'a> IndexBuilder<'a> {
    pub fn new(layout: &'a Layout) -> Self {
        Self {
            layout,
            conjunctions: Vec::new(),
            conditions: Vec::new(),
            filed_under: Vec::new(),
            load: vec![0; layout.bits() as usize],
        }
    }

    /// Adds a conjunction and gives its number. It is filed under the bit that [`prompt`] gives.
    pub fn add(
        &mut self,
        conditions: impl IntoIterator<Item = Condition>,
        visits: VisitRange,
    ) -> u32 {
        let start = self.push(conditions, visits);
        let filed_under = prompt(self.layout, &self.conditions[start..], &mut self.load);
        self.filed_under.push(filed_under);
        self.filed_under.len() as u32 - 1
    }

    /// Adds a conjunction that is looked at when the given bit is about to be set.
    pub fn add_under(
        &mut self,
        bit: u32,
        conditions: impl IntoIterator<Item = Condition>,
        visits: VisitRange,
    ) {
        self.push(conditions, visits);
        self.filed_under.push(Some(bit));
    }

    fn push(
        &mut self,
        conditions: impl IntoIterator<Item = Condition>,
        visits: VisitRange,
    ) -> usize {
        let start = self.conditions.len();
        self.conditions.extend(conditions);
        self.conjunctions.push(Conjunction { start: start as u32, visits });
        start
    }

    pub fn finish(mut self) -> Index {
        let mut unprompted = [Vec::new(), Vec::new()];
        let mut pairs = Vec::with_capacity(self.filed_under.len());
        for (id, bit) in self.filed_under.iter().enumerate() {
            match bit {
                Some(bit) => pairs.push((*bit, id as u32)),
                None => {
                    let kind = usize::from(self.conjunctions[id].visits.first > 0);
                    unprompted[kind].push(id as u32);
                }
            }
        }
        let filed = Lists::filed(self.layout.bits() as usize, &pairs);
        let start = self.conditions.len() as u32;
        self.conjunctions.push(Conjunction { start, visits: VisitRange { first: 0, last: 0 } });
        self.conjunctions.shrink_to_fit();
        self.conditions.shrink_to_fit();
        Index { conjunctions: self.conjunctions, conditions: self.conditions, filed, unprompted }
    }
}
