//! A batch laid out for a GPU.

use consequence_engine::cuda::{self, Gpu, GpuError};

use crate::{Batch, Objective, Shape, halo, recurrent};

/// Where batches of a network are laid out, on any thread: host memory that a GPU copies from by itself.
#[derive(Debug)]
pub struct Staging {
    pub(crate) memory: cuda::Staging,
    shape: Shape,
}

impl Staging {
    /// For batches of a network of a shape.
    pub fn new(gpu: &Gpu, shape: Shape) -> Self {
        Self { memory: cuda::Staging::new(gpu), shape }
    }
}

/// A batch laid out for a GPU, and what its objective reads.
#[derive(Debug)]
pub struct GpuBatch(pub(super) Kind);

#[derive(Debug)]
pub(super) enum Kind {
    Recurrent(Box<recurrent::gpu::GpuBatch>),
    Halo(Box<halo::gpu::GpuBatch>),
}

impl GpuBatch {
    /// Lays out a batch. None if its objective needs all outputs of the network, and some by less than is
    /// known of their visits.
    ///
    /// # Panics
    ///
    /// If the batch has 2^31 codes or more.
    pub fn new(
        batch: &Batch,
        objective: &dyn Objective,
        staging: &Staging,
    ) -> Result<Option<Self>, GpuError> {
        let kind = match staging.shape {
            Shape::Recurrent(_) => {
                recurrent::gpu::GpuBatch::new(batch, objective, &staging.memory)?
                    .map(|batch| Kind::Recurrent(Box::new(batch)))
            }
            Shape::Halo(shape) => {
                halo::gpu::GpuBatch::new(batch, objective, (&shape, &staging.memory))?
                    .map(|batch| Kind::Halo(Box::new(batch)))
            }
        };
        Ok(kind.map(Self))
    }

    /// The number of rows: one for each visit.
    pub fn rows(&self) -> usize {
        match &self.0 {
            Kind::Recurrent(batch) => batch.rows(),
            Kind::Halo(batch) => batch.rows(),
        }
    }
}
