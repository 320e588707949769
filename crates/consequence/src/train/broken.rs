//! Records to train on that break a rule.

use std::cmp::Reverse;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_enforce::{Auditor, Reader, Violation};
use consequence_record::Cohort;
use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
use rayon::prelude::*;
use serde::Serialize;

use consequence_pipeline::Error;
use consequence_pipeline::words::{count, number};

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
    /// Looks at some records of a cohort, by their places.
    pub(super) fn find(
        rules: &Arc<RuleSet>,
        cohort: &Cohort,
        places: &[usize],
    ) -> Result<Self, Error> {
        let written = WrittenRules::new(Arc::clone(rules), &CompileLimits::default())
            .map_err(|error| Error::compile(rules, error))?;
        let auditor = Auditor::new(&written);
        let broken_by = |reader: &mut Reader<'_>, found: &mut Vec<Violation>, place: usize| {
            reader.violations(cohort.record(place), found);
            let mut rules: Vec<usize> = found.iter().map(|violation| violation.rule).collect();
            rules.sort_unstable();
            rules.dedup();
            rules
        };
        let found: Vec<Vec<usize>> = places
            .par_iter()
            .map_init(
                || (auditor.reader(), Vec::new()),
                |(reader, found), &place| broken_by(reader, found, place),
            )
            .collect();
        let mut counts = vec![0u64; rules.len()];
        found.iter().flatten().for_each(|&rule| counts[rule] += 1);
        let broken = rules.iter().zip(counts).filter(|&(_, records)| records > 0);
        let mut broken: Vec<BrokenBy> = broken
            .map(|(rule, records)| BrokenBy { rule: rule.name.to_string(), records })
            .collect();
        broken.sort_by_key(|rule| Reverse(rule.records));
        let records = found.iter().filter(|rules| !rules.is_empty()).count() as u64;
        Ok(Self { records, rules: broken })
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
