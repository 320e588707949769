//! Models that give the probability of each code of the next visit, and their files.
//!
//! A [`Generator`] is any model that walks the codes of a visit in order and gives the probability
//! of each, knowing the visits before and the codes decided so far. Enforcement, sampling and
//! evaluation are written against it. There are two:
//!
//! - [`Network`], recurrent or the published HALO, with its [`NetworkGenerator`];
//! - [`Markov`], counts of codes and of pairs of codes, trained in a moment.
//!
//! [`Model`] is either of them on disk, with a [`Card`] that says how it came to be.
#![forbid(unsafe_code)]

mod card;
mod concepts;
mod ends;
mod folder;
mod generator;
mod kernels;
mod markov;
mod network;

pub use consequence_engine::Settled;

pub use card::{Card, CodeLists, Data, Epoch, ModelKind};
pub use concepts::Concepts;
pub use ends::{DayCounter, Elapsed, EndCell, EndsByDays};
pub use folder::{
    CARD_FILE, CHECKPOINT_FILE, CONCEPTS_FILE, DETAILS_FILE, Model, ModelError, TABLES_FILE,
    Trained, WEIGHTS_FILE,
};
pub use generator::{Decide, Generator, LookAhead, Turn};
pub use kernels::keep_kernels;
pub use markov::{Markov, MarkovPast, MarkovTables};
pub use network::{
    HaloSizes, KnownVisits, Network, NetworkGenerator, NetworkPast, NetworkScratch, NetworkSizes,
    RecurrentSizes, Sizes,
};
