//! Networks that give the probability of each code of the next visit.
//!
//! A visit is a list of code numbers. A network keeps a history of the visits of a record, and its
//! head gives the probability of each code of the next visit from that history and from the codes
//! decided before it. There are two:
//!
//! - [`recurrent`], the default: a gated running average over visits, and a head with one state a
//!   visit that changes when a code is present. Memory and work grow with the number of codes.
//! - [`halo`], the published network: a transformer over visits, and a head of two triangular
//!   layers.
//!
//! Either is reached by the same names:
//!
//! - [`Shape`] and [`Weights`]: sizes, and the numbers; read and written as `safetensors`, those of
//!   HALO with the names and shapes of the published network.
//! - [`Batch`] and [`TrainingPass`]: whole records end to end, without padding; the loss and its
//!   gradient.
//! - [`Objective`]: what the network is trained for; [`Codewise`] is the likelihood.
//! - [`gpu`]: training on a GPU, and sequences that are drawn there.
//! - [`Sampler`]: one visit at a time, with every code decided in one walk.
//!
//! Nothing here knows what a code means, or of rules: a caller settles outputs ([`Settled`]) while
//! training and decides codes while sampling.
//!
//! [`Settled`]: consequence_engine::Settled
#![forbid(unsafe_code)]

mod ahead;
mod batch;
mod either;
mod first_values;
pub mod gpu;
pub mod halo;
mod layers;
mod objective;
pub mod recurrent;
mod side;
mod tensors;

pub use ahead::Ahead;
pub use batch::{Batch, Glance};
pub use either::{Past, Sampler, Shape, StepBuffers, TrainingPass, Weights};
pub use objective::{Asked, Beyond, Codewise, Objective, Reading, Said, Scoring};
pub use tensors::WeightsError;

use thiserror::Error;

/// Sizes that make no network.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ShapeError {
    /// Something is zero.
    #[error("a network with no {0} is none")]
    Nothing(&'static str),
    /// Heads that cannot share the width.
    #[error("{heads} heads cannot share a width of {width}: one must divide the other")]
    Heads {
        /// Heads asked for.
        heads: usize,
        /// The width.
        width: usize,
    },
    /// Too large to count.
    #[error("a network of these sizes has more than 2^40 parameters")]
    TooLarge,
}

/// Refuses sizes of zero, and those beyond what any network has.
fn check_sizes(sizes: &[(usize, &'static str)]) -> Result<(), ShapeError> {
    for &(size, name) in sizes {
        match size {
            0 => return Err(ShapeError::Nothing(name)),
            size if size > 1 << 20 => return Err(ShapeError::TooLarge),
            _ => {}
        }
    }
    Ok(())
}
