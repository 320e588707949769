//! Causal attention over sequences that lie end to end.

use super::deck::TakenIn;
use super::gpu::{Gpu, GpuError, Kernel, arguments, by_warps, int};
use super::memory::{Part, PartMut};
use super::words::{Indices, ListEnds};

/// Numbers of a head of attention, at most.
pub const WIDEST_HEAD: usize = 256;

/// Rows that attend to those before them.
///
/// Queries, keys and values of a row lie side by side, still without their bias.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// Queries, keys and values.
    pub mixed: Part<'a>,
    /// Their bias.
    pub bias: Part<'a>,
    /// Where sequences end.
    pub sequences: ListEnds<'a>,
    /// The sequence of each row.
    pub owners: Indices<'a>,
    /// Heads, which share the width.
    pub heads: usize,
}

impl Attention<'_> {
    fn rows(&self) -> usize {
        self.owners.words.len
    }

    fn width(&self) -> usize {
        self.bias.len / 3
    }

    /// That lists lie within and matrices have room; gives the numbers of a head.
    fn check(&self, matrices: &[usize], numbers: &[usize]) -> usize {
        let (rows, width) = (self.rows(), self.width());
        assert!(self.sequences.total == rows && self.owners.below <= self.sequences.words.len);
        assert!(self.bias.len == 3 * width && self.mixed.len == 3 * rows * width);
        assert!(self.heads > 0 && width.is_multiple_of(self.heads), "heads share the width");
        assert!(matrices.iter().all(|&len| len == rows * width), "matrices are of this size");
        assert!(numbers.iter().all(|&len| len == rows * self.heads), "a number for each head");
        let wide = width / self.heads;
        assert!(wide <= WIDEST_HEAD, "heads have at most {WIDEST_HEAD} numbers");
        wide
    }

    /// Blocks and threads: a warp for each row of each head.
    fn spread(&self) -> ([usize; 2], [usize; 2]) {
        let ([across, _], threads) = by_warps(self.rows());
        ([across, self.heads], threads)
    }
}

impl Gpu {
    /// Every row attends to the rows of its sequence up to itself; `peaks` takes what the gradient
    /// needs of each row and head.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit, or a head has more than [`WIDEST_HEAD`] numbers.
    pub fn attend(
        &self,
        to: PartMut<'_>,
        peaks: PartMut<'_>,
        attention: &Attention<'_>,
    ) -> Result<(), GpuError> {
        let wide = attention.check(&[to.len], &[peaks.len]);
        let kernel = if wide <= 64 { Kernel::attend_64 } else { Kernel::attend_256 };
        let arguments = arguments![
            to,
            peaks,
            attention.mixed,
            attention.bias,
            attention.sequences.words,
            attention.owners.words,
            int(attention.rows()),
            int(attention.heads),
            int(wide),
        ];
        self.launch(kernel, attention.spread(), arguments)
    }

    /// The gradient of [`Gpu::attend`], given that of its result and the result: that of queries, keys and
    /// values replaces what is in `to`. `deltas` is for its own use.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit, or a head has more than [`WIDEST_HEAD`] numbers.
    pub fn attend_backward(
        &self,
        to: PartMut<'_>,
        deltas: PartMut<'_>,
        (gradient, result): (Part<'_>, Part<'_>),
        peaks: Part<'_>,
        attention: &Attention<'_>,
    ) -> Result<(), GpuError> {
        let wide = attention.check(&[gradient.len, result.len], &[deltas.len, peaks.len]);
        assert_eq!(to.len, attention.mixed.len);
        let [for_rows, for_keys] = match wide {
            ..=64 => [Kernel::attend_rows_64, Kernel::attend_keys_64],
            _ => [Kernel::attend_rows_256, Kernel::attend_keys_256],
        };
        let arguments = arguments![
            to.pointer,
            deltas.pointer,
            gradient,
            result,
            peaks,
            attention.mixed,
            attention.bias,
            attention.sequences.words,
            attention.owners.words,
            int(attention.rows()),
            int(attention.heads),
            int(wide),
        ];
        self.launch(for_rows, attention.spread(), arguments)?;
        let arguments = arguments![
            to,
            deltas,
            gradient,
            peaks,
            attention.mixed,
            attention.bias,
            attention.sequences.words,
            attention.owners.words,
            int(attention.rows()),
            int(attention.heads),
            int(wide),
        ];
        self.launch(for_keys, attention.spread(), arguments)
    }

    /// One more row for each of some sequences that were [taken in](Gpu::take_in): it attends to the rows that are cached of its
    /// sequence and to itself, and is cached. There are as many of these as were seen before, fewer than `room`.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit, or a head has more than [`WIDEST_HEAD`] numbers.
    pub fn attend_step(
        &self,
        to: PartMut<'_>,
        (cache, room): (PartMut<'_>, usize),
        (mixed, bias): (Part<'_>, Part<'_>),
        rows: &TakenIn<'_>,
        heads: usize,
    ) -> Result<(), GpuError> {
        let (count, width) = (rows.room, bias.len / 3);
        assert!(to.len == count * width && mixed.len == 3 * to.len && bias.len == 3 * width);
        assert!(room > 0 && cache.len == rows.of * room * 2 * width);
        assert!(heads > 0 && width.is_multiple_of(heads), "heads share the width");
        let wide = width / heads;
        assert!(wide <= WIDEST_HEAD, "heads have at most {WIDEST_HEAD} numbers");
        let kernel = if wide <= 64 { Kernel::attend_step_64 } else { Kernel::attend_step_256 };
        let ([across, _], threads) = by_warps(count);
        let sizes = [rows.slots.len, rows.of, room, heads, wide].map(int);
        let [count, all, room, heads_there, wide] = sizes;
        let (slots, seen) = (rows.slots, rows.seen);
        let arguments =
            arguments![to, cache, mixed, bias, slots, seen, count, all, room, heads_there, wide];
        self.launch(kernel, ([across, heads], threads), arguments)
    }
}
