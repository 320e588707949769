//! What is the same for every method: records, rules, and the order of codes.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence::Dataset;
use consequence_enforce::{Auditor, Enforcer};
use consequence_pipeline::{
    Error, OpenedRecords, RecordInputs, Watch, model_rules, records_digest, watched,
};
use consequence_record::{Code, Cohort, Selection, Split, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{
    CompileLimits, CompileOptions, Order, OrderedPass, RuleSet, WrittenRules, compile,
};
use consequence_train::Examples;

use super::ComparisonTask;

/// What is the same for every method.
pub(super) struct Arena {
    pub cohort: Cohort,
    pub vocabulary: Arc<Vocabulary>,
    /// What codes mean, for those of which it is known.
    pub titles: BTreeMap<Code, String>,
    /// The indices of records to train on, of those that tell when to stop, and of the others.
    pub train: Vec<usize>,
    pub tuning: Vec<usize>,
    pub held_out: Vec<usize>,
    /// Held-out records that break no hard rule and are no longer than the networks can write: every
    /// method can predict them.
    pub predicted: Vec<usize>,
    pub rules: Arc<RuleSet>,
    pub written: WrittenRules,
    pub enforcer: Enforcer,
    pub auditor: Auditor,
    /// The published method: the rules in the order they are written.
    pub pass: OrderedPass,
    /// The order in which the rules can be kept, and the vocabulary's own.
    pub codes: Order,
    pub natural: Order,
    pub max_visits: usize,
    /// The rule files, as the user named them, and what looked odd in them.
    pub files: Vec<String>,
    pub warnings: Vec<String>,
}

impl Arena {
    pub fn prepare(
        task: &ComparisonTask,
        rules: Vec<std::path::PathBuf>,
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        let unknown_codes = task.unknown_codes;
        let inputs = RecordInputs {
            unknown_codes,
            no_own_rules: task.no_own_rules,
            ..RecordInputs::new(&task.cohort)
        }
        .with_rules(rules);
        let OpenedRecords { rules: loaded, cohort: known } = inputs.open(watch)?;
        let Dataset { cohort, splits, titles, .. } = known.into_dataset();
        let [mut train, mut tuning, held_out] =
            [Split::Train, Split::Tuning, Split::HeldOut].map(|split| split.indices(&splits));
        for (indices, name) in [(&train, "train"), (&tuning, "tuning"), (&held_out, "held_out")] {
            if indices.is_empty() {
                let what = format!("no record is in the {name} split");
                let advice =
                    "give more records, or a cohort that has the splits train, tuning and held_out";
                return Err(Error::refused_at(&task.cohort, what, advice));
            }
        }
        if let Some(most) = task.effort.train_records {
            train.truncate(most);
            tuning.truncate(most.div_ceil(5));
        }
        let max_visits = cohort.longest().clamp(1, u16::MAX.into());
        let rules = loaded.rules;
        if rules.is_empty() {
            let what = "there is no rule that methods could be compared by";
            return Err(Error::refused_at(&task.cohort, what, "give rule files with {rules}"));
        }
        let options = CompileOptions { max_visits: max_visits as u16, ..CompileOptions::default() };
        let plan = watched(watch, "compiling and proving", None, || {
            compile(Arc::clone(&rules), &options).map_err(|error| Error::compile(&rules, error))
        })?;
        let limits = CompileLimits::default();
        let written = WrittenRules::new(Arc::clone(&rules), &limits)
            .map_err(|error| Error::compile(&rules, error))?;
        let pass = OrderedPass::in_list_order(&rules, limits.rule_literals).map_err(|_| {
            let what = "a rule is too large to be applied in one pass";
            Error::refused_at(&task.cohort, what, "split it into several")
        })?;
        let referee = Referee::new(&rules);
        let predicted = held_out
            .iter()
            .copied()
            .filter(|&index| referee.is_valid(&cohort.record(index)))
            .collect();
        let vocabulary = Arc::clone(rules.vocabulary());
        Ok(Self {
            codes: plan.order().clone(),
            natural: Order::natural(Arc::clone(&vocabulary)),
            enforcer: Enforcer::new(&plan),
            auditor: Auditor::new(&written),
            files: loaded.files,
            titles,
            warnings: loaded.warnings.iter().map(|warning| warning.render()).collect(),
            cohort,
            vocabulary,
            train,
            tuning,
            held_out,
            predicted,
            rules,
            written,
            pass,
            max_visits,
        })
    }

    pub fn examples(&self) -> Examples<'_> {
        Examples {
            train: Selection::new(&self.cohort, &self.train),
            tuning: Selection::new(&self.cohort, &self.tuning),
        }
    }

    /// What the records are, and the rules, in a few letters.
    pub fn digests(&self) -> [String; 2] {
        let groups = [&self.train[..], &self.tuning[..], &self.held_out[..]];
        [
            records_digest(&self.cohort, &self.vocabulary, &groups),
            consequence_store::digest(model_rules::text(&self.rules).as_bytes()),
        ]
    }

    /// No rules, over the same codes.
    pub fn no_rules(&self) -> RuleSet {
        RuleSet::empty(Arc::clone(&self.vocabulary))
    }
}
