//! HALO, the published network: a transformer over visits with a code-by-code head.
//!
//! The codes of a visit are embedded and summed, blocks of attention look over the visits before,
//! and a head of two triangular layers gives the probability of each code of the next visit from
//! that history and from the codes decided before it.

mod file;
pub(crate) mod gpu;
mod head;
mod pass;
mod sampler;
mod shape;
mod silent;
mod trunk;
mod weights;

pub use pass::TrainingPass;
pub use sampler::{Past, Sampler, StepBuffers};
pub use shape::Shape;
pub use weights::Weights;
