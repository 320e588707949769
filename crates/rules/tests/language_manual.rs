//! Every example of `docs/rules.md` does what the page says.

use std::path::Path;

use consequence_rules::{Diagnostics, LanguageLimits, ResolveOptions, Resolved, parse, resolve};

/// A fenced block: its word, its text, and the line it begins at.
struct Block {
    word: String,
    text: String,
    line: usize,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (line, text) in page.lines().enumerate() {
        match (text.strip_prefix("```"), open.as_mut()) {
            (Some(word), None) => {
                open = Some(Block { word: word.to_owned(), text: String::new(), line: line + 1 });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => {
                block.text.push_str(text);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// Reads a block as a file called after its last rule.
fn run(text: &str) -> Result<Resolved, Diagnostics> {
    let last = text.lines().rev().find_map(|line| line.strip_prefix("rule ")).unwrap_or("none");
    let name = last.split([':', ' ']).next().unwrap_or(last);
    let file = parse(&format!("{name}.rules"), text, &LanguageLimits::default())?;
    resolve(&[file], None, &ResolveOptions::default())
}

#[test]
fn every_example_holds() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let page = std::fs::read_to_string(page).expect("the manual is part of the repository");
    let blocks = blocks(&page);
    let mut examples = 0;
    for (index, Block { word, text, line }) in blocks.iter().enumerate() {
        match word.as_str() {
            "rules" => {
                let resolved = run(text).unwrap_or_else(|said| panic!("line {line}:\n{said}"));
                let warnings: String =
                    resolved.warnings.iter().map(|warning| warning.render()).collect();
                assert!(warnings.is_empty(), "line {line}:\n{warnings}");
            }
            "rules-error" => {
                let said = run(text).err().unwrap_or_else(|| panic!("line {line}: no error"));
                let expected = blocks.get(index + 1).filter(|block| block.word == "text");
                let expected = expected.unwrap_or_else(|| panic!("line {line}: no text follows"));
                assert_eq!(said.to_string(), expected.text, "line {line}");
            }
            "text" => continue,
            other => panic!("line {line}: a block of unknown kind `{other}`"),
        }
        examples += 1;
    }
    assert!(examples >= 10, "only {examples} examples were found");
}
