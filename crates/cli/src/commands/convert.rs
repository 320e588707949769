//! `consequence rules convert`

use consequence::Error;
use consequence::convert::{RuleForm, convert, convert_to_file};

use super::Outcome;
use crate::args::{ConvertArguments, Form};
use crate::output;

pub fn run(arguments: &ConvertArguments) -> Result<Outcome, Error> {
    let form = match arguments.to {
        Form::Text => RuleForm::Text,
        Form::Json => RuleForm::Json,
        Form::Tuples => RuleForm::Tuples,
    };
    match &arguments.out {
        Some(out) => convert_to_file(&arguments.rules, form, out, arguments.force)?,
        None => output::data(&convert(&arguments.rules, form)?),
    }
    Ok(Outcome::Done)
}
