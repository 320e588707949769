//! Prints what a repair puts in where a rule leaves the choice.

use consequence_studies::alternatives::{RULES, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "| rule, cohort | put in | different codes | total variation of shares | largest growth of a share |"
    );
    println!("|---|---|---|---|---|");
    for (subject, title, rule) in RULES {
        let Some(line) = run(subject, rule)? else {
            println!("skipped: {subject} is not beside this workspace");
            continue;
        };
        let [added, different] = line.added;
        println!(
            "| {title}, {subject} | {added} | {different} | {:.4} | {:.2} |",
            line.variation, line.growth
        );
    }
    Ok(())
}
