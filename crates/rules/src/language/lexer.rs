//! Text to tokens, one at a time.

use super::names;
use super::source::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A bare word: a name, a number or a word of the language.
    Word,
    /// A name in quotes; the span includes them.
    Quoted,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `,`
    Comma,
    /// `:` at the end of a word or alone.
    Colon,
    /// `=`
    Equals,
    /// `=>`
    Implies,
    /// `<=>`
    Iff,
    /// The end of the text.
    End,
    /// A quote that is not closed on its line.
    Unclosed,
    /// `>`, `>=`, `<` or `<=` with a blank on either side.
    Compare,
    /// `<` or `>` that is part of no operator.
    Stray,
}

/// A token with its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// Walks over a text.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 } }
    }

    /// The next token; [`TokenKind::End`] for ever once the text is used up.
    pub(super) fn next(&mut self) -> Token {
        self.skip_blanks();
        let start = self.at;
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else {
            return Token { kind: TokenKind::End, span: Span::new(start, start) };
        };
        let (kind, length) = match first {
            '(' => (TokenKind::Open, 1),
            ')' => (TokenKind::Close, 1),
            '{' => (TokenKind::OpenBrace, 1),
            '}' => (TokenKind::CloseBrace, 1),
            ',' => (TokenKind::Comma, 1),
            '=' if rest.starts_with("=>") => (TokenKind::Implies, 2),
            '=' => (TokenKind::Equals, 1),
            '<' if rest.starts_with("<=>") => (TokenKind::Iff, 3),
            '<' | '>' => self.sign(rest),
            '"' => quoted(rest),
            _ => word(rest),
        };
        self.at = start + length;
        Token { kind, span: Span::new(start, self.at) }
    }

    /// A sign between blanks compares. Another is part of a name that lacks its quotes.
    fn sign(&self, rest: &str) -> (TokenKind, usize) {
        let length = if rest[1..].starts_with('=') { 2 } else { 1 };
        let is_blank = |next: Option<char>| next.is_none_or(char::is_whitespace);
        let before = self.text[..self.at].chars().next_back();
        match is_blank(before) && is_blank(rest[length..].chars().next()) {
            true => (TokenKind::Compare, length),
            false => (TokenKind::Stray, 1),
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            if !self.text[self.at..].starts_with('#') {
                return;
            }
            let comment = &self.text[self.at..];
            self.at += comment.find('\n').unwrap_or(comment.len());
        }
    }
}

/// A name in quotes and its length; a quote that the line does not close ends with the line.
fn quoted(rest: &str) -> (TokenKind, usize) {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            b'\n' => return (TokenKind::Unclosed, at),
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return (TokenKind::Quoted, at + 1),
            _ => {}
        }
    }
    (TokenKind::Unclosed, rest.len())
}

/// A bare word and its length; a colon at its end is left for the next token.
fn word(rest: &str) -> (TokenKind, usize) {
    let length = rest.find(|character| !names::is_bare(character)).unwrap_or(rest.len());
    match &rest[..length] {
        ":" => (TokenKind::Colon, 1),
        word if word.ends_with(':') => (TokenKind::Word, length - 1),
        _ => (TokenKind::Word, length),
    }
}

/// Reads `0.01`, `1%` or `1e-3`.
pub(super) fn read_probability(word: &str) -> Option<f64> {
    let (digits, percent) = match word.strip_suffix('%') {
        Some(digits) => (digits, true),
        None => (word, false),
    };
    let plain =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    if !digits.bytes().all(plain) {
        return None;
    }
    if !percent {
        return digits.parse().ok();
    }
    // Scaling the decimal text rounds once, where a division would round twice.
    let scaled = format!("{digits}e-2").parse().ok();
    scaled.or_else(|| digits.parse::<f64>().ok().map(|value| value / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next();
            if token.kind == TokenKind::End {
                return tokens;
            }
            tokens.push((token.kind, &text[token.span.range()]));
        }
    }

    #[test]
    fn words_quotes_operators_and_comments() {
        use TokenKind::*;
        assert_eq!(
            kinds("\u{feff}rule a:b: LOINC:1=>\"x \\\" y\" # (\n<=>{-1}"),
            [
                (Word, "rule"),
                (Word, "a:b"),
                (Colon, ":"),
                (Word, "LOINC:1"),
                (Implies, "=>"),
                (Quoted, "\"x \\\" y\""),
                (Iff, "<=>"),
                (OpenBrace, "{"),
                (Word, "-1"),
                (CloseBrace, "}"),
            ]
        );
        assert_eq!(kinds("\"abc\nd"), [(Unclosed, "\"abc"), (Word, "d")]);
        assert_eq!(kinds("A1C//>7"), [(Word, "A1C//"), (Stray, ">"), (Word, "7")]);
        assert_eq!(kinds("A >= 7"), [(Word, "A"), (Compare, ">="), (Word, "7")]);
        assert_eq!(
            kinds("A >7 <=> <"),
            [(Word, "A"), (Stray, ">"), (Word, "7"), (Iff, "<=>"), (Compare, "<")]
        );
    }

    #[test]
    fn a_run_of_colons_is_split_once_per_token() {
        use TokenKind::*;
        assert_eq!(kinds(":::"), [(Word, "::"), (Colon, ":")]);
    }

    #[test]
    fn probabilities_in_three_ways() {
        assert_eq!(read_probability("0.01"), Some(0.01));
        assert_eq!(read_probability("1%"), Some(0.01));
        assert_eq!(read_probability("0.1%"), Some(0.001));
        assert_eq!(read_probability("1e-3"), Some(0.001));
        assert_eq!(read_probability("1e1%"), Some(0.1));
        for word in ["nan", "inf", "infinity", "", "%", "a", "1_0"] {
            assert_eq!(read_probability(word), None, "{word}");
        }
    }
}
