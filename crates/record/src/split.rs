//! Which part of a cohort a subject belongs to.

use std::fmt;
use std::str::FromStr;

use crate::Cohort;

/// The part of a cohort a subject belongs to, by the names MEDS gives the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Split {
    /// To train on, and to mine rules in.
    Train,
    /// To choose by: validation.
    Tuning,
    /// To report on: test.
    HeldOut,
}

impl Split {
    /// All splits.
    pub const ALL: [Self; 3] = [Self::Train, Self::Tuning, Self::HeldOut];

    /// The split of a subject, from a hash of its identifier alone: eight in ten train, one in ten
    /// tuning, one in ten held out, whatever the other subjects are.
    ///
    /// ```
    /// use consequence_record::Split;
    ///
    /// assert_eq!(Split::of("patient-1"), Split::Train);
    /// let train = (0..1000).filter(|id| Split::of(&id.to_string()) == Split::Train).count();
    /// assert!((750..850).contains(&train));
    /// ```
    pub fn of(subject: &str) -> Self {
        Self::seeded(subject, 0)
    }

    /// The split of a subject in another division of the same cohort, one for each seed, for studies
    /// over several. Seed 0 is that of [`Split::of`].
    ///
    /// ```
    /// use consequence_record::Split;
    ///
    /// assert_eq!(Split::seeded("patient-1", 0), Split::of("patient-1"));
    /// let moves = |id: &u32| Split::seeded(&id.to_string(), 1) != Split::of(&id.to_string());
    /// assert!((0..1000).filter(moves).count() > 200);
    /// ```
    pub fn seeded(subject: &str, seed: u64) -> Self {
        // FNV-1a, then a finishing mix so that the high bits depend on every byte.
        let start = 0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = subject
            .bytes()
            .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mixed = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match ((mixed >> 32) * 10) >> 32 {
            0..=7 => Self::Train,
            8 => Self::Tuning,
            _ => Self::HeldOut,
        }
    }

    /// The split of each record of a cohort, by [`Split::of`].
    pub fn of_records(cohort: &Cohort) -> Vec<Self> {
        (0..cohort.len()).map(|index| Self::of(cohort.id(index))).collect()
    }

    /// The indices of the records of this split, given the split of each record: what a
    /// [`Selection`](crate::Selection) of the split is made from.
    pub fn indices(self, splits: &[Self]) -> Vec<usize> {
        (0..splits.len()).filter(|&index| splits[index] == self).collect()
    }

    /// The name MEDS gives the split.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Tuning => "tuning",
            Self::HeldOut => "held_out",
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Split {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|split| split.name() == name).ok_or(())
    }
}
