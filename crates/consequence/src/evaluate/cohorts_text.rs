//! How close generated records come to real ones, as a person reads it.

use std::fmt::{self, Display, Formatter};

use consequence_evaluate::{CohortShape, Correlation, Correlations};
use consequence_pipeline::words::{count, number, percent};

use super::cohorts::{EvaluateReport, Obedience};

/// Lengths that have a row of their own; longer ones share the last.
const LENGTHS: usize = 8;

impl Display for EvaluateReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (real, synthetic) = (&self.comparison.real, &self.comparison.synthetic);
        let split = if self.of_train_split { " (train split)" } else { "" };
        writeln!(
            out,
            "{}: {}, beside {} of {}{split}",
            self.synthetic,
            count(synthetic.records, "record"),
            count(real.records, "record"),
            self.real
        )?;
        self.agreement(out)?;
        self.shapes(out)?;
        self.groups(out)?;
        write!(out, "\n{}", self.timing)?;
        if let Some(obedience) = &self.obedience {
            write!(out, "\n{obedience}")?;
        }
        if let Some(deep) = &self.deep {
            write!(out, "\n{}\n{}", deep.utility, deep.privacy)?;
        }
        match &self.report {
            Some(report) => writeln!(out, "\nreport: {report}"),
            None => Ok(()),
        }
    }
}

impl EvaluateReport {
    /// The table of R2.
    fn agreement(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let all = &self.comparison;
        let mut rows = vec![("synthetic".to_owned(), all.synthetic.records, all.all)];
        if let Some(fresh) = &self.fresh {
            if fresh.synthetic_records < all.synthetic.records {
                rows.push(("some of them".into(), fresh.synthetic_records, fresh.synthetic));
            }
            rows.push(("fresh real records".into(), fresh.records, fresh.real));
        }
        rows.push(("synthetic, rare codes".into(), all.synthetic.records, all.rare));
        let titles = ["records", "codes", "pairs", "in sequence"];
        let [records, codes, pairs, sequence] = titles;
        writeln!(
            out,
            "\n  {:22} {records:>9} {codes:>9} {pairs:>9} {sequence:>12}",
            "R2 of frequencies"
        )?;
        for (name, records, Correlations { code, pair, sequence }) in rows {
            let [code, pair, sequence] = [code, pair, sequence].map(shown);
            writeln!(out, "  {name:22} {:>9} {code:>9} {pair:>9} {sequence:>12}", number(records))?;
        }
        match &self.fresh {
            Some(_) => {
                writeln!(out, "  fresh: real records outside the train split, held out and tuning")?
            }
            None => writeln!(
                out,
                "  no fresh real records to hold them against: the cohort has no split for them"
            )?,
        }
        let share = 100.0 * all.rare_below;
        let rare = count(all.rare.code.keys, "code");
        writeln!(out, "  rare: {rare} in less than {share}% of the real encounters")
    }

    /// The table of groups.
    fn groups(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.strata.is_empty() {
            return Ok(());
        }
        let [codes, pairs, sequence] = ["codes", "pairs", "in sequence"];
        let [records, share] = ["records", "share"];
        writeln!(
            out,
            "\n  {:36} {records:>9} {share:>9} {codes:>9} {pairs:>9} {sequence:>12}",
            "groups, with R2 within them"
        )?;
        for stratum in &self.strata {
            writeln!(out, "  {}", stratum.name)?;
            let rows = [
                ("real", Some(stratum.real), None),
                ("synthetic", Some(stratum.synthetic), Some(stratum.agreement)),
                ("fresh real records", stratum.fresh, Some(stratum.fresh_agreement)),
            ];
            for (name, counted, agreement) in rows {
                let Some(counted) = counted else { continue };
                let figures = agreement.map_or([const { String::new() }; 3], |agreement| {
                    let none = || "-".to_owned();
                    agreement.map_or_else(
                        || [none(), none(), none()],
                        |one| [one.code, one.pair, one.sequence].map(shown),
                    )
                });
                let [code, pair, sequence] = figures;
                let line = format!(
                    "    {name:34} {:>9} {:>8.2}% {code:>9} {pair:>9} {sequence:>12}",
                    number(counted.records),
                    counted.percent()
                );
                writeln!(out, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }

    /// The tables of shapes.
    fn shapes(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (real, synthetic) = (&self.comparison.real, &self.comparison.synthetic);
        writeln!(out, "\n  {:30} {:>10} {:>10}", "", "real", "synthetic")?;
        let means = [
            ("encounters a record", CohortShape::mean_visits as fn(&CohortShape) -> f64),
            ("codes an encounter", CohortShape::mean_codes),
        ];
        for (name, mean) in means {
            writeln!(out, "  {name:30} {:>10.2} {:>10.2}", mean(real), mean(synthetic))?;
        }
        for length in 1..=LENGTHS {
            let of = |shape: &CohortShape| match length == LENGTHS {
                true => shape.visits_per_record.iter().skip(length).sum(),
                false => shape.visits_per_record.get(length).copied().unwrap_or(0),
            };
            if of(real) + of(synthetic) > 0 {
                let more = if length == LENGTHS { " or more" } else { "" };
                let ending = if length == 1 { "" } else { "s" };
                let name = format!("{length}{more} encounter{ending}");
                row(out, &name, [of(real), of(synthetic)], [real.records, synthetic.records])?;
            }
        }
        for (a, b) in real.static_codes.iter().zip(&synthetic.static_codes) {
            let records = [real.records, synthetic.records];
            row(out, &a.code, [a.records, b.records], records)?;
        }
        Ok(())
    }
}

fn row(out: &mut Formatter<'_>, name: &str, parts: [u64; 2], wholes: [u64; 2]) -> fmt::Result {
    let [real, synthetic] =
        [0, 1].map(|side| 100.0 * parts[side] as f64 / wholes[side].max(1) as f64);
    writeln!(out, "  {name:30} {real:>9.2}% {synthetic:>9.2}%")
}

fn shown(figure: Correlation) -> String {
    figure.r2.map_or_else(|| "-".into(), |r2| format!("{r2:.4}"))
}

impl Display for Obedience {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let rules = count(self.hard_rules as u64, "hard rule");
        let (valid, records) = (self.valid_records, self.records);
        writeln!(
            out,
            "{} valid ({} of {}) by {rules}: {}{}",
            percent(valid, records),
            number(valid),
            count(records, "record"),
            count(self.violations, "violation"),
            match self.broken_rules {
                0 => String::new(),
                broken => format!(" of {}", count(broken as u64, "rule")),
            }
        )
    }
}
