//! The OMOP concepts that rows speak of, and what they are called.

use std::collections::hash_map::Entry;

use consequence_record::{Concept, Domain};
use consequence_tables::shown;
use rustc_hash::FxHashMap;

use super::traits::{ETHNICITY, RACE, VISIT_TYPE, by_concept};
use crate::ImportProblem;
use crate::codes::{Codes, Role, is_icd, start, without_dot};
use crate::event::Fact;
use crate::units::Units;

/// What codes are called whose concept is not described.
const SYSTEM: &str = "OMOP";

/// The concepts that rows spoke of.
#[derive(Default)]
pub(crate) struct Met {
    /// Those of events.
    codes: FxHashMap<u64, Coded>,
    /// Those of races, ethnicities and kinds of visits, by system.
    words: FxHashMap<(&'static str, u64), Fact>,
    /// Those that results were told by, rather than in words.
    results: FxHashMap<u64, Vec<Fact>>,
    /// Those of units.
    units: FxHashMap<u64, u16>,
}

/// A concept that events have.
struct Coded {
    fact: Fact,
    /// That of the first table it was met in.
    domain: Domain,
    /// Whether a row has it as a standard concept.
    standard: bool,
}

/// A row of the table of concepts. What is not told is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConceptRow<'a> {
    pub id: u64,
    pub title: &'a str,
    pub system: &'a str,
    pub code: &'a str,
    pub domain: &'a str,
    pub standard: &'a str,
}

/// The names that codes got after their concepts.
pub(crate) type Names = FxHashMap<String, Fact>;

impl Met {
    /// The code of a concept that an event has.
    pub fn code(
        &mut self,
        codes: &mut Codes,
        id: u64,
        domain: Domain,
        standard: bool,
    ) -> Result<Fact, ImportProblem> {
        if let Some(coded) = self.codes.get_mut(&id) {
            coded.standard |= standard;
            return Ok(coded.fact);
        }
        let fact = codes.fact(&[SYSTEM, &id.to_string()], Role::Encounter)?;
        self.codes.insert(id, Coded { fact, domain, standard });
        Ok(fact)
    }

    /// The code of a result that is told by a concept, in some more rows.
    pub fn result(
        &mut self,
        codes: &mut Codes,
        test: Fact,
        concept: u64,
        rows: u64,
    ) -> Result<Fact, ImportProblem> {
        let fact = codes.text_result(test, &concept.to_string(), rows)?;
        let facts = self.results.entry(concept).or_default();
        if !facts.contains(&fact) {
            facts.push(fact);
        }
        Ok(fact)
    }

    /// What a unit is called of which the concept is known alone, until that is described.
    pub fn unit(&mut self, units: &mut Units, concept: u64) -> Result<String, ImportProblem> {
        let name = format!("{SYSTEM}//{concept}");
        if let Entry::Vacant(vacant) = self.units.entry(concept) {
            vacant.insert(units.number(&name)?);
        }
        Ok(name)
    }

    /// The code of a race or the like: by its concept, or else by the source's word.
    pub fn word(
        &mut self,
        codes: &mut Codes,
        system: &'static str,
        concept: Option<u64>,
        word: &str,
        role: Role,
    ) -> Result<Option<Fact>, ImportProblem> {
        if let Some(id) = concept {
            if let Some(&fact) = self.words.get(&(system, id)) {
                return Ok(Some(fact));
            }
            let number = id.to_string();
            let known = by_concept(id).map(|word| word.name);
            let fact = codes.fact(&[system, known.unwrap_or(&number)], role)?;
            codes.concept(fact, Concept { id, ..Concept::default() });
            self.words.insert((system, id), fact);
            return Ok(Some(fact));
        }
        match word {
            "" => Ok(None),
            word => codes.fact(&[system, &word.to_uppercase()], role).map(Some),
        }
    }

    /// Keeps the number of each concept with its code, whatever that is called.
    pub fn keep(&self, codes: &mut Codes) {
        for (&id, coded) in &self.codes {
            let (domain, source) = (Some(coded.domain), !coded.standard);
            codes.concept(coded.fact, Concept { id, domain, source, ..Concept::default() });
        }
        for (&id, facts) in &self.results {
            facts.iter().for_each(|&fact| codes.result_concept(fact, id));
        }
    }

    /// Names what was met after its concept, and keeps the title of that.
    pub fn describe(
        &self,
        codes: &mut Codes,
        units: &mut Units,
        row: &ConceptRow<'_>,
        names: &mut Names,
    ) -> Result<(), ImportProblem> {
        let &ConceptRow { id, title, system, code, domain, standard } = row;
        for &fact in self.results.get(&id).into_iter().flatten() {
            codes.reword(fact, title);
        }
        if let Some(&unit) = self.units.get(&id) {
            units.rename(unit, code);
        }
        for kind in [RACE, ETHNICITY, VISIT_TYPE] {
            if let Some(&fact) = self.words.get(&(kind, id)) {
                if by_concept(id).is_none() && !title.is_empty() {
                    codes.rename(fact, &format!("{kind}//{}", title.to_uppercase()));
                }
                codes.title(fact, title);
            }
        }
        let Some(&Coded { fact, .. }) = self.codes.get(&id) else { return Ok(()) };
        if !system.is_empty() && !code.is_empty() {
            let mut name = format!("{system}//{code}");
            if is_icd(&name) {
                name = format!("{system}//{}", without_dot(code));
            }
            let limit = codes.code_bytes();
            if name.len() > limit {
                let start = shown(start(code, 24));
                return Err(ImportProblem::LongCode { start, limit });
            }
            // Two concepts of one name would be one code, which neither of them is.
            if names.insert(name.clone(), fact).is_none_or(|before| before == fact) {
                codes.rename(fact, &name);
            }
        }
        codes.title(fact, title);
        codes.describe(fact, |concept| {
            if !domain.is_empty() {
                // What is of none of the tables of events is an observation.
                concept.domain = Some(Domain::of(domain).unwrap_or(Domain::Observation));
            }
            concept.source &= standard != "S";
        });
        Ok(())
    }

    /// Keeps that a concept is above another.
    pub fn ancestor(&self, codes: &mut Codes, above: u64, below: u64) {
        if let Some(coded) = self.codes.get(&below).filter(|_| above != below) {
            codes.ancestor(coded.fact, above);
        }
    }
}
