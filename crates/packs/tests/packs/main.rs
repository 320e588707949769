//! Expert tables to rules: the real tables where they are at hand, and bad ones always.

mod aces;
mod bad_input;
mod circe;
mod cohorts;
mod meaning;
mod options;
mod real_tables;
mod tabular;
