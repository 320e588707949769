//! What tells of the tables as a whole: where they are from, the concepts that they speak of, the splits
//! of a cohort as cohorts of OMOP, and in `metadata` what OMOP has no column for.

use std::borrow::Cow;

use consequence_record::calendar::DAY;
use consequence_record::{Code, Concept, Domain, Kind, Scale, Split};
use consequence_store::StoreError;
use serde::{Deserialize, Serialize};

use super::file::Value;
use super::{RECORD_TYPE, SOURCE_CHARACTERS, Tables};

/// The concept of this version of the model.
const VERSION: i64 = 756_265;
/// What `metadata` calls the number of the format of our tables, their times, and what is known of values.
pub const OMOP_FORMAT: &str = "consequence_format";
/// Whether times are `recorded`, or `ordinal` and made up.
pub const OMOP_TIME: &str = "consequence_time";
/// What the values of a code are, as JSON.
pub const OMOP_SCALE: &str = "consequence_scale";
/// A code that no record has, as JSON.
pub const OMOP_UNUSED: &str = "consequence_unused_code";

/// The last day of 2099, until which concepts are valid.
const LAST_DAY: i64 = 47_481 * DAY;

impl Tables<'_> {
    pub(super) fn write_source(&mut self) -> Result<(), StoreError> {
        self.source.row(&[
            ("cdm_source_name", Value::Text("Cohort written by consequence")),
            ("cdm_source_abbreviation", Value::Text("consequence")),
            ("cdm_holder", Value::Text("unknown")),
            ("cdm_etl_reference", Value::Text(concat!("consequence ", env!("CARGO_PKG_VERSION")))),
            ("source_release_date", Value::Date(self.last)),
            ("cdm_release_date", Value::Date(self.last)),
            ("cdm_version", Value::Text("5.4")),
            ("cdm_version_concept_id", Value::Integer(VERSION)),
            ("vocabulary_version", Value::Text("unknown")),
        ])
    }

    pub(super) fn write_metadata(&mut self) -> Result<(), StoreError> {
        let dataset = self.dataset;
        let time = if dataset.ordinal_time() { "ordinal" } else { "recorded" };
        let mut rows = vec![(OMOP_FORMAT, "1".to_owned()), (OMOP_TIME, time.to_owned())];
        rows.extend(dataset.scales.iter().map(|(&code, scale)| {
            let told = ToldScale {
                code: dataset.vocabulary.name(code).into(),
                test: scale.test.as_str().into(),
                unit: scale.unit.as_deref().map(Into::into),
                above: scale.above,
                up_to: scale.up_to,
                count: scale.count,
            };
            // Names and finite numbers always have a text.
            (OMOP_SCALE, serde_json::to_string(&told).unwrap_or_default())
        }));
        let unused = dataset.vocabulary.codes().zip(&self.used).filter(|(_, used)| !**used);
        rows.extend(unused.map(|(code, _)| (OMOP_UNUSED, self.told_code(code))));
        for (name, text) in rows {
            self.metadata.row(&[
                ("metadata_id", Value::Integer(self.metadata.rows() as i64 + 1)),
                ("metadata_concept_id", Value::Integer(0)),
                ("metadata_type_concept_id", Value::Integer(RECORD_TYPE)),
                ("name", Value::Text(name)),
                ("value_as_string", Value::Text(&text)),
            ])?;
        }
        Ok(())
    }

    /// A code that no row tells of, as JSON.
    fn told_code(&self, code: Code) -> String {
        let concept = self.dataset.concepts.get(&code);
        let told = ToldCode {
            code: self.dataset.vocabulary.name(code).into(),
            fixed: self.dataset.vocabulary.kind(code) == Kind::Static,
            source_concept: self.terms.of(code).source_concept,
            concept: concept.map(|concept| ToldConcept {
                id: concept.id,
                domain: concept.domain.map(|domain| domain.name().into()),
                source: concept.source,
                result: concept.result,
            }),
        };
        // Names and whole numbers always have a text.
        serde_json::to_string(&told).unwrap_or_default()
    }

    /// Writes the splits as cohorts: their names, and who is in each for as long as anything is told.
    pub(super) fn write_splits(&mut self) -> Result<(), StoreError> {
        for (number, split) in (1..).zip(Split::ALL) {
            self.definition.row(&[
                ("cohort_definition_id", Value::Integer(number)),
                ("cohort_definition_name", Value::Text(split.name())),
                ("cohort_definition_description", Value::Text(purpose(split))),
                ("definition_type_concept_id", Value::Integer(0)),
                ("subject_concept_id", Value::Integer(0)),
            ])?;
        }
        Ok(())
    }

    /// Puts a person into the cohort of a split.
    pub(super) fn write_member(
        &mut self,
        person: i64,
        split: Split,
        (from, to): (i64, i64),
    ) -> Result<(), StoreError> {
        let number = Split::ALL.iter().position(|&one| one == split).unwrap_or_default();
        self.cohort.row(&[
            ("cohort_definition_id", Value::Integer(number as i64 + 1)),
            ("subject_id", Value::Integer(person)),
            ("cohort_start_date", Value::Date(from)),
            ("cohort_end_date", Value::Date(to)),
        ])
    }

    pub(super) fn write_concepts(&mut self) -> Result<(), StoreError> {
        for (&id, told) in &self.terms.described {
            let long = told.vocabulary.len() + told.code.len() + 2;
            self.summary.too_long += u64::from(long > SOURCE_CHARACTERS);
            self.concept.row(&[
                ("concept_id", Value::Integer(id)),
                ("concept_name", Value::Text(&told.name)),
                ("domain_id", Value::Text(told.domain)),
                ("vocabulary_id", Value::Text(&told.vocabulary)),
                ("concept_class_id", Value::Text("Undefined")),
                ("standard_concept", Some("S").filter(|_| told.standard).into()),
                ("concept_code", Value::Text(&told.code)),
                ("valid_start_date", Value::Date(0)),
                ("valid_end_date", Value::Date(LAST_DAY)),
            ])?;
        }
        Ok(())
    }
}

/// What the values of a code are, as `metadata` tells.
#[derive(Serialize, Deserialize)]
struct ToldScale<'s> {
    code: Cow<'s, str>,
    test: Cow<'s, str>,
    unit: Option<Cow<'s, str>>,
    above: Option<f32>,
    up_to: Option<f32>,
    count: u64,
}

/// The code and the scale that a row [`OMOP_SCALE`] of `metadata` tells of.
///
/// ```
/// let told = r#"{"code":"LAB//x//q1","test":"LAB//x","unit":"mg","above":null,"up_to":2.5,"count":7}"#;
/// let (code, scale) = consequence_tables::export::omop_scale(told).unwrap();
/// assert_eq!((&*code, scale.up_to), ("LAB//x//q1", Some(2.5)));
/// ```
pub fn omop_scale(text: &str) -> Option<(String, Scale)> {
    let ToldScale { code, test, unit, above, up_to, count } = serde_json::from_str(text).ok()?;
    let (test, unit) = (test.into_owned(), unit.map(Cow::into_owned));
    Some((code.into_owned(), Scale { test, unit, above, up_to, count }))
}

/// What the records of a split are for.
fn purpose(split: Split) -> &'static str {
    match split {
        Split::Train => "The records to train on, and to mine rules in",
        Split::Tuning => "The records to choose by: validation",
        Split::HeldOut => "The records to report on: test",
    }
}

/// A code that no record has, as `metadata` tells.
#[derive(Serialize, Deserialize)]
struct ToldCode<'s> {
    code: Cow<'s, str>,
    #[serde(rename = "static")]
    fixed: bool,
    source_concept: i64,
    concept: Option<ToldConcept<'s>>,
}

#[derive(Serialize, Deserialize)]
struct ToldConcept<'s> {
    id: u64,
    domain: Option<Cow<'s, str>>,
    source: bool,
    result: Option<u64>,
}

/// A code that no record has, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OmopUnused {
    /// The code.
    pub code: String,
    /// Whether it is static.
    pub kind: Kind,
    /// The number of the row of `concept` that has its title.
    pub source_concept: u64,
    /// The concept that it stands for.
    pub concept: Option<Concept>,
}

/// The code that a row [`OMOP_UNUSED`] of `metadata` tells of.
///
/// ```
/// use consequence_record::Kind;
///
/// let told = r#"{"code":"ICD9CM//250","static":false,"source_concept":2000000001,"concept":null}"#;
/// let unused = consequence_tables::export::omop_unused(told).unwrap();
/// assert_eq!((&*unused.code, unused.kind), ("ICD9CM//250", Kind::Encounter));
/// assert_eq!(consequence_tables::export::omop_unused("ICD9CM//250"), None);
/// ```
pub fn omop_unused(text: &str) -> Option<OmopUnused> {
    let ToldCode { code, fixed, source_concept, concept } = serde_json::from_str(text).ok()?;
    let concept = concept.map(|ToldConcept { id, domain, source, result }| Concept {
        id,
        ancestors: Vec::new(),
        domain: domain.as_deref().and_then(Domain::of),
        source,
        result,
    });
    let kind = if fixed { Kind::Static } else { Kind::Encounter };
    let source_concept = u64::try_from(source_concept).ok()?;
    Some(OmopUnused { code: code.into_owned(), kind, source_concept, concept })
}

#[cfg(test)]
mod tests {
    use consequence_record::calendar::Date;

    use super::*;

    #[test]
    fn the_last_day_of_concepts() {
        assert_eq!(Date(LAST_DAY).to_string(), "2099-12-31");
    }
}
