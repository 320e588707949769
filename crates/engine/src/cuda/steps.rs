//! What is done to rows: tables added up, normalised, taken through GELU and averaged; with gradients.

use std::ops::Range;

use super::gpu::{Gpu, GpuError, Kernel, arguments, by_warps, int, spread};
use super::memory::{Memory, Part, PartMut};
use super::words::{Indices, ListEnds};

/// Functions of the number of a visit.
const PLACES: usize = 8;

/// One, in fixed point, for a gradient of its usual scale.
const ONE: f32 = (1u64 << 32) as f32;

/// Sums in fixed point, laid out as the parameters that they are the gradients of.
#[derive(Debug, Default)]
pub struct Sums {
    pub(super) memory: Memory<u64>,
    pub(super) unit: f32,
}

impl Sums {
    /// Begins anew, for gradients of a loss that is multiplied by `scale`.
    pub fn begin(&mut self, gpu: &Gpu, len: usize, scale: f32) -> Result<(), GpuError> {
        self.unit = ONE / scale;
        self.memory.fit(gpu, len)?;
        self.memory.clear(gpu)
    }

    /// What came of some of them, for a scale of one. Waits for all steps.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn read(&self, gpu: &Gpu, range: Range<usize>) -> Result<Vec<f64>, GpuError> {
        let mut all = vec![0; self.memory.len()];
        self.memory.read(gpu, &mut all)?;
        let number = |&fixed: &u64| fixed.cast_signed() as f64 / f64::from(ONE);
        Ok(all[range].iter().map(number).collect())
    }
}

/// The rows of a matrix.
fn rows(len: usize, width: usize) -> usize {
    assert!(width > 0 && len.is_multiple_of(width), "a matrix has whole rows");
    len / width
}

impl Gpu {
    /// The functions of the number of each visit, eight of them, without their weights.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn places(&self, to: PartMut<'_>, visits: Indices<'_>) -> Result<(), GpuError> {
        let count = visits.words.len;
        assert_eq!(to.len, count * PLACES);
        self.launch(Kernel::places, spread(count), arguments![to, visits.words, int(count)])
    }

    /// Adds to each row the rows of a table that its list names.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn add_gathered(
        &self,
        to: PartMut<'_>,
        table: Part<'_>,
        (items, ends): (Indices<'_>, ListEnds<'_>),
        width: usize,
    ) -> Result<(), GpuError> {
        let rows = rows(to.len, width);
        assert!(items.below * width <= table.len && items.words.len == ends.total);
        assert_eq!(ends.words.len, rows);
        let arguments = arguments![to, table, items.words, ends.words, int(rows), int(width)];
        self.launch(Kernel::add_gathered, by_warps(rows), arguments)
    }

    /// The gradient of [`Gpu::add_gathered`] with respect to the table, whose parameters are `range`.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn scatter_rows(
        &self,
        sums: &mut Sums,
        range: Range<usize>,
        from: Part<'_>,
        (items, ends): (Indices<'_>, ListEnds<'_>),
        width: usize,
    ) -> Result<(), GpuError> {
        let rows = rows(from.len, width);
        assert!(items.below * width <= range.len() && items.words.len == ends.total);
        assert_eq!(ends.words.len, rows);
        let unit = sums.unit;
        let table = sums.memory.part_mut(range);
        let arguments =
            arguments![table, from, items.words, ends.words, int(rows), int(width), unit];
        self.launch(Kernel::scatter_rows, by_warps(rows), arguments)
    }

    /// Normalises rows; `curved`: GELU follows. `normals` takes two numbers for each row.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn layer_norm(
        &self,
        to: PartMut<'_>,
        normals: PartMut<'_>,
        from: Part<'_>,
        [weight, bias]: [Part<'_>; 2],
        (epsilon, curved): (f32, bool),
    ) -> Result<(), GpuError> {
        let width = weight.len;
        let rows = rows(to.len, width);
        assert!(from.len == to.len && bias.len == width && normals.len == 2 * rows);
        let arguments = arguments![
            to,
            normals,
            from,
            weight,
            bias,
            int(rows),
            int(width),
            epsilon,
            i32::from(curved),
        ];
        self.launch(Kernel::layer_norm, by_warps(rows), arguments)
    }

    /// The gradient of [`Gpu::layer_norm`]: that of the argument is added to `to`, those of the weight
    /// and the bias to `ranges`; what is in `dy` is spoilt.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    #[allow(clippy::too_many_arguments, reason = "all that a normalisation knows")]
    pub fn layer_norm_backward(
        &self,
        to: PartMut<'_>,
        dy: &mut Memory,
        (from, normals): (Part<'_>, Part<'_>),
        [weight, bias]: [Part<'_>; 2],
        curved: bool,
        sums: &mut Sums,
        ranges: [Range<usize>; 2],
    ) -> Result<(), GpuError> {
        let width = weight.len;
        let rows = rows(to.len, width);
        assert!(from.len == to.len && dy.len() == to.len && bias.len == width);
        assert_eq!(normals.len, 2 * rows);
        let arguments = arguments![
            to,
            dy.all_mut(),
            from,
            normals,
            weight,
            bias,
            int(rows),
            int(width),
            i32::from(curved),
        ];
        self.launch(Kernel::layer_norm_backward, by_warps(rows), arguments)?;
        let [weighed, plain] = ranges;
        self.sum_columns(sums, [plain, weighed], (dy.all(), width, width), Some((from, normals)))
    }

    /// Adds the sums of columns to some sums; the rows of the matrix are `stride` apart.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn column_sums(
        &self,
        sums: &mut Sums,
        range: Range<usize>,
        matrix: Part<'_>,
        stride: usize,
    ) -> Result<(), GpuError> {
        let width = range.len();
        self.sum_columns(sums, [range, 0..0], (matrix, width, stride), None)
    }

    fn sum_columns(
        &self,
        sums: &mut Sums,
        [plain, weighed]: [Range<usize>; 2],
        (matrix, width, stride): (Part<'_>, usize, usize),
        normed: Option<(Part<'_>, Part<'_>)>,
    ) -> Result<(), GpuError> {
        const EACH: usize = 256;
        let rows = rows(matrix.len, stride);
        assert!(plain.len() == width && width <= stride);
        assert!(normed.is_none() || weighed.len() == width);
        let (from, normals) = normed.unwrap_or((Part::none(), Part::none()));
        let unit = sums.unit;
        // Two parts of one memory that do not overlap.
        let weighed = sums.memory.part(weighed);
        let plain = sums.memory.part(plain);
        let arguments = arguments![
            plain,
            weighed,
            matrix,
            from,
            normals,
            int(rows),
            int(width),
            int(stride),
            int(EACH),
            unit,
        ];
        let blocks = [width.div_ceil(32), rows.div_ceil(EACH)];
        self.launch(Kernel::column_sums, (blocks, [32, 8]), arguments)
    }

    /// `to = from + product + bias`, the bias for every row.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn add_linear(
        &self,
        to: PartMut<'_>,
        from: Part<'_>,
        product: Part<'_>,
        bias: Part<'_>,
    ) -> Result<(), GpuError> {
        let count = to.len;
        assert!(from.len == count && product.len == count && count.is_multiple_of(bias.len));
        let arguments = arguments![to, from, product, bias, count as i64, int(bias.len)];
        self.launch(Kernel::add_linear, spread(count), arguments)
    }

    /// `to += from`
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn add(&self, to: PartMut<'_>, from: Part<'_>) -> Result<(), GpuError> {
        let count = to.len;
        assert_eq!(from.len, count);
        self.launch(Kernel::add, spread(count), arguments![to, from, count as i64])
    }

    /// `to = gelu(from + bias)`, the bias for every row.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn gelu_linear(
        &self,
        to: PartMut<'_>,
        from: Part<'_>,
        bias: Part<'_>,
    ) -> Result<(), GpuError> {
        let count = to.len;
        assert!(from.len == count && count.is_multiple_of(bias.len));
        let arguments = arguments![to, from, bias, count as i64, int(bias.len)];
        self.launch(Kernel::gelu_linear, spread(count), arguments)
    }

    /// Turns the gradient of the result of [`Gpu::gelu_linear`] into that of its argument.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn gelu_linear_backward(
        &self,
        gradient: PartMut<'_>,
        from: Part<'_>,
        bias: Part<'_>,
    ) -> Result<(), GpuError> {
        let count = gradient.len;
        assert!(from.len == count && count.is_multiple_of(bias.len));
        let arguments = arguments![gradient, from, bias, count as i64, int(bias.len)];
        self.launch(Kernel::gelu_linear_backward, spread(count), arguments)
    }

    /// The gated average after every row, for sequences that lie end to end; `mixed` is still without
    /// its bias.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn gated_average(
        &self,
        averages: PartMut<'_>,
        (mixed, bias): (Part<'_>, Part<'_>),
        sequences: ListEnds<'_>,
    ) -> Result<(), GpuError> {
        let width = bias.len / 2;
        assert!(averages.len == sequences.total * width && mixed.len == 2 * averages.len);
        let count = sequences.words.len;
        let arguments = arguments![averages, mixed, bias, sequences.words, int(count), int(width)];
        self.launch(Kernel::gated_average, spread(count * width), arguments)
    }

    /// The gradient of [`Gpu::gated_average`]: that of `mixed` replaces what is in `to`.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn gated_average_backward(
        &self,
        to: PartMut<'_>,
        (gradient, averages): (Part<'_>, Part<'_>),
        (mixed, bias): (Part<'_>, Part<'_>),
        sequences: ListEnds<'_>,
    ) -> Result<(), GpuError> {
        let width = bias.len / 2;
        assert!(averages.len == sequences.total * width && gradient.len == averages.len);
        assert!(mixed.len == 2 * averages.len && to.len == mixed.len);
        let count = sequences.words.len;
        let arguments = arguments![
            to,
            gradient,
            averages,
            mixed,
            bias,
            sequences.words,
            int(count),
            int(width),
        ];
        self.launch(Kernel::gated_average_backward, spread(count * width), arguments)
    }
}
