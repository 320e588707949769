//! `consequence demo`: each step printed as the command that a user would type.

use std::path::Path;

use consequence::audit::{AuditOptions, audit};
use consequence::check::{CheckOptions, check};
use consequence::demo::Clinic;
use consequence::enforce::{EnforceOptions, enforce};
use consequence::{Error, Inputs};

use super::Outcome;
use crate::args::DemoArguments;
use crate::bar::Bar;
use crate::output;

pub fn run(arguments: &DemoArguments, seed: u64) -> Result<Outcome, Error> {
    let bar = Bar::default();
    let clinic = Clinic::in_folder(&arguments.out);
    clinic.write(arguments.records, seed, arguments.force)?;
    let [rules, codes, cohort, repaired] =
        [&clinic.rules, &clinic.vocabulary, &clinic.cohort, &clinic.repaired]
            .map(|path| shown(path));
    output::data(&format!(
        "A small clinic: its rules are in {rules}, its codes in {codes},\n\
         its records in {cohort}. The records were drawn without a thought for the rules.\n"
    ));

    let inputs = |cohort: &Path| Inputs {
        rules: vec![clinic.rules.clone()],
        cohort: Some(cohort.to_path_buf()),
        vocabulary: Some(clinic.vocabulary.clone()),
        ..Inputs::default()
    };
    step("Can the rules always be kept?", &format!("check {rules} --vocabulary {codes}"));
    let report =
        check(&Inputs { cohort: None, ..inputs(&clinic.cohort) }, &CheckOptions::default(), &bar)?;
    output::data(&report.to_string());

    step(
        "Do the records obey them?",
        &format!("audit {cohort} --rules {rules} --vocabulary {codes} --referee"),
    );
    let options = AuditOptions { referee: true, ..AuditOptions::default() };
    output::data(&audit(&inputs(&clinic.cohort), &options, &bar)?.to_string());

    step(
        "Repair them.",
        &format!("enforce {cohort} --rules {rules} --vocabulary {codes} --out {repaired}"),
    );
    let out = clinic.repaired.clone();
    let repair = EnforceOptions { out, force: arguments.force, seed, ..EnforceOptions::default() };
    output::data(&enforce(&inputs(&clinic.cohort), &repair, &bar)?.to_string());

    step("And now?", &format!("audit {repaired} --rules {rules} --vocabulary {codes} --referee"));
    let report = audit(&inputs(&clinic.repaired), &options, &bar)?;
    output::data(&report.to_string());
    Ok(Outcome::found(report.violations() > 0))
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
