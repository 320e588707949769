//! Tokens to formulas.

use super::diagnostic::Diagnostic;
use super::lexer::TokenKind;
use super::names;
use super::parser::{Failed, Parsed, Parser};
use super::source::Span;
use super::tree::{Expression, ExpressionKind, Quantifier};

/// An operator between the two halves of a formula.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrow {
    Implies,
    Iff,
}

impl Arrow {
    fn text(self) -> &'static str {
        match self {
            Self::Implies => "=>",
            Self::Iff => "<=>",
        }
    }
}

impl Parser<'_> {
    /// A whole formula.
    pub(super) fn formula(&mut self) -> Parsed<Expression> {
        let first = self.operand(false)?;
        self.formula_after(first)
    }

    /// The rest of a formula whose first operand was read. `=>` and `<=>` join two parts and no
    /// more: neither goes before the other.
    pub(super) fn formula_after(&mut self, first: Expression) -> Parsed<Expression> {
        let left = self.disjunction_after(first)?;
        let Some(operator) = self.arrow() else { return Ok(left) };
        self.advance();
        let first = self.operand(false)?;
        let right = self.disjunction_after(first)?;
        if let Some(next) = self.arrow() {
            return Err(self.refuse_chain(operator, next));
        }
        let span = left.span.to(right.span);
        let (left, right) = (left.into(), right.into());
        let kind = match operator {
            Arrow::Implies => ExpressionKind::Implies(left, right),
            Arrow::Iff => ExpressionKind::Iff(left, right),
        };
        self.node(kind, span)
    }

    /// The `=>` or `<=>` that comes next, if one does.
    fn arrow(&self) -> Option<Arrow> {
        match self.token.kind {
            TokenKind::Implies => Some(Arrow::Implies),
            TokenKind::Iff => Some(Arrow::Iff),
            _ => None,
        }
    }

    fn refuse_chain(&mut self, one: Arrow, next: Arrow) -> Failed {
        let (first, second) = (one.text(), next.text());
        let message = if one == next {
            format!("`{first}` twice in a row does not say which goes first")
        } else {
            format!("`{first}` and then `{second}` does not say which goes first")
        };
        let help = format!(
            "write `(A {first} B) {second} C` or `A {first} (B {second} C)`, whichever is meant"
        );
        self.fail_with(self.token.span, message, help)
    }

    fn disjunction_after(&mut self, first: Expression) -> Parsed<Expression> {
        let mut parts = vec![self.conjunction_after(first)?];
        while self.take_word("or") {
            let first = self.operand(false)?;
            parts.push(self.conjunction_after(first)?);
        }
        self.chain(parts, ExpressionKind::Or)
    }

    fn conjunction_after(&mut self, first: Expression) -> Parsed<Expression> {
        let mut parts = vec![first];
        while self.take_word("and") {
            parts.push(self.operand(false)?);
        }
        self.chain(parts, ExpressionKind::And)
    }

    fn chain(
        &mut self,
        mut parts: Vec<Expression>,
        make: fn(Vec<Expression>) -> ExpressionKind,
    ) -> Parsed<Expression> {
        if let [first, .., last] = parts.as_slice() {
            let span = first.span.to(last.span);
            return self.node(make(parts), span);
        }
        parts.pop().ok_or(Failed)
    }

    /// `not X`, `any of ...`, or a term with its windows. Inside a list, another list needs
    /// parentheses.
    pub(super) fn operand(&mut self, in_list: bool) -> Parsed<Expression> {
        self.depth += 1;
        if self.depth > self.limits.nesting() {
            let message = format!("nested more than {} levels deep", self.limits.nesting());
            let help = "give parts of the formula a name with `let`";
            return Err(self.fail_with(self.token.span, message, help));
        }
        let operand = self.operand_inside(in_list)?;
        self.depth -= 1;
        Ok(operand)
    }

    fn operand_inside(&mut self, in_list: bool) -> Parsed<Expression> {
        let start = self.token.span;
        if self.take_word("not") {
            let inner = self.operand(in_list)?;
            let span = start.to(inner.span);
            return self.node(ExpressionKind::Not(inner.into()), span);
        }
        if let Some("any" | "none" | "all" | "at" | "exactly") = self.word() {
            let quantifier = self.quantifier()?;
            if in_list {
                let message = format!("`{}` inside a list needs parentheses", quantifier.words());
                let help = "otherwise nobody can tell where the inner list ends";
                return Err(self.fail_with(start.to(self.last.span), message, help));
            }
            let first = self.operand(true)?;
            let items = self.list_after(first)?;
            let span = start.to(self.last.span);
            return self.node(ExpressionKind::Group(quantifier, items), span);
        }
        let term = self.codes()?;
        self.said_of(term)
    }

    /// A term, or a range of codes.
    pub(super) fn codes(&mut self) -> Parsed<Expression> {
        let term = self.term()?;
        if self.word() == Some("to") { self.range(term) } else { Ok(term) }
    }

    fn quantifier(&mut self) -> Parsed<Quantifier> {
        let start = self.token.span;
        let quantifier = match self.source.slice(self.advance().span) {
            "any" => Quantifier::Any,
            "none" => Quantifier::None,
            "all" => Quantifier::All,
            "exactly" => {
                self.words(&["one"], start)?;
                Quantifier::ExactlyOne
            }
            _ if self.word() == Some("least") => {
                self.words(&["least", "one"], start)?;
                Quantifier::Any
            }
            _ => {
                self.words(&["most", "one"], start)?;
                Quantifier::AtMostOne
            }
        };
        self.words(&["of"], start)?;
        Ok(quantifier)
    }

    fn words(&mut self, words: &[&str], start: Span) -> Parsed<()> {
        for word in words {
            if !self.take_word(word) {
                let message = format!("expected `{word}`, found {}", self.found());
                let help = "lists begin with `any of`, `none of`, `all of`, `at most one of` or \
                            `exactly one of`";
                return Err(self.fail_with(start.to(self.token.span), message, help));
            }
        }
        Ok(())
    }

    /// The rest of a list whose first item was read.
    pub(super) fn list_after(&mut self, first: Expression) -> Parsed<Vec<Expression>> {
        use ExpressionKind::{In, Times};
        let is_window = |item: &Expression| matches!(item.kind, In(..) | Times(..));
        let mut windows = usize::from(is_window(&first));
        let mut items = vec![first];
        while self.take(TokenKind::Comma) {
            if items.len() >= self.limits.list_items {
                let message = format!("more than {} items in one list", self.limits.list_items);
                return Err(self.fail_at(self.token.span, message));
            }
            let item = self.operand(true)?;
            windows += usize::from(is_window(&item));
            items.push(item);
        }
        if let [_, .., last] = items.as_slice()
            && windows == 1
            && is_window(last)
            && self.last.kind != TokenKind::Close
        {
            self.warn_last_item(last);
        }
        Ok(items)
    }

    /// A name, a constant, or a formula in parentheses.
    fn term(&mut self) -> Parsed<Expression> {
        match self.token.kind {
            TokenKind::Open => {
                let open = self.advance().span;
                let inner = self.formula()?;
                if !self.take(TokenKind::Close) {
                    let message = format!("expected an operator or `)`, found {}", self.found());
                    let span = self.token.span;
                    return Err(self.fail(|source| {
                        Diagnostic::error(message)
                            .at(source.location(span))
                            .note("the parenthesis opened here", source.location(open))
                    }));
                }
                Ok(inner.at(open.to(self.last.span)))
            }
            TokenKind::Quoted => {
                let name = self.quoted()?;
                self.node(ExpressionKind::Code(name.text), name.span)
            }
            TokenKind::Word => match self.word() {
                Some("true") => self.constant(true),
                Some("false") => self.constant(false),
                Some(word) if !names::is_keyword(word) => {
                    let span = self.advance().span;
                    if word == "first" && self.take_word("visit") {
                        return self.node(ExpressionKind::FirstVisit, span.to(self.last.span));
                    }
                    let name = self.checked_name(word.to_owned(), span)?;
                    self.node(Expression::word(&name.text).kind, span)
                }
                _ => Err(self.unexpected("a code or a formula")),
            },
            _ => Err(self.unexpected("a code or a formula")),
        }
    }

    /// The rest of a range whose first code was read.
    fn range(&mut self, first: Expression) -> Parsed<Expression> {
        let (ExpressionKind::Name(from) | ExpressionKind::Code(from)) = &first.kind else {
            let help = "a range goes from one code to another, such as `ICD9CM//630 to 679`";
            return Err(self.fail_with(first.span, "a range that begins with no code", help));
        };
        self.advance();
        let last = match (self.token.kind, self.word()) {
            (TokenKind::Quoted, _) => self.quoted()?,
            (_, Some(word)) if !names::is_keyword(word) && !names::is_glob(word) => {
                let span = self.advance().span;
                self.checked_name(word.to_owned(), span)?
            }
            _ => return Err(self.unexpected("the code that the range ends with")),
        };
        let span = first.span.to(last.span);
        if let Err(wrong) = names::range_ends(from, &last.text) {
            let (message, help) = wrong.words();
            return Err(self.fail_with(span, message, help));
        }
        self.node(ExpressionKind::Range(from.clone(), last.text), span)
    }

    fn constant(&mut self, value: bool) -> Parsed<Expression> {
        let span = self.advance().span;
        self.node(ExpressionKind::Constant(value), span)
    }

    pub(super) fn node(&mut self, kind: ExpressionKind, span: Span) -> Parsed<Expression> {
        self.count(1, span)?;
        Ok(Expression { kind, span })
    }
}
