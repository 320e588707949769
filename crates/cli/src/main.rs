//! The consequence command line.
#![forbid(unsafe_code)]

mod args;
mod bar;
mod commands;
mod output;
mod stop;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command, RulesCommand};
use commands::Outcome;

fn main() -> ExitCode {
    let Arguments { command, shared } = Arguments::parse();
    if let Some(threads) = shared.threads
        && let Err(error) = consequence::use_threads(threads)
    {
        return failed(&error);
    }
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
        Command::Train(arguments) => commands::train::run(arguments, shared.seed),
        Command::Generate(arguments) => commands::generate::run(arguments, shared.seed),
        Command::Evaluate(arguments) => commands::evaluate::run(arguments),
        Command::Compare(arguments) => commands::compare::run(arguments, shared.seed),
        Command::Synthesize(arguments) => commands::synthesize::run(arguments, shared.seed),
        Command::Demo(arguments) => commands::demo::run(arguments, shared.seed),
        Command::Rules(RulesCommand::Convert(arguments)) => commands::convert::run(arguments),
        Command::Rules(RulesCommand::CommonSense(arguments)) => {
            commands::common_sense::run(arguments)
        }
        Command::Rules(RulesCommand::From(command)) => commands::rules_from::run(command),
    };
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Found) => ExitCode::from(1),
        Err(error) => failed(&error),
    }
}

fn failed(error: &consequence::Error) -> ExitCode {
    output::error(error);
    ExitCode::from(2)
}
