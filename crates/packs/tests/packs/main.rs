//! Expert tables to rules: the real tables where they are at hand, and bad ones always.

mod bad_input;
mod cohorts;
mod options;
mod real_tables;
mod tabular;
