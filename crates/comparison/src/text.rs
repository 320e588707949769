//! The comparison as text.

use std::fmt::{self, Display, Formatter};

use consequence_pipeline::words::{count as count_of, number};
use consequence_report::Verdict;

use super::{ComparisonReport, MethodFigures};

impl Display for ComparisonReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let records = &self.records;
        writeln!(
            out,
            "{}: {} train records, {} held out, {} codes; {} rules within a visit, {} temporal and {} soft ones",
            self.cohort,
            number(records.train as u64),
            number(records.held_out as u64),
            number(records.codes as u64),
            self.rules.within_visit_rules,
            self.rules.temporal_rules,
            self.rules.soft_rules,
        )?;
        writeln!(
            out,
            "{} of {} for each method\n",
            count_of(self.effort.runs.into(), "generation"),
            count_of(self.effort.records, "record")
        )?;
        writeln!(
            out,
            "{:<26}{:>9}{:>10}{:>9}{:>12}{:>26}{:>11}{:>12}",
            "",
            "one visit",
            "temporal",
            "% valid",
            "perplexity",
            "R2 code/pair/sequential",
            "s trained",
            "ms a record"
        )?;
        self.methods.iter().try_for_each(|method| line(out, method))?;
        for one in &self.left_out {
            writeln!(out, "{:<26}left out: {}", one.title, one.because)?;
        }
        let count = |wanted: fn(&Verdict) -> bool| {
            self.findings.iter().filter(|finding| wanted(&finding.verdict)).count()
        };
        writeln!(
            out,
            "\nfindings of the paper: {} seen again, {} not, {} not comparable",
            count(|verdict| *verdict == Verdict::Confirmed),
            count(|verdict| *verdict == Verdict::Contradicted),
            count(|verdict| matches!(verdict, Verdict::NotComparable(_)))
        )?;
        writeln!(out, "report: {}\nfigures: {}", self.report, self.metrics)
    }
}

fn line(out: &mut Formatter<'_>, method: &MethodFigures) -> fmt::Result {
    let found = &method.generation;
    let mean = |figure: Option<consequence_evaluate::Interval>, digits: usize| {
        figure.map_or("-".to_owned(), |figure| format!("{:.digits$}", figure.mean))
    };
    let perplexity = match &method.prediction {
        Some(prediction) => match (prediction.perplexity, prediction.normalised) {
            (Some(figure), true) => format!("{figure:.3}"),
            (Some(figure), false) => format!("({figure:.3})"),
            (None, _) => "-".to_owned(),
        },
        None => "-".to_owned(),
    };
    let r2 = found.r2.map(|figure| mean(figure, 3)).join(" / ");
    writeln!(
        out,
        "{:<26}{:>9}{:>10}{:>9}{:>12}{:>26}{:>11.1}{:>12}",
        method.title,
        mean(found.within_visit_violations, 1),
        mean(found.temporal_violations, 1),
        mean(found.valid_percent, 2),
        perplexity,
        r2,
        method.training.seconds,
        mean(found.milliseconds, 4),
    )
}
