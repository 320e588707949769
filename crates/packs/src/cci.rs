//! The HCUP chronic condition indicator: diagnoses that stay.

use std::collections::BTreeMap;
use std::io::Read;

use crate::codes::CodeList;
use crate::error::PackError;
use crate::expert::{Entry, ExpertTable, Limit};
use crate::source::{PackLimits, read_text};
use crate::system::System;
use crate::table::Table;

const HELP: &str = "expected a table of HCUP chronic condition indicators (CCI or CCIR)";

/// Reads the chronic condition indicator for ICD-9, or the refined one for ICD-10; gzip or plain.
///
/// ```
/// use consequence_packs::{PackLimits, cci};
///
/// let text = "'ICD-9-CM CODE','ICD-9-CM CODE DESCRIPTION','CATEGORY DESCRIPTION'\n'4019 ',\"HYPERTENSION NOS\",'1'\n";
/// let table = cci::read("cci.csv", text.as_bytes(), &PackLimits::default())?;
/// assert_eq!(table.entries()[0].code, "4019");
/// # Ok::<(), consequence_packs::PackError>(())
/// ```
pub fn read(file: &str, input: impl Read, limits: &PackLimits) -> Result<ExpertTable, PackError> {
    let text = read_text(file, input, limits)?;
    let nine = ["ICD-9-CM CODE", "ICD-9-CM CODE DESCRIPTION", "CATEGORY DESCRIPTION"];
    let ten = ["ICD-10-CM CODE", "ICD-10-CM CODE DESCRIPTION", "CHRONIC INDICATOR"];
    let (system, table) = match Table::read(file, &text, &nine, HELP) {
        Err(PackError::MissingColumn { .. })
            if text.get(..400).unwrap_or(&text).contains("ICD-10") =>
        {
            (System::Icd10, Table::read(file, &text, &ten, HELP)?)
        }
        outcome => (System::Icd9, outcome?),
    };
    let (mut entries, mut titles) = (Vec::new(), BTreeMap::new());
    for (line, cells) in &table.rows {
        let [code, title, chronic] = cells.as_slice() else { continue };
        let chronic = match chronic.as_str() {
            "1" => true,
            "0" | "9" => false,
            other => return Err(table.fault(*line, 2, other, "`0`, `1` or `9`")),
        };
        let code = system.plain(code);
        if code.is_empty() {
            return Err(table.fault(*line, 0, &code, "a code"));
        }
        if chronic {
            let (code, title) = (code.clone(), title.clone());
            entries.push(Entry { system, code, title, limit: Limit::Chronic });
        }
        titles.insert(code, title.clone());
    }
    let about = match system {
        System::Icd10 => "HCUP chronic condition indicator refined, ICD-10-CM",
        _ => "HCUP chronic condition indicator, ICD-9-CM",
    };
    let complete = CodeList { system, titles };
    Ok(ExpertTable { file: table.file, about: about.to_owned(), entries, complete: Some(complete) })
}
