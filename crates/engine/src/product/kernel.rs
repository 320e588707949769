//! The inner loop: a tile of the product held in registers.
#![allow(unsafe_code)]

use super::ViewMut;
use crate::Level;

/// Rows of the tallest tile.
pub(super) const MAX_ROWS: usize = 12;

/// The shape of a tile: that of the instruction set at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile(Level);

impl Tile {
    pub fn here() -> Self {
        Self(Level::here())
    }

    pub fn rows(self) -> usize {
        match self.0 {
            Level::Avx512 => 12,
            Level::Avx2 => 6,
            Level::Plain => 4,
        }
    }

    pub fn columns(self) -> usize {
        match self.0 {
            Level::Avx512 => 32,
            Level::Avx2 => 16,
            Level::Plain => 8,
        }
    }

    /// `out (+)= strip * panel`, where the strip has the elements of each of its columns side by
    /// side, as many as `out` has rows, and the panel those of each of its rows, as many as the
    /// tile has columns.
    pub fn multiply(self, out: &mut ViewMut<'_>, strip: &[f32], panel: &[f32], accumulate: bool) {
        let (rows, columns) = (out.rows(), out.columns());
        assert!(rows <= self.rows() && columns <= self.columns(), "the tile is large enough");
        let depth = panel.len() / self.columns();
        assert!(strip.len() == depth * rows && panel.len() == depth * self.columns());
        if columns == self.columns() {
            let (to, stride) = out.raw();
            // SAFETY: `to` begins `rows` rows of a full tile's columns, `stride` apart; the lengths
            // of the strip and the panel were compared with the depth just above.
            return unsafe { self.run(to, stride, rows, strip, panel, depth, accumulate) };
        }
        // The edge of a matrix: a full tile beside it, of which the part that exists is kept.
        let mut whole = [0f32; MAX_ROWS * 32];
        let width = self.columns();
        if accumulate {
            for (row, whole) in whole.chunks_exact_mut(width).take(rows).enumerate() {
                whole[..columns].copy_from_slice(out.row(row));
            }
        }
        // SAFETY: `whole` has room for the largest tile; the lengths were compared above.
        unsafe { self.run(whole.as_mut_ptr(), width, rows, strip, panel, depth, accumulate) };
        for (row, whole) in whole.chunks_exact(width).take(rows).enumerate() {
            out.row(row).copy_from_slice(&whole[..columns]);
        }
    }

    /// # Safety
    ///
    /// `to` must begin `rows` rows, `stride` apart, of as many elements as the tile has columns;
    /// `strip` must have `depth * rows` elements and `panel` `depth` times the tile's columns.
    #[allow(clippy::too_many_arguments)]
    unsafe fn run(
        self,
        to: *mut f32,
        stride: usize,
        rows: usize,
        strip: &[f32],
        panel: &[f32],
        depth: usize,
        accumulate: bool,
    ) {
        macro_rules! for_rows {
            ($kernel:ident: $($count:literal)*) => {
                match rows {
                    // SAFETY: the caller's promise; `Tile::here` found the instructions.
                    $($count => unsafe { $kernel::<$count>(to, stride, strip, panel, depth, accumulate) },)*
                    _ => unreachable!("a tile has no more rows"),
                }
            };
        }
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => for_rows!(avx512: 1 2 3 4 5 6 7 8 9 10 11 12),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => for_rows!(avx2: 1 2 3 4 5 6),
            _ => for_rows!(plain: 1 2 3 4),
        }
    }
}

/// # Safety
///
/// As for [`Tile::run`], with `ROWS` rows of 32 columns; the machine has AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512<const ROWS: usize>(
    to: *mut f32,
    stride: usize,
    strip: &[f32],
    panel: &[f32],
    depth: usize,
    accumulate: bool,
) {
    use std::arch::x86_64::*;
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    // SAFETY: all pointers stay inside what the caller promised.
    unsafe {
        if accumulate {
            for (row, sums) in sums.iter_mut().enumerate() {
                *sums = [0, 16].map(|at| _mm512_loadu_ps(to.add(row * stride + at)));
            }
        }
        let (mut a, mut b) = (strip.as_ptr(), panel.as_ptr());
        for _ in 0..depth {
            let [left, right] = [_mm512_loadu_ps(b), _mm512_loadu_ps(b.add(16))];
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = _mm512_set1_ps(*a.add(row));
                sums[0] = _mm512_fmadd_ps(factor, left, sums[0]);
                sums[1] = _mm512_fmadd_ps(factor, right, sums[1]);
            }
            (a, b) = (a.add(ROWS), b.add(32));
        }
        for (row, sums) in sums.iter().enumerate() {
            _mm512_storeu_ps(to.add(row * stride), sums[0]);
            _mm512_storeu_ps(to.add(row * stride + 16), sums[1]);
        }
    }
}

/// # Safety
///
/// As for [`Tile::run`], with `ROWS` rows of 16 columns; the machine has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<const ROWS: usize>(
    to: *mut f32,
    stride: usize,
    strip: &[f32],
    panel: &[f32],
    depth: usize,
    accumulate: bool,
) {
    use std::arch::x86_64::*;
    let mut sums = [[_mm256_setzero_ps(); 2]; ROWS];
    // SAFETY: all pointers stay inside what the caller promised.
    unsafe {
        if accumulate {
            for (row, sums) in sums.iter_mut().enumerate() {
                *sums = [0, 8].map(|at| _mm256_loadu_ps(to.add(row * stride + at)));
            }
        }
        let (mut a, mut b) = (strip.as_ptr(), panel.as_ptr());
        for _ in 0..depth {
            let [left, right] = [_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(8))];
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = _mm256_set1_ps(*a.add(row));
                sums[0] = _mm256_fmadd_ps(factor, left, sums[0]);
                sums[1] = _mm256_fmadd_ps(factor, right, sums[1]);
            }
            (a, b) = (a.add(ROWS), b.add(16));
        }
        for (row, sums) in sums.iter().enumerate() {
            _mm256_storeu_ps(to.add(row * stride), sums[0]);
            _mm256_storeu_ps(to.add(row * stride + 8), sums[1]);
        }
    }
}

/// # Safety
///
/// As for [`Tile::run`], with `ROWS` rows of 8 columns.
unsafe fn plain<const ROWS: usize>(
    to: *mut f32,
    stride: usize,
    strip: &[f32],
    panel: &[f32],
    depth: usize,
    accumulate: bool,
) {
    let mut sums = [[0f32; 8]; ROWS];
    // SAFETY: the caller promised `ROWS` rows of 8 elements, `stride` apart.
    let row = |row: usize| unsafe { std::slice::from_raw_parts_mut(to.add(row * stride), 8) };
    if accumulate {
        for (at, sums) in sums.iter_mut().enumerate() {
            sums.copy_from_slice(row(at));
        }
    }
    for (a, b) in strip.chunks_exact(ROWS).zip(panel.chunks_exact(8)).take(depth) {
        for (sums, a) in sums.iter_mut().zip(a) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += a * b;
            }
        }
    }
    for (at, sums) in sums.iter().enumerate() {
        row(at).copy_from_slice(sums);
    }
}

/// Adds a factor times a slice to another slice, rounded as a product rounds: continuing the sums
/// of a product with it gives the bits of a longer product.
///
/// ```
/// let mut to = [1.0, 2.0];
/// consequence_engine::add_fused(&mut to, 0.5, &[10.0, 20.0]);
/// assert_eq!(to, [6.0, 12.0]);
/// ```
#[inline]
pub fn add_fused(to: &mut [f32], factor: f32, from: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2(to: &mut [f32], factor: f32, from: &[f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = factor.mul_add(*from, *to);
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,fma")]
    fn avx512(to: &mut [f32], factor: f32, from: &[f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = factor.mul_add(*from, *to);
        }
    }
    match Level::here() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::here` has found these instructions on this machine.
        Level::Avx512 => unsafe { avx512(to, factor, from) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::here` has found these instructions on this machine.
        Level::Avx2 => unsafe { avx2(to, factor, from) },
        _ => crate::rows::add_scaled(to, factor, from),
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Tile};
    use crate::ViewMut;

    /// Every instruction set that the machine has, on every height and on edges.
    #[test]
    fn levels_agree() {
        let depth = 37;
        for level in [Level::Plain, Level::Avx2, Level::Avx512] {
            if level > Level::here() {
                eprintln!("SKIPPED: this machine has no {level:?}");
                continue;
            }
            let tile = Tile(level);
            for rows in 1..=tile.rows() {
                for columns in [1, tile.columns() - 1, tile.columns()] {
                    let value = |at: usize| ((at * 2_654_435_761) % 1000) as f32 / 1000.0 - 0.5;
                    let strip: Vec<f32> = (0..depth * rows).map(value).collect();
                    let panel: Vec<f32> = (7..7 + depth * tile.columns()).map(value).collect();
                    let mut out = vec![1f32; rows * columns];
                    for accumulate in [false, true] {
                        let mut view = ViewMut::new(&mut out, rows, columns);
                        tile.multiply(&mut view, &strip, &panel, accumulate);
                    }
                    for row in 0..rows {
                        for column in 0..columns {
                            let sum: f64 = (0..depth)
                                .map(|k| {
                                    f64::from(strip[k * rows + row])
                                        * f64::from(panel[k * tile.columns() + column])
                                })
                                .sum();
                            let got = f64::from(out[row * columns + column]);
                            assert!((got - 2.0 * sum).abs() < 1e-4, "{level:?} {rows} {columns}");
                        }
                    }
                }
            }
        }
    }
}
