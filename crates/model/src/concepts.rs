//! The OMOP concepts of a model's codes, as they are kept beside it.

use std::collections::BTreeMap;

use consequence_record::{Code, Concept, Domain, Vocabulary};
use consequence_store::digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The OMOP concepts that codes stand for, by their names.
///
/// ```
/// use consequence_model::Concepts;
/// use consequence_record::{Code, Concept, Kind, Vocabulary};
///
/// let vocabulary = Vocabulary::new([("SNOMED//73211009", Kind::Encounter)])?;
/// let concept = Concept { id: 201_820, ..Concept::default() };
/// let concepts = Concepts::of(&vocabulary, &[(Code(0), concept.clone())].into());
/// assert_eq!(concepts.over(&vocabulary)[&Code(0)], concept);
/// # Ok::<(), consequence_record::VocabularyError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concepts(BTreeMap<String, Concept>);

impl Concepts {
    /// The concepts of the codes of a vocabulary.
    pub fn of(vocabulary: &Vocabulary, concepts: &BTreeMap<Code, Concept>) -> Self {
        let named = |(&code, concept): (&Code, &Concept)| {
            (vocabulary.name(code).to_owned(), concept.clone())
        };
        Self(concepts.iter().map(named).collect())
    }

    /// The same by the codes of another vocabulary, as far as it has them.
    pub fn over(&self, vocabulary: &Vocabulary) -> BTreeMap<Code, Concept> {
        let numbered =
            |(name, concept): (&String, &Concept)| Some((vocabulary.code(name)?, concept.clone()));
        self.0.iter().filter_map(numbered).collect()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text that they are kept as; none if there are none.
    pub fn text(&self) -> Option<String> {
        // Names and numbers always have a text.
        (!self.is_empty()).then(|| serde_json::to_string(self).unwrap_or_default())
    }

    /// The SHA-256 digest of that text; empty if there are none.
    pub fn digest(&self) -> String {
        self.text().map(|text| digest(text.as_bytes())).unwrap_or_default()
    }
}

/// A concept as it is kept.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept<'k> {
    id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<std::borrow::Cow<'k, str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    source: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ancestors: Vec<u64>,
}

impl Serialize for Concepts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, concept)| {
            let kept = Kept {
                id: concept.id,
                domain: concept.domain.map(|domain| domain.name().into()),
                source: concept.source,
                result: concept.result,
                ancestors: concept.ancestors.clone(),
            };
            (name, kept)
        }))
    }
}

impl<'de> Deserialize<'de> for Concepts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kept = BTreeMap::<String, Kept<'static>>::deserialize(deserializer)?;
        let concept = |(name, kept): (String, Kept<'_>)| {
            let Kept { id, domain, source, result, ancestors } = kept;
            let domain = domain.and_then(|name| Domain::of(&name));
            (name, Concept { id, ancestors, domain, source, result })
        };
        Ok(Self(kept.into_iter().map(concept).collect()))
    }
}
