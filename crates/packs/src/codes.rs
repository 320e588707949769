//! Systems of codes, lists of their codes, and the age bands that static codes name.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use crate::error::PackError;
use crate::table::{PackLimits, Table, read_text};
use crate::tabular;

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
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Icd9,
        Self::Icd9Procedure,
        Self::Icd10,
        Self::Icd10Procedure,
        Self::Phecode,
        Self::Omop,
    ];

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

    /// Whether a plain code could be one of this system, by its letters and digits alone.
    pub(crate) fn shapes(self, code: &str) -> bool {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let signs = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let length = code.len();
        match (self, code.as_bytes()) {
            (Self::Icd9, [b'V', ..]) => (3..=5).contains(&length) && digits(&code[1..]),
            (Self::Icd9, [b'E', ..]) => (4..=5).contains(&length) && digits(&code[1..]),
            (Self::Icd9, _) => (3..=5).contains(&length) && digits(code),
            (Self::Icd9Procedure, _) => (2..=4).contains(&length) && digits(code),
            (Self::Icd10, [first, second, third, ..]) => {
                let digit = second.is_ascii_digit() || third.is_ascii_digit();
                (3..=7).contains(&length) && first.is_ascii_uppercase() && digit && signs(code)
            }
            (Self::Icd10, _) => false,
            (Self::Icd10Procedure, _) => length == 7 && signs(code),
            (Self::Phecode, _) => {
                let (whole, part) = code.split_once('.').unwrap_or((code, ""));
                (1..=3).contains(&whole.len()) && digits(whole) && digits(part)
            }
            (Self::Omop, _) => (1..=10).contains(&length) && digits(code),
        }
    }
}

/// Ages in years, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub from: u16,
    pub to: u16,
}

/// The band that a name states: `20-40`, `[20-40)`, `80+`, `<18`, `>=65`. A band that ends where
/// the next begins is read with its end included, so that no age it may hold is overlooked.
pub(crate) fn band(name: &str) -> Option<Band> {
    let name = name.trim().trim_matches(['[', '(', ')', ']']);
    let age = |text: &str| text.trim().parse::<u16>().ok();
    if let Some(from) = name.strip_suffix('+').or_else(|| name.strip_prefix(">=")).and_then(age) {
        return Some(Band { from, to: u16::MAX });
    }
    if let Some(from) = name.strip_prefix('>').and_then(age) {
        return Some(Band { from, to: u16::MAX });
    }
    if let Some(to) = name.strip_prefix("<=").or_else(|| name.strip_prefix('<')).and_then(age) {
        return Some(Band { from: 0, to });
    }
    let (from, to) = name.split_once('-')?;
    let band = Band { from: age(from)?, to: age(to)? };
    (band.from <= band.to).then_some(band)
}

impl Band {
    /// Whether nobody of this band can be of these ages, now or up to `later` years later.
    pub fn excludes(self, from: u16, to: u16, later: u16) -> bool {
        self.from > to || self.to.saturating_add(later) < from
    }
}

const HELP: &str =
    "expected a list of codes such as icd9dx2015.csv, or a table that lists all of them";

/// All codes of a system with their titles.
#[derive(Clone, Debug)]
pub struct CodeList {
    pub(crate) system: System,
    pub(crate) titles: BTreeMap<String, String>,
}

impl CodeList {
    /// Reads the list of ICD-9-CM diagnoses (`dgns_cd`, `longdesc`), a phecode map, a table of
    /// chronic condition indicators or the tabular list of ICD-10-CM as XML, each of which lists all
    /// codes of its system; gzip or plain.
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
        if text.trim_start().starts_with('<') {
            return tabular::code_list(file, &text, limits);
        }
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

    /// The system of the codes.
    pub fn system(&self) -> System {
        self.system
    }

    /// Whether a plain code, or a category of codes, is in the list.
    pub(crate) fn lists(&self, code: &str) -> bool {
        // The codes below a category come right after it.
        self.titles
            .range(code.to_owned()..)
            .next()
            .is_some_and(|(next, _)| next == code || (self.system.category(next) == Some(code)))
    }

    /// The title of a code of a vocabulary, with or without a dot.
    pub fn title(&self, name: &str) -> Option<&str> {
        let code = name.strip_prefix(self.system.prefix())?;
        self.titles.get(&self.system.plain(code)).map(String::as_str)
    }

    /// The title of a code of a vocabulary or, of a category that the list does not have itself, what
    /// the titles of the codes in it share: a few words in a row, or else the first of them and how
    /// many others there are.
    ///
    /// ```
    /// use consequence_packs::{CodeList, PackLimits};
    ///
    /// let text = "dgns_cd,longdesc\n4010,Malignant essential hypertension\n4011,Benign essential hypertension\n";
    /// let list = CodeList::read("codes.csv", text.as_bytes(), &PackLimits::default())?;
    /// assert_eq!(list.any_title("ICD9CM//4010").as_deref(), Some("Malignant essential hypertension"));
    /// assert_eq!(list.any_title("ICD9CM//401").as_deref(), Some("Essential hypertension"));
    /// assert_eq!(list.any_title("ICD9CM//402"), None);
    /// # Ok::<(), consequence_packs::PackError>(())
    /// ```
    pub fn any_title(&self, name: &str) -> Option<String> {
        if let Some(title) = self.title(name) {
            return Some(title.to_owned());
        }
        let code = self.system.plain(name.strip_prefix(self.system.prefix())?);
        if self.system.category(&code) != Some(&code) {
            return None;
        }
        let below =
            self.titles.range(code.clone()..).take_while(|(next, _)| next.starts_with(&code));
        let titles: Vec<&str> = below.map(|(_, title)| title.as_str()).collect();
        let (first, others) = titles.split_first()?;
        match (shared_words(first, others), others.len()) {
            (Some(words), _) => Some(words),
            (None, 1) => Some(format!("{first}, and 1 other")),
            (None, others) => Some(format!("{first}, and {others} others")),
        }
    }

    /// All codes and their categories, as a vocabulary has them, with their titles.
    ///
    /// ```
    /// use consequence_packs::{CodeList, PackLimits};
    ///
    /// let text = "dgns_cd,longdesc\n4010,Malignant hypertension\n4011,Benign hypertension\n";
    /// let list = CodeList::read("codes.csv", text.as_bytes(), &PackLimits::default())?;
    /// let names: Vec<String> = list.named().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["ICD9CM//401", "ICD9CM//4010", "ICD9CM//4011"]);
    /// # Ok::<(), consequence_packs::PackError>(())
    /// ```
    pub fn named(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let categories = self.titles.keys().filter_map(|code| self.system.category(code));
        let codes = self.titles.keys().map(String::as_str).chain(categories);
        codes.collect::<BTreeSet<&str>>().into_iter().filter_map(|code| {
            let name = format!("{}{code}", self.system.prefix());
            let title = self.any_title(&name)?;
            Some((name, title))
        })
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

/// Words that say little at the beginning or the end of a title, and words that say little alone.
const FILLING: [&str; 16] = [
    "a",
    "and",
    "by",
    "due",
    "for",
    "in",
    "not",
    "of",
    "on",
    "or",
    "other",
    "specified",
    "the",
    "to",
    "unspecified",
    "with",
];
const VAGUE: [&str; 12] = [
    "acute",
    "benign",
    "chronic",
    "complications",
    "disease",
    "diseases",
    "disorder",
    "disorders",
    "injury",
    "malignant",
    "stage",
    "type",
];

/// What titles share: the words that all of them begin and end with, or else the most words in a row
/// that all have; none where that is nothing that says something.
fn shared_words(first: &str, others: &[&str]) -> Option<String> {
    let plain =
        |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let words = |title: &str| -> Vec<String> {
        title.split_whitespace().map(plain).filter(|word| !word.is_empty()).collect()
    };
    let others: Vec<Vec<String>> = others.iter().map(|title| words(title)).collect();
    let own = words(first);
    let shared = |from_end: bool| {
        let word = |title: &[String], at: usize| {
            let at = if from_end { title.len().checked_sub(at + 1)? } else { at };
            title.get(at).cloned()
        };
        let everywhere = |&at: &usize| others.iter().all(|title| word(title, at) == word(&own, at));
        (0..own.len()).take_while(everywhere).count()
    };
    let (start, end) = (shared(false), shared(true));
    let text = match start + end < own.len() {
        true => {
            let end = telling(&own[own.len() - end..]).filter(|end| end.contains(' '));
            let ends = [telling(&own[..start]), end];
            ends.into_iter().flatten().collect::<Vec<_>>().join(" ... ")
        }
        false => telling(&own).unwrap_or_default(),
    };
    let mut text = Some(text).filter(|text| !text.is_empty()).or_else(|| {
        let everywhere = |run: &&[String]| {
            others.iter().all(|title| title.windows(run.len()).any(|window| window == *run))
        };
        let lengths = (1..=own.len()).rev();
        lengths
            .into_iter()
            .find_map(|length| own.windows(length).filter(everywhere).find_map(telling))
    })?;
    if let Some(letter) = text.get_mut(..1) {
        letter.make_ascii_uppercase();
    }
    Some(text)
}

/// Words without those at their ends that say little; none where nothing is left.
fn telling(words: &[String]) -> Option<String> {
    let filling = |word: &&String| FILLING.contains(&word.as_str());
    let start = words.iter().take_while(filling).count();
    let end = words.len() - words.iter().rev().take_while(filling).count();
    let words = words.get(start..end)?;
    let vague = words.iter().all(|word| VAGUE.contains(&word.as_str()) || filling(&word));
    (!vague).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_titles_of_a_category_share() {
        let shared = |titles: &[&str]| shared_words(titles[0], &titles[1..]);
        for (titles, expected) in [
            (&["Diabetes mellitus, type I", "Diabetes with coma"][..], Some("Diabetes")),
            (&["Left heart failure", "Heart failure, unspecified"], Some("Heart failure")),
            (
                &[
                    "Malignant neoplasm of nipple of female breast",
                    "Malignant neoplasm of axillary tail of female breast",
                ],
                Some("Malignant neoplasm ... female breast"),
            ),
            (&["Gout"], Some("Gout")),
            (&["Coma", "Fever"], None),
            (&["Other coma", "Other fever"], None),
            (&["Chronic kidney disease", "End stage renal disease"], None),
            (
                &["Diabetes, type I, uncontrolled", "Diabetes with coma, uncontrolled"],
                Some("Diabetes"),
            ),
        ] {
            assert_eq!(shared(titles).as_deref(), expected, "{titles:?}");
        }
    }

    #[test]
    fn names_of_bands() {
        let shown = |name| band(name).map(|band| (band.from, band.to));
        assert_eq!(shown("20-40"), Some((20, 40)));
        assert_eq!(shown("[70-80)"), Some((70, 80)));
        assert_eq!(shown("80+"), Some((80, u16::MAX)));
        assert_eq!(shown(">=65"), Some((65, u16::MAX)));
        assert_eq!(shown("<18"), Some((0, 18)));
        for odd in ["", "old", "40-20", "-5", "99999-100000", "a-b"] {
            assert_eq!(shown(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_band_excludes_only_what_none_of_it_can_be() {
        let maternity = |name, later| band(name).unwrap().excludes(12, 55, later);
        assert!(maternity("60-80", 0) && maternity("60-80", 40), "nobody grows younger");
        assert!(!maternity("40-60", 0) && !maternity("55-60", 0));
        assert!(maternity("0-11", 0) && !maternity("0-11", 5));
        assert!(!maternity("0-12", 0));
    }
}
