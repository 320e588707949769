//! The networks: their numbers, and how they give them.

mod blocks;
mod fixtures;
mod gpu;
mod one_pass;
mod side;
