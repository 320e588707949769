//! Lists of all codes of a system, which categories and titles are taken from.

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::PackError;
use crate::source::{PackLimits, read_text};
use crate::system::System;
use crate::table::Table;

const HELP: &str =
    "expected a list of codes such as icd9dx2015.csv, or a table that lists all of them";

/// All codes of a system with their titles.
#[derive(Clone, Debug)]
pub struct CodeList {
    pub(crate) system: System,
    pub(crate) titles: BTreeMap<String, String>,
}

impl CodeList {
    /// Reads the list of ICD-9-CM diagnoses (`dgns_cd`, `longdesc`), a phecode map, or a table of
    /// chronic condition indicators, each of which lists all codes of its system; gzip or plain.
    ///
    /// ```
    /// use consequence_packs::{CodeList, PackLimits};
    ///
    /// let text = "dgns_cd,longdesc\n4010,Malignant essential hypertension\n";
    /// let list = CodeList::read("codes.csv", text.as_bytes(), &PackLimits::default())?;
    /// assert_eq!(list.title("ICD9CM//401.0"), Some("Malignant essential hypertension"));
    /// assert_eq!(list.title("ICD9CM//999"), None);
    /// # Ok::<(), consequence_packs::PackError>(())
    /// ```
    pub fn read(file: &str, input: impl Read, limits: &PackLimits) -> Result<Self, PackError> {
        const KNOWN: [(System, [&str; 2]); 5] = [
            (System::Icd9, ["dgns_cd", "longdesc"]),
            (System::Icd9, ["ICD9", "ICD9 String"]),
            (System::Icd9, ["ICD-9-CM CODE", "ICD-9-CM CODE DESCRIPTION"]),
            (System::Icd10, ["ICD10", "ICD10 String"]),
            (System::Icd10, ["ICD-10-CM CODE", "ICD-10-CM CODE DESCRIPTION"]),
        ];
        let text = read_text(file, input, limits)?;
        let mut unknown = None;
        for (system, columns) in KNOWN {
            match Table::read(file, &text, &columns, HELP) {
                Ok(table) => return Ok(Self::of(system, table)),
                Err(fault @ PackError::MissingColumn { .. }) => {
                    unknown.get_or_insert(fault);
                }
                Err(fault) => return Err(fault),
            }
        }
        Err(unknown.unwrap_or(PackError::Empty { file: file.to_owned() }))
    }

    fn of(system: System, table: Table) -> Self {
        let mut titles = BTreeMap::new();
        for (_, cells) in table.rows {
            let [code, title] = <[String; 2]>::try_from(cells).unwrap_or_default();
            let plain = system.plain(&code);
            if !plain.is_empty() {
                titles.entry(plain).or_insert(title);
            }
        }
        Self { system, titles }
    }

    /// The title of a code of a vocabulary, with or without a dot.
    pub fn title(&self, name: &str) -> Option<&str> {
        let code = name.strip_prefix(self.system.prefix())?;
        self.titles.get(&self.system.plain(code)).map(String::as_str)
    }

    /// The number of codes.
    pub fn len(&self) -> usize {
        self.titles.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.titles.is_empty()
    }
}
