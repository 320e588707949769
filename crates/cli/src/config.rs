//! Options that a file gives, for runs that are repeated.
//!
//! The file is TOML: shared options stand at the top, those of a command in a table of its name.
//!
//! ```toml
//! seed = 7
//!
//! [train]
//! rules = ["clinic.rules", "mined.rules"]
//! epochs = 20
//!
//! [import.mimic3]
//! truncate = 3
//! ```
//! What is given on the command line counts. Every option is held against those that its command has,
//! also where another command is run.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Command};
use consequence::Error;
use toml::{Table, Value};

/// No file of options is so long.
const MOST_BYTES: u64 = 1 << 20;

/// The arguments with those of the file that `--config` names, behind the command that they are for.
pub fn expanded(given: Vec<OsString>, program: &Command) -> Result<Vec<OsString>, Error> {
    let Some(path) = named(&given) else { return Ok(given) };
    let mut program = program.clone();
    program.build();
    let table = read(&path)?;
    let refused = |what: String| Error::refused_at(&path, what, ADVICE);
    let (command, at) = command_of(&given, &program);
    let mut added = Vec::new();
    let mut sections = vec![(String::new(), &program, &table)];
    while let Some((name, section_of, section)) = sections.pop() {
        for (key, value) in section {
            if let (Some(inner), Value::Table(inside)) = (section_of.find_subcommand(key), value) {
                sections.push((format!("{name}{key}."), inner, inside));
                continue;
            }
            let known = option(section_of, key);
            let known = known.ok_or_else(|| refused(unknown(section_of, &name, key)))?;
            let words = worded(known, value);
            let words = words.map_err(|what| refused(format!("`{name}{key}` {what}")))?;
            let applies = name.is_empty() || std::ptr::eq(section_of, command);
            if applies && !is_given(&given, known) {
                added.extend(words);
            }
        }
    }
    let mut all = given;
    all.splice(at..at, added);
    Ok(all)
}

const ADVICE: &str = "an option is written as on the command line, without the two dashes: `epochs = 20` in `[train]`; shared options \
                      such as `seed` stand before the first table";

/// The file that `--config` names.
fn named(given: &[OsString]) -> Option<PathBuf> {
    let mut words = given.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word == "--config" {
            return words.next().map(PathBuf::from);
        }
        if let Some(path) = word.to_str().and_then(|word| word.strip_prefix("--config=")) {
            return Some(path.into());
        }
    }
    None
}

fn read(path: &Path) -> Result<Table, Error> {
    let refused =
        |what: String| Error::refused_at(path, what, "{config} names a TOML file of options");
    let size = fs::metadata(path).map_err(|error| refused(error.to_string()))?.len();
    if size > MOST_BYTES {
        return Err(refused("this is too long for a file of options".to_owned()));
    }
    let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    text.parse().map_err(|error: toml::de::Error| refused(error.to_string().trim_end().to_owned()))
}

/// The innermost command that is asked for, and where its own arguments begin.
fn command_of<'a>(given: &[OsString], program: &'a Command) -> (&'a Command, usize) {
    let (mut command, mut begin, mut at) = (program, 1.min(given.len()), 1);
    while let Some(word) = given.get(at).and_then(|word| word.to_str()) {
        at += 1;
        if let Some(name) = word.strip_prefix("--") {
            // An option before the command has its value in the next word.
            let takes_next = option(command, name).is_some_and(takes_value);
            at += usize::from(takes_next);
        } else if let Some(inner) = command.find_subcommand(word) {
            (command, begin) = (inner, at);
        } else {
            break;
        }
    }
    (command, begin)
}

fn option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let mut options = command.get_arguments();
    options.find(|option| option.get_long() == Some(name) && !is_built_in(option))
}

fn is_built_in(option: &Arg) -> bool {
    matches!(option.get_long(), Some("help" | "version" | "config"))
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

fn is_given(words: &[OsString], option: &Arg) -> bool {
    let long = format!("--{}", option.get_long().unwrap_or_default());
    let same = |word: &&OsString| {
        let word = word.to_string_lossy();
        word == long.as_str() || word.strip_prefix(&long).is_some_and(|rest| rest.starts_with('='))
    };
    words.iter().take_while(|word| *word != OsStr::new("--")).any(|word| same(&word))
}

/// An option as words of the command line.
fn worded(option: &Arg, value: &Value) -> Result<Vec<OsString>, &'static str> {
    let name = option.get_long().unwrap_or_default();
    let with = |text: String| OsString::from(format!("--{name}={text}"));
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    };
    match (value, takes_value(option)) {
        (Value::Boolean(true), false) => Ok(vec![format!("--{name}").into()]),
        (Value::Boolean(false), false) => Ok(Vec::new()),
        (_, false) => Err("is true or false"),
        (Value::Array(values), true) => {
            let words = values.iter().map(|value| text(value).map(with));
            words.collect::<Option<_>>().ok_or("is a list of texts or numbers")
        }
        (_, true) => text(value).map(|text| vec![with(text)]).ok_or("is a text or a number"),
    }
}

fn unknown(command: &Command, section: &str, key: &str) -> String {
    let names: Vec<&str> = command
        .get_arguments()
        .filter(|option| !is_built_in(option))
        .filter_map(Arg::get_long)
        .chain(command.get_subcommands().map(Command::get_name))
        .collect();
    let what = match section.strip_suffix('.') {
        Some(section) => format!("`{}` has no option `{key}`", section.replace('.', " ")),
        None => format!("`{key}` is no command, and no option that all commands share"),
    };
    match consequence::closest(key, names) {
        Some(close) => format!("{what}; did you mean `{close}`?"),
        None => what,
    }
}
