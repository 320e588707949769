//! Codes and the vocabulary that names them.

use std::fmt;

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::{DayBand, EDITION_PREFIX};

/// The name of the code that marks the last encounter of a record.
pub const END_NAME: &str = "END";

/// One entry of a [`Vocabulary`], by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u32);

impl Code {
    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a code lives: in the static visit or in encounters, never in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Visit 0: sex, age band and the like.
    Static,
    /// Visits 1 and later.
    Encounter,
}

impl Kind {
    /// The kind of codes that visit number `visit` may hold.
    pub fn of_visit(visit: usize) -> Self {
        if visit == 0 { Self::Static } else { Self::Encounter }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Static => "static",
            Self::Encounter => "encounter",
        })
    }
}

/// What a code tells of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What never changes: sex, age band and the like.
    Static,
    /// What happened in an encounter.
    Codes,
    /// That the record ends.
    End,
    /// When an encounter was, how long it took, and in which edition of a classification it is coded: `GAP//7-14d`,
    /// `STAY//2d`, `EDITION//ICD9`.
    Time,
    /// In which part of a test's values a result is: `LAB//50912//q4`.
    Values,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 5] = [Self::Static, Self::Codes, Self::End, Self::Time, Self::Values];

    fn of(name: &str, kind: Kind) -> Self {
        let quantile = |name: &str| {
            let part = name.rsplit_once("//").and_then(|(_, part)| part.strip_prefix('q'));
            part.is_some_and(|part| {
                !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        match kind {
            Kind::Static => Self::Static,
            Kind::Encounter if name == END_NAME => Self::End,
            Kind::Encounter
                if name.starts_with(EDITION_PREFIX)
                    || DayBand::of_gap(name).or(DayBand::of_stay(name)).is_some() =>
            {
                Self::Time
            }
            Kind::Encounter if quantile(name) => Self::Values,
            Kind::Encounter => Self::Codes,
        }
    }
}

/// Why a list of names is not a vocabulary.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum VocabularyError {
    /// The same name was given twice.
    #[error("code `{0}` is listed twice in the vocabulary")]
    Duplicate(String),
    /// A code needs a name.
    #[error("a code in the vocabulary has an empty name")]
    Empty,
    /// `END` is derived, so no file may define it.
    #[error("`END` marks the last encounter and cannot be a code of the vocabulary")]
    Reserved,
    /// More codes than a code number can count.
    #[error("the vocabulary has more than {0} codes")]
    TooMany(usize),
}

/// The codes of a cohort: names, kinds, and `END` as the last of them.
///
/// Two are equal if they have the same names and kinds in the same order, so that a code means the
/// same in both.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    names: Vec<Box<str>>,
    kinds: Vec<Kind>,
    parts: Vec<Part>,
    numbers: FxHashMap<Box<str>, Code>,
}

impl Vocabulary {
    /// The most codes a vocabulary can hold.
    pub const MAX_CODES: usize = 1 << 24;

    /// Numbers the given codes in order and appends `END`.
    pub fn new<N: AsRef<str>>(
        codes: impl IntoIterator<Item = (N, Kind)>,
    ) -> Result<Self, VocabularyError> {
        let mut vocabulary = Self {
            names: Vec::new(),
            kinds: Vec::new(),
            parts: Vec::new(),
            numbers: FxHashMap::default(),
        };
        for (name, kind) in codes {
            match name.as_ref() {
                "" => return Err(VocabularyError::Empty),
                END_NAME => return Err(VocabularyError::Reserved),
                name => vocabulary.push(name, kind)?,
            }
        }
        vocabulary.push(END_NAME, Kind::Encounter)?;
        Ok(vocabulary)
    }

    fn push(&mut self, name: &str, kind: Kind) -> Result<(), VocabularyError> {
        if self.names.len() >= Self::MAX_CODES {
            return Err(VocabularyError::TooMany(Self::MAX_CODES));
        }
        let code = Code(self.names.len() as u32);
        if self.numbers.insert(name.into(), code).is_some() {
            return Err(VocabularyError::Duplicate(name.to_owned()));
        }
        self.names.push(name.into());
        self.kinds.push(kind);
        self.parts.push(Part::of(name, kind));
        Ok(())
    }

    /// The number of codes, `END` included.
    #[allow(clippy::len_without_is_empty, reason = "END makes it never empty")]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The code of a name.
    pub fn code(&self, name: &str) -> Option<Code> {
        self.numbers.get(name).copied()
    }

    /// The name of a code.
    pub fn name(&self, code: Code) -> &str {
        &self.names[code.index()]
    }

    /// Whether a code is static or of encounters.
    #[inline]
    pub fn kind(&self, code: Code) -> Kind {
        self.kinds[code.index()]
    }

    /// What a code tells of a record, by its name.
    ///
    /// ```
    /// use consequence_record::{Kind, Part, Vocabulary};
    ///
    /// let names = ["GAP//7-14d", "LAB//50912//q4", "ICD9CM//250"];
    /// let vocabulary = Vocabulary::new(names.map(|name| (name, Kind::Encounter)))?;
    /// let parts: Vec<Part> = vocabulary.codes().map(|code| vocabulary.part(code)).collect();
    /// assert_eq!(parts, [Part::Time, Part::Values, Part::Codes, Part::End]);
    /// # Ok::<(), consequence_record::VocabularyError>(())
    /// ```
    #[inline]
    pub fn part(&self, code: Code) -> Part {
        self.parts[code.index()]
    }

    /// What codes of one kind share: the name up to the first `//`, or all of it.
    ///
    /// ```
    /// use consequence_record::{Kind, Vocabulary};
    ///
    /// let names = [("SEX//F", Kind::Static), ("LAB//a1c//q4", Kind::Encounter), ("DEATH", Kind::Encounter)];
    /// let vocabulary = Vocabulary::new(names)?;
    /// let families: Vec<&str> = vocabulary.codes().map(|code| vocabulary.family(code)).collect();
    /// assert_eq!(families, ["SEX", "LAB", "DEATH", "END"]);
    /// # Ok::<(), consequence_record::VocabularyError>(())
    /// ```
    pub fn family(&self, code: Code) -> &str {
        let name = self.name(code);
        name.split_once("//").map_or(name, |(family, _)| family)
    }

    /// The code that marks the last encounter.
    #[inline]
    pub fn end(&self) -> Code {
        Code(self.names.len() as u32 - 1)
    }

    /// All codes in order, `END` last.
    pub fn codes(&self) -> impl ExactSizeIterator<Item = Code> + use<> {
        (0..self.names.len() as u32).map(Code)
    }

    /// The static codes, in order.
    pub fn statics(&self) -> impl Iterator<Item = Code> {
        self.codes().filter(|&code| self.kind(code) == Kind::Static)
    }
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Self) -> bool {
        (&self.names, &self.kinds) == (&other.names, &other.kinds)
    }
}

impl Eq for Vocabulary {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_given_order_and_end_comes_last() {
        let vocabulary = Vocabulary::new([("B", Kind::Encounter), ("A", Kind::Static)]).unwrap();
        assert_eq!(vocabulary.code("B"), Some(Code(0)));
        assert_eq!(vocabulary.kind(Code(1)), Kind::Static);
        assert_eq!(vocabulary.end(), Code(2));
        assert_eq!(vocabulary.name(vocabulary.end()), END_NAME);
        assert_eq!(vocabulary.statics().collect::<Vec<_>>(), [Code(1)]);
        let turned = Vocabulary::new([("A", Kind::Static), ("B", Kind::Encounter)]).unwrap();
        assert!(vocabulary == vocabulary.clone() && vocabulary != turned);
    }

    #[test]
    fn refuses_what_is_not_a_vocabulary() {
        let refused = |names: &[&str]| {
            Vocabulary::new(names.iter().map(|name| (name, Kind::Static))).unwrap_err()
        };
        assert_eq!(refused(&["A", "A"]), VocabularyError::Duplicate("A".into()));
        assert_eq!(refused(&[""]), VocabularyError::Empty);
        assert_eq!(refused(&["END"]), VocabularyError::Reserved);
    }
}
