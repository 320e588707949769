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

/// What codes mean: a table that the user gives, with columns `code` and `title`. It goes before what the
/// source tells. A code that is a part of a test's values has the title of the test.
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

impl Titles {
    /// Reads a table.
    pub fn read(path: impl AsRef<Path>, limits: &ImportLimits) -> Result<Self, ImportError> {
        let columns = vec![
            Column::needed(&["code"]),
            Column::needed(&["title", "description", "name", "concept_name"]),
        ];
        let parts = Parts::new("titles", vec![path.as_ref().to_path_buf()]);
        let mut table = Table::open(parts, columns, limits, &Unwatched)?;
        let mut titles = FxHashMap::default();
        while table.advance()? {
            if titles.len() >= limits.map_rows {
                let text = format!("the table of titles has more than {} rows", limits.map_rows);
                return Err(table.fail(ImportProblem::Option(text)));
            }
            let (code, title) = (table.needed_text(0)?, table.text(1)?);
            if !title.is_empty() {
                titles.entry(key(code)).or_insert_with(|| start(title, TITLE_BYTES).into());
            }
        }
        Ok(Self(titles))
    }

    /// The title of a code, or of the test that it is a part of the values of.
    pub fn of(&self, code: &str) -> Option<&str> {
        let own = self.0.get(code);
        let title = own.or_else(|| test_of_part(code).and_then(|test| self.0.get(test)));
        title.map(|title| &**title)
    }
}

/// A code as records have it: those of ICD without their dot.
fn key(code: &str) -> Box<str> {
    match code.split_once("//").filter(|_| is_icd(code)) {
        Some((system, rest)) => format!("{system}//{}", without_dot(rest)).into(),
        None => code.into(),
    }
}
