//! Cohorts from the tables that people have.

mod common;
mod dates;
mod editions;
mod foreign;
mod joined;
mod omop_again;
mod omop_variants;
mod own;
mod real;
mod refusals;
mod small;
mod traits;
mod values;
mod wide;
