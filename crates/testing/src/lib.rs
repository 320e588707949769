//! What the tests of several crates share, and the studies and benches with them.
//!
//! Crates have it as a dev-dependency only. It knows rules, records and the referee, so those crates and
//! the ones below them do without it.
#![forbid(unsafe_code)]

pub mod every;
pub mod kills;
pub mod parts;
mod shared;
mod stir;
pub mod uci_reference;
pub mod worlds;

pub use shared::shared;
pub use stir::stir;
