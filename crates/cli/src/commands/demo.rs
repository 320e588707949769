//! `consequence demo`: each step printed as the command that a user would type.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use clap::Args;
use consequence::audit::{AuditReport, AuditTask};
use consequence::check::CheckTask;
use consequence::demo::Clinic;
use consequence::enforce::EnforceTask;
use consequence::head::HeadTask;
use consequence::mine::{MineReport, Template};
use consequence::synthesize::{Done, Narrator, Origin, Step, SynthesizeTask, Workspace};
use consequence::train::{ModelChoice, NetworkTask, Preset};
use consequence::{Error, Inputs, Out, RecordInputs, Report, Split, Task, simulate};

use super::Outcome;
use crate::args::records;
use crate::bar::Bar;
use crate::{output, stop};

#[derive(Debug, Args)]
pub struct DemoArguments {
    /// A small clinic instead: rules written by hand, and records that break them
    #[arg(long)]
    pub clinic: bool,
    /// The folder for its files [default: consequence-demo, or consequence-clinic with --clinic]
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Records to make [default: 5000, or 2000 with --clinic]
    #[arg(long, value_name = "NUMBER", value_parser = records)]
    pub records: Option<u64>,
    /// Replace the files of an earlier demo
    #[arg(long)]
    pub force: bool,
}

pub fn run(arguments: &DemoArguments, seed: u64) -> Result<Outcome, Error> {
    let out = |name: &str| {
        let path = arguments.out.clone().unwrap_or_else(|| name.into());
        Out::new(path).replacing(arguments.force)
    };
    match arguments.clinic {
        true => clinic(&out("consequence-clinic"), arguments.records.unwrap_or(2_000), seed),
        false => hospital(out("consequence-demo"), arguments.records.unwrap_or(5_000), seed),
    }
}

/// A simulated hospital: the chain of `synthesize`, told step by step.
fn hospital(out: Out, patients: u64, seed: u64) -> Result<Outcome, Error> {
    let mut network = NetworkTask::of(Preset::TINY);
    network.options.seed = seed;
    let tour = Tour { files: Workspace::new(&out.path), patients, seed, broken: Cell::new(false) };
    let preset = simulate::Preset::Inpatient;
    let origin =
        Origin::Simulated { preset, patients: usize::try_from(patients).unwrap_or(usize::MAX) };
    let task =
        SynthesizeTask { seed, ..SynthesizeTask::new(origin, out, ModelChoice::Network(network)) };
    stop::gently(|| task.narrated(&tour, &Bar::default()))?;
    output::data(
        "\nOpen the report in a browser: it is written for a reviewer.\n\
         Rules of your own, conflicts between them and repairs: consequence demo --clinic\n\
         Every method of the paper on these records:            consequence compare --quick\n",
    );
    Ok(if tour.broken.get() { Outcome::Found } else { Outcome::Done })
}

/// Prints every step of the chain, with two audits that a newcomer would ask for.
struct Tour {
    files: Workspace,
    patients: u64,
    seed: u64,
    /// Whether a generated record breaks a rule.
    broken: Cell<bool>,
}

impl Narrator for Tour {
    fn begins(&self, begun: Step) -> Result<(), Error> {
        let Workspace { cohort, common_sense, never_seen, rules, model, synthetic, report, .. } =
            &self.files;
        let [cohort, sense, unseen, mined, model, synthetic, report] =
            [cohort, common_sense, never_seen, rules, model, synthetic, report]
                .map(|path| shown(path));
        let taught = format!("{sense} {mined}");
        let rules = format!("{sense} {unseen} {mined}");
        let patients = self.patients;
        // One is what `--seed` is without being told.
        let seed = if self.seed == 1 { String::new() } else { format!(" --seed {}", self.seed) };
        let (question, command) = match begun {
            Step::Import | Step::Experts => return Ok(()),
            Step::Simulate => {
                output::data(
                    "Records of a simulated hospital, rules that nobody wrote, and new records \
                     that obey them.\n",
                );
                (
                    "Make records.",
                    format!("simulate inpatient --patients {patients} --out {cohort}{seed}"),
                )
            }
            Step::CommonSense => (
                "What goes without saying?",
                format!("rules common-sense {cohort} --out {sense} --never-seen {unseen}"),
            ),
            Step::Mine => ("Which rules do they obey?", format!("mine {cohort} --out {mined}")),
            Step::Check => {
                ("Can the rules always be kept?", format!("check {rules} --cohort {cohort}"))
            }
            Step::Train => (
                "Train a network on them, with the rules.",
                format!(
                    "train {cohort} --rules {taught} --writing-rules {unseen} --size tiny --out \
                     {model}{seed}"
                ),
            ),
            Step::Generate => (
                "Write new records.",
                format!("generate {model} --records {patients} --out {synthetic}{seed}"),
            ),
            Step::Predict => (
                "How well does the network predict patients that it never saw?",
                format!("evaluate --perplexity {model} --real {cohort}"),
            ),
            Step::Evaluate => (
                "How close do the new records come to the real ones?",
                format!(
                    "evaluate --real {cohort} --synthetic {synthetic} --rules {rules} --out {report}"
                ),
            ),
        };
        step(question, &command);
        Ok(())
    }

    fn done(&self, done: Done<'_>) -> Result<(), Error> {
        let Workspace { cohort, common_sense, never_seen, rules, synthetic, .. } = &self.files;
        let taught = [common_sense, rules];
        let all = [common_sense, never_seen, rules];
        let listed = |files: &[&PathBuf]| -> String {
            files.iter().map(|file| shown(file)).collect::<Vec<_>>().join(" ")
        };
        let [cohort, mined, synthetic] = [cohort, rules, synthetic].map(|path| shown(path));
        match done {
            Done::Imported(report) => output::data(&report.to_string()),
            Done::Simulated(report) => output::data(&report.to_string()),
            Done::CommonSense(report) => output::data(&report.to_string()),
            Done::Experts(report) => output::data(&report.to_string()),
            Done::Mined(report) => {
                output::data(&report.to_string());
                output::data(&format!(
                    "\nThe best supported rule of each kind, as {mined} has it:\n"
                ));
                output::data(&best(report, &self.files.rules));
            }
            Done::Checked(report) => {
                output::data(&report.to_string());
                step(
                    "Do they hold for patients that mining never saw?",
                    &format!("audit {cohort} --rules {} --split held_out", listed(&taught)),
                );
                let split = Some(Split::HeldOut);
                self.audit(|task| AuditTask { split, ..task }, &taught, &self.files.cohort)?;
            }
            Done::Trained(report) => output::data(&report.to_string()),
            Done::Generated(report) => {
                output::data(&report.to_string());
                step(
                    "Do they obey the rules?",
                    &format!("audit {synthetic} --rules {} --referee", listed(&all)),
                );
                let twice = |task| AuditTask { referee: true, ..task };
                self.broken.set(self.audit(twice, &all, &self.files.synthetic)?.found());
                step("What do they look like?", &format!("head {synthetic} --records 2"));
                let look = HeadTask { records: 2, ..HeadTask::new(&self.files.synthetic) };
                output::data(&look.run(&Bar::default())?.to_string());
            }
            Done::Predicted(report) => output::data(&report.to_string()),
            Done::Evaluated(report) => output::data(&report.to_string()),
        }
        Ok(())
    }
}

impl Tour {
    fn audit(
        &self,
        asking: impl FnOnce(AuditTask) -> AuditTask,
        rules: &[&PathBuf],
        cohort: &Path,
    ) -> Result<AuditReport, Error> {
        let inputs = RecordInputs::new(cohort).with_rules(rules.iter().copied());
        let report = asking(AuditTask::new(inputs)).run(&Bar::default())?;
        output::data(&report.to_string());
        Ok(report)
    }
}

/// The rule of each kind with the most occasions to fail, with the comments above it.
fn best(report: &MineReport, file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut shown = String::new();
    for template in Template::ALL {
        let of_kind = report.mined.rules.iter().filter(|rule| rule.template == template);
        let best = of_kind.max_by_key(|rule| (rule.probability.is_none(), rule.train.support));
        let block = best.and_then(|rule| {
            text.split("\n\n").find(|block| block.trim_end().ends_with(&rule.statement))
        });
        if let Some(block) = block {
            shown.push('\n');
            for line in block.trim().lines() {
                shown.push_str(&format!("    {line}\n"));
            }
        }
    }
    shown
}

/// A small clinic: rules written by hand, proved, and records repaired by them.
fn clinic(out: &Out, records: u64, seed: u64) -> Result<Outcome, Error> {
    let bar = Bar::default();
    let clinic = Clinic::in_folder(&out.path);
    let _lock = clinic.write(records, seed, out.force)?;
    let [rules, codes, cohort, repaired] =
        [&clinic.rules, &clinic.vocabulary, &clinic.cohort, &clinic.repaired]
            .map(|path| shown(path));
    output::data(&format!(
        "A small clinic: its rules are in {rules}, its codes in {codes},\n\
         its records in {cohort}. The records were drawn without a thought for the rules.\n"
    ));

    step("Can the rules always be kept?", &format!("check {rules} --vocabulary {codes}"));
    let inputs = Inputs {
        rules: vec![(&clinic.rules).into()],
        vocabulary: Some(clinic.vocabulary.clone()),
        ..Inputs::default()
    };
    let proof = CheckTask { inputs, ..CheckTask::default() }.run(&bar)?;
    output::data(&proof.to_string());

    let inputs = |cohort: &PathBuf| RecordInputs {
        vocabulary: Some(clinic.vocabulary.clone()),
        ..RecordInputs::new(cohort).with_rules([&clinic.rules])
    };
    let audit = |cohort: &PathBuf| {
        let report = AuditTask { referee: true, ..AuditTask::new(inputs(cohort)) }.run(&bar)?;
        output::data(&report.to_string());
        Ok::<_, Error>(report)
    };
    step(
        "Do the records obey them?",
        &format!("audit {cohort} --rules {rules} --vocabulary {codes} --referee"),
    );
    audit(&clinic.cohort)?;

    step(
        "Repair them.",
        &format!("enforce {cohort} --rules {rules} --vocabulary {codes} --out {repaired}"),
    );
    let target = Out::new(&clinic.repaired).replacing(out.force);
    let repair = EnforceTask { seed, ..EnforceTask::new(inputs(&clinic.cohort), target) };
    output::data(&repair.run(&bar)?.to_string());

    step("And now?", &format!("audit {repaired} --rules {rules} --vocabulary {codes} --referee"));
    let found = audit(&clinic.repaired)?.found();
    Ok(if found { Outcome::Found } else { Outcome::Done })
}

fn step(question: &str, command: &str) {
    output::data(&format!("\n== {question}\n$ consequence {command}\n\n"));
}

/// A path as it is typed: in quotes where a shell would take it apart.
fn shown(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-".contains(letter);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
