//! The diabetes cohort as others prepared it: records, split, codes, and rules that they mined.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
use consequence_rules::RuleSet;
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::shared;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// The cohort.
pub struct UciReference {
    /// All records, in the order of the file.
    pub cohort: Cohort,
    /// Their codes.
    pub vocabulary: Arc<Vocabulary>,
    /// The published split of each.
    pub splits: Vec<Split>,
    /// The 29 rules that were mined from the train split: formulas in our language.
    pub published: Vec<String>,
}

impl UciReference {
    /// Reads it, where it lies beside the workspace.
    pub fn read() -> Fallible<Option<Self>> {
        let Some(folder) = shared("reference/uci") else { return Ok(None) };
        let numbered = json(&folder, "uci_vocab.json")?;
        let mut names: Vec<(&String, u64)> = numbered
            .as_object()
            .ok_or("the vocabulary is an object")?
            .iter()
            .filter_map(|(name, number)| Some((name, number.as_u64()?)))
            .collect();
        names.sort_by_key(|(_, number)| *number);
        let kind = |name: &str| match name.starts_with("AGE//") || name.starts_with("SEX//") {
            true => Kind::Static,
            false => Kind::Encounter,
        };
        let vocabulary = Vocabulary::new(names.iter().map(|(name, _)| (name, kind(name))))?;
        let published = json(&folder, "uci_split.json")?;
        let mut text = String::new();
        let records = File::open(folder.join("uci_records.jsonl.gz"))?;
        GzDecoder::new(records).read_to_string(&mut text)?;
        let (mut cohort, mut splits) = (Cohort::default(), Vec::new());
        for line in text.lines() {
            let line: Value = serde_json::from_str(line)?;
            let codes = |list: &Value| {
                let names = list.as_array().ok_or("a visit is a list")?.iter();
                let code = |name: &Value| name.as_str().and_then(|name| vocabulary.code(name));
                names.map(|name| code(name).ok_or("a code of the vocabulary")).collect()
            };
            let id = line["id"].as_str().ok_or("a record has an id")?;
            let encounters = line["visits"].as_array().ok_or("a record has visits")?;
            let visits = std::iter::once(&line["static"]).chain(encounters).map(codes);
            cohort.push(id, &Record::new(visits.collect::<Result<_, &str>>()?));
            splits.push(match published[id].as_str() {
                Some("train") => Split::Train,
                Some("validation") => Split::Tuning,
                Some("test") => Split::HeldOut,
                _ => return Err("a record has no published split".into()),
            });
        }
        let rules = json(&folder, "uci_rules.json")?;
        let formulas = rules["text"].as_array().ok_or("the rules have texts")?.iter();
        let ours = |text: &str| text.replace("@[1]", " in static").replace('!', "not ");
        let published = formulas.filter_map(Value::as_str).map(ours).collect();
        Ok(Some(Self { cohort, vocabulary: Arc::new(vocabulary), splits, published }))
    }

    /// The published rules as the text of a rule file.
    pub fn mined(&self) -> String {
        let named = |(number, formula)| format!("rule mined-{number}: {formula}\n");
        (1..).zip(&self.published).map(named).collect()
    }

    /// The records of a split.
    pub fn of(&self, split: Split) -> Vec<usize> {
        (0..self.cohort.len()).filter(|&record| self.splits[record] == split).collect()
    }

    /// Rules over its codes.
    pub fn rules(&self, text: &str) -> Fallible<Arc<RuleSet>> {
        Ok(Arc::new(RuleSet::parse(text, Some(Arc::clone(&self.vocabulary)))?))
    }
}

fn json(folder: &Path, name: &str) -> Fallible<Value> {
    Ok(serde_json::from_reader(BufReader::new(File::open(folder.join(name))?))?)
}
