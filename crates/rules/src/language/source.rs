//! Texts that rules are read from, locations in them, and the line around a location, cut to what
//! fits a terminal.

use std::ops::Range;
use std::sync::Arc;

use super::LanguageLimits;
use super::diagnostic::Diagnostic;
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
    limits: &LanguageLimits,
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
    /// The location of the first byte that is not UTF-8, given the valid text before it and the
    /// bytes from it on.
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

/// Columns shown before the marked text, of the marked text, and of the line in all.
const BEFORE: usize = 50;
const MARKED: usize = 60;
const LINE: usize = 110;
const CUT: &str = "...";
const TAB: &str = "    ";

/// A line of source around a span: what to print, and where the carets go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, tabs spread to four spaces, control characters replaced, long ends cut.
    pub text: String,
    /// Columns before the first caret.
    pub indent: usize,
    /// How many carets.
    pub carets: usize,
}

impl Excerpt {
    /// Cuts the line `before + marked + after` around `marked`.
    pub(super) fn new(before: &str, marked: &str, after: &str) -> Self {
        let mut head = Vec::new();
        let mut columns = 0;
        let mut cut = false;
        for character in before.chars().rev() {
            columns += width(character);
            if columns > BEFORE || head.len() >= BEFORE {
                cut = true;
                break;
            }
            head.push(character);
        }
        let mut text = String::from(if cut { CUT } else { "" });
        let mut indent = text.len();
        for &character in head.iter().rev() {
            indent += push(&mut text, character);
        }
        let mut carets = 0;
        let whole = extend(&mut text, &mut carets, marked, MARKED);
        let mut tail = 0;
        let room = LINE.saturating_sub(indent + carets);
        if whole && extend(&mut text, &mut tail, after, room) {
            text.truncate(text.trim_end().len());
        } else {
            text.push_str(CUT);
        }
        Self { text, indent, carets: carets.max(1) }
    }
}

/// Appends as much of `part` as fits into `room` columns and as many characters; whether that was
/// all of it.
fn extend(text: &mut String, columns: &mut usize, part: &str, room: usize) -> bool {
    for (count, character) in part.chars().enumerate() {
        if *columns + width(character) > room || count >= room {
            return false;
        }
        *columns += push(text, character);
    }
    true
}

fn push(text: &mut String, character: char) -> usize {
    match character {
        '\t' => text.push_str(TAB),
        character if character.is_control() => text.push('\u{fffd}'),
        character => text.push(character),
    }
    width(character)
}

/// The columns a character takes: marks that combine take none, East Asian and pictorial ones two.
fn width(character: char) -> usize {
    match character as u32 {
        0x09 => TAB.len(),
        0x300..=0x36f | 0x200b..=0x200d => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_and_wide_characters_keep_carets_in_place() {
        let excerpt = Excerpt::new("\trule 糖: ", "A", " or B  ");
        assert_eq!(excerpt.text, "    rule 糖: A or B");
        assert_eq!((excerpt.indent, excerpt.carets), (4 + 5 + 2 + 2, 1));
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let long = "x".repeat(1_000_000);
        let excerpt = Excerpt::new(&long, &long, &long);
        assert!(excerpt.text.chars().count() < 120);
        assert!(excerpt.text.starts_with("...x") && excerpt.text.ends_with("x..."));
        assert_eq!((excerpt.indent, excerpt.carets), (53, 60));
        let short = Excerpt::new(&long, "y", "z");
        assert!(short.text.ends_with("xyz"));
    }

    #[test]
    fn an_empty_mark_still_has_a_caret() {
        let excerpt = Excerpt::new("rule a:", "", "");
        assert_eq!((excerpt.text.as_str(), excerpt.indent, excerpt.carets), ("rule a:", 7, 1));
    }
}
