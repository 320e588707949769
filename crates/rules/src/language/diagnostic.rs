//! Errors and warnings that point at the text.

use std::fmt::{self, Write};

use rustc_hash::FxHashMap;

use super::source::Location;

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The rules cannot be used.
    Error,
    /// The rules can be used, but may not say what was meant.
    Warning,
}

/// Another location that matters to a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What is there.
    pub message: String,
    /// Where it is.
    pub location: Location,
}

/// One error or warning.
///
/// ```
/// use consequence_rules::{LanguageLimits, parse};
///
/// let refused = parse("a.rules", "rule a: X and", &LanguageLimits::default()).unwrap_err();
/// let first = refused.iter().next().unwrap();
/// let location = first.location.as_ref().unwrap();
/// assert_eq!((location.line, location.column), (1, 14));
/// assert_eq!(
///     first.render(),
///     "error: expected a code or a formula, found the end of the file
///  --> a.rules:1:14
///   |
/// 1 | rule a: X and
///   |              ^
/// "
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, lowercase and without a final period.
    pub message: String,
    /// Where; none for faults of a whole file.
    pub location: Option<Box<Location>>,
    /// Other locations that matter.
    pub notes: Vec<Note>,
    /// What to do about it.
    pub help: Option<String>,
    /// Whether the trouble is that the vocabulary lacks a code, which another vocabulary may have.
    pub lacks_code: bool,
    /// The code that was probably meant, where the vocabulary lacks one.
    pub meant: Option<String>,
}

impl Diagnostic {
    /// An error, so far without a location.
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message.into())
    }

    /// A warning, so far without a location.
    pub(crate) fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message.into())
    }

    fn new(severity: Severity, message: String) -> Self {
        Self {
            severity,
            message,
            location: None,
            notes: Vec::new(),
            help: None,
            lacks_code: false,
            meant: None,
        }
    }

    /// The same, pointing at a location.
    pub(crate) fn at(self, location: Location) -> Self {
        Self { location: Some(Box::new(location)), ..self }
    }

    /// The same, with advice.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// The same, said to be about a code that the vocabulary lacks.
    pub(super) fn lacking_code(self) -> Self {
        Self { lacks_code: true, ..self }
    }

    /// The same, with another location that matters.
    pub(crate) fn note(mut self, message: impl Into<String>, location: Location) -> Self {
        self.notes.push(Note { message: message.into(), location });
        self
    }

    /// The diagnostic as a person reads it, with a newline at the end.
    pub fn render(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        writeln!(out, "{severity}: {}", self.message)?;
        let mut gutter = 0;
        if let Some(location) = &self.location {
            gutter = show_location(out, location)?;
        }
        if let Some(help) = &self.help {
            writeln!(out, "{:gutter$} = help: {help}", "")?;
        }
        for note in &self.notes {
            writeln!(out, "note: {}", note.message)?;
            show_location(out, &note.location)?;
        }
        Ok(())
    }
}

/// Writes the location with its line and carets; the width of the line number.
fn show_location(out: &mut fmt::Formatter<'_>, location: &Location) -> Result<usize, fmt::Error> {
    let line = location.line.to_string();
    let gutter = line.len();
    let excerpt = &location.excerpt;
    writeln!(out, "{:gutter$}--> {}:{}:{}", "", location.file, location.line, location.column)?;
    writeln!(out, "{:gutter$} |", "")?;
    writeln!(out, "{}", format!("{line} | {}", excerpt.text).trim_end())?;
    let carets = "^".repeat(excerpt.carets);
    writeln!(out, "{:gutter$} | {:indent$}{carets}", "", "", indent = excerpt.indent)?;
    Ok(gutter)
}

/// The errors of a text, in the order they were found.
///
/// As an error, it shows all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    reported: Vec<Diagnostic>,
    more: usize,
    limit: usize,
}

impl Diagnostics {
    /// An empty collection that keeps at most `limit` diagnostics, and at least one.
    pub(crate) fn new(limit: usize) -> Self {
        Self { reported: Vec::new(), more: 0, limit: limit.max(1) }
    }

    /// Adds the diagnostic that `make` makes; past the limit it is only counted, and not made.
    /// Finding a location takes a walk over its line, so a text full of errors needs this.
    pub(super) fn push_with(&mut self, make: impl FnOnce() -> Diagnostic) {
        if self.reported.len() < self.limit {
            self.reported.push(make());
        } else {
            self.more += 1;
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.reported.is_empty()
    }

    /// How many there are, those past the limit included.
    pub fn len(&self) -> usize {
        self.reported.len() + self.more
    }

    /// The same, with the titles of codes that were probably meant, where they are known.
    ///
    /// ```
    /// use consequence_rules::RuleSet;
    /// use consequence_record::{Kind, Vocabulary};
    ///
    /// let vocabulary = Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?;
    /// let refused = RuleSet::parse("rule a: ICD9CM//25O", Some(vocabulary.into())).unwrap_err();
    /// let text = refused.with_titles(|_| Some("Diabetes".to_owned())).to_string();
    /// assert!(text.contains("did you mean `ICD9CM//250` (Diabetes)?"), "{text}");
    /// # Ok::<(), consequence_record::VocabularyError>(())
    /// ```
    #[must_use]
    pub fn with_titles(mut self, title: impl Fn(&str) -> Option<String>) -> Self {
        for one in &mut self.reported {
            let meant = one.meant.as_deref().and_then(&title);
            if let (Some(help), Some(title)) = (&mut one.help, meant) {
                *help = format!("{} ({title})?", help.trim_end_matches('?'));
            }
        }
        self
    }

    /// Those that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.reported.iter()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { reported: vec![diagnostic], more: 0, limit: 1 }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.reported.iter().enumerate() {
            if index > 0 {
                out.write_char('\n')?;
            }
            diagnostic.fmt(out)?;
        }
        if self.more > 0 {
            let errors = if self.more == 1 { "error" } else { "errors" };
            writeln!(out, "\n{} more {errors} not shown", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// Kinds of warning, each with its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    UnknownCode,
    EmptyGlob,
    SharedTitle,
    DroppedRule,
    UnusedLet,
    HiddenCode,
    FewItems,
    RepeatedItem,
    Certainty,
    WrongVisit,
    EndInWindow,
    MixedOutputs,
    WindowOfLastItem,
    UnusedWindow,
    NoValue,
    MadeForAnother,
}

impl Topic {
    /// What there is more of.
    fn plural(self) -> &'static str {
        match self {
            Self::UnknownCode => "codes that are not in the vocabulary",
            Self::EmptyGlob => "patterns that match no code",
            Self::SharedTitle => "titles of several codes",
            Self::DroppedRule => "rules left out",
            Self::UnusedLet => "unused lets",
            Self::HiddenCode => "codes hidden by a let",
            Self::FewItems => "lists of fewer than two items",
            Self::RepeatedItem => "lists with an item twice",
            Self::Certainty => "probabilities of exactly 0 or 1",
            Self::WrongVisit => "codes looked for where they never are",
            Self::EndInWindow => "uses of `END` in a window",
            Self::MixedOutputs => "rules about static and encounter codes at once",
            Self::WindowOfLastItem => "windows of a last item",
            Self::UnusedWindow => "unused windows",
            Self::NoValue => "comparisons that no value meets",
            Self::MadeForAnother => "files made for other codes",
        }
    }
}

/// Warnings, at most `limit` of a kind.
#[derive(Clone, Debug)]
pub(super) struct Warnings {
    kept: Vec<Diagnostic>,
    counts: FxHashMap<Topic, usize>,
    order: Vec<Topic>,
    limit: usize,
}

impl Warnings {
    pub(super) fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), counts: FxHashMap::default(), order: Vec::new(), limit }
    }

    /// Adds the warning that `warning` makes, if its topic still has room.
    pub(super) fn push(&mut self, topic: Topic, warning: impl FnOnce() -> Diagnostic) {
        let count = self.counts.entry(topic).or_insert_with(|| {
            self.order.push(topic);
            0
        });
        *count += 1;
        if *count <= self.limit {
            self.kept.push(warning());
        }
    }

    /// The warnings, then for each kind that had more a line with how many.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        for topic in self.order {
            let more = self.counts[&topic].saturating_sub(self.limit);
            if more > 0 {
                self.kept.push(Diagnostic::warning(format!("{more} more {}", topic.plural())));
            }
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::{Form, Source, Span};
    use super::*;

    #[test]
    fn renders_place_help_and_notes() {
        let source = Source::new("a.rules", "\n\n\n\n\n\n\n\n\nrule x: A\n", Form::Rules);
        let diagnostic = Diagnostic::error("unknown code `A`")
            .at(source.location(Span::new(17, 18)))
            .help("did you mean `B`?")
            .note("the rule is here", source.location(Span::new(14, 15)));
        assert_eq!(
            diagnostic.render(),
            "error: unknown code `A`
  --> a.rules:10:9
   |
10 | rule x: A
   |         ^
   = help: did you mean `B`?
note: the rule is here
  --> a.rules:10:6
   |
10 | rule x: A
   |      ^
"
        );
    }

    #[test]
    fn what_is_past_the_limit_is_counted() {
        let mut diagnostics = Diagnostics::new(1);
        for _ in 0..3 {
            diagnostics.push_with(|| Diagnostic::error("no"));
        }
        assert_eq!(diagnostics.len(), 3);
        assert_eq!(diagnostics.to_string(), "error: no\n\n2 more errors not shown\n");
        let mut warnings = Warnings::new(1);
        for _ in 0..3 {
            warnings.push(Topic::UnusedLet, || Diagnostic::warning("unused"));
        }
        let shown: Vec<String> =
            warnings.finish().into_iter().map(|warning| warning.message).collect();
        assert_eq!(shown, ["unused", "2 more unused lets"]);
    }
}
