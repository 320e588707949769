//! The report of a training, as a person reads it.

use std::fmt::{self, Display, Formatter};

use consequence_model::{Epoch, ModelKind};

use super::report::{TrainReport, TrainRules, TrainedNetwork};
use consequence_pipeline::words::{count, number};

impl Display for TrainReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let what = match self.generator {
            ModelKind::Halo => "a network",
            ModelKind::Markov => "a Markov model",
        };
        let records = count(self.train_records as u64, "record");
        writeln!(out, "{}: {what} that trained on {records} of {}", self.out, self.cohort)?;
        writeln!(
            out,
            "  {} and {} of encounters; up to {}",
            count(self.static_codes as u64, "static code"),
            number(self.encounter_codes as u64),
            count(self.max_visits as u64, "encounter")
        )?;
        if let Some(network) = self.network {
            writeln!(out, "  {network}")?;
        }
        self.rules.fmt(out)?;
        if self.was_finished {
            writeln!(out, "  it was finished before: nothing was to be done")?;
        }
        self.table(out)?;
        if let (Some(seconds), Some(rate)) = (self.seconds, self.records_per_second) {
            writeln!(out, "\n{seconds:.1} seconds training, {rate:.0} records a second")?;
        }
        Ok(())
    }
}

impl TrainReport {
    fn table(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.epochs.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n  nats a record  {:>9}  {:>9}", "train", "tuning")?;
        for &Epoch { epoch, train_nats, tuning_nats } in &self.epochs {
            let best = if Some(epoch) == self.best_epoch { "  kept" } else { "" };
            writeln!(out, "  epoch {epoch:>7}  {train_nats:>9.3}  {tuning_nats:>9.3}{best}")?;
        }
        Ok(())
    }
}

impl Display for TrainedNetwork {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}, width {}, {}, {}: {}",
            count(self.sizes.layers as u64, "layer"),
            self.sizes.width,
            count(self.sizes.heads as u64, "head"),
            count(self.sizes.head_units as u64, "head unit"),
            count(self.parameters as u64, "parameter")
        )
    }
}

impl Display for TrainRules {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let rules = self.hard + self.soft;
        if rules == 0 {
            return writeln!(out, "  no rules");
        }
        let part = match self.mode.as_str() {
            "off" => "no part in training".to_owned(),
            mode => format!("training mode {mode}"),
        };
        let (hard, soft) = (number(self.hard as u64), number(self.soft as u64));
        writeln!(out, "  {} ({hard} hard, {soft} soft); {part}", count(rules as u64, "rule"))?;
        match self.broken.records {
            0 => writeln!(out, "  every record to train on obeys every hard rule"),
            records => {
                let breaks = if records == 1 { "breaks" } else { "break" };
                let rules = count(self.broken.rules.len() as u64, "hard rule");
                writeln!(out, "  {} to train on {breaks} {rules}", count(records, "record"))
            }
        }
    }
}
