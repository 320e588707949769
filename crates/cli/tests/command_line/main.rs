//! The real program: what it prints, writes and refuses.

mod bad_input;
mod cohorts;
mod cohorts_bad_input;
mod commands;
mod common;
mod comparing;
mod demo;
mod evaluating;
mod faces;
mod formats;
mod groups;
mod interrupted;
mod killed;
mod looking;
mod mine;
mod models_bad_input;
mod names_from;
mod readme;
mod releasing;
mod reporting;
mod rules_from;
mod settings;
mod shards;
mod training;
mod unprepared;
mod writers;
