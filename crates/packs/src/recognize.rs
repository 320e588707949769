//! Which table a file is, by what is in it.

use std::io::{self, BufRead, BufReader, Read};

use flate2::read::MultiGzDecoder;

use crate::table::has_columns;

/// The bytes by which a file is known.
const BEGINNING: u64 = 1 << 16;

/// The tables that can be told from each other by their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableKind {
    /// Simple code edits of the Medicare Code Editor.
    Mce,
    /// Concept level checks of the Data Quality Dashboard.
    Dqd,
    /// A phecode map.
    Phecode,
    /// Chronic condition indicators.
    Cci,
    /// The tabular list of ICD-10-CM.
    Icd10,
    /// A list of codes with titles, and no more.
    CodeList,
    /// Which concepts are below which.
    Ancestors,
}

impl TableKind {
    /// What a text is, if it is one of these tables: by its first lines alone, so that a damaged
    /// table is still known for what it is.
    ///
    /// ```
    /// use consequence_packs::TableKind;
    ///
    /// let text = "dgns_cd,longdesc\n4010,Malignant essential hypertension\n";
    /// assert_eq!(TableKind::of(text), Some(TableKind::CodeList));
    /// assert_eq!(TableKind::of("# Notes\n"), None);
    /// ```
    pub fn of(text: &str) -> Option<Self> {
        const COLUMNS: [(TableKind, &[&str]); 8] = [
            (TableKind::Mce, &["MCE_Version", "MCE_Edit_Type", "ICD_Code"]),
            (TableKind::Dqd, &["conceptId", "plausibleGender"]),
            (TableKind::Phecode, &["ICD9", "PheCode"]),
            (TableKind::Phecode, &["ICD10", "PheCode"]),
            (TableKind::Cci, &["ICD-9-CM CODE", "CATEGORY DESCRIPTION"]),
            (TableKind::Cci, &["ICD-10-CM CODE", "CHRONIC INDICATOR"]),
            (TableKind::CodeList, &["dgns_cd", "longdesc"]),
            (TableKind::Ancestors, &["ancestor_concept_id", "descendant_concept_id"]),
        ];
        let start = text.trim_start();
        if start.starts_with('<') {
            // The outermost element comes after a declaration, and comments if there are any.
            let named = start.split('<').take(8).any(|tag| tag.starts_with("ICD10CM.tabular"));
            return named.then_some(Self::Icd10);
        }
        let known = COLUMNS.iter().find(|(_, columns)| has_columns(text, columns));
        known.map(|&(kind, _)| kind)
    }

    /// What a file is, by its beginning, plain or gzip.
    ///
    /// # Errors
    /// If not even the beginning can be read or unpacked.
    pub fn of_file(input: impl Read) -> io::Result<Option<Self>> {
        let mut input = BufReader::new(input);
        let mut bytes = Vec::new();
        if input.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
            let mut unpacked = MultiGzDecoder::new(input).take(BEGINNING);
            // What stops short is known by what there is of it.
            match unpacked.read_to_end(&mut bytes) {
                Err(cause) if bytes.is_empty() => return Err(cause),
                _ => {}
            }
        } else {
            input.take(BEGINNING).read_to_end(&mut bytes)?;
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok(Self::of(text.trim_start_matches('\u{feff}')))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mce => "Medicare Code Editor",
            Self::Dqd => "Data Quality Dashboard",
            Self::Phecode => "phecode map",
            Self::Cci => "chronic condition indicators",
            Self::Icd10 => "ICD-10-CM tabular list",
            Self::CodeList => "list of codes",
            Self::Ancestors => "concepts below others",
        }
    }
}
