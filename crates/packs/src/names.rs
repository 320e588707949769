//! Names for groups that other tools define, as a file of `let`s.

use std::collections::BTreeSet;
use std::fmt::Write;

use consequence_rules::language::{
    Expression, ExpressionKind, Item, LetItem, Name, Quantifier, Span,
};
use consequence_rules::{LanguageLimits, RuleFile, parse};

use crate::error::{PackError, shown};

/// Names made of a definition of another tool.
///
/// Each is a `let` of the rule language. A `let` is known in its own file, so that rules which use the
/// names are written below them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedGroups {
    /// What the file is.
    pub about: String,
    /// The file it was read from.
    pub file: String,
    /// The names, each before those that use it.
    pub groups: Vec<NamedGroup>,
    /// What could not be said, in the order of the file.
    pub unsaid: Vec<Unsaid>,
    /// What holds for all names.
    pub notes: Vec<String>,
}

/// One name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedGroup {
    /// Its name in the rule language.
    pub name: String,
    /// What it is in the definition, with what its own name is there.
    pub title: String,
    /// Where it says less or more than the definition.
    pub remarks: Vec<String>,
    /// The statement: `let NAME = ...`.
    pub statement: String,
}

/// A part of a definition that the rule language does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaid {
    /// The part.
    pub what: String,
    /// Why, and what became of it.
    pub why: String,
}

impl NamedGroups {
    pub(crate) fn new(about: &str, file: &str, notes: &[&str]) -> Self {
        Self {
            about: about.to_owned(),
            file: file.to_owned(),
            groups: Vec::new(),
            unsaid: Vec::new(),
            notes: notes.iter().map(|&note| note.to_owned()).collect(),
        }
    }

    pub(crate) fn not_said(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.unsaid.push(Unsaid { what: what.into(), why: why.into() });
    }

    /// Adds a name for a formula, or for a set of codes.
    pub(crate) fn define(
        &mut self,
        name: &str,
        title: String,
        remarks: Vec<String>,
        values: Vec<Expression>,
    ) -> Result<(), PackError> {
        let item = LetItem { name: Name::new(name), values, span: Span::default() };
        let file = RuleFile::new(name, vec![Item::Let(item)], &LanguageLimits::default());
        let file = file.map_err(|cause| self.unwritable(&cause))?;
        let (name, statement) = (name.to_owned(), file.to_string().trim_end().to_owned());
        self.groups.push(NamedGroup { name, title, remarks, statement });
        Ok(())
    }

    fn unwritable(&self, cause: &dyn std::fmt::Display) -> PackError {
        PackError::Unwritable { file: self.file.clone(), cause: cause.to_string() }
    }

    /// Refuses names that the language would refuse in one file.
    pub(crate) fn checked(self) -> Result<Self, PackError> {
        match parse(&self.file, self.text(), &LanguageLimits::default()) {
            Ok(_) => Ok(self),
            Err(cause) => Err(self.unwritable(&cause)),
        }
    }

    /// The text of a rule file: where the names come from, what is not said, then each name.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "# {}", line(&self.about))?;
        writeln!(out, "# from {}: {} names", line(&self.file), self.groups.len())?;
        writeln!(out, "# A name is known in its own file: write rules that use these below them.")?;
        for note in &self.notes {
            writeln!(out, "# {note}")?;
        }
        if !self.unsaid.is_empty() {
            writeln!(out, "#\n# Not said:")?;
        }
        for Unsaid { what, why } in &self.unsaid {
            writeln!(out, "# - {}: {}", line(what), line(why))?;
        }
        for group in &self.groups {
            writeln!(out, "\n# {}", line(&group.title))?;
            for remark in &group.remarks {
                writeln!(out, "# {}", line(remark))?;
            }
            writeln!(out, "{}", group.statement)?;
        }
        Ok(())
    }
}

/// A text on one line of a comment.
fn line(text: &str) -> String {
    const LONGEST: usize = 400;
    let words: Vec<String> = text.split_whitespace().map(shown).collect();
    let mut line = words.join(" ");
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
        line.push_str("...");
    }
    line
}

/// Words that would be read otherwise than as a name.
const WORDS: [&str; 36] = [
    "rule", "let", "static", "and", "or", "not", "in", "any", "all", "none", "at", "exactly",
    "with", "true", "false", "for", "version", "of", "to", "since", "first", "visit", "visits",
    "only", "once", "twice", "times", "between", "last", "past", "previous", "least", "most",
    "days", "end", "age",
];

/// Names that are plain words of the rule language, no two alike.
#[derive(Debug, Default)]
pub(crate) struct PlainNames(BTreeSet<String>);

impl PlainNames {
    /// A name as near to a title as can be.
    pub fn take(&mut self, title: &str) -> String {
        let mut name = String::new();
        for character in title.trim().chars().take(80) {
            if character.is_alphanumeric() || character == '_' {
                name.push(character);
            } else if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
        }
        let mut name = name.trim_end_matches('-').to_owned();
        let number = name.starts_with(|first: char| first.is_numeric());
        if name.is_empty() || number || WORDS.contains(&name.to_lowercase().as_str()) {
            name = format!("named-{name}").trim_end_matches('-').to_owned();
        }
        let mut free = name.clone();
        let mut copies = 1;
        while !self.0.insert(free.clone()) {
            copies += 1;
            free = format!("{name}-{copies}");
        }
        free
    }

    /// A code that is not mistaken for one of the names, or for the age.
    pub fn code(&self, code: &str) -> Expression {
        match self.0.contains(code) || code == "AGE" {
            true => ExpressionKind::Code(code.to_owned()).into(),
            false => Expression::literal(code),
        }
    }
}

/// Any of some codes or patterns, as one term.
pub(crate) fn any_of(mut items: Vec<Expression>) -> Expression {
    match items.len() {
        0 => ExpressionKind::Constant(false).into(),
        1 => items.remove(0),
        _ => ExpressionKind::Group(Quantifier::Any, items).into(),
    }
}

/// A name that was given before.
pub(crate) fn named(name: &str) -> Expression {
    ExpressionKind::Name(name.to_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_unlike() {
        let mut names = PlainNames::default();
        for (title, expected) in [
            ("Type 2 diabetes (broad)", "Type-2-diabetes-broad"),
            ("Type 2 diabetes, broad", "Type-2-diabetes-broad-2"),
            ("all", "named-all"),
            ("AGE", "named-AGE"),
            ("", "named"),
            ("2 visits", "named-2-visits"),
            ("[PL] \"quoted\" *", "PL-quoted"),
            ("icu_admission", "icu_admission"),
        ] {
            assert_eq!(names.take(title), expected);
        }
        assert_eq!(names.code("icu_admission").to_string(), "\"icu_admission\"");
        assert_eq!(names.code("ICU//1").to_string(), "ICU//1");
    }
}
