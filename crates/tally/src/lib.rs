//! Counts that are taken of parts of the records and added up.
//!
//! Records of a hundred million people are in many places. A figure that is made of counts needs no record to leave
//! its place: each part is counted where it is, and the counts are added up. They are whole numbers, so that it does not
//! matter how records are divided, nor in which order parts are added.
//!
//! - [`Counts`]: what can be added up and written down; [`counts!`] makes it of a struct.
//! - [`Rounds`]: an algorithm that counts, decides what to count next, and counts again. The same code runs on one machine,
//!   where all records are, on a worker that has some of them, and on the driver, which has none.
//! - [`State`]: what was counted in a round, as bytes, with what it is of: unlike states refuse to be added up.
//! - [`Lowest`]: some of the records, by a key of their ids; [`Repeats`]: how many are alike;
//!   [`Values`]: numbers by their value; [`Ranges`]: numbers that are to be there once.
//!
//! ```
//! use consequence_record::{Cohort, Record, Selection, Split};
//! use consequence_tally::{Block, Paused, Rounds, Whose};
//!
//! /// The mean number of encounters, and how many records have more.
//! fn longer(rounds: &mut Rounds<'_>) -> Result<(f64, u64), Paused> {
//!     let [records, encounters] = rounds.count(Whose::Cohort, "lengths", |block: &Block<'_>| {
//!         let lengths = block.records.records().map(|record| record.len() as u64 - 1);
//!         Ok::<_, Paused>([block.records.len() as u64, lengths.sum()])
//!     })?;
//!     let mean = encounters as f64 / records.max(1) as f64;
//!     let longer: u64 = rounds.count(Whose::Cohort, "longer", |block: &Block<'_>| {
//!         let longer = block.records.records().filter(|record| record.len() as f64 - 1.0 > mean);
//!         Ok::<_, Paused>(longer.count() as u64)
//!     })?;
//!     Ok((mean, longer))
//! }
//!
//! let mut cohort = Cohort::default();
//! for encounters in [1, 2, 6] {
//!     cohort.push("p", &Record::new(vec![vec![]; 1 + encounters]));
//! }
//! let splits = vec![Split::Train; 3];
//! let all = Selection::all(&cohort);
//! let block = |range| Block { records: all.part(range), splits: &splits };
//! assert_eq!(longer(&mut Rounds::whole(block(0..3)))?, (3.0, 1));
//!
//! // The same in two parts. In each round every part is counted, and the counts are added up.
//! let mut known = Vec::new();
//! let figures = loop {
//!     let parts = [0..1, 1..3].map(|range| {
//!         let mut blocks = [block(range)].into_iter();
//!         let counted = longer(&mut Rounds::part(&known, Whose::Cohort, &mut blocks));
//!         match counted {
//!             Err(Paused::Counted(state)) => state,
//!             other => panic!("{other:?}"),
//!         }
//!     });
//!     let mut merging = Rounds::merging(&known, parts.into());
//!     let outcome = longer(&mut merging);
//!     known.extend(merging.merged());
//!     match outcome {
//!         Ok(figures) => break figures,
//!         Err(Paused::Wanted(_)) => {}
//!         Err(other) => panic!("{other}"),
//!     }
//! };
//! assert_eq!((figures, known.len()), ((3.0, 1), 2));
//! # Ok::<(), Paused>(())
//! ```
#![forbid(unsafe_code)]

mod codec;
mod counts;
mod keyed;
mod ranges;
mod repeats;
mod rounds;
mod sampled;
mod state;
mod sum;
mod values;

pub use codec::{Damaged, Reader, Writer};
pub use counts::{Coded, Counts, Key, Span};
pub use keyed::{Lowest, key};
pub use ranges::Ranges;
pub use repeats::Repeats;
pub use rounds::{Block, Blocks, Later, Paused, Rounds, Wanted, Whose};
pub use sampled::SampledRecord;
pub use state::{Shards, State, StateError};
pub use sum::Sum;
pub use values::Values;
