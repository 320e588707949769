//! Prints what rules cost when a trained network writes records: the time of all threads with rules,
//! the referee among them, over that without, by visit. `--patients N`: trained on so many simulated
//! inpatients; `--rounds N`, `--records N`: so many rounds of so many records.

use std::sync::Arc;

use consequence_model::Sizes;
use consequence_rules::RuleSet;
use consequence_simulate::{Preset as Simulated, Simulation};
use consequence_studies::networks::Subject;
use consequence_studies::speed_cpu::Writing;
use consequence_studies::training::{enforcer, fit};
use consequence_train::{Examples, NetworkKind, Preset, Size};

/// Codes of the clause that is always due.
const CHOICE: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut patients, mut rounds, mut records) = (10_000usize, 15usize, 4_000u64);
    let mut arguments = std::env::args().skip(1);
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        match name.as_str() {
            "--patients" => patients = value.parse()?,
            "--rounds" => rounds = value.parse()?,
            "--records" => records = value.parse()?,
            _ => return Err(format!("there is no {name}").into()),
        }
    }
    let preset = Preset::new(NetworkKind::Recurrent, Size::Small)?;
    println!("| cohort | rules | threads' own time, by visit | quartiles |");
    println!("|---|---|---|---|");
    let inpatients = Subject::Inpatients(patients).load()?.ok_or("inpatients are simulated")?;
    let simulation = Simulation::new(Simulated::Inpatient, patients, 1);
    let truth = &simulation.truth().text;
    let truth = RuleSet::parse(truth, Some(Arc::clone(&inpatients.vocabulary)))?;
    let codes = inpatients.vocabulary.codes().filter(|&code| code != inpatients.vocabulary.end());
    let names =
        codes.map(|code| inpatients.vocabulary.name(code)).filter(|name| name.starts_with("DX//"));
    let names: Vec<&str> = names.take(CHOICE).collect();
    let choice = format!("rule choice: any of {}", names.join(", "));
    let choice = RuleSet::parse(&choice, Some(Arc::clone(&inpatients.vocabulary)))?;
    for (title, rules) in
        [("those of the simulation", truth), ("a clause of 200 codes that is always due", choice)]
    {
        let max_visits = inpatients.cohort.longest();
        let rules = Arc::new(rules);
        let enforcer = enforcer(&rules, max_visits)?;
        let sizes = Sizes { max_visits, network: preset.sizes() };
        let [train, tuning, _] = inpatients.selections();
        let examples = Examples { train, tuning };
        let fitted =
            fit(&examples, &inpatients.vocabulary, Some(&enforcer), &sizes, &preset.options())?;
        let writing = Writing::new(&fitted.network, (*rules).clone());
        let mut ratios: Vec<f64> = writing
            .rounds(rounds, 128, records)
            .iter()
            .map(|[without, with]| {
                (with.busy / with.visits as f64) / (without.busy / without.visits as f64)
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        let at = |share: usize| ratios[(ratios.len() - 1) * share / 4];
        println!(
            "| {patients} simulated inpatients | {title} ({}) | {:.3} | {:.3} to {:.3} |",
            rules.len(),
            at(2),
            at(1),
            at(3)
        );
    }
    Ok(())
}
