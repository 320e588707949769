//! `consequence demo --clinic`: rules written by hand, proved, and records repaired by them.

use std::path::Path;

use consequence::audit::{AuditOptions, audit};
use consequence::check::{CheckOptions, check};
use consequence::demo::Clinic;
use consequence::enforce::{EnforceOptions, enforce};
use consequence::{Error, Inputs};

use super::{shown, step};
use crate::bar::Bar;
use crate::commands::Outcome;
use crate::output;

pub fn run(folder: &Path, records: u64, seed: u64, force: bool) -> Result<Outcome, Error> {
    let bar = Bar::default();
    let clinic = Clinic::in_folder(folder);
    let _lock = clinic.write(records, seed, force)?;
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
    let repair = EnforceOptions { out, force, seed, ..EnforceOptions::default() };
    output::data(&enforce(&inputs(&clinic.cohort), &repair, &bar)?.to_string());

    step("And now?", &format!("audit {repaired} --rules {rules} --vocabulary {codes} --referee"));
    let report = audit(&inputs(&clinic.repaired), &options, &bar)?;
    output::data(&report.to_string());
    Ok(Outcome::found(report.violations() > 0))
}
