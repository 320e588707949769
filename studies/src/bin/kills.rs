//! Fifty kills (-9) of training and fifty of generating: the program is `consequence`, beside this one
//! or named as the first argument.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use consequence_testing::kills::{Killed, generating, training};

const KILLS: u32 = 50;

type Study = fn(&Path, &Path, u32) -> Killed;

fn main() -> ExitCode {
    let beside = || std::env::current_exe().ok().map(|own| own.with_file_name("consequence"));
    let Some(program) = std::env::args().nth(1).map(PathBuf::from).or_else(beside) else {
        return ExitCode::from(2);
    };
    // It is run in other folders.
    let Ok(program) = program.canonicalize() else {
        eprintln!("there is no program {}; build it first", program.display());
        return ExitCode::from(2);
    };
    let mut equal = true;
    for (name, study) in [("training", training as Study), ("generating", generating)] {
        let Ok(folder) = tempfile::tempdir() else { return ExitCode::from(2) };
        let began = Instant::now();
        let killed = study(&program, folder.path(), KILLS);
        let verdict = if killed.equal { "the same bytes every time" } else { "BYTES DIFFER" };
        println!(
            "{name}: {} kills in {:.0} seconds, and {} too late: {verdict}",
            killed.kills,
            began.elapsed().as_secs_f64(),
            killed.too_late
        );
        equal &= killed.equal;
    }
    if equal { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
