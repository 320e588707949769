//! Tasks over records that are in many places: each part is counted where it is, and the counts are added up.
//!
//! [`Work`] is a task that is counted: what to find out, by which rules. An [`Outline`] is what is known of a cohort without
//! its records; a [`Job`] is both together. Whoever has some of the records [counts](Job::count) them; whoever has none
//! [adds up](Job::merge) what was counted, and is told what to count next, or has the report. It is the report of one
//! machine that has all records, however they are divided. [`CountsFile`] carries all of it from machine to machine,
//! [`Shard`] is a part of a cohort that is in files, and [`CountTask`] and [`MergeTask`] do both for whoever has a
//! scheduler.
//!
//! ```
//! use consequence::parts::{Job, Merged, PartRecords, Shard, Work};
//! use consequence::{Unwatched, Whose};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("cohort.jsonl");
//! let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"]]}}\n");
//! std::fs::write(&path, (0..300).map(line).collect::<String>())?;
//!
//! let parts = [(1, 2), (2, 2)];
//! let shards = parts.map(|part| Shard::open(&path.clone().into(), None, part, &Unwatched));
//! let [one, two] = shards.map(Result::unwrap);
//! let work = Work::Describe { top: 20, split: None, hide_below: 0 };
//! let job = Job::new(work, vec![one.outline().clone()])?;
//! let mut states = Vec::new();
//! for (shard, part) in [one, two].iter().zip(parts) {
//!     let mut blocks = shard.blocks();
//!     let records = PartRecords { whose: Whose::Cohort, blocks: &mut *blocks, shard: Some(part) };
//!     states.push(job.count(&[], records, &Unwatched)?);
//! }
//! let merged = job.merge(&[], states, &Unwatched)?;
//! assert!(matches!(merged, Merged::Finished { report, .. } if report.text.contains("300 patients")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod counts_file;
mod job;
mod shard;
mod tasks;
mod work;
mod writer;

pub use consequence_pipeline::parts::{FileBlocks, Outline, StreamBlocks};
pub use counts_file::CountsFile;
pub use job::{Job, PartRecords};
pub use shard::{Shard, data_files, joined_outline, open_dataset};
pub use tasks::{CountReport, CountTask, MergeReport, MergeTask, WantedRound};
pub use work::{Merged, PartReport, RuleTexts, Work, rule_texts};
pub(crate) use writer::PartWriter;

/// A number for each id, by which some records are taken: those with the lowest, whatever the order they come in.
pub fn sample_key(id: &str, seed: u64) -> u64 {
    consequence_tally::key(id, seed)
}
