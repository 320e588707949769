//! Factors laid out in the order in which the inner loop reads them.

use super::View;
use super::kernel::Tile;

/// The second factor of products, laid out once: panels of a tile's columns, each with the inner
/// dimension running fastest but for the columns of the panel themselves. The last panel is filled
/// up with zeros.
#[derive(Clone, Debug)]
pub struct Packed {
    data: Vec<f32>,
    depth: usize,
    columns: usize,
    tile: Tile,
}

impl Default for Packed {
    fn default() -> Self {
        Self::empty(Tile::here())
    }
}

impl Packed {
    /// Lays out a matrix.
    pub fn new(matrix: View<'_>) -> Self {
        let mut packed = Self::empty(Tile::here());
        packed.fill(matrix);
        packed
    }

    pub(super) fn empty(tile: Tile) -> Self {
        Self { data: Vec::new(), depth: 0, columns: 0, tile }
    }

    /// Rows of the matrix.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Columns of the matrix.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Columns that lie side by side: a product may begin at every multiple of them.
    pub fn panel_columns(&self) -> usize {
        self.tile.columns()
    }

    pub(super) fn tile(&self) -> Tile {
        self.tile
    }

    /// Lays out another matrix in the same memory.
    pub fn fill(&mut self, matrix: View<'_>) {
        let width = self.tile.columns();
        (self.depth, self.columns) = (matrix.rows(), matrix.columns());
        let length = self.columns.div_ceil(width) * width * self.depth;
        self.data.resize(length, 0.0);
        if length == 0 {
            return;
        }
        for (index, panel) in self.data.chunks_exact_mut(width * self.depth).enumerate() {
            let left = index * width;
            let count = width.min(self.columns - left);
            if count < width {
                panel.fill(0.0);
            }
            let part = matrix.part(0..self.depth, left..left + count);
            if part.is_turned() {
                let turned = part.transposed();
                transpose(panel, width, &turned, count);
            } else {
                for (depth, row) in panel.chunks_exact_mut(width).enumerate() {
                    match part.run(depth, 0..count) {
                        Some(run) => row[..count].copy_from_slice(run),
                        None => {
                            for (column, value) in row[..count].iter_mut().enumerate() {
                                *value = part.at(depth, column);
                            }
                        }
                    }
                }
            }
        }
    }

    /// The part of a panel that begins at a column, a multiple of the tile's, and at a depth.
    pub(super) fn panel(&self, column: usize, depth: usize, count: usize) -> &[f32] {
        let width = self.tile.columns();
        debug_assert_eq!(column % width, 0);
        let start = (column / width * self.depth + depth) * width;
        &self.data[start..start + count * width]
    }
}

/// Lays out a few rows so that the elements of a column lie side by side.
pub(super) fn pack_rows(strip: &mut [f32], part: View<'_>, rows: usize) {
    if part.columns() == 0 {
        return;
    }
    if part.run(0, 0..1).is_some() {
        return transpose(&mut strip[..rows * part.columns()], rows, &part, rows);
    }
    for row in 0..rows {
        for column in 0..part.columns() {
            strip[column * rows + row] = part.at(row, column);
        }
    }
}

/// Writes the first rows of a matrix as columns, `stride` elements from one element of a row to the
/// next. The elements of its rows lie side by side.
fn transpose(to: &mut [f32], stride: usize, matrix: &View<'_>, rows: usize) {
    let columns = matrix.columns();
    let run = |row: usize| matrix.run(row, 0..columns).unwrap_or_default();
    let mut row = 0;
    // Four rows at a time become shuffles of whole registers.
    while row + 4 <= rows {
        let four = [run(row), run(row + 1), run(row + 2), run(row + 3)];
        let chunks = four.map(|run| run.as_chunks::<4>().0);
        for (at, to) in to.chunks_exact_mut(4 * stride).enumerate() {
            let [a, b, c, d] = [chunks[0][at], chunks[1][at], chunks[2][at], chunks[3][at]];
            for column in 0..4 {
                let to = &mut to[column * stride + row..column * stride + row + 4];
                to.copy_from_slice(&[a[column], b[column], c[column], d[column]]);
            }
        }
        let done = columns / 4 * 4;
        for (column, to) in to.chunks_exact_mut(stride).enumerate().skip(done) {
            for (to, run) in to[row..row + 4].iter_mut().zip(four) {
                *to = run[column];
            }
        }
        row += 4;
    }
    for row in row..rows {
        for (value, to) in run(row).iter().zip(to.chunks_exact_mut(stride)) {
            to[row] = *value;
        }
    }
}
