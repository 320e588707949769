//! Either network, by the same names.

use std::ops::Range;

use consequence_engine::Dropout;
use serde::{Deserialize, Serialize};

use crate::{Ahead, Batch, Objective, ShapeError, WeightsError, halo, recurrent};

/// The sizes of a network, of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Shape {
    /// Of the recurrent network.
    Recurrent(recurrent::Shape),
    /// Of HALO.
    Halo(halo::Shape),
}

impl From<recurrent::Shape> for Shape {
    fn from(shape: recurrent::Shape) -> Self {
        Self::Recurrent(shape)
    }
}

impl From<halo::Shape> for Shape {
    fn from(shape: halo::Shape) -> Self {
        Self::Halo(shape)
    }
}

impl Shape {
    /// Refuses sizes that make no network.
    pub fn check(&self) -> Result<(), ShapeError> {
        match self {
            Self::Recurrent(shape) => shape.check(),
            Self::Halo(shape) => shape.check(),
        }
    }

    /// Codes that a visit may hold; the mark that begins a record is none.
    pub fn codes(&self) -> usize {
        match self {
            Self::Recurrent(shape) => shape.codes,
            Self::Halo(shape) => shape.codes - 1,
        }
    }

    /// Numbers that the history of a record comes to.
    pub fn width(&self) -> usize {
        match self {
            Self::Recurrent(shape) => shape.width,
            Self::Halo(shape) => shape.width,
        }
    }

    /// Outputs beside the head.
    pub fn side(&self) -> usize {
        match self {
            Self::Recurrent(shape) => shape.side,
            Self::Halo(shape) => shape.side,
        }
    }

    /// Numbers that are kept.
    pub fn parameters(&self) -> u128 {
        match self {
            Self::Recurrent(shape) => shape.parameters(),
            Self::Halo(shape) => shape.parameters(),
        }
    }

    /// The same with so many outputs beside the head.
    #[must_use]
    pub fn with_side(self, side: usize) -> Self {
        match self {
            Self::Recurrent(shape) => Self::Recurrent(recurrent::Shape { side, ..shape }),
            Self::Halo(shape) => Self::Halo(halo::Shape { side, ..shape }),
        }
    }

    /// Visits that a record may have, the static visit not counted; none: any number.
    pub fn max_visits(&self) -> Option<usize> {
        match self {
            Self::Recurrent(_) => None,
            Self::Halo(shape) => Some(shape.positions - 1),
        }
    }
}

/// The parameters of a network, of either kind.
#[derive(Clone, Debug)]
pub enum Weights {
    /// Of the recurrent network.
    Recurrent(Box<recurrent::Weights>),
    /// Of HALO.
    Halo(Box<halo::Weights>),
}

/// Calls the same method of either.
macro_rules! of_either {
    ($either:expr, $weights:ident => $call:expr) => {
        match $either {
            Self::Recurrent($weights) => $call,
            Self::Halo($weights) => $call,
        }
    };
}

impl Weights {
    /// The first values of a network before training.
    pub fn drawn(shape: Shape, seed: u64) -> Result<Self, ShapeError> {
        Ok(match shape {
            Shape::Recurrent(shape) => {
                Self::Recurrent(Box::new(recurrent::Weights::drawn(shape, seed)?))
            }
            Shape::Halo(shape) => Self::Halo(Box::new(halo::Weights::drawn(shape, seed)?)),
        })
    }

    /// Reads parameters from the bytes of a `safetensors` file.
    pub fn from_safetensors(bytes: &[u8], shape: Shape) -> Result<Self, WeightsError> {
        Ok(match shape {
            Shape::Recurrent(shape) => {
                Self::Recurrent(Box::new(recurrent::Weights::from_safetensors(bytes, shape)?))
            }
            Shape::Halo(shape) => {
                Self::Halo(Box::new(halo::Weights::from_safetensors(bytes, shape, "")?))
            }
        })
    }

    /// The bytes of a `safetensors` file.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, WeightsError> {
        of_either!(self, weights => weights.to_safetensors())
    }

    /// The same network with so many outputs beside the head, drawn anew.
    pub fn with_side(&self, side: usize, seed: u64) -> Result<Self, ShapeError> {
        let mut wider = Self::drawn(self.shape().with_side(side), seed)?;
        let shared = self.values().len() - self.shape().side() * (self.shape().width() + 1);
        wider.values_mut()[..shared].copy_from_slice(&self.values()[..shared]);
        Ok(wider)
    }

    /// The sizes.
    pub fn shape(&self) -> Shape {
        match self {
            Self::Recurrent(weights) => Shape::Recurrent(*weights.shape()),
            Self::Halo(weights) => Shape::Halo(*weights.shape()),
        }
    }

    /// All parameters.
    pub fn values(&self) -> &[f32] {
        of_either!(self, weights => weights.values())
    }

    /// All parameters, to be changed. Those whose gradient is zero for every batch must stay as they
    /// are.
    pub fn values_mut(&mut self) -> &mut [f32] {
        of_either!(self, weights => weights.values_mut())
    }

    /// Sets the bias of each code: the logits the network begins with.
    pub fn set_output_bias(&mut self, biases: &[f32]) {
        match self {
            Self::Recurrent(weights) => weights.set_output_bias(biases),
            // The mark that begins a record is no code that anyone asks for.
            Self::Halo(weights) => weights.set_output_bias(&[biases, &[0.0]].concat()),
        }
    }

    /// The bias of each code.
    pub fn output_bias(&self) -> &[f32] {
        &of_either!(self, weights => weights.output_bias())[..self.shape().codes()]
    }

    /// Sets the biases of the outputs beside the head.
    pub fn set_side_bias(&mut self, biases: &[f32]) {
        of_either!(self, weights => weights.set_side_bias(biases));
    }

    /// The ranges of the parameters of a network whose head is not asked.
    pub fn live_without_head(&self) -> Vec<Range<usize>> {
        of_either!(self, weights => weights.live_without_head())
    }

    /// The ranges of all parameters that can make a difference, in ascending order; those that
    /// belong to codes from one on, and are many, are marked.
    pub fn live(&self, from: usize) -> Vec<(Range<usize>, bool)> {
        of_either!(self, weights => weights.live(from))
    }
}

/// Passes of whole batches through a network of either kind, forward and back; keeps its memory from
/// one batch to the next.
///
/// ```
/// use consequence_network::{Batch, Codewise, Shape, TrainingPass, Weights, recurrent};
///
/// let shape = recurrent::Shape { codes: 5, width: 8, head: 16, bottleneck: 4, side: 0 };
/// let weights = Weights::drawn(Shape::Recurrent(shape), 1)?;
/// let mut batch = Batch::new(5);
/// batch.begin();
/// batch.push(0..5, [0, 3], []);
/// assert!(TrainingPass::default().nats(&weights, &batch, &Codewise)[0] > 0.0);
/// # Ok::<(), consequence_network::ShapeError>(())
/// ```
#[derive(Debug, Default)]
pub struct TrainingPass {
    recurrent: recurrent::TrainingPass,
    halo: halo::TrainingPass,
}

impl TrainingPass {
    /// The loss of every row, in nats.
    pub fn nats(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        objective: &dyn Objective,
    ) -> Vec<f64> {
        match weights {
            Weights::Recurrent(weights) => self.recurrent.nats(weights, batch, objective),
            Weights::Halo(weights) => self.halo.nats(weights, batch, objective),
        }
    }

    /// The loss of every row, in nats; adds `scale` times the gradient of their sum to `gradient`,
    /// which is laid out as the weights are. `dropout` leaves out some units of HALO's head.
    pub fn train(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        objective: &dyn Objective,
        scale: f32,
        dropout: Dropout,
        gradient: &mut [f32],
    ) -> Vec<f64> {
        match weights {
            Weights::Recurrent(weights) => {
                self.recurrent.train(weights, batch, objective, scale, gradient)
            }
            Weights::Halo(weights) => {
                self.halo.train(weights, batch, objective, scale, dropout, gradient)
            }
        }
    }

    /// The logits of every row, for all the codes its visit may hold.
    pub fn logits(&mut self, weights: &Weights, batch: &Batch) -> Vec<Vec<f32>> {
        match weights {
            Weights::Recurrent(weights) => self.recurrent.logits(weights, batch),
            Weights::Halo(weights) => self.halo.logits(weights, batch),
        }
    }

    /// The share of units of HALO's head that never fire in these batches; none for a network
    /// without such units.
    pub fn silent_units(
        &mut self,
        weights: &Weights,
        batches: impl IntoIterator<Item = Batch>,
    ) -> Option<f64> {
        match weights {
            Weights::Recurrent(_) => None,
            Weights::Halo(weights) => Some(self.halo.silent_units(weights, batches)),
        }
    }
}

/// A network of either kind made ready to write records: weights laid out once, shared by all
/// threads.
pub enum Sampler {
    /// The recurrent network.
    Recurrent(Box<recurrent::Sampler>),
    /// HALO.
    Halo(Box<halo::Sampler>),
}

/// What a network of either kind remembers of one record.
#[derive(Clone, Debug)]
pub enum Past {
    /// Of the recurrent network.
    Recurrent(recurrent::Past),
    /// Of HALO.
    Halo(halo::Past),
}

/// Memory for a step, kept from one to the next.
#[derive(Debug, Default)]
pub struct StepBuffers {
    recurrent: recurrent::StepBuffers,
    halo: halo::StepBuffers,
}

impl Sampler {
    /// Lays out the weights.
    pub fn new(weights: &Weights) -> Self {
        match weights {
            Weights::Recurrent(weights) => {
                Self::Recurrent(Box::new(recurrent::Sampler::new(weights)))
            }
            Weights::Halo(weights) => Self::Halo(Box::new(halo::Sampler::new(weights))),
        }
    }

    /// Outputs beside the head.
    pub fn side_outputs(&self) -> usize {
        match self {
            Self::Recurrent(sampler) => sampler.shape().side,
            Self::Halo(sampler) => sampler.shape().side,
        }
    }

    /// What is remembered of a record before anything of it was seen.
    pub fn begin(&self) -> Past {
        match self {
            Self::Recurrent(_) => Past::Recurrent(recurrent::Past::default()),
            Self::Halo(_) => Past::Halo(halo::Past::default()),
        }
    }

    /// Shows the network the next visit of each record, and gives what it makes of each: a row of
    /// the network's width for every record.
    ///
    /// # Panics
    ///
    /// If a record is remembered by the other network, or has more visits than the network has room
    /// for.
    pub fn see(
        &self,
        records: &mut [(&mut Past, &[u32])],
        hidden: &mut Vec<f32>,
        buffers: &mut StepBuffers,
    ) {
        match self {
            Self::Recurrent(sampler) => {
                let mut records: Vec<(&mut recurrent::Past, &[u32])> = records
                    .iter_mut()
                    .map(|(past, visit)| match past {
                        Past::Recurrent(past) => (past, *visit),
                        Past::Halo(_) => panic!("a record is remembered by one network"),
                    })
                    .collect();
                sampler.see(&mut records, hidden, &mut buffers.recurrent);
            }
            Self::Halo(sampler) => {
                let mut records: Vec<(&mut halo::Past, &[u32])> = records
                    .iter_mut()
                    .map(|(past, visit)| match past {
                        Past::Halo(past) => (past, *visit),
                        Past::Recurrent(_) => panic!("a record is remembered by one network"),
                    })
                    .collect();
                sampler.see(&mut records, hidden, &mut buffers.halo);
            }
        }
    }

    /// The outputs beside the head of every row of `hidden`; nothing if the network has none.
    pub fn side(&self, hidden: &[f32], outputs: &mut Vec<f32>) {
        match self {
            Self::Recurrent(sampler) => sampler.side(hidden, outputs),
            Self::Halo(sampler) => sampler.side(hidden, outputs),
        }
    }

    /// Decides, for every row of `hidden`, which of `codes` the next visit of its record holds. Each
    /// row's `decide` is called with every code in order and with the logit the network gives it,
    /// knowing what was decided before; it may look ahead.
    ///
    /// # Panics
    ///
    /// If there are not as many rows and records as there are who decide.
    pub fn decide<D: FnMut(u32, f32, &mut dyn Ahead) -> bool>(
        &self,
        hidden: &[f32],
        pasts: &[&Past],
        codes: Range<usize>,
        deciders: &mut [D],
        buffers: &mut StepBuffers,
    ) {
        match self {
            Self::Recurrent(sampler) => {
                let pasts: Vec<&recurrent::Past> = pasts
                    .iter()
                    .map(|past| match past {
                        Past::Recurrent(past) => past,
                        Past::Halo(_) => panic!("a record is remembered by one network"),
                    })
                    .collect();
                sampler.decide(hidden, &pasts, codes, deciders, &mut buffers.recurrent);
            }
            Self::Halo(sampler) => {
                sampler.decide(hidden, codes, deciders, &mut buffers.halo);
            }
        }
    }
}
