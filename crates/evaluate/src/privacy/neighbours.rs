//! Records as sets of codes, and the nearest of them.

use consequence_record::{Code, RecordView, Selection};

/// The distinct codes of a record, static ones and those of all encounters; ascending.
pub(super) fn code_set(record: RecordView<'_>) -> Vec<Code> {
    let mut codes: Vec<Code> = record.visits().flatten().copied().collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The sets of some records.
pub(super) fn code_sets(records: Selection<'_>) -> Vec<Vec<Code>> {
    records.records().map(code_set).collect()
}

/// Sets that can be searched, by lists of the sets that hold each code.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    sizes: Vec<u32>,
    holders: Vec<Vec<u32>>,
}

/// Which sets are nearest.
#[derive(Clone, Debug, Default)]
pub(super) struct Nearest {
    shared: Vec<u32>,
    /// The distance, 1 at most.
    pub distance: f64,
    /// All sets at that distance, ascending.
    pub sets: Vec<u32>,
}

impl Neighbours {
    /// Prepares sets of codes below a number.
    pub fn new(sets: &[Vec<Code>], codes: usize) -> Self {
        let mut holders = vec![Vec::new(); codes];
        for (number, set) in sets.iter().enumerate() {
            set.iter().for_each(|code| holders[code.index()].push(number as u32));
        }
        Self { sizes: sets.iter().map(|set| set.len() as u32).collect(), holders }
    }

    /// Finds the sets nearest to another by Jaccard distance: codes in one of the two over codes in
    /// either. Two empty sets are at distance 0.
    pub fn nearest(&self, set: &[Code], found: &mut Nearest) {
        found.shared.clear();
        found.shared.resize(self.sizes.len(), 0);
        for code in set {
            for &holder in &self.holders[code.index()] {
                found.shared[holder as usize] += 1;
            }
        }
        found.distance = f64::INFINITY;
        found.sets.clear();
        for (number, (&size, &shared)) in self.sizes.iter().zip(&found.shared).enumerate() {
            // Quotients of such small whole numbers are equal in double precision only if they are.
            let union = set.len() as u32 + size - shared;
            let distance = f64::from(union - shared) / f64::from(union.max(1));
            if distance < found.distance {
                found.distance = distance;
                found.sets.clear();
            }
            if distance == found.distance {
                found.sets.push(number as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(codes: &[u32]) -> Vec<Code> {
        codes.iter().map(|&code| Code(code)).collect()
    }

    #[test]
    fn all_nearest_sets_are_found() {
        let sets = [set(&[0, 1, 2]), set(&[1, 2, 3]), set(&[]), set(&[5])];
        let neighbours = Neighbours::new(&sets, 6);
        let mut found = Nearest::default();
        neighbours.nearest(&set(&[1, 2]), &mut found);
        assert_eq!((found.distance, found.sets.as_slice()), (1.0 / 3.0, &[0, 1][..]));
        neighbours.nearest(&set(&[]), &mut found);
        assert_eq!((found.distance, found.sets.as_slice()), (0.0, &[2][..]));
        neighbours.nearest(&set(&[4]), &mut found);
        assert_eq!((found.distance, found.sets.as_slice()), (1.0, &[0, 1, 2, 3][..]));
    }
}
