//! How a vocabulary speaks of a system's codes: what stands before them, whether they are whole or
//! cut to categories, and whether they have their dots.

use std::collections::BTreeMap;
use std::fmt;

use consequence_record::{Kind, Vocabulary};

use crate::codes::System;
use crate::pack::Level;

/// How a vocabulary speaks of the codes of a system.
///
/// ```
/// use consequence_packs::{Dialect, Level, System};
/// use consequence_record::{Kind, Vocabulary};
///
/// let names = ["DIAGNOSIS//ICD//10//E11.9", "DIAGNOSIS//ICD//10//I10", "LAB//50912"];
/// let known = Vocabulary::new(names.map(|name| (name, Kind::Encounter))).unwrap();
/// let spoken = Dialect::spoken(&known);
/// assert_eq!((spoken.len(), spoken[0].system), (1, System::Icd10));
/// assert_eq!(spoken[0].prefix, "DIAGNOSIS//ICD//10//");
/// assert_eq!((spoken[0].level, spoken[0].dotted), (Level::Codes, true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The system.
    pub system: System,
    /// What stands before its codes.
    pub prefix: String,
    /// Whole codes, or categories.
    pub level: Level,
    /// Whether codes have their dots.
    pub dotted: bool,
    /// The codes of the vocabulary that are spoken of so.
    pub codes: usize,
    /// One of them, as the vocabulary has it.
    pub example: String,
}

impl fmt::Display for Dialect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Codes => "whole codes",
            Level::Categories => "categories",
        };
        let dots = if self.dotted { ", with dots" } else { "" };
        write!(out, "{} after `{}`, {level}{dots}", self.system.name(), self.prefix)
    }
}

/// What a prefix says by its words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    System(System),
    /// A system that no table is about.
    Other,
    /// Procedures, of a system that it does not name.
    Procedures,
    Nothing,
}

/// Words for codes that no table is about.
const OTHERS: [&str; 17] = [
    "AGE",
    "ATC",
    "CPT",
    "CPT4",
    "CVX",
    "DRG",
    "GAP",
    "HCPCS",
    "ICDO3",
    "LAB",
    "LOINC",
    "MEDICATION",
    "NDC",
    "RX",
    "RXNORM",
    "SEX",
    "SNOMED",
];

fn named(prefix: &str) -> Named {
    let upper = prefix.to_ascii_uppercase();
    let words: Vec<&str> = upper
        .split(|sign: char| !sign.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let joined = words.concat();
    let procedures = words.iter().any(|word| word.starts_with("PROC") || *word == "PX")
        || joined.ends_with("PROC")
        || joined.contains("PCS");
    let system = match () {
        () if joined.contains("ICD9") && procedures => System::Icd9Procedure,
        () if joined.contains("ICD10") && procedures => System::Icd10Procedure,
        () if joined.contains("ICD9") => System::Icd9,
        () if joined.contains("ICD10") => System::Icd10,
        () if joined.contains("PHECODE") => System::Phecode,
        () if words.iter().any(|word| matches!(*word, "OMOP" | "CONCEPT")) => System::Omop,
        () if words.iter().any(|word| OTHERS.contains(word)) => return Named::Other,
        () if procedures => return Named::Procedures,
        () => return Named::Nothing,
    };
    Named::System(system)
}

/// The codes behind each prefix that some code of the vocabulary could have.
pub(crate) struct Prefixes<'v>(BTreeMap<&'v str, Vec<&'v str>>);

impl<'v> Prefixes<'v> {
    /// All prefixes: nothing, and whatever ends in a sign that parts a system from its code.
    pub fn of(vocabulary: &'v Vocabulary) -> Self {
        let mut prefixes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for code in vocabulary.codes() {
            if vocabulary.kind(code) != Kind::Encounter || code == vocabulary.end() {
                continue;
            }
            let name = vocabulary.name(code);
            prefixes.entry("").or_default().push(name);
            for (index, _) in name.match_indices(['/', ':', '_', '|', '=']) {
                let (prefix, bare) = name.split_at(index + 1);
                // `A//` is one prefix and not two.
                if !bare.is_empty() && !bare.starts_with(['/', ':', '_', '|', '=']) {
                    prefixes.entry(prefix).or_default().push(bare);
                }
            }
        }
        Self(prefixes)
    }

    /// How the codes of a system are spoken of, if they are. `lists` says which plain codes are
    /// known to be of the system, and `all` whether those are all there are.
    pub fn dialect(
        &self,
        system: System,
        lists: &dyn Fn(&str) -> bool,
        all: bool,
    ) -> Option<Dialect> {
        let mut best: Option<((usize, usize, usize), &str)> = None;
        for (&prefix, bare) in &self.0 {
            let says = named(prefix);
            let unnamed = match system {
                System::Icd9 | System::Icd10 => Named::Nothing,
                System::Icd9Procedure | System::Icd10Procedure => Named::Procedures,
                System::Phecode | System::Omop => Named::Other,
            };
            let by_name = says == Named::System(system);
            if !by_name && (says != unnamed || unnamed == Named::Other) {
                continue;
            }
            let plain = bare.iter().map(|code| system.plain(code));
            let shaped: Vec<String> = plain.filter(|code| system.shapes(code)).collect();
            let listed = shaped.iter().filter(|code| lists(code)).count();
            let enough =
                if all { 2 * listed >= bare.len() } else { 2 * shaped.len() >= bare.len() };
            if shaped.is_empty() || !(by_name || enough && listed > 0) {
                continue;
            }
            let key = (listed, shaped.len(), prefix.len());
            if best.is_none_or(|(before, _)| key > before) {
                best = Some((key, prefix));
            }
        }
        self.spelt(system, best?.1)
    }

    /// How the codes of a system are spoken of that stand behind a prefix.
    pub fn spelt(&self, system: System, prefix: &str) -> Option<Dialect> {
        let mut longer = 0;
        let mut dialect: Option<Dialect> = None;
        for bare in self.behind(prefix) {
            let plain = system.plain(bare);
            if !system.shapes(&plain) {
                continue;
            }
            let dialect = dialect.get_or_insert_with(|| Dialect {
                system,
                prefix: prefix.to_owned(),
                level: Level::Codes,
                dotted: false,
                codes: 0,
                example: format!("{prefix}{bare}"),
            });
            dialect.codes += 1;
            dialect.dotted |= bare.contains('.') && plain.len() < bare.trim().len();
            longer += usize::from(system.category(&plain) != Some(plain.as_str()));
        }
        let mut dialect = dialect?;
        // A few codes that were not cut, or are no codes, do not make the others whole.
        if longer * 50 < dialect.codes {
            dialect.level = Level::Categories;
        }
        Some(dialect)
    }

    /// The codes behind a prefix.
    pub fn behind(&self, prefix: &str) -> Vec<&'v str> {
        match self.0.get(prefix) {
            Some(bare) => bare.clone(),
            // Whoever names a prefix may end it anywhere.
            None => self
                .0
                .get("")
                .into_iter()
                .flatten()
                .filter_map(|name| name.strip_prefix(prefix))
                .collect(),
        }
    }
}

impl Dialect {
    /// The systems that a vocabulary speaks of, by the names of its codes alone, with those of the
    /// most codes first.
    pub fn spoken(vocabulary: &Vocabulary) -> Vec<Self> {
        let prefixes = Prefixes::of(vocabulary);
        let dialect = |system| prefixes.dialect(system, &|code| proper(system, code), true);
        let mut spoken: Vec<Self> = System::ALL.into_iter().filter_map(dialect).collect();
        spoken.sort_by_key(|dialect| std::cmp::Reverse(dialect.codes));
        spoken
    }
}

/// Whether a code of this form is of this version and not of the other: `E880` could be of either.
fn proper(system: System, code: &str) -> bool {
    match system {
        System::Icd9 => !System::Icd10.shapes(code),
        System::Icd10 => !System::Icd9.shapes(code),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(names: &[&str]) -> Vocabulary {
        Vocabulary::new(names.iter().map(|name| (*name, Kind::Encounter))).unwrap()
    }

    fn spoken(names: &[&str]) -> Vec<String> {
        Dialect::spoken(&vocabulary(names)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn prefixes_of_importers_and_of_others() {
        assert_eq!(spoken(&["ICD9CM//4019", "ICD9CM//E8801", "ICD9PROC//3722"]), {
            [
                "ICD-9-CM after `ICD9CM//`, whole codes",
                "ICD-9-CM procedure after `ICD9PROC//`, whole codes",
            ]
        });
        assert_eq!(spoken(&["DIAGNOSIS//ICD//9//401", "PROCEDURE//ICD//9//37.22"]), {
            [
                "ICD-9-CM after `DIAGNOSIS//ICD//9//`, categories",
                "ICD-9-CM procedure after `PROCEDURE//ICD//9//`, whole codes, with dots",
            ]
        });
        assert_eq!(spoken(&["ICD10CM/E11.9", "SNOMED/44054006"]), {
            ["ICD-10-CM after `ICD10CM/`, whole codes, with dots"]
        });
        assert_eq!(spoken(&["DX:25000", "DX:V270", "RX//250"]), {
            ["ICD-9-CM after `DX:`, whole codes"]
        });
        assert_eq!(spoken(&["250", "401", "E880", "GAP//0-7d"]), ["ICD-9-CM after ``, categories"]);
        assert_eq!(spoken(&["CVX//140", "RXNORM//313782", "CPT4//99213", "flu"]), [""; 0]);
        assert_eq!(spoken(&["OMOP//201826", "PHECODE//250.2"]), {
            ["phecode after `PHECODE//`, whole codes", "OMOP concept after `OMOP//`, whole codes"]
        });
    }

    #[test]
    fn the_list_of_codes_tells_versions_apart() {
        let known = vocabulary(&["DX//V01", "DX//E880", "DX//E881"]);
        let prefixes = Prefixes::of(&known);
        let nine = |code: &str| ["V01", "E880", "E881"].contains(&code);
        assert!(prefixes.dialect(System::Icd9, &nine, true).is_some());
        assert!(prefixes.dialect(System::Icd10, &|code| code == "E881", true).is_none());
        // A name of the other version is never passed over.
        let known = vocabulary(&["ICD10CM//V01"]);
        assert!(Prefixes::of(&known).dialect(System::Icd9, &nine, true).is_none());
    }

    #[test]
    fn a_few_whole_codes_do_not_make_the_others_whole() {
        let mut names: Vec<String> = (100..300).map(|code| format!("ICD9CM//{code}")).collect();
        names.push("ICD9CM//25001".to_owned());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(Dialect::spoken(&vocabulary(&names))[0].level, Level::Categories);
    }
}
