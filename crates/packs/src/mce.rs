//! The Medicare Code Editor: diagnoses and procedures of one sex, diagnoses of some ages.

use std::io::Read;

use crate::error::PackError;
use crate::expert::{Entry, ExpertTable, Limit};
use crate::source::{PackLimits, read_text};
use crate::system::System;
use crate::table::Table;

const COLUMNS: [&str; 6] =
    ["MCE_Version", "ICD_Version", "MCE_Edit_Type", "ICD_Code_Type", "ICD_Code", "ICD_Desc"];
const HELP: &str = "expected a list of simple code edits of the Medicare Code Editor";

/// The ages that the editor allows, as its manual words them.
fn limit(edit: &str) -> Option<Limit> {
    Some(match edit {
        "Female_Only" => Limit::Female,
        "Male_Only" => Limit::Male,
        "Newborn_Only" => Limit::Ages { from: 0, to: 0 },
        "Pediatric_Only" => Limit::Ages { from: 0, to: 17 },
        "Maternity_Only" => Limit::Ages { from: 12, to: 55 },
        "Adult_Only" => Limit::Ages { from: 15, to: 124 },
        _ => return None,
    })
}

/// Reads the editor's simple code edits, versions 26 to 37: tab-separated, gzip or plain. Edits that
/// are about billing are passed over.
///
/// ```
/// use consequence_packs::{Limit, PackLimits, mce};
///
/// let text = "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n\
///             32\t9\tMale_Only\tD\t185\tMalign neopl prostate\n";
/// let table = mce::read("edits.txt", text.as_bytes(), &PackLimits::default())?;
/// assert_eq!(table.entries()[0].limit, Limit::Male);
/// # Ok::<(), consequence_packs::PackError>(())
/// ```
pub fn read(file: &str, input: impl Read, limits: &PackLimits) -> Result<ExpertTable, PackError> {
    let text = read_text(file, input, limits)?;
    let table = Table::read(file, &text, &COLUMNS, HELP)?;
    let mut entries = Vec::new();
    let mut version = String::new();
    for (line, cells) in &table.rows {
        let [editor, icd, edit, kind, code, title] = cells.as_slice() else { continue };
        let system = match (icd.as_str(), kind.as_str()) {
            ("9", "D") => System::Icd9,
            ("9", "P") => System::Icd9Procedure,
            ("10", "D") => System::Icd10,
            ("10", "P") => System::Icd10Procedure,
            ("9" | "10", kind) => return Err(table.fault(*line, 3, kind, "`D` or `P`")),
            (icd, _) => return Err(table.fault(*line, 1, icd, "`9` or `10`")),
        };
        if code.is_empty() {
            return Err(table.fault(*line, 4, code, "a code"));
        }
        if version.is_empty() {
            version.clone_from(editor);
        }
        if let Some(limit) = limit(edit) {
            let code = system.plain(code);
            entries.push(Entry { system, code, title: title.clone(), limit });
        }
    }
    let about = format!("CMS Medicare Code Editor, version {version}");
    Ok(ExpertTable { file: table.file, about, entries, complete: None })
}
