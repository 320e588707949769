//! What was made, in short.

use std::fmt::{self, Display, Formatter};

use consequence_evaluate::{Correlations, Likelihood};
use consequence_pipeline::Report;
use consequence_pipeline::words::{count, number};
use serde::Serialize;

use crate::check::Verdict;
use crate::evaluate::{FreshSample, Obedience};
use crate::generate::GenerateReport;
use crate::train::TrainReport;

/// What was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SynthesizeReport {
    /// The folder of everything.
    pub out: String,
    /// The real cohort.
    pub cohort: String,
    /// The rules.
    pub rules: SynthesizeRules,
    /// How the model was trained.
    pub model: TrainReport,
    /// What it wrote.
    pub synthetic: GenerateReport,
    /// How well it predicts the held-out split; none: nobody is in it.
    pub likelihood: Option<Likelihood>,
    /// How far the frequencies of generated records agree with those of the train split.
    pub comparison: Correlations,
    /// The same for fresh real records.
    pub fresh: Option<FreshSample>,
    /// How the generated records obey the rules.
    pub obedience: Option<Obedience>,
    /// The report for a reviewer.
    pub report: Option<String>,
    /// The file of this report.
    #[serde(skip)]
    pub summary: String,
}

/// The rules that generated records obey.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SynthesizeRules {
    /// Their files.
    pub files: Vec<String>,
    /// Whether they were mined.
    pub mined: bool,
    /// Rules that must hold.
    pub hard: usize,
    /// Rules that hold with a probability.
    pub soft: usize,
    /// Pairs of rules with opposite demands, which the derived rules keep from meeting.
    pub conflicts: usize,
    /// The proof that they can always be kept.
    pub proof: Verdict,
}

impl Report for SynthesizeReport {
    fn warnings(&self) -> &[String] {
        &self.synthetic.warnings
    }
}

impl Display for SynthesizeReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let records = count(self.synthetic.records, "record");
        writeln!(out, "{}: {records} generated, after those of {}", self.out, self.cohort)?;
        let SynthesizeRules { files, hard, soft, .. } = &self.rules;
        let (all, soft) = (count((hard + soft) as u64, "rule"), number(*soft as u64));
        let hard = number(*hard as u64);
        writeln!(
            out,
            "  rules    {all} ({hard} hard, {soft} soft) of {}, proved",
            files.join(", ")
        )?;
        let model = &self.model;
        match (&model.network, model.best_epoch) {
            (Some(network), Some(epoch)) => {
                let parameters = count(network.parameters as u64, "parameter");
                writeln!(out, "  model    {}: {parameters}, of epoch {epoch}", model.out)?;
            }
            _ => writeln!(out, "  model    {}: a Markov model", model.out)?,
        }
        match self.likelihood.as_ref().map(|likelihood| likelihood.perplexity) {
            Some(Some(perplexity)) => writeln!(
                out,
                "           perplexity {perplexity:.3} per code present, on the held-out split"
            )?,
            Some(None) => {}
            None => writeln!(out, "           no perplexity: nobody is in the held-out split")?,
        }
        write!(out, "  records  {}", self.synthetic.out)?;
        match &self.obedience {
            Some(obedience) => write!(out, ": {obedience}")?,
            None => writeln!(out)?,
        }
        writeln!(out, "           R2 of {}", agreement(&self.comparison))?;
        if let Some(fresh) = &self.fresh {
            let records = count(fresh.records as u64, "fresh real record");
            writeln!(out, "           {records}: {}", agreement(&fresh.real))?;
        }
        if let Some(report) = &self.report {
            writeln!(out, "  report   {report}")?;
        }
        writeln!(out, "  all of it, with every figure: {}", self.summary)
    }
}

fn agreement(figures: &Correlations) -> String {
    let named =
        [("codes", figures.code), ("pairs", figures.pair), ("in sequence", figures.sequence)];
    let each = named.map(|(name, figure)| match figure.r2 {
        Some(r2) => format!("{name} {r2:.4}"),
        None => format!("{name} -"),
    });
    each.join(", ")
}
