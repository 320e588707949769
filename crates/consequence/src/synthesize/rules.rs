//! The rules that generated records obey: where they come from, and what reality says of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use consequence_pipeline::load::LoadedRules;
use consequence_pipeline::{Error, OpenedRecords, RecordInputs, Watch, watched};
use consequence_rules::language::Item;
use consequence_rules::{LanguageLimits, Rule, parse};
use consequence_store::write_atomically;
use serde::Serialize;

use crate::broken::{BrokenBy, BrokenRecords};

/// Where a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleOrigin {
    /// The way that the cohort was imported.
    Own,
    /// What nobody needs to be told.
    CommonSense,
    /// Tables that experts publish.
    Expert,
    /// The records themselves.
    Mined,
    /// The user's own files.
    Given,
}

impl RuleOrigin {
    /// What a rule is called that comes from there.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::CommonSense => "common sense",
            Self::Expert => "expert",
            Self::Mined => "mined",
            Self::Given => "yours",
        }
    }
}

/// The rules of one origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OriginRules {
    /// Where they come from.
    pub origin: RuleOrigin,
    /// The file that they are in.
    pub file: String,
    /// Rules that must hold, but for those that an origin above states too.
    pub hard: usize,
    /// Rules that hold with a probability.
    pub soft: usize,
    /// Rules that were left out, since more than one real record in a hundred breaks them.
    pub left_out: Vec<BrokenBy>,
}

/// A rule file of one origin.
#[derive(Clone, Debug)]
pub(super) struct OriginFile {
    pub origin: RuleOrigin,
    pub path: PathBuf,
}

/// Rules that reality was asked about.
pub(super) struct AnsweredRules {
    pub origins: Vec<OriginRules>,
    /// What real records break, of the rules that are left.
    pub broken: BrokenRecords,
}

/// Holds the rules against every real record. A rule of the user's that more than one in a hundred
/// breaks is refused, unless that is accepted; one of a table or of the miner is left out.
pub(super) fn ask_reality(
    inputs: &RecordInputs,
    files: &[OriginFile],
    accept_broken: bool,
    watch: &dyn Watch,
) -> Result<AnsweredRules, Error> {
    let OpenedRecords { rules, cohort } = inputs.open(watch)?;
    let all = cohort.records();
    let find = |rules: &LoadedRules| {
        watched(watch, "auditing", None, || BrokenRecords::find(&rules.rules, all))
    };
    let broken = find(&rules)?;
    let origin_of = |file: &str| {
        let of_file = |one: &&OriginFile| one.path.display().to_string() == file;
        files.iter().find(of_file).map_or(RuleOrigin::Own, |one| one.origin)
    };
    let of_origin = |wanted: &'static [RuleOrigin]| {
        broken.often_broken().filter(move |rule| wanted.contains(&origin_of(&rule.file)))
    };
    if !accept_broken {
        broken.refuse_often_broken(of_origin(&[RuleOrigin::Given]))?;
    }
    let left_out: Vec<BrokenBy> =
        of_origin(&[RuleOrigin::Expert, RuleOrigin::Mined]).cloned().collect();
    let (rules, broken) = if left_out.is_empty() {
        (rules, broken)
    } else {
        for file in files {
            leave_out(&file.path, &left_out)?;
        }
        let OpenedRecords { rules, .. } = inputs.open(watch)?;
        let broken = find(&rules)?;
        (rules, broken)
    };
    Ok(AnsweredRules { origins: count_origins(&rules, &left_out, origin_of), broken })
}

/// Counts rules by origin, each where it is stated first.
fn count_origins(
    rules: &LoadedRules,
    left_out: &[BrokenBy],
    origin_of: impl Fn(&str) -> RuleOrigin,
) -> Vec<OriginRules> {
    let mut stated = BTreeSet::new();
    let mut fresh = |rule: &Rule| stated.insert(format!("{:?}", rule.says));
    let mut origins: Vec<OriginRules> = rules
        .files
        .iter()
        .map(|file| OriginRules {
            origin: origin_of(file),
            file: file.clone(),
            hard: 0,
            soft: 0,
            left_out: left_out.iter().filter(|rule| rule.file == *file).cloned().collect(),
        })
        .collect();
    for rule in rules.rules.iter().filter(|rule| fresh(rule)) {
        if let Some(origin) = origins.iter_mut().find(|one| one.file == *rule.origin.file) {
            match rule.is_hard() {
                true => origin.hard += 1,
                false => origin.soft += 1,
            }
        }
    }
    origins
}

/// Makes comments of rules in a file that this program wrote.
fn leave_out(path: &Path, rules: &[BrokenBy]) -> Result<(), Error> {
    let name = path.display().to_string();
    let of_file: Vec<&BrokenBy> = rules.iter().filter(|rule| rule.file == name).collect();
    if of_file.is_empty() {
        return Ok(());
    }
    let text = fs::read_to_string(path).map_err(|error| {
        Error::refused_at(path, format!("cannot read the rule file: {error}"), "try again")
    })?;
    let file = parse(&name, text.as_bytes(), &LanguageLimits::default())?;
    let (mut kept, mut from) = (String::new(), 0);
    for item in file.items() {
        let Item::Rule(rule) = item else { continue };
        let Some(broken) = of_file.iter().find(|one| one.rule == rule.name.text) else { continue };
        let span = rule.span.range();
        kept.push_str(&text[from..span.start]);
        let statement = text[span.clone()].replace('\n', " ");
        kept.push_str(&format!(
            "# left out: {} real records break it\n# {statement}",
            broken.records
        ));
        from = span.end;
    }
    kept.push_str(&text[from..]);
    write_atomically(path, |out| out.write_all(kept.as_bytes()))?;
    Ok(())
}
