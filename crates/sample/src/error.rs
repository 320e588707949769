//! Why records could not be written.

use std::path::PathBuf;
use std::sync::Arc;

use consequence_engine::cuda::GpuError;
use consequence_feedback::{Advice, Advise};
use consequence_rules::{CompileError, RuleSet};
use consequence_store::StoreError;
use consequence_tables::WriteError;
use thiserror::Error;

use crate::DrawnBy;

/// Why records could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SampleError {
    /// A temperature that is none.
    #[error("a temperature is a number above 0, and {0} is none")]
    Temperature(f64),
    /// A number of things that must not be zero.
    #[error("no {0} at all cannot be asked for")]
    Nothing(&'static str),
    /// A pass goes with nothing else.
    #[error(
        "a pass over whole visits goes with no other rules, conditions or records to go on with"
    )]
    PassAlone,
    /// The rules are about other codes than the model's.
    #[error("the rules were read over other codes than the model's")]
    OtherCodes,
    /// The rules, with the conditions given, have no plan in the model's order of codes.
    #[error("{error}")]
    Compile {
        /// Why.
        error: CompileError,
        /// The rules, the conditions among them.
        rules: Arc<RuleSet>,
    },
    /// Rules about days or ages, and a model that tells none.
    #[error("the rules or groups speak of days or ages, and the model was trained without dates")]
    NoDates,
    /// Rules about days or ages, and a record to go on with that tells no dates.
    #[error("the rules speak of days or ages, and record {record} of the prefix has no dates")]
    PrefixDates {
        /// The record, counted from 1.
        record: usize,
    },
    /// No days since the visit before would do: a defect of this program.
    #[error("no days let generated record {record} obey the rules; its shard was not written")]
    NoDays {
        /// The record, counted from 1.
        record: u64,
    },
    /// The GPU that records were drawn on failed.
    #[error("{0}")]
    Gpu(GpuError),
    /// The prefix is empty.
    #[error("the prefix has no record")]
    EmptyPrefix,
    /// A record of the prefix holds codes that the model does not have there.
    #[error("record {record} of the prefix has a code that the model does not know in that visit")]
    PrefixCodes {
        /// The record, counted from 1.
        record: usize,
    },
    /// A record of the prefix is longer than the model can write.
    #[error(
        "record {record} of the prefix has {visits} encounters; the model writes {most} at most"
    )]
    PrefixTooLong {
        /// The record, counted from 1.
        record: usize,
        /// Its encounters.
        visits: usize,
        /// The most that the model writes.
        most: usize,
    },
    /// A record of the prefix is forbidden, or everything that could follow it is.
    #[error(
        "record {record} of the prefix cannot be continued: at visit {visit} {} forbids it",
        one_of(rules)
    )]
    PrefixForbidden {
        /// The record, counted from 1.
        record: usize,
        /// The visit; 0 is the static visit.
        visit: usize,
        /// The names of the rules concerned.
        rules: Vec<String>,
    },
    /// No attempt at a record obeyed the rules.
    #[error(
        "none of {attempts} attempts at record {record} obeys the rules; broken most often: {}",
        counted(broken)
    )]
    Exhausted {
        /// The record, counted from 1.
        record: u64,
        /// The attempts made.
        attempts: u16,
        /// The rules broken most often, with the number of attempts that broke each.
        broken: Vec<(String, u64)>,
    },
    /// No attempt at a record was as given.
    #[error("none of {attempts} attempts at record {record} is as given{}", unmet_most(unmet))]
    OutOfGroup {
        /// The record, counted from 1.
        record: u64,
        /// The attempts made.
        attempts: u64,
        /// The conditions, with the number of attempts that did not meet each.
        unmet: Vec<(String, u64)>,
    },
    /// A record does not obey the rules: a defect of this program.
    #[error("the referee rejects generated record {record}; its shard was not written")]
    Rejected {
        /// The record, counted from 1.
        record: u64,
    },
    /// The dates and values of a record are not those that its codes tell: a defect of this program.
    #[error("generated record {record} is at odds with itself: {what}; its shard was not written")]
    Disagreement {
        /// The record, counted from 1.
        record: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Whoever takes the records wants no more of them.
    #[error("stopped: no more records are wanted")]
    Stopped,
    /// The model gave something that is no probability.
    #[error("the model gives a code a probability that is not a number from 0 to 1")]
    Probability,
    /// A run that was stopped has left its folder there.
    #[error("an unfinished run is in the way\n  --> {}", .0.display())]
    Unfinished(PathBuf),
    /// What is there was begun with something else.
    #[error(
        "what is there was not begun with this request: it has {there}, and not {asked}\n  --> {}",
        path.display()
    )]
    OtherRequest {
        /// The folder.
        path: PathBuf,
        /// What it was begun with.
        there: String,
        /// What was asked for now.
        asked: String,
    },
    /// What is there was drawn by something else, which gives other records now and then.
    #[error(
        "what is there was drawn by {there}, and here {ours} draws: some records would be others\n  --> {}",
        path.display()
    )]
    OtherDevice {
        /// The folder.
        path: PathBuf,
        /// What drew the records that are there.
        there: DrawnBy,
        /// What would draw the others.
        ours: DrawnBy,
    },
    /// What is there was begun by a program that kept other notes of it.
    #[error(
        "what is there was begun by {} version of this program: its format is {format}, and this \
         one goes on with {known}\n  --> {}",
        if format > known { "a newer" } else { "an older" }, path.display()
    )]
    OtherFormat {
        /// The file that tells how it was begun.
        path: PathBuf,
        /// The number of its format.
        format: u32,
        /// The number of the format that this program resumes.
        known: u32,
    },
    /// What is there was begun by another version of the program.
    #[error(
        "what is there was begun by version {version} of this program, and this is {ours}\n  --> {}",
        path.display()
    )]
    OtherVersion {
        /// The folder.
        path: PathBuf,
        /// The version that it was begun by.
        version: String,
        /// The version that is running.
        ours: String,
    },
    /// A file is in the folder that the run did not write, and would become part of the dataset.
    #[error("this is not a file of the run that is to be completed\n  --> {}", .0.display())]
    Stranger(PathBuf),
    /// The folder of an unfinished run says nothing of how it was begun, or nothing that can be
    /// read.
    #[error("cannot tell how the unfinished run was begun: {reason}\n  --> {}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Something cannot be put in place.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Advise for SampleError {
    fn advice(&self) -> Option<Advice> {
        if let Self::OtherDevice { there, .. } = self {
            let asked = there.asked();
            return Some(Advice::new(format!(
                "{asked}, or give {{force}} without {{resume}} to begin anew"
            )));
        }
        Some(Advice::new(match self {
            Self::Temperature(_) => "1 changes nothing",
            Self::Nothing(_) => "ask for at least one",
            Self::PassAlone => "ask for mode `off` without them",
            Self::OtherCodes => "read them over the model's vocabulary",
            Self::NoDates => {
                "train a model on records with dates and codes of the days between them, such as `GAP//7-14d`, or leave \
                 these rules out"
            }
            Self::PrefixDates { .. } => "give records with dates, or leave these rules out",
            Self::Gpu(_) => {
                "go on with {resume} on such a GPU, or begin anew on the CPU with {force} and {device=cpu}"
            }
            Self::EmptyPrefix => "give a cohort with at least one",
            Self::PrefixCodes { .. } => "read the prefix over the model's vocabulary",
            Self::PrefixTooLong { .. } => "cut the record, or train a model with more visits",
            Self::PrefixForbidden { .. } => {
                "repair the prefix with `enforce`, leave the record out, or change the rules"
            }
            Self::Exhausted { .. } => {
                "allow more attempts, or write the records in mode `guided` or `exact`"
            }
            Self::OutOfGroup { .. } => {
                "such records are rare, or cannot be: give more {attempts} (more {proposals} in mode \
                 exact), or ask for less"
            }
            Self::Rejected { .. } | Self::Disagreement { .. } | Self::NoDays { .. } => {
                "this is a defect of the program; please report it with the rules"
            }
            Self::Probability => "the model is damaged; train it again",
            Self::Unfinished(_) => "complete it with {resume}, or give {force} to drop it",
            Self::OtherRequest { .. } => "ask for the same, or choose another place",
            Self::OtherFormat { .. } | Self::OtherVersion { .. } => {
                "complete it with that version, choose another place, or give {force} without \
                 {resume} to begin anew"
            }
            Self::Stranger(_) => "move it away, or give {force} without {resume} to begin anew",
            Self::Manifest { .. } => "delete the folder, or give {force} to drop it",
            Self::Store(error) => return error.advice(),
            Self::Write(error) => return error.advice(),
            Self::Compile { .. } | Self::Stopped | Self::OtherDevice { .. } => return None,
        }))
    }
}

fn one_of(rules: &[String]) -> String {
    match rules {
        [] => "a rule".into(),
        [rule] => format!("rule `{rule}`"),
        rules => format!("what follows from the rules `{}`", rules.join("`, `")),
    }
}

fn unmet_most(unmet: &[(String, u64)]) -> String {
    if unmet.is_empty() { String::new() } else { format!("; not met: {}", counted(unmet)) }
}

fn counted(broken: &[(String, u64)]) -> String {
    let each = broken.iter().map(|(rule, times)| format!("`{rule}` ({times} times)"));
    each.collect::<Vec<_>>().join(", ")
}
