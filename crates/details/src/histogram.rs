//! Histograms that tell nothing of one patient.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// The fewest patients that a cell of a histogram stands for.
pub const FEWEST_PATIENTS: usize = 10;

/// The most cells of a histogram, but for those that few values at the ends of it need.
const MOST_CELLS: usize = 256;

/// Whole numbers and how often they were met, in cells that each stand for ten patients or more.
///
/// Within a cell every number is as likely as any other. What only a few patients have at the ends, beyond
/// bounds that everyone knows, is told as if it were the last value that ten of them reach.
///
/// ```
/// use consequence_details::Histogram;
///
/// // Twenty patients have 3, nineteen have one of 5 to 8, and one has 1000.
/// let many = (0..20).map(|patient| (3, patient));
/// let some = (0..19).map(|patient| (5 + i64::from(patient) % 4, patient));
/// let values: Vec<(i64, u32)> = many.chain(some).chain([(1000, 77)]).collect();
/// let histogram = Histogram::fit(values, None, None).unwrap();
/// assert_eq!(histogram.to_string(), "3: 20, 5-6: 10, 7: 10");
/// assert_eq!(Histogram::fit(vec![(3, 1), (4, 2)], None, None), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(i64, i64, u64)>", into = "Vec<(i64, i64, u64)>")]
pub struct Histogram {
    cells: Vec<Cell>,
    /// How often any cell up to each was met.
    up_to: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    from: i64,
    to: i64,
    count: u64,
}

/// The farthest that a number may be from zero.
const FARTHEST: i64 = 1 << 53;

impl Histogram {
    /// The histogram of numbers, each with the patient it is of; none for fewer than ten patients. `from`
    /// and `to` are bounds of the numbers that are known without looking at any patient.
    pub fn fit(mut values: Vec<(i64, u32)>, from: Option<i64>, to: Option<i64>) -> Option<Self> {
        values.retain(|(value, _)| (-FARTHEST..=FARTHEST).contains(value));
        values.sort_unstable();
        let mut cells: Vec<Cell> = Vec::new();
        let mut cell = Open::default();
        let fewest = (values.len() / MOST_CELLS) as u64;
        for run in values.chunk_by(|one, other| one.0 == other.0) {
            let value = run[0].0;
            let patients: FxHashSet<u32> = run.iter().map(|&(_, patient)| patient).collect();
            let alone = patients.len() >= FEWEST_PATIENTS && run.len() as u64 >= fewest;
            if alone {
                // A number that many have keeps a cell of its own: what few have beside it is told
                // as if it were the nearest of these.
                let before = cell.take();
                let mut own = Cell { from: value, to: value, count: run.len() as u64 };
                match (before.patients.len() >= FEWEST_PATIENTS, cells.last_mut()) {
                    (true, _) => cells.push(before.cell),
                    (false, Some(last)) => last.count += before.cell.count,
                    (false, None) => own.count += before.cell.count,
                }
                cells.push(own);
                continue;
            }
            cell.take_in(value, run.len() as u64, patients);
            if cell.patients.len() >= FEWEST_PATIENTS && cell.cell.count >= fewest.max(1) {
                cells.push(cell.take().cell);
            }
        }
        match cells.last_mut() {
            _ if cell.patients.len() >= FEWEST_PATIENTS => cells.push(cell.cell),
            Some(last) => last.count += cell.cell.count,
            None => return None,
        }
        // Where no bound is known, the end of the first and of the last cell would be somebody's.
        let (low, high) = (tenth(values.iter()), tenth(values.iter().rev()));
        let (low, high) = (low.min(high), high.max(low));
        if let Some(first) = cells.first_mut() {
            first.from = match from {
                Some(from) => from.min(first.from),
                None => first.from.max(low?).min(first.to),
            };
        }
        if let Some(last) = cells.last_mut() {
            last.to = match to {
                Some(to) => to.max(last.to),
                None => last.to.min(high?).max(last.from),
            };
        }
        Self::of(cells)
    }

    /// Every number from one to another, all as likely.
    pub fn uniform(from: i64, to: i64) -> Option<Self> {
        Self::of(vec![Cell { from, to, count: 1 }])
    }

    /// Cells in order, or none if they are none.
    fn of(cells: Vec<Cell>) -> Option<Self> {
        let sound = |cell: &Cell| {
            cell.count > 0 && -FARTHEST <= cell.from && cell.from <= cell.to && cell.to <= FARTHEST
        };
        let sorted = cells.windows(2).all(|pair| pair[0].to < pair[1].from);
        if cells.is_empty() || !sorted || !cells.iter().all(sound) {
            return None;
        }
        let mut total = 0_u64;
        let up_to = cells.iter().map(|cell| {
            total = total.checked_add(cell.count)?;
            Some(total)
        });
        let up_to = up_to.collect::<Option<Vec<u64>>>()?;
        Some(Self { cells, up_to })
    }

    /// The number that a uniform number between 0 and 1 stands for: the quantile.
    pub fn draw(&self, uniform: f64) -> i64 {
        let total = self.up_to.last().copied().unwrap_or(1) as f64;
        let at = (uniform * total).max(0.0);
        let index = self.up_to.partition_point(|&up_to| up_to as f64 <= at);
        let index = index.min(self.cells.len() - 1);
        let Cell { from, to, count } = self.cells[index];
        let within = (at - (self.up_to[index] - count) as f64) / count as f64;
        let width = (to - from + 1) as f64;
        from + ((within * width) as i64).clamp(0, to - from)
    }

    /// The same among those numbers alone that leave the remainder when divided; none where there is
    /// none.
    pub fn draw_remainder(&self, uniform: f64, divisor: i64, remainder: i64) -> Option<i64> {
        let first = |cell: &Cell| cell.from + (remainder - cell.from).rem_euclid(divisor);
        let numbers = |cell: &Cell| match first(cell) {
            first if first > cell.to => 0,
            first => (cell.to - first) / divisor + 1,
        };
        let weight = |cell: &Cell| {
            cell.count as f64 * numbers(cell) as f64 / (cell.to - cell.from + 1) as f64
        };
        let total: f64 = self.cells.iter().map(weight).sum();
        let mut left = uniform * total;
        let mut last = None;
        for cell in self.cells.iter().filter(|cell| numbers(cell) > 0) {
            let of_cell = weight(cell);
            let numbers = numbers(cell);
            let index = ((left / of_cell) * numbers as f64) as i64;
            last = Some(first(cell) + index.clamp(0, numbers - 1) * divisor);
            if left < of_cell {
                break;
            }
            left -= of_cell;
        }
        last
    }

    /// The mean of what is drawn.
    pub fn mean(&self) -> f64 {
        let sum =
            self.cells.iter().map(|cell| (cell.from + cell.to) as f64 / 2.0 * cell.count as f64);
        sum.sum::<f64>() / self.up_to.last().copied().unwrap_or(1) as f64
    }

    /// The least and the greatest number that can be drawn.
    pub fn range(&self) -> (i64, i64) {
        let first = self.cells.first().map_or(0, |cell| cell.from);
        (first, self.cells.last().map_or(0, |cell| cell.to))
    }

    /// The part that lies between two numbers; none where nothing does.
    pub fn between(&self, from: i64, to: i64) -> Option<Self> {
        let cells = self.cells.iter().filter_map(|cell| {
            let (first, last) = (cell.from.max(from), cell.to.min(to));
            let (width, left) = (cell.to - cell.from + 1, last - first + 1);
            let count = (cell.count as f64 * left as f64 / width as f64).round() as u64;
            (first <= last).then(|| Cell { from: first, to: last, count: count.max(1) })
        });
        Self::of(cells.collect())
    }
}

/// The value by which ten patients were met.
fn tenth<'v>(values: impl Iterator<Item = &'v (i64, u32)>) -> Option<i64> {
    let mut patients = FxHashSet::default();
    let mut enough = values.skip_while(|&&(_, patient)| {
        patients.insert(patient);
        patients.len() < FEWEST_PATIENTS
    });
    enough.next().map(|&(value, _)| value)
}

/// A cell that is being filled.
#[derive(Default)]
struct Open {
    cell: Cell,
    patients: FxHashSet<u32>,
}

impl Default for Cell {
    fn default() -> Self {
        Self { from: i64::MAX, to: i64::MIN, count: 0 }
    }
}

impl Open {
    fn take_in(&mut self, value: i64, count: u64, patients: FxHashSet<u32>) {
        self.cell.from = self.cell.from.min(value);
        self.cell.to = self.cell.to.max(value);
        self.cell.count += count;
        self.patients.extend(patients);
    }

    fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

impl TryFrom<Vec<(i64, i64, u64)>> for Histogram {
    type Error = &'static str;

    fn try_from(cells: Vec<(i64, i64, u64)>) -> Result<Self, &'static str> {
        let cells = cells.into_iter().map(|(from, to, count)| Cell { from, to, count });
        Self::of(cells.collect()).ok_or("the cells of a histogram are not in order")
    }
}

impl From<Histogram> for Vec<(i64, i64, u64)> {
    fn from(histogram: Histogram) -> Self {
        histogram.cells.into_iter().map(|cell| (cell.from, cell.to, cell.count)).collect()
    }
}

impl std::fmt::Display for Histogram {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, cell) in self.cells.iter().enumerate() {
            out.write_str(if index > 0 { ", " } else { "" })?;
            match cell.from == cell.to {
                true => write!(out, "{}: {}", cell.from, cell.count)?,
                false => write!(out, "{}-{}: {}", cell.from, cell.to, cell.count)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_cell_stands_for_ten_patients(
            values in vec((-60_i64..60, 0..40_u32), 0..400),
            bounded in any::<bool>(),
        ) {
            let bound = |value| bounded.then_some(value);
            let patients: FxHashSet<u32> = values.iter().map(|value| value.1).collect();
            let Some(found) = Histogram::fit(values.clone(), bound(-70), bound(70)) else {
                prop_assert!(patients.len() < FEWEST_PATIENTS);
                return Ok(());
            };
            let total: u64 = found.cells.iter().map(|cell| cell.count).sum();
            prop_assert_eq!(total, values.len() as u64);
            prop_assert_eq!(found.range() == (-70, 70), bounded);
            // An end that nobody's value bounds is one that ten patients reach.
            if !bounded && patients.len() >= 2 * FEWEST_PATIENTS {
                let reach = |beyond: &dyn Fn(i64) -> bool| {
                    let reaching = values.iter().filter(|value| beyond(value.0));
                    reaching.map(|value| value.1).collect::<FxHashSet<u32>>().len()
                };
                let (least, greatest) = found.range();
                prop_assert!(reach(&|value| value <= least) >= FEWEST_PATIENTS);
                prop_assert!(reach(&|value| value >= greatest) >= FEWEST_PATIENTS);
            }
            for cell in found.cells.iter().filter(|_| bounded) {
                let inside = values.iter().filter(|value| (cell.from..=cell.to).contains(&value.0));
                let inside: FxHashSet<u32> = inside.map(|value| value.1).collect();
                prop_assert!(inside.len() >= FEWEST_PATIENTS);
            }
            let text = serde_json::to_string(&found).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), found);
        }

        #[test]
        fn draws_are_those_of_the_cells(remainder in 0_i64..7) {
            let values = (0..4000).map(|at| (i64::from(at * at % 97), at as u32));
            let found = Histogram::fit(values.collect(), None, None).unwrap();
            let mut counts = vec![0_u64; found.cells.len()];
            for step in 0..10_000 {
                let uniform = (f64::from(step) + 0.5) / 10_000.0;
                let drawn = found.draw(uniform);
                let cell = found.cells.iter().position(|cell| (cell.from..=cell.to).contains(&drawn));
                counts[cell.unwrap()] += 1;
                if let Some(drawn) = found.draw_remainder(uniform, 7, remainder) {
                    prop_assert_eq!(drawn.rem_euclid(7), remainder);
                    prop_assert!(found.cells.iter().any(|cell| (cell.from..=cell.to).contains(&drawn)));
                }
            }
            for (cell, count) in found.cells.iter().zip(counts) {
                prop_assert!((count as f64 / 10_000.0 - cell.count as f64 / 4000.0).abs() < 0.001);
            }
        }
    }

    #[test]
    fn a_part_of_a_histogram() {
        let all = Histogram::uniform(0, 99).unwrap();
        assert_eq!(all.between(10, 19).unwrap().range(), (10, 19));
        assert_eq!((all.between(100, 120), Histogram::uniform(2, 1)), (None, None));
        assert_eq!(all.draw_remainder(0.5, 200, 150), None);
        assert!(serde_json::from_str::<Histogram>("[[3,2,1]]").is_err());
        assert!(serde_json::from_str::<Histogram>("[[1,2,1],[2,3,1]]").is_err());
        assert!(serde_json::from_str::<Histogram>("[]").is_err());
    }
}
