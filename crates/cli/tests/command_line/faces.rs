//! Libraries speak of no flag: each face has its own words for a setting.

use std::fs;
use std::path::{Path, PathBuf};

/// Every source file of the libraries: all crates but the command line and the helpers of tests.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = fs::read_dir(crates)
        .expect("the crates")
        .map(|entry| entry.expect("a crate").path())
        .filter(|path| !path.ends_with("cli") && !path.ends_with("testing"))
        .map(|path| path.join("src"))
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("a file").path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "rs" => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// The strings of a source file, each with its line; comments and characters are no strings.
fn strings(source: &str) -> Vec<(usize, String)> {
    let letters: Vec<char> = source.chars().collect();
    let (mut found, mut line, mut at) = (Vec::new(), 1, 0);
    let is = |at: usize, text: &str| {
        text.chars().enumerate().all(|(i, c)| letters.get(at + i) == Some(&c))
    };
    while at < letters.len() {
        match letters[at] {
            '\n' => line += 1,
            '/' if is(at, "//") => {
                while at + 1 < letters.len() && letters[at + 1] != '\n' {
                    at += 1;
                }
            }
            '\'' if is(at + 1, "\\") => {
                at += 2;
                while !is(at + 1, "'") {
                    at += 1;
                }
                at += 1;
            }
            '\'' if is(at + 2, "'") => at += 2,
            'r' if is(at, "r\"") || is(at, "r#") => {
                let hashes = letters[at + 1..].iter().take_while(|&&letter| letter == '#').count();
                if is(at + 1 + hashes, "\"") {
                    let end = format!("\"{}", "#".repeat(hashes));
                    at += hashes + 2;
                    let (first, mut text) = (line, String::new());
                    while at < letters.len() && !is(at, &end) {
                        line += usize::from(letters[at] == '\n');
                        text.push(letters[at]);
                        at += 1;
                    }
                    at += hashes;
                    found.push((first, text));
                }
            }
            '"' => {
                let (first, mut text) = (line, String::new());
                at += 1;
                while at < letters.len() && letters[at] != '"' {
                    line += usize::from(letters[at] == '\n');
                    if letters[at] == '\\' {
                        at += 1;
                        line += usize::from(letters[at] == '\n');
                    }
                    text.push(letters[at]);
                    at += 1;
                }
                found.push((first, text));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn names_a_flag(text: &str) -> bool {
    text.match_indices("--").any(|(at, _)| {
        let starts =
            !text[..at].ends_with(|letter: char| letter == '-' || letter.is_alphanumeric());
        starts && text[at + 2..].starts_with(|letter: char| letter.is_ascii_lowercase())
    })
}

#[test]
fn strings_are_told_from_all_else() {
    let source =
        "let a = 'x'; // \"--no\"\nlet b = \"a\\\"b\"; /// \"--no\"\nr#\"--raw\"# '\\'' '\"' \"c\"";
    let found: Vec<(usize, String)> =
        [(2, "a\"b"), (3, "--raw"), (3, "c")].map(|(line, text)| (line, text.into())).into();
    assert_eq!(strings(source), found);
    assert!(names_a_flag("give --force") && names_a_flag("--to x"));
    assert!(!names_a_flag("a--b, --> file, --, ---x, a -- b"));
}

#[test]
fn no_library_names_a_flag() {
    let (mut flags, mut seen) = (Vec::new(), 0);
    for path in sources() {
        let source = fs::read_to_string(&path).expect("a source file");
        for (line, text) in strings(&source) {
            seen += 1;
            if names_a_flag(&text) {
                flags.push(format!("{}:{line}: {text}", path.display()));
            }
        }
    }
    assert!(seen > 2_000, "{seen} strings");
    assert!(flags.is_empty(), "{}", flags.join("\n"));
}
