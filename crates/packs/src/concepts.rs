//! The table of OMOP that says what concepts are called.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use crate::error::PackError;
use crate::stream;
use crate::table::PackLimits;

const COLUMNS: [&str; 3] = ["concept_id", "vocabulary_id", "concept_code"];
const HELP: &str = "expected the table CONCEPT of OMOP";

/// The codes of concepts, as far as they are asked for, named as `import omop` names them.
///
/// ```
/// use std::collections::BTreeSet;
/// use consequence_packs::{Concepts, PackLimits};
///
/// let text = "concept_id\tconcept_name\tvocabulary_id\tconcept_code\n\
///             201826\tType 2 diabetes\tSNOMED\t44054006\n1567940\tDiabetes\tICD10CM\tE11.9\n";
/// let wanted = BTreeSet::from([201_826, 1_567_940, 7]);
/// let concepts = Concepts::read("CONCEPT.csv", text.as_bytes(), &wanted, &PackLimits::default())?;
/// assert_eq!(concepts.code(201_826), Some("SNOMED//44054006"));
/// assert_eq!(concepts.code(1_567_940), Some("ICD10CM//E119"));
/// assert_eq!(concepts.code(7), None);
/// # Ok::<(), consequence_packs::PackError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Concepts {
    codes: BTreeMap<u64, String>,
}

impl Concepts {
    /// Reads the table, separated by tabs or commas, gzip or plain: all of it passes by, and what is kept are
    /// the concepts that are wanted.
    pub fn read(
        file: &str,
        input: impl Read,
        wanted: &BTreeSet<u64>,
        limits: &PackLimits,
    ) -> Result<Self, PackError> {
        let mut codes = BTreeMap::new();
        stream::rows(file, input, &COLUMNS, HELP, |row| {
            let id = row.concept(0)?;
            if !wanted.contains(&id) {
                return Ok(());
            }
            let (vocabulary, code) = (row.text(1)?, row.text(2)?);
            if !vocabulary.is_empty() && !code.is_empty() {
                codes.insert(id, name(vocabulary, code));
            }
            if codes.len() > limits.codes {
                let (file, what) = (file.to_owned(), "concepts");
                return Err(PackError::TooMany { file, what, most: limits.codes });
            }
            Ok(())
        })?;
        Ok(Self { codes })
    }

    /// The code of a concept, where the table has the concept.
    pub fn code(&self, concept: u64) -> Option<&str> {
        self.codes.get(&concept).map(String::as_str)
    }
}

/// The name of a code: those of the International Classification of Diseases have no dot.
fn name(vocabulary: &str, code: &str) -> String {
    let icd = vocabulary.get(..4).is_some_and(|start| {
        start.eq_ignore_ascii_case("ICD9") || start.eq_ignore_ascii_case("ICD1")
    });
    match icd {
        true => format!("{vocabulary}//{}", code.replace('.', "").to_ascii_uppercase()),
        false => format!("{vocabulary}//{code}"),
    }
}
