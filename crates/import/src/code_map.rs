//! Maps from codes to coarser ones: phecodes, CCS, or any two columns.

use std::path::Path;

use consequence_feedback::Unwatched;
use consequence_tables::shown;
use csv::{ByteRecord, ErrorKind};
use rustc_hash::FxHashMap;

use crate::files::{self, explained};
use crate::table::TextRows;
use crate::{ImportError, ImportLimits, ImportProblem};

/// What codes are turned into: a table of two columns, read whole.
///
/// Codes are found by their full name (`ICD9CM//250.01`) or without their system (`250.01`); letter
/// case and dots do not matter. Where the header of their column begins with `ICD9` or `ICD10`,
/// those without a system are diagnoses of that edition; otherwise they are codes of any system.
/// What a code is turned into is named after the header of its column, as in `PHECODE//250.2`, or
/// `MAP//...` where there is no header, unless it has a `//` of its own. A code may be turned into
/// several.
///
/// ```
/// use consequence_import::{CodeMap, ImportLimits};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("map.csv");
/// std::fs::write(&path, "icd9,phecode\n250.01,250.1\n401.9,401.1\n")?;
/// let map = CodeMap::read(&path, None, &ImportLimits::default())?;
/// assert_eq!(map.targets("ICD9CM//25001").collect::<Vec<_>>(), ["PHECODE//250.1"]);
/// assert_eq!(map.targets("RX//insulin").count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CodeMap {
    targets: FxHashMap<Box<str>, Vec<u32>>,
    names: Vec<Box<str>>,
    titles: FxHashMap<u32, Box<str>>,
    /// The system of codes that are given without one; none for all systems.
    system: Option<&'static str>,
    /// Whether codes that the map does not have are left out, if it has others of their system.
    /// Without it they stay as they are.
    pub drop_unmapped: bool,
}

impl CodeMap {
    /// Reads a map. `columns` names the column of codes and the one they are turned into; without
    /// it the file has two columns, or one of them is called `phecode` and codes are in the first.
    pub fn read(
        path: impl AsRef<Path>,
        columns: Option<(&str, &str)>,
        limits: &ImportLimits,
    ) -> Result<Self, ImportError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let whole = |problem| ImportError::whole(file.clone(), problem);
        let bytes = files::open(path, limits, &Unwatched).map_err(whole)?;
        let mut rows =
            TextRows::new(bytes, limits.row_bytes).map_err(|error| whole(explained(error)))?;
        let mut reader = Reader { map: Self::default(), numbers: FxHashMap::default(), limits };
        let mut layout = None;
        let mut record = ByteRecord::new();
        loop {
            let more = rows.advance(&mut record);
            let fail = |problem| {
                let line = Some(rows.line());
                ImportError { problem, file: file.as_str().into(), line }
            };
            let more = more.map_err(|error| match error.into_kind() {
                ErrorKind::Io(error) => fail(explained(error)),
                other => fail(ImportProblem::Damaged(format!("{other:?}"))),
            })?;
            if !more {
                return Ok(reader.map);
            }
            let cells: Vec<&str> = record
                .iter()
                .map(|cell| std::str::from_utf8(cell).map(trimmed))
                .collect::<Result<_, _>>()
                .map_err(|_| fail(ImportProblem::InvalidUtf8 { column: "map".into() }))?;
            let (layout, is_header) = match &mut layout {
                Some(layout) => (layout, false),
                none => {
                    let found = none.insert(Layout::of(&cells, columns).map_err(fail)?);
                    let is_header = found.header;
                    (found, is_header)
                }
            };
            if is_header {
                reader.map.system = layout.from_system;
            } else {
                reader.row(&cells, layout).map_err(fail)?;
            }
        }
    }

    /// What a code is turned into; nothing where the map does not have it.
    pub fn targets(&self, code: &str) -> impl Iterator<Item = &str> {
        self.found(code)
            .iter()
            .filter_map(|&number| self.names.get(number as usize))
            .map(|name| &**name)
    }

    /// What a code is turned into, with titles.
    pub(crate) fn titled(&self, code: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.found(code).iter().filter_map(|number| {
            let name = self.names.get(*number as usize)?;
            Some((&**name, self.titles.get(number).map(|title| &**title)))
        })
    }

    fn found(&self, code: &str) -> &[u32] {
        let full = key(code);
        let (system, bare) = full.split_once("//").unwrap_or(("", &full));
        let meant = self.system.is_none_or(|meant| meant == system);
        let bare = || self.targets.get(bare).filter(|_| meant);
        self.targets.get(full.as_str()).or_else(bare).map_or(&[], Vec::as_slice)
    }
}

/// A map being read.
struct Reader<'l> {
    map: CodeMap,
    numbers: FxHashMap<String, u32>,
    limits: &'l ImportLimits,
}

impl Reader<'_> {
    fn row(&mut self, cells: &[&str], layout: &Layout) -> Result<(), ImportProblem> {
        let (Some(from), Some(to)) = (cells.get(layout.from), cells.get(layout.to)) else {
            let (expected, found) = (layout.width as u64, cells.len() as u64);
            return Err(ImportProblem::Ragged { expected, found });
        };
        if from.is_empty() || to.is_empty() {
            return Ok(());
        }
        let ImportLimits { map_rows, code_bytes: limit, .. } = *self.limits;
        if self.map.targets.len() >= map_rows {
            let text = format!("the map has more than {map_rows} codes");
            return Err(ImportProblem::Option(text));
        }
        if to.len().max(from.len()) + layout.system.len() + 2 > limit {
            let start = shown(&from.chars().take(24).collect::<String>());
            return Err(ImportProblem::LongCode { start, limit });
        }
        let name =
            if to.contains("//") { (*to).to_owned() } else { format!("{}//{to}", layout.system) };
        let names = &mut self.map.names;
        let number = *self.numbers.entry(name).or_insert_with_key(|name| {
            names.push(name.as_str().into());
            names.len() as u32 - 1
        });
        let title = layout.title.and_then(|title| cells.get(title));
        if let Some(title) = title.filter(|title| !title.is_empty()) {
            self.map.titles.entry(number).or_insert_with(|| (*title).into());
        }
        let targets = self.map.targets.entry(key(from).into()).or_default();
        if !targets.contains(&number) {
            targets.push(number);
        }
        Ok(())
    }
}

/// The columns of a map.
struct Layout {
    header: bool,
    width: usize,
    from: usize,
    to: usize,
    title: Option<usize>,
    /// The system that codes are mapped to.
    system: String,
    /// The system of the codes themselves.
    from_system: Option<&'static str>,
}

impl Layout {
    fn of(first: &[&str], columns: Option<(&str, &str)>) -> Result<Self, ImportProblem> {
        let find = |name: &str| first.iter().position(|cell| cell.eq_ignore_ascii_case(name));
        let needed = |name: &str| {
            let found = first.iter().map(|cell| (*cell).to_owned()).collect();
            let column = name.to_owned();
            find(name).ok_or(ImportProblem::MissingColumn { column, found, setting: None })
        };
        let (from, to, header) = match (columns, first.len(), find("phecode")) {
            (Some((from, to)), _, _) => (needed(from)?, needed(to)?, true),
            (None, 2, _) => (0, 1, first.first().is_some_and(|cell| is_title(cell))),
            (None, _, Some(to)) if to > 0 => (0, to, true),
            (None, width, _) => {
                return Err(ImportProblem::Option(format!(
                    "the map has {width} columns: name the two to use"
                )));
            }
        };
        let letters = |cell: &&str| {
            let kept = cell.chars().filter(char::is_ascii_alphanumeric);
            kept.map(|letter| letter.to_ascii_uppercase()).collect::<String>()
        };
        let title_of =
            |column| first.get(column).filter(|_| header).map(letters).unwrap_or_default();
        let (of_from, system) = (title_of(from), title_of(to));
        Ok(Self {
            header,
            width: first.len(),
            from,
            to,
            title: find("phenotype").or_else(|| find("phecodestring")).filter(|_| header),
            system: if system.is_empty() { "MAP".into() } else { system },
            from_system: match of_from {
                title if title.contains("PROC") || title.contains("PCS") => None,
                title if title.starts_with("ICD9") => Some("ICD9CM"),
                title if title.starts_with("ICD10") => Some("ICD10CM"),
                _ => None,
            },
        })
    }
}

/// Whether the first cell of a map is the title of a column rather than a code.
fn is_title(cell: &str) -> bool {
    let lower = cell.to_ascii_lowercase();
    let starts = ["icd", "code", "concept", "source", "from", "drug", "ndc", "rx"];
    !cell.contains("//")
        && (!cell.bytes().any(|byte| byte.is_ascii_digit())
            || cell.contains([' ', '_'])
            || starts.iter().any(|start| lower.starts_with(start)))
}

/// A cell without blanks and without the single quotes that some agencies put around codes.
fn trimmed(cell: &str) -> &str {
    cell.trim().trim_matches('\'').trim()
}

/// A code as the map finds it.
fn key(code: &str) -> String {
    code.chars().filter(|letter| *letter != '.').flat_map(char::to_uppercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, columns: Option<(&str, &str)>) -> Result<CodeMap, ImportError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.csv");
        std::fs::write(&path, text).unwrap();
        CodeMap::read(&path, columns, &ImportLimits::default())
    }

    fn targets(map: &CodeMap, code: &str) -> Vec<String> {
        map.targets(code).map(str::to_owned).collect()
    }

    #[test]
    fn plain_and_with_headers() {
        let plain = read("250.01,A\n250.01,B\nRX//x,ATC//y\n", None).unwrap();
        assert_eq!(targets(&plain, "ICD9CM//25001"), ["MAP//A", "MAP//B"]);
        assert_eq!(targets(&plain, "RX//X"), ["ATC//y"]);
        let quoted = read("'ICD-9-CM CODE';'CCS CATEGORY'\n'0010 ';'135'\n", None).unwrap();
        assert_eq!(targets(&quoted, "ICD9CM//0010"), ["CCSCATEGORY//135"]);
        let phecode = "ICD9,ICD9 String,PheCode,Phenotype\n001,\"Cholera, any\",008,Intestinal\n";
        let phecode = read(phecode, None).unwrap();
        let found: Vec<_> = phecode.titled("ICD9CM//001").collect();
        assert_eq!(found, [("PHECODE//008", Some("Intestinal"))]);
        assert_eq!(targets(&phecode, "ICD9PROC//001"), [""; 0]);
        let named = read("a,b,c\n1,2,3\n", Some(("C", "a"))).unwrap();
        assert_eq!(targets(&named, "X//3"), ["A//1"]);
    }

    #[test]
    fn what_is_no_map() {
        assert!(read("a,b,c\n1,2,3\n", None).unwrap_err().to_string().contains("3 columns"));
        let missing = read("a,b\n1,2\n", Some(("a", "z"))).unwrap_err().to_string();
        assert!(missing.starts_with("missing column `z`: found a, b"), "{missing}");
        let ragged = read("a,b\n1\n", None).unwrap_err();
        assert_eq!(ragged.line, Some(2));
    }
}
