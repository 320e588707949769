//! Rule files from one form to another.

use std::path::{Path, PathBuf};

use consequence_rules::{UnknownCodes, write_tuples};

use crate::load::{rule_file, rules_over};
use crate::place::Out;
use crate::source::{CodeSource, Codes, Inputs};
use crate::{Error, Watch};

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

/// Where the codes come from that patterns stand for and that tuples number. With neither, from the
/// rule file alone.
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// A cohort: JSON lines, or a MEDS dataset.
    pub cohort: Option<PathBuf>,
    /// A vocabulary file.
    pub vocabulary: Option<PathBuf>,
    /// What a code means that a rule names and neither of the two has.
    pub unknown_codes: UnknownCodes,
}

/// A rule file in another form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The rules.
    pub text: String,
    /// What looked odd in them, rendered.
    pub warnings: Vec<String>,
    /// The first pattern that was written out as the codes which the rule file names, because no
    /// others were known.
    pub pattern: Option<String>,
}

/// Reads a rule file in any form and writes it in another, as a string.
///
/// Comments are not kept. Text and JSON hold every rule; tuples only those that look back at one
/// window and conclude one code. Text and JSON keep patterns; tuples list the codes that they match.
///
/// ```
/// use consequence::Unwatched;
/// use consequence::convert::{ConvertOptions, RuleForm, convert};
///
/// let folder = tempfile::tempdir()?;
/// let [rules, codes] = ["a.rules", "codes.json"].map(|name| folder.path().join(name));
/// std::fs::write(&rules, "rule a:  E1 in past   =>  not E* # why")?;
/// std::fs::write(&codes, r#"{"static": [], "encounter": ["E1", "E2"]}"#)?;
/// let convert = |form, options| convert(&rules, form, options, &Unwatched);
///
/// let alone = ConvertOptions::default();
/// assert_eq!(convert(RuleForm::Text, &alone)?.text, "rule a: E1 in past => not E*\n");
/// assert!(convert(RuleForm::Json, &alone)?.text.starts_with("{\"format\": 1, "));
/// let tuples = convert(RuleForm::Tuples, &alone)?;
/// assert!(tuples.text.contains("[-1,[0],[],[],[],0,0]"));
/// assert_eq!(tuples.pattern.as_deref(), Some("E*"));
///
/// // With all codes there are, the rule concludes two of them, which no tuple can.
/// let known = ConvertOptions { vocabulary: Some(codes), ..ConvertOptions::default() };
/// assert!(convert(RuleForm::Tuples, &known).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    path: &Path,
    form: RuleForm,
    options: &ConvertOptions,
    watch: &dyn Watch,
) -> Result<Converted, Error> {
    let inputs = Inputs {
        cohort: options.cohort.clone(),
        vocabulary: options.vocabulary.clone(),
        unknown_codes: options.unknown_codes,
        ..Inputs::default()
    };
    let Codes { options: reading, source, .. } = inputs.codes(watch)?;
    let file = rule_file(path, &reading)?.0;
    let rendered = |warnings: &[consequence_rules::Diagnostic]| -> Vec<String> {
        warnings.iter().map(|warning| warning.render()).collect()
    };
    Ok(match form {
        RuleForm::Text | RuleForm::Json => {
            let text = if form == RuleForm::Text { file.to_string() } else { file.to_json() };
            Converted { text, warnings: rendered(file.warnings()), pattern: None }
        }
        RuleForm::Tuples => {
            let loaded = rules_over(&[path.to_path_buf()], &reading, &source)?;
            let pattern = match source {
                CodeSource::Rules => file.first_pattern().map(str::to_owned),
                _ => None,
            };
            let text = write_tuples(&loaded.rules)?;
            Converted { text, warnings: rendered(&loaded.warnings), pattern }
        }
    })
}

/// As [`convert`], into a file; an existing one is replaced only if `force` says so.
pub fn convert_to_file(
    path: &Path,
    form: RuleForm,
    options: &ConvertOptions,
    out: &Path,
    force: bool,
    watch: &dyn Watch,
) -> Result<Converted, Error> {
    let out = Out::file(out, force)?;
    let converted = convert(path, form, options, watch)?;
    out.write(|file| file.write_all(converted.text.as_bytes()))?;
    Ok(converted)
}
