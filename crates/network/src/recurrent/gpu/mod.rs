//! Training and drawing on a GPU: the same sums as on the CPU, in another order.
//!
//! Parameters, their gradient and the moments of Adam stay on the GPU. A batch is laid out on the host, on
//! any thread ([`GpuBatch`]), and sent in one copy. The head is asked for the logits of all codes under every
//! state of a visit, in one product, and each code keeps those of the state that speaks for it: more
//! multiplications than on the CPU, of the kind that a GPU is made for.

mod batch;
mod pass;
mod sampler;
mod trainer;
mod whole;

pub use batch::GpuBatch;
pub use sampler::{DeckSize, GpuSampler, Supply, WalkSettings};
pub use trainer::{GpuTrainer, Moments, Read, StepSettings};
