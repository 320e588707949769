//! Phecode maps: phenotypes that only one sex has.

use std::collections::BTreeMap;
use std::io::Read;

use crate::codes::CodeList;
use crate::error::PackError;
use crate::expert::{Entry, ExpertTable, Limit};
use crate::source::{PackLimits, read_text};
use crate::system::System;
use crate::table::Table;

const HELP: &str = "expected a phecode map, version 1.2, for ICD-9 or ICD-10";

/// What the rules of a phecode map are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Over {
    /// The ICD codes that are mapped.
    #[default]
    Icd,
    /// The phecodes they are mapped to, for cohorts that were mapped.
    Phecodes,
}

/// Reads a phecode map of ICD-9 or ICD-10 codes, version 1.2; gzip or plain.
///
/// ```
/// use consequence_packs::{PackLimits, phecode};
///
/// let text = "ICD9,ICD9 String,PheCode,Phenotype,sex\n185,Malignant neoplasm of prostate,185,Cancer of prostate,Male\n";
/// let table = phecode::read("map.csv", text.as_bytes(), phecode::Over::Icd, &PackLimits::default())?;
/// assert_eq!(table.entries().len(), 1);
/// # Ok::<(), consequence_packs::PackError>(())
/// ```
pub fn read(
    file: &str,
    input: impl Read,
    over: Over,
    limits: &PackLimits,
) -> Result<ExpertTable, PackError> {
    let text = read_text(file, input, limits)?;
    let nine = ["ICD9", "ICD9 String", "PheCode", "Phenotype", "sex"];
    let ten = ["ICD10", "ICD10 String", "PheCode", "Phenotype", "sex"];
    let (system, table) = match Table::read(file, &text, &nine, HELP) {
        Err(PackError::MissingColumn { .. })
            if text.get(..200).unwrap_or(&text).contains("ICD10") =>
        {
            (System::Icd10, Table::read(file, &text, &ten, HELP)?)
        }
        outcome => (System::Icd9, outcome?),
    };
    let target = if over == Over::Icd { system } else { System::Phecode };
    // A code is limited to a sex only where all its lines are: an ICD code may map to several
    // phenotypes, and many codes map to one phenotype.
    let mut limits_of: BTreeMap<String, (String, Vec<Option<Limit>>)> = BTreeMap::new();
    for (line, cells) in &table.rows {
        let [icd, icd_title, phecode, phenotype, sex] = cells.as_slice() else { continue };
        let limit = match sex.as_str() {
            "" | "Both" => None,
            "Female" => Some(Limit::Female),
            "Male" => Some(Limit::Male),
            other => {
                return Err(table.fault(*line, 4, other, "`Female`, `Male`, `Both` or nothing"));
            }
        };
        let (code, title) = match over {
            Over::Icd => (icd, icd_title),
            Over::Phecodes => (phecode, phenotype),
        };
        if !code.is_empty() {
            let of_code = limits_of.entry(target.plain(code));
            of_code.or_insert_with(|| (title.clone(), Vec::new())).1.push(limit);
        }
    }
    let mut entries = Vec::new();
    for (code, (title, limits)) in &limits_of {
        if let Some(&Some(limit)) = limits.first()
            && limits.iter().all(|&other| other == Some(limit))
        {
            let (code, title) = (code.clone(), title.clone());
            entries.push(Entry { system: target, code, title, limit });
        }
    }
    let titles = limits_of.into_iter().map(|(code, (title, _))| (code, title)).collect();
    let complete = CodeList { system: target, titles };
    let about = format!("phecode map 1.2 for {}, sex of phenotypes", system.name());
    Ok(ExpertTable { file: table.file, about, entries, complete: Some(complete) })
}
