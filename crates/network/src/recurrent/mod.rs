//! The default network: a gated running average over visits, and a head with one state a visit.
//!
//! With `t` the number of a visit, the static visit being 0, and everything in the order in which
//! codes are decided:
//!
//! ```text
//! history   x = sum of E over the codes of visit t-1 + F phi(t)
//!           z, c = halves of M LN1(x)       m <- m + sigmoid(z - 1) (c - m)
//!           x <- x + J m                    x <- x + N gelu(B LN2(x))
//!           h = LN3(x)
//! head      a = W_h h, and a <- a + W_i when code i is present
//!           u = gelu(LN(a))                 f = u + U2 gelu(U1 u)
//!           logit_j = b_j + O_j f
//!                   + sum of k_i (P_i + p_ij + g_i h) if j was in a visit before t, with
//!                     k = [j in t-1], 1, ln(1 + visits with j), 1 / (visits since the last)
//! ```
//!
//! The average `m` is all that is kept of a record but for the codes that it has held, so that no
//! record is too long. An absent code changes nothing, so that a visit with `n` codes has `n + 1`
//! states, whatever the vocabulary. Decisions are binary, in order: the probability of a visit is
//! normalised, and a code that a rule decides is set without asking.

mod copies;
mod file;
pub(crate) mod gpu;
mod head;
mod history;
mod pass;
mod sampler;
mod shape;
mod weights;

pub use pass::TrainingPass;
pub use sampler::{Past, Sampler, StepBuffers};
pub use shape::Shape;
pub use weights::Weights;
