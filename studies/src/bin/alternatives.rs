//! Prints what a repair puts in where a rule leaves the choice, and what networks write: without the rule,
//! under it, and trained with it.
//!
//! `--seeds N`: networks train from so many seeds, three by default. `--inpatients N`: of so many.
//! `--rule N`: one of the three.

use consequence_studies::alternatives::{Part, RULES, generated, run};
use consequence_studies::networks::Subject;
use consequence_train::{NetworkKind, Preset, Size};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut seeds, mut patients, mut only) = (3u64, None, None);
    let mut arguments = std::env::args().skip(1);
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        match name.as_str() {
            "--seeds" => seeds = value.parse()?,
            "--inpatients" => patients = Some(value.parse()?),
            "--rule" => only = Some(value.parse::<usize>()?),
            _ => return Err(format!("there is no {name}").into()),
        }
    }
    let rules = RULES
        .into_iter()
        .enumerate()
        .filter(|(number, _)| only.is_none_or(|only| only == number + 1));
    let rules: Vec<_> = rules
        .map(|(_, (subject, title, rule))| match (subject, patients) {
            (Subject::Inpatients(_), Some(patients)) => {
                (Subject::Inpatients(patients), title, rule)
            }
            _ => (subject, title, rule),
        })
        .collect();
    println!(
        "| rule, cohort | put in | different codes | total variation of shares | largest growth of a share |"
    );
    println!("|---|---|---|---|---|");
    for (subject, title, rule) in rules.iter().copied() {
        let Some(line) = run(subject, rule)? else {
            println!("skipped: {subject} is not beside this workspace");
            continue;
        };
        let [added, different] = line.added;
        println!(
            "| {title}, {subject} | {added} | {different} | {:.4} | {:.2} ({}) |",
            line.variation, line.growth, line.grown
        );
    }
    println!();
    println!(
        "| rule, cohort | trained | seed | total variation of shares | largest growth of a share |"
    );
    println!("|---|---|---|---|---|");
    let preset = Preset::new(NetworkKind::Recurrent, Size::Small)?;
    let mut options = preset.options();
    for (subject, title, rule) in rules.iter().copied() {
        for part in Part::ALL {
            for seed in 1..=seeds {
                options.seed = seed;
                let Some(line) = generated(subject, rule, part, (preset, &options))? else {
                    break;
                };
                println!(
                    "| {title}, {subject} | {part} | {seed} | {:.4} | {:.2} ({}) |",
                    line.variation, line.growth, line.grown
                );
            }
        }
    }
    Ok(())
}
