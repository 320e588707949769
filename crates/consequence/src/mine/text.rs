//! What was mined, as a person reads it.

use std::fmt::{self, Display, Formatter};

use consequence_mine::{Dropped, Reason};

use super::MineReport;
use consequence_pipeline::words::{count, number};

/// Contradicted rules listed in the text; the rest are counted.
const SHOWN: usize = 10;

impl Display for MineReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mined = &self.mined;
        writeln!(
            out,
            "{}: {} found in {} ({} hard, {} soft)",
            self.out,
            count(mined.rules.len() as u64, "rule"),
            self.cohort,
            number(self.hard_rules as u64),
            number(self.soft_rules as u64)
        )?;
        writeln!(
            out,
            "  mined in the train split: {}, {}",
            count(mined.train_records, "record"),
            count(mined.train_visits, "encounter")
        )?;
        match mined.tuning_records {
            0 => writeln!(out, "  no record is in the tuning split, so nothing contradicted them")?,
            records => {
                writeln!(out, "  held against the tuning split: {}", count(records, "record"))?;
            }
        }
        match mined.rules.is_empty() {
            true => writeln!(
                out,
                "\nno rules: nothing here shows the evidence that a rule needs\n  \
                 more records would show more, and so would a lower minimum of support"
            )?,
            false => {
                writeln!(
                    out,
                    "  proved: no input can end in a violation ({} shown, for up to {})",
                    count(self.proof.statements as u64, "statement"),
                    count(self.proof.max_visits.into(), "encounter")
                )?;
                self.table(out)?;
            }
        }
        self.left_out(out)?;
        let tried: u64 = mined.tried.iter().map(|tried| tried.candidates).sum();
        let without: u64 = mined.tried.iter().map(|tried| tried.without_exception).sum();
        let probability: u64 = mined.tried.iter().map(|tried| tried.by_chance).sum();
        writeln!(
            out,
            "\n{} tried: {} without an exception, {} of which are no more than chance would show",
            count(tried, "candidate"),
            number(without),
            number(probability)
        )?;
        let times = &self.seconds;
        writeln!(
            out,
            "{:.1} seconds reading, {:.1} mining, {:.1} proving",
            times.reading, times.mining, times.proving
        )
    }
}

impl MineReport {
    fn table(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let width = self.templates.iter().map(|row| row.template.heading().len()).max();
        let width = width.unwrap_or(0);
        writeln!(out, "\n  {:width$}  {:>6}  {:>6}", "", "hard", "soft")?;
        for row in &self.templates {
            writeln!(
                out,
                "  {:width$}  {:>6}  {:>6}",
                row.template.heading(),
                number(row.hard as u64),
                number(row.soft as u64)
            )?;
        }
        Ok(())
    }

    fn left_out(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let dropped = &self.mined.dropped;
        if dropped.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nleft out, though they looked like rules:")?;
        let of = |reason: Reason| -> Vec<&Dropped> {
            dropped.iter().filter(|one| one.reason == reason).collect()
        };
        let contradicted = of(Reason::Contradicted);
        let (doubted, crowded) = (of(Reason::Doubted).len(), of(Reason::Crowded).len());
        if doubted > 0 {
            let doubted = number(doubted as u64);
            writeln!(out, "  {doubted} doubted: rare exceptions are too likely")?;
        }
        if crowded > 0 {
            let crowded = number(crowded as u64);
            writeln!(out, "  {crowded} soft ones whose code a stronger soft rule decides")?;
        }
        if contradicted.is_empty() {
            return Ok(());
        }
        let all = number(contradicted.len() as u64);
        writeln!(out, "  {all} contradicted by the tuning split:")?;
        for Dropped { rule, .. } in contradicted.iter().take(SHOWN) {
            let (failed, all) = (number(rule.tuning.exceptions), number(rule.tuning.support));
            writeln!(out, "    {} (broken {failed} times of {all})", rule.statement)?;
        }
        match contradicted.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(
                out,
                "    and {} more (all in the comments of the file)",
                number(more as u64)
            ),
        }
    }
}
