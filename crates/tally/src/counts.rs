//! What can be added up and written down.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};

use consequence_record::{AgeBand, Code};

use crate::codec::{Damaged, Reader, Writer};

/// What can be written down and read again.
pub trait Coded: Sized {
    /// Writes it.
    fn write(&self, out: &mut Writer);

    /// Reads what was written.
    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged>;

    /// Writes a list.
    fn write_list(list: &[Self], out: &mut Writer) {
        out.number(list.len() as u64);
        list.iter().for_each(|one| one.write(out));
    }

    /// Reads a list.
    fn read_list(from: &mut Reader<'_>) -> Result<Vec<Self>, Damaged> {
        let length = from.length()?;
        (0..length).map(|_| Self::read(from)).collect()
    }
}

/// Counts of some records, to which those of others can be added. It does not matter in which order.
///
/// Lists are added number by number; of lists of unlike lengths, the rest is that of the longer one.
pub trait Counts: Coded {
    /// Adds the counts of other records.
    fn add(&mut self, other: Self);
}

/// Makes [`Counts`] of a struct whose fields are.
///
/// ```
/// use consequence_tally::{Counts, counts};
///
/// #[derive(Default)]
/// struct Seen { records: u64, by_code: Vec<u64> }
/// counts!(Seen { records, by_code });
///
/// let mut seen = Seen { records: 1, by_code: vec![1, 0] };
/// seen.add(Seen { records: 2, by_code: vec![0, 2] });
/// assert_eq!((seen.records, seen.by_code), (3, vec![1, 2]));
/// ```
#[macro_export]
macro_rules! counts {
    ($type:ty { $($field:ident),* $(,)? }) => {
        $crate::coded!($type { $($field),* });
        impl $crate::Counts for $type {
            fn add(&mut self, other: Self) {
                $($crate::Counts::add(&mut self.$field, other.$field);)*
            }
        }
    };
}

/// Makes [`Coded`] of a struct whose fields are.
#[macro_export]
macro_rules! coded {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl $crate::Coded for $type {
            fn write(&self, out: &mut $crate::Writer) {
                $($crate::Coded::write(&self.$field, out);)*
            }
            fn read(from: &mut $crate::Reader<'_>) -> Result<Self, $crate::Damaged> {
                Ok(Self { $($field: $crate::Coded::read(from)?),* })
            }
        }
    };
}

/// Numbers that are counts. Most of a long list are often zero: runs of zeros are written as their lengths.
macro_rules! whole {
    ($($type:ty),*) => { $(
        impl Coded for $type {
            fn write(&self, out: &mut Writer) {
                out.number(*self as u64);
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
                Self::try_from(from.number()?).map_err(|_| Damaged)
            }

            fn write_list(list: &[Self], out: &mut Writer) {
                out.number(list.len() as u64);
                let mut rest = list;
                while !rest.is_empty() {
                    let zeros = rest.iter().take_while(|&&one| one == 0).count();
                    rest = &rest[zeros..];
                    let counts = rest.iter().take_while(|&&one| one != 0).count();
                    out.number(zeros as u64);
                    out.number(counts as u64);
                    rest[..counts].iter().for_each(|one| one.write(out));
                    rest = &rest[counts..];
                }
            }

            fn read_list(from: &mut Reader<'_>) -> Result<Vec<Self>, Damaged> {
                let length = usize::try_from(from.number()?).map_err(|_| Damaged)?;
                if length > LONGEST {
                    return Err(Damaged);
                }
                let mut list = Vec::new();
                while list.len() < length {
                    let zeros = usize::try_from(from.number()?).map_err(|_| Damaged)?;
                    let counts = from.length()?;
                    if zeros > length - list.len() || counts > length - list.len() - zeros || zeros + counts == 0 {
                        return Err(Damaged);
                    }
                    list.resize(list.len() + zeros, 0);
                    for _ in 0..counts {
                        list.push(Self::read(from)?);
                    }
                }
                Ok(list)
            }
        }

        impl Counts for $type {
            fn add(&mut self, other: Self) {
                *self = self.saturating_add(other);
            }
        }
    )* };
}
whole!(u64, u32);

/// The longest list of counts that is read: damage must not take all memory.
const LONGEST: usize = 1 << 31;

impl<T: Coded> Coded for Vec<T> {
    fn write(&self, out: &mut Writer) {
        T::write_list(self, out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        T::read_list(from)
    }
}

impl<T: Counts> Counts for Vec<T> {
    fn add(&mut self, other: Self) {
        let mut other = other.into_iter();
        self.iter_mut().zip(other.by_ref()).for_each(|(sum, more)| sum.add(more));
        self.extend(other);
    }
}

impl<T: Coded, const N: usize> Coded for [T; N] {
    fn write(&self, out: &mut Writer) {
        self.iter().for_each(|one| one.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let all: Result<Vec<T>, Damaged> = (0..N).map(|_| T::read(from)).collect();
        all?.try_into().map_err(|_| Damaged)
    }
}

impl<T: Counts, const N: usize> Counts for [T; N] {
    fn add(&mut self, other: Self) {
        self.iter_mut().zip(other).for_each(|(sum, more)| sum.add(more));
    }
}

macro_rules! tuples {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Coded),*> Coded for ($($name,)*) {
            fn write(&self, out: &mut Writer) {
                $(self.$at.write(out);)*
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
                Ok(($($name::read(from)?,)*))
            }
        }

        impl<$($name: Counts),*> Counts for ($($name,)*) {
            fn add(&mut self, other: Self) {
                $(self.$at.add(other.$at);)*
            }
        }

        impl<$($name: Key),*> Key for ($($name,)*) {}
    };
}
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);

/// What counts are kept by.
pub trait Key: Coded + Copy + Ord + Hash {}

impl Key for u32 {}
impl Key for u64 {}

macro_rules! signed {
    ($($type:ty),*) => { $(
        impl Coded for $type {
            fn write(&self, out: &mut Writer) {
                out.signed((*self).into());
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
                Self::try_from(from.signed()?).map_err(|_| Damaged)
            }
        }

        impl Key for $type {}
    )* };
}
signed!(i64, i32);

impl Coded for usize {
    fn write(&self, out: &mut Writer) {
        out.number(*self as u64);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Self::try_from(from.number()?).map_err(|_| Damaged)
    }
}

impl Coded for u128 {
    fn write(&self, out: &mut Writer) {
        out.number((*self >> 64) as u64);
        out.number(*self as u64);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(Self::from(from.number()?) << 64 | Self::from(from.number()?))
    }
}

impl Coded for bool {
    fn write(&self, out: &mut Writer) {
        out.number((*self).into());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        match from.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Damaged),
        }
    }
}

/// Whether any of them is so.
impl Counts for bool {
    fn add(&mut self, other: Self) {
        *self |= other;
    }
}

impl Coded for Code {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        u32::read(from).map(Self)
    }
}

impl Key for Code {}

impl Coded for AgeBand {
    fn write(&self, out: &mut Writer) {
        out.number(self.from.into());
        out.number(self.to.map_or(0, |to| u64::from(to) + 1));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let mut year = || u16::try_from(from.number()?).map_err(|_| Damaged);
        let first = year()?;
        Ok(Self { from: first, to: year()?.checked_sub(1) })
    }
}

impl Coded for String {
    fn write(&self, out: &mut Writer) {
        out.bytes(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Self::from_utf8(from.bytes()?.to_vec()).map_err(|_| Damaged)
    }
}

impl<T: Coded> Coded for Option<T> {
    fn write(&self, out: &mut Writer) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

/// Maps are written in the order of their keys, so that equal ones are equal bytes.
impl<K: Key, V: Coded, S: BuildHasher + Default> Coded for std::collections::HashMap<K, V, S> {
    fn write(&self, out: &mut Writer) {
        let mut entries: Vec<(&K, &V)> = self.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| **key);
        out.number(entries.len() as u64);
        for (key, value) in entries {
            key.write(out);
            value.write(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let length = from.length()?;
        (0..length).map(|_| Ok((K::read(from)?, V::read(from)?))).collect()
    }
}

impl<K: Key, V: Counts, S: BuildHasher + Default> Counts for std::collections::HashMap<K, V, S> {
    fn add(&mut self, other: Self) {
        use std::collections::hash_map::Entry;
        let (small, mut large) = match self.len() < other.len() {
            true => (std::mem::take(self), other),
            false => (other, std::mem::take(self)),
        };
        for (key, count) in small {
            match large.entry(key) {
                Entry::Occupied(mut sum) => sum.get_mut().add(count),
                Entry::Vacant(none) => {
                    none.insert(count);
                }
            }
        }
        *self = large;
    }
}

impl<K: Coded + Ord, V: Coded> Coded for BTreeMap<K, V> {
    fn write(&self, out: &mut Writer) {
        out.number(self.len() as u64);
        for (key, value) in self {
            key.write(out);
            value.write(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let length = from.length()?;
        (0..length).map(|_| Ok((K::read(from)?, V::read(from)?))).collect()
    }
}

impl<K: Coded + Ord, V: Counts> Counts for BTreeMap<K, V> {
    fn add(&mut self, other: Self) {
        use std::collections::btree_map::Entry;
        for (key, count) in other {
            match self.entry(key) {
                Entry::Occupied(mut sum) => sum.get_mut().add(count),
                Entry::Vacant(none) => {
                    none.insert(count);
                }
            }
        }
    }
}

/// The smallest and the largest of some numbers.
///
/// ```
/// use consequence_tally::{Counts, Span};
///
/// let mut span = Span::of(7);
/// span.add(Span::of(3));
/// span.add(Span::default());
/// assert_eq!(span.ends(), Some((3, 7)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T>(Option<(T, T)>);

impl<T> Default for Span<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Ord + Copy> Span<T> {
    /// Of one number.
    pub fn of(number: T) -> Self {
        Self(Some((number, number)))
    }

    /// Both; none of no number.
    pub fn ends(&self) -> Option<(T, T)> {
        self.0
    }
}

impl<T: Coded> Coded for Span<T> {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Option::read(from).map(Self)
    }
}

impl<T: Coded + Ord + Copy> Counts for Span<T> {
    fn add(&mut self, other: Self) {
        self.0 = match (self.0, other.0) {
            (Some((least, most)), Some((other_least, other_most))) => {
                Some((least.min(other_least), most.max(other_most)))
            }
            (own, other) => own.or(other),
        };
    }
}
