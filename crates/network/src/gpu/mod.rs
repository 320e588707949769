//! Either network on a GPU: the same sums as on the CPU, in another order.
//!
//! Parameters, their gradient and the moments of Adam stay on the GPU. A batch is laid out on the host, on
//! any thread ([`GpuBatch`]), and sent in one copy. What an objective needs beyond the likelihood of codes is
//! scored on the host, by as few logits as it reads.
//!
//! [`GpuSampler`] draws sequences, codes decided by rules among them, many at a time.

mod batch;
mod beyond;
mod net;
mod sampler;
mod trainer;
mod whole;

pub use batch::{GpuBatch, Staging};
pub use sampler::{DeckSize, GpuSampler, Supply, WalkSettings};
pub use trainer::{GpuTrainer, Moments, Read, StepSettings, takes};

pub(crate) use beyond::{Asking, ReadPiece, place, slots_of};
pub(crate) use net::{Gradients, Net, Wanted};
pub(crate) use sampler::{RowsAtOnce, Slots};
pub(crate) use whole::Whole;
