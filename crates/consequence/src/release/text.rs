//! A release check as text.

use std::fmt::{self, Display, Formatter};

use consequence_pipeline::words::{count, number};

use super::{Outcome, ReleaseReport};

impl Display for ReleaseReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let verdict = match self.may_leave {
            true => "can leave the house: every check was made and passed",
            false => "cannot leave the house",
        };
        writeln!(out, "{} {verdict}\n", self.synthetic)?;
        for check in &self.checks {
            let (mark, rest) = match &check.outcome {
                Outcome::Passed => ("passed", String::new()),
                Outcome::Failed => ("FAILED", String::new()),
                Outcome::Open(why) => ("OPEN", format!(" ({why})")),
            };
            writeln!(out, "  {mark:6}  {:<24}{}{rest}", check.kind.title(), check.found)?;
            if check.outcome != Outcome::Passed {
                writeln!(out, "          {}\n          = help: {}", check.claim, check.advice)?;
            }
        }
        let coverage = &self.coverage;
        writeln!(
            out,
            "\nrules look at {} of {} that the records have ({})",
            number(coverage.ruled as u64),
            count(coverage.codes as u64, "code"),
            count(coverage.hard_rules as u64, "hard rule")
        )?;
        if !coverage.commonest_free.is_empty() {
            writeln!(out, "  commonest without a rule: {}", coverage.commonest_free.join(", "))?;
        }
        if let Some(page) = &self.page {
            writeln!(out, "\nto read and to sign: {page}")?;
        }
        Ok(())
    }
}
