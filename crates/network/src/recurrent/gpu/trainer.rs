//! A network that trains on a GPU.

use std::sync::Arc;

use consequence_engine::Adam;
use consequence_engine::cuda::{AdamState, Gpu, GpuError, ParameterRange, Staging, Sums};

use super::GpuBatch;
use super::pass::{Gradients, Net, Pass, Wanted};
use crate::Objective;
use crate::recurrent::Shape;
use crate::recurrent::weights::Ranges;

/// Parameters of a network, and what the steps of Adam remember of them.
#[derive(Debug)]
pub struct Moments<'a> {
    /// The parameters.
    pub weights: &'a mut [f32],
    /// The mean gradient.
    pub mean: &'a mut [f32],
    /// The mean square of the gradient.
    pub square: &'a mut [f32],
    /// The average of the parameters of late.
    pub average: &'a mut [f32],
}

/// The settings of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSettings {
    /// Those of Adam. Its `gradient_scale` means nothing here, and `weight_kept` is for the parameters
    /// that decay.
    pub adam: Adam,
    /// The longest gradient; a longer one is shortened.
    pub clip: f32,
    /// The number of the step, counted from 1.
    pub number: u64,
    /// What part of themselves averages of parameters keep.
    pub keep: f32,
}

/// Which parameters are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Those that are trained.
    Weights,
    /// Their average of late.
    Average,
}

/// A network that trains on a GPU. Nothing waits for the GPU but what gives numbers back.
#[derive(Debug)]
pub struct GpuTrainer {
    gpu: Gpu,
    staging: Arc<Staging>,
    shape: Shape,
    ranges: Ranges,
    pass: Pass,
    state: AdamState,
    sums: Sums,
}

impl GpuTrainer {
    /// A network of a shape, all zero; steps change the parameters in some ranges, which must not
    /// overlap.
    pub fn new(gpu: Gpu, shape: Shape, changed: &[ParameterRange]) -> Result<Self, GpuError> {
        gpu.bind()?;
        let ranges = Ranges::new(&shape);
        let (mut state, mut pass) = (AdamState::default(), Pass::default());
        state.change_within(&gpu, changed)?;
        for memory in [
            &mut state.weights,
            &mut state.mean,
            &mut state.square,
            &mut state.average,
            &mut state.gradient,
        ] {
            memory.fit(&gpu, ranges.total)?;
            memory.clear(&gpu)?;
        }
        pass.total.fit(&gpu, 1)?;
        pass.total.clear(&gpu)?;
        let staging = Arc::new(Staging::new(&gpu));
        Ok(Self { gpu, staging, shape, ranges, pass, state, sums: Sums::default() })
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Where batches are laid out, on any thread.
    pub fn staging(&self) -> Arc<Staging> {
        Arc::clone(&self.staging)
    }

    /// Sends parameters to the GPU, and what steps remember of them.
    ///
    /// # Panics
    ///
    /// If they are not as many as the network has.
    pub fn send(&mut self, moments: &Moments<'_>) -> Result<(), GpuError> {
        self.gpu.bind()?;
        let Moments { weights, mean, square, average } = moments;
        assert_eq!(weights.len(), self.ranges.total, "the parameters of this network");
        self.state.weights.write(&self.gpu, weights)?;
        self.state.mean.write(&self.gpu, mean)?;
        self.state.square.write(&self.gpu, square)?;
        self.state.average.write(&self.gpu, average)
    }

    /// Brings all of them back. Waits for the steps that are under way.
    ///
    /// # Panics
    ///
    /// If there is not as much room as they need.
    pub fn bring(&self, moments: &mut Moments<'_>) -> Result<(), GpuError> {
        self.gpu.bind()?;
        let Moments { weights, mean, square, average } = moments;
        self.state.weights.read(&self.gpu, weights)?;
        self.state.mean.read(&self.gpu, mean)?;
        self.state.square.read(&self.gpu, square)?;
        self.state.average.read(&self.gpu, average)
    }

    /// Sends parameters alone, and makes them their own average.
    pub fn send_weights(&mut self, weights: &[f32]) -> Result<(), GpuError> {
        self.gpu.bind()?;
        assert_eq!(weights.len(), self.ranges.total, "the parameters of this network");
        self.state.weights.write(&self.gpu, weights)?;
        self.state.average.copy(&self.gpu, &self.state.weights)
    }

    /// Queues the pass of a batch.
    fn run(
        &mut self,
        batch: &mut GpuBatch,
        objective: &dyn Objective,
        (read, wanted): (Read, Asked),
    ) -> Result<(), GpuError> {
        let Self { gpu, staging, shape, ranges, pass, state, sums } = self;
        gpu.bind()?;
        let AdamState { weights, average, gradient, .. } = state;
        let values = match read {
            Read::Weights => &*weights,
            Read::Average => &*average,
        };
        let net = Net { gpu, values, ranges, shape: *shape };
        let wanted = match wanted {
            Asked::Nats => Wanted::Nats,
            Asked::Surplus => Wanted::Surplus(sums),
            Asked::Gradient(scale) => {
                Wanted::Gradients(Gradients { products: gradient, sums, scale })
            }
        };
        pass.run(net, batch, (objective, staging), wanted)
    }

    /// Adds the nats of a batch to those that [`GpuTrainer::total_nats`] gives.
    ///
    /// # Panics
    ///
    /// If a code of the batch is not one of the network.
    pub fn nats(
        &mut self,
        batch: &mut GpuBatch,
        objective: &dyn Objective,
        read: Read,
    ) -> Result<(), GpuError> {
        self.run(batch, objective, (read, Asked::Nats))
    }

    /// The same, and puts in place of the gradient that of the nats of a batch, `scale` times.
    ///
    /// # Panics
    ///
    /// If a code of the batch is not one of the network.
    pub fn differentiate(
        &mut self,
        batch: &mut GpuBatch,
        objective: &dyn Objective,
        scale: f32,
    ) -> Result<(), GpuError> {
        self.run(batch, objective, (Read::Weights, Asked::Gradient(scale)))?;
        self.state.finish(&self.gpu, &self.sums)
    }

    /// One step by the gradient. A step with nats or a gradient that are no number changes nothing
    /// ([`GpuTrainer::fault`]).
    pub fn step(&mut self, settings: &StepSettings) -> Result<(), GpuError> {
        let StepSettings { adam, clip, number, keep } = *settings;
        self.state.step(&self.gpu, &self.pass.total, (&adam, clip), (number, keep))
    }

    /// The gradient. Waits for the steps that are under way.
    pub fn gradient(&self) -> Result<Vec<f32>, GpuError> {
        self.gpu.bind()?;
        let mut gradient = vec![0.0; self.ranges.total];
        self.state.gradient.read(&self.gpu, &mut gradient)?;
        Ok(gradient)
    }

    /// The first step that was not taken, if there is one. Waits for the steps that are under way.
    pub fn fault(&self) -> Result<Option<u64>, GpuError> {
        self.gpu.bind()?;
        self.state.fault(&self.gpu)
    }

    /// The nats of all batches, and of what [`GpuTrainer::begin_nats`] was given. Waits for the steps that
    /// are under way.
    pub fn total_nats(&self) -> Result<f64, GpuError> {
        self.gpu.bind()?;
        let mut total = [0.0];
        self.pass.total.read(&self.gpu, &mut total)?;
        Ok(total[0])
    }

    /// From now on nats are added to so many.
    pub fn begin_nats(&mut self, nats: f64) -> Result<(), GpuError> {
        self.gpu.bind()?;
        self.pass.total.write(&self.gpu, &[nats])
    }

    /// From now on counts by how much more often codes are expected than they are there
    /// ([`GpuTrainer::add_surplus`]); the gradient is lost.
    pub fn begin_surplus(&mut self) -> Result<(), GpuError> {
        self.gpu.bind()?;
        self.sums.begin(&self.gpu, self.ranges.total, 1.0)
    }

    /// Counts in a batch. What something else decides has no part in it, and no changes that an objective
    /// gives may have.
    ///
    /// # Panics
    ///
    /// If a code of the batch is not one of the network.
    pub fn add_surplus(
        &mut self,
        batch: &mut GpuBatch,
        objective: &dyn Objective,
    ) -> Result<(), GpuError> {
        self.run(batch, objective, (Read::Weights, Asked::Surplus))
    }

    /// What came of it, by code.
    ///
    /// # Panics
    ///
    /// If none was counted.
    pub fn surplus(&self) -> Result<Vec<f64>, GpuError> {
        self.gpu.bind()?;
        self.sums.read(&self.gpu, self.ranges.bias.clone())
    }
}

/// What is asked of a pass.
enum Asked {
    Nats,
    Surplus,
    Gradient(f32),
}
