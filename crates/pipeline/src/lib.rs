//! What every pipeline stands on.
//!
//! - [`Task`] and [`Report`]: what a pipeline is given, and what it ends in.
//! - [`Out`]: what it writes, locked and refused before any work is done.
//! - [`CohortInput`], [`RuleInput`] and [`ModelInput`]: what it reads, at a path or in memory; [`Inputs`] and
//!   [`RecordInputs`]: rules, cohorts and codes together, opened by [`load`].
//! - [`Watch`]: who is told how far it has come, and may ask it to stop.
//! - [`Error`]: why it stopped: what, where, and as [`Advice`] what to do.
//! - [`pages`]: parts that more than one report page has.
#![forbid(unsafe_code)]

mod count;
mod digest;
mod error;
mod figures;
mod given;
mod inputs;
pub mod load;
pub mod model_rules;
mod out;
pub mod pages;
pub mod parts;
mod reference;
mod task;

pub use consequence_feedback::{Advice, Setting, Unwatched, Watch, watched, words};

pub use count::{CountError, parse_count};
pub use digest::{RecordsDigest, records_digest};
pub use error::Error;
pub use figures::CohortFigures;
pub use given::{CohortInput, HeldCohort, ModelInput, RuleInput};
pub use inputs::{CodeSource, CodeSummary, Codes, Inputs, Opened, OpenedRecords, RecordInputs};
pub use out::{
    OpenOut, Out, refuse_cohort, refuse_file, refuse_folder, refuse_lines, whole_path, write_file,
};
pub use reference::RuleReference;
pub use task::{REPORT_FORMAT, Report, Task, report_json};

/// Sets how many threads every later call uses; 0 is one for each core. Call it once, first.
///
/// ```standalone_crate
/// consequence_pipeline::use_threads(2)?;
/// let again = consequence_pipeline::use_threads(3).unwrap_err();
/// assert!(again.to_string().starts_with("cannot work with 3 threads"));
/// # Ok::<(), consequence_pipeline::Error>(())
/// ```
pub fn use_threads(threads: usize) -> Result<(), Error> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| Error::Threads { threads, reason: error.to_string() })
}
