//! Records that are seen visit by visit on a GPU: keys and values of every block are kept there.

use consequence_engine::cuda::{Gpu, GpuError, Memory, Packing, Staging, Words};

use super::pass::Net;
use super::trunk::Trunk;
use crate::halo::weights::Ranges;
use crate::halo::{Shape, Weights};

/// What the network remembers on a GPU of so many records, which go on together.
#[derive(Debug)]
pub struct GpuPast {
    gpu: Gpu,
    shape: Shape,
    ranges: Ranges,
    values: Memory,
    staging: Staging,
    words: Words,
    trunk: Trunk,
    /// Keys and values of each block: a row of both for each position of each record.
    caches: Vec<Memory>,
    /// Visits that each record has, here and on the GPU.
    lengths: Vec<u32>,
    lengths_there: Memory<u32>,
}

impl GpuPast {
    /// Room for so many records, of which nothing was seen yet.
    pub fn new(gpu: Gpu, weights: &Weights, records: usize) -> Result<Self, GpuError> {
        gpu.bind()?;
        let (shape, staging) = (*weights.shape(), Staging::new(&gpu));
        let mut values = Memory::default();
        values.write(&gpu, weights.values())?;
        let mut caches = Vec::new();
        for _ in 0..shape.layers {
            let mut cache = Memory::default();
            cache.fit(&gpu, records * shape.positions * 2 * shape.width)?;
            caches.push(cache);
        }
        Ok(Self {
            gpu,
            shape,
            ranges: Ranges::new(&shape),
            values,
            staging,
            words: Words::default(),
            trunk: Trunk::default(),
            caches,
            lengths: vec![0; records],
            lengths_there: Memory::default(),
        })
    }

    /// Forgets a record, so that another can be in its place.
    pub fn forget(&mut self, record: usize) {
        self.lengths[record] = 0;
    }

    /// Shows the network the next visit of each record. What it makes of them is a row of the network's width
    /// for each, and stays on the GPU.
    ///
    /// # Panics
    ///
    /// If there are not as many visits as records, or a record has more than the network has positions.
    pub fn see(&mut self, visits: &[&[u32]]) -> Result<&Memory, GpuError> {
        let Self { gpu, shape, ranges, values, words, trunk, caches, .. } = self;
        let rows = visits.len();
        assert_eq!(rows, self.lengths.len(), "every record has a visit");
        gpu.bind()?;
        let mut packing = Packing::default();
        let positions = packing.list(self.lengths.iter().copied());
        let each = packing.ends(std::iter::repeat_n(1, rows));
        let codes = packing.list(visits.iter().copied().flatten().copied());
        let ends = packing.ends(visits.iter().map(|visit| visit.len()));
        words.take(gpu, self.staging.stage(&packing)?, &self.staging)?;
        self.lengths_there.write(gpu, &self.lengths)?;
        let net = Net { gpu, values, ranges, shape: *shape };
        let codes = (words.list(&codes), words.ends(&ends));
        trunk.embed(&net, rows, (words.list(&positions), words.ends(&each)), codes)?;
        let lengths = self.lengths_there.all();
        trunk.run(&net, rows, false, |number, kept| {
            let cache = (caches[number].all_mut(), shape.positions);
            let mixed = (kept.mixed.all(), net.at(&net.ranges.blocks[number].qkv[1]));
            gpu.attend_step(kept.attended.all_mut(), cache, mixed, lengths, shape.heads)
        })?;
        self.lengths.iter_mut().for_each(|length| *length += 1);
        Ok(&trunk.hidden)
    }

    /// The same, brought to the host.
    ///
    /// # Panics
    ///
    /// As [`GpuPast::see`].
    pub fn see_here(&mut self, visits: &[&[u32]]) -> Result<Vec<f32>, GpuError> {
        let mut hidden = vec![0.0; visits.len() * self.shape.width];
        self.see(visits)?;
        self.trunk.hidden.read(&self.gpu, &mut hidden)?;
        Ok(hidden)
    }
}
