//! What codes mean, as far as the cohort, the user's tables or the codes themselves tell.

use std::collections::BTreeMap;
use std::path::PathBuf;

use consequence_pipeline::Error;
use consequence_record::{AgeBand, Code, DayBand, EDITION_PREFIX, END_NAME, Part, Vocabulary};

use super::TitleList;

/// The titles of a cohort's codes.
///
/// A title is that of the cohort, where it has one; else that of the first table that lists the code,
/// or a category of it; else what the name itself says.
///
/// ```
/// use std::collections::BTreeMap;
/// use consequence::{Kind, Titles, Vocabulary};
///
/// let names = ["ICD9CM//250", "GAP//7-14d", "LOCAL//17"];
/// let vocabulary = Vocabulary::new(names.map(|name| (name, Kind::Encounter)))?;
/// let diabetes = vocabulary.code("ICD9CM//250").unwrap();
/// let known = BTreeMap::from([(diabetes, "Diabetes mellitus".to_owned())]);
/// let titles = Titles::new(&vocabulary, &known, &[])?;
/// assert_eq!(titles.of(diabetes), Some("Diabetes mellitus"));
/// assert_eq!(titles.named("GAP//7-14d"), Some("7 to 13 days since the encounter before"));
/// assert_eq!(titles.named("LOCAL//17"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Titles {
    by_code: BTreeMap<Code, String>,
    by_name: BTreeMap<String, Code>,
}

impl Titles {
    /// Of the codes of a vocabulary: their titles where they are known, and files that list others.
    pub fn new(
        vocabulary: &Vocabulary,
        known: &BTreeMap<Code, String>,
        files: &[PathBuf],
    ) -> Result<Self, Error> {
        let mut lists = Vec::new();
        for file in files {
            lists.push(TitleList::read(file)?);
        }
        let listed = |name: &str| lists.iter().find_map(|list| list.any_title(name));
        let mut titles = Self::default();
        for code in vocabulary.codes() {
            let name = vocabulary.name(code);
            let title = match known.get(&code).filter(|title| !title.is_empty()) {
                Some(title) => Some(title.clone()),
                None => listed(name).or_else(|| said(name)).or_else(|| {
                    let test = (vocabulary.part(code) == Part::Values)
                        .then(|| name.rsplit_once("//"))
                        .flatten();
                    test.and_then(|(test, part)| Some(format!("{}, {part}", listed(test)?)))
                }),
            };
            if let Some(title) = title {
                titles.by_name.insert(name.to_owned(), code);
                titles.by_code.insert(code, one_line(&title));
            }
        }
        Ok(titles)
    }

    /// The title of a code.
    pub fn of(&self, code: Code) -> Option<&str> {
        self.by_code.get(&code).map(String::as_str)
    }

    /// The title of a code, by its name.
    pub fn named(&self, name: &str) -> Option<&str> {
        self.of(*self.by_name.get(name)?)
    }

    /// All of them.
    pub fn all(&self) -> &BTreeMap<Code, String> {
        &self.by_code
    }

    /// A code as a person reads it: `ICD9CM//250 (Diabetes mellitus)`.
    pub fn with_name(&self, vocabulary: &Vocabulary, code: Code) -> String {
        match self.of(code) {
            Some(title) => format!("{} ({title})", vocabulary.name(code)),
            None => vocabulary.name(code).to_owned(),
        }
    }

    /// What the titles of a test's parts share: `Hemoglobin A1c (%)` of `Hemoglobin A1c (%), lowest
    /// quarter` and its like.
    pub fn of_test(&self, parts: impl IntoIterator<Item = Code>) -> Option<&str> {
        let mut titles = parts.into_iter().filter_map(|code| self.of(code));
        let first = titles.next()?;
        let length = titles.fold(first.len(), |length, title| {
            let words = first[..length].split_inclusive(' ').zip(title.split_inclusive(' '));
            let alike = words.take_while(|(one, other)| one.trim_end() == other.trim_end());
            alike.map(|(one, _)| one.len()).sum()
        });
        Some(first[..length].trim_end_matches([',', ' '])).filter(|title| !title.is_empty())
    }
}

/// What a name says by itself.
fn said(name: &str) -> Option<String> {
    let days = |band: DayBand| match band.to {
        Some(to) if to == band.from + 1 && band.from == 1 => "1 day".to_owned(),
        Some(to) if to == band.from + 1 => format!("{} days", band.from),
        Some(to) => format!("{} to {} days", band.from, to - 1),
        None => format!("{} days or more", band.from),
    };
    if let Some(band) = DayBand::of_gap(name) {
        return Some(format!("{} since the encounter before", days(band)));
    }
    if let Some(band) = DayBand::of_stay(name) {
        return Some(format!("a stay of {}", days(band)));
    }
    if let Some(edition) = name.strip_prefix(EDITION_PREFIX) {
        return Some(format!("coded in {edition}"));
    }
    // Whether the second age is part of a band is for its cohort to say.
    let age = name.strip_prefix("AGE//").filter(|band| band.parse::<AgeBand>().is_ok());
    if let Some(band) = age {
        return Some(format!("age {band}"));
    }
    let text = match name {
        "SEX//F" => "female",
        "SEX//M" => "male",
        "DEATH" => "the patient died",
        "DISCHARGE//EXPIRED" => "died in hospital",
        END_NAME => "the last encounter",
        _ => return None,
    };
    Some(text.to_owned())
}

/// A title without breaks of lines and other letters that would break a table.
fn one_line(title: &str) -> String {
    let title: String =
        title.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    title.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use consequence_record::Kind;

    use super::*;

    #[test]
    fn what_names_say() {
        for (name, title) in [
            ("GAP//0d", "0 days since the encounter before"),
            ("GAP//1d", "1 day since the encounter before"),
            ("GAP//3650d+", "3650 days or more since the encounter before"),
            ("STAY//5-7d", "a stay of 5 to 6 days"),
            ("AGE//40-60", "age 40-60"),
            ("AGE//80+", "age 80+"),
        ] {
            assert_eq!(said(name).as_deref(), Some(title));
        }
        assert_eq!((said("AGE//old"), said("GAP//x")), (None, None));
    }

    #[test]
    fn what_parts_of_a_test_share() {
        let names = ["L//q1", "L//q2", "M//q1"];
        let vocabulary = Vocabulary::new(names.map(|name| (name, Kind::Encounter))).unwrap();
        let shared = |titles: [&str; 2]| {
            let known = titles.iter().enumerate();
            let known = known.map(|(at, title)| (Code(at as u32), (*title).to_owned())).collect();
            let titles = Titles::new(&vocabulary, &known, &[]).unwrap();
            titles.of_test([Code(0), Code(1)]).map(str::to_owned)
        };
        assert_eq!(shared(["A1c (%), low", "A1c (%), high"]).as_deref(), Some("A1c (%)"));
        assert_eq!(shared(["Sodium", "Sodium"]).as_deref(), Some("Sodium"));
        assert_eq!(shared(["Sodium low", "Sodium lower"]).as_deref(), Some("Sodium"));
        assert_eq!(shared(["é a", "é b"]).as_deref(), Some("é"));
        assert_eq!(shared(["Sodium", "Potassium"]), None);
    }
}
