//! What a dataset is made of: the names of its files, its columns, and its markers.

use std::ffi::OsStr;

use consequence_record::calendar::{DAY, UNDATED_START};
use consequence_record::{AgeBand, Code, Kind, Vocabulary};

pub(crate) const DATA: &str = "data";
/// Rules that are known to hold in the dataset, beside its folders.
pub(crate) const TRUTH: &str = "truth.rules";
/// Rules that every record obeys by the way it was imported.
pub(crate) const OWN_RULES: &str = "metadata/own.rules";
pub(crate) const METADATA: &str = "metadata";
pub(crate) const CODES: &str = "metadata/codes.parquet";
/// The OMOP concepts of codes, where they are known.
pub(crate) const CONCEPTS: &str = "metadata/concepts.parquet";
/// What the values of codes are, where they have any.
pub(crate) const VALUES: &str = "metadata/values.parquet";
pub(crate) const SPLITS: &str = "metadata/subject_splits.parquet";
pub(crate) const SUBJECTS: &str = "metadata/subjects.parquet";
pub(crate) const DESCRIPTION: &str = "metadata/dataset.json";

/// What `dataset.json` calls the number of the format of our datasets. Those of other tools have
/// none, and neither have ours from before there were numbers, which are of format 1. Format 2 has births,
/// ends, ages, values, events at their own times, and deaths as MEDS names them; a dataset without any of
/// these is written as format 1.
pub(crate) const FORMAT_NAME: &str = "consequence_format";
pub(crate) const PLAIN_FORMAT: u64 = 1;
pub(crate) const FORMAT: u64 = 2;

pub(crate) const SUBJECT: &str = "subject_id";
pub(crate) const TIME: &str = "time";
pub(crate) const CODE: &str = "code";
pub(crate) const NUMBER: &str = "numeric_value";
/// What some datasets call it.
pub(crate) const OTHER_NUMBER: &str = "value";
pub(crate) const VISIT: &str = "visit_id";
pub(crate) const ADMISSION: &str = "hadm_id";

pub(crate) const TITLE: &str = "description";
pub(crate) const PARENTS: &str = "parent_codes";
pub(crate) const KIND: &str = "kind";
pub(crate) const CONCEPT: &str = "concept_id";
pub(crate) const ANCESTOR: &str = "ancestor_concept_id";
pub(crate) const DOMAIN: &str = "domain_id";
pub(crate) const STANDARD: &str = "standard_concept";
pub(crate) const RESULT: &str = "value_as_concept_id";
pub(crate) const TEST: &str = "test";
pub(crate) const UNIT: &str = "unit";
pub(crate) const ABOVE: &str = "above";
pub(crate) const UP_TO: &str = "up_to";
pub(crate) const COUNT: &str = "count";
pub(crate) const SPLIT: &str = "split";
pub(crate) const ORIGINAL: &str = "original_id";

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
pub(crate) const STATIC_KIND: &str = "static";
pub(crate) const ENCOUNTER_KIND: &str = "encounter";
pub(crate) const VISIT_KIND: &str = "visit";
pub(crate) const CUT_KIND: &str = "cut";
/// When the patient was born; the event of no encounter.
pub(crate) const BIRTH_KIND: &str = "birth";
/// When an encounter ended.
pub(crate) const END_KIND: &str = "visit_end";
/// The age band that the source gave at an encounter.
pub(crate) const AGE_KIND: &str = "age";
/// The code `DEATH` of the vocabulary, which MEDS has another name for.
pub(crate) const DEATH_KIND: &str = "death";

/// What MEDS calls a birth.
pub(crate) const BIRTH: &str = "MEDS_BIRTH";
/// What a death is called here, and in MEDS.
pub(crate) const DEATH: &str = "DEATH";
pub(crate) const MEDS_DEATH: &str = "MEDS_DEATH";
/// What the names of events begin with that tell the age at an encounter.
const AGE_PREFIX: &str = "AGE_NOW//";

/// The codes of the events that say how a record is built, rather than what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Markers {
    /// Of the event that every encounter has, so that an empty one survives.
    pub visit: Option<Box<str>>,
    /// Of the event in the last encounter of a record that was cut.
    pub cut: Option<Box<str>>,
    /// Of the birth.
    pub birth: Option<Box<str>>,
    /// Of the event at the end of an encounter.
    pub end: Option<Box<str>>,
    /// Of the events that tell the age at an encounter.
    pub ages: Vec<(Box<str>, AgeBand)>,
}

impl Markers {
    /// Markers that are no codes of the vocabulary: `VISIT` and the others, with a number where the
    /// vocabulary has those. Which ages there are is not known yet.
    pub fn beside(vocabulary: &Vocabulary) -> Self {
        let mark = |name| Some(free(vocabulary, name).into_boxed_str());
        Self {
            visit: mark("VISIT"),
            cut: mark("CUT"),
            birth: mark(BIRTH),
            end: mark("VISIT_END"),
            ages: Vec::new(),
        }
    }
}

/// The name, with a number where the vocabulary has it.
fn free(vocabulary: &Vocabulary, name: &str) -> String {
    let numbered = (2_u32..).map(|number| format!("{name}//{number}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| vocabulary.code(name).is_none())
        .unwrap_or_default()
}

/// The name of the events that tell an age.
pub(super) fn age_name(vocabulary: &Vocabulary, band: AgeBand) -> String {
    free(vocabulary, &format!("{AGE_PREFIX}{band}"))
}

/// The age that the name of an event tells.
pub(crate) fn age_named(name: &str) -> Option<AgeBand> {
    name.strip_prefix(AGE_PREFIX)?.split("//").next()?.parse().ok()
}

/// The code of a death that is written under the name that MEDS has for it; none if the vocabulary
/// has no death, or has both names.
pub(super) fn renamed_death(vocabulary: &Vocabulary) -> Option<Code> {
    let death = vocabulary.code(DEATH)?;
    let free = vocabulary.code(MEDS_DEATH).is_none();
    (free && vocabulary.kind(death) == Kind::Encounter).then_some(death)
}
