//! What a dataset is made of: the names of its files, its columns, and its markers.

use std::ffi::OsStr;

use consequence_record::Vocabulary;

use consequence_record::calendar::{DAY, UNDATED_START};

pub(super) const DATA: &str = "data";
/// Rules that are known to hold in the dataset, beside its folders.
pub(super) const TRUTH: &str = "truth.rules";
/// Rules that every record obeys by the way it was imported.
pub(super) const OWN_RULES: &str = "metadata/own.rules";
pub(super) const METADATA: &str = "metadata";
pub(super) const CODES: &str = "metadata/codes.parquet";
/// The OMOP concepts of codes, where they are known.
pub(super) const CONCEPTS: &str = "metadata/concepts.parquet";
pub(super) const SPLITS: &str = "metadata/subject_splits.parquet";
pub(super) const SUBJECTS: &str = "metadata/subjects.parquet";
pub(super) const DESCRIPTION: &str = "metadata/dataset.json";

/// What `dataset.json` calls the number of the format of our datasets. Those of other tools have
/// none, and neither have ours from before there were numbers, which are of format 1.
pub(super) const FORMAT_NAME: &str = "consequence_format";
pub(super) const FORMAT: u64 = 1;

pub(super) const SUBJECT: &str = "subject_id";
pub(super) const TIME: &str = "time";
pub(super) const CODE: &str = "code";
pub(super) const NUMBER: &str = "numeric_value";
pub(super) const VISIT: &str = "visit_id";
pub(super) const ADMISSION: &str = "hadm_id";

pub(super) const TITLE: &str = "description";
pub(super) const PARENTS: &str = "parent_codes";
pub(super) const KIND: &str = "kind";
pub(super) const CONCEPT: &str = "concept_id";
pub(super) const ANCESTOR: &str = "ancestor_concept_id";
pub(super) const SPLIT: &str = "split";
pub(super) const ORIGINAL: &str = "original_id";

/// The path of a data file in its dataset.
pub(super) fn data_file(number: usize) -> String {
    format!("{DATA}/{number:06}.parquet")
}

/// Whether a file or folder of this name is part of a dataset that we write.
pub(super) fn is_part(name: &OsStr) -> bool {
    [DATA, METADATA, TRUTH].iter().any(|part| name == *part)
}

/// The time that encounter `visit`, counted from 1, gets where only the order is known.
pub(super) fn ordinal_time(visit: usize) -> i64 {
    UNDATED_START + (visit as i64 - 1) * DAY
}

/// What the `kind` column of the list of codes says of a code that is no code of a visit: each
/// encounter has one event of the first kind, and the last encounter of a cut record one of the
/// second.
pub(super) const VISIT_KIND: &str = "visit";
pub(super) const CUT_KIND: &str = "cut";

/// The codes of the events that say how a record is built, rather than what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Markers {
    /// Of the event that every encounter has, so that an empty one survives.
    pub visit: Option<Box<str>>,
    /// Of the event in the last encounter of a record that was cut.
    pub cut: Option<Box<str>>,
}

impl Markers {
    /// Markers that are no codes of the vocabulary: `VISIT` and `CUT`, with a number where the
    /// vocabulary has those.
    pub fn beside(vocabulary: &Vocabulary) -> Self {
        let free = |name: &str| {
            let numbered = (2_u32..).map(|number| format!("{name}//{number}"));
            std::iter::once(name.to_owned())
                .chain(numbered)
                .find(|name| vocabulary.code(name).is_none())
                .map(String::into_boxed_str)
        };
        Self { visit: free("VISIT"), cut: free("CUT") }
    }
}
