//! Records to train on that break a rule.

use std::cmp::Reverse;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_enforce::Auditor;
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{Error, Unwatched};
use consequence_record::Selection;
use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
use serde::Serialize;

/// Rules named in a message; the rest are counted.
const NAMED: usize = 5;

/// Records to train on, those of the train split, that break hard rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BrokenRecords {
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
    /// Records that break it.
    pub records: u64,
}

impl BrokenRecords {
    /// Looks at records.
    pub(super) fn find(rules: &Arc<RuleSet>, records: Selection<'_>) -> Result<Self, Error> {
        let written = WrittenRules::new(Arc::clone(rules), &CompileLimits::default())
            .map_err(|error| Error::compile(rules, error))?;
        let audit = Auditor::new(&written).audit(records, 0, &Unwatched);
        let broken = rules.iter().zip(&audit.rules);
        let mut broken: Vec<BrokenBy> = broken
            .filter(|(_, finding)| finding.records > 0)
            .map(|(rule, finding)| BrokenBy {
                rule: rule.name.to_string(),
                records: finding.records,
            })
            .collect();
        broken.sort_by_key(|rule| Reverse(rule.records));
        Ok(Self { records: audit.records - audit.valid_records, rules: broken })
    }
}

/// As a warning, with a newline at the end.
impl Display for BrokenRecords {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let breaks = if self.records == 1 { "breaks" } else { "break" };
        let records = count(self.records, "record");
        writeln!(out, "warning: {records} to train on {breaks} a hard rule")?;
        for BrokenBy { rule, records } in self.rules.iter().take(NAMED) {
            writeln!(out, "  {}: {rule}", count(*records, "record"))?;
        }
        let more = self.rules.len().saturating_sub(NAMED);
        if more > 0 {
            writeln!(out, "  and {} more rules (all in the report as JSON)", number(more as u64))?;
        }
        writeln!(
            out,
            "  = help: nothing is trained where a rule decides; see them with `consequence audit`, \
             repair them with `consequence enforce`"
        )
    }
}
