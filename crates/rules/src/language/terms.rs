//! Tokens to what is said of codes beside where they are: windows, counts, `since` and comparisons.

use super::LanguageLimits;
use super::diagnostic::Diagnostic;
use super::lexer::TokenKind;
use super::names::show;
use super::parser::{Parsed, Parser};
use super::source::{Form, Source, Span};
use super::tree::{Bound, Expression, ExpressionKind, LookBack, Times};
use super::window::{is_number, weight};
use crate::{Fact, ValueRange};

const COMPARISONS: &str =
    "comparisons are `> 6.5`, `>= 6.5`, `< 6.5`, `<= 6.5` and `between 4 and 6`";

pub(super) const COUNTS: &str = "counts are `A at least 2 times in last 365 days`, `A at least 2 times in past`, \
                      `A at most 3 times`, `A only once`";

/// Reads a comparison written by itself, as JSON holds it; else what is wrong with it.
pub(super) fn read_comparison(text: &str) -> Result<ValueRange, Diagnostic> {
    let limits = LanguageLimits::default();
    let source = Source::new("comparison", text, Form::Rules);
    let mut parser = Parser::new(&source, &limits);
    let range = parser.comparison();
    parser.whole(range, text, "a comparison", COMPARISONS)
}

impl Parser<'_> {
    /// A term with what is said of it.
    pub(super) fn said_of(&mut self, term: Expression) -> Parsed<Expression> {
        let start = term.span;
        let kind = match (self.token.kind, self.word()) {
            (_, Some("in")) => {
                self.advance();
                let window = self.window()?;
                self.count(weight(&window), start.to(self.last.span))?;
                ExpressionKind::In(term.into(), window)
            }
            (_, Some("at")) => {
                let times = self.times()?;
                ExpressionKind::Times(term.into(), times)
            }
            (_, Some("only")) => {
                let times = self.only_once()?;
                ExpressionKind::Times(term.into(), times)
            }
            (_, Some("since")) => {
                self.advance();
                let mark = self.codes()?;
                ExpressionKind::Since(term.into(), mark.into())
            }
            (TokenKind::Compare, _) | (_, Some("between")) => {
                let range = self.comparison()?;
                ExpressionKind::Compare(term.into(), range)
            }
            _ => return Ok(term),
        };
        self.refuse_more(&kind)?;
        let span = start.to(self.last.span);
        self.node(kind, span)
    }

    /// One thing is said of a term.
    fn refuse_more(&mut self, kind: &ExpressionKind) -> Parsed<()> {
        let more = matches!(self.word(), Some("in" | "at" | "only" | "since" | "between"));
        if !more && self.token.kind != TokenKind::Compare {
            return Ok(());
        }
        let span = self.token.span;
        Err(match kind {
            ExpressionKind::In(..) if self.word() == Some("in") => {
                self.fail_at(span, "a second window for the same term")
            }
            ExpressionKind::In(..) if self.word() == Some("at") => {
                let help = "the count comes before the window: `A at least 2 times in past`";
                self.fail_with(span, "a count after a window", help)
            }
            ExpressionKind::Compare(..) if self.word() == Some("in") => {
                let help = "ages and values are those of the current visit";
                self.fail_with(span, "a comparison in a window", help)
            }
            _ => {
                let message = format!("{} after a count, `since` or a comparison", self.found());
                self.fail_with(span, message, "join what is said with `and`")
            }
        })
    }

    /// `at least 2 times in last 365 days` and its kin.
    fn times(&mut self) -> Parsed<Times> {
        let start = self.advance().span;
        let bound = if self.take_word("least") {
            Bound::AtLeast
        } else if self.take_word("most") {
            Bound::AtMost
        } else {
            let message = format!("expected `least` or `most`, found {}", self.found());
            return Err(self.fail_with(start.to(self.token.span), message, COUNTS));
        };
        let (count, span) = match self.word() {
            Some("once") => (Some(1), self.advance().span),
            Some("twice") => (Some(2), self.advance().span),
            Some(word) if is_number(word) => {
                let span = self.advance().span;
                if !self.take_word("times") && !self.take_word("time") {
                    let message = format!("expected `times`, found {}", self.found());
                    return Err(self.fail_with(start.to(self.token.span), message, COUNTS));
                }
                (word.parse().ok(), span)
            }
            _ => {
                let message = format!("expected how many times, found {}", self.found());
                return Err(self.fail_with(start.to(self.token.span), message, COUNTS));
            }
        };
        let count = self.counted(bound, count, span)?;
        let within = if self.take_word("in") { Some(self.counted_window()?) } else { None };
        Ok(Times { bound, count, within })
    }

    fn counted(&mut self, bound: Bound, count: Option<u16>, span: Span) -> Parsed<u16> {
        // That there are at most so many is that there is not one more.
        let most = match bound {
            Bound::AtLeast => Fact::MAX_COUNT,
            Bound::AtMost => Fact::MAX_COUNT - 1,
        };
        match (count, bound) {
            (Some(0), Bound::AtMost) => {
                let help = "write `not A in past` for a code that never was";
                Err(self.fail_with(span, "at most 0 times is never", help))
            }
            (Some(0), Bound::AtLeast) => {
                Err(self.fail_with(span, "at least 0 times is always so", COUNTS))
            }
            (Some(count), _) if count <= most => Ok(count),
            _ => {
                let message = format!("a count of more than {most}");
                Err(self.fail_with(span, message, "rules count few visits"))
            }
        }
    }

    /// The window of a count.
    fn counted_window(&mut self) -> Parsed<LookBack> {
        let start = self.token.span;
        let window = self.window()?;
        match &window {
            LookBack::Days(_) => Ok(window),
            LookBack::Visits(visits) if visits.is_past() => Ok(window),
            LookBack::Visits(visits) => {
                let message = format!("a count over {}", show(&visits.to_string()));
                let help = "visits are counted `in past`, `in last 365 days`, `in 3 to 14 days ago`, \
                            or without a window, up to this one";
                Err(self.fail_with(start.to(self.last.span), message, help))
            }
        }
    }

    /// `only once`: at most once, this visit included.
    fn only_once(&mut self) -> Parsed<Times> {
        let start = self.advance().span;
        if !self.take_word("once") {
            let message = format!("expected `once`, found {}", self.found());
            return Err(self.fail_with(start.to(self.token.span), message, COUNTS));
        }
        if self.word() == Some("in") {
            let help = "it counts this visit too; write `at most once in ...` for earlier ones";
            return Err(self.fail_with(self.token.span, "`only once` in a window", help));
        }
        Ok(Times { bound: Bound::AtMost, count: 1, within: None })
    }

    /// `> 6.5`, `between 4 and 6` and their kin.
    fn comparison(&mut self) -> Parsed<ValueRange> {
        let start = self.token.span;
        if self.take_word("between") {
            let least = self.number()?;
            if !self.take_word("and") {
                let message = format!("expected `and`, found {}", self.found());
                return Err(self.fail_with(start.to(self.token.span), message, COMPARISONS));
            }
            let most = self.number()?;
            if most < least {
                let help = format!("the smaller comes first: `between {most} and {least}`");
                let span = start.to(self.last.span);
                return Err(self.fail_with(span, "a range that ends before it begins", help));
            }
            return Ok(ValueRange::between(least, most));
        }
        let make = match (self.token.kind, self.source.slice(start)) {
            (TokenKind::Compare, ">") => ValueRange::above,
            (TokenKind::Compare, ">=") => ValueRange::at_least,
            (TokenKind::Compare, "<") => ValueRange::below,
            (TokenKind::Compare, _) => ValueRange::at_most,
            _ => return Err(self.unexpected("a comparison")),
        };
        self.advance();
        self.number().map(make)
    }

    /// A number, as values are stored.
    fn number(&mut self) -> Parsed<f32> {
        let span = self.token.span;
        let word = self.word().unwrap_or_default();
        let plain =
            |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
        let number = word.parse::<f32>().ok().filter(|_| word.bytes().all(plain));
        match number {
            Some(number) if number.is_finite() => {
                self.advance();
                Ok(number)
            }
            Some(_) => {
                let message = format!("{} is larger than any value", show(word));
                Err(self.fail_at(span, message))
            }
            None => {
                let message = format!("expected a number, found {}", self.found());
                let help = format!("{COMPARISONS}; implication is written `=>`");
                Err(self.fail_with(span, message, help))
            }
        }
    }
}
