//! Rules as reports name them.

use consequence_rules::Rule;
use serde::Serialize;

/// A rule as a report names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleReference {
    /// Its name.
    pub name: String,
    /// The file it was written in.
    pub file: String,
    /// The line it starts at.
    pub line: u32,
    /// Its text on one line.
    pub text: String,
}

impl RuleReference {
    /// The reference to a rule.
    pub fn new(rule: &Rule) -> Self {
        Self {
            name: rule.name.to_string(),
            file: rule.origin.file.to_string(),
            line: rule.origin.line,
            text: rule.origin.text.to_string(),
        }
    }

    /// What the rule says, without the word `rule` and its name.
    pub fn formula(&self) -> &str {
        let after = self.text.strip_prefix("rule ").unwrap_or(&self.text);
        match after.split_once(": ") {
            // A name in quotes can hold a colon of its own.
            Some((name, formula)) if !name.starts_with('"') => formula,
            _ => after,
        }
    }
}
