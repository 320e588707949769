//! Numeric kernels on a CUDA GPU: what training a network needs, with its gradient, and sequences that are
//! drawn ([`Deck`]).
//!
//! The driver and the libraries (cuBLAS for products, NVRTC to compile our own kernels) are looked for when
//! a [`Gpu`] is opened: nothing of CUDA is needed to build this crate. Work is queued on one stream and done in
//! its order; only what gives numbers back waits for it.
//!
//! Indices are lists in a [`Packing`], which knows their bounds: a kernel that is given them is given tables
//! that are large enough, or panics before it starts. Sums over rows that no product gives are taken in fixed
//! point ([`Sums`]), so that the result of a step has the same bits each time.

mod attention;
mod deck;
mod gpu;
mod kept;
mod memory;
mod optimiser;
mod scores;
mod steps;
mod triangular;
mod walk;
mod walk_rules;
mod words;

pub use attention::{Attention, WIDEST_HEAD};
pub use deck::{
    Deck, DeckCounts, Handed, TakenIn, WalkDraws, WalkEnd, WalkRoom, WalkRows, WalkSizes, Walked,
};
pub use gpu::{Factor, Gpu, GpuError, Precision, UnknownPrecision};
pub use kept::{KernelStore, keep_kernels};
pub use memory::{Memory, Part, PartMut};
pub use optimiser::{AdamState, ParameterRange};
pub use scores::{Held, Piece, Visits};
pub use steps::Sums;
pub use triangular::{Triangle, TriangleRows};
pub use walk_rules::{CodeLists, Conjunctions, WalkRules, WalkWindow};
pub use words::{Ends, Indices, List, ListEnds, Packing, Staged, Staging, Words};
