//! Prints how near to a model's distribution given the rules visits are that are sampled under them.

use consequence_studies::look_ahead::{FAMILIES, run};

fn main() {
    println!("| rules | worlds | last code forced | looking ahead | ratio | and tested | ratio |");
    println!("|---|---|---|---|---|---|---|");
    for family in FAMILIES {
        let line = run(family, 1_000);
        let ratio = |variation: f64| variation / line.forced;
        println!(
            "| {family} | {} | {:.5} | {:.5} | {:.3} | {:.5} | {:.3} |",
            line.worlds,
            line.forced,
            line.ahead,
            ratio(line.ahead),
            line.tested,
            ratio(line.tested)
        );
    }
}
