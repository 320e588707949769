//! The built-in cohorts: their shape, their structure, their rules, and what goes beyond codes.

mod accidents;
mod cohorts;
mod details;
mod obeyed;
mod search;
mod structure;
