//! Editions of a classification: an encounter is coded in one, and which one is a code of its own.

/// What the names of codes begin with that tell in which edition of a classification an encounter is coded:
/// `EDITION//ICD9`.
pub const EDITION_PREFIX: &str = "EDITION//";

/// The edition of the International Classification of Diseases that a code is of, diagnoses and procedures alike, and what
/// the names of all its codes of that kind begin with.
///
/// ```
/// use consequence_record::edition;
///
/// assert_eq!(edition("ICD9CM//250"), Some((9, "ICD9CM")));
/// assert_eq!(edition("icd10pcs//0DB"), Some((10, "icd10pcs")));
/// assert_eq!(edition("DIAGNOSIS//ICD//9//4019"), Some((9, "DIAGNOSIS//ICD//9")));
/// assert_eq!(["ICD//250", "RX//insulin", "ICD10", "ICDX//9//1"].map(edition), [None; 4]);
/// ```
pub fn edition(name: &str) -> Option<(u32, &str)> {
    let mut end = 0;
    let mut parts = name.split("//").map(|part| {
        end += part.len();
        let whole = end;
        end += 2;
        (part, whole)
    });
    let is_icd = |part: &str| part.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("ICD"));
    let (part, whole) = parts.find(|&(part, _)| is_icd(part))?;
    let (told, whole) = if part.len() == 3 { parts.next()? } else { (&part[3..], whole) };
    let digits = told.bytes().take_while(u8::is_ascii_digit).count();
    let number = told[..digits].parse().ok()?;
    (whole < name.len()).then_some((number, &name[..whole]))
}
