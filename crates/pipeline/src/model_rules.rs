//! The rules of a model: as text in its card, and read again over its codes.

use std::ops::Deref;
use std::sync::Arc;

use consequence_feedback::{Watch, watched};
use consequence_model::{Model, ModelKind};
use consequence_record::Vocabulary;
use consequence_rules::language::{Knows, RuleItem};
use consequence_rules::{LanguageLimits, ResolveOptions, RuleSet, UnknownCodes, parse, resolve};
use consequence_store::Lock;

use crate::inputs::CodeSource;
use crate::load::{self, LoadedGroups, LoadedRules, RuleOptions};
use crate::{Error, ModelInput, RuleInput};

/// A model that is read. Nobody replaces it as long as this lives.
pub struct ReadModel {
    model: Arc<Model>,
    _lock: Option<Lock>,
}

impl ReadModel {
    /// Opens the model in a folder, or takes the one in memory.
    pub fn open(input: &ModelInput, watch: &dyn Watch) -> Result<Self, Error> {
        let (folder, digest) = match input {
            ModelInput::Held { model, .. } => {
                return Ok(Self { model: Arc::clone(model), _lock: None });
            }
            ModelInput::Path(folder) => (folder, None),
            ModelInput::Same { folder, digest } => (folder, Some(digest)),
        };
        let lock = Lock::shared(folder)?;
        let model = watched(watch, "reading the model", None, || match digest {
            Some(digest) => Model::open_same(folder, digest),
            None => Model::open(folder),
        })?;
        Ok(Self { model: Arc::new(model), _lock: Some(lock) })
    }

    /// The model itself.
    pub fn into_model(self) -> Arc<Model> {
        self.model
    }
}

impl Deref for ReadModel {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.model
    }
}

/// Rules in the rule language, one a line, every code by its name.
pub fn text(rules: &RuleSet) -> String {
    let line = |rule: &consequence_rules::Rule| {
        let mut item = RuleItem::new(&*rule.name, rule.formula().expression(rules.vocabulary()));
        item.probability = rule.probability();
        format!("{item}\n")
    };
    rules.iter().map(line).collect()
}

/// Rules of files over the codes of a model; without files, the model's own.
pub fn over_model(
    model: &Model,
    input: &ModelInput,
    files: &[RuleInput],
    unknown_codes: UnknownCodes,
) -> Result<LoadedRules, Error> {
    let vocabulary = Arc::clone(model.trained.codes().vocabulary());
    if files.is_empty() {
        return own(&model.card.rules, input, vocabulary);
    }
    let options = options(model, unknown_codes);
    load::rules_over(files, &options, &CodeSource::Model(input.to_string()))
}

/// Names of files as groups of records over the codes of a model; without files there are none.
pub fn groups(
    model: &Model,
    input: &ModelInput,
    files: &[RuleInput],
    unknown_codes: UnknownCodes,
) -> Result<LoadedGroups, Error> {
    let options = options(model, unknown_codes);
    load::groups(files, &options, &CodeSource::Model(input.to_string()))
}

/// How to read rules over the codes of a model.
fn options(model: &Model, unknown_codes: UnknownCodes) -> RuleOptions {
    let vocabulary = model.trained.codes().vocabulary();
    let code = |(name, scale)| Some((vocabulary.code(name)?, scale));
    let scales = model.details.scales().filter_map(code).collect();
    let titled = |(name, title): (&String, &String)| Some((vocabulary.code(name)?, title.clone()));
    RuleOptions {
        vocabulary: Some(Arc::clone(vocabulary)),
        titles: model.card.titles.iter().filter_map(titled).collect(),
        knows: Some(Knows { scales, ..Knows::default() }),
        unknown_codes,
        ..RuleOptions::default()
    }
}

/// Rules of files over the codes of a model; without files, the model's own and those that it obeys when it
/// writes.
pub fn for_writing(
    model: &Model,
    input: &ModelInput,
    files: &[RuleInput],
    unknown_codes: UnknownCodes,
) -> Result<LoadedRules, Error> {
    if !files.is_empty() {
        return over_model(model, input, files, unknown_codes);
    }
    let text = format!("{}{}", model.card.rules, model.card.writing_rules);
    own(&text, input, Arc::clone(model.trained.codes().vocabulary()))
}

/// The rules that a model was trained with; none if it was trained without.
pub fn trained_with(model: &Model, input: &ModelInput) -> Result<Option<Arc<RuleSet>>, Error> {
    if model.card.kind == ModelKind::Markov || model.card.train_mode == "off" {
        return Ok(None);
    }
    let vocabulary = Arc::clone(model.trained.codes().vocabulary());
    Ok(Some(own(&model.card.rules, input, vocabulary)?.rules))
}

fn own(rules: &str, input: &ModelInput, vocabulary: Arc<Vocabulary>) -> Result<LoadedRules, Error> {
    // Patterns are written out, so the text may be longer than what a person wrote.
    let limits = LanguageLimits {
        file_bytes: usize::MAX,
        list_items: usize::MAX,
        ..LanguageLimits::default()
    };
    let name = input.to_string();
    let file = parse(&name, rules.as_bytes(), &limits)?;
    let options = ResolveOptions { limits, ..ResolveOptions::default() };
    let rules = resolve(&[file], Some(vocabulary), &options)?.rules;
    // What looked odd was told when the model was trained.
    Ok(LoadedRules { rules: Arc::new(rules), warnings: Vec::new(), files: vec![name] })
}

#[cfg(test)]
mod tests {
    use consequence_rules::RuleSet;

    use super::text;

    #[test]
    fn rules_are_read_as_they_were_written() {
        let written = "static SEX//F, SEX//M\n\
             let heart = any of \"heart > 7\", ICD9CM//41*\n\
             rule one-sex: exactly one of SEX//*\n\
             rule a: SEX//F in static and heart in last 3 visits => not ICD9CM//410\n\
             rule b: not heart in past => ICD9CM//411 with probability 0.125\n\
             rule \"c d\": ICD9CM//411 => END or none of ICD9CM//410, \"heart > 7\"\n";
        let rules = RuleSet::parse(written, None).unwrap();
        let again = RuleSet::parse(&text(&rules), Some(rules.vocabulary().clone())).unwrap();
        assert_eq!(rules.len(), 4);
        for (before, after) in rules.iter().zip(&again) {
            assert_eq!((&before.name, &before.says), (&after.name, &after.says));
        }
        assert_eq!(text(&again), text(&rules));
    }
}
