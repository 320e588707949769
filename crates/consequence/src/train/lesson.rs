//! All that a model is trained on, made ready.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_details::DetailModel;
use consequence_enforce::Enforcer;
use consequence_model::{Card, Concepts, Data};
use consequence_pipeline::load::{self, RuleOptions};
use consequence_pipeline::{
    Advice, CodeSource, Error, OpenedRecords, Watch, model_rules, records_digest, watched,
};
use consequence_record::{AgeBand, Cohort, CohortDetails, Selection, Split};
use consequence_rules::{CompileError, CompileOptions, Order, Plan, RuleSet, compile};
use consequence_tables::Dataset;
use consequence_train::{TrainError, TrainMode};
use serde_json::json;

use super::{ModelChoice, TrainTask};
use crate::broken::BrokenRecords;

/// All that a model is trained on, made ready.
pub(super) struct Lesson {
    pub cohort: Cohort,
    /// The indices of records to train on.
    pub train: Vec<usize>,
    /// The indices of records that tell when to stop.
    pub tuning: Vec<usize>,
    /// The codes in the order that the model decides them.
    pub codes: Order,
    pub max_visits: usize,
    /// How rules take part.
    pub mode: TrainMode,
    pub rules: Arc<RuleSet>,
    /// Rules for writing alone, as text.
    pub writing_rules: String,
    /// None without rules.
    pub enforcer: Option<Enforcer>,
    pub broken: BrokenRecords,
    pub titles: BTreeMap<String, String>,
    /// The OMOP concepts that codes stand for.
    pub concepts: Concepts,
    /// Dates, births and values, where rules ask for them.
    pub known: Option<CohortDetails>,
    /// What dates and values are like.
    pub details: DetailModel,
    pub files: Vec<String>,
    pub warnings: Vec<String>,
}

impl Lesson {
    pub fn prepare(task: &TrainTask, watch: &dyn Watch) -> Result<Self, Error> {
        let OpenedRecords { rules: loaded, cohort: known } = task.inputs.open_detailed(watch)?;
        let knows = known.knows();
        let asked = loaded.rules.ask_details();
        let Dataset { cohort, splits, titles, concepts, vocabulary, details, scales } =
            known.into_dataset();
        let rules = loaded.rules;
        let (train, tuning) = (Split::Train.indices(&splits), Split::Tuning.indices(&splits));
        let needed: &[(&[usize], &str)] = match task.model_kind {
            ModelChoice::Network(_) => &[(&train, "train"), (&tuning, "tuning")],
            ModelChoice::Markov => &[(&train, "train")],
        };
        if let Some((_, name)) = needed.iter().find(|(indices, _)| indices.is_empty()) {
            return Err(TrainError::NoRecords(name).into());
        }
        let max_visits = task.max_visits.map_or_else(|| cohort.longest(), usize::from);
        let max_visits = max_visits.clamp(1, u16::MAX.into());
        let trained = || train.iter().chain(&tuning).copied();
        let longest = trained().map(|index| cohort.record(index).len() - 1).max();
        if let Some(found) = longest.filter(|&found| found > max_visits) {
            return Err(TrainError::TooLong { found, room: max_visits }.into());
        }
        let mode = match (&task.model_kind, rules.is_empty()) {
            (ModelChoice::Network(network), false) => network.mode,
            _ => TrainMode::Off,
        };
        let writing_rules = match task.writing_rules.is_empty() {
            true => String::new(),
            false => {
                let options = RuleOptions {
                    vocabulary: Some(Arc::clone(rules.vocabulary())),
                    knows: Some(knows),
                    unknown_codes: task.inputs.unknown_codes,
                    ..RuleOptions::default()
                };
                let source = CodeSource::Cohort(task.inputs.cohort.shown());
                let loaded = load::rules_over(&task.writing_rules, &options, &source)?;
                model_rules::text(&loaded.rules)
            }
        };
        let fitted = details.as_ref().map(|details| {
            let train = Selection::new(&cohort, &train);
            DetailModel::fit(train, details, &vocabulary, &scales)
        });
        let dated = fitted.as_ref().is_some_and(DetailModel::dated);
        let untold = rules.ask_ages() && AgeBand::of_statics(&vocabulary).is_empty();
        if !dated && (rules.ask_dates() || untold) {
            return Err(Error::refused(
                "the rules speak of days or ages, and a model of these records could tell no dates",
                "give records with dates and codes of the days between them, such as `GAP//7-14d`, or leave these \
                 rules out",
            ));
        }
        let natural = Order::natural(Arc::clone(rules.vocabulary()));
        let mut lesson = Self {
            codes: natural,
            max_visits,
            mode,
            enforcer: None,
            broken: BrokenRecords::default(),
            titles: titles
                .iter()
                .map(|(&code, title)| (vocabulary.name(code).to_owned(), title.clone()))
                .collect(),
            concepts: Concepts::of(&vocabulary, &concepts),
            known: details.filter(|_| asked),
            details: fitted.unwrap_or_default(),
            files: loaded.files,
            warnings: loaded.warnings.iter().map(|warning| warning.render()).collect(),
            train,
            tuning,
            cohort,
            rules,
            writing_rules,
        };
        if !lesson.rules.is_empty() {
            lesson.obey(watch)?;
        }
        if let ModelChoice::Network(network) = &task.model_kind {
            network.sizes_for(max_visits).shape(&lesson.codes).check()?;
        }
        Ok(lesson)
    }

    /// Records of the cohort, with what rules ask of them beside their codes.
    pub fn records<'a>(&'a self, indices: &'a [usize]) -> Selection<'a> {
        Selection::new(&self.cohort, indices).detailed(self.known.as_ref())
    }

    /// Proves the rules, takes over their order, and looks for records to train on that break them:
    /// those of the train split, as everywhere.
    fn obey(&mut self, watch: &dyn Watch) -> Result<(), Error> {
        let plan = watched(watch, "compiling and proving", None, || self.plan())?;
        self.codes = plan.order().clone();
        self.enforcer = Some(Enforcer::new(&plan));
        self.broken = watched(watch, "auditing", None, || {
            BrokenRecords::find(&self.rules, self.records(&self.train))
        })?;
        Ok(())
    }

    fn plan(&self) -> Result<Plan, Error> {
        let max_visits = u16::try_from(self.max_visits).unwrap_or(u16::MAX);
        // The paper's networks decide codes as the vocabulary has them, and so must the rules.
        let order = (self.mode == TrainMode::Paper).then(|| self.codes.clone());
        let options = CompileOptions { max_visits, order, ..CompileOptions::default() };
        compile(Arc::clone(&self.rules), &options).map_err(|error| {
            let too_early = matches!(error, CompileError::SoftTooEarly { .. });
            match Error::compile(&self.rules, error) {
                Error::Compile { what, rules, .. } if too_early => {
                    let advice =
                        Advice::new("leave the rule out, or train with {train_mode=causal}");
                    Error::Compile { what, rules, advice }
                }
                other => other,
            }
        })
    }

    /// The card of the model, but for what it will have trained.
    pub fn card(&self, task: &TrainTask) -> Card {
        let training = match &task.model_kind {
            ModelChoice::Network(network) => network.settings(),
            ModelChoice::Markov => json!({}),
        };
        let max_visits = self.max_visits;
        let groups = [&self.train[..], &self.tuning[..]];
        Card {
            max_visits,
            titles: self.titles.clone(),
            rules: model_rules::text(&self.rules),
            writing_rules: self.writing_rules.clone(),
            train_mode: self.mode.to_string(),
            data: Data {
                train_records: self.train.len(),
                tuning_records: self.tuning.len(),
                digest: records_digest(&self.cohort, self.rules.vocabulary(), &groups),
            },
            training: json!({ "max_visits": max_visits, "generator": training }),
            details_digest: self.details.digest(),
            concepts_digest: self.concepts.digest(),
            ..Card::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Unwatched;
    use consequence_pipeline::{RecordInputs, RuleInput};

    use super::*;

    #[test]
    fn rules_about_days_that_a_model_could_not_tell_are_refused_before_training() {
        let folder = tempfile::tempdir().unwrap();
        let cohort = folder.path().join("cohort.jsonl");
        let line = |number: usize, age: &str| {
            format!(
                r#"{{"id": {number}, "static": ["{age}"], "visits": [["A"], ["B"]], "times": ["2020-01-01", "2020-01-09"]}}"#
            )
        };
        let train = |age: &str, rule: &str| {
            let lines: Vec<String> = (0..60).map(|number| line(number, age)).collect();
            std::fs::write(&cohort, lines.join("\n")).unwrap();
            let inputs = RecordInputs::new(&cohort).with_rules([RuleInput::text("a.rules", rule)]);
            let model_kind = ModelChoice::Markov;
            let task = TrainTask { inputs, model_kind, ..TrainTask::new(&cohort, "model") };
            task.trained(&Unwatched).map(|_| ()).map_err(|error| error.to_string())
        };
        let refused = "a model of these records could tell no dates";
        for (age, rule) in [
            ("AGE//18+", "rule days: A in last 3 days => not B"),
            ("OLD", "rule days: B in 10 to 20 days ago => not A"),
        ] {
            let error = train(age, rule).unwrap_err();
            assert!(error.contains(refused), "{error}");
        }
        assert_eq!(train("AGE//18+", "rule age: AGE < 18 => not B"), Ok(()));
    }
}
