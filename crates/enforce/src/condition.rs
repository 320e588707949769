//! Conditions as single bit tests over what is known of a record.

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
}
