//! Adam on a GPU.

use std::ops::Range;

use super::gpu::{Gpu, GpuError, Kernel, arguments, int, spread};
use super::memory::Memory;
use super::steps::Sums;
use crate::Adam;

/// Parameters that a step changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterRange {
    /// The parameters.
    pub range: Range<usize>,
    /// Whether each step makes them smaller.
    pub decays: bool,
}

/// Parameters, and all that the steps of Adam remember of them.
#[derive(Debug, Default)]
pub struct AdamState {
    /// The parameters.
    pub weights: Memory,
    /// The mean gradient.
    pub mean: Memory,
    /// The mean square of the gradient.
    pub square: Memory,
    /// The average of the parameters of late.
    pub average: Memory,
    /// The gradient that the next step takes.
    pub gradient: Memory,
    ranges: Memory<u32>,
    squares: Memory<f64>,
    fault: Memory<u32>,
}

/// The same ranges in ascending order, without those that are empty, as few as can be: kernels look for the range of
/// each parameter, and a triangle has one for each row.
fn joined(ranges: &[ParameterRange]) -> Vec<ParameterRange> {
    let mut all: Vec<_> = ranges.iter().filter(|one| !one.range.is_empty()).cloned().collect();
    all.sort_by_key(|one| one.range.start);
    let mut joined: Vec<ParameterRange> = Vec::new();
    for one in all {
        match joined.last_mut() {
            Some(last) if last.range.end == one.range.start && last.decays == one.decays => {
                last.range.end = one.range.end;
            }
            _ => joined.push(one),
        }
    }
    joined
}

impl AdamState {
    /// The ranges of parameters that steps change; they must not overlap.
    ///
    /// # Panics
    ///
    /// If there are more parameters than 32 bits count.
    pub fn change_within(&mut self, gpu: &Gpu, ranges: &[ParameterRange]) -> Result<(), GpuError> {
        let word = |at: usize| u32::try_from(at).unwrap_or_else(|_| panic!("4 billion parameters"));
        let words: Vec<u32> = joined(ranges)
            .into_iter()
            .flat_map(|one| [word(one.range.start), word(one.range.end), 1 + u32::from(one.decays)])
            .collect();
        self.ranges.write(gpu, &words)?;
        self.fault.write(gpu, &[u32::MAX])
    }

    /// Adds what was summed in fixed point to the gradient, which is then whole.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn finish(&mut self, gpu: &Gpu, sums: &Sums) -> Result<(), GpuError> {
        let count = self.gradient.len();
        assert_eq!(sums.memory.len(), count);
        let (blocks, threads) = spread(count);
        self.squares.fit(gpu, blocks[0])?;
        let arguments = arguments![
            self.gradient.all_mut(),
            sums.memory.all(),
            self.squares.all_mut(),
            self.ranges.all(),
            int(self.ranges.len() / 3),
            count as i64,
            sums.unit,
        ];
        gpu.launch(Kernel::finish, (blocks, threads), arguments)
    }

    /// One step, counted from 1, after which the average keeps that part of itself. A gradient longer than
    /// `clip` is shortened. Of `adam`, `weight_kept` is for the parameters that decay, and
    /// `gradient_scale` means nothing. A step whose gradient or whose `nats` are no number changes nothing
    /// ([`AdamState::fault`]).
    ///
    /// # Panics
    ///
    /// If the sizes do not fit, or [`AdamState::finish`] was never called.
    pub fn step(
        &mut self,
        gpu: &Gpu,
        nats: &Memory<f64>,
        (adam, clip): (&Adam, f32),
        (number, keep): (u64, f32),
    ) -> Result<(), GpuError> {
        let count = self.weights.len();
        assert!(nats.len() == 1 && !self.squares.is_empty());
        let all = [&self.mean, &self.square, &self.average, &self.gradient];
        assert!(all.iter().all(|memory| memory.len() == count));
        let (rate, root) = adam.corrected(number);
        let arguments = arguments![
            self.weights.all_mut(),
            self.mean.all_mut(),
            self.square.all_mut(),
            self.average.all_mut(),
            self.gradient.all(),
            self.squares.all(),
            int(self.squares.len()),
            nats.all(),
            self.fault.all_mut(),
            number.min(u64::from(u32::MAX - 1)) as u32,
            self.ranges.all(),
            int(self.ranges.len() / 3),
            count as i64,
            clip,
            adam.beta1,
            adam.beta2,
            adam.epsilon,
            rate,
            root,
            adam.weight_kept,
            keep,
        ];
        gpu.launch(Kernel::adam, spread(count), arguments)
    }

    /// The first step that was not taken because something was no number. Waits for all steps.
    pub fn fault(&self, gpu: &Gpu) -> Result<Option<u64>, GpuError> {
        let mut found = [0];
        self.fault.read(gpu, &mut found)?;
        Ok((found[0] != u32::MAX).then(|| u64::from(found[0])))
    }
}
