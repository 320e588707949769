//! Sums of numbers that are not whole, which do not depend on their order.

use crate::codec::{Damaged, Reader, Writer};
use crate::counts::{Coded, Counts};

/// Parts of one that are counted: numbers are added to the nearest of them.
const PARTS: f64 = 18_446_744_073_709_551_616.0;

/// A sum of numbers that are not negative, in parts of one: it is the same in whatever order they are added.
///
/// ```
/// use consequence_tally::{Counts, Sum};
///
/// let [mut one, mut other] = [Sum::default(), Sum::default()];
/// [0.1, 2.0].map(|number| one.push(number));
/// other.push(0.3);
/// one.add(other);
/// assert!((one.value() - 2.4).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u128);

impl Sum {
    /// Adds a number; none that is negative or not a number.
    pub fn push(&mut self, number: f64) {
        self.0 = self.0.saturating_add((number * PARTS) as u128);
    }

    /// The sum.
    pub fn value(&self) -> f64 {
        self.0 as f64 / PARTS
    }
}

impl Coded for Sum {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        u128::read(from).map(Self)
    }
}

impl Counts for Sum {
    fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}
