//! JSON with the location of every value, so that errors can point at it.

use std::fmt;

use super::LanguageLimits;
use super::diagnostic::Diagnostic;
use super::names::show;
use super::source::{Source, Span};

/// A JSON value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) span: Span,
}

/// The kinds of JSON value; members of an object in their order.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) node: Node,
}

impl Value {
    /// What it is, for a message.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// The way from the top of a file to a value.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    Top,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Key(parent, key) => {
                parent.fmt(out)?;
                let dot = if matches!(parent, Self::Top) { "" } else { "." };
                let key = show(key);
                write!(out, "{dot}{}", key.trim_matches('`'))
            }
            Self::Index(parent, index) => {
                parent.fmt(out)?;
                write!(out, "[{index}]")
            }
        }
    }
}

/// An error about the value at a path.
pub(super) fn fault(source: &Source, path: &Path<'_>, span: Span, message: &str) -> Diagnostic {
    let message = match path {
        Path::Top => message.to_owned(),
        path => format!("at {path}: {message}"),
    };
    Diagnostic::error(message).at(source.location(span))
}

/// The number of the JSON formats that rules are written in. A file without a number is of the
/// first; a change that this version's readers would not understand takes the next.
pub(super) const FORMAT: u32 = 1;

/// Refuses a format that is newer than this version, or no number at all.
pub(super) fn check_format(source: &Source, member: &Member) -> Result<(), Diagnostic> {
    let fault = |message: &str| fault(source, &Path::Top.key("format"), member.node.span, message);
    match member.node.value {
        Value::Number(number) if number.fract() == 0.0 && number >= 1.0 => {
            if number <= f64::from(FORMAT) {
                return Ok(());
            }
            let message = format!(
                "format {number} of rules as JSON is newer than {FORMAT}, the newest known"
            );
            Err(fault(&message).help("read it with the version of consequence that wrote it"))
        }
        _ => Err(fault("expected the number of a format, 1 or more")),
    }
}

/// Reads one JSON value that is the whole text.
pub(super) fn read(source: &Source, limits: &LanguageLimits) -> Result<Node, Diagnostic> {
    // A level of a formula takes two of JSON; the rest is for what is around it.
    let depth_left = 2 * limits.nesting() + 8;
    let nodes_left = limits.total_nodes;
    let mut reader = Reader { source, text: source.text(), at: 0, depth_left, nodes_left };
    let node = reader.node()?;
    reader.skip_blanks();
    if reader.at < reader.text.len() {
        return Err(reader.unexpected("the end of the file"));
    }
    Ok(node)
}

struct Reader<'a> {
    source: &'a Source,
    text: &'a str,
    at: usize,
    depth_left: usize,
    nodes_left: usize,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn error(&self, start: usize, end: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(message).at(self.source.location(Span::new(start, end)))
    }

    fn unexpected(&mut self, expected: &str) -> Diagnostic {
        let found = self.text[self.at..].chars().next();
        let shown = found.map_or("the end of the file".to_owned(), |next| show(&next.to_string()));
        let end = self.at + found.map_or(0, char::len_utf8);
        self.error(self.at, end, format!("not JSON: expected {expected}, found {shown}"))
    }

    fn node(&mut self) -> Result<Node, Diagnostic> {
        let next = self.peek();
        let start = self.at;
        let Some(left) = self.nodes_left.checked_sub(1) else {
            return Err(self.error(start, start, "more values in the file than are read"));
        };
        self.nodes_left = left;
        let value = match next {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { value, span: Span::new(start, self.at) })
    }

    fn nested(
        &mut self,
        inner: fn(&mut Self) -> Result<Value, Diagnostic>,
    ) -> Result<Value, Diagnostic> {
        let Some(left) = self.depth_left.checked_sub(1) else {
            return Err(self.error(self.at, self.at + 1, "nested too deeply"));
        };
        self.depth_left = left;
        self.at += 1;
        let value = inner(self)?;
        self.depth_left += 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Value, Diagnostic> {
        let mut nodes = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(nodes));
        }
        loop {
            nodes.push(self.node()?);
            if self.take(b']') {
                return Ok(Value::Array(nodes));
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
    }

    fn object(&mut self) -> Result<Value, Diagnostic> {
        let mut members: Vec<Member> = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in quotes"));
            }
            let start = self.at;
            let key = self.string()?;
            let key_span = Span::new(start, self.at);
            // No object that means anything here has more than a few keys.
            if members.len() >= 64 || members.iter().any(|member| member.key == key) {
                let message = format!("key {} is one too many in its object", show(&key));
                return Err(self.error(start, self.at, message));
            }
            if !self.take(b':') {
                return Err(self.unexpected("`:`"));
            }
            let node = self.node()?;
            members.push(Member { key, key_span, node });
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
    }

    fn string(&mut self) -> Result<String, Diagnostic> {
        let start = self.at;
        let mut escaped = false;
        let bytes = self.text.as_bytes()[start + 1..].iter();
        let inner = bytes.take_while(|byte| {
            let ends = **byte == b'"' && !escaped;
            escaped = **byte == b'\\' && !escaped;
            !ends
        });
        self.at = (start + inner.count() + 2).min(self.text.len());
        let text = self.text.get(start..self.at).unwrap_or("");
        serde_json::from_str(text)
            .map_err(|_| self.error(start, self.at, "not JSON: a broken string"))
    }

    fn number(&mut self) -> Result<Value, Diagnostic> {
        let start = self.at;
        let rest = &self.text[start..];
        let is_part = |character: char| {
            character.is_ascii_digit() || matches!(character, '+' | '-' | '.' | 'e' | 'E')
        };
        self.at += rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let text = &self.text[start..self.at];
        // serde_json knows what a number may look like, but rounds some in the last digit.
        match (serde_json::from_str::<f64>(text), text.parse()) {
            (Ok(_), Ok(number)) => Ok(Value::Number(number)),
            _ => Err(self.error(start, self.at, "not JSON: a broken number")),
        }
    }

    fn word(&mut self) -> Result<Value, Diagnostic> {
        let rest = &self.text[self.at..];
        let words =
            [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)];
        for (word, value) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.unexpected("a value"))
    }
}
