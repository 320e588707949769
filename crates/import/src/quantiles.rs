//! Values into parts of equal size.

use std::io;

use rustc_hash::FxHashMap;

use crate::event::Value;
use crate::runs::Runs;

/// Where the values of each code are cut.
#[derive(Default)]
pub(crate) struct Cuts {
    parts: usize,
    cuts: FxHashMap<u32, Vec<f32>>,
}

impl Cuts {
    /// Cuts the values of each code into `parts` of equal size, as far as equal values allow. The
    /// values are sorted by code and value; `counts` has how many there are of each code.
    pub fn new(
        values: &Runs<Value>,
        counts: &FxHashMap<u32, u64>,
        parts: usize,
    ) -> io::Result<Self> {
        let mut cuts: FxHashMap<u32, Vec<f32>> = counts
            .keys()
            .map(|&code| (code, Vec::with_capacity(parts.saturating_sub(1))))
            .collect();
        let (mut current, mut seen) = (None, 0_u64);
        for value in values.merged(sort_key) {
            let Value { code, value } = value?;
            if current != Some(code) {
                (current, seen) = (Some(code), 0);
            }
            seen += 1;
            let count = counts.get(&code).copied().unwrap_or(0);
            let found = cuts.entry(code).or_default();
            // Cut j is the value that as many as j in `parts` of all values do not exceed.
            while found.len() + 1 < parts
                && u128::from(seen) * parts as u128 >= u128::from(count) * (found.len() as u128 + 1)
            {
                found.push(value);
            }
        }
        Ok(Self { parts, cuts })
    }

    /// The number of parts of a code; none where it has no values.
    pub fn parts(&self, code: u32) -> Option<usize> {
        self.cuts.contains_key(&code).then_some(self.parts)
    }

    /// The part a value of a code is in, the lowest being 0; none where there is no value.
    pub fn part(&self, code: u32, value: f32) -> Option<u16> {
        let cuts = self.cuts.get(&code).filter(|_| !value.is_nan())?;
        Some(cuts.partition_point(|cut| *cut < value) as u16)
    }
}

/// Sorts values by code, then by size.
pub(crate) fn sort_key(value: &Value) -> (u32, u32) {
    // With this change the bits of numbers are in the order of the numbers.
    let bits = value.value.to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    (value.code, ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(values: &[f32], parts: usize) -> Cuts {
        let mut runs = Runs::new(3, None);
        for &value in values {
            if runs.full() {
                runs.flush(sort_key).unwrap();
            }
            runs.push(Value { code: 5, value });
        }
        runs.finish(sort_key).unwrap();
        Cuts::new(&runs, &[(5, values.len() as u64)].into_iter().collect(), parts).unwrap()
    }

    #[test]
    fn parts_are_of_equal_size() {
        let cut = cuts(&[8., 3., -1., 4., 7., 2., 6., 5.], 4);
        let parts: Vec<u16> =
            [-1., 2., 3., 4., 5., 6., 7., 8.].iter().map(|v| cut.part(5, *v).unwrap()).collect();
        assert_eq!(parts, [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!((cut.part(5, 100.0), cut.part(5, f32::NEG_INFINITY)), (Some(3), Some(0)));
        assert_eq!((cut.part(5, f32::NAN), cut.part(6, 1.0)), (None, None));
    }

    #[test]
    fn equal_values_are_in_one_part() {
        assert_eq!(cuts(&[1.; 9], 4).part(5, 1.), Some(0));
        assert_eq!(cuts(&[1.], 4).part(5, 2.), Some(3));
    }
}
