//! The OHDSI Data Quality Dashboard: concepts that are plausible for one sex only.

use std::io::Read;

use crate::error::PackError;
use crate::expert::{Entry, ExpertTable, Limit};
use crate::source::{PackLimits, read_text};
use crate::system::System;
use crate::table::Table;

const COLUMNS: [&str; 4] =
    ["conceptId", "conceptName", "plausibleGender", "plausibleGenderUseDescendants"];
const HELP: &str = "expected the concept level checks of the Data Quality Dashboard";

/// Reads the dashboard's concept level checks; gzip or plain. Where a check is meant for a concept
/// and all below it, the rule is for the concept itself: the table does not say what is below.
///
/// ```
/// use consequence_packs::{PackLimits, dqd};
///
/// let text = "conceptId,conceptName,plausibleGender,plausibleGenderUseDescendants\n\
///             26662,Testicular hypofunction,Male,\n";
/// let table = dqd::read("checks.csv", text.as_bytes(), &PackLimits::default())?;
/// assert_eq!(table.entries()[0].code, "26662");
/// # Ok::<(), consequence_packs::PackError>(())
/// ```
pub fn read(file: &str, input: impl Read, limits: &PackLimits) -> Result<ExpertTable, PackError> {
    let text = read_text(file, input, limits)?;
    let table = Table::read(file, &text, &COLUMNS, HELP)?;
    let mut entries: Vec<Entry> = Vec::new();
    for (line, cells) in &table.rows {
        let [concept, title, own, below] = cells.as_slice() else { continue };
        let (column, sex) = if own.is_empty() { (3, below) } else { (2, own) };
        let limit = match sex.as_str() {
            "" => continue,
            "Female" => Limit::Female,
            "Male" => Limit::Male,
            other => return Err(table.fault(*line, column, other, "`Female`, `Male` or nothing")),
        };
        // A check may be for several concepts at once, with the names of all of them.
        let concepts: Vec<&str> = concept.split(',').map(str::trim).collect();
        let names: Vec<&str> = title.split(',').map(str::trim).collect();
        for (index, &concept) in concepts.iter().enumerate() {
            if concept.is_empty() || !concept.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(table.fault(*line, 0, concept, "the number of a concept"));
            }
            let own = if names.len() == concepts.len() { names[index] } else { title };
            let (code, title) = (concept.to_owned(), own.to_owned());
            entries.push(Entry { system: System::Omop, code, title, limit });
        }
    }
    let about = "OHDSI Data Quality Dashboard, plausible gender of concepts".to_owned();
    Ok(ExpertTable { file: table.file, about, entries, complete: None })
}
