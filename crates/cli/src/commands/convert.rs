//! `consequence rules convert`

use consequence::Error;
use consequence::convert::{ConvertOptions, RuleForm, convert, convert_to_file};

use super::{Outcome, unknown_codes};
use crate::args::{ConvertArguments, Form};
use crate::bar::Bar;
use crate::output;

pub fn run(arguments: &ConvertArguments) -> Result<Outcome, Error> {
    let form = match arguments.to {
        Form::Text => RuleForm::Text,
        Form::Json => RuleForm::Json,
        Form::Tuples => RuleForm::Tuples,
    };
    let options = ConvertOptions {
        cohort: arguments.cohort.clone(),
        vocabulary: arguments.codes.vocabulary.clone(),
        unknown_codes: unknown_codes(arguments.codes.allow_unknown),
    };
    let (rules, bar) = (&arguments.rules, Bar::default());
    let converted = match &arguments.out {
        Some(out) => convert_to_file(rules, form, &options, out, arguments.force, &bar)?,
        None => {
            let converted = convert(rules, form, &options, &bar)?;
            output::data(&converted.text);
            converted
        }
    };
    output::warnings(&converted.warnings);
    if let Some(pattern) = &converted.pattern {
        output::message(&format!(
            "warning: patterns such as `{pattern}` were expanded over the codes that {} names, and no \
             others\n  = help: give all codes there are by --vocabulary or --cohort\n",
            rules.display()
        ));
    }
    Ok(Outcome::Done)
}
