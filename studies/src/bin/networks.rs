//! Prints what networks learn without rules, on cohorts and over seeds.
//!
//! `cargo run --release -p consequence-studies --bin networks -- [COHORT ...] [SETTING=VALUE ...]`
//!
//! A cohort is `uci`, `inpatients:PATIENTS`, `outpatients:PATIENTS`, `synpuf`, `mimic` or `synthea`; all
//! that settings were chosen on, if none is named. Settings: `network` (recurrent, halo), `size`,
//! `head`, `width`, `units`, `seeds`, `first` (seed), `rate`, `decay`, `batch`,
//! `warm`, `drop`, `gain`, `patience`, `average`, `epochs`.

use consequence_model::NetworkSizes;
use consequence_studies::networks::{Line, Subject, run};
use consequence_train::{NetworkKind, Preset, SilentUnits, Size};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let setting = |name: &str| {
        let given = arguments.iter().filter_map(|one| one.split_once('='));
        given.rev().find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let kind = match setting("network") {
        Some("halo") => NetworkKind::Halo,
        _ => NetworkKind::Recurrent,
    };
    let size: Size = setting("size").unwrap_or("small").parse()?;
    let preset = Preset::new(kind, size)?;
    let (mut sizes, mut options) = (preset.sizes(), preset.options());
    match &mut sizes {
        NetworkSizes::Recurrent(sizes) => put(setting("head"), &mut sizes.head)?,
        NetworkSizes::Halo(sizes) => {
            put(setting("width"), &mut sizes.width)?;
            put(setting("units"), &mut sizes.head_units)?;
        }
    }
    put(setting("rate"), &mut options.rate)?;
    put(setting("decay"), &mut options.decay)?;
    put(setting("warm"), &mut options.warm_up)?;
    put(setting("drop"), &mut options.rate_drop)?;
    put(setting("gain"), &mut options.least_gain)?;
    put(setting("patience"), &mut options.patience)?;
    put(setting("average"), &mut options.average)?;
    put(setting("final"), &mut options.final_rate)?;
    put(setting("epochs"), &mut options.epochs)?;
    options.batch = setting("batch").map(str::parse).transpose()?;
    let (mut first, mut seeds) = (1u64, 3u64);
    put(setting("first"), &mut first)?;
    put(setting("seeds"), &mut seeds)?;
    let mut subjects: Vec<Subject> = Vec::new();
    for name in arguments.iter().filter(|one| !one.contains('=')) {
        subjects.push(name.parse()?);
    }
    if subjects.is_empty() {
        subjects = vec![
            Subject::Uci,
            Subject::Inpatients(46_520),
            Subject::Outpatients(4_000),
            Subject::Outpatients(20_000),
            Subject::Synpuf,
            Subject::Mimic,
        ];
    }
    println!(
        "| cohort, seed | parameters | static | encounters | END | perplexity | nats a record | tuning | both sexes, neither | silent units before, after | epochs (best) | s an epoch | s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for subject in subjects {
        let Some(loaded) = subject.load()? else { continue };
        for seed in first..first + seeds {
            eprintln!("{subject}, seed {seed}");
            options.seed = seed;
            println!("| {subject}, {seed} {}", row(&run(&loaded, sizes, &options)?));
        }
    }
    Ok(())
}

fn put<T: std::str::FromStr>(given: Option<&str>, setting: &mut T) -> Result<(), T::Err> {
    if let Some(value) = given {
        *setting = value.parse()?;
    }
    Ok(())
}

fn row(line: &Line) -> String {
    let [statics, encounters, end] = line.nats;
    let [both, neither] = line.sexes.map(|share| 100.0 * share);
    let silent = match line.silent_units {
        Some(SilentUnits { before, after }) => {
            format!("{:.2}%, {:.2}%", 100.0 * before, 100.0 * after)
        }
        None => "none".into(),
    };
    let (epochs, best) = line.epochs;
    let [epoch, all] = line.seconds;
    format!(
        "| {} | {statics:.0} | {encounters:.0} | {end:.0} | {:.3} | {:.3} | {:.3} | {both:.3}%, {neither:.2}% | {silent} | {epochs} ({best}) | {epoch:.1} | {all:.0} |",
        line.parameters,
        line.perplexity,
        line.nats_a_record(),
        line.tuning_nats
    )
}
