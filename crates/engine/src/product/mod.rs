//! Products of matrices.
//!
//! Every element of a product is one chain of additions over the inner dimension, from its first
//! term to its last, whatever the shape, the blocks or the threads. So a row has the same bits
//! alone and among a thousand others.

mod kernel;
mod pack;
mod view;

pub use kernel::add_fused;
pub use pack::Packed;
pub use view::{View, ViewMut};

use rayon::prelude::*;

use kernel::Tile;
use pack::pack_rows;

/// The inner dimension is taken in blocks of this many: a packed strip of both factors then stays
/// in the nearest cache.
const DEPTH: usize = 256;
/// Columns that one task works on.
const COLUMNS: usize = 256;
/// Products with fewer multiplications than this are not worth spreading over threads.
const SMALL: usize = 1 << 16;

/// `out = a * b`, or `out += a * b` if `accumulate` is set.
///
/// ```
/// use consequence_engine::{View, ViewMut, product};
///
/// let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
/// let mut out = [0.0; 4];
/// product(ViewMut::new(&mut out, 2, 2), View::new(&a, 2, 2), View::new(&b, 2, 2), false);
/// assert_eq!(out, [19.0, 22.0, 43.0, 50.0]);
/// product(ViewMut::new(&mut out, 2, 2), View::new(&a, 2, 2), View::new(&b, 2, 2).transposed(), false);
/// assert_eq!(out, [17.0, 23.0, 39.0, 53.0]);
/// ```
///
/// # Panics
///
/// If the shapes do not fit each other.
pub fn product(out: ViewMut<'_>, a: View<'_>, b: View<'_>, accumulate: bool) {
    assert_eq!(a.columns(), b.rows(), "the inner dimensions of a product agree");
    assert_eq!(a.rows(), out.rows(), "the rows of a product agree");
    assert_eq!(b.columns(), out.columns(), "the columns of a product agree");
    tasks(out, a.columns(), Tile::here(), |first, mut out| {
        let a = a.part(first.0..first.0 + out.rows(), 0..a.columns());
        let b = b.part(0..b.rows(), first.1..first.1 + out.columns());
        unpacked_part(&mut out, a, b, accumulate);
    });
}

/// [`product`] on this thread alone: for work that is spread over threads already.
///
/// ```
/// use consequence_engine::{View, ViewMut, product_here};
///
/// let mut out = [1.0];
/// let (a, b) = (View::new(&[1.0, 2.0], 1, 2), View::new(&[3.0, 4.0], 2, 1));
/// product_here(ViewMut::new(&mut out, 1, 1), a, b, true);
/// assert_eq!(out, [12.0]);
/// ```
///
/// # Panics
///
/// If the shapes do not fit each other.
pub fn product_here(mut out: ViewMut<'_>, a: View<'_>, b: View<'_>, accumulate: bool) {
    assert_eq!(a.columns(), b.rows(), "the inner dimensions of a product agree");
    assert_eq!(a.rows(), out.rows(), "the rows of a product agree");
    assert_eq!(b.columns(), out.columns(), "the columns of a product agree");
    unpacked_part(&mut out, a, b, accumulate);
}

fn unpacked_part(out: &mut ViewMut<'_>, a: View<'_>, b: View<'_>, accumulate: bool) {
    let mut packed = Packed::default();
    for from in (0..a.columns().max(1)).step_by(DEPTH) {
        let to = a.columns().min(from + DEPTH);
        packed.fill(b.part(from..to, 0..b.columns()));
        block(out, a.part(0..a.rows(), from..to), &packed, 0, 0, accumulate || from > 0);
    }
}

/// `out = a * b`, or `out += a * b`, with a second factor that was packed before, from one of its
/// columns on: for weights that many products use. The bits are those of [`product`]. It is done on
/// this thread alone. `out` may have fewer columns than are left.
///
/// ```
/// use consequence_engine::{Packed, View, ViewMut, product_packed_here};
///
/// let b = Packed::new(View::new(&[5.0, 6.0, 7.0, 8.0], 2, 2));
/// let mut out = [1.0];
/// product_packed_here(ViewMut::new(&mut out, 1, 1), View::new(&[1.0, 2.0], 1, 2), &b, 0, true);
/// assert_eq!(out, [20.0]);
/// ```
///
/// # Panics
///
/// If the shapes do not fit each other, or if the column is no multiple of [`Packed::panel_columns`].
pub fn product_packed_here(
    mut out: ViewMut<'_>,
    a: View<'_>,
    b: &Packed,
    column: usize,
    accumulate: bool,
) {
    assert_eq!(a.columns(), b.depth(), "the inner dimensions of a product agree");
    assert_eq!(a.rows(), out.rows(), "the rows of a product agree");
    assert!(column + out.columns() <= b.columns(), "the columns of a product agree");
    assert!(column.is_multiple_of(b.panel_columns()), "a product begins with a panel");
    packed_part(&mut out, a, b, column, accumulate);
}

fn packed_part(out: &mut ViewMut<'_>, a: View<'_>, b: &Packed, column: usize, accumulate: bool) {
    for from in (0..a.columns().max(1)).step_by(DEPTH) {
        let to = a.columns().min(from + DEPTH);
        block(out, a.part(0..a.rows(), from..to), b, from, column, accumulate || from > 0);
    }
}

/// Cuts a matrix into tasks and works on all of them, each told its first row and column: strips of
/// columns, and these into parts only if there would be too few tasks, since every task lays out
/// its strip of the second factor anew.
fn tasks(
    out: ViewMut<'_>,
    inner: usize,
    tile: Tile,
    work: impl Fn((usize, usize), ViewMut<'_>) + Sync,
) {
    if out.rows() * out.columns() * inner <= SMALL {
        return work((0, 0), out);
    }
    let strips = out.columns().div_ceil(COLUMNS).max(1);
    let parts = (4 * rayon::current_num_threads()).div_ceil(strips);
    let height = out.rows().div_ceil(parts).next_multiple_of(tile.rows());
    let mut tasks = Vec::new();
    let mut first_column = 0;
    for strip in out.column_parts(COLUMNS) {
        let (width, mut first_row) = (strip.columns(), 0);
        for part in strip.row_parts(height) {
            let rows = part.rows();
            tasks.push(((first_row, first_column), part));
            first_row += rows;
        }
        first_column += width;
    }
    tasks.into_par_iter().with_max_len(1).for_each(|(first, part)| work(first, part));
}

/// One task, for one block of the inner dimension: `a` times the part of the packed factor that
/// begins at a depth and a column.
fn block(
    out: &mut ViewMut<'_>,
    a: View<'_>,
    b: &Packed,
    depth: usize,
    column: usize,
    accumulate: bool,
) {
    let tile = b.tile();
    let mut strip = [0f32; kernel::MAX_ROWS * DEPTH];
    for top in (0..a.rows()).step_by(tile.rows()) {
        let rows = tile.rows().min(a.rows() - top);
        pack_rows(&mut strip, a.part(top..top + rows, 0..a.columns()), rows);
        for left in (0..out.columns()).step_by(tile.columns()) {
            let columns = tile.columns().min(out.columns() - left);
            let panel = b.panel(column + left, depth, a.columns());
            let mut corner = out.part_mut(top..top + rows, left..left + columns);
            tile.multiply(&mut corner, &strip[..rows * a.columns()], panel, accumulate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Packed, View, ViewMut, product, product_packed_here};
    use proptest::prelude::*;

    fn noise(count: usize, seed: u64) -> Vec<f32> {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / 16_777_216.0 - 0.5
        };
        (0..count).map(|_| next()).collect()
    }

    fn naive(a: &[f32], b: &[f32], rows: usize, inner: usize, columns: usize) -> Vec<f64> {
        let mut out = vec![0f64; rows * columns];
        for row in 0..rows {
            for column in 0..columns {
                out[row * columns + column] = (0..inner)
                    .map(|k| f64::from(a[row * inner + k]) * f64::from(b[k * columns + column]))
                    .sum();
            }
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(120))]
        #[test]
        fn agrees_with_the_definition_in_every_layout(
            rows in 1usize..40, inner in 0usize..600, columns in 1usize..90, seed in any::<u64>(),
        ) {
            let (a, b) = (noise(rows * inner, seed), noise(inner * columns, seed ^ 99));
            let right = naive(&a, &b, rows, inner, columns);
            let transpose = |m: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                (0..rows * columns).map(|at| m[at % rows * columns + at / rows]).collect()
            };
            let (turned_a, turned_b) = (transpose(&a, rows, inner), transpose(&b, inner, columns));
            let mut results = Vec::new();
            for a in [View::new(&a, rows, inner), View::new(&turned_a, inner, rows).transposed()] {
                for b in [View::new(&b, inner, columns), View::new(&turned_b, columns, inner).transposed()] {
                    let mut out = vec![f32::NAN; rows * columns];
                    product(ViewMut::new(&mut out, rows, columns), a, b, false);
                    results.push(out);
                    let mut out = vec![f32::NAN; rows * columns];
                    let packed = Packed::new(b);
                    product_packed_here(ViewMut::new(&mut out, rows, columns), a, &packed, 0, false);
                    results.push(out);
                }
            }
            for (at, right) in right.iter().enumerate() {
                prop_assert!((f64::from(results[0][at]) - right).abs() < 1e-4, "{} {right}", results[0][at]);
            }
            for other in &results[1..] {
                prop_assert_eq!(other, &results[0]);
            }
            let mut twice = results[0].clone();
            product(ViewMut::new(&mut twice, rows, columns), View::new(&a, rows, inner),
                View::new(&b, inner, columns), true);
            for (twice, once) in twice.iter().zip(&results[0]) {
                prop_assert!((twice - 2.0 * once).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_in_any_company_on_any_threads() {
        let (rows, inner, columns) = (61, 700, 300);
        let (a, b) = (noise(rows * inner, 3), noise(inner * columns, 4));
        let whole = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out = vec![0f32; rows * columns];
            pool.install(|| {
                product(
                    ViewMut::new(&mut out, rows, columns),
                    View::new(&a, rows, inner),
                    View::new(&b, inner, columns),
                    false,
                );
            });
            out
        };
        let expected = whole(1);
        assert_eq!(whole(2), expected);
        assert_eq!(whole(7), expected);
        for company in [1, 2, 3, 5, 12, 13, 40] {
            for (a, expected) in a.chunks(company * inner).zip(expected.chunks(company * columns)) {
                let rows = a.len() / inner;
                let mut out = vec![0f32; rows * columns];
                product(
                    ViewMut::new(&mut out, rows, columns),
                    View::new(a, rows, inner),
                    View::new(&b, inner, columns),
                    false,
                );
                assert_eq!(out, expected, "{company} rows at a time");
            }
        }
    }
}
