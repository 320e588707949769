//! How many things are alike, by digests of them.

use rustc_hash::FxHashMap;

use crate::codec::{Damaged, Reader, Writer};
use crate::counts::{Coded, Counts};

/// Digests that are kept at most; where there are more, those of one in two are, or in four, and so on.
const MOST: usize = 1 << 20;

/// How often each digest came. All are kept of a million; of more, a part of them that the digests themselves decide, so
/// that all that are alike are kept, or none.
///
/// ```
/// use consequence_tally::{Counts, Repeats};
///
/// let [mut one, mut other] = [Repeats::default(), Repeats::default()];
/// [3, 5, 5].map(|digest| one.push(digest));
/// other.push(3);
/// assert_eq!(one.of(&other), 1, "one of three is among the others");
/// one.add(other);
/// assert_eq!((one.alike(), one.is_exact()), (4, true));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// Digests are kept that end in so many zero bits.
    level: u32,
    counts: FxHashMap<u64, u64>,
}

impl Repeats {
    /// Counts a digest, all of whose bits are as good as random: of a million things, two that differ have one digest once in
    /// some ten million times.
    pub fn push(&mut self, digest: u64) {
        if digest.trailing_zeros() >= self.level {
            *self.counts.entry(digest).or_default() += 1;
            self.thin(MOST);
        }
    }

    fn thin(&mut self, most: usize) {
        while self.counts.len() > most {
            self.level += 1;
            let level = self.level;
            self.counts.retain(|digest, _| digest.trailing_zeros() >= level);
        }
    }

    fn at_level(&self, level: u32) -> impl Iterator<Item = (&u64, &u64)> {
        self.counts.iter().filter(move |(digest, _)| digest.trailing_zeros() >= level)
    }

    /// Whether every digest counts, rather than a part that stands for all.
    pub fn is_exact(&self) -> bool {
        self.level == 0
    }

    /// Things that are like another one.
    pub fn alike(&self) -> u64 {
        let alike: u64 = self.counts.values().filter(|&&times| times > 1).sum();
        alike << self.level
    }

    /// Things that are like one of the others.
    pub fn of(&self, others: &Self) -> u64 {
        let level = self.level.max(others.level);
        let known = self.at_level(level).filter(|(digest, _)| others.counts.contains_key(digest));
        known.map(|(_, &times)| times).sum::<u64>() << level
    }
}

impl Coded for Repeats {
    fn write(&self, out: &mut Writer) {
        self.level.write(out);
        self.counts.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let level = u32::read(from)?;
        if level > 63 {
            return Err(Damaged);
        }
        Ok(Self { level, counts: Coded::read(from)? })
    }
}

impl Counts for Repeats {
    fn add(&mut self, other: Self) {
        let level = self.level.max(other.level);
        self.level = level;
        self.counts.retain(|digest, _| digest.trailing_zeros() >= level);
        for (digest, times) in other.counts {
            if digest.trailing_zeros() >= level {
                *self.counts.entry(digest).or_default() += times;
            }
        }
        self.thin(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number all of whose bits depend on all bits of another.
    fn mixed(number: u64) -> u64 {
        crate::key(&number.to_string(), 0)
    }

    #[test]
    fn a_part_stands_for_all() {
        let mut repeats = Repeats::default();
        for number in 0..40_000 {
            // Every fourth comes twice.
            repeats.push(mixed(number));
            if number % 4 == 0 {
                repeats.push(mixed(number));
            }
        }
        assert_eq!(repeats.alike(), 20_000);
        let mut thin = repeats.clone();
        thin.thin(2_000);
        assert!(
            !thin.is_exact() && (thin.alike() as f64 - 20_000.0).abs() < 3_000.0,
            "{}",
            thin.alike()
        );
        let mut known = Repeats::default();
        (0..10_000).for_each(|number| known.push(mixed(number)));
        let found = thin.of(&known) as f64;
        assert!((found - 12_500.0).abs() < 2_500.0, "{found}");
    }
}
