//! Editions of a classification: an encounter is coded in one, and which one is a code of its own.

/// What the names of codes begin with that tell in which edition of a classification an encounter is coded:
/// `EDITION//ICD9`.
pub const EDITION_PREFIX: &str = "EDITION//";

/// The edition of the International Classification of Diseases that a code is of, diagnoses and procedures alike.
///
/// ```
/// use consequence_record::edition;
///
/// assert_eq!(["ICD9CM//250", "ICD9PROC//3893", "icd10cm//E119"].map(edition), [Some(9), Some(9), Some(10)]);
/// assert_eq!(["ICD//250", "RX//insulin", "ICD10"].map(edition), [None; 3]);
/// ```
pub fn edition(name: &str) -> Option<u32> {
    let (system, _) = name.split_once("//")?;
    let start = system.get(..3).filter(|start| start.eq_ignore_ascii_case("ICD"))?;
    let rest = &system[start.len()..];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}
