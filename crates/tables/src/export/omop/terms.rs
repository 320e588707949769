//! What codes are in OMOP: their concepts, the tables of their domains, and the words of the source.

use std::collections::BTreeMap;

use consequence_record::{Code, Concept, Domain, Part, Vocabulary};

use crate::Dataset;

/// Where the numbers of concepts begin that are of no vocabulary of OMOP, as OHDSI keeps it.
const OWN_CONCEPTS: i64 = 2_000_000_001;

/// What codes are called whose number of a concept is all that is known of them.
const NUMBERED: &str = "OMOP";

/// How a code stands in its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub domain: Domain,
    /// The standard concept, or 0.
    pub concept: i64,
    /// The concept of the code itself.
    pub source_concept: i64,
    /// What the source calls it: the code, or the test that it is a result of.
    pub source: String,
    /// The result of the test: the part of its values, or words.
    pub result: Option<String>,
    /// The concept of the words.
    pub result_concept: Option<i64>,
}

/// A concept that rows speak of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub name: String,
    pub domain: &'static str,
    pub vocabulary: String,
    pub code: String,
    pub standard: bool,
}

/// All that codes are in OMOP.
pub(super) struct Terms {
    of_codes: Vec<Term>,
    /// The concepts of codes, by their numbers.
    pub described: BTreeMap<i64, Described>,
    /// The codes of encounters whose concept is of no vocabulary of OMOP.
    pub unmapped: u64,
}

impl Terms {
    pub fn new(dataset: &Dataset) -> Self {
        let vocabulary = &dataset.vocabulary;
        let mut terms = Self { of_codes: Vec::new(), described: BTreeMap::new(), unmapped: 0 };
        let mut numbers: BTreeMap<String, i64> = BTreeMap::new();
        for code in vocabulary.codes() {
            let concept = dataset.concepts.get(&code);
            let (source, result) = named(dataset, code, concept);
            let measured = result.is_some() || dataset.scales.contains_key(&code);
            let title = dataset.titles.get(&code).map(String::as_str);
            let domain = match concept.and_then(|concept| concept.domain) {
                // A value has a place in two tables only.
                Some(domain) if measured && domain != Domain::Observation => Domain::Measurement,
                Some(domain) => domain,
                None if measured => Domain::Measurement,
                None => domain_of(&source, title),
            };
            let known = concept.map(|concept| (concept.id, concept.source));
            let known = known.filter(|&(id, _)| id > 0).or(numbered(&source).map(|id| (id, false)));
            let next = OWN_CONCEPTS + numbers.len() as i64;
            let (concept_id, source_concept) = match known {
                Some((id, false)) => (id as i64, id as i64),
                Some((id, true)) => (0, id as i64),
                None => (0, *numbers.entry(source.clone()).or_insert(next)),
            };
            // Those of people and visits are in every database, and a death has a table.
            let has_row = !matches!(vocabulary.part(code), Part::Time | Part::End)
                && trait_of(vocabulary, &dataset.concepts, code).is_none();
            let event = has_row && vocabulary.part(code) != Part::Static && !is_death(&source);
            terms.unmapped += u64::from(event && known.is_none());
            if has_row {
                let (system, word) = source.split_once("//").unwrap_or(("None", &source));
                let described = Described {
                    name: title.unwrap_or(&source).to_owned(),
                    domain: concept.and_then(|concept| concept.domain).unwrap_or(domain).name(),
                    vocabulary: system.to_owned(),
                    code: word.to_owned(),
                    standard: concept_id > 0,
                };
                terms.described.entry(source_concept).or_insert(described);
            }
            let result_concept = concept.and_then(|concept| concept.result);
            terms.of_codes.push(Term {
                domain,
                concept: concept_id,
                source_concept,
                source,
                result,
                result_concept: result_concept.map(|id| id as i64).filter(|&id| id > 0),
            });
        }
        terms
    }

    /// What a code is.
    pub fn of(&self, code: Code) -> &Term {
        &self.of_codes[code.index()]
    }
}

/// The source's name of a code or of the test that it is a result of, and the result.
fn named(dataset: &Dataset, code: Code, concept: Option<&Concept>) -> (String, Option<String>) {
    let name = dataset.vocabulary.name(code);
    let words = concept.is_some_and(|concept| concept.result.is_some());
    let is_result = words || dataset.vocabulary.part(code) == Part::Values;
    match name.rsplit_once("//").filter(|_| is_result) {
        Some((test, result)) => (test.to_owned(), Some(result.to_owned())),
        None => (name.to_owned(), None),
    }
}

/// Whether a code tells that the patient died.
pub(super) fn is_death(code: &str) -> bool {
    ["DEATH", "MEDS_DEATH"].contains(&code)
}

/// The number of the concept that is all that is known of a code.
fn numbered(code: &str) -> Option<u64> {
    let (system, number) = code.split_once("//")?;
    number.parse().ok().filter(|&id| system == NUMBERED && id > 0)
}

/// The first parts of codes, by the domain that they are of.
const SYSTEMS: [(Domain, &[&str]); 5] = [
    (
        Domain::Condition,
        &["ICD9CM", "ICD10CM", "ICD9", "ICD10", "ICDO3", "DIAGNOSIS", "DX", "PHECODE", "CCS"],
    ),
    (
        Domain::Drug,
        &["RX", "RXNORM", "RXNORM EXTENSION", "CVX", "NDC", "DRUG", "MEDICATION", "ATC"],
    ),
    (Domain::Procedure, &["ICD9PROC", "ICD10PCS", "PROC", "PROCEDURE", "CPT4", "CPT", "HCPCS"]),
    (Domain::Measurement, &["LAB", "LOINC", "MEASUREMENT"]),
    (Domain::Device, &["DEVICE", "DM+D"]),
];

/// What the titles of SNOMED end in, by the domain that it tells.
const TAGS: [(Domain, &[&str]); 4] = [
    (Domain::Condition, &["(disorder)", "(finding)", "(morphologic abnormality)"]),
    (Domain::Procedure, &["(procedure)", "(regime/therapy)"]),
    (Domain::Drug, &["(product)", "(substance)", "(medicinal product)", "(clinical drug)"]),
    (Domain::Observation, &["(situation)", "(person)", "(event)", "(observable entity)"]),
];

/// The domain of a code of which no concept is known.
fn domain_of(code: &str, title: Option<&str>) -> Domain {
    let first = code.split("//").next().unwrap_or(code);
    let is_first = |system: &&str| system.eq_ignore_ascii_case(first);
    if let Some((domain, _)) = SYSTEMS.iter().find(|(_, systems)| systems.iter().any(&is_first)) {
        return *domain;
    }
    if !is_first(&"SNOMED") {
        return Domain::Observation;
    }
    let ends = |tag: &&str| title.is_some_and(|title| title.trim_end().ends_with(tag));
    let tagged = TAGS.iter().find(|(_, tags)| tags.iter().any(&ends));
    tagged.map_or(Domain::Condition, |(domain, _)| *domain)
}

/// What a row of `person` or `visit_occurrence` has a column of its own for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trait {
    Sex,
    Race,
    Ethnicity,
    VisitType,
}

/// The first parts of codes that tell a trait, and the concepts of its values; a value begins with one of
/// the words.
type Values = &'static [(&'static [&'static str], i64)];
const TRAITS: [(Trait, &[&str], Values); 4] = [
    (
        Trait::Sex,
        &["SEX", "GENDER"],
        &[(&["F", "FEMALE", "8532"], 8532), (&["M", "MALE", "8507"], 8507)],
    ),
    (
        Trait::Race,
        &["RACE"],
        &[
            (&["WHITE", "8527"], 8527),
            (&["BLACK", "AFRICAN AMERICAN", "8516"], 8516),
            (&["ASIAN", "8515"], 8515),
            (&["AMERICAN INDIAN", "NATIVE AMERICAN", "NATIVE", "8657"], 8657),
            (&["NATIVE HAWAIIAN", "PACIFIC ISLANDER", "HAWAIIAN", "8557"], 8557),
            (&["OTHER", "8522"], 8522),
        ],
    ),
    (
        Trait::Ethnicity,
        &["ETHNICITY"],
        &[
            (&["HISPANIC", "LATINO", "38003563"], 38_003_563),
            (&["NOT HISPANIC", "NONHISPANIC", "NON-HISPANIC", "38003564"], 38_003_564),
        ],
    ),
    (
        Trait::VisitType,
        &["VISIT_TYPE"],
        &[
            (&["INPATIENT", "9201"], 9201),
            (&["OUTPATIENT", "AMBULATORY", "WELLNESS", "9202"], 9202),
            (&["EMERGENCY ROOM AND INPATIENT", "262"], 262),
            (&["EMERGENCY", "URGENT", "9203"], 9203),
            (&["HOME", "581476"], 581_476),
            (&["OFFICE", "581477"], 581_477),
        ],
    ),
];

/// The trait that a code tells and its concept: that which is known of it, or that of its words; none
/// for words that have no concept.
pub(super) fn trait_of(
    vocabulary: &Vocabulary,
    concepts: &BTreeMap<Code, Concept>,
    code: Code,
) -> Option<(Trait, i64)> {
    let (told, id) = trait_by_name(vocabulary.name(code))?;
    let known = concepts.get(&code).map(|concept| concept.id as i64).filter(|&id| id > 0);
    Some((told, known.or(id)?))
}

/// The trait that the name of a code tells, and the concept of its words.
fn trait_by_name(name: &str) -> Option<(Trait, Option<i64>)> {
    let (system, value) = name.split_once("//")?;
    let value = value.to_ascii_uppercase();
    let is_system = |one: &&str| one.eq_ignore_ascii_case(system);
    let (told, _, values) = TRAITS.iter().find(|(_, names, _)| names.iter().any(&is_system))?;
    // Whole words: `M` is not the beginning of `MISSING`. Of several, the longest.
    let begins = |word: &&&str| {
        value.strip_prefix(**word).is_some_and(|rest| {
            rest.is_empty() || !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        })
    };
    let fits = values.iter().filter_map(|&(words, id)| {
        let longest = words.iter().filter(begins).map(|word| word.len()).max()?;
        Some((longest, id))
    });
    Some((*told, fits.max().map(|(_, id)| id)))
}

/// The concepts of units that many have, by their names of UCUM and others.
const UNITS: [(&[&str], i64); 20] = [
    (&["%"], 8554),
    (&["/min", "bpm", "beats/min"], 8541),
    (&["mg/dL"], 8840),
    (&["mmol/L"], 8753),
    (&["g/dL"], 8713),
    (&["kg"], 9529),
    (&["cm"], 8582),
    (&["mm[Hg]", "mmHg"], 8876),
    (&["kg/m2"], 9531),
    (&["mg/L"], 8751),
    (&["meq/L", "mEq/L"], 9557),
    (&["umol/L"], 8749),
    (&["U/L", "IU/L"], 8645),
    (&["10*3/uL", "K/uL"], 8848),
    (&["10*6/uL", "m/uL"], 8815),
    (&["ng/mL"], 8842),
    (&["pg/mL"], 8845),
    (&["g/L"], 8636),
    (&["ug/dL"], 8837),
    (&["pg"], 8564),
];

/// The concept of a unit, where it is a common one or told by its number.
pub(super) fn unit_concept(unit: &str) -> Option<i64> {
    if let Some(id) = numbered(unit) {
        return Some(id as i64);
    }
    let same = |name: &&str| name.eq_ignore_ascii_case(unit);
    UNITS.iter().find(|(names, _)| names.iter().any(&same)).map(|&(_, id)| id)
}

/// The years in the middle of an age band, if the code is one: `AGE//40-60`, `AGE//[40-50)`, or
/// `AGE//85+`, of which it is the start.
pub(super) fn age_years(code: &str) -> Option<i64> {
    let (word, value) = code.split_once("//")?;
    let band = Some(value).filter(|_| word.eq_ignore_ascii_case("AGE"))?;
    let band = band.trim_matches(['[', ')', '(', ']']);
    let number = |text: &str| text.trim().parse::<u8>().ok().map(i64::from);
    if let Some(from) = band.strip_suffix('+') {
        return number(from);
    }
    match band.split_once('-') {
        Some((from, to)) => Some((number(from)? + number(to)?) / 2),
        None => number(band),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_people_and_visits() {
        let told = |name| trait_by_name(name);
        assert_eq!(told("SEX//F"), Some((Trait::Sex, Some(8532))));
        assert_eq!(told("gender//Male"), Some((Trait::Sex, Some(8507))));
        assert_eq!(told("SEX//MISSING"), Some((Trait::Sex, None)));
        assert_eq!(told("ICD9CM//F"), None);
        assert_eq!(told("RACE//BLACK/AFRICAN AMERICAN"), Some((Trait::Race, Some(8516))));
        assert_eq!(told("RACE//native hawaiian"), Some((Trait::Race, Some(8557))));
        let not_hispanic = Some((Trait::Ethnicity, Some(38_003_564)));
        assert_eq!(told("ETHNICITY//Not Hispanic or Latino"), not_hispanic);
        assert_eq!(told("VISIT_TYPE//INPATIENT VISIT"), Some((Trait::VisitType, Some(9201))));
        let both = "VISIT_TYPE//EMERGENCY ROOM AND INPATIENT VISIT";
        assert_eq!(told(both), Some((Trait::VisitType, Some(262))));
    }

    #[test]
    fn codes_of_ages() {
        assert_eq!(age_years("AGE//40-60"), Some(50));
        assert_eq!(age_years("AGE//[70-80)"), Some(75));
        assert_eq!(age_years("AGE//85+"), Some(85));
        assert_eq!(age_years("AGE//old"), None);
        assert_eq!(age_years("AGE//9999"), None);
    }

    #[test]
    fn domains_of_codes_without_a_concept() {
        assert_eq!(domain_of("ICD10CM//E119", None), Domain::Condition);
        assert_eq!(domain_of("RxNorm//860975", None), Domain::Drug);
        assert_eq!(domain_of("SMOKER", None), Domain::Observation);
        assert_eq!(domain_of("SNOMED//44054006", None), Domain::Condition);
        let title = Some("Medication reconciliation (procedure)");
        assert_eq!(domain_of("SNOMED//430193006", title), Domain::Procedure);
    }

    #[test]
    fn units_that_have_concepts() {
        assert_eq!(unit_concept("mg/dl"), Some(8840));
        assert_eq!(unit_concept("OMOP//8840"), Some(8840));
        assert_eq!(unit_concept("cups"), None);
    }
}
