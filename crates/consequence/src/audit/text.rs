//! What an audit found, for people.

use std::fmt::{self, Display, Formatter};

use consequence_pipeline::words::{count, list, number, percent};

use super::{AuditReport, BrokenRule, BrokenVisit, ExplainedRecord, ExplainedViolation};
use crate::look::Room;

impl Display for AuditReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let split = self.split.map_or_else(String::new, |split| format!(" ({split} split)"));
        writeln!(
            out,
            "{}{split}: {}, {}, against {} of {}",
            self.cohort,
            count(self.records, "record"),
            count(self.encounters, "encounter"),
            count(self.rules_checked as u64, "hard rule"),
            list(&self.files)
        )?;
        if self.refereed {
            writeln!(out, "  the referee judged every record again and agrees")?;
        }
        if self.rules_checked == 0 {
            return writeln!(out, "\nno hard rules: there is nothing that a record could break");
        }
        if self.hidden_rules > 0 {
            let least = count(self.hide_below, "record");
            let rules = count(self.hidden_rules as u64, "rule");
            writeln!(out, "  {rules} broken by fewer than {least}: not told, and counted nowhere")?;
        }
        if let Some(explained) = &self.explained {
            self.write_explained(out, explained)?;
        }
        if self.violations() == 0 {
            return match self.hidden_rules {
                0 => writeln!(out, "\nno violations: every record obeys every hard rule"),
                _ => Ok(()),
            };
        }
        writeln!(
            out,
            "\n{} valid ({} of {})",
            percent(self.valid_records, self.records),
            number(self.valid_records),
            count(self.records, "record")
        )?;
        writeln!(
            out,
            "{}: {} of rules within a visit, {} of rules looking back",
            count(self.violations(), "violation"),
            number(self.within_visit_violations),
            number(self.temporal_violations)
        )?;
        if self.explained.is_none() {
            self.table(out)?;
        }
        let broken = self.broken.len() + self.hidden_rules;
        let kept = self.rules_checked - broken.min(self.rules_checked);
        if kept > 0 {
            writeln!(out, "\n{} broken by no record", count(kept as u64, "rule"))?;
        }
        if self.records_are_lines && self.broken.iter().any(|rule| !rule.examples.is_empty()) {
            writeln!(out, "\nrecord N is line N of {}", self.cohort)?;
        }
        if let Some(listed) = &self.all {
            let violations = count(listed.violations, "violation");
            writeln!(out, "\n{}: {violations}, each with its codes", listed.file)?;
        }
        match &self.html {
            Some(page) => writeln!(out, "\n{page}: the same as a page"),
            None => Ok(()),
        }
    }
}

impl AuditReport {
    fn table(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let shown = &self.broken[..self.top.min(self.broken.len())];
        let width = |heading: &str, cell: &dyn Fn(&BrokenRule) -> usize| {
            shown.iter().map(cell).chain([heading.len()]).max().unwrap_or(0)
        };
        let names = width("rule", &|rule| rule.rule.name.chars().count());
        let violations = width("violations", &|rule| number(rule.violations).len());
        let records = width("records", &|rule| number(rule.records).len());
        if shown.is_empty() {
            return Ok(());
        }
        let row = |out: &mut Formatter<'_>, cells: [&str; 4]| {
            let [name, broken, by, examples] = cells;
            let line =
                format!("  {name:names$}  {broken:>violations$}  {by:>records$}  {examples}");
            writeln!(out, "{}", line.trim_end())
        };
        let examples = shown.iter().any(|rule| !rule.examples.is_empty());
        let first = if examples { "first seen in" } else { "" };
        writeln!(out)?;
        row(out, ["rule", "violations", "records", first])?;
        for rule in shown {
            let examples: Vec<String> = rule.examples.iter().map(ToString::to_string).collect();
            let [broken, by] = [rule.violations, rule.records].map(number);
            row(out, [&rule.rule.name, &broken, &by, &examples.join("; ")])?;
            if let Some(first) = rule.examples.first().filter(|first| !first.why.is_empty()) {
                writeln!(out, "    {} {}", first.subject(), first.why)?;
            }
        }
        match self.broken.len() - shown.len() {
            0 => Ok(()),
            more => writeln!(
                out,
                "  and {} (all in the report as JSON)",
                count(more as u64, "more rule")
            ),
        }
    }
}

impl AuditReport {
    /// The record that was asked for, with its violations after each visit.
    fn write_explained(&self, out: &mut Formatter<'_>, explained: &ExplainedRecord) -> fmt::Result {
        writeln!(out)?;
        let room = Room { visits: usize::MAX, codes: usize::MAX };
        explained.record.write_with(out, room, &|visit, out| {
            for violation in explained.violations.iter().filter(|one| one.visit == visit) {
                let ExplainedViolation { rule, file, line, .. } = violation;
                writeln!(out, "    ! breaks {rule} ({file}:{line}): it {violation}")?;
                let reason = self.broken.iter().find(|one| {
                    (&one.rule.name, one.rule.line) == (rule, *line) && one.rule.file == *file
                });
                if let Some(broken) = reason {
                    writeln!(out, "      {}", broken.rule.text)?;
                    if let Some(reason) = &broken.reason {
                        writeln!(out, "      {reason}")?;
                    }
                }
            }
            Ok(())
        })
    }
}

impl BrokenVisit {
    /// The visit, as a sentence begins with it.
    fn subject(&self) -> &'static str {
        if self.visit == 0 { "the static visit of the first" } else { "the first" }
    }
}

impl Display for BrokenVisit {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "record {}", self.record)?;
        if let Some(id) = &self.id {
            write!(out, " ({})", id.escape_debug())?;
        }
        match self.visit {
            0 => out.write_str(", static"),
            visit => write!(out, ", visit {visit}"),
        }
    }
}
