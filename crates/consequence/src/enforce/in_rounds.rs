//! The repair of records that are counted in rounds, wherever they are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use consequence_enforce::{Likelihoods, RepairPlan, Shares, repair_with};
use consequence_model::Model;
use consequence_pipeline::load::LoadedRules;
use consequence_pipeline::model_rules::ReadModel;
use consequence_pipeline::parts::{Outline, rules_in_rounds};
use consequence_pipeline::{Error, Watch, watched};
use consequence_prng::Draws;
use consequence_record::Selection;
use consequence_rules::RuleSet;
use consequence_tables::Dataset;
use consequence_tally::{Block, Counts as _, Rounds, Span, Whose};

use super::by_model::ModelLikelihoods;
use super::changes::ChangeCounts;
use super::{EnforceReport, EnforceTask, Known, chosen, judge, plan, with_what_was_known};

impl EnforceTask {
    /// What a repair of records does that are counted in rounds, in parts or all together. Those that are left are handed
    /// on, with what is known of them.
    pub fn repair(
        &self,
        outline: &Outline,
        rounds: &mut Rounds<'_>,
        repairs: &mut Repairs<'_>,
        watch: &dyn Watch,
    ) -> Result<EnforceReport, Error> {
        let prepared = self.prepared(outline, rounds, repairs.plan, watch)?;
        let counts: ChangeCounts = rounds.count(Whose::Cohort, "repair", |block| {
            let (counts, repaired) = prepared.repair(block, watch)?;
            (repairs.take)(repaired)?;
            Ok::<_, Error>(counts)
        })?;
        if counts.written == 0 {
            return Err(Error::NothingLeft { records: counts.repair.records });
        }
        Ok(self.report(&prepared.rules, &prepared.set, &counts))
    }

    /// Rules that are compiled and proved for the repair of records that are counted in rounds, and what choices go by.
    fn prepared(
        &self,
        outline: &Outline,
        rounds: &mut Rounds<'_>,
        kept: &KeptPlan,
        watch: &dyn Watch,
    ) -> Result<PreparedRepair, Error> {
        let rules = rules_in_rounds(&self.inputs, outline, rounds)?;
        let set = chosen(&rules.rules, self.soft);
        let longest: Span<i64> = rounds.count(Whose::Cohort, "longest record", |block| {
            let mut longest = Span::default();
            let lengths = block.records.records().map(|record| record.len() as i64 - 1);
            lengths.for_each(|length| longest.add(Span::of(length)));
            Ok::<_, Error>(longest)
        })?;
        let longest = longest.ends().map_or(0, |(_, longest)| longest.max(0) as usize);
        let plan = kept.of(&set, longest, watch)?;
        let draws = Draws::new(self.seed);
        let choices: BTreeMap<u32, bool> = rounds.count(Whose::Cohort, "choices", |block| {
            let choices = plan.choices(block.records, &draws).into_iter();
            Ok::<_, Error>(choices.map(|clause| (clause, true)).collect())
        })?;
        let choices: BTreeSet<u32> = choices.into_keys().collect();
        let shares = match choices.is_empty() {
            true => Shares::default(),
            false => rounds.count(Whose::Cohort, "shares", |block| {
                Ok::<_, Error>(plan.shares_of(&choices, block.records))
            })?,
        };
        let model = self.model.as_ref().map(|model| ReadModel::open(model, watch)).transpose()?;
        let model = model.map(ReadModel::into_model);
        let known = outline.clone();
        Ok(PreparedRepair { rules, set, plan, shares, model, draws, known })
    }
}

/// What a repair in rounds works with: a plan that may be there already, and where repaired records go.
pub struct Repairs<'a> {
    /// The plan of the rules, once they are proved.
    pub plan: &'a KeptPlan,
    /// Takes records that were repaired, some at a time.
    pub take: &'a mut dyn FnMut(Dataset) -> Result<(), Error>,
}

/// Keeps the plan of rules that were proved, for the next records that are to be repaired by them.
#[derive(Debug, Default)]
pub struct KeptPlan {
    kept: Mutex<Option<Proved>>,
    proofs: AtomicU64,
}

#[derive(Debug)]
struct Proved {
    set: Arc<RuleSet>,
    longest: usize,
    plan: Arc<RepairPlan>,
}

impl KeptPlan {
    /// How often rules were proved.
    pub fn proofs(&self) -> u64 {
        self.proofs.load(Ordering::Relaxed)
    }

    /// The plan of rules for records of up to so many encounters.
    fn of(
        &self,
        set: &Arc<RuleSet>,
        longest: usize,
        watch: &dyn Watch,
    ) -> Result<Arc<RepairPlan>, Error> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(proved) = &*kept
            && proved.longest == longest
            && proved.set == *set
        {
            return Ok(Arc::clone(&proved.plan));
        }
        let plan = watched(watch, "compiling and proving", None, || plan(set, longest))?;
        let plan = Arc::new(plan);
        self.proofs.fetch_add(1, Ordering::Relaxed);
        *kept = Some(Proved { set: Arc::clone(set), longest, plan: Arc::clone(&plan) });
        Ok(plan)
    }
}

/// A repair that is ready for records of a cohort, wherever they are.
struct PreparedRepair {
    rules: LoadedRules,
    set: Arc<RuleSet>,
    plan: Arc<RepairPlan>,
    shares: Shares,
    model: Option<Arc<Model>>,
    draws: Draws,
    known: Outline,
}

impl PreparedRepair {
    /// Repairs some records, and has the referee judge them.
    fn repair(
        &self,
        block: &Block<'_>,
        watch: &dyn Watch,
    ) -> Result<(ChangeCounts, Dataset), Error> {
        let model =
            self.model.as_ref().map(|model| ModelLikelihoods::new(&model.trained, &self.set));
        let model = model.as_ref().map(|model| model as &dyn Likelihoods);
        let by = (&self.shares, model);
        let found = repair_with(&self.plan, block.records, by, &self.draws, watch);
        let counts = ChangeCounts::of(self.plan.plan(), block.records, &found);
        let known = Known {
            outline: &self.known,
            cohort: block.records.cohort(),
            details: block.records.details(),
            splits: block.splits,
        };
        let dataset = with_what_was_known(found.cohort, &known, &self.set);
        let left = Selection::all(&dataset.cohort).detailed(dataset.details.as_ref());
        judge(&self.set, left, watch)?;
        Ok((counts, dataset))
    }
}
