//! An audit as a person reads it.

use std::fmt::{self, Display, Formatter};

use super::{AuditReport, BrokenRule, BrokenVisit};
use consequence_pipeline::words::{count, list, number, percent};

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
        if self.violations() == 0 {
            return writeln!(out, "\nno violations: every record obeys every hard rule");
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
        self.table(out)?;
        let kept = self.rules_checked - self.broken.len().min(self.rules_checked);
        if kept > 0 {
            writeln!(out, "\n{} broken by no record", count(kept as u64, "rule"))?;
        }
        if self.records_are_lines && self.broken.iter().any(|rule| !rule.examples.is_empty()) {
            writeln!(out, "\nrecord N is line N of {}", self.cohort)?;
        }
        Ok(())
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
        writeln!(
            out,
            "\n  {:names$}  {:>violations$}  {:>records$}  first seen in",
            "rule", "violations", "records"
        )?;
        for rule in shown {
            let examples: Vec<String> = rule.examples.iter().map(ToString::to_string).collect();
            writeln!(
                out,
                "  {:names$}  {:>violations$}  {:>records$}  {}",
                rule.rule.name,
                number(rule.violations),
                number(rule.records),
                examples.join("; ")
            )?;
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
