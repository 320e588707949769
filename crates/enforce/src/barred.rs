//! Which codes bars may keep off, by what is there.
//!
//! Bars are filed under the code that they keep off: who samples asks when the code is about to come on, and most
//! codes never are. Who walks a visit that is known has to find every code that is kept off, absent as it may be.
//! So each bar is looked up by one bit that it needs as well, and those that need only absences are looked at
//! in every visit: work grows with the codes that are kept off, not with all that there are.

use consequence_record::Lists;

use crate::history::{History, Layout};
use crate::index::{Bits, Index, prompt};

/// Positions of codes that some bar may keep off.
#[derive(Debug)]
pub(crate) struct BarredCodes {
    /// By the bit that the bars are looked up by.
    prompted: Lists<u32>,
    /// Those with a bar that needs nothing to be present.
    standing: Bits,
}

impl BarredCodes {
    /// Those of bars that are filed under the code that they keep off.
    pub fn new(layout: &Layout, bars: &Index) -> Self {
        let codes = layout.order.len() as u32;
        let (mut standing, mut pairs) = (Bits::new(codes), Vec::new());
        let mut load = vec![0; layout.bits() as usize];
        for position in 0..codes {
            for &id in bars.filed(position) {
                match prompt(layout, bars.conditions(id), &mut load) {
                    Some(bit) => pairs.push((bit, position)),
                    None => _ = standing.set(position),
                }
            }
        }
        // Several bars of a code may be looked up by one bit.
        pairs.sort_unstable();
        pairs.dedup();
        Self { prompted: Lists::filed(layout.bits() as usize, &pairs), standing }
    }

    /// Those that may be kept off in a visit before any of its codes is decided.
    pub fn begin(&self, history: &History, agenda: &mut Bits) {
        agenda.copy(&self.standing);
        for &bit in history.lasting.iter().chain(history.moving()) {
            self.prompted(bit).iter().for_each(|&position| _ = agenda.set(position));
        }
    }

    /// Those that may be kept off once a bit is set.
    pub fn prompted(&self, bit: u32) -> &[u32] {
        self.prompted.list(bit as usize)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.prompted.memory() + self.standing.memory()
    }
}
