//! Numbers for subjects whose ids are none.

use rustc_hash::{FxHashMap, FxHashSet};

/// Where numbers begin for the odd id in a cohort of numbers.
const ODD_START: i64 = 1 << 62;

/// Gives each id a number, and finds ids that come twice.
///
/// If the first id is a number, ids that are numbers stay as they are, and the others get numbers
/// from 2^62 on, which no number that is kept can reach. If it is not, all are counted from 1.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    style: Option<Style>,
    kept: FxHashSet<i64>,
    given: FxHashMap<Box<str>, i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Kept,
    Counted,
}

impl Numbering {
    /// The number of an id; none if it has been given before.
    pub fn number(&mut self, id: &str) -> Option<i64> {
        let number = kept(id);
        let style = *self.style.get_or_insert(match number {
            Some(_) => Style::Kept,
            None => Style::Counted,
        });
        let start = match (style, number) {
            (Style::Kept, Some(number)) => return self.kept.insert(number).then_some(number),
            (Style::Kept, None) => ODD_START,
            (Style::Counted, _) => 1,
        };
        let number = start + self.given.len() as i64;
        match self.given.insert(id.into(), number) {
            None => Some(number),
            Some(_) => None,
        }
    }

    /// The ids that are not their own number, in the order of their numbers.
    pub fn given(self) -> Vec<(Box<str>, i64)> {
        let mut given: Vec<_> = self.given.into_iter().collect();
        given.sort_unstable_by_key(|&(_, number)| number);
        given
    }
}

/// The number that an id is, if it is written as numbers are.
fn kept(id: &str) -> Option<i64> {
    let number: i64 = id.parse().ok()?;
    let canonical = id == "0" || !id.starts_with(['0', '+', '-']);
    (canonical && number < ODD_START).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(ids: &[&str]) -> Vec<Option<i64>> {
        let mut numbering = Numbering::default();
        ids.iter().map(|id| numbering.number(id)).collect()
    }

    #[test]
    fn numbers_stay_and_odd_ids_never_meet_them() {
        assert_eq!(numbers(&["12", "0", "12"]), [Some(12), Some(0), None]);
        let odd = ["7", "007", "+7", "-7", "p", "4611686018427387904", "p"];
        let given = |index| Some(ODD_START + index);
        let expected = [Some(7), given(0), given(1), given(2), given(3), given(4), None];
        assert_eq!(numbers(&odd), expected);
    }

    #[test]
    fn words_are_counted_and_numbers_among_them_too() {
        assert_eq!(numbers(&["p9", "2", "p9", ""]), [Some(1), Some(2), None, Some(3)]);
    }
}
