//! Titles of codes that the user gives.

use std::path::Path;

use consequence_feedback::Unwatched;
use rustc_hash::FxHashMap;

use crate::codes::{is_icd, start, test_of_part, without_dot};
use crate::files::Parts;
use crate::table::{Column, Table};
use crate::{ImportError, ImportLimits, ImportProblem};

/// The most bytes kept of a title.
const TITLE_BYTES: usize = 512;

/// What codes mean: a table that the user gives, with a column of codes and one of titles. Where it has
/// one of vocabularies too, as the CONCEPT table of OMOP does, that stands before the code. It goes before
/// what the source tells. A code that is a part of a test's values has the title of the test.
///
/// ```
/// use consequence_import::{ImportLimits, Titles};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("titles.csv");
/// std::fs::write(&path, "code,title\nICD9CM//250.00,Diabetes\nLAB//50912,Creatinine\n")?;
/// let titles = Titles::read(&path, &ImportLimits::default())?;
/// assert_eq!(titles.of("ICD9CM//25000"), Some("Diabetes"));
/// assert_eq!(titles.of("LAB//50912//q4"), Some("Creatinine"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Titles(FxHashMap<Box<str>, Box<str>>);

/// What columns of codes, of titles and of vocabularies are called.
const CODES: [&str; 2] = ["code", "concept_code"];
const TITLES: [&str; 6] = ["title", "description", "concept_name", "name", "long_title", "label"];
const VOCABULARIES: [&str; 3] = ["vocabulary_id", "vocabulary", "system"];

impl Titles {
    /// Reads a table.
    pub fn read(path: impl AsRef<Path>, limits: &ImportLimits) -> Result<Self, ImportError> {
        let columns = vec![
            Column::needed(&CODES).said_by("titles"),
            Column::needed(&TITLES).said_by("titles"),
            Column::optional(&VOCABULARIES),
        ];
        let parts = Parts::new("titles", vec![path.as_ref().to_path_buf()]);
        let mut table = Table::open(parts, columns, limits, &Unwatched).map_err(in_first_line)?;
        let mut titles = Self::default();
        while table.advance()? {
            if titles.0.len() >= limits.map_rows {
                let text = format!("the table of titles has more than {} rows", limits.map_rows);
                return Err(table.fail(ImportProblem::Option(text)));
            }
            let (code, title) = (table.needed_text(0)?, table.text(1)?);
            match table.text(2)? {
                "" => titles.add(code, title),
                system => titles.add(&format!("{system}//{code}"), title),
            }
        }
        Ok(titles)
    }

    /// Keeps the title of a code, unless it has one.
    fn add(&mut self, code: &str, title: &str) {
        if !title.is_empty() {
            self.0.entry(key(code)).or_insert_with(|| start(title, TITLE_BYTES).into());
        }
    }

    /// The title of a code, or of the test that it is a part of the values of.
    pub fn of(&self, code: &str) -> Option<&str> {
        let own = self.own(code);
        own.or_else(|| test_of_part(code).and_then(|test| self.own(test)))
    }

    /// The title of a code, with its dot or without.
    fn own(&self, code: &str) -> Option<&str> {
        let title = self.0.get(code).or_else(|| self.0.get(&key(code)));
        title.map(|title| &**title)
    }
}

impl<C: AsRef<str>, T: AsRef<str>> FromIterator<(C, T)> for Titles {
    /// The titles of codes; of several for one code, the first.
    fn from_iter<I: IntoIterator<Item = (C, T)>>(pairs: I) -> Self {
        let mut titles = Self::default();
        pairs.into_iter().for_each(|(code, title)| titles.add(code.as_ref(), title.as_ref()));
        titles
    }
}

/// What is wrong with the names of columns is so in the first line.
fn in_first_line(error: ImportError) -> ImportError {
    match error.problem {
        ImportProblem::MissingColumn { .. } | ImportProblem::RepeatedColumn { .. } => {
            ImportError { line: error.line.or(Some(1)), ..error }
        }
        _ => error,
    }
}

/// A code as records have it: those of ICD without their dot.
fn key(code: &str) -> Box<str> {
    match code.split_once("//").filter(|_| is_icd(code)) {
        Some((system, rest)) => format!("{system}//{}", without_dot(rest)).into(),
        None => code.into(),
    }
}
