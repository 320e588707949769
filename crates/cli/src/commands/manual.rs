//! The manual, and what a shell needs to complete commands: both made of the arguments themselves.

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use consequence::Error;

use super::Outcome;
use crate::args::Arguments;
use crate::output;

#[derive(Debug, Args)]
pub struct ManualArguments {
    /// The command that it is about, such as `train` or `rules from` [default: the program]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Writes the page of a command.
pub fn manual(arguments: &ManualArguments) -> Result<Outcome, Error> {
    let mut program = Arguments::command();
    program.build();
    let mut command = &program;
    for name in &arguments.command {
        let Some(found) = command.find_subcommand(name) else {
            return Err(unknown(command, name));
        };
        command = found;
    }
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = Man::new(command.clone()).render(&mut page);
    output::data(&String::from_utf8_lossy(&page));
    Ok(Outcome::Done)
}

fn unknown(command: &Command, name: &str) -> Error {
    let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let known = match known.is_empty() {
        true => "it has no commands of its own".to_owned(),
        false => format!("there are {}", known.join(", ")),
    };
    let what = format!("`{}` has no command `{name}`: {known}", command.get_name());
    Error::refused(what, "name a command as it is called: `consequence manual rules from`")
}

/// Writes what a shell needs.
pub fn completions(arguments: &CompletionsArguments) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "consequence", &mut script);
    output::data(&String::from_utf8_lossy(&script));
    Outcome::Done
}
