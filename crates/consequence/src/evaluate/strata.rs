//! Patients of groups, real and generated, side by side.

use consequence_evaluate::{CompareOptions, Correlations, Frequencies, Reference};
use consequence_pipeline::load::{self, LoadedGroups};
use consequence_pipeline::{CodeSource, Error};
use consequence_record::Selection;
use consequence_referee::Referee;
use consequence_rules::Diagnostic;
use consequence_tally::{Later, Rounds, Whose};
use rayon::prelude::*;
use serde::Serialize;

use super::EvaluateTask;
use super::counting::Counting;
use super::sides::{Both, Role};

/// Records of a group that its frequencies are compared from, on either side.
const LEAST_RECORDS: u64 = 20;

/// The records of a group: those with a visit at which its name is true.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stratum {
    /// Its name.
    pub name: String,
    /// Real records that are of the group, of those that generated ones are held against.
    pub real: StratumRecords,
    /// Generated records that are.
    pub synthetic: StratumRecords,
    /// Other real records that are, if there are any others.
    pub fresh: Option<StratumRecords>,
    /// How far the frequencies within the group agree; none with fewer than 20 records on a side.
    pub agreement: Option<Correlations>,
    /// The same of the other real records.
    pub fresh_agreement: Option<Correlations>,
}

/// How many records are of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StratumRecords {
    /// Records of the group.
    pub records: u64,
    /// Records in all.
    pub of: u64,
}

impl StratumRecords {
    /// The share of all records that are of the group, in percent.
    pub fn percent(&self) -> f64 {
        100.0 * self.records as f64 / self.of.max(1) as f64
    }
}

/// Groups of patients that are compared by themselves.
pub(super) struct Groups {
    loaded: LoadedGroups,
    /// Those that are compared, by number.
    chosen: Vec<usize>,
    referee: Referee,
}

/// Counts of the patients of groups, which are read once all rounds are over.
pub(super) struct CountedGroups<'r> {
    real: Later<'r, [Vec<Frequencies>; 2]>,
    synthetic: Later<'r, Vec<Frequencies>>,
}

impl Groups {
    /// The groups that a task asks for: those with the names given, or else all that no other is made of.
    pub fn load(task: &EvaluateTask, both: &Both) -> Result<Self, Error> {
        let options = both.rule_options(task.unknown_codes);
        let from = CodeSource::Cohort(both.names.clone());
        let loaded =
            load::groups(&task.groups, &options, &from).map_err(Error::without_vocabulary)?;
        let chosen = loaded.chosen(&task.strata)?;
        let referee = Referee::new(&loaded.rules.rules);
        Ok(Self { loaded, chosen, referee })
    }

    /// What looked odd in their text.
    pub fn warnings(&self) -> &Vec<Diagnostic> {
        &self.loaded.rules.warnings
    }

    /// Counts the patients of each group.
    pub fn counted<'r>(
        &self,
        counting: &Counting<'_>,
        rounds: &mut Rounds<'r>,
    ) -> Result<CountedGroups<'r>, Error> {
        let Counting { both, roles, .. } = counting;
        let vocabulary = &both.vocabulary;
        let of = |records: Selection<'_>| -> Result<Vec<Frequencies>, Error> {
            let each = self.chosen.iter().map(|&group| {
                let members = self.members(records, group);
                Ok(Frequencies::of(records.others(&members), vocabulary)?)
            });
            each.collect()
        };
        let real = rounds.count_for_later(Whose::Cohort, "groups", |block| {
            let of_role = |role| of(block.records.others(&roles.of(role, block)));
            counting.watching("comparing groups", || {
                Ok::<_, Error>([of_role(Role::Base)?, of_role(Role::Others)?])
            })
        })?;
        let synthetic =
            rounds.count_for_later(Whose::Synthetic, "groups", |block| of(block.records))?;
        Ok(CountedGroups { real, synthetic })
    }

    /// Holds the patients of each group against each other.
    pub fn strata(
        &self,
        counting: &Counting<'_>,
        counted: CountedGroups<'_>,
    ) -> Result<Vec<Stratum>, Error> {
        let Counting { both, roles, .. } = counting;
        let vocabulary = &both.vocabulary;
        let ([base, others], synthetic) = (counted.real.read()?, counted.synthetic.read()?);
        let counted = base.into_iter().zip(others).zip(synthetic);
        let stratum = |(&group, ((base, others), synthetic)): (&usize, _)| {
            let (others, synthetic): (Frequencies, Frequencies) = (others, synthetic);
            let records =
                |counted: &Frequencies, of: u64| StratumRecords { records: counted.records(), of };
            let real = records(&base, roles.base());
            let reference = Reference::of(base, vocabulary, &CompareOptions::default());
            let agreement = |other: &Frequencies| {
                let enough = real.records.min(other.records()) >= LEAST_RECORDS;
                enough.then(|| reference.compare_with(other).all)
            };
            Stratum {
                name: self.loaded.rules.rules[group].name.to_string(),
                real,
                synthetic: records(&synthetic, roles.synthetic),
                fresh: (roles.others() > 0).then(|| records(&others, roles.others())),
                agreement: agreement(&synthetic),
                fresh_agreement: agreement(&others),
            }
        };
        Ok(self.chosen.iter().zip(counted).map(stratum).collect())
    }

    /// The indices in its cohort of the records that are of a group.
    fn members(&self, records: Selection<'_>, group: usize) -> Vec<usize> {
        let numbers = (0..records.len()).into_par_iter();
        let of_group = numbers.filter(|&number| self.referee.ever(group, &records.record(number)));
        of_group.map(|number| records.index(number)).collect()
    }
}
