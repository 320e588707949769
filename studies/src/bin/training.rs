//! Prints what networks learn, and what they write.
//!
//! `cargo run --release -p consequence-studies --bin training -- [uci|simulated|peers]`; all three if
//! none is named. The first and the last need the material beside the workspace.

use consequence_studies::training::cell;
use consequence_studies::{peers, training_simulated, training_uci};

type Fallible = Result<(), Box<dyn std::error::Error>>;

fn main() -> Fallible {
    let asked = std::env::args().nth(1);
    let is_asked = |name: &str| asked.as_deref().is_none_or(|asked| asked == name);
    if is_asked("peers") {
        print_peers()?;
    }
    if is_asked("simulated") {
        print_simulated()?;
    }
    if is_asked("uci") {
        print_uci()?;
    }
    Ok(())
}

fn print_uci() -> Fallible {
    let Some(lines) = training_uci::run(&training_uci::Extent::default())? else { return Ok(()) };
    println!(
        "| UCI diabetes, test split | static | encounters | END | perplexity | forbidden, infinite | s an epoch | s |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for line in lines {
        let [statics, encounters, end] = line.nats;
        let [forbidden, infinite] = line.impossible;
        let [epoch, all] = line.seconds;
        println!(
            "| {} | {statics:.0} | {encounters:.0} | {end:.0} | {:.3} | {forbidden}, {infinite} | {epoch:.1} | {all:.0} |",
            line.model, line.perplexity
        );
    }
    Ok(())
}

fn print_simulated() -> Fallible {
    println!(
        "| simulated inpatients | perplexity | nats a record | R2 code / pair / sequential | violations | s to learn | s for 1,000 records |"
    );
    println!("|---|---|---|---|---|---|---|");
    for line in training_simulated::run(&training_simulated::Extent::default())? {
        let figure = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
        let [learn, write] = line.seconds;
        println!(
            "| {} | {} | {} | {} | {} | {learn:.0} | {write:.2} |",
            line.model,
            figure(line.perplexity),
            figure(line.nats),
            cell(line.r2),
            line.violations
        );
    }
    Ok(())
}

fn print_peers() -> Fallible {
    println!(
        "| | fit | records a second | R2 code / pair / sequential | break a mined rule | break a sex rule | visit after death |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut extent = peers::Extent::default();
    let mut real = None;
    for (rules, seed) in
        [true, false].into_iter().flat_map(|rules| (1..=3).map(move |seed| (rules, seed)))
    {
        (extent.rules, extent.options.seed) = (rules, seed);
        let Some(row) = peers::run(&extent)? else { return Ok(()) };
        let [mined, sexes, death] = row.broken;
        let with = if rules { "with" } else { "without" };
        println!(
            "| Consequence {with} rules, seed {seed} | {:.0} s | {:.0} | {} | {mined} | {sexes} | {death} |",
            row.fit,
            row.records_a_second,
            cell(row.r2)
        );
        real = Some(row.real);
    }
    if let Some(real) = real {
        println!("| {} of the real patients | | | {} | | | |", extent.written, cell(real));
    }
    Ok(())
}
