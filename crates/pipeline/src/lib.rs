//! What every pipeline stands on.
//!
//! - [`Task`] and [`Report`]: what a pipeline is given, and what it ends in.
//! - [`Out`]: what it writes, locked and refused before any work is done.
//! - [`Inputs`] and [`RecordInputs`]: rule files, cohorts and codes, opened by [`load`].
//! - [`Watch`]: who is told how far it has come, and may ask it to stop.
//! - [`Error`]: why it stopped: what, where, and as [`Advice`] what to do.
//! - [`pages`]: parts that more than one report page has.
#![forbid(unsafe_code)]

mod count;
mod digest;
mod error;
mod inputs;
pub mod load;
pub mod model_rules;
mod out;
pub mod pages;
mod reference;
mod task;
mod threads;
mod watch;
pub mod words;

pub use consequence_advice::{Advice, Setting};

pub use count::{CountError, parse_count};
pub use digest::records_digest;
pub use error::Error;
pub use inputs::{CodeSource, CodeSummary, Codes, Inputs, Opened, OpenedRecords, RecordInputs};
pub use out::{
    OpenOut, Out, refuse_cohort, refuse_file, refuse_folder, refuse_lines, whole_path, write_file,
};
pub use reference::RuleReference;
pub use task::{REPORT_FORMAT, Report, Task};
pub use threads::use_threads;
pub use watch::{Unwatched, Watch, watched};
