//! Did you mean: the known name closest to a wrong one.

/// The most single-character changes a suggestion may be away.
const FARTHEST: usize = 3;

/// The candidate with the fewest single-character changes from `name`, the first of equals; none
/// if all are far off for its length.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.chars().collect();
    let mut budget = FARTHEST.min(wanted.len() / 3 + 1);
    let mut rows = Rows::default();
    let mut best = None;
    for candidate in candidates {
        // Characters are one to four bytes, so this skips without counting them.
        if candidate.len() > 4 * (wanted.len() + budget) || 4 * candidate.len() < wanted.len() {
            continue;
        }
        if let Some(distance) = rows.distance(&wanted, candidate, budget) {
            best = Some(candidate);
            if distance <= 1 {
                // Nothing known is closer than one change.
                return best;
            }
            budget = distance - 1;
        }
    }
    best
}

/// Buffers kept between candidates.
#[derive(Default)]
struct Rows {
    candidate: Vec<char>,
    before: Vec<usize>,
    last: Vec<usize>,
    current: Vec<usize>,
}

impl Rows {
    /// The number of insertions, deletions, replacements and swaps of neighbours between the two,
    /// if at most `budget`; only cells that near the diagonal are filled.
    fn distance(&mut self, wanted: &[char], candidate: &str, budget: usize) -> Option<usize> {
        self.candidate.clear();
        self.candidate.extend(candidate.chars());
        let found = self.candidate.as_slice();
        if found.len().abs_diff(wanted.len()) > budget {
            return None;
        }
        let width = found.len() + 1;
        let far = budget + 1;
        for row in [&mut self.before, &mut self.last, &mut self.current] {
            row.clear();
            row.resize(width, far);
        }
        for (column, cell) in self.last.iter_mut().enumerate().take(budget + 1) {
            *cell = column;
        }
        for (row, &expected) in wanted.iter().enumerate() {
            let from = (row + 1).saturating_sub(budget);
            let to = (row + 1 + budget).min(found.len());
            self.current.fill(far);
            if from == 0 {
                self.current[0] = row + 1;
            }
            let mut least = if from == 0 { row + 1 } else { far };
            for column in from.max(1)..=to {
                let actual = found[column - 1];
                let replaced = self.last[column - 1] + usize::from(actual != expected);
                let mut cost =
                    replaced.min(self.last[column] + 1).min(self.current[column - 1] + 1);
                if row > 0
                    && column > 1
                    && actual == wanted[row - 1]
                    && expected == found[column - 2]
                {
                    cost = cost.min(self.before[column - 2] + 1);
                }
                self.current[column] = cost.min(far);
                least = least.min(cost);
            }
            if least > budget {
                return None;
            }
            std::mem::swap(&mut self.before, &mut self.last);
            std::mem::swap(&mut self.last, &mut self.current);
        }
        let distance = self.last[found.len()];
        (distance <= budget).then_some(distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_closest() {
        let codes = ["ICD9CM//250", "ICD9CM//357", "SEX//F", "SEX//M", "SMOKER"];
        assert_eq!(closest("ICD9CM//25O", codes), Some("ICD9CM//250"));
        assert_eq!(closest("SMOKRE", codes), Some("SMOKER"));
        assert_eq!(closest("SEX//", codes), Some("SEX//F"));
        assert_eq!(closest("something else", codes), None);
        assert_eq!(closest("", codes), None);
        assert_eq!(closest("é", ["e"]), Some("e"));
    }

    #[test]
    fn fifty_thousand_codes_take_no_time() {
        let codes: Vec<String> =
            (0..50_000).map(|number| format!("ICD10CM//{number:05}")).collect();
        let start = std::time::Instant::now();
        for _ in 0..20 {
            assert!(closest("ICD10CM//X99Y", codes.iter().map(String::as_str)).is_some());
        }
        assert!(start.elapsed().as_secs() < 5);
    }
}
