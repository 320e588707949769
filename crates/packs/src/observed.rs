//! What records show of soft rules: how often what a table says is so.

use consequence_record::{Code, Selection};

/// Occasions that the pooled rate counts for, beside those of a rule itself.
const PRIOR: f64 = 10.0;

/// How often something was so, of the occasions on which it could be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub so: u64,
    pub of: u64,
}

impl Share {
    pub fn add(&mut self, so: bool) {
        self.of += 1;
        self.so += u64::from(so);
    }

    /// All occasions together.
    pub fn pooled(shares: impl Iterator<Item = Self>) -> Self {
        shares.fold(Self::default(), |sum, share| Self {
            so: sum.so + share.so,
            of: sum.of + share.of,
        })
    }

    /// The share; none without an occasion.
    pub fn rate(self) -> Option<f64> {
        (self.of > 0).then(|| self.so as f64 / self.of as f64)
    }

    /// The share, drawn to the pooled one where there are few occasions.
    pub fn shrunk(self, pooled: f64) -> f64 {
        (self.so as f64 + PRIOR * pooled) / (self.of as f64 + PRIOR)
    }
}

/// A probability that a soft rule can have, with few digits.
pub(crate) fn soft(probability: f64) -> f64 {
    ((probability * 1e4).round() / 1e4).clamp(1e-4, 1.0 - 1e-4)
}

/// For each code: of the visits after one that has it, those that have it too.
pub(crate) fn returns(records: Selection<'_>, codes: usize) -> Vec<Share> {
    let mut shares = vec![Share::default(); codes];
    for record in records.records() {
        for visit in 2..record.len() {
            let now = record.visit(visit);
            for code in record.visit(visit - 1) {
                if let Some(share) = shares.get_mut(code.index()) {
                    share.add(now.binary_search(code).is_ok());
                }
            }
        }
    }
    shares
}

/// Two sets of codes.
pub(crate) type Sides = [Vec<Code>; 2];

/// How many visits have codes of two sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beside {
    /// Visits with one of the first.
    pub first: u64,
    /// Visits with one of the second.
    pub second: u64,
    /// Visits with one of each.
    pub both: u64,
}

/// For each pair of sets how many visits have codes of them, and the number of all visits.
pub(crate) fn beside(records: Selection<'_>, codes: usize, pairs: &[Sides]) -> (Vec<Beside>, u64) {
    let mut of_code: Vec<Vec<(usize, u8)>> = vec![Vec::new(); codes];
    for (pair, sides) in pairs.iter().enumerate() {
        for (side, codes) in sides.iter().enumerate() {
            for code in codes {
                of_code[code.index()].push((pair, 1 << side));
            }
        }
    }
    let mut counts = vec![Beside::default(); pairs.len()];
    let mut met = vec![0_u8; pairs.len()];
    let (mut touched, mut visits) = (Vec::new(), 0);
    for record in records.records() {
        for visit in 1..record.len() {
            visits += 1;
            for &(pair, side) in record.visit(visit).iter().flat_map(|code| &of_code[code.index()])
            {
                if met[pair] == 0 {
                    touched.push(pair);
                }
                met[pair] |= side;
            }
            for pair in touched.drain(..) {
                let sides = std::mem::take(&mut met[pair]);
                counts[pair].first += u64::from(sides & 1 != 0);
                counts[pair].second += u64::from(sides & 2 != 0);
                counts[pair].both += u64::from(sides == 3);
            }
        }
    }
    (counts, visits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use consequence_record::{Cohort, Record};

    fn cohort() -> Cohort {
        let visits = |visits: &[&[u32]]| {
            let codes = |visit: &&[u32]| visit.iter().map(|&code| Code(code)).collect();
            Record::new(visits.iter().map(codes).collect())
        };
        let mut cohort = Cohort::default();
        cohort.push("a", &visits(&[&[0], &[1, 2], &[1], &[2]]));
        cohort.push("b", &visits(&[&[], &[1, 2], &[1, 2]]));
        cohort
    }

    #[test]
    fn what_comes_again() {
        let shares = returns((&cohort()).into(), 3);
        assert_eq!(shares[1], Share { so: 2, of: 3 });
        assert_eq!(shares[2], Share { so: 1, of: 2 });
        assert_eq!(shares[0].rate(), None, "static codes are in no encounter");
        let pooled = Share::pooled(shares.into_iter());
        assert_eq!(pooled.rate(), Some(0.6));
        assert!((Share::default().shrunk(0.6) - 0.6).abs() < 1e-12);
        assert!((Share { so: 10, of: 10 }.shrunk(0.6) - 0.8).abs() < 1e-12);
        assert_eq!([soft(0.0), soft(0.123_456), soft(1.0)], [0.0001, 0.1235, 0.9999]);
    }

    #[test]
    fn what_stands_beside() {
        let (counts, visits) = beside((&cohort()).into(), 3, &[[vec![Code(1)], vec![Code(2)]]]);
        assert_eq!((counts[0], visits), (Beside { first: 4, second: 4, both: 3 }, 5));
    }
}
