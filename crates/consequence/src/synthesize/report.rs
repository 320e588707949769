//! What was made, in short.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use consequence_evaluate::{Correlations, Likelihood};
use consequence_pipeline::Report;
use consequence_pipeline::words::{count, number};
use serde::Serialize;

use super::rules::{OriginRules, RuleOrigin};
use crate::broken::BrokenRecords;
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
    /// The same by where they come from.
    pub origins: Vec<OriginRules>,
    /// What real records break of them.
    pub broken: BrokenRecords,
    /// Sensible checks that could not be made, and why.
    pub unchecked: Vec<String>,
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
        self.rules.fmt(out)?;
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
        writeln!(out, "  records  {}", self.synthetic.out.as_deref().unwrap_or_default())?;
        writeln!(out, "           R2 of {}", agreement(&self.comparison))?;
        if let Some(fresh) = &self.fresh {
            let records = count(fresh.records, "fresh real record");
            writeln!(out, "           {records}: {}", agreement(&fresh.real))?;
        }
        if let Some(report) = &self.report {
            writeln!(out, "  report   {report}")?;
        }
        writeln!(out, "  all of it, with every figure: {}", self.summary)?;
        self.promise(out)
    }
}

impl SynthesizeReport {
    /// What was promised, by which rules, and what could not be checked.
    fn promise(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let SynthesizeRules { origins, unchecked, .. } = &self.rules;
        let mut hard: BTreeMap<RuleOrigin, usize> = BTreeMap::new();
        for one in origins.iter().filter(|one| one.hard > 0) {
            *hard.entry(one.origin).or_default() += one.hard;
        }
        let by: Vec<String> = hard
            .iter()
            .map(|(origin, &hard)| format!("{} {}", number(hard as u64), origin.name()))
            .collect();
        let records = count(self.synthetic.records, "record");
        writeln!(out)?;
        match (&self.obedience, by.is_empty()) {
            (Some(obedience), false) => {
                let rules = count(hard.values().sum::<usize>() as u64, "hard rule");
                let breaking = obedience.records - obedience.valid_records;
                match breaking {
                    0 => write!(out, "promised: none of {records} breaks any of {rules}")?,
                    several => {
                        let several = number(several);
                        write!(out, "broken: {several} of {records} break some of {rules}")?;
                    }
                }
                writeln!(out, " ({}); proved, and judged record by record", by.join(", "))?;
            }
            _ => writeln!(out, "promised: nothing, as there is no hard rule")?,
        }
        for missing in unchecked {
            writeln!(out, "  not checked: {missing}")?;
        }
        for rule in origins.iter().flat_map(|one| &one.left_out) {
            let records = count(rule.records, "real record");
            writeln!(out, "  left out: {} ({records} break it)", rule.rule)?;
        }
        Ok(())
    }
}

/// Rules by origin, and what reality says of them.
impl Display for SynthesizeRules {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let [hard, soft] = [|one: &OriginRules| one.hard, |one: &OriginRules| one.soft]
            .map(|of| self.origins.iter().map(of).sum::<usize>());
        let all = count((hard + soft) as u64, "rule");
        let [hard_told, soft_told] = [hard, soft].map(|rules| number(rules as u64));
        writeln!(out, "  rules    {all} ({hard_told} hard, {soft_told} soft), proved")?;
        for OriginRules { origin, file, hard, soft, .. } in &self.origins {
            let (hard, soft) = (number(*hard as u64), number(*soft as u64));
            writeln!(out, "           {}: {hard} hard, {soft} soft of {file}", origin.name())?;
        }
        // Each is counted where it is stated first.
        match (self.hard + self.soft).saturating_sub(hard + soft) {
            0 => {}
            1 => writeln!(out, "           1 more says what another says")?,
            more => writeln!(out, "           {} more say what others say", number(more as u64))?,
        }
        writeln!(out, "           {}", self.broken.sentence())
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
