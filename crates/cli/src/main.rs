//! The consequence program.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(consequence_cli::run(std::env::args_os().collect()))
}
