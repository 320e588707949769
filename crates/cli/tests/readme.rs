//! The tour of the README, typed word for word: what is pasted there is what the program prints.

mod common;

use std::process::{Command, Output};

use common::{Folder, program};

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
            Some(code) => match code.strip_prefix("$ consequence ") {
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

#[test]
fn the_tour_prints_what_it_says() {
    let folder = Folder::new();
    folder.run("demo").exits(0);
    let demo = folder.path("consequence-demo");
    let commands = shown(include_str!("../../../README.md"));
    assert!(commands.len() >= 6, "the tour has {} commands", commands.len());
    for Shown { command, output } in commands {
        // The tour's own rules: first with a slip, then with a contradiction.
        let code = if command.starts_with("audit") { "RX//insuline" } else { "RX//insulin" };
        let mine = format!(
            "rule treated: {code} => ICD9CM//250\nrule always: SMOKER\n\
             rule never: AGE//0-17 in static => not SMOKER\nrule young: AGE//0-17\n"
        );
        std::fs::write(demo.join("mine.rules"), mine).expect("a file for the test");
        let actual = printed(program(&demo).args(command.split_whitespace()));
        // `...` stands for lines left out before, and what is not shown after is left out too.
        let expected: Vec<String> = output.into_iter().filter(|line| line != "...").collect();
        let first = expected.first().expect("the tour shows output");
        let start = actual.iter().position(|line| line == first);
        let start = start.unwrap_or_else(|| panic!("`{command}` does not print `{first}`"));
        let end = (start + expected.len()).min(actual.len());
        assert_eq!(actual[start..end], expected[..], "consequence {command}");
    }
}
