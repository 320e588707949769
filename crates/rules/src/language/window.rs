//! Tokens to windows.

use super::LanguageLimits;
use super::diagnostic::Diagnostic;
use super::lexer::TokenKind;
use super::names::show;
use super::parser::{Parsed, Parser};
use super::source::{Form, Source, Span};
use crate::Window;

const FORMS: &str = "windows are `static`, `previous`, `past`, `visit 4`, `3 visits ago`, \
                     `last 3 visits`, or a set such as `{-1, 1, 4}`";

/// Reads a window written by itself, as JSON holds it; else what is wrong with it.
pub(super) fn read_window(text: &str) -> Result<Window, Diagnostic> {
    let limits = LanguageLimits::default();
    let source = Source::new("window", text, Form::Rules);
    let mut parser = Parser::new(&source, &limits);
    match parser.window() {
        Ok(window) if parser.token.kind == TokenKind::End => Ok(window),
        Ok(_) => Err(Diagnostic::error(format!("{} is not a window", show(text))).help(FORMS)),
        Err(_) => {
            let first = parser.errors.iter().next().cloned();
            let mut first = first.unwrap_or_else(|| Diagnostic::error("not a window").help(FORMS));
            first.location = None;
            Err(first)
        }
    }
}

/// How many parts of a formula a window is worth in memory: `last 10000 visits` is short to write
/// and long to keep.
pub(super) fn weight(window: &Window) -> usize {
    (window.visits().len() + window.distances().len()) / 32
}

impl Parser<'_> {
    /// What stands after `in`.
    pub(super) fn window(&mut self) -> Parsed<Window> {
        if self.token.kind == TokenKind::OpenBrace {
            return self.window_set();
        }
        let start = self.token.span;
        let Some(word) = self.word() else { return self.not_a_window(start) };
        match word {
            "static" => {
                self.advance();
                Ok(Window::static_visit())
            }
            "previous" => {
                self.advance();
                Ok(Window::previous())
            }
            "past" => {
                self.advance();
                Ok(Window::past())
            }
            "visit" => {
                self.advance();
                let visit = self.visit_number(0)?;
                Ok(Window::at([visit]))
            }
            "last" => {
                self.advance();
                if self.take_word("visit") {
                    return Ok(Window::previous());
                }
                let count = self.visit_number(1)?;
                self.visits(start)?;
                Ok(Window::last(count))
            }
            _ if is_number(word) => {
                let distance = self.visit_number(1)?;
                self.visits(start)?;
                if self.take_word("ago") {
                    Ok(Window::ago([distance]))
                } else {
                    self.not_a_window(start)
                }
            }
            _ => self.not_a_window(start),
        }
    }

    fn visits(&mut self, start: Span) -> Parsed<()> {
        if self.take_word("visits") || self.take_word("visit") {
            return Ok(());
        }
        self.not_a_window(start).map(|_| ())
    }

    fn not_a_window(&mut self, start: Span) -> Parsed<Window> {
        let message = format!("expected a window after `in`, found {}", self.found());
        let span = if start == self.token.span { start } else { start.to(self.token.span) };
        Err(self.fail_with(span, message, FORMS))
    }

    fn window_set(&mut self) -> Parsed<Window> {
        let open = self.advance().span;
        let (mut visits, mut distances) = (Vec::new(), Vec::new());
        loop {
            if self.token.kind == TokenKind::CloseBrace && visits.is_empty() && distances.is_empty()
            {
                let span = open.to(self.token.span);
                let help = "name at least one visit: `{-1}` is the previous one";
                return Err(self.fail_with(span, "a window with no visits", help));
            }
            let (negative, number) = self.set_member()?;
            if negative {
                distances.push(number)
            } else {
                visits.push(number)
            }
            if self.take(TokenKind::CloseBrace) {
                return Ok(Window::set(visits, distances));
            }
            if !self.take(TokenKind::Comma) {
                return Err(self.unexpected("`,` or `}`"));
            }
            if visits.len() + distances.len() > 2 * usize::from(Window::MAX) + 1 {
                return Err(self.fail_at(open, "more visits in the window than there are"));
            }
        }
    }

    /// A member of a set: whether it counts back, and its number.
    fn set_member(&mut self) -> Parsed<(bool, u16)> {
        let word = self.word().unwrap_or_default();
        match word.strip_prefix('-') {
            Some(digits) if is_number(digits) => {
                let span = self.advance().span;
                Ok((true, self.bounded(digits, span, 1)?))
            }
            _ => Ok((false, self.visit_number(0)?)),
        }
    }

    /// A visit number or a distance.
    fn visit_number(&mut self, least: u16) -> Parsed<u16> {
        match self.word() {
            Some(word) if is_number(word) => {
                let span = self.advance().span;
                self.bounded(word, span, least)
            }
            _ => Err(self.unexpected("the number of a visit")),
        }
    }

    fn bounded(&mut self, digits: &str, span: Span, least: u16) -> Parsed<u16> {
        match digits.parse::<u16>() {
            Ok(number) if number < least => {
                let help = "1 is the visit before; 0 would be the current one";
                Err(self.fail_with(span, "a window never reaches the current visit", help))
            }
            Ok(number) if number <= Window::MAX => Ok(number),
            _ => {
                let message = format!("visit number {} is over {}", show(digits), Window::MAX);
                Err(self.fail_at(span, message))
            }
        }
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
