//! Numeric kernels, each with its gradient: on the CPU, and what training needs of them on a GPU ([`cuda`]).
//!
//! On the CPU everything is `f32`, row-major, in slices. Work is spread over the rayon pool; the result has
//! the same bits at any number of threads, and a row of a product has the same bits whatever other
//! rows are computed with it, because every sum is taken in one fixed order.
//!
//! The instruction set is chosen at run time ([`Level`]): AVX-512, AVX2 with FMA, or plain code.
//! Only products fuse multiplication and addition, so only they differ in the last bits between
//! machines of different kinds.

mod adam;
mod attention;
mod binary;
pub mod cuda;
mod dropout;
mod gated;
mod gather;
mod level;
mod math;
mod normal;
mod product;
mod rows;

pub use adam::{
    Adam, adam_step, adam_step_within, average_within, squared_norm, squared_norm_within,
};
pub use attention::{Sequences, attend, attend_backward, attend_cached, attention_probabilities};
pub use binary::{BinaryRow, Settled, binary_cross_entropy};
pub use dropout::{Dropout, drop_out};
pub use gated::{gated_average, gated_average_backward, gated_step};
pub use gather::{Lists, Steps, add_gathered, scatter_rows};
pub use level::Level;
pub use math::{exp, gelu, gelu_backward, sigmoid};
pub use normal::{Normal, layer_norm, layer_norm_backward};
pub use product::{Packed, View, ViewMut, add_fused, product, product_here, product_packed_here};
pub use rows::{add, add_bias, column_sums, relu, relu_backward, scale};
