//! Passes of the recurrent network on a GPU, and sequences that it draws there.
//!
//! The head is asked for the logits of all codes under every state of a visit, in one product, and each code
//! keeps those of the state that speaks for it: more multiplications than on the CPU, of the kind that a GPU is
//! made for.

mod batch;
mod pass;
mod slots;
mod whole;

pub(crate) use batch::GpuBatch;
pub(crate) use pass::GpuNetwork;
pub(crate) use slots::RecurrentSlots;
