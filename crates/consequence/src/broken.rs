//! Real records that break rules: what reality answers.

use std::cmp::Reverse;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_enforce::{Audit, Auditor};
use consequence_mine::MOST_BROKEN;
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{Error, Unwatched};
use consequence_record::Selection;
use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
use serde::Serialize;

/// Rules named in a message; the rest are counted.
const NAMED: usize = 5;

/// Real records that break hard rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BrokenRecords {
    /// Records that were looked at.
    pub of: u64,
    /// Records that break at least one.
    pub records: u64,
    /// The rules that they break, the most often broken first.
    pub rules: Vec<BrokenBy>,
}

/// A rule that some records break.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenBy {
    /// Its name.
    pub rule: String,
    /// The file that it was written in.
    pub file: String,
    /// Records that break it.
    pub records: u64,
}

impl BrokenRecords {
    /// Looks at records.
    pub(crate) fn find(rules: &Arc<RuleSet>, records: Selection<'_>) -> Result<Self, Error> {
        let written = WrittenRules::new(Arc::clone(rules), &CompileLimits::default())
            .map_err(|error| Error::compile(rules, error))?;
        Ok(Self::of(rules, &Auditor::new(&written).audit(records, 0, &Unwatched)))
    }

    /// What an audit found.
    pub(crate) fn of(rules: &RuleSet, audit: &Audit) -> Self {
        let broken = rules.iter().zip(&audit.rules);
        let mut broken: Vec<BrokenBy> = broken
            .filter(|(_, finding)| finding.records > 0)
            .map(|(rule, finding)| BrokenBy {
                rule: rule.name.to_string(),
                file: rule.origin.file.to_string(),
                records: finding.records,
            })
            .collect();
        broken.sort_by_key(|rule| Reverse(rule.records));
        let records = audit.records - audit.valid_records;
        Self { of: audit.records, records, rules: broken }
    }

    /// Rules that more than one record in a hundred breaks.
    pub(crate) fn often_broken(&self) -> impl Iterator<Item = &BrokenBy> {
        self.rules.iter().filter(|rule| rule.records as f64 > MOST_BROKEN * self.of as f64)
    }

    /// Refuses rules that more than one record in a hundred breaks.
    pub(crate) fn refuse_often_broken<'a>(
        &self,
        rules: impl Iterator<Item = &'a BrokenBy>,
    ) -> Result<(), Error> {
        let lines: Vec<String> = rules.map(|rule| self.line(rule)).collect();
        match lines.len() {
            0 => Ok(()),
            broken => Err(Error::refused(
                format!(
                    "more than 1 real record in 100 breaks {}: a rule that reality breaks so often is \
                     more likely wrong than the records are\n{}",
                    if broken == 1 { "a hard rule" } else { "hard rules" },
                    lines.join("\n")
                ),
                "correct the rules, make them soft (`with probability`), or give {accept_broken} to \
                 keep them as they are",
            )),
        }
    }

    /// A rule and how many records break it.
    fn line(&self, rule: &BrokenBy) -> String {
        let BrokenBy { rule, file, records } = rule;
        let share = 100.0 * *records as f64 / self.of.max(1) as f64;
        format!("  {} ({share:.2}%): {rule} of {file}", count(*records, "record"))
    }

    /// How many break which rules, in one line without an end.
    pub(crate) fn sentence(&self) -> String {
        match self.records {
            0 => format!("every one of {} obeys every hard rule", count(self.of, "real record")),
            records => format!(
                "{} of {} {} {}",
                number(records),
                count(self.of, "real record"),
                if records == 1 { "breaks" } else { "break" },
                count(self.rules.len() as u64, "hard rule")
            ),
        }
    }
}

/// The sentence, then the rules that are broken most often.
impl Display for BrokenRecords {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.sentence())?;
        for rule in self.rules.iter().take(NAMED) {
            writeln!(out, "{}", self.line(rule))?;
        }
        match self.rules.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => {
                writeln!(
                    out,
                    "  and {} more rules (all in the report as JSON)",
                    number(more as u64)
                )
            }
        }
    }
}
