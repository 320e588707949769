//! The comparison as text.

use std::fmt::{self, Display, Formatter};

use consequence_evaluate::interval_by;
use consequence_pipeline::words::{count as count_of, number};
use consequence_report::Verdict;

use super::{ComparisonReport, Estimate, MethodFigures};

/// Wide enough for every title.
const TITLE: usize = 27;

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
        let effort = &self.effort;
        let [trainings, runs] = [u64::from(effort.trainings), u64::from(effort.runs)];
        let records = count_of(effort.records, "record");
        match trainings {
            1 => writeln!(
                out,
                "one training and {} of {records} for each method; intervals (95%, {}) are over \
                 generations alone\n",
                count_of(runs, "generation"),
                interval_by(runs)
            )?,
            _ => writeln!(
                out,
                "{} and {} of {records} in all for each method; intervals (95%, {}) are over trainings \
                 and generations\n",
                count_of(trainings, "training"),
                count_of(runs, "generation"),
                interval_by(trainings)
            )?,
        }
        writeln!(
            out,
            "{:<TITLE$}{:>17}{:>17}{:>16}{:>18}{:>20}",
            "", "one visit", "temporal", "% valid", "perplexity", "nats"
        )?;
        self.methods.iter().try_for_each(|method| first_line(out, method))?;
        writeln!(
            out,
            "\n{:<TITLE$}{:>17}{:>17}{:>16}{:>18}{:>20}",
            "", "R2 code", "R2 pair", "R2 sequential", "s trained", "ms a record"
        )?;
        self.methods.iter().try_for_each(|method| second_line(out, method))?;
        for one in &self.left_out {
            writeln!(out, "{:<TITLE$}left out: {}", one.title, one.because)?;
        }
        let count = |wanted: fn(&Verdict) -> bool| {
            self.findings.iter().filter(|finding| wanted(&finding.verdict)).count()
        };
        writeln!(
            out,
            "\nfindings of the paper: {} seen again, {} not, {} without a clear difference, {} not comparable",
            count(|verdict| *verdict == Verdict::Confirmed),
            count(|verdict| *verdict == Verdict::Contradicted),
            count(|verdict| *verdict == Verdict::Unclear),
            count(|verdict| matches!(verdict, Verdict::NotComparable(_)))
        )?;
        self.gains.iter().try_for_each(|gain| writeln!(out, "{}", gain.finding))?;
        writeln!(out, "report: {}\nfigures: {}", self.report, self.metrics)
    }
}

fn shown(figure: Option<Estimate>, digits: usize) -> String {
    figure.map_or("-".to_owned(), |figure| format!("{figure:.digits$}"))
}

fn first_line(out: &mut Formatter<'_>, method: &MethodFigures) -> fmt::Result {
    let (found, trained) = (&method.generation, &method.over_trainings);
    let perplexity = match (&method.prediction, trained.perplexity) {
        (Some(first), Some(figure)) if !first.normalised => format!("({figure:.3})"),
        (_, figure) => shown(figure, 3),
    };
    writeln!(
        out,
        "{:<TITLE$}{:>17}{:>17}{:>16}{:>18}{:>20}",
        method.title,
        shown(found.within_visit_violations, 1),
        shown(found.temporal_violations, 1),
        shown(found.valid_percent, 2),
        perplexity,
        shown(trained.all_nats, 0),
    )
}

fn second_line(out: &mut Formatter<'_>, method: &MethodFigures) -> fmt::Result {
    let found = &method.generation;
    let [code, pair, sequence] = found.r2.map(|figure| shown(figure, 3));
    writeln!(
        out,
        "{:<TITLE$}{code:>17}{pair:>17}{sequence:>16}{:>18}{:>20}",
        method.title,
        shown(method.over_trainings.seconds, 1),
        shown(found.milliseconds, 4),
    )
}
