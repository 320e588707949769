//! Files and tables of cohorts, in and out.

mod arrow_round_trips;
mod arrow_tables;
mod codes_beside;
mod cohorts;
mod events;
mod exports;
mod files_apart;
mod meds_damage;
mod meds_foreign;
mod meds_round_trips;
mod omop;
mod refusals;
mod round_trips;
mod shards;
mod tables_of_rows;
