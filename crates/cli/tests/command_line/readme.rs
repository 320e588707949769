//! The tour of the README, typed word for word: what is pasted there is what the program prints, but
//! for figures of what was trained, which differ a little from one processor to another.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::{Folder, program};

/// A command of the README and what it is said to print.
struct Shown {
    command: String,
    output: Vec<String>,
}

/// The commands in the indented blocks, each with the lines up to the next command or the end of
/// its block.
fn shown(readme: &str) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    let mut open = false;
    for line in readme.lines() {
        match line.strip_prefix("    ") {
            Some(code) => match code.strip_prefix("$ ") {
                Some(command) => {
                    commands.push(Shown { command: command.to_owned(), output: Vec::new() });
                    open = true;
                }
                None => {
                    if let (true, Some(last)) = (open, commands.last_mut()) {
                        last.output.push(code.to_owned());
                    }
                }
            },
            None if line.is_empty() => {
                if let (true, Some(last)) = (open, commands.last_mut()) {
                    last.output.push(String::new());
                }
            }
            None => open = false,
        }
    }
    for command in &mut commands {
        while command.output.last().is_some_and(String::is_empty) {
            command.output.pop();
        }
    }
    commands
}

fn printed(command: &mut Command) -> Vec<String> {
    let Output { stdout, stderr, .. } = command.output().expect("the program starts");
    let text = String::from_utf8([stdout, stderr].concat()).expect("text");
    text.lines().map(str::to_owned).collect()
}

/// The examples, where the tour looks for them.
fn copy_examples(folder: &Folder) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::fs::create_dir(folder.path("examples")).expect("a folder");
    for name in ["visits.csv", "edits.txt"] {
        let target = folder.path("examples").join(name);
        std::fs::copy(examples.join(name), target).expect("an example");
    }
}

/// Whether a command tells of a model or of what it wrote.
fn of_a_model(command: &str) -> bool {
    let word = command.split_whitespace().nth(1);
    matches!(word, Some("train" | "generate" | "evaluate")) || command.contains("synthetic")
}

/// A line with `#` for every number, and one blank for several.
fn without_figures(line: &str) -> String {
    let number = |letter: char| letter.is_ascii_digit() || ",.-".contains(letter);
    let hidden = |word: &str| {
        let word = word.trim_start_matches('(');
        let figure = word.trim_end_matches(['%', ')', ';', ':']);
        match figure.contains(|letter: char| letter.is_ascii_digit()) && figure.chars().all(number)
        {
            true => "#".to_owned(),
            false => word.to_owned(),
        }
    };
    line.split_whitespace().map(hidden).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_tour_prints_what_it_says() {
    let folder = Folder::new();
    copy_examples(&folder);
    let mut place = folder.path("");
    let commands = shown(include_str!("../../../../README.md"));
    assert!(commands.len() >= 12, "the tour has {} commands", commands.len());
    for Shown { command, output } in commands {
        if let Some(inner) = command.strip_prefix("cd ") {
            place.push(inner);
            continue;
        }
        // The tour's own rules: first with a slip, then with a contradiction.
        let code = if command.contains(" audit ") { "RX//insuline" } else { "RX//insulin" };
        let mine = format!(
            "rule treated: {code} => ICD9CM//250\nrule always: SMOKER\n\
             rule never: AGE//0-17 in static => not SMOKER\nrule young: AGE//0-17\n"
        );
        std::fs::write(place.join("mine.rules"), mine).expect("a file for the test");
        let mut actual = match command.strip_prefix("consequence ") {
            Some(arguments) => printed(program(&place).args(arguments.split_whitespace())),
            None => printed(Command::new("sh").args(["-c", &command]).current_dir(&place)),
        };
        // `...` stands for lines left out before, and what is not shown after is left out too.
        let mut expected: Vec<String> = output.into_iter().filter(|line| line != "...").collect();
        if of_a_model(&command) {
            for lines in [&mut actual, &mut expected] {
                lines.iter_mut().for_each(|line| *line = without_figures(line));
            }
        }
        let Some(first) = expected.first() else { continue };
        let start = actual.iter().position(|line| line == first);
        let start = start.unwrap_or_else(|| panic!("`{command}` does not print `{first}`"));
        let end = (start + expected.len()).min(actual.len());
        assert_eq!(actual[start..end], expected[..], "{command}");
    }
}
