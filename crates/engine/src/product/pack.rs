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

    pub(super) fn tile(&self) -> Tile {
        self.tile
    }

    /// Lays out another matrix in the same memory.
    pub(super) fn fill(&mut self, matrix: View<'_>) {
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
                for column in 0..count {
                    if let Some(run) = turned.run(column, 0..self.depth) {
                        for (row, value) in panel.chunks_exact_mut(width).zip(run) {
                            row[column] = *value;
                        }
                    }
                }
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
    for row in 0..rows {
        match part.run(row, 0..part.columns()) {
            Some(run) => {
                for (column, value) in run.iter().enumerate() {
                    strip[column * rows + row] = *value;
                }
            }
            None => {
                for column in 0..part.columns() {
                    strip[column * rows + row] = part.at(row, column);
                }
            }
        }
    }
}
