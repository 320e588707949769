//! Tokens to statements.

use std::sync::Arc;

use super::LanguageLimits;
use super::diagnostic::{Diagnostic, Diagnostics, Topic, Warnings};
use super::lexer::{Lexer, Token, TokenKind, read_probability};
use super::names::{self, show};
use super::source::{Form, Source, Span, read_source};
use super::terms::COUNTS;
use super::tree::{
    Expression, ExpressionKind, ForItem, Item, LetItem, Name, RuleFile, RuleItem, StaticItem,
};

/// What may follow a formula.
const OPERATOR: &str = "an operator";

/// Reads one file of rules. `name` is what diagnostics call it.
///
/// Every statement that cannot be read gives one error; the others are still looked at.
///
/// ```
/// use consequence_rules::{LanguageLimits, parse};
///
/// let text = "
///     let pregnancy = any of ICD9CM//63*, ICD9CM//64*
///     rule no-pregnancy-in-men: SEX//M in static => not pregnancy
/// ";
/// let file = parse("pregnancy.rules", text, &LanguageLimits::default())?;
/// assert_eq!(file.items().len(), 2);
/// # Ok::<(), consequence_rules::Diagnostics>(())
/// ```
pub fn parse(
    name: &str,
    text: impl AsRef<[u8]>,
    limits: &LanguageLimits,
) -> Result<RuleFile, Diagnostics> {
    let source = Arc::new(read_source(name, text.as_ref(), Form::Rules, limits)?);
    let mut parser = Parser::new(&source, limits);
    let items = parser.statements();
    let Parser { errors, warnings, .. } = parser;
    if errors.is_empty() {
        Ok(RuleFile { source, items, warnings: warnings.finish() })
    } else {
        Err(errors)
    }
}

/// An error was reported and the statement is given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed;

pub(super) type Parsed<T> = Result<T, Failed>;

pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    pub(super) source: &'a Source,
    pub(super) limits: &'a LanguageLimits,
    /// The token not yet used, and the last one that was.
    pub(super) token: Token,
    pub(super) last: Token,
    pub(super) errors: Diagnostics,
    pub(super) warnings: Warnings,
    /// How deep in parentheses, lists and `not`.
    pub(super) depth: usize,
    /// Parts of the statement so far, and of the statements before it.
    pub(super) nodes: usize,
    nodes_before: usize,
    /// Whether all that was read says what the file is for: only then does `for` begin a statement.
    may_be_for: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a Source, limits: &'a LanguageLimits) -> Self {
        let mut lexer = Lexer::new(source.text());
        let token = lexer.next();
        let last = Token { kind: TokenKind::End, span: Span::default() };
        let errors = Diagnostics::new(limits.diagnostics);
        let warnings = Warnings::new(limits.diagnostics);
        Self {
            lexer,
            source,
            limits,
            token,
            last,
            errors,
            warnings,
            depth: 0,
            nodes: 0,
            nodes_before: 0,
            may_be_for: true,
        }
    }

    pub(super) fn advance(&mut self) -> Token {
        self.last = std::mem::replace(&mut self.token, self.lexer.next());
        if self.token.kind == TokenKind::End {
            // What is missing at the end is missing after the last token, not after the blanks.
            self.token.span = Span { start: self.last.span.end, end: self.last.span.end };
        }
        self.last
    }

    /// The word that comes next, if a bare word comes next.
    pub(super) fn word(&self) -> Option<&'a str> {
        (self.token.kind == TokenKind::Word).then(|| self.source.slice(self.token.span))
    }

    /// Takes the given word if it comes next.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.word() == Some(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the given kind of token if it comes next.
    pub(super) fn take(&mut self, kind: TokenKind) -> bool {
        let found = self.token.kind == kind;
        if found {
            self.advance();
        }
        found
    }

    /// Reports the error that `make` makes.
    pub(super) fn fail(&mut self, make: impl FnOnce(&Source) -> Diagnostic) -> Failed {
        let source = self.source;
        self.errors.push_with(|| make(source));
        Failed
    }

    /// An error at a span.
    pub(super) fn fail_at(&mut self, span: Span, message: impl Into<String>) -> Failed {
        self.fail(|source| Diagnostic::error(message).at(source.location(span)))
    }

    /// An error at a span, with advice.
    pub(super) fn fail_with(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Failed {
        self.fail(|source| Diagnostic::error(message).at(source.location(span)).help(help))
    }

    fn statements(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        let mut rules = 0;
        while self.token.kind != TokenKind::End {
            self.depth = 0;
            self.nodes_before = self.nodes_before.saturating_add(std::mem::take(&mut self.nodes));
            match self.statement() {
                Ok(item) => {
                    rules += usize::from(matches!(item, Item::Rule(_)));
                    if rules > self.limits.rules {
                        let rules = if self.limits.rules == 1 { "rule" } else { "rules" };
                        let message =
                            format!("more than {} {rules} in one file", self.limits.rules);
                        self.fail_at(self.last.span, message);
                        return items;
                    }
                    items.push(item);
                }
                Err(Failed) => self.skip_statement(),
            }
        }
        items
    }

    /// Whether the next token begins a statement.
    fn at_statement(&self) -> bool {
        match self.word() {
            Some("rule" | "let" | "static") => true,
            Some("for") => self.may_be_for,
            _ => false,
        }
    }

    /// Goes on to the next statement. `static` is a window after `in` and begins a statement
    /// elsewhere.
    fn skip_statement(&mut self) {
        let mut after_in =
            self.last.kind == TokenKind::Word && self.source.slice(self.last.span) == "in";
        while self.token.kind != TokenKind::End {
            if self.at_statement() && !(after_in && self.word() == Some("static")) {
                return;
            }
            after_in = self.word() == Some("in");
            self.advance();
        }
    }

    fn statement(&mut self) -> Parsed<Item> {
        let start = self.token.span;
        self.may_be_for &= self.word() == Some("for");
        let item = match self.word() {
            Some("rule") => self.rule().map(Item::Rule),
            Some("let") => self.let_item().map(Item::Let),
            Some("static") => self.static_item().map(Item::Static),
            Some("for") if self.may_be_for => self.for_item().map(Item::For),
            _ => {
                let failed = self.unexpected("a statement: `rule`, `let` or `static`");
                self.advance();
                Err(failed)
            }
        }?;
        if self.token.kind == TokenKind::End || self.at_statement() {
            let span = start.to(self.last.span);
            return Ok(match item {
                Item::Rule(rule) => Item::Rule(RuleItem { span, ..rule }),
                Item::Let(definition) => Item::Let(LetItem { span, ..definition }),
                Item::Static(declaration) => Item::Static(StaticItem { span, ..declaration }),
                Item::For(made) => Item::For(ForItem { span, ..made }),
            });
        }
        Err(self.unexpected(&format!("{OPERATOR} or the next statement")))
    }

    fn rule(&mut self) -> Parsed<RuleItem> {
        self.advance();
        let name = self.name("the rule's name")?;
        if !self.take(TokenKind::Colon) {
            let message = format!("expected `:` after the rule's name, found {}", self.found());
            let span = self.token.span;
            return Err(if name.text.contains(':') {
                self.fail_with(span, message, "leave a space after the `:` of the name")
            } else {
                self.fail_at(span, message)
            });
        }
        let formula = self.formula()?;
        let probability = if self.take_word("with") { Some(self.probability()?) } else { None };
        Ok(RuleItem { name, formula, probability, span: Span::default() })
    }

    fn probability(&mut self) -> Parsed<f64> {
        if !self.take_word("probability") {
            return Err(self.unexpected("`probability`"));
        }
        let Some(word) = self.word() else { return Err(self.unexpected("a probability")) };
        let span = self.advance().span;
        let help = "write it as `0.01`, `1%` or `1e-2`, between 0 and 1";
        match read_probability(word) {
            Some(value) if (0.0..=1.0).contains(&value) => Ok(value),
            Some(_) => {
                let message = format!("probability {} is not between 0 and 1", show(word));
                Err(self.fail_with(span, message, help))
            }
            None => {
                let message = format!("{} is not a probability", show(word));
                Err(self.fail_with(span, message, help))
            }
        }
    }

    fn let_item(&mut self) -> Parsed<LetItem> {
        self.advance();
        let quoted = self.token.kind == TokenKind::Quoted;
        let name = self.name("a name for the `let`")?;
        if quoted || names::is_glob(&name.text) || name.text == consequence_record::END_NAME {
            let message = format!("{} cannot be the name of a `let`", show(&name.text));
            let help = "choose a plain word, without quotes, `*` and `?`";
            return Err(self.fail_with(name.span, message, help));
        }
        if !self.take(TokenKind::Equals) {
            return Err(self.unexpected("`=` after the name of the `let`"));
        }
        let first = self.operand(false)?;
        let values = if self.token.kind == TokenKind::Comma {
            self.list_after(first)?
        } else {
            vec![self.formula_after(first)?]
        };
        Ok(LetItem { name, values, span: Span::default() })
    }

    fn for_item(&mut self) -> Parsed<ForItem> {
        self.advance();
        let vocabulary = self.name("the name of a vocabulary, such as `ICD10CM`")?;
        let version = match self.take_word("version") {
            true => Some(self.name("the version of the vocabulary")?),
            false => None,
        };
        Ok(ForItem { vocabulary, version, span: Span::default() })
    }

    fn static_item(&mut self) -> Parsed<StaticItem> {
        self.advance();
        let first = self.operand(true)?;
        let codes = self.list_after(first)?;
        for code in &codes {
            use ExpressionKind::{Code, Glob, Name};
            if !matches!(code.kind, Code(_) | Glob(_) | Name(_)) {
                let message = "only codes can be declared static";
                let help = "list codes and patterns: `static SEX//F, SEX//M, AGE//*`";
                return Err(self.fail_with(code.span, message, help));
            }
        }
        Ok(StaticItem { codes, span: Span::default() })
    }

    /// A name of a rule or a `let`.
    fn name(&mut self, what: &str) -> Parsed<Name> {
        match self.token.kind {
            TokenKind::Word if !self.word().is_some_and(names::is_keyword) => {
                let word = self.word().unwrap_or_default();
                let span = self.advance().span;
                self.checked_name(word.to_owned(), span)
            }
            TokenKind::Quoted => self.quoted(),
            _ => Err(self.unexpected(what)),
        }
    }

    /// The name in quotes that comes next.
    pub(super) fn quoted(&mut self) -> Parsed<Name> {
        let span = self.advance().span;
        let inner = self.source.slice(Span { start: span.start + 1, end: span.end - 1 });
        match names::unquote(inner) {
            None => {
                let help = "in quotes, `\\` stands before `\"`, `\\`, `n`, `r` or `t` only";
                Err(self.fail_with(span, "unknown escape in a quoted name", help))
            }
            Some(text) if text.is_empty() => Err(self.fail_at(span, "empty name")),
            Some(text) => self.checked_name(text, span),
        }
    }

    /// Counts parts of a statement against the limits.
    pub(super) fn count(&mut self, nodes: usize, span: Span) -> Parsed<()> {
        self.nodes = self.nodes.saturating_add(nodes);
        let (most, total) = (self.limits.formula_nodes, self.limits.total_nodes);
        if self.nodes > most {
            return Err(self.fail_at(span, format!("a statement of more than {most} parts")));
        }
        if self.nodes_before.saturating_add(self.nodes) > total {
            return Err(self.fail_at(span, format!("statements of more than {total} parts")));
        }
        Ok(())
    }

    pub(super) fn checked_name(&mut self, text: String, span: Span) -> Parsed<Name> {
        let most = self.limits.name_bytes;
        if text.len() > most {
            let message = format!("a name of {} bytes, more than {most}", text.len());
            return Err(self.fail_at(span, message));
        }
        Ok(Name { text, span })
    }

    /// What comes next, for a message.
    pub(super) fn found(&self) -> String {
        match self.token.kind {
            TokenKind::End => "the end of the file".to_owned(),
            _ => show(self.source.slice(self.token.span)),
        }
    }

    /// An error about the next token, with advice where we can guess what was meant.
    pub(super) fn unexpected(&mut self, expected: &str) -> Failed {
        let span = self.token.span;
        let text = self.source.slice(span);
        let message = format!("expected {expected}, found {}", self.found());
        let help = match self.token.kind {
            TokenKind::Unclosed => {
                let message = "a quote is not closed on its line";
                return self.fail_with(span, message, "end the name with `\"`");
            }
            TokenKind::Stray => Some(self.stray_help()),
            TokenKind::Compare => {
                Some(format!("`{text}` compares: `AGE {text} 18`; implication is written `=>`"))
            }
            TokenKind::Colon => Some("a name that ends in `:` needs quotes".to_owned()),
            TokenKind::Equals => Some("`=` is for `let`; implication is written `=>`".to_owned()),
            TokenKind::Word => match text {
                _ if expected.starts_with(OPERATOR) && self.said_help().is_some() => {
                    self.said_help().map(str::to_owned)
                }
                "&" | "&&" => Some("write `and`".to_owned()),
                "|" | "||" => Some("write `or`".to_owned()),
                "!" => Some("write `not`".to_owned()),
                "-" => Some("implication is written `=>`".to_owned()),
                "rule" | "let" | "static" => None,
                "for" => Some("what a file is for stands before all its statements".to_owned()),
                word if names::is_keyword(word) => {
                    Some(format!("a code of that name is written `\"{word}\"`"))
                }
                word => {
                    let lower = word.to_lowercase();
                    let ours = word != lower && names::is_keyword(&lower);
                    ours.then(|| format!("the language is lowercase: `{lower}`"))
                }
            },
            _ => None,
        };
        match help {
            Some(help) => self.fail_with(span, message, help),
            None => self.fail_at(span, message),
        }
    }

    /// How what a word may have been meant to say of a term is said.
    fn said_help(&self) -> Option<&'static str> {
        let before = self.source.slice(self.last.span);
        Some(match self.word()? {
            "within" | "during" | "before" | "after" | "ago" | "day" | "days" | "week"
            | "weeks" => {
                "windows begin with `in` and look back: `in last 30 days`, `in 3 to 14 days ago`"
            }
            "once" | "twice" | "time" | "times" | "exactly" | "more" | "less" | "fewer" => COUNTS,
            "visit" if before == "last" => "the last encounter is `END`",
            _ if self.is_compared_with(self.last.span) => {
                "a comparison ends with its number: ages are in years, values in the unit that the cohort \
                 keeps them in"
            }
            _ => return None,
        })
    }

    /// Whether a sign that compares stands before a token.
    fn is_compared_with(&self, span: Span) -> bool {
        let before = self.source.slice(Span { start: 0, end: span.start });
        let sign = before.split_whitespace().next_back();
        matches!(sign, Some(">" | ">=" | "<" | "<="))
    }

    /// What a sign without blanks may have meant: a comparison, unless a code is begun.
    fn stray_help(&self) -> String {
        let quotes = "a name with `<` or `>` needs quotes; implication is written `=>`";
        let before = self.source.slice(self.last.span);
        match before.ends_with(['/', ':']) {
            true => quotes.to_owned(),
            false => format!("a comparison has blanks around it: `{before} > 18`; {quotes}"),
        }
    }

    /// Warns that a window, or a count, at the end of a list is the last item's alone.
    pub(super) fn warn_last_item(&mut self, item: &Expression) {
        let source = self.source;
        let span = item.span;
        let (what, form) = match item.kind {
            ExpressionKind::Times(..) => ("count", "at least 2 times"),
            _ => ("window", "in past"),
        };
        self.warnings.push(Topic::WindowOfLastItem, || {
            Diagnostic::warning(format!("the {what} belongs to the last item of the list alone"))
                .at(source.location(span))
                .help(format!(
                    "write `(any of A, B) {form}` for all, `any of A, (B {form})` for the last"
                ))
        });
    }
}
