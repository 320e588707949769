//! Why a pipeline stopped: what, where, and what to do.

use std::path::PathBuf;

use consequence_evaluate::{BadRecord, CompareError, LikelihoodError, MeasureError};
use consequence_feedback::{Advice, Advise};
use consequence_import::ImportError;
use consequence_model::ModelError;
use consequence_network::{ShapeError, WeightsError};
use consequence_rules::{CompileError, Diagnostics, RuleSet, TupleError};
use consequence_sample::{ConditionError, SampleError};
use consequence_store::{RunError, StoreError};
use consequence_tables::TableError;
use consequence_tables::jsonl::WriteError;
use consequence_tally::{Paused, StateError};
use consequence_train::TrainError;
use thiserror::Error;

use crate::{CodeSource, RuleReference};

/// Why a pipeline stopped. Shown, it says what and where; [`advice`](Self::advice) says what to do, in
/// words that each face makes its own.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The text of a rule file cannot be used.
    #[error("{0}")]
    Rules(#[from] Diagnostics),
    /// Rules name codes that the cohort or the vocabulary does not have.
    #[error("{diagnostics}")]
    UnknownCodes {
        /// Each of them, with its location.
        diagnostics: Diagnostics,
        /// Where the known codes come from.
        from: CodeSource,
        /// Whether a list of all codes could have been given.
        vocabulary_possible: bool,
    },
    /// What was given cannot be used.
    #[error("{what}{}", at(path))]
    Refused {
        /// What is wrong.
        what: String,
        /// The file or folder concerned, as the user named it.
        path: Option<PathBuf>,
        /// What to do about it.
        advice: Advice,
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
    #[error("{what}{}", locations(rules))]
    Compile {
        /// What is wrong.
        what: String,
        /// The rules concerned.
        rules: Vec<RuleReference>,
        /// What to do about it.
        advice: Advice,
    },
    /// No rule has this name.
    #[error("no rule is called `{name}`")]
    NoSuchRule {
        /// The name asked for.
        name: String,
        /// Names of rules that begin as it does, or the first of all.
        similar_names: Vec<String>,
    },
    /// A rule cannot be written as a tuple.
    #[error(transparent)]
    Tuple(#[from] TupleError),
    /// The file or folder to be written is already there.
    #[error("the target is already there\n  --> {}", .0.display())]
    Exists(PathBuf),
    /// Nothing is left to write.
    #[error(
        "no record can be kept: of the lengths that the {records} records have, no record obeys the rules"
    )]
    NothingLeft {
        /// The records that were read.
        records: u64,
    },
    /// The auditor and the referee judge a record differently: a defect of this program.
    #[error(
        "the auditor and the referee disagree about rule `{rule}` in record {record}, visit {visit}; nothing was reported"
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
    #[error("the referee rejects repaired record {record}; nothing was written")]
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
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The folder of a run cannot be used.
    #[error(transparent)]
    Run(RunError),
    /// The work was asked to stop, and can be resumed.
    #[error("{what}\n  --> {}", path.display())]
    Interrupted {
        /// How far it came.
        what: String,
        /// What it can be resumed from.
        path: PathBuf,
    },
    /// Records could not be generated.
    #[error(transparent)]
    Sample(SampleError),
    /// Conditions that cannot be given.
    #[error(transparent)]
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
    /// The weights of a network could not be kept.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// Records were counted in part, or are to be counted.
    #[error("{0}")]
    Paused(Box<Paused>),
    /// A report has no form as JSON: a defect of this program.
    #[error("a report cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The threads could not be started.
    #[error("cannot work with {threads} threads: {reason}")]
    Threads {
        /// The number asked for.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}

impl Error {
    /// Something given that cannot be used, and what to do about it.
    pub fn refused(what: impl Into<String>, advice: &'static str) -> Self {
        Self::Refused { what: what.into(), path: None, advice: Advice::new(advice) }
    }

    /// A file or folder that cannot be used, and what to do about it.
    pub fn refused_at(
        path: impl Into<PathBuf>,
        what: impl Into<String>,
        advice: &'static str,
    ) -> Self {
        Self::Refused { what: what.into(), path: Some(path.into()), advice: Advice::new(advice) }
    }

    /// Work that was asked to stop, and is kept where it can be resumed from.
    pub fn halted(path: impl Into<PathBuf>) -> Self {
        Self::Interrupted { what: "stopped; what is done is kept".into(), path: path.into() }
    }

    /// What to do about it, if something is known.
    pub fn advice(&self) -> Option<Advice> {
        let text = match self {
            Self::Refused { advice, .. } | Self::Compile { advice, .. } => {
                return Some(advice.clone());
            }
            Self::UnknownCodes { from, vocabulary_possible, .. } => {
                return Some(unknown_codes(from, *vocabulary_possible));
            }
            Self::NoSuchRule { similar_names, .. } => {
                return Some(Advice::new(match similar_names.as_slice() {
                    [] => "the rule files name no rule".to_owned(),
                    names => format!("there is {}", names.join(", ")),
                }));
            }
            Self::Tuple(_) => "write the rules as text or json, which hold every rule",
            Self::Exists(_) => "choose another name, or give {force} to replace it",
            Self::NothingLeft { .. } => "look at the rules that speak of `END`",
            Self::Disagreement { .. } | Self::Rejected { .. } => {
                "this is a defect of the program; please report it with the rules"
            }
            Self::Json(_) => "this is a defect of the program; please report it",
            Self::Shape(_) => "choose other values for {width}, {layers}, {heads} or {head_units}",
            Self::Interrupted { .. } => "give the same command with {resume} to go on",
            Self::Threads { .. } => "choose another number for {threads}",
            Self::Paused(paused) => match &**paused {
                Paused::Refused(StateError::Twice { .. }) => "give every part once",
                Paused::Refused(StateError::OtherParts { .. } | StateError::Unlike(_)) => {
                    "add up counts of one command over one cohort, made by the same version"
                }
                Paused::Refused(StateError::Format { .. }) => {
                    "count the parts again with this version, or add them up with that one"
                }
                Paused::Refused(StateError::Damaged(_)) => "count that part again",
                _ => return None,
            },
            Self::Model(error) => return error.advice(),
            Self::Train(error) => return error.advice(),
            Self::Sample(error) => return error.advice(),
            Self::Given(error) => return error.advice(),
            Self::Table(error) => return error.advice(),
            Self::Import(error) => return error.advice(),
            Self::Store(error) => return error.advice(),
            Self::Run(error) => return error.advice(),
            Self::Write(error) => return error.advice(),
            _ => return None,
        };
        Some(Advice::new(text))
    }

    /// The same, where no list of all codes could have been given.
    pub fn without_vocabulary(self) -> Self {
        match self {
            Self::UnknownCodes { diagnostics, from, .. } => {
                Self::UnknownCodes { diagnostics, from, vocabulary_possible: false }
            }
            other => other,
        }
    }

    /// The error of a rule set that could not be compiled, with the locations of the rules concerned.
    pub fn compile(set: &RuleSet, error: CompileError) -> Self {
        let named = |names: &[String]| -> Vec<RuleReference> {
            let rules = set.iter().filter(|rule| names.iter().any(|name| **name == *rule.name));
            rules.map(RuleReference::new).collect()
        };
        let mut what = error.to_string();
        let (rules, advice) = match &error {
            CompileError::Unsatisfiable { core, cut_obeys, .. } => {
                what = match cut_obeys {
                    true => {
                        "only a record that was cut before its end can obey these rules \
                         together, and every record that is generated ends"
                    }
                    false => "no record can obey these rules together",
                }
                .into();
                (named(core), "drop or change one of them; each is needed for the contradiction")
            }
            CompileError::Beyond { core, .. } => {
                what = "it cannot be shown that records can obey these rules together, whatever days, \
                        ages and values they come to"
                    .into();
                (named(core), "loosen one of them, or leave one out")
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
            CompileError::SoftTooEarly { rule } => (
                named(std::slice::from_ref(rule)),
                "leave the rule out, or train a model with these rules",
            ),
            _ => (Vec::new(), "give {max_visits} at least 1"),
        };
        Self::Compile { what, rules, advice: Advice::new(advice) }
    }
}

impl From<Paused> for Error {
    fn from(paused: Paused) -> Self {
        match paused {
            // What went wrong with the records is told as it is elsewhere.
            Paused::Failed(error) => match error.downcast::<Self>() {
                Ok(error) => *error,
                Err(error) => Self::Paused(Box::new(Paused::Failed(error))),
            },
            other => Self::Paused(Box::new(other)),
        }
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

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Exists(path) => Self::Exists(path),
            RunError::Store(error) => error.into(),
            other => Self::Run(other),
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
            // The rules concerned are named with their locations.
            SampleError::Compile { error, rules } => Self::compile(&rules, error),
            SampleError::Store(error) => error.into(),
            SampleError::Write(error) => error.into(),
            other => Self::Sample(other),
        }
    }
}

fn unknown_codes(from: &CodeSource, vocabulary_possible: bool) -> Advice {
    let known = match from {
        CodeSource::Rules => "the rules".to_owned(),
        CodeSource::Cohort(file) if vocabulary_possible => {
            format!("{file}; {{vocabulary}} can give the full list")
        }
        CodeSource::Cohort(file) | CodeSource::Vocabulary(file) => file.clone(),
        CodeSource::Model(folder) => format!("the model {folder}"),
    };
    Advice::new(format!(
        "the known codes are those of {known}; {{allow_unknown}} takes others as never present"
    ))
}

fn at(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or_else(String::new, |path| format!("\n  --> {}", path.display()))
}

fn locations(rules: &[RuleReference]) -> String {
    rules.iter().map(|rule| format!("\n  --> {}:{}: {}", rule.file, rule.line, rule.text)).collect()
}
