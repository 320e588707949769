//! Texts that rules are read from, and locations in them.

use std::ops::Range;
use std::sync::Arc;

use super::diagnostic::Diagnostic;
use super::excerpt::Excerpt;
use super::limits::Limits;
use super::names::show;

/// A run of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The run from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { start: clamp(start), end: clamp(end.max(start)) }
    }

    /// From the start of this run to the end of the other.
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end.max(self.start) }
    }

    /// The run as a range of byte offsets.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// What a source's text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The rule language.
    Rules,
    /// JSON: trees or tuples.
    Json,
}

/// A file's name and text.
#[derive(Debug)]
pub struct Source {
    name: Arc<str>,
    text: Box<str>,
    line_starts: Vec<u32>,
    form: Form,
}

impl Source {
    pub(super) fn new(name: &str, text: &str, form: Form) -> Self {
        let after_newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts =
            std::iter::once(0).chain(after_newlines.map(|(at, _)| at as u32 + 1)).collect();
        Self { name: name.into(), text: text.into(), line_starts, form }
    }

    /// The file's name as the user gave it.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// The text of a span; empty where the span is not one of this text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// The line of a byte offset, counted from 1.
    pub fn line(&self, offset: u32) -> u32 {
        self.line_starts.partition_point(|&start| start <= offset) as u32
    }

    /// The location of a span, ready to be shown.
    pub fn location(&self, span: Span) -> Location {
        let boundary = |offset: u32| {
            let mut offset = (offset as usize).min(self.text.len());
            while !self.text.is_char_boundary(offset) {
                offset -= 1;
            }
            offset
        };
        let (start, end) = (boundary(span.start), boundary(span.end).max(boundary(span.start)));
        let line = self.line(start as u32);
        let line_start = self.line_starts[line as usize - 1] as usize;
        let line_end = match self.line_starts.get(line as usize) {
            Some(&next) => next as usize - 1,
            None => self.text.len(),
        };
        let before = &self.text[line_start..start];
        let marked_end = end.min(line_end).max(start);
        let after = self.text[marked_end..line_end.max(marked_end)].trim_end_matches('\r');
        Location {
            file: Arc::clone(&self.name),
            span: Span::new(start, end),
            line,
            column: before.chars().count() as u32 + 1,
            excerpt: Excerpt::new(before, &self.text[start..marked_end], after),
        }
    }
}

/// Checks size and encoding.
pub(super) fn read_source(
    name: &str,
    text: &[u8],
    form: Form,
    limits: &Limits,
) -> Result<Source, Diagnostic> {
    if text.len() > limits.bytes() {
        let (size, most) = (text.len(), limits.bytes());
        return Err(Diagnostic::error(format!(
            "{} has {size} bytes, more than the {most} that are read",
            show(name)
        ))
        .help("split the rules into several files"));
    }
    match std::str::from_utf8(text) {
        Ok(text) => Ok(Source::new(name, text, form)),
        Err(fault) => {
            let (valid, rest) = text.split_at(fault.valid_up_to());
            let valid = std::str::from_utf8(valid).unwrap_or_default();
            Err(Diagnostic::error("the file is not UTF-8 text")
                .at(Location::of_bad_byte(name, valid, rest))
                .help("save the file with UTF-8 encoding"))
        }
    }
}

/// Where a diagnostic points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file's name as the user gave it.
    pub file: Arc<str>,
    /// The bytes pointed at.
    pub span: Span,
    /// The line of the first of them, counted from 1.
    pub line: u32,
    /// The character in that line, counted from 1.
    pub column: u32,
    /// The text of that line around the span.
    pub excerpt: Excerpt,
}

impl Location {
    /// The location of the first byte that is not UTF-8, given the valid text before it and the bytes
    /// from it on.
    pub(super) fn of_bad_byte(file: &str, before: &str, rest: &[u8]) -> Self {
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let last_line = &before[line_start..];
        let shown = rest.get(1..rest.len().min(400)).unwrap_or(&[]);
        let after = String::from_utf8_lossy(shown);
        let after = after.split('\n').next().unwrap_or("");
        Self {
            file: file.into(),
            span: Span::new(before.len(), before.len() + 1),
            line: before.bytes().filter(|&byte| byte == b'\n').count() as u32 + 1,
            column: last_line.chars().count() as u32 + 1,
            excerpt: Excerpt::new(last_line, "\u{fffd}", after),
        }
    }
}
