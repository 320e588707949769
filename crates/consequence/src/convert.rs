//! Rule files from one form to another.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use consequence_pipeline::load::{rule_file, rules_over};
use consequence_pipeline::{
    CodeSource, Codes, CohortInput, Error, Inputs, Out, Report, RuleInput, Task, Watch,
};
use consequence_rules::{UnknownCodes, write_tuples};
use serde::Serialize;

/// The forms that rules are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleForm {
    /// The rule language.
    Text,
    /// Statements as JSON.
    Json,
    /// The reference's seven-field tuples.
    Tuples,
}

/// A rule file to be written in another form.
///
/// Comments are not kept. Text and JSON hold every rule; tuples only those that look back at one
/// window and conclude one code. Text and JSON keep patterns; tuples list the codes that they match.
///
/// ```
/// use consequence::convert::{ConvertTask, RuleForm};
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [rules, codes] = ["a.rules", "codes.json"].map(|name| folder.path().join(name));
/// std::fs::write(&rules, "rule a:  E1 in past   =>  not E* # why")?;
/// std::fs::write(&codes, r#"{"static": [], "encounter": ["E1", "E2"]}"#)?;
///
/// let convert = |form| ConvertTask::new(&rules, form).run(&Unwatched);
/// assert_eq!(convert(RuleForm::Text)?.text, "rule a: E1 in past => not E*\n");
/// assert!(convert(RuleForm::Json)?.text.starts_with("{\"format\": 1, "));
/// let tuples = convert(RuleForm::Tuples)?;
/// assert!(tuples.text.contains("[-1,[0],[],[],[],0,0]"));
/// assert_eq!(tuples.pattern.as_deref(), Some("E*"));
///
/// // With all codes there are, the rule concludes two of them, which no tuple can.
/// let known = ConvertTask { vocabulary: Some(codes), ..ConvertTask::new(&rules, RuleForm::Tuples) };
/// assert!(known.run(&Unwatched).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConvertTask {
    /// The rule file, in any form.
    pub rules: RuleInput,
    /// The form to write.
    pub form: RuleForm,
    /// A cohort whose codes patterns stand for and tuples number; with neither this nor a vocabulary,
    /// these are the codes of the rule file alone.
    pub cohort: Option<CohortInput>,
    /// A vocabulary file.
    pub vocabulary: Option<PathBuf>,
    /// What a code means that a rule names and neither of the two has.
    pub unknown_codes: UnknownCodes,
    /// The file to write; none: the report holds the text.
    pub out: Option<Out>,
}

/// A rule file in another form. Shown, it is the text, unless that went to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Converted {
    /// The rules.
    pub text: String,
    /// What looked odd in them, rendered.
    pub warnings: Vec<String>,
    /// The first pattern that was written out as the codes which the rule file names, because no
    /// others were known.
    pub pattern: Option<String>,
    /// The file that was written, if one was asked for.
    pub out: Option<String>,
}

impl ConvertTask {
    /// Over the codes of the rule file alone, and into no file.
    pub fn new(rules: impl Into<RuleInput>, form: RuleForm) -> Self {
        Self {
            rules: rules.into(),
            form,
            cohort: None,
            vocabulary: None,
            unknown_codes: UnknownCodes::default(),
            out: None,
        }
    }

    fn converted(&self, watch: &dyn Watch) -> Result<Converted, Error> {
        let inputs = Inputs {
            cohort: self.cohort.clone(),
            vocabulary: self.vocabulary.clone(),
            unknown_codes: self.unknown_codes,
            ..Inputs::default()
        };
        let Codes { options: reading, source, .. } = inputs.codes(watch)?;
        let file = rule_file(&self.rules, &reading)?.0;
        let file = match &reading.vocabulary {
            Some(vocabulary) => file.with_codes(vocabulary, &reading.titled_codes()),
            None => file,
        };
        let rendered = |warnings: &[consequence_rules::Diagnostic]| -> Vec<String> {
            warnings.iter().map(|warning| warning.render()).collect()
        };
        let (text, warnings, pattern) = match self.form {
            RuleForm::Text => (file.to_string(), rendered(file.warnings()), None),
            RuleForm::Json => (file.to_json(), rendered(file.warnings()), None),
            RuleForm::Tuples => {
                let loaded = rules_over(std::slice::from_ref(&self.rules), &reading, &source)?;
                let pattern = match source {
                    CodeSource::Rules => file.first_pattern().map(str::to_owned),
                    _ => None,
                };
                (write_tuples(&loaded.rules)?, rendered(&loaded.warnings), pattern)
            }
        };
        Ok(Converted { text, warnings, pattern, out: self.out.as_ref().map(Out::shown) })
    }
}

impl Task for ConvertTask {
    type Report = Converted;

    /// Reads a rule file in any form and writes it in another.
    fn run(&self, watch: &dyn Watch) -> Result<Converted, Error> {
        let out = self.out.as_ref().map(Out::file).transpose()?;
        let converted = self.converted(watch)?;
        if let Some(out) = out {
            out.write(|file| file.write_all(converted.text.as_bytes()))?;
        }
        Ok(converted)
    }
}

impl Report for Converted {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Display for Converted {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.out.is_none() { out.write_str(&self.text) } else { Ok(()) }
    }
}
