//! A file of titles that the user gives: a table of codes and titles, or a list of all codes of a system.

use std::path::Path;

use consequence_import::{ImportLimits, ImportProblem, Titles};
use consequence_packs::CodeList;
use consequence_pipeline::Error;

use crate::packs::known_code_list;

/// What a file says that codes mean.
#[derive(Clone, Debug)]
pub(crate) enum TitleList {
    /// A table with a column of codes and one of titles.
    Table(Titles),
    /// A list of all codes of ICD, so that categories have titles too.
    Codes(CodeList),
}

impl TitleList {
    /// Reads a file, plain or gzip.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::read_within(path, &ImportLimits::default())
    }

    fn read_within(path: &Path, limits: &ImportLimits) -> Result<Self, Error> {
        let error = match Titles::read(path, limits) {
            Ok(titles) => return Ok(Self::Table(titles)),
            Err(error) => error,
        };
        if matches!(error.problem, ImportProblem::MissingColumn { .. })
            && let Some(list) = known_code_list(path)?
        {
            return Ok(Self::Codes(list));
        }
        Err(error.into())
    }

    /// The title of a code.
    pub fn title(&self, name: &str) -> Option<&str> {
        match self {
            Self::Table(titles) => titles.of(name),
            Self::Codes(list) => list.title(name),
        }
    }

    /// The title of a code, or what those of the codes in a category share.
    pub fn any_title(&self, name: &str) -> Option<String> {
        match self {
            Self::Table(titles) => titles.of(name).map(str::to_owned),
            Self::Codes(list) => list.any_title(name),
        }
    }
}

/// Reads the titles that an import is given: a table of codes and titles, or a list of the codes of ICD.
///
/// ```
/// use consequence::given_titles;
/// use consequence::import::ImportLimits;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("icd9dx2015.csv");
/// std::fs::write(&path, "dgns_cd,longdesc\n25000,Diabetes mellitus\n")?;
/// let titles = given_titles(&path, &ImportLimits::default())?;
/// assert_eq!(titles.of("ICD9CM//250"), Some("Diabetes mellitus"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn given_titles(path: &Path, limits: &ImportLimits) -> Result<Titles, Error> {
    Ok(match TitleList::read_within(path, limits)? {
        TitleList::Table(titles) => titles,
        TitleList::Codes(list) => list.named().collect(),
    })
}
