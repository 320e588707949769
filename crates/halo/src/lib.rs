//! The HALO network: a transformer over visits with a code-by-code head.
//!
//! A visit is a list of code numbers. The codes of a visit are embedded and summed, blocks of
//! attention look over the visits before, and a head of two triangular layers gives the probability
//! of each code of the next visit from that history and from the codes decided before it.
//!
//! - [`Shape`] and [`Weights`]: sizes, and the numbers; read and written as `safetensors` with the
//!   names and shapes of the published network.
//! - [`Batch`] and [`TrainingPass`]: whole records end to end, without padding; the loss and its
//!   gradient.
//! - [`Objective`]: what the network is trained for; [`Codewise`] is HALO's own.
//! - [`Sampler`]: one visit at a time over cached attention, with every code decided in one walk.
//!
//! Nothing here knows what a code means, or of rules: a caller settles outputs ([`Settled`]) while
//! training and decides codes while sampling.
//!
//! [`Settled`]: consequence_engine::Settled

mod batch;
mod file;
mod head;
mod pass;
mod sampler;
mod shape;
mod trunk;
mod weights;

pub use batch::Batch;
pub use file::WeightsError;
pub use pass::{Asked, Codewise, Objective, TrainingPass};
pub use sampler::{Past, Sampler, StepBuffers};
pub use shape::{Shape, ShapeError};
pub use weights::Weights;
