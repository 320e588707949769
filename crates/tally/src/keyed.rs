//! Some of the records, by a key of their ids: the same ones however records are divided and in whatever order they come.

use crate::codec::{Damaged, Reader, Writer};
use crate::counts::{Coded, Counts};

/// A number all of whose bits depend on all of an id, and on what it is for.
///
/// ```
/// use consequence_tally::key;
///
/// assert_eq!(key("p1", 0), key("p1", 0));
/// assert_ne!(key("p1", 0), key("p2", 0));
/// assert_ne!(key("p1", 0), key("p1", 1));
/// ```
pub fn key(id: &str, purpose: u64) -> u64 {
    // FNV-1a, then the finish of SplitMix64.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let one =
        (hash ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let two = (one ^ one >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let three = (two ^ two >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    three ^ three >> 31
}

/// Things with the lowest keys: as many as it takes until their sizes come to a limit.
///
/// ```
/// use consequence_tally::{Counts, Lowest};
///
/// let mut lowest = Lowest::new(2);
/// [(9, 'c'), (4, 'b'), (1, 'a')].map(|(key, thing)| lowest.offer(key, 1, || u32::from(thing)));
/// let kept: Vec<u32> = lowest.into_things().collect();
/// assert_eq!(kept, [u32::from('a'), u32::from('b')]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lowest<T> {
    limit: u64,
    /// Keys, sizes and things, by key; how many things there were with a key is told by their number.
    kept: Vec<(u64, u64, T)>,
    /// The sizes of those kept together.
    size: u64,
}

impl<T> Lowest<T> {
    /// Keeps things until their sizes come to the limit.
    pub fn new(limit: u64) -> Self {
        Self { limit, kept: Vec::new(), size: 0 }
    }

    /// Offers a thing, which is made only if it is kept for now. Things of equal keys are kept in the order of their
    /// sizes, and those of equal sizes are taken to be alike.
    pub fn offer(&mut self, key: u64, size: u64, thing: impl FnOnce() -> T) {
        let full = self.size >= self.limit;
        if full && self.kept.last().is_none_or(|last| (last.0, last.1) <= (key, size)) {
            return;
        }
        let at = self.kept.partition_point(|one| (one.0, one.1) <= (key, size));
        self.kept.insert(at, (key, size, thing()));
        self.size += size;
        self.shorten();
    }

    /// Drops what the others have no need of.
    fn shorten(&mut self) {
        while let Some((_, size, _)) = self.kept.last()
            && self.size - size >= self.limit
        {
            self.size -= size;
            self.kept.pop();
        }
    }

    /// What is kept, the lowest key first.
    pub fn things(&self) -> impl Iterator<Item = &T> {
        self.kept.iter().map(|(_, _, thing)| thing)
    }

    /// The same, no longer kept.
    pub fn into_things(self) -> impl Iterator<Item = T> {
        self.kept.into_iter().map(|(_, _, thing)| thing)
    }
}

impl<T: Coded> Coded for Lowest<T> {
    fn write(&self, out: &mut Writer) {
        self.limit.write(out);
        out.number(self.kept.len() as u64);
        for (key, size, thing) in &self.kept {
            key.write(out);
            size.write(out);
            thing.write(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let limit = u64::read(from)?;
        let length = from.length()?;
        let kept: Result<Vec<(u64, u64, T)>, Damaged> =
            (0..length).map(|_| Ok((u64::read(from)?, u64::read(from)?, T::read(from)?))).collect();
        let kept = kept?;
        let size = kept.iter().try_fold(0_u64, |sum, one| sum.checked_add(one.1)).ok_or(Damaged)?;
        Ok(Self { limit, kept, size })
    }
}

impl<T: Coded> Counts for Lowest<T> {
    fn add(&mut self, other: Self) {
        self.limit = self.limit.max(other.limit);
        self.size += other.size;
        self.kept.extend(other.kept);
        self.kept.sort_by_key(|one| (one.0, one.1));
        self.shorten();
    }
}
