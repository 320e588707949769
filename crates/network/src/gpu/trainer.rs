//! A network that trains on a GPU.

use std::sync::Arc;

use consequence_engine::cuda::{self, AdamState, Gpu, GpuError, Memory, ParameterRange, Sums};
use consequence_engine::{Adam, Dropout};

use super::batch::Kind;
use super::{GpuBatch, Gradients, Staging, Wanted};
use crate::{Objective, Shape, halo, recurrent};

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
    network: Network,
    state: AdamState,
    sums: Sums,
    dropout: Dropout,
    /// The nats of all passes since they were set.
    total: Memory<f64>,
    /// What they were before a batch.
    marked: Memory<f64>,
}

/// The sizes of a network, and its memory.
#[derive(Debug)]
enum Network {
    Recurrent(Box<recurrent::gpu::GpuNetwork>),
    Halo(Box<halo::gpu::GpuNetwork>),
}

/// Calls the same method of either.
macro_rules! of_either {
    ($either:expr, $network:ident => $call:expr) => {
        match $either {
            Network::Recurrent($network) => $call,
            Network::Halo($network) => $call,
        }
    };
}

impl Network {
    fn new(shape: &Shape) -> Self {
        match shape {
            Shape::Recurrent(shape) => {
                Self::Recurrent(Box::new(recurrent::gpu::GpuNetwork::new(*shape)))
            }
            Shape::Halo(shape) => Self::Halo(Box::new(halo::gpu::GpuNetwork::new(*shape))),
        }
    }

    fn parameters(&self) -> usize {
        of_either!(self, network => network.parameters())
    }
}

/// Whether networks of a shape train on a GPU, and draw sequences there.
pub fn takes(shape: &Shape) -> bool {
    match shape {
        Shape::Recurrent(_) => true,
        Shape::Halo(shape) => shape.width / shape.heads <= cuda::WIDEST_HEAD,
    }
}

impl GpuTrainer {
    /// A network of a shape, all zero; steps change the parameters in some ranges, which must not
    /// overlap.
    ///
    /// # Panics
    ///
    /// If no GPU [`takes`] networks of this shape.
    pub fn new(
        gpu: Gpu,
        shape: impl Into<Shape>,
        changed: &[ParameterRange],
    ) -> Result<Self, GpuError> {
        let shape = shape.into();
        assert!(takes(&shape), "a GPU takes networks of this shape");
        gpu.bind()?;
        let network = Network::new(&shape);
        let (mut state, [mut total, mut marked]) = (AdamState::default(), Default::default());
        state.change_within(&gpu, changed)?;
        for memory in [
            &mut state.weights,
            &mut state.mean,
            &mut state.square,
            &mut state.average,
            &mut state.gradient,
        ] {
            memory.fit(&gpu, network.parameters())?;
            memory.clear(&gpu)?;
        }
        Memory::write(&mut total, &gpu, &[0.0])?;
        Memory::write(&mut marked, &gpu, &[0.0])?;
        let staging = Arc::new(Staging::new(&gpu, shape));
        let (sums, dropout) = (Sums::default(), Dropout::default());
        Ok(Self { gpu, staging, network, state, sums, dropout, total, marked })
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Gives the memory of passes back: they take as much as the largest batch needed.
    pub fn forget(&mut self) {
        of_either!(&mut self.network, network => network.forget());
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
        assert_eq!(weights.len(), self.network.parameters(), "the parameters of this network");
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
        assert_eq!(weights.len(), self.network.parameters(), "the parameters of this network");
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
        let Self { gpu, staging, network, state, sums, dropout, total, .. } = self;
        gpu.bind()?;
        let AdamState { weights, average, gradient, .. } = state;
        let values = match read {
            Read::Weights => &*weights,
            Read::Average => &*average,
        };
        let wanted = match wanted {
            Asked::Nats => Wanted::Nats,
            Asked::Surplus => Wanted::Surplus(sums),
            Asked::Gradient { scale, adding } => {
                let dropout = *dropout;
                Wanted::Gradients(Gradients { products: gradient, sums, scale, adding, dropout })
            }
        };
        let (on, asked) = ((&*gpu, values), (objective, &staging.memory));
        match (network, &mut batch.0) {
            (Network::Recurrent(network), Kind::Recurrent(batch)) => {
                network.run(on, batch, asked, wanted, total)
            }
            (Network::Halo(network), Kind::Halo(batch)) => {
                network.run(on, batch, asked, wanted, total)
            }
            _ => panic!("a batch is laid out for this network"),
        }
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
        self.differentiate_piece(batch, objective, (scale, true))?;
        self.finish()
    }

    /// The same for a piece of a batch, the first or another, whose gradient is added to that of the pieces before it. After
    /// the last one is [`GpuTrainer::finish`].
    ///
    /// # Panics
    ///
    /// If a code of the batch is not one of the network.
    pub fn differentiate_piece(
        &mut self,
        batch: &mut GpuBatch,
        objective: &dyn Objective,
        (scale, first): (f32, bool),
    ) -> Result<(), GpuError> {
        let asked = Asked::Gradient { scale, adding: !first };
        self.run(batch, objective, (Read::Weights, asked))
    }

    /// Ends a batch that was differentiated piece by piece.
    pub fn finish(&mut self) -> Result<(), GpuError> {
        self.state.finish(&self.gpu, &self.sums)
    }

    /// Notes the nats of all batches so far, for [`GpuTrainer::back_to_mark`]. Nothing waits for it.
    pub fn mark(&mut self) -> Result<(), GpuError> {
        self.gpu.bind()?;
        self.marked.copy(&self.gpu, &self.total)
    }

    /// Goes back to the nats that were noted last.
    pub fn back_to_mark(&mut self) -> Result<(), GpuError> {
        self.gpu.bind()?;
        self.total.copy(&self.gpu, &self.marked)
    }

    /// From now on leaves out some units of HALO's head where gradients are asked for.
    pub fn drop_out(&mut self, dropout: Dropout) {
        self.dropout = dropout;
    }

    /// One step by the gradient. A step with nats or a gradient that are no number changes nothing
    /// ([`GpuTrainer::fault`]).
    pub fn step(&mut self, settings: &StepSettings) -> Result<(), GpuError> {
        let StepSettings { adam, clip, number, keep } = *settings;
        self.state.step(&self.gpu, &self.total, (&adam, clip), (number, keep))
    }

    /// The gradient. Waits for the steps that are under way.
    pub fn gradient(&self) -> Result<Vec<f32>, GpuError> {
        self.gpu.bind()?;
        let mut gradient = vec![0.0; self.network.parameters()];
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
        self.total.read(&self.gpu, &mut total)?;
        Ok(total[0])
    }

    /// From now on nats are added to so many.
    pub fn begin_nats(&mut self, nats: f64) -> Result<(), GpuError> {
        self.gpu.bind()?;
        self.total.write(&self.gpu, &[nats])
    }

    /// From now on counts by how much more often codes are expected than they are there
    /// ([`GpuTrainer::add_surplus`]); the gradient is lost.
    pub fn begin_surplus(&mut self) -> Result<(), GpuError> {
        self.gpu.bind()?;
        self.sums.begin(&self.gpu, self.network.parameters(), 1.0)
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
        self.sums.read(&self.gpu, of_either!(&self.network, network => network.biases()))
    }
}

impl GpuTrainer {
    /// From now on notes which units of HALO's head fire ([`GpuTrainer::note_fired`]).
    pub fn begin_fired(&mut self) -> Result<(), GpuError> {
        self.gpu.bind()?;
        match &mut self.network {
            Network::Recurrent(_) => Ok(()),
            Network::Halo(network) => network.begin_fired(&self.gpu),
        }
    }

    /// Notes which fire in the visits of a batch.
    ///
    /// # Panics
    ///
    /// If a code of the batch is not one of the network.
    pub fn note_fired(&mut self, batch: &mut GpuBatch) -> Result<(), GpuError> {
        let Self { gpu, staging, network, state, .. } = self;
        gpu.bind()?;
        match (network, &mut batch.0) {
            (Network::Halo(network), Kind::Halo(batch)) => {
                network.note_fired((gpu, &state.weights), batch, &staging.memory)
            }
            _ => Ok(()),
        }
    }

    /// The share of units that never fired, of those that can tell an output something; none for a network
    /// without such units. Waits for all that is under way.
    pub fn silent_units(&mut self) -> Result<Option<f64>, GpuError> {
        self.gpu.bind()?;
        match &mut self.network {
            Network::Recurrent(_) => Ok(None),
            Network::Halo(network) => network.silent_units(&self.gpu),
        }
    }
}

/// What is asked of a pass.
enum Asked {
    Nats,
    Surplus,
    Gradient { scale: f32, adding: bool },
}
