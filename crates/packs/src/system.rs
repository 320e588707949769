//! Systems of codes: how their codes are written and cut to categories.

/// A system of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum System {
    /// ICD-9-CM diagnoses.
    Icd9,
    /// ICD-9-CM procedures.
    Icd9Procedure,
    /// ICD-10-CM diagnoses.
    Icd10,
    /// ICD-10-PCS procedures.
    Icd10Procedure,
    /// Phecodes.
    Phecode,
    /// OMOP concepts, by number.
    Omop,
}

impl System {
    /// What stands before a code of this system in a vocabulary, unless told otherwise.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Icd9 => "ICD9CM//",
            Self::Icd9Procedure => "ICD9PROC//",
            Self::Icd10 => "ICD10CM//",
            Self::Icd10Procedure => "ICD10PCS//",
            Self::Phecode => "PHECODE//",
            Self::Omop => "OMOP//",
        }
    }

    /// The system's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Icd9 => "ICD-9-CM",
            Self::Icd9Procedure => "ICD-9-CM procedure",
            Self::Icd10 => "ICD-10-CM",
            Self::Icd10Procedure => "ICD-10-PCS",
            Self::Phecode => "phecode",
            Self::Omop => "OMOP concept",
        }
    }

    /// A code as it is compared: in capitals, and without a dot where the dot says nothing.
    ///
    /// ```
    /// use consequence_packs::System;
    ///
    /// assert_eq!(System::Icd9.plain(" e880.1 "), "E8801");
    /// assert_eq!(System::Phecode.plain("250.1"), "250.1");
    /// ```
    pub fn plain(self, code: &str) -> String {
        let dots = matches!(self, Self::Phecode | Self::Omop);
        let kept = code.trim().chars().filter(|&character| dots || character != '.');
        kept.map(|character| character.to_ascii_uppercase()).collect()
    }

    /// The category of a plain code: three characters, four for external causes of ICD-9. None
    /// where the system has no categories of this kind.
    ///
    /// ```
    /// use consequence_packs::System;
    ///
    /// assert_eq!(System::Icd9.category("25001"), Some("250"));
    /// assert_eq!(System::Icd9.category("E8801"), Some("E880"));
    /// assert_eq!(System::Omop.category("201826"), None);
    /// ```
    pub fn category(self, code: &str) -> Option<&str> {
        let length = match self {
            Self::Icd9 if code.starts_with('E') => 4,
            Self::Icd9 | Self::Icd10 => 3,
            _ => return None,
        };
        code.get(..length)
    }
}
