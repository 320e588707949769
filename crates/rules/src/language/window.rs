//! Tokens to windows.

use super::LanguageLimits;
use super::diagnostic::Diagnostic;
use super::lexer::TokenKind;
use super::names::{is_keyword, show};
use super::parser::{Parsed, Parser};
use super::source::{Form, Source, Span};
use super::tree::LookBack;
use crate::{Days, Window};

const FORMS: &str = "windows are `static`, `previous`, `past`, `visit 4`, `3 visits ago`, \
                     `last 3 visits`, a set such as `{-1, 1, 4}`, or days: `last 30 days`, \
                     `3 to 14 days ago`";

/// Reads a window written by itself, as JSON holds it; else what is wrong with it.
pub(super) fn read_window(text: &str) -> Result<LookBack, Diagnostic> {
    let limits = LanguageLimits::default();
    let source = Source::new("window", text, Form::Rules);
    let mut parser = Parser::new(&source, &limits);
    let window = parser.window();
    parser.whole(window, text, "a window", FORMS)
}

/// How many parts of a formula a window is worth in memory: `last 10000 visits` is short to write
/// and long to keep.
pub(super) fn weight(window: &LookBack) -> usize {
    match window {
        LookBack::Visits(window) => (window.visits().len() + window.distances().len()) / 32,
        LookBack::Days(_) => 0,
    }
}

/// What is counted back.
enum Unit {
    Visits,
    /// So many days each.
    Days(u32),
}

impl<'a> Parser<'a> {
    /// What was read from a text of its own, if that is all of it; else what is wrong.
    pub(super) fn whole<T>(
        self,
        read: Parsed<T>,
        text: &str,
        what: &str,
        forms: &'static str,
    ) -> Result<T, Diagnostic> {
        let not_one = || Diagnostic::error(format!("{} is not {what}", show(text))).help(forms);
        match read {
            Ok(read) if self.token.kind == TokenKind::End => Ok(read),
            Ok(_) => Err(not_one()),
            Err(_) => {
                let mut first = self.errors.iter().next().cloned().unwrap_or_else(not_one);
                first.location = None;
                Err(first)
            }
        }
    }

    /// What stands after `in`.
    pub(super) fn window(&mut self) -> Parsed<LookBack> {
        if self.token.kind == TokenKind::OpenBrace {
            return self.window_set().map(LookBack::Visits);
        }
        let start = self.token.span;
        let Some(word) = self.word() else { return self.not_a_window(start) };
        match word {
            "static" => {
                self.advance();
                Ok(Window::static_visit().into())
            }
            "previous" => {
                self.advance();
                Ok(Window::previous().into())
            }
            "past" => {
                self.advance();
                Ok(Window::past().into())
            }
            "visit" => {
                self.advance();
                let visit = self.visit_number(0)?;
                Ok(Window::at([visit]).into())
            }
            "last" => {
                self.advance();
                match self.word() {
                    Some("visit" | "day" | "week") => match self.unit(start)? {
                        Unit::Visits => Ok(Window::previous().into()),
                        Unit::Days(days) => Ok(Days::last(days).into()),
                    },
                    _ => {
                        let (digits, span) = self.whole_number("a number of visits or days")?;
                        match self.unit(start)? {
                            Unit::Visits => Ok(Window::last(self.bounded(digits, span, 1)?).into()),
                            Unit::Days(each) => {
                                Ok(Days::last(self.days(digits, span, each)?).into())
                            }
                        }
                    }
                }
            }
            _ if is_number(word) => self.ago(start),
            _ => self.not_a_window(start),
        }
    }

    /// `3 visits ago`, `10 days ago`, `3 to 14 days ago`.
    fn ago(&mut self, start: Span) -> Parsed<LookBack> {
        let (digits, span) = self.whole_number("a number of visits or days")?;
        let to = match self.take_word("to") {
            true => Some(self.whole_number("the number of days that the window ends with")?),
            false => None,
        };
        let unit = self.unit(start)?;
        let window = match (unit, to) {
            (Unit::Visits, None) => Window::ago([self.bounded(digits, span, 1)?]).into(),
            (Unit::Visits, Some(_)) => {
                let help = "list visits in a set: `{-3, -2}` is two and three visits ago";
                let span = start.to(self.last.span);
                return Err(self.fail_with(span, "a window from one visit to another", help));
            }
            (Unit::Days(each), to) => {
                let from = self.days(digits, span, each)?;
                let to = match to {
                    Some((digits, span)) => self.days(digits, span, each)?,
                    None => from,
                };
                if to < from {
                    let help = format!("the nearer day comes first: `{to} to {from} days ago`");
                    let span = start.to(self.last.span);
                    return Err(self.fail_with(span, "a window that ends before it begins", help));
                }
                Days { from, to }.into()
            }
        };
        if self.take_word("ago") {
            return Ok(window);
        }
        let message = format!("expected `ago`, found {}", self.found());
        let help = "windows look back: `in 3 visits ago`, `in 3 to 14 days ago`, `in last 14 days`";
        Err(self.fail_with(start.to(self.token.span), message, help))
    }

    fn unit(&mut self, start: Span) -> Parsed<Unit> {
        let unit = match self.word() {
            Some("visit" | "visits") => Unit::Visits,
            Some("day" | "days") => Unit::Days(1),
            Some("week" | "weeks") => Unit::Days(7),
            Some(unit) if !is_keyword(unit) => {
                let message = format!("`{unit}` is no unit of a window");
                let help = "windows count visits, days or weeks: a month is `30 days`, a year \
                            `365 days`";
                return Err(self.fail_with(self.token.span, message, help));
            }
            _ => return self.not_a_window(start),
        };
        self.advance();
        Ok(unit)
    }

    /// A number of days, written in units of so many.
    fn days(&mut self, digits: &str, span: Span, each: u32) -> Parsed<u32> {
        let days = digits.parse::<u32>().ok().and_then(|number| number.checked_mul(each));
        match days {
            Some(days) if days <= Days::MAX => Ok(days),
            _ => {
                let message = format!("a window of more than {} days", Days::MAX);
                Err(self.fail_with(span, message, "for all that was before write `in past`"))
            }
        }
    }

    /// A whole number, as it is written.
    fn whole_number(&mut self, what: &str) -> Parsed<(&'a str, Span)> {
        match self.word() {
            Some(word) if is_number(word) => Ok((word, self.advance().span)),
            _ => {
                let message = format!("expected {what}, found {}", self.found());
                let help =
                    "it is a whole number, with a blank after it: `last 3 visits`, `last 30 days`";
                Err(self.fail_with(self.token.span, message, help))
            }
        }
    }

    fn not_a_window<T>(&mut self, start: Span) -> Parsed<T> {
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

pub(super) fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
