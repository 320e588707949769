//! `consequence rules convert`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use consequence::convert::{ConvertTask, RuleForm};
use consequence::{Error, Out, Task};

use super::{Outcome, unknown_codes};
use crate::args::CodeArguments;
use crate::bar::Bar;
use crate::output;

#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// The rule file to read
    pub rules: PathBuf,
    /// The form to write
    #[arg(long)]
    pub to: Form,
    /// Expand patterns over the codes of this cohort (JSON lines, or a MEDS dataset)
    #[arg(long)]
    pub cohort: Option<PathBuf>,
    #[command(flatten)]
    pub codes: CodeArguments,
    /// The file to write [default: stdout]
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    pub force: bool,
}

/// A form of rule files.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Form {
    /// The rule language
    Text,
    /// Statements as JSON
    Json,
    /// The reference's seven-field tuples
    Tuples,
}

pub fn run(arguments: &ConvertArguments) -> Result<Outcome, Error> {
    let form = match arguments.to {
        Form::Text => RuleForm::Text,
        Form::Json => RuleForm::Json,
        Form::Tuples => RuleForm::Tuples,
    };
    let out = |path| Out::new(path).replacing(arguments.force);
    let task = ConvertTask {
        cohort: arguments.cohort.as_ref().map(Into::into),
        vocabulary: arguments.codes.vocabulary.clone(),
        unknown_codes: unknown_codes(arguments.codes.allow_unknown),
        out: arguments.out.as_ref().map(out),
        ..ConvertTask::new(&arguments.rules, form)
    };
    let converted = task.run(&Bar::default())?;
    let outcome = output::report(&converted, false);
    if let Some(pattern) = &converted.pattern {
        output::message(&format!(
            "warning: patterns such as `{pattern}` were expanded over the codes that {} names, and no \
             others\n  = help: give all codes there are by --vocabulary or --cohort\n",
            arguments.rules.display()
        ));
    }
    outcome
}
