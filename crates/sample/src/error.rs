//! Why records could not be written.

use std::path::PathBuf;
use std::sync::Arc;

use consequence_rules::{CompileError, RuleSet};
use consequence_store::StoreError;
use consequence_tables::WriteError;
use thiserror::Error;

/// Why records could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SampleError {
    /// A temperature that is none.
    #[error("a temperature is a number above 0, and {0} is none\n  = help: 1 changes nothing")]
    Temperature(f64),
    /// A number of things that must not be zero.
    #[error("no {0} at all cannot be asked for\n  = help: ask for at least one")]
    Nothing(&'static str),
    /// A pass goes with nothing else.
    #[error(
        "a pass over whole visits goes with no other rules, conditions or records to go on with\n  \
         = help: ask for mode `off` without them"
    )]
    PassAlone,
    /// The rules are about other codes than the model's.
    #[error(
        "the rules were read over other codes than the model's\n  = help: read them over the \
         model's vocabulary"
    )]
    OtherCodes,
    /// The rules, with the conditions given, have no plan in the model's order of codes.
    #[error("{error}")]
    Compile {
        /// Why.
        error: CompileError,
        /// The rules, the conditions among them.
        rules: Arc<RuleSet>,
    },
    /// There is no record to go on with.
    #[error("the prefix has no record\n  = help: give a cohort with at least one")]
    EmptyPrefix,
    /// A record to go on with holds codes that the model does not have there.
    #[error(
        "record {record} of the prefix has a code that the model does not know in that visit\n  = \
         help: read the prefix over the model's vocabulary"
    )]
    PrefixCodes {
        /// The record, counted from 1.
        record: usize,
    },
    /// A record to go on with is longer than the model can write.
    #[error(
        "record {record} of the prefix has {visits} encounters; the model writes {most} at most\n  \
         = help: cut the record, or train a model with more visits"
    )]
    PrefixTooLong {
        /// The record, counted from 1.
        record: usize,
        /// Its encounters.
        visits: usize,
        /// The most that the model writes.
        most: usize,
    },
    /// A record to go on with is forbidden, or everything that could follow it is.
    #[error(
        "record {record} of the prefix cannot be gone on with: at visit {visit} {} forbids it\n  = \
         help: repair the prefix with `enforce`, leave the record out, or change the rules",
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
        "none of {attempts} attempts at record {record} obeys the rules; broken most often: {}\n  \
         = help: allow more attempts, or write the records in mode `guided` or `exact`",
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
    /// A record does not obey the rules: a defect of this program.
    #[error(
        "the referee rejects generated record {record}; its shard was not written\n  = help: this \
         is a defect of the program; please report it with the rules"
    )]
    Rejected {
        /// The record, counted from 1.
        record: u64,
    },
    /// The model gave something that is no probability.
    #[error(
        "the model gives a code a probability that is not a number from 0 to 1\n  = help: the model is \
         damaged; train it again"
    )]
    Probability,
    /// A run that was stopped is in the way.
    #[error(
        "an unfinished run is in the way\n  --> {}\n  = help: complete it with --resume, or give \
         --force to drop it",
        .0.display()
    )]
    Unfinished(PathBuf),
    /// What is there was begun with something else.
    #[error(
        "what is there was not begun with this request: it has {there}, and not {asked}\n  --> {}\n  \
         = help: ask for the same, or choose another place",
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
    /// What is there was begun by a program that kept other notes of it.
    #[error(
        "what is there was begun by {} version of this program: its format is {format}, and this \
         one goes on with {known}\n  --> {}\n  = help: complete it with that version, choose another \
         place, or give --force without --resume to begin anew",
        if format > known { "a newer" } else { "an older" }, path.display()
    )]
    OtherFormat {
        /// The file that tells how it was begun.
        path: PathBuf,
        /// The number of its format.
        format: u32,
        /// The number of the format that this program goes on with.
        known: u32,
    },
    /// What is there was begun by another version of the program.
    #[error(
        "what is there was begun by version {version} of this program, and this is {ours}\n  --> {}\n  \
         = help: complete it with that version, choose another place, or give --force without \
         --resume to begin anew",
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
    #[error(
        "this is not a file of the run that is to be completed\n  --> {}\n  = help: move it away, or \
         give --force without --resume to begin anew",
        .0.display()
    )]
    Stranger(PathBuf),
    /// The folder of an unfinished run says nothing of how it was begun, or nothing that can be read.
    #[error(
        "cannot tell how the unfinished run was begun: {reason}\n  --> {}\n  = help: delete the \
         folder, or give --force to drop it",
        path.display()
    )]
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

fn one_of(rules: &[String]) -> String {
    match rules {
        [] => "a rule".into(),
        [rule] => format!("rule `{rule}`"),
        rules => format!("what follows from the rules `{}`", rules.join("`, `")),
    }
}

fn counted(broken: &[(String, u64)]) -> String {
    let each = broken.iter().map(|(rule, times)| format!("`{rule}` ({times} times)"));
    each.collect::<Vec<_>>().join(", ")
}
