//! What became of a table, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use consequence_packs::{Dialect, ExpertTable, Level, Limit, Pack};
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{CodeSource, Report};
use serde::Serialize;

/// What became of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RulesFromReport {
    /// What the table is, and its version.
    pub about: String,
    /// Its file, as the user named it.
    pub file: String,
    /// The rule file that was written, if one was.
    pub out: Option<String>,
    /// The rules as text.
    #[serde(skip)]
    pub text: String,
    /// What the table says: limits on codes, or notes.
    pub entries: usize,
    /// Notes of the table that no rule can be made of: they name no codes, or examples, or
    /// exceptions.
    pub passed_over: usize,
    /// How the known codes of the table are spelt.
    pub spoken: Vec<Spoken>,
    /// Codes whose OMOP concepts are known, if the table is about concepts.
    pub concepts: usize,
    /// Limits that all codes of a category share; none where the rules are for single codes.
    pub categories: Option<usize>,
    /// Whether the known codes are categories, and only whole codes of three characters have rules,
    /// for want of a list of all codes.
    pub lacks_list: bool,
    /// Where the codes come from that the rules were restricted to; none: not restricted.
    pub codes: Option<CodeSource>,
    /// Limits left out because those codes lack theirs.
    pub unknown: usize,
    /// Limits of age left out because no age bands are known.
    pub without_ages: usize,
    /// Limits of age left out because no age band lies outside them.
    pub within_bands: usize,
    /// Limits that the table states again.
    pub repeated: usize,
    /// Notes left out because nobody knows how likely what they say is.
    pub without_probability: usize,
    /// Notes left out because the records break them.
    pub broken: usize,
    /// Soft rules left out because they would depend on themselves.
    pub cyclic: usize,
    /// Rules written.
    pub rules: usize,
    /// How many of them are soft.
    pub soft: usize,
    /// How many of each limit.
    pub kinds: Vec<LimitCount>,
}

/// How many rules state a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitCount {
    /// The limit in words.
    pub limit: String,
    /// The rules.
    pub rules: usize,
}

/// How the known codes of a system are spelt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// The system.
    pub system: String,
    /// What stands before its codes.
    pub prefix: String,
    /// Whether they are cut to categories.
    pub categories: bool,
    /// Whether they have their dots.
    pub dotted: bool,
    /// How many there are.
    pub codes: usize,
}

impl Spoken {
    pub(super) fn of(dialect: &Dialect) -> Self {
        Self {
            system: dialect.system.name().to_owned(),
            prefix: dialect.prefix.clone(),
            categories: dialect.level == Level::Categories,
            dotted: dialect.dotted,
            codes: dialect.codes,
        }
    }
}

impl Display for Spoken {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let level = if self.categories { "categories" } else { "whole codes" };
        let dots = if self.dotted { ", with dots" } else { "" };
        let codes = count(self.codes as u64, "code");
        let (system, prefix) = (&self.system, &self.prefix);
        write!(out, "{codes} of {system} after `{prefix}`: {level}{dots}")
    }
}

impl RulesFromReport {
    pub(super) fn new(
        table: &ExpertTable,
        pack: &Pack,
        out: Option<String>,
        codes: Option<CodeSource>,
    ) -> Self {
        let mut kinds: BTreeMap<Limit, usize> = BTreeMap::new();
        for rule in &pack.rules {
            *kinds.entry(rule.limit).or_default() += 1;
        }
        let kinds =
            kinds.into_iter().map(|(limit, rules)| LimitCount { limit: limit.to_string(), rules });
        let cut = pack.dialects.iter().any(|dialect| dialect.level == Level::Categories);
        let categories = pack.level == Level::Categories && !table.entries().is_empty();
        Self {
            about: pack.about.clone(),
            file: pack.file.clone(),
            out,
            text: pack.text(),
            entries: table.statements(),
            passed_over: table.passed_over(),
            spoken: pack.dialects.iter().map(Spoken::of).collect(),
            concepts: pack.concepts,
            categories: categories.then_some(pack.limits),
            lacks_list: cut && pack.level == Level::Codes && table.codes().is_none(),
            codes,
            unknown: pack.unknown,
            without_ages: pack.without_ages,
            within_bands: pack.within_bands,
            repeated: pack.repeated,
            without_probability: pack.without_probability,
            broken: pack.broken.len(),
            cyclic: pack.cyclic,
            rules: pack.rules.len(),
            soft: pack.rules.iter().filter(|rule| rule.probability.is_some()).count(),
            kinds: kinds.collect(),
        }
    }
}

impl Report for RulesFromReport {}

impl Display for RulesFromReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.out {
            write!(out, "{file}: ")?;
        }
        writeln!(out, "{} from {} ({})", count(self.rules as u64, "rule"), self.file, self.about)?;
        for kind in &self.kinds {
            writeln!(out, "  {:>6}  {}", number(kind.rules as u64), kind.limit)?;
        }
        let what = if self.passed_over > 0 { "note" } else { "limit" };
        writeln!(out, "\nthe table has {} on codes", count(self.entries as u64, what))?;
        if self.passed_over > 0 {
            let notes = count(self.passed_over as u64, "note");
            writeln!(out, "  and {notes} that name no codes, or examples, or exceptions")?;
        }
        if let Some(shared) = self.categories {
            let shared = count(shared as u64, "limit");
            writeln!(out, "  {shared} shared by all codes of a category")?;
        }
        if let Some(source) = &self.codes {
            let file = match source {
                CodeSource::Cohort(file)
                | CodeSource::Vocabulary(file)
                | CodeSource::Model(file) => file,
                CodeSource::Rules => "the rules",
            };
            if self.concepts > 0 {
                let codes = count(self.concepts as u64, "code");
                writeln!(out, "  {file} has {codes} of which the OMOP concepts are known")?;
            }
            for spoken in &self.spoken {
                writeln!(out, "  {file} has {spoken}")?;
            }
            writeln!(out, "  {} left out: {file} has no such code", number(self.unknown as u64))?;
            if self.lacks_list {
                writeln!(out, "  rules for categories need a list of all codes too")?;
            }
        }
        if self.without_ages > 0 {
            let left_out = number(self.without_ages as u64);
            writeln!(out, "  {left_out} left out: they limit ages, and no age bands are known")?;
        }
        if self.within_bands > 0 {
            let left_out = number(self.within_bands as u64);
            writeln!(
                out,
                "  {left_out} left out: no age band lies outside the ages that they allow"
            )?;
        }
        for (left_out, why) in [
            (self.broken, "the records break them"),
            (self.without_probability, "nobody knows how likely what they say is"),
            (self.cyclic, "soft rules that would depend on themselves"),
        ] {
            if left_out > 0 {
                writeln!(out, "  {} left out: {why}", number(left_out as u64))?;
            }
        }
        if self.repeated > 0 {
            writeln!(out, "  {} stated more than once", number(self.repeated as u64))?;
        }
        Ok(())
    }
}
