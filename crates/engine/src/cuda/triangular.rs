//! The head of the published network: two triangular layers over the history and the codes of a visit.

use std::ops::Range;

use super::gpu::{Gpu, GpuError, Kernel, arguments, by_warps, int, spread};
use super::memory::{Memory, Part, PartMut};
use super::steps::Sums;
use super::words::{Indices, ListEnds};
use crate::Dropout;

/// The sizes of two triangular layers: hidden units are those of the history, and then those of each code;
/// a unit of a code sees the codes up to its own, and a code is told of the units before its own.
#[derive(Clone, Copy, Debug)]
pub struct Triangle {
    /// Units of the history.
    pub width: usize,
    /// Codes.
    pub codes: usize,
    /// Units of each code.
    pub each: usize,
}

impl Triangle {
    /// All units.
    pub fn units(&self) -> usize {
        self.width + self.codes * self.each
    }
}

/// Rows of the head: visits, and after them visits of which only some codes are known.
#[derive(Clone, Copy, Debug)]
pub struct TriangleRows<'a> {
    /// The row of the history of each.
    pub rows: Indices<'a>,
    /// The codes that are known of each.
    pub known: (Indices<'a>, ListEnds<'a>),
    /// By what number each chooses the units that are left out.
    pub drawn: Indices<'a>,
    /// Where the rows beyond the visits end that are of each visit.
    pub more: ListEnds<'a>,
    /// Codes of each visit that something else decides.
    pub settled: (Indices<'a>, ListEnds<'a>),
}

impl TriangleRows<'_> {
    fn visits(&self) -> usize {
        self.more.words.len
    }

    fn count(&self) -> usize {
        self.rows.words.len
    }

    fn check(&self) {
        let (known, ends) = self.known;
        assert!(ends.words.len == self.count() && ends.total == known.words.len);
        assert!(self.drawn.words.len == self.count());
        assert_eq!(self.more.total + self.visits(), self.count(), "all rows are of visits");
        let (settled, ends) = self.settled;
        assert!(ends.words.len == self.visits() && ends.total == settled.words.len);
    }
}

impl Gpu {
    /// The history of each row.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn take_rows(
        &self,
        to: PartMut<'_>,
        from: Part<'_>,
        rows: &TriangleRows<'_>,
        width: usize,
    ) -> Result<(), GpuError> {
        rows.check();
        assert!(to.len == rows.count() * width && rows.rows.below * width <= from.len);
        let arguments = arguments![to, from, rows.rows.words, int(rows.count()), int(width)];
        self.launch(Kernel::take_rows, by_warps(rows.count()), arguments)
    }

    /// Adds the rows of `from` to those of the history that they are of. No two visits are of one row.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn give_rows(
        &self,
        to: PartMut<'_>,
        from: Part<'_>,
        rows: &TriangleRows<'_>,
        width: usize,
    ) -> Result<(), GpuError> {
        rows.check();
        assert!(from.len == rows.count() * width && rows.rows.below * width <= to.len);
        let (chosen, ends) = (rows.rows.words, rows.more.words);
        let arguments = arguments![to, from, chosen, ends, int(rows.visits()), int(width)];
        self.launch(Kernel::give_rows, by_warps(rows.visits()), arguments)
    }

    /// Units of the first layer, of which the history's part is in `units`: adds the bias and what codes
    /// say that are known, and leaves out some of those that are above zero. `bias` is of the units that
    /// are seen, `table` has a row of all units for each code, and rows of `units` are `stride` apart.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn fire_units(
        &self,
        (units, stride): (PartMut<'_>, usize),
        (bias, table): (Part<'_>, Part<'_>),
        rows: &TriangleRows<'_>,
        triangle: &Triangle,
        dropout: Dropout,
    ) -> Result<(), GpuError> {
        let (seen, all) = (bias.len, triangle.units());
        let (known, ends) = rows.known;
        rows.check();
        assert!(units.len == rows.count() * stride && seen <= stride && seen <= all);
        assert!(table.len == triangle.codes * all && known.below <= triangle.codes);
        let limit = if dropout.rate > 0.0 { dropout.limit() } else { 0 };
        let arguments = arguments![
            units,
            bias,
            table,
            known.words,
            ends.words,
            rows.drawn.words,
            int(seen),
            int(stride),
            int(triangle.width),
            int(triangle.each),
            int(all),
            limit,
            dropout.scale(),
            dropout.key as u32,
            (dropout.key >> 32) as u32,
        ];
        self.launch(Kernel::fire_units, tiles(rows.count(), seen), arguments)
    }

    /// The first `seen` units of each row of sums, through the activation; rows of sums have `all`.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn fire_sums(
        &self,
        (units, stride): (PartMut<'_>, usize),
        (sums, all): (Part<'_>, usize),
        seen: usize,
    ) -> Result<(), GpuError> {
        assert!(all > 0 && sums.len.is_multiple_of(all) && seen <= all && seen <= stride);
        let rows = sums.len / all;
        assert_eq!(units.len, rows * stride);
        let [count, seen, stride, all] = [rows, seen, stride, all].map(int);
        let arguments = arguments![units, sums, count, seen, stride, all];
        self.launch(Kernel::fire_sums, by_warps(rows), arguments)
    }

    /// Marks units that fire in any row with a one: those of the history, and those from one on, of so many that
    /// rows have.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn note_fired(
        &self,
        fired: &mut Memory<u32>,
        (units, stride, seen): (&Memory, usize, usize),
        (width, from): (usize, usize),
    ) -> Result<(), GpuError> {
        const EACH: usize = 64;
        assert!(seen <= stride && seen <= fired.len() && units.len().is_multiple_of(stride));
        let rows = units.len() / stride;
        let (fired, units, count) = (fired.all_mut(), units.all(), int(rows));
        let sizes = [seen, stride, width, from, EACH].map(int);
        let [seen_units, stride, width, from, each] = sizes;
        let arguments = arguments![fired, units, count, seen_units, stride, width, from, each];
        self.launch(Kernel::note_fired, tiles(rows.div_ceil(EACH), seen), arguments)
    }

    /// Turns the gradient of what [`Gpu::fire_units`] left in `units` into that of what it was given.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn fire_units_backward(
        &self,
        gradient: &mut Memory,
        units: &Memory,
        dropout: Dropout,
    ) -> Result<(), GpuError> {
        let count = gradient.len();
        assert_eq!(units.len(), count);
        let scale = if dropout.rate > 0.0 { dropout.scale() } else { 1.0 };
        let arguments = arguments![gradient.all_mut(), units.all(), scale, count as i64];
        self.launch(Kernel::fire_units_backward, spread(count), arguments)
    }

    /// The gradient of the table of [`Gpu::fire_units`], whose parameters are `range`; `seen` units of each
    /// row count.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn scatter_units(
        &self,
        (sums, range): (&mut Sums, Range<usize>),
        (gradient, stride, seen): (&Memory, usize, usize),
        rows: &TriangleRows<'_>,
        triangle: &Triangle,
    ) -> Result<(), GpuError> {
        let (known, ends) = rows.known;
        rows.check();
        assert!(gradient.len() == rows.count() * stride && seen <= stride);
        assert!(seen <= triangle.units() && known.below <= triangle.codes);
        assert_eq!(range.len(), triangle.codes * triangle.units());
        let unit = sums.unit;
        let arguments = arguments![
            sums.memory.part_mut(range),
            gradient.all(),
            known.words,
            ends.words,
            int(seen),
            int(stride),
            int(triangle.width),
            int(triangle.each),
            int(triangle.units()),
            unit,
        ];
        let of_codes = seen.saturating_sub(triangle.width);
        self.launch(Kernel::scatter_units, tiles(rows.count(), of_codes), arguments)
    }

    /// Clears what products of whole blocks, of so many codes, put into the empty halves of the layers'
    /// gradients: of the first layer, the rows of the history, and the second layer.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn empty_halves(
        &self,
        gradient: &mut Memory,
        [first, second]: [Range<usize>; 2],
        triangle: &Triangle,
        block: usize,
    ) -> Result<(), GpuError> {
        let Triangle { width, codes, each } = *triangle;
        let all = triangle.units();
        assert!(first.len() == width * all && second.len() == codes * all);
        // Two parts of one memory that do not overlap.
        assert!(first.end <= second.start);
        let (first, second) = (gradient.part(first), gradient.part(second));
        let (wide, count) = (int(width), int(codes));
        let arguments = arguments![first, second, wide, count, int(each), int(all), int(block)];
        self.launch(Kernel::empty_halves, by_warps(width + codes), arguments)
    }

    /// The nats of visits, by the logits of so many codes from `first` on, `stride` apart; where `scale` is
    /// not zero, logits are replaced by their gradients, `scale` times, and those of rows beyond the visits
    /// by zeros. `bias` is of all codes.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn score_visits(
        &self,
        (logits, stride): (&mut Memory, usize),
        nats: PartMut<'_, f64>,
        bias: Part<'_>,
        rows: &TriangleRows<'_>,
        (codes, scale): (&Range<usize>, f32),
    ) -> Result<(), GpuError> {
        rows.check();
        assert!(logits.len() == rows.count() * stride && codes.len() <= stride);
        assert!(nats.len == rows.visits() && codes.end <= bias.len);
        let ((known, ends), (settled, settled_ends)) = (rows.known, rows.settled);
        let arguments = arguments![
            logits.all_mut(),
            nats,
            bias,
            known.words,
            ends.words,
            settled.words,
            settled_ends.words,
            int(rows.visits()),
            int(codes.start),
            int(codes.len()),
            int(stride),
            scale,
        ];
        self.launch(Kernel::score_visit, ([rows.count(), 1], [128, 1]), arguments)
    }

    /// Logits with their biases, without what is between rows.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn narrow_rows(
        &self,
        to: PartMut<'_>,
        (logits, stride): (&Memory, usize),
        bias: Part<'_>,
        codes: &Range<usize>,
    ) -> Result<(), GpuError> {
        let (count, all) = (codes.len(), to.len);
        assert!(count <= stride && codes.end <= bias.len);
        assert_eq!(all * stride, logits.len() * count, "as many rows");
        let (logits, first) = (logits.all(), int(codes.start));
        let arguments = arguments![to, logits, bias, first, int(count), int(stride), all as i64];
        self.launch(Kernel::narrow_rows, spread(all), arguments)
    }

    /// Puts the gradients of what [`Gpu::narrow_rows`] gives in place of the logits.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn widen_rows(
        &self,
        (logits, stride): (&mut Memory, usize),
        from: Part<'_>,
        count: usize,
    ) -> Result<(), GpuError> {
        let all = from.len;
        assert!(count <= stride && all * stride == logits.len() * count, "as many rows");
        let arguments = arguments![logits.all_mut(), from, int(count), int(stride), all as i64];
        self.launch(Kernel::widen_rows, spread(all), arguments)
    }
}

/// Blocks and threads: a thread for each of so many units of each row.
fn tiles(rows: usize, units: usize) -> ([usize; 2], [usize; 2]) {
    ([rows, units.div_ceil(256)], [256, 1])
}
