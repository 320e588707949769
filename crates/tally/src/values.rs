//! Numbers counted by their value.

use rustc_hash::FxHashMap;

use crate::codec::{Damaged, Reader, Writer};
use crate::counts::{Coded, Counts};

/// Values that are told apart at most; where there are more, those that differ in their last bits are one.
const MOST: usize = 1 << 16;

/// The bits of a 32-bit number that are not its sign and exponent.
const MANTISSA: u32 = 23;

/// How often each value came. Values are 32-bit numbers; where more than 65,536 differ, those whose first bits are the
/// same count as the one nearest to zero.
///
/// ```
/// use consequence_tally::{Counts, Values};
///
/// let [mut one, mut other] = [Values::default(), Values::default()];
/// [6.5, 0.0, 6.5].map(|value| one.push(value));
/// other.push(-0.0);
/// one.add(other);
/// assert_eq!(one.sorted(), [(0.0, 2), (6.5, 2)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// The last bits that do not count.
    coarse: u32,
    counts: FxHashMap<u32, u64>,
}

impl Values {
    /// Counts a value.
    pub fn push(&mut self, value: f32) {
        // Both zeros are one number.
        let bits = if value == 0.0 { 0 } else { value.to_bits() };
        *self.counts.entry(bits >> self.coarse << self.coarse).or_default() += 1;
        self.thin();
    }

    fn thin(&mut self) {
        while self.counts.len() > MOST && self.coarse < MANTISSA {
            self.coarsen(self.coarse + 1);
        }
    }

    fn coarsen(&mut self, coarse: u32) {
        if coarse > self.coarse {
            self.coarse = coarse;
            let fine = std::mem::take(&mut self.counts);
            for (bits, times) in fine {
                *self.counts.entry(bits >> coarse << coarse).or_default() += times;
            }
        }
    }

    /// The values in order, with how often each came.
    pub fn sorted(&self) -> Vec<(f32, u64)> {
        let mut counts: Vec<(f32, u64)> =
            self.counts.iter().map(|(&bits, &times)| (f32::from_bits(bits), times)).collect();
        counts.sort_by(|one, other| one.0.total_cmp(&other.0));
        counts
    }

    /// Whether no value came.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

impl Coded for Values {
    fn write(&self, out: &mut Writer) {
        self.coarse.write(out);
        self.counts.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let coarse = u32::read(from)?;
        if coarse > MANTISSA {
            return Err(Damaged);
        }
        Ok(Self { coarse, counts: Coded::read(from)? })
    }
}

impl Counts for Values {
    fn add(&mut self, mut other: Self) {
        let coarse = self.coarse.max(other.coarse);
        self.coarsen(coarse);
        other.coarsen(coarse);
        self.counts.add(other.counts);
        self.thin();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_take_little_room_and_do_not_depend_on_their_order() {
        let all: Vec<f32> = (0..300_000_u32).map(|number| number as f32 * 0.001 - 70.0).collect();
        let mut whole = Values::default();
        all.iter().for_each(|&value| whole.push(value));
        assert!(whole.counts.len() <= MOST && whole.coarse > 0);
        let [mut one, mut other] = [Values::default(), Values::default()];
        all.iter().rev().enumerate().for_each(|(number, &value)| {
            if number % 3 == 0 { one.push(value) } else { other.push(value) }
        });
        other.add(one);
        assert_eq!(other, whole);
        let sorted = whole.sorted();
        assert_eq!(sorted.iter().map(|one| one.1).sum::<u64>(), 300_000);
        let exact = all[150_000];
        let mut passed = 0;
        let middle = sorted.iter().find(|one| {
            passed += one.1;
            passed > 150_000
        });
        assert!((middle.unwrap().0 - exact).abs() < 0.01, "{middle:?} {exact}");
    }
}
