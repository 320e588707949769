//! What became of a table, as a person reads it.

use std::fmt::{self, Display, Formatter};

use super::RulesFromReport;
use crate::CodeSource;
use consequence_pipeline::words::{count, number};

impl Display for RulesFromReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{}: {} from {} ({})",
            self.out,
            count(self.rules as u64, "rule"),
            self.file,
            self.about
        )?;
        for kind in &self.kinds {
            writeln!(out, "  {:>6}  {}", number(kind.rules as u64), kind.limit)?;
        }
        writeln!(out, "\nthe table has {} on codes", count(self.entries as u64, "limit"))?;
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
            writeln!(out, "  {} left out: {file} has no such code", number(self.unknown as u64))?;
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
        if self.repeated > 0 {
            writeln!(out, "  {} stated more than once", number(self.repeated as u64))?;
        }
        Ok(())
    }
}
