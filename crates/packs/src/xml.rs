//! XML, as much of it as a published list needs: tags, attributes and text. What could make a small
//! file large, declarations of its own entities, is refused.

use std::borrow::Cow;

use crate::error::{PackError, shown};

/// The most elements inside each other.
const DEEPEST: usize = 64;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// An element begins.
    Open { name: &'a str, attributes: &'a str },
    /// An element ends.
    Close(&'a str),
    /// Text between tags.
    Text(Cow<'a, str>),
}

/// Reads a document from one end to the other.
pub(crate) struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    at: usize,
    open: Vec<&'a str>,
    /// Whether the element just begun has no content.
    empty: bool,
    /// Whether an element was met outside any other.
    rooted: bool,
}

impl<'a> Reader<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, at: 0, open: Vec::new(), empty: false, rooted: false }
    }

    /// The next event; none at the end of the document.
    pub fn next(&mut self) -> Result<Option<Event<'a>>, PackError> {
        if std::mem::take(&mut self.empty) {
            return Ok(self.open.pop().map(Event::Close));
        }
        loop {
            let rest = &self.text[self.at..];
            if rest.is_empty() {
                return match self.open.last() {
                    None if self.rooted => Ok(None),
                    None => Err(self.fault("no element, so this is no XML".to_owned())),
                    Some(name) => {
                        let name = shown(name);
                        Err(self.fault(format!("the file ends inside `{name}`; is it cut short?")))
                    }
                };
            }
            if let Some(inside) = rest.strip_prefix("<!--") {
                self.skip(rest, inside, "-->")?;
            } else if let Some(inside) = rest.strip_prefix("<?") {
                self.skip(rest, inside, "?>")?;
            } else if let Some(inside) = rest.strip_prefix("<![CDATA[") {
                let start = self.at + (rest.len() - inside.len());
                self.skip(rest, inside, "]]>")?;
                return Ok(Some(Event::Text(self.text[start..self.at - 3].into())));
            } else if rest.starts_with("<!") {
                let what = "a declaration of a document type, which is not read".to_owned();
                return Err(self.fault(what));
            } else if rest.starts_with('<') {
                return self.tag().map(Some);
            } else if let Some(text) = self.between()? {
                return Ok(Some(Event::Text(text)));
            }
        }
    }

    /// Passes over what ends in `end`.
    fn skip(&mut self, rest: &str, inside: &str, end: &str) -> Result<(), PackError> {
        let Some(length) = inside.find(end) else {
            return Err(self.fault(format!("no `{end}` after this; is the file cut short?")));
        };
        self.at += rest.len() - inside.len() + length + end.len();
        Ok(())
    }

    fn tag(&mut self) -> Result<Event<'a>, PackError> {
        let rest = &self.text[self.at + 1..];
        let Some(end) = rest.find('>') else {
            return Err(self.fault("no `>` after this; is the file cut short?".to_owned()));
        };
        let inside = &rest[..end];
        if inside.contains('<') {
            return Err(self.fault("a tag inside a tag".to_owned()));
        }
        if let Some(name) = inside.strip_prefix('/') {
            let name = name.trim_end();
            return match self.open.pop() {
                Some(open) if open == name => {
                    self.at += end + 2;
                    Ok(Event::Close(name))
                }
                open => {
                    let expected = open.map_or("nothing".to_owned(), shown);
                    let name = shown(name);
                    Err(self.fault(format!("`{name}` ends where `{expected}` is open")))
                }
            };
        }
        let content = inside.strip_suffix('/');
        self.empty = content.is_some();
        let content = content.unwrap_or(inside);
        let (name, attributes) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
        if name.is_empty() {
            return Err(self.fault("a tag without a name".to_owned()));
        }
        if self.open.is_empty() && self.rooted {
            return Err(self.fault("more than one outermost element".to_owned()));
        }
        if self.open.len() >= DEEPEST {
            return Err(self.fault(format!("more than {DEEPEST} elements inside each other")));
        }
        self.open.push(name);
        self.rooted = true;
        self.at += end + 2;
        Ok(Event::Open { name, attributes })
    }

    /// Text up to the next tag; none if it is blank.
    fn between(&mut self) -> Result<Option<Cow<'a, str>>, PackError> {
        let rest = &self.text[self.at..];
        let text = &rest[..rest.find('<').unwrap_or(rest.len())];
        if text.trim().is_empty() {
            self.at += text.len();
            return Ok(None);
        }
        if self.open.is_empty() {
            return Err(self.fault("text outside any element, so this is no XML".to_owned()));
        }
        let unpacked = self.unpacked(text)?;
        self.at += text.len();
        Ok(Some(unpacked))
    }

    /// Text with the signs that stand for others replaced.
    fn unpacked(&self, text: &'a str) -> Result<Cow<'a, str>, PackError> {
        if !text.contains('&') {
            return Ok(text.into());
        }
        let mut out = String::with_capacity(text.len());
        let mut parts = text.split('&');
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let sign = part.split_once(';').and_then(|(name, rest)| Some((named(name)?, rest)));
            let Some((sign, rest)) = sign else {
                let start = shown(part);
                return Err(self.fault(format!("`&{start}` stands for no character")));
            };
            out.push(sign);
            out.push_str(rest);
        }
        Ok(out.into())
    }

    /// An error at what comes next.
    pub fn fault(&self, what: String) -> PackError {
        let line = self.text[..self.at].bytes().filter(|&byte| byte == b'\n').count() + 1;
        PackError::Xml { file: self.file.to_owned(), line, what }
    }
}

/// The character that a name between `&` and `;` stands for.
fn named(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(number) => u32::from_str_radix(number, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)
        }
    }
}

/// The value of an attribute.
pub(crate) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = attributes.trim_start();
    loop {
        let (found, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
        let (value, after) = after[1..].split_once(quote)?;
        if found.trim() == name {
            return Some(value);
        }
        rest = after.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let mut reader = Reader::new("f", text);
        let mut events = Vec::new();
        loop {
            match reader.next().map_err(|error| error.to_string())? {
                None => return Ok(events),
                Some(Event::Open { name, attributes }) => {
                    let id = attribute(attributes, "id").unwrap_or("-");
                    events.push(format!("<{name} {id}>"));
                }
                Some(Event::Close(name)) => events.push(format!("</{name}>")),
                Some(Event::Text(text)) => events.push(text.into_owned()),
            }
        }
    }

    #[test]
    fn tags_and_text() {
        let text = "<?xml version='1.0'?>\n<a x=\"1\" id='A&#x42;'><!-- no <b> -->\n\
                    <b/>one &lt; t&#119;o<![CDATA[<&]]></a>\n";
        let expected = ["<a A&#x42;>", "<b ->", "</b>", "one < two", "<&", "</a>"];
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn what_is_damaged_says_where() {
        let fault = |text: &str| read(text).unwrap_err();
        assert_eq!(fault("<a>\n<b></a>"), "f:2: `a` ends where `b` is open");
        assert!(fault("<a>\n<b>").starts_with("f:2: the file ends inside `b`"));
        assert!(fault("<a").contains("no `>`") && fault("<a><!-- ").contains("no `-->`"));
        assert!(fault("").contains("no XML") && fault("code,title\n").contains("no XML"));
        assert_eq!(fault("<a>&lol;</a>"), "f:1: `&lol;` stands for no character");
        assert!(fault("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>").contains("document type"));
        assert!(fault("<a/><b/>").contains("more than one"));
        assert!(fault(&"<a>".repeat(1_000_000)).contains("inside each other"));
        assert!(fault("<a><></a>").contains("without a name"));
        assert!(fault("<a><b <c></a>").contains("inside a tag"));
        assert!(fault("<a>&#55296;</a>").contains("no character"));
    }
}
