//! Why a pipeline stopped: what, where, and what to do.

use std::path::PathBuf;

use consequence_baselines::BaselineError;
use consequence_evaluate::{BadRecord, CompareError, LikelihoodError, MeasureError};
use consequence_halo::{ShapeError, WeightsError};
use consequence_model::ModelError;
use consequence_packs::PackError;
use consequence_rules::{CompileError, Diagnostics, RuleSet, TupleError};
use consequence_sample::{ConditionError, SampleError};
use consequence_store::StoreError;
use consequence_tables::TableError;
use consequence_tables::import::ImportError;
use consequence_tables::jsonl::WriteError;
use consequence_train::TrainError;
use thiserror::Error;

use crate::{CodeSource, RuleReference};

/// Why a pipeline stopped. Shown, it says what, where, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The text of a rule file cannot be used.
    #[error("{0}")]
    Rules(#[from] Diagnostics),
    /// Rules name codes that the cohort or the vocabulary does not have.
    #[error("{diagnostics}\n  = help: {}", unknown_help(from))]
    UnknownCodes {
        /// Each of them, with its place.
        diagnostics: Diagnostics,
        /// Where the known codes come from.
        from: CodeSource,
    },
    /// A rule file or a table of rules cannot be used.
    #[error("{what}\n  --> {}\n  = help: {help}", path.display())]
    RuleFile {
        /// The file, as the user named it.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What to do about it.
        help: &'static str,
    },
    /// A cohort was read, and cannot be used.
    #[error("{what}\n  --> {}\n  = help: {help}", path.display())]
    Cohort {
        /// The cohort, as the user named it.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What to do about it.
        help: &'static str,
    },
    /// An expert table gives no rules.
    #[error("{error}\n  = help: {help}")]
    Pack {
        /// What is wrong.
        error: PackError,
        /// What to do about it.
        help: &'static str,
    },
    /// A cohort or a vocabulary cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A source cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A file cannot be written.
    #[error(transparent)]
    Store(StoreError),
    /// A cohort cannot be written.
    #[error(transparent)]
    Write(WriteError),
    /// The rules have no plan.
    #[error("{what}{}\n  = help: {help}", places(rules))]
    Compile {
        /// What is wrong.
        what: String,
        /// The rules concerned.
        rules: Vec<RuleReference>,
        /// What to do about it.
        help: &'static str,
    },
    /// No rule has this name.
    #[error("no rule is called `{name}`{}", similar(similar_names))]
    NoSuchRule {
        /// The name asked for.
        name: String,
        /// Names of rules that begin as it does, or the first of all.
        similar_names: Vec<String>,
    },
    /// A rule cannot be written as a tuple.
    #[error("{0}\n  = help: write the rules as text or json, which hold every rule")]
    Tuple(#[from] TupleError),
    /// The file or folder to be written is already there.
    #[error(
        "the target is already there\n  --> {}\n  = help: choose another name, or give --force to replace it",
        .0.display()
    )]
    Exists(PathBuf),
    /// Records are needed, and no cohort was given.
    #[error(
        "no cohort was given, so there are no records to {work}\n  = help: name a cohort: JSON lines, or a MEDS dataset"
    )]
    NoCohort {
        /// What the records are needed for: `audit`, `enforce the rules on` or `train on`.
        work: &'static str,
    },
    /// Nothing is left to write.
    #[error(
        "no record can be kept: of the lengths that the {records} records have, no record obeys the rules\n  \
         = help: look at the rules that speak of `END`"
    )]
    NothingLeft {
        /// The records that were read.
        records: u64,
    },
    /// The auditor and the referee judge a record differently: a defect of this program.
    #[error(
        "the auditor and the referee disagree about rule `{rule}` in record {record}, visit {visit}; nothing was reported\n  \
         = help: this is a defect of the program; please report it with the rules"
    )]
    Disagreement {
        /// The record, counted from 1.
        record: usize,
        /// The visit; 0 is the static visit.
        visit: usize,
        /// The rule's name.
        rule: String,
    },
    /// A repaired record does not obey the rules: a defect of this program.
    #[error(
        "the referee rejects repaired record {record}; nothing was written\n  \
         = help: this is a defect of the program; please report it with the rules"
    )]
    Rejected {
        /// The record, counted from 1.
        record: usize,
    },
    /// A model cannot be read or written.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A model could not be trained.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A network cannot have these sizes.
    #[error("{0}\n  = help: choose other values for --width, --layers, --heads or --head-units")]
    Shape(#[from] ShapeError),
    /// An option cannot be used here.
    #[error("{what}\n  = help: {help}")]
    Option {
        /// What is wrong.
        what: String,
        /// What to do about it.
        help: &'static str,
    },
    /// A run that was stopped is in the way.
    #[error(
        "a run that was stopped is in the way\n  --> {}\n  = help: go on with it by --resume, or give --force to begin anew",
        .0.display()
    )]
    Stopped(PathBuf),
    /// The model that is there is of other records, rules or settings.
    #[error(
        "the model that is there was made with other records, rules or settings\n  --> {}\n  = help: choose another name, or give --force to replace it",
        .0.display()
    )]
    OtherModel(PathBuf),
    /// What is there was made of another source or with other options.
    #[error(
        "the run that is there was begun with another source or with other options\n  --> {}\n  = help: give them as they were, choose another folder, or give --force to begin anew",
        .0.display()
    )]
    OtherRun(PathBuf),
    /// What is there was begun by another version of the program.
    #[error(
        "the run that is there was begun by {begun_by} of this program, and this is version {}\n  --> {}\n  = help: complete it with that version, choose another name, or give --force to begin anew",
        env!("CARGO_PKG_VERSION"), path.display()
    )]
    OtherVersion {
        /// The file that tells of it.
        path: PathBuf,
        /// The version that it was begun by.
        begun_by: String,
    },
    /// Training was asked to stop.
    #[error(
        "stopped after {}; nothing is lost\n  --> {}\n  = help: give the same command with --resume to go on",
        epochs(*epochs_done), checkpoint.display()
    )]
    Interrupted {
        /// Epochs that are over.
        epochs_done: usize,
        /// What can be gone on from.
        checkpoint: PathBuf,
    },
    /// The work was asked to stop between two steps.
    #[error(
        "stopped; what is done is kept\n  --> {}\n  = help: give the same command with --resume to go on",
        .0.display()
    )]
    Halted(PathBuf),
    /// Records could not be generated.
    #[error(transparent)]
    Sample(SampleError),
    /// Conditions that cannot be given.
    #[error("{0}")]
    Given(#[from] ConditionError),
    /// The likelihood of records could not be measured.
    #[error(transparent)]
    Likelihood(#[from] LikelihoodError),
    /// Two cohorts cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// Records cannot be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// A record is not of the codes that it is measured by.
    #[error(transparent)]
    Record(#[from] BadRecord),
    /// A rival method cannot take the rules.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// The weights of a network could not be kept.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A report has no form as JSON: a defect of this program.
    #[error(
        "a report cannot be written as JSON: {0}\n  = help: this is a defect of the program; please report it"
    )]
    Json(#[from] serde_json::Error),
    /// The threads could not be started.
    #[error(
        "cannot work with {threads} threads: {reason}\n  = help: choose another number for --threads"
    )]
    Threads {
        /// The number asked for.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}

impl Error {
    /// The message as a person reads it, with `error: ` before it and a newline at the end.
    pub fn render(&self) -> String {
        match self {
            // Diagnostics say themselves what is an error and what a note.
            Self::Rules(diagnostics) => diagnostics.to_string(),
            Self::UnknownCodes { diagnostics, from } => {
                format!("{diagnostics}\nhelp: {}\n", unknown_help(from))
            }
            other => format!("error: {other}\n"),
        }
    }

    /// The error of a rule set that could not be compiled, with the places of the rules concerned.
    pub(crate) fn compile(set: &RuleSet, error: CompileError) -> Self {
        let named = |names: &[String]| -> Vec<RuleReference> {
            let rules =
                set.rules.iter().filter(|rule| names.iter().any(|name| **name == *rule.name));
            rules.map(RuleReference::new).collect()
        };
        let (rules, help) = match &error {
            CompileError::Unsatisfiable { core, cut_obeys, .. } => {
                let what = match cut_obeys {
                    true => {
                        "only a record that was cut before its end can obey these rules \
                         together, and every record that is generated ends"
                    }
                    false => "no record can obey these rules together",
                };
                return Self::Compile {
                    what: what.into(),
                    rules: named(core),
                    help: "drop or change one of them; each is needed for the contradiction",
                };
            }
            CompileError::RuleTooLarge { rule, .. } => {
                (named(std::slice::from_ref(rule)), "split the rule into smaller ones")
            }
            CompileError::SoftCycle(names) => (named(names), "take one of them out of the cycle"),
            CompileError::TooDense { .. } => {
                (Vec::new(), "check the rules file by file to find the part that grows")
            }
            CompileError::Unproved { rule, .. } => {
                (named(rule.as_slice()), "this is a defect of the program, not of the rules")
            }
            CompileError::BadRule { rule, .. } => {
                (named(std::slice::from_ref(rule)), "correct the rule where it is made")
            }
            CompileError::SoftTooEarly { rule } => (
                named(std::slice::from_ref(rule)),
                "leave the rule out, or train a model with these rules",
            ),
            _ => (Vec::new(), "give --max-visits at least 1"),
        };
        Self::Compile { what: error.to_string(), rules, help }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            // What came while the run was at work is refused in the words of what was there before.
            StoreError::Exists { path } => Self::Exists(path),
            other => Self::Store(other),
        }
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Store(error) => error.into(),
            other => Self::Write(other),
        }
    }
}

impl From<SampleError> for Error {
    fn from(error: SampleError) -> Self {
        match error {
            // The rules concerned are named with their places.
            SampleError::Compile { error, rules } => Self::compile(&rules, error),
            SampleError::Store(error) => error.into(),
            SampleError::Write(error) => error.into(),
            other => Self::Sample(other),
        }
    }
}

fn epochs(done: usize) -> String {
    match done {
        0 => "a part of the first epoch".into(),
        1 => "1 epoch".into(),
        done => format!("{done} epochs"),
    }
}

fn unknown_help(from: &CodeSource) -> String {
    let known = match from {
        CodeSource::Rules => "the rules".to_owned(),
        CodeSource::Cohort(file) => format!("{file}; --vocabulary can give the full list"),
        CodeSource::Cohorts(file) | CodeSource::Vocabulary(file) => file.clone(),
        CodeSource::Model(folder) => format!("the model {folder}"),
    };
    format!("the known codes are those of {known}; --allow-unknown takes others as never present")
}

fn places(rules: &[RuleReference]) -> String {
    rules.iter().map(|rule| format!("\n  --> {}:{}: {}", rule.file, rule.line, rule.text)).collect()
}

fn similar(names: &[String]) -> String {
    match names {
        [] => "\n  = help: the rule files name no rule".into(),
        names => format!("\n  = help: there is {}", names.join(", ")),
    }
}
