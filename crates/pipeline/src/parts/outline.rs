//! What is known of a cohort without its records.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_record::{Code, Cohort, Concept, Domain, Kind, Scale, Vocabulary};
use consequence_tables::arrow::{ReadOptions, RecordStream, Tables, told_codes};
use consequence_tables::meds::Files;
use consequence_tables::{Dataset, Limits, TableError};
use consequence_tally::{Coded, Damaged, Reader, Writer, coded};

use crate::load::LoadedCohort;

/// What is known of a cohort without its records: its name, its codes, what they mean and measure, and the rules that it
/// brings along. It travels to where the records are.
///
/// ```
/// use std::sync::Arc;
/// use consequence_pipeline::parts::Outline;
/// use consequence_record::{Kind, Vocabulary};
///
/// let vocabulary = Vocabulary::new([("SEX//F", Kind::Static), ("ICD9CM//250", Kind::Encounter)])?;
/// let outline = Outline::new("claims", Arc::new(vocabulary));
/// let again = Outline::from_bytes(&outline.to_bytes())?;
/// assert_eq!(again.vocabulary, outline.vocabulary);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outline {
    /// What reports and messages call it.
    pub name: String,
    /// Its codes.
    pub vocabulary: Arc<Vocabulary>,
    /// What they mean, for those of which it is known.
    pub titles: BTreeMap<Code, String>,
    /// The OMOP concepts of codes.
    pub concepts: BTreeMap<Code, Concept>,
    /// What the values of codes are.
    pub scales: BTreeMap<Code, Scale>,
    /// Rules that every record obeys by the way it was imported: what messages call them, and the text.
    pub own_rules: Option<(String, Arc<str>)>,
    /// Codes and markers of its events with what each is; none where they are another tool's, which have no markers.
    pub listed_codes: Option<Vec<(String, String)>>,
}

impl Outline {
    /// One of which nothing else is known.
    pub fn new(name: impl Into<String>, vocabulary: Arc<Vocabulary>) -> Self {
        Self {
            name: name.into(),
            vocabulary,
            titles: BTreeMap::new(),
            concepts: BTreeMap::new(),
            scales: BTreeMap::new(),
            own_rules: None,
            listed_codes: None,
        }
    }

    /// What is known of a cohort that is in memory.
    pub fn of(name: impl Into<String>, cohort: &LoadedCohort) -> Self {
        Self {
            titles: cohort.titles.clone(),
            concepts: cohort.concepts.clone(),
            scales: cohort.scales.clone(),
            ..Self::new(name, Arc::clone(&cohort.vocabulary))
        }
    }

    /// What is known of a dataset whose records are not read yet.
    pub fn of_files(
        name: impl Into<String>,
        files: &Files,
        own_rules: Option<(String, Arc<str>)>,
    ) -> Self {
        Self {
            titles: files.titles().clone(),
            concepts: files.concepts().clone(),
            scales: files.scales().clone(),
            own_rules,
            listed_codes: files.listed_codes(),
            ..Self::new(name, Arc::clone(files.vocabulary()))
        }
    }

    /// What tables tell of a cohort without its events; none where neither they nor `codes` say which codes there are.
    pub fn of_tables(
        name: impl Into<String>,
        tables: &Tables,
        codes: Option<Arc<Vocabulary>>,
    ) -> Result<Option<Self>, TableError> {
        let told = told_codes(tables, codes, &Limits::default())?;
        Ok(told.map(|told| Self {
            titles: told.titles,
            concepts: told.concepts,
            scales: told.scales,
            listed_codes: told.listed_codes,
            ..Self::new(name, told.vocabulary)
        }))
    }

    /// A reader of its events, as batches that come one after the other.
    pub fn stream(&self, options: &ReadOptions) -> Result<RecordStream, TableError> {
        match &self.listed_codes {
            Some(listed) => RecordStream::with_listed_codes(listed, options),
            None => {
                let given = options.vocabulary.as_ref().unwrap_or(&self.vocabulary);
                Ok(RecordStream::new(Arc::clone(given), options))
            }
        }
    }

    /// A cohort without records of which this is known.
    pub fn dataset(&self) -> Dataset {
        Dataset {
            titles: self.titles.clone(),
            concepts: self.concepts.clone(),
            scales: self.scales.clone(),
            ..Dataset::new(Cohort::default(), Arc::clone(&self.vocabulary))
        }
    }

    /// The same with other codes, among which all of its own are.
    #[must_use]
    pub fn over(&self, vocabulary: Arc<Vocabulary>) -> Self {
        let code = |code: &Code| vocabulary.code(self.vocabulary.name(*code));
        fn moved<T: Clone>(
            known: &BTreeMap<Code, T>,
            code: impl Fn(&Code) -> Option<Code>,
        ) -> BTreeMap<Code, T> {
            known.iter().filter_map(|(old, one)| Some((code(old)?, one.clone()))).collect()
        }
        Self {
            titles: moved(&self.titles, code),
            concepts: moved(&self.concepts, code),
            scales: moved(&self.scales, code),
            vocabulary: Arc::clone(&vocabulary),
            ..self.clone()
        }
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        Written::of(self).write(&mut out);
        out.finish()
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Damaged> {
        let mut from = Reader::new(bytes);
        let written = Written::read(&mut from)?;
        from.end()?;
        written.outline()
    }
}

/// An outline as it is written.
struct Written {
    name: String,
    /// Codes, each with whether it is static.
    codes: Vec<(String, bool)>,
    titles: BTreeMap<Code, String>,
    concepts: Vec<WrittenConcept>,
    scales: Vec<WrittenScale>,
    own_rules: Option<(String, String)>,
    listed_codes: Option<Vec<(String, String)>>,
}

coded!(Written { name, codes, titles, concepts, scales, own_rules, listed_codes });

struct WrittenConcept {
    code: Code,
    id: u64,
    ancestors: Vec<u64>,
    domain: Option<String>,
    source: bool,
    result: Option<u64>,
}

coded!(WrittenConcept { code, id, ancestors, domain, source, result });

struct WrittenScale {
    code: Code,
    test: String,
    unit: Option<String>,
    above: Option<u32>,
    up_to: Option<u32>,
    count: u64,
}

coded!(WrittenScale { code, test, unit, above, up_to, count });

impl Written {
    fn of(outline: &Outline) -> Self {
        let vocabulary = &outline.vocabulary;
        let codes = vocabulary.codes().filter(|&code| code != vocabulary.end());
        let concept = |(&code, concept): (&Code, &Concept)| WrittenConcept {
            code,
            id: concept.id,
            ancestors: concept.ancestors.clone(),
            domain: concept.domain.map(|domain| domain.name().to_owned()),
            source: concept.source,
            result: concept.result,
        };
        let scale = |(&code, scale): (&Code, &Scale)| WrittenScale {
            code,
            test: scale.test.clone(),
            unit: scale.unit.clone(),
            above: scale.above.map(f32::to_bits),
            up_to: scale.up_to.map(f32::to_bits),
            count: scale.count,
        };
        Self {
            name: outline.name.clone(),
            codes: codes
                .map(|code| {
                    (vocabulary.name(code).to_owned(), vocabulary.kind(code) == Kind::Static)
                })
                .collect(),
            titles: outline.titles.clone(),
            concepts: outline.concepts.iter().map(concept).collect(),
            scales: outline.scales.iter().map(scale).collect(),
            own_rules: outline
                .own_rules
                .as_ref()
                .map(|(name, text)| (name.clone(), text.to_string())),
            listed_codes: outline.listed_codes.clone(),
        }
    }

    fn outline(self) -> Result<Outline, Damaged> {
        let kind = |is_static| if is_static { Kind::Static } else { Kind::Encounter };
        let codes = self.codes.iter().map(|(name, is_static)| (name.as_str(), kind(*is_static)));
        let vocabulary = Arc::new(Vocabulary::new(codes).map_err(|_| Damaged)?);
        let concept = |one: WrittenConcept| {
            let concept = Concept {
                id: one.id,
                ancestors: one.ancestors,
                domain: one.domain.as_deref().and_then(Domain::of),
                source: one.source,
                result: one.result,
            };
            (one.code, concept)
        };
        let scale = |one: WrittenScale| {
            let scale = Scale {
                test: one.test,
                unit: one.unit,
                above: one.above.map(f32::from_bits),
                up_to: one.up_to.map(f32::from_bits),
                count: one.count,
            };
            (one.code, scale)
        };
        let outline = Outline {
            titles: self.titles,
            concepts: self.concepts.into_iter().map(concept).collect(),
            scales: self.scales.into_iter().map(scale).collect(),
            own_rules: self.own_rules.map(|(name, text)| (name, text.into())),
            listed_codes: self.listed_codes,
            ..Outline::new(self.name, vocabulary)
        };
        let known = |code: &Code| code.index() < outline.vocabulary.len();
        let all = [
            outline.titles.keys().all(known),
            outline.concepts.keys().all(known),
            outline.scales.keys().all(known),
        ];
        if all == [true; 3] { Ok(outline) } else { Err(Damaged) }
    }
}
