//! Rule files from one form to another.

use std::path::Path;

use consequence_rules::write_tuples;
use consequence_store::write_atomically;

use crate::Error;
use crate::load::{RuleOptions, rule_file, rules};
use crate::place::refuse_place;

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

/// Reads a rule file in any form and writes it in another, as a string.
///
/// Comments are not kept. Text and JSON hold every rule; tuples only those that look back at one
/// window and conclude one code.
///
/// ```
/// use consequence::convert::{RuleForm, convert};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.rules");
/// std::fs::write(&path, "rule a:  X in past   =>  Y # why")?;
/// assert_eq!(convert(&path, RuleForm::Text)?, "rule a: X in past => Y\n");
/// assert!(convert(&path, RuleForm::Json)?.starts_with("{\"statements\": ["));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(path: &Path, form: RuleForm) -> Result<String, Error> {
    let options = RuleOptions::default();
    Ok(match form {
        RuleForm::Text => rule_file(path, &options)?.0.to_string(),
        RuleForm::Json => rule_file(path, &options)?.0.to_json(),
        RuleForm::Tuples => write_tuples(&rules(&[path.to_path_buf()], &options)?.rules)?,
    })
}

/// As [`convert`], into a file; an existing one is replaced only if `force` says so.
pub fn convert_to_file(path: &Path, form: RuleForm, out: &Path, force: bool) -> Result<(), Error> {
    refuse_place(out, force)?;
    let text = convert(path, form)?;
    Ok(write_atomically(out, |file| file.write_all(text.as_bytes()))?)
}
