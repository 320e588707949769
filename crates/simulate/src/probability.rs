//! Drawing from tables in constant time, with sums and products only, so that every machine agrees.

use consequence_prng::VisitDraws;

use crate::preset::Spread;

/// The draws of one encounter, one after the other.
pub(crate) struct Probability {
    draws: VisitDraws,
    next: u32,
}

impl Probability {
    pub fn new(draws: VisitDraws) -> Self {
        Self { draws, next: 0 }
    }

    #[inline]
    pub fn word(&mut self) -> u32 {
        let word = self.draws.word(self.next);
        self.next = self.next.wrapping_add(1);
        word
    }

    /// Uniform, strictly between 0 and 1.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (f64::from(self.word()) + 0.5) / 4_294_967_296.0
    }

    #[inline]
    pub fn below(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// A number below `count`; 0 where `count` is 0.
    #[inline]
    pub fn index(&mut self, count: usize) -> usize {
        ((u64::from(self.word()) * count as u64) >> 32) as usize
    }

    /// About normal, of mean 0 and deviation 1: four uniform numbers together, never beyond 3.47.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let sum: f64 = (0..4).map(|_| self.uniform()).sum();
        (sum - 2.0) * 1.732_050_807_568_877_2
    }

    /// A number between the first and the last of evenly spaced quantiles, which are in order.
    #[inline]
    pub fn between<N: Copy + Into<f64>>(&mut self, quantiles: &[N]) -> f64 {
        let [.., last] = quantiles else { return 0.0 };
        let place = self.uniform() * (quantiles.len() - 1) as f64;
        let below = place as usize;
        let low: f64 = quantiles[below].into();
        let high: f64 = (*quantiles.get(below + 1).unwrap_or(last)).into();
        low + (place - below as f64) * (high - low)
    }

    #[inline]
    pub fn pick(&mut self, table: &Table) -> usize {
        table.at(self.word())
    }
}

/// A distribution over `0..n` by Walker's alias method: one word, one cell.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The part of the cell, of 2^32, that is its own.
    own: u32,
    /// The value that the rest of the cell stands for.
    other: u32,
}

impl Table {
    /// A table of these weights, which are not negative. Without any weight it gives 0.
    pub fn new(weights: &[f64]) -> Self {
        let sum: f64 = weights.iter().sum();
        let scale = if sum > 0.0 { weights.len() as f64 / sum } else { 0.0 };
        let mut parts: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let mut cells: Vec<Cell> =
            (0..weights.len() as u32).map(|other| Cell { own: u32::MAX, other }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..parts.len()).partition(|&index| parts[index] < 1.0);
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            cells[poor] = Cell { own: (parts[poor] * 4_294_967_296.0) as u32, other: rich as u32 };
            parts[rich] -= 1.0 - parts[poor];
            if parts[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Self { cells }
    }

    /// Counts from 0 with the given mean and shape, cut at the most.
    pub fn counts(spread: Spread) -> Self {
        let more = spread.mean / (spread.mean + spread.shape);
        let mut weights = vec![1.0];
        for count in 0..spread.most {
            let count = count as f64;
            let last = weights.last().copied().unwrap_or(1.0);
            weights.push(last * more * (count + spread.shape) / (count + 1.0));
        }
        Self::new(&weights)
    }

    #[inline]
    fn at(&self, word: u32) -> usize {
        let wide = u64::from(word) * self.cells.len() as u64;
        let index = (wide >> 32) as usize;
        match self.cells.get(index) {
            Some(cell) if wide as u32 >= cell.own => cell.other as usize,
            _ => index,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of each value, over evenly spaced words.
    fn shares(table: &Table, values: usize) -> Vec<f64> {
        let words = 1 << 20;
        let mut seen = vec![0u32; values];
        for step in 0..words {
            seen[table.at(step * (1 << 12))] += 1;
        }
        seen.into_iter().map(|count| f64::from(count) / f64::from(words)).collect()
    }

    #[test]
    fn a_table_gives_each_value_its_weight() {
        let weights = [1.0, 0.0, 5.0, 2.0, 2.0];
        let table = Table::new(&weights);
        for (share, weight) in shares(&table, 5).iter().zip(weights) {
            assert!((share - weight / 10.0).abs() < 1e-4, "{share} for {weight}");
        }
    }

    #[test]
    fn counts_have_their_mean() {
        let table = Table::counts(Spread { mean: 3.0, shape: 2.0, most: 60 });
        let mean: f64 =
            shares(&table, 61).iter().enumerate().map(|(count, share)| count as f64 * share).sum();
        assert!((mean - 3.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn numbers_lie_as_their_distribution_says() {
        let draws = consequence_prng::Draws::new(1);
        let mut draws = Probability::new(draws.visit(0, 0, 0, consequence_prng::Purpose::Order));
        let count = 100_000;
        let normal: Vec<f64> = (0..count).map(|_| draws.normal()).collect();
        let mean = normal.iter().sum::<f64>() / f64::from(count);
        let square = normal.iter().map(|number| number * number).sum::<f64>() / f64::from(count);
        assert!(mean.abs() < 0.01 && (square - 1.0).abs() < 0.02, "{mean} {square}");
        let quantiles = [2_u16, 4, 4, 10];
        let drawn: Vec<f64> = (0..count).map(|_| draws.between(&quantiles)).collect();
        let share = |holds: fn(f64) -> bool| {
            drawn.iter().filter(|&&number| holds(number)).count() as f64 / f64::from(count)
        };
        assert!(drawn.iter().all(|number| (2.0..=10.0).contains(number)));
        assert!((share(|number| number < 3.0) - 1.0 / 6.0).abs() < 0.01);
        assert!((share(|number| number == 4.0) - 1.0 / 3.0).abs() < 0.01);
        assert!((share(|number| number > 7.0) - 1.0 / 6.0).abs() < 0.01);
        assert_eq!(draws.between::<u16>(&[]), 0.0);
        assert_eq!(draws.between(&[5_u16]), 5.0);
    }

    #[test]
    fn a_table_without_weights_stays_in_bounds() {
        assert_eq!(Table::new(&[]).at(u32::MAX), 0);
        assert!(Table::new(&[0.0, 0.0]).at(u32::MAX) < 2);
    }
}
