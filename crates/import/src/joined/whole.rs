//! From what was counted of joined rows to what they become, by the code that makes it of tables in files.

use std::collections::{BTreeMap, BTreeSet};

use consequence_record::DEATH;
use consequence_tally::{Counts, coded};
use rustc_hash::FxHashMap;

use super::seen::{Counted, Unit};
use super::{JoinedConcept, JoinedOptions, Tallied};
use crate::codes::{Codes, OTHER_TEXT, Role};
use crate::event::Fact;
use crate::finals::{Cuts, Seen};
use crate::known::Known;
use crate::sources::omop_events::EVENTS;
use crate::sources::omop_met::{ConceptRow, Met, Names};
use crate::sources::{Gathered, LISTED, Told};
use crate::units::Units;
use crate::{ImportOptions, ImportProblem};

/// All that a [`JoinedCohort`] is made of; it travels to where the rows are.
#[derive(Clone)]
pub(super) struct Whole {
    pub options: JoinedOptions,
    pub counted: Counted,
    pub concepts: Vec<JoinedConcept>,
    /// Concepts above others: that above, and that below.
    pub ancestors: Vec<(u64, u64)>,
    pub tallied: Option<Tallied>,
}

coded!(Whole { options, counted, concepts, ancestors, tallied });

/// The codes of the source that rows stand for.
#[derive(Default)]
pub(super) struct Facts {
    pub sexes: [Option<Fact>; 2],
    pub codes: FxHashMap<u64, Fact>,
    /// Results by the code of the test, and by the concept or the words.
    pub results: FxHashMap<(u32, u64), Fact>,
    pub words: FxHashMap<u32, FxHashMap<Box<str>, Fact>>,
    pub units: FxHashMap<Unit, u16>,
}

impl Whole {
    /// What the rows become, by the code that makes it of tables in files.
    pub fn known(&self, options: &ImportOptions) -> Result<(Known, Facts), ImportProblem> {
        let Counted { sexes, deaths, concepts, results, values, .. } = &self.counted;
        let (mut codes, mut units) = (Codes::new(&options.limits), Units::default());
        let (mut met, mut facts) = (Met::default(), Facts::default());
        for ((seen, sex), fact) in sexes.iter().zip(["F", "M"]).zip(&mut facts.sexes) {
            if *seen && options.sex {
                *fact = Some(codes.fact(&["SEX", sex], Role::Exclusive)?);
            }
        }
        for (&id, used) in concepts {
            let table = EVENTS.get(used.table as usize).ok_or(ImportProblem::DamagedCounts)?;
            facts.codes.insert(id, met.code(&mut codes, id, table.domain, used.standard)?);
        }
        for (id, results) in results {
            let test = *facts.codes.get(id).ok_or(ImportProblem::DamagedCounts)?;
            for (&concept, &rows) in &results.concepts {
                let fact = met.result(&mut codes, test, concept, rows)?;
                facts.results.insert((test.0, concept), fact);
            }
            let known = facts.words.entry(test.0).or_default();
            for (words, &rows) in &results.words.rows {
                known.insert(words.as_str().into(), codes.text_result(test, words, rows)?);
            }
            if results.words.others > 0 {
                let fact = codes.text_result(test, OTHER_TEXT, results.words.others)?;
                known.insert(OTHER_TEXT.into(), fact);
            }
        }
        for ((id, unit), valued) in values {
            let test = *facts.codes.get(id).ok_or(ImportProblem::DamagedCounts)?;
            let number = match unit {
                Unit::Told(name) => units.number(name)?,
                Unit::Concept(concept) => {
                    let name = met.unit(&mut units, *concept)?;
                    units.number(&name)?
                }
            };
            facts.units.insert(unit.clone(), number);
            units.count(test.0, number, valued.rows);
        }
        if *deaths {
            codes.fact(&[DEATH], Role::Encounter)?;
        }
        met.keep(&mut codes);
        let mut names = Names::default();
        for concept in &self.concepts {
            let JoinedConcept { id, title, system, code, domain, standard } = concept;
            let row = ConceptRow { id: *id, title, system, code, domain, standard };
            met.describe(&mut codes, &mut units, &row, &mut names)?;
        }
        for &(above, below) in &self.ancestors {
            met.ancestor(&mut codes, above, below);
        }
        let gathered =
            Gathered { profile: LISTED, truncate: options.truncate, told: Told::default() };
        let mut known = Known::new(codes, &units, gathered, options)?;
        if known.cuts_values() {
            let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
            for ((id, unit), valued) in values {
                let kept = facts
                    .codes
                    .get(id)
                    .zip(facts.units.get(unit))
                    .filter(|(fact, unit)| known.measures.value(fact.0, **unit, 0.0).is_ok());
                if let Some(test) = kept.and_then(|(fact, _)| known.finals.test(fact.0 as usize)) {
                    seen.entry(test).or_default().add(valued.seen.clone());
                }
            }
            known.cut(Cuts::new(&seen, options.quantiles), BTreeSet::new())?;
        }
        Ok((known, facts))
    }
}
