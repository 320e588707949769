//! The consequence command line.
//!
//! [`run`] is the whole of it, for the program and for other faces that bring it along.
#![forbid(unsafe_code)]

mod args;
mod bar;
mod commands;
mod config;
mod output;
mod stop;

use std::ffi::OsString;

use clap::{CommandFactory, Parser};

use args::{Arguments, Command, RulesCommand};
use commands::Outcome;

/// Runs a command line, the name of the program first, and gives the exit status: 0 done; 1 checked, and
/// something was found; 2 failed; 3 counted, and records are to be counted again.
///
/// ```
/// let status = consequence_cli::run(["consequence", "no-such-command"].map(Into::into).to_vec());
/// assert_eq!(status, 2);
/// ```
pub fn run(given: Vec<OsString>) -> u8 {
    let given = match config::expanded(given, &Arguments::command()) {
        Ok(given) => given,
        Err(error) => return failed(&error),
    };
    let Arguments { command, shared } = match Arguments::try_parse_from(&given) {
        Ok(arguments) => arguments,
        Err(told) => {
            // Help and version are told the same way; whoever closed the pipe has read enough.
            let _ = told.print();
            return u8::try_from(told.exit_code()).unwrap_or(2);
        }
    };
    if let Err(error) = output::begin(shared.quiet, shared.log.as_deref(), &given) {
        return failed(&error);
    }
    if let Some(threads) = shared.threads
        && let Err(error) = consequence::use_threads(threads)
    {
        return failed(&error);
    }
    consequence::keep_kernels(|variable| std::env::var_os(variable));
    let outcome = match &command {
        Command::Check(arguments) => commands::check::run(arguments),
        Command::Audit(arguments) => commands::audit::run(arguments),
        Command::Enforce(arguments) => commands::enforce::run(arguments, shared.seed),
        Command::Simulate(arguments) => commands::simulate::run(arguments, shared.seed),
        Command::Import(command) => commands::import::run(command),
        Command::Describe(arguments) => commands::describe::run(arguments),
        Command::Head(arguments) => commands::head::run(arguments),
        Command::Codes(arguments) => commands::codes::run(arguments),
        Command::Diff(arguments) => commands::diff::run(arguments),
        Command::Export(arguments) => commands::export::run(arguments),
        Command::Mine(arguments) => commands::mine::run(arguments),
        Command::Merge(arguments) => commands::parts::merge(arguments),
        Command::Train(arguments) => commands::train::run(arguments, shared.seed),
        Command::Generate(arguments) => commands::generate::run(arguments, shared.seed),
        Command::Evaluate(arguments) => commands::evaluate::run(arguments),
        Command::Release(arguments) => commands::release::run(arguments),
        Command::Compare(arguments) => commands::compare::run(arguments, shared.seed),
        Command::Synthesize(arguments) => commands::synthesize::run(arguments, shared.seed),
        Command::Demo(arguments) => commands::demo::run(arguments, shared.seed),
        Command::Manual(arguments) => commands::manual::manual(arguments),
        Command::Completions(arguments) => Ok(commands::manual::completions(arguments)),
        Command::Rules(RulesCommand::Convert(arguments)) => commands::convert::run(arguments),
        Command::Rules(RulesCommand::CommonSense(arguments)) => {
            commands::common_sense::run(arguments)
        }
        Command::Rules(RulesCommand::From(command)) => commands::rules_from::run(command),
    };
    let status = match outcome {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::Found) => 1,
        Ok(Outcome::Counting) => 3,
        Err(error) => return failed(&error),
    };
    output::log(&format!("exit status {status}"));
    status
}

fn failed(error: &consequence::Error) -> u8 {
    output::error(error);
    output::log("exit status 2");
    2
}
