//! Passes of HALO on a GPU, and sequences that it draws there.
//!
//! Records lie end to end, as on the CPU, and a row attends to those of its own record alone. The head's two
//! triangular layers are products of blocks of codes, which skip most of what is empty.

mod batch;
mod head;
mod pass;
mod slots;
mod trunk;

pub(crate) use batch::GpuBatch;
pub(crate) use pass::GpuNetwork;
pub(crate) use slots::HaloSlots;
