//! The part of YAML that configurations are written in: mappings, lists and scalars, in blocks or in
//! brackets. Anchors, tags and several documents in a file are refused.

use crate::error::shown;

/// The deepest nesting that is read.
const DEEPEST: usize = 32;

/// A value with the line it begins on, counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub line: usize,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    /// A scalar; whether it stood in quotes.
    Scalar(String, bool),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// What is wrong, and on which line.
pub(crate) type Fault = (usize, String);

impl Node {
    /// The value of a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => {
                entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
            }
            _ => None,
        }
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text, _) => Some(text),
            _ => None,
        }
    }

    /// Whether it is there, but says nothing: `null`, `~`, `None` or nothing at all.
    pub fn is_null(&self) -> bool {
        match &self.value {
            Value::Null => true,
            Value::Scalar(text, false) => {
                matches!(text.as_str(), "~" | "null" | "Null" | "NULL" | "None")
            }
            _ => false,
        }
    }
}

/// A line that is not blank.
struct Line<'a> {
    number: usize,
    indent: usize,
    /// Without the indentation and without a comment.
    text: &'a str,
}

/// Reads a text.
pub(crate) fn read(text: &str) -> Result<Node, Fault> {
    let mut reader = Reader { lines: Vec::new(), next: 0 };
    let mut block: Option<usize> = None;
    for (index, whole) in text.lines().enumerate() {
        let number = index + 1;
        let inner = whole.trim_start_matches(' ');
        let indent = whole.len() - inner.len();
        // What is deeper than a block of text began is that text, whatever it looks like.
        if let Some(outer) = block {
            if inner.trim().is_empty() {
                continue;
            }
            if indent > outer {
                reader.lines.push(Line { number, indent, text: inner.trim_end() });
                continue;
            }
            block = None;
        }
        let text = without_comment(inner).trim_end();
        if text.is_empty() || indent == 0 && text == "---" && reader.lines.is_empty() {
            continue;
        }
        if inner.starts_with('\t') {
            return Err((number, "a tab at the beginning of a line; indent with blanks".into()));
        }
        if indent == 0 && (text.starts_with("---") || text.starts_with("...")) {
            return Err((number, "a second document in one file".into()));
        }
        block = is_block_of_text(text).then_some(indent);
        reader.lines.push(Line { number, indent, text });
    }
    let Some(first) = reader.lines.first() else { return Err((1, "the file says nothing".into())) };
    let indent = first.indent;
    let node = reader.block(indent, 0)?;
    match reader.lines.get(reader.next) {
        None => Ok(node),
        Some(line) => {
            Err((line.number, "a line that is indented otherwise than those above".into()))
        }
    }
}

/// Whether a line ends in the sign of a block of text: `|`, `>` and their kin.
fn is_block_of_text(text: &str) -> bool {
    let Some((_, sign)) = text.rsplit_once(": ") else { return false };
    matches!(sign.trim(), "|" | ">" | "|-" | ">-" | "|+" | ">+")
}

/// A line up to its comment.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    let mut escaped = false;
    for (index, character) in line.char_indices() {
        match quote {
            Some('"') if escaped => escaped = false,
            Some('"') if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if character == '#' && before.is_whitespace() => return &line[..index],
            // A quote in the middle of a word is a character like others.
            None if matches!(character, '"' | '\'') && matches!(before, ' ' | '{' | '[' | ',') => {
                quote = Some(character);
            }
            None => {}
        }
        before = character;
    }
    line
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    next: usize,
}

impl Reader<'_> {
    /// A mapping or a list whose lines have this indentation.
    fn block(&mut self, indent: usize, depth: usize) -> Result<Node, Fault> {
        let Some(line) = self.lines.get(self.next) else { return Ok(null(1)) };
        let number = line.number;
        if depth > DEEPEST {
            return Err((number, format!("more than {DEEPEST} levels")));
        }
        if line.text == "-" || line.text.starts_with("- ") {
            return self.list(indent, number);
        }
        let mut entries: Vec<(String, Node)> = Vec::new();
        while let Some(line) = self.lines.get(self.next).filter(|line| line.indent == indent) {
            let (number, text) = (line.number, line.text);
            let (key, rest) = key(text).ok_or_else(|| {
                (number, format!("`{}` where `key: value` was expected", shown(text)))
            })?;
            if entries.iter().any(|(before, _)| *before == key) {
                return Err((number, format!("`{}` a second time", shown(&key))));
            }
            self.next += 1;
            let node = self.value(rest, indent, number, depth)?;
            entries.push((key, node));
        }
        Ok(Node { line: number, value: Value::Map(entries) })
    }

    /// What stands after a key, on its line and below it.
    fn value(
        &mut self,
        rest: &str,
        indent: usize,
        number: usize,
        depth: usize,
    ) -> Result<Node, Fault> {
        if matches!(rest, "|" | ">" | "|-" | ">-" | "|+" | ">+") {
            let text = self.deeper(indent);
            return Ok(Node { line: number, value: Value::Scalar(text, true) });
        }
        if rest.is_empty() {
            return match self.lines.get(self.next) {
                Some(line) if line.indent > indent => {
                    let inner = line.indent;
                    self.block(inner, depth + 1)
                }
                // A list may stand as far to the left as its key.
                Some(line) if line.indent == indent && line.text.starts_with('-') => {
                    let number = line.number;
                    self.list(indent, number)
                }
                _ => Ok(null(number)),
            };
        }
        // What goes on below goes on in the same value.
        let below = self.deeper(indent);
        let whole = if below.is_empty() { rest.to_owned() } else { format!("{rest} {below}") };
        flow(&whole, number)
    }

    /// The lines that are indented deeper, as one.
    fn deeper(&mut self, indent: usize) -> String {
        let start = self.next;
        while self.lines.get(self.next).is_some_and(|line| line.indent > indent) {
            self.next += 1;
        }
        let lines: Vec<&str> = self.lines[start..self.next].iter().map(|line| line.text).collect();
        lines.join(" ")
    }

    /// A list of scalars, or of what stands in brackets.
    fn list(&mut self, indent: usize, number: usize) -> Result<Node, Fault> {
        let mut nodes = Vec::new();
        while let Some(line) = self.lines.get(self.next).filter(|line| line.indent == indent) {
            let Some(rest) = line.text.strip_prefix('-') else { break };
            let (number, rest) = (line.number, rest.trim());
            if rest.is_empty() || !matches!(line.text.as_bytes().get(1), Some(b' ')) {
                return Err((number, "expected `- ` and a value on one line".into()));
            }
            self.next += 1;
            nodes.push(flow(rest, number)?);
        }
        Ok(Node { line: number, value: Value::List(nodes) })
    }
}

fn null(line: usize) -> Node {
    Node { line, value: Value::Null }
}

/// The key of a line and what stands after its colon.
fn key(text: &str) -> Option<(String, &str)> {
    if let Some(quote @ ('"' | '\'')) = text.chars().next() {
        let inner = &text[1..];
        let end = inner.find(quote)?;
        let rest = inner[end + 1..].trim_start().strip_prefix(':')?;
        return Some((inner[..end].to_owned(), rest.trim()));
    }
    let end = match text.find(": ") {
        Some(end) => end,
        None => text.strip_suffix(':')?.len(),
    };
    let key = text[..end].trim_end();
    let plain = !key.is_empty()
        && !key.starts_with(['{', '[', '&', '*', '!', '?', '%', '@', '`', '|', '>']);
    plain.then(|| (key.to_owned(), text[end + 1..].trim()))
}

/// A value on one line: a scalar, or a list or mapping in brackets.
fn flow(text: &str, line: usize) -> Result<Node, Fault> {
    let mut flow = Flow { rest: text.trim(), line };
    let node = flow.node(0, false)?;
    match flow.rest.trim() {
        "" => Ok(node),
        rest => Err((line, format!("`{}` after the end of a value", shown(rest)))),
    }
}

struct Flow<'a> {
    rest: &'a str,
    line: usize,
}

impl Flow<'_> {
    fn fault<T>(&self, what: impl Into<String>) -> Result<T, Fault> {
        Err((self.line, what.into()))
    }

    fn take(&mut self, character: char) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(character) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    fn node(&mut self, depth: usize, inside: bool) -> Result<Node, Fault> {
        let line = self.line;
        if depth > DEEPEST {
            return self.fault(format!("more than {DEEPEST} levels"));
        }
        self.rest = self.rest.trim_start();
        let value = if self.take('[') {
            let mut nodes = Vec::new();
            while !self.take(']') {
                nodes.push(self.node(depth + 1, true)?);
                if !self.take(',') && !self.rest.trim_start().starts_with(']') {
                    return self.fault("a list without its `]`");
                }
            }
            Value::List(nodes)
        } else if self.take('{') {
            let mut entries: Vec<(String, Node)> = Vec::new();
            while !self.take('}') {
                let (key, _) = self.scalar(true)?;
                if !self.take(':') {
                    return self.fault(format!("no `:` after `{}`", shown(&key)));
                }
                if entries.iter().any(|(before, _)| *before == key) {
                    return self.fault(format!("`{}` a second time", shown(&key)));
                }
                let node = self.node(depth + 1, true)?;
                entries.push((key, node));
                if !self.take(',') && !self.rest.trim_start().starts_with('}') {
                    return self.fault("a mapping without its `}`");
                }
            }
            Value::Map(entries)
        } else {
            match self.scalar(inside)? {
                (text, false) if text.is_empty() => Value::Null,
                (text, quoted) => Value::Scalar(text, quoted),
            }
        };
        Ok(Node { line, value })
    }

    /// A scalar; whether it stood in quotes.
    fn scalar(&mut self, inside: bool) -> Result<(String, bool), Fault> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            Some('\'') => self.single().map(|text| (text, true)),
            Some('"') => self.double().map(|text| (text, true)),
            Some(sign @ ('&' | '*' | '!' | '|' | '>' | '%' | '@' | '`')) => {
                self.fault(format!("`{sign}` at the beginning of a value; put the value in quotes"))
            }
            _ => {
                let ends = |(index, character): (usize, char)| {
                    let after = self.rest[index + character.len_utf8()..].chars().next();
                    let ends = match character {
                        ',' | ']' | '}' | '[' | '{' => inside,
                        ':' => {
                            inside && after.is_none_or(|next| matches!(next, ' ' | ',' | '}' | ']'))
                        }
                        _ => false,
                    };
                    ends.then_some(index)
                };
                let end = self.rest.char_indices().find_map(ends).unwrap_or(self.rest.len());
                let text = self.rest[..end].trim_end().to_owned();
                if !inside && text.contains(": ") {
                    return self.fault("two colons in one line; put the value in quotes");
                }
                self.rest = &self.rest[end..];
                Ok((text, false))
            }
        }
    }

    fn single(&mut self) -> Result<String, Fault> {
        let mut text = String::new();
        let mut rest = &self.rest[1..];
        loop {
            let Some(end) = rest.find('\'') else {
                return self.fault("a quote that is not closed");
            };
            text.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('\'') {
                Some(after) => {
                    text.push('\'');
                    rest = after;
                }
                None => break,
            }
        }
        self.rest = rest;
        Ok(text)
    }

    fn double(&mut self) -> Result<String, Fault> {
        let mut text = String::new();
        let mut characters = self.rest[1..].chars();
        loop {
            match characters.next() {
                None => return self.fault("a quote that is not closed"),
                Some('"') => break,
                Some('\\') => match characters.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(plain @ ('"' | '\\' | '/' | ' ')) => text.push(plain),
                    other => {
                        let sign = other.map(String::from).unwrap_or_default();
                        return self
                            .fault(format!("`\\{sign}` in double quotes; use single quotes"));
                    }
                },
                Some(character) => text.push(character),
            }
        }
        self.rest = characters.as_str();
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree as one line.
    fn told(node: &Node) -> String {
        match &node.value {
            Value::Null => "null".into(),
            Value::Scalar(text, quoted) => {
                if *quoted {
                    format!("'{text}'")
                } else {
                    text.clone()
                }
            }
            Value::List(nodes) => {
                format!("[{}]", nodes.iter().map(told).collect::<Vec<_>>().join(", "))
            }
            Value::Map(entries) => {
                let entries = entries.iter().map(|(key, node)| format!("{key}={}", told(node)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
        }
    }

    #[test]
    fn blocks_brackets_quotes_and_comments() {
        for (text, expected) in [
            ("a: 1\nb:\n  c: x y # note\n  d:\n", "{a=1, b={c=x y, d=null}}"),
            (
                "a: {regex: \"^X//.*\", b: [1, 'it''s', c:d]}",
                "{a={regex='^X//.*', b=[1, 'it's', c:d]}}",
            ),
            ("a:\n- x\n- y#z\nb: q", "{a=[x, y#z], b=q}"),
            ("a:\n  - {b: c}\n  - \"#no\"", "{a=[{b=c}, '#no']}"),
            ("---\na: >\n  some: text\n  # more\nb: 2", "{a='some: text # more', b=2}"),
            ("a: [x,\n    y]\nb: one\n  two", "{a=[x, y], b=one two}"),
            ("a: LAB//50971//mEq/L\n\"b c\": d", "{a=LAB//50971//mEq/L, b c=d}"),
            ("a: {}\nb: []", "{a={}, b=[]}"),
        ] {
            assert_eq!(told(&read(text).unwrap()), expected, "{text}");
        }
        assert_eq!(read("a:\n\n  b: 1").unwrap().get("a").unwrap().get("b").unwrap().line, 3);
    }

    #[test]
    fn what_is_damaged_is_refused_with_its_line() {
        for (text, line, part) in [
            ("", 1, "says nothing"),
            ("a: 1\na: 2", 2, "second time"),
            ("a: 1\n  b: 2", 1, "two colons"),
            ("a:\n    b: 1\n  c: 2", 3, "indented otherwise"),
            ("a: [1, 2", 1, "`]`"),
            ("a: {b: 1", 1, "`}`"),
            ("a: {b}", 1, "no `:`"),
            ("a: 'x", 1, "not closed"),
            ("a: \"\\d\"", 1, "single quotes"),
            ("a: &x 1", 1, "`&`"),
            ("a: 1\n---\nb: 2", 2, "second document"),
            ("just words", 1, "key: value"),
            ("a:\n\tb: 1", 2, "tab"),
            ("a: 'x' y", 1, "after the end"),
            ("a:\n  -\n  - x", 2, "`- `"),
        ] {
            let (at, what) = read(text).unwrap_err();
            assert!(at == line && what.contains(part), "{text}: {at} {what}");
        }
        assert!(read(&format!("a: {}", "[".repeat(100_000))).is_err());
        let deep: String = (0..200).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
        assert!(read(&deep).unwrap_err().1.contains("levels"));
    }
}
