//! What was generated.

use std::fmt::{self, Display, Formatter};

use consequence_model::{CARD_FILE, Card, ModelKind};
use consequence_pipeline::load::LoadedRules;
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{Out, Report};
use consequence_rules::RuleSet;
use consequence_sample::{Drawing, Mode, Phases, Totals, Written};
use serde::Serialize;

use super::GenerateTask;

/// What was generated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GenerateReport {
    /// The model, as the user named it.
    pub model: String,
    /// What kind of model it is.
    pub generator: ModelKind,
    /// The cohort that was written, if one was.
    pub out: Option<String>,
    /// How rules and model worked together.
    pub mode: Mode,
    /// What the draws depend on.
    pub seed: u64,
    /// The rule files; the model's folder where its own rules were taken.
    pub files: Vec<String>,
    /// Hard rules that every record obeys.
    pub hard_rules: usize,
    /// Soft rules that were drawn.
    pub soft_rules: usize,
    /// Whether more than the static visit was given, so that records were drawn until they were as asked.
    pub of_groups: bool,
    /// Records that the cohort has.
    pub records: u64,
    /// Records that an earlier run had written, in files that are as they were then.
    pub kept: u64,
    /// Records that the referee judged in this run.
    pub judged: u64,
    /// Files that were not as an earlier run had written them, and were written again.
    pub rewritten: Vec<String>,
    /// What this run wrote.
    #[serde(rename = "written")]
    pub totals: Totals,
    /// Proposals for a record that were worth something, where they were weighed.
    pub effective_proposals: Option<f64>,
    /// The probability that a record obeys the rules which the model writes without them, as far as
    /// proposals tell.
    pub obeying: Option<f64>,
    /// Seconds of generating.
    pub seconds: f64,
    /// Seconds with what comes before it: reading the model, compiling the rules.
    pub seconds_in_all: f64,
    /// Records written in a second of generating.
    pub records_per_second: f64,
    /// What drew the records, and what each part of the work took.
    pub drawing: Drawing,
    /// What looked odd, rendered.
    pub warnings: Vec<String>,
}

impl GenerateReport {
    pub(super) fn new(
        task: &GenerateTask,
        card: &Card,
        (loaded, trained_with): (&LoadedRules, Option<&RuleSet>),
        of_groups: bool,
        (written, drawing): (Written, Drawing),
        (seconds_in_all, seconds): (f64, f64),
    ) -> Self {
        let obeys = task.mode.obeys();
        let rules = &loaded.rules;
        let hard = rules.hard().count();
        let Written { kept, rewritten, totals } = written;
        let mut warnings: Vec<String> =
            loaded.warnings.iter().map(|warning| warning.render()).collect();
        warnings.extend(unfit(card, task.mode));
        warnings.extend(left_out(trained_with, rules, task.mode));
        Self {
            model: task.model.to_string(),
            generator: card.kind,
            out: task.out.as_ref().map(Out::shown),
            mode: task.mode,
            seed: task.seed,
            files: loaded.files.clone(),
            hard_rules: if obeys { hard } else { 0 },
            soft_rules: if task.mode.draws_soft_rules() { rules.len() - hard } else { 0 },
            of_groups,
            records: task.records,
            kept,
            judged: if obeys { totals.records } else { 0 },
            rewritten,
            effective_proposals: totals.effective_proposals(),
            obeying: totals.obeying(),
            seconds,
            seconds_in_all,
            records_per_second: totals.records as f64 / seconds.max(1e-9),
            drawing,
            totals,
            warnings,
        }
    }
}

impl Report for GenerateReport {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl GenerateReport {
    /// What the parts of the work took, where a GPU drew the records.
    fn on_gpu(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Drawing { slots: Some(slots), left_by_gpu, phases, .. } = self.drawing else {
            return Ok(());
        };
        let Phases { opening, drawing, judging, writing } = phases;
        writeln!(
            out,
            "  the GPU was ready after {opening:.1} s and drew for {drawing:.2} s, {} at a time; beside that judging took {:.2} s \
             and writing {writing:.2} s",
            count(slots as u64, "record"),
            judging.unwrap_or_default(),
        )?;
        match left_by_gpu {
            0 => Ok(()),
            left => writeln!(
                out,
                "  {} had no room there, and the CPU drew them",
                count(left, "record")
            ),
        }
    }

    /// Who judged the records, and when.
    fn judgement(&self) -> String {
        match self.kept {
            0 => "the referee judged every one".into(),
            kept if kept == self.records => {
                "the referee judged them when they were written, and their files are unchanged"
                    .into()
            }
            kept => format!(
                "the referee judged {} now, and {} when they were written: their files are unchanged",
                number(self.judged),
                number(kept)
            ),
        }
    }
}

/// A warning where a model is left to decide what rules decided in training.
fn unfit(card: &Card, mode: Mode) -> Option<String> {
    let taught = card.train_mode != "off";
    let needs_all = matches!(mode, Mode::Off | Mode::Reject | Mode::Exact);
    (taught && needs_all).then(|| {
        format!(
            "warning: mode `{mode}` is for models trained without rules\n  = help: this one was \
             not trained where its rules decide; take mode `guided`, or train with mode `off`\n"
        )
    })
}

/// A warning where rules are not in force that decided codes in training.
fn left_out(trained_with: Option<&RuleSet>, rules: &RuleSet, mode: Mode) -> Option<String> {
    let lacking = trained_with?.lacking_in(rules).filter(|(_, rule)| rule.is_hard());
    let missing = lacking.count() as u64;
    let obeys = matches!(mode, Mode::Guided | Mode::Override);
    (obeys && missing > 0).then(|| {
        format!(
            "warning: the model was trained with {} that {} not in force\n  = help: it was not \
             trained where they decide, and may write what they forbid; give them too: they are in \
             {CARD_FILE}\n",
            count(missing, "hard rule"),
            if missing == 1 { "is" } else { "are" }
        )
    })
}

impl Display for GenerateReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let obeying = match self.hard_rules {
            0 if self.mode.obeys() => "; there is no hard rule to obey".to_owned(),
            0 => ", with no regard for rules".to_owned(),
            1 => format!(", each obeying the hard rule ({})", self.judgement()),
            hard => {
                let rules = count(hard as u64, "hard rule");
                format!(", each obeying all {rules} ({})", self.judgement())
            }
        };
        let records = count(self.records, "record");
        if let Some(file) = &self.out {
            write!(out, "{file}: ")?;
        }
        writeln!(out, "{records} generated by {}{obeying}", self.model)?;
        let totals = &self.totals;
        if !self.rewritten.is_empty() {
            let files = count(self.rewritten.len() as u64, "file");
            writeln!(out, "  {files} not as written before, and made again:")?;
            self.rewritten.iter().try_for_each(|name| writeln!(out, "    {name}"))?;
        }
        match self.kept {
            0 => {}
            kept if kept == self.records => {
                return writeln!(out, "  they were there already: nothing was missing");
            }
            kept => writeln!(
                out,
                "  {} were there already; what follows is of the other {}",
                number(kept),
                number(totals.records)
            )?,
        }
        writeln!(
            out,
            "  {} ({:.2} a record), {:.2} codes an encounter",
            count(totals.encounters, "encounter"),
            totals.encounters as f64 / totals.records.max(1) as f64,
            totals.codes_per_visit()
        )?;
        if self.hard_rules + self.soft_rules > 0 && self.mode != Mode::Reject {
            let turned = count(totals.overruled, "code");
            writeln!(out, "  mode {}: rules decided {turned} otherwise than drawn", self.mode)?;
        }
        let rejected = count(totals.rejected, "attempt");
        match (self.mode, self.of_groups) {
            (Mode::Reject, false) => {
                writeln!(out, "  mode reject: {rejected} broke a rule and were drawn again")?;
            }
            (Mode::Reject, true) => writeln!(
                out,
                "  mode reject: {rejected} broke a rule or were not as given, and were drawn again"
            )?,
            (Mode::Exact, _) | (_, false) => {}
            (_, true) => writeln!(out, "  {rejected} were not as given, and were drawn again")?,
        }
        if let (Some(worth), Some(obeying)) = (self.effective_proposals, self.obeying) {
            writeln!(
                out,
                "  the proposals for a record are worth {worth:.1} on average; left alone, the \
                 model would obey the rules and conditions in {:.2}% of records",
                100.0 * obeying
            )?;
        }
        if totals.truncated > 0 {
            let full = count(totals.truncated, "record");
            writeln!(out, "  {full} ended because the model writes no more encounters")?;
        }
        writeln!(
            out,
            "{:.1} seconds generating, {:.0} records a second",
            self.seconds, self.records_per_second
        )?;
        self.on_gpu(out)
    }
}
