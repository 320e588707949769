//! Trees to formulas: names become codes, `let`s and globs what they stand for, and windows go to
//! every code they cover.

use std::collections::hash_map::Entry;

use consequence_record::{Code, END_NAME, Vocabulary};
use rustc_hash::{FxHashMap, FxHashSet};

use super::LanguageLimits;
use super::diagnostic::{Diagnostic, Diagnostics, Topic, Warnings};
use super::knows::Knows;
use super::names::{Names, closest, may_mean, show};
use super::parser::Failed;
use super::resolve::{ResolveOptions, UnknownCodes};
use super::source::{Source, Span};
use super::titles::TitledCodes;
use super::tree::{AGE_NAME, Expression, ExpressionKind, LetItem, LookBack, Quantifier};
use super::vocabulary::Absent;
use super::window::weight;
use crate::{Fact, Formula, Scope};

/// Codes of one title that a warning names.
const SHOWN_CODES: usize = 5;

/// What a `let` stands for: its items, and how many parts they have.
struct Definition {
    items: Vec<Formula>,
    nodes: usize,
}

/// A `let` of the file at hand.
struct Let<'a> {
    item: &'a LetItem,
    /// None until it is defined; an error if that failed.
    definition: Option<Result<Definition, Failed>>,
    used: bool,
}

/// Turns the trees of one file after another into formulas.
pub(super) struct Expander<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    names: Names<'a>,
    titles: &'a TitledCodes,
    /// What the cohort knows, if there is one.
    pub(super) knows: Option<&'a Knows>,
    unknown_codes: UnknownCodes,
    limits: &'a LanguageLimits,
    /// The file at hand.
    pub(super) source: &'a Source,
    lets: FxHashMap<&'a str, Let<'a>>,
    absent: Absent<'a>,
    pub(super) errors: Diagnostics,
    pub(super) warnings: Warnings,
    reported: FxHashSet<String>,
    nodes: usize,
    total_nodes: usize,
}

impl<'a> Expander<'a> {
    pub(super) fn new(
        vocabulary: &'a Vocabulary,
        absent: Absent<'a>,
        options: &'a ResolveOptions,
        source: &'a Source,
    ) -> Self {
        let ResolveOptions { unknown_codes, titles, knows, limits } = options;
        Self {
            vocabulary,
            absent,
            names: Names::new(vocabulary, limits.glob_comparisons),
            titles,
            knows: knows.as_ref(),
            unknown_codes: *unknown_codes,
            limits,
            source,
            lets: FxHashMap::default(),
            errors: Diagnostics::new(limits.diagnostics),
            warnings: Warnings::new(limits.diagnostics),
            reported: FxHashSet::default(),
            nodes: 0,
            total_nodes: 0,
        }
    }

    /// Begins a file with these `let`s.
    pub(super) fn begin_file(
        &mut self,
        source: &'a Source,
        lets: impl Iterator<Item = &'a LetItem>,
    ) {
        self.source = source;
        self.lets.clear();
        for item in lets {
            let entry = Let { item, definition: None, used: false };
            self.lets.entry(item.name.text.as_str()).or_insert(entry);
        }
    }

    /// Warns of `let`s that the file did not use.
    pub(super) fn end_file(&mut self) {
        let mut unused: Vec<Span> = self
            .lets
            .values()
            .filter(|entry| !entry.used)
            .map(|entry| entry.item.name.span)
            .collect();
        unused.sort_unstable();
        let source = self.source;
        for span in unused {
            self.warnings.push(Topic::UnusedLet, || {
                let message = format!("{} is never used", show(source.slice(span)));
                Diagnostic::warning(message).at(source.location(span))
            });
        }
    }

    pub(super) fn error(&mut self, diagnostic: Diagnostic, span: Span) -> Failed {
        let source = self.source;
        self.errors.push_with(|| diagnostic.at(source.location(span)));
        Failed
    }

    /// Takes in a `let`.
    pub(super) fn define(&mut self, item: &'a LetItem) {
        let (name, span) = (item.name.text.as_str(), item.name.span);
        let Some(first) = self.lets.get(name) else { return };
        if !std::ptr::eq(first.item, item) {
            let (source, first) = (self.source, first.item.name.span);
            self.errors.push_with(|| {
                Diagnostic::error(format!("{} is defined twice", show(name)))
                    .at(source.location(span))
                    .note("first defined here", source.location(first))
            });
            return;
        }
        if self.vocabulary.code(name).is_some() {
            let source = self.source;
            self.warnings.push(Topic::HiddenCode, || {
                let message = format!("{} is also the name of a code", show(name));
                Diagnostic::warning(message)
                    .at(source.location(span))
                    .help("without quotes the name means the `let`, in quotes the code")
            });
        }
        self.nodes = 0;
        let items = self.list(&item.values).and_then(|items| {
            let too_deep = items.iter().any(|item| self.is_too_deep(item));
            if too_deep { Err(self.too_deep(span)) } else { Ok(items) }
        });
        let definition = items.map(|items| Definition { items, nodes: self.nodes });
        if let Some(entry) = self.lets.get_mut(name) {
            entry.definition = Some(definition);
        }
    }

    /// The formula of a rule, and the visits it is required of where that no longer tells.
    pub(super) fn rule(
        &mut self,
        expression: &'a Expression,
    ) -> Result<(Formula, Option<Scope>), Failed> {
        self.nodes = 0;
        let formula = self.formula(expression)?;
        if self.is_too_deep(&formula) {
            return Err(self.too_deep(expression.span));
        }
        Ok(self.absent.settle(formula))
    }

    fn is_too_deep(&self, formula: &Formula) -> bool {
        depth(formula) > self.limits.depth()
    }

    fn too_deep(&mut self, span: Span) -> Failed {
        let message = format!("nested more than {} levels deep", self.limits.depth());
        self.error(Diagnostic::error(message), span)
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), Failed> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.total_nodes = self.total_nodes.saturating_add(nodes);
        let (most, total) = (self.limits.formula_nodes, self.limits.total_nodes);
        let message = if self.nodes > most {
            format!("the statement expands to more than {most} parts")
        } else if self.total_nodes > total {
            format!("the statements expand to more than {total} parts together")
        } else {
            return Ok(());
        };
        Err(self.error(Diagnostic::error(message), span))
    }

    pub(super) fn formula(&mut self, expression: &'a Expression) -> Result<Formula, Failed> {
        use ExpressionKind::*;
        self.count(1, expression.span)?;
        Ok(match &expression.kind {
            Constant(value) => Formula::Constant(*value),
            Name(_) | Code(_) | Glob(_) | Range(..) => any(self.items(expression)?),
            In(inner, window) => match inner.kind {
                Name(_) | Code(_) | Glob(_) | Range(..) => any(self.items(expression)?),
                _ => {
                    let inner = self.formula(inner)?;
                    self.in_window(inner, window, expression.span)?
                }
            },
            FirstVisit => Formula::Fact(Fact::FirstVisit),
            Times(inner, times) => self.times(inner, times, expression.span)?,
            Since(inner, mark) => self.since(inner, mark)?,
            Compare(inner, range) => self.compare(inner, *range, expression.span)?,
            Not(inner) => self.formula(inner)?.not(),
            And(parts) => Formula::And(self.formulas(parts)?),
            Or(parts) => Formula::Or(self.formulas(parts)?),
            Implies(left, right) => self.formula(left)?.implies(self.formula(right)?),
            Iff(left, right) => {
                Formula::Iff(Box::new(self.formula(left)?), Box::new(self.formula(right)?))
            }
            Group(quantifier, items) => {
                let items =
                    if quantifier.counts() { self.counted(items)? } else { self.list(items)? };
                self.group(*quantifier, items, expression.span)
            }
        })
    }

    fn formulas(&mut self, parts: &'a [Expression]) -> Result<Vec<Formula>, Failed> {
        parts.iter().map(|part| self.formula(part)).collect()
    }

    fn group(&mut self, quantifier: Quantifier, items: Vec<Formula>, span: Span) -> Formula {
        if quantifier.counts() && items.len() < 2 {
            let source = self.source;
            self.warnings.push(Topic::FewItems, || {
                let items = if items.len() == 1 { "a single item" } else { "no items" };
                Diagnostic::warning(format!("`{}` has {items}", quantifier.words()))
                    .at(source.location(span))
            });
        }
        match quantifier {
            Quantifier::Any => any(items),
            Quantifier::None => any(items).not(),
            Quantifier::All => all(items),
            Quantifier::AtMostOne => Formula::AtMostOne(items),
            Quantifier::ExactlyOne => Formula::ExactlyOne(items),
        }
    }

    /// The items of a list, sets among them spliced in.
    fn list(&mut self, expressions: &'a [Expression]) -> Result<Vec<Formula>, Failed> {
        let mut items = Vec::new();
        for expression in expressions {
            items.extend(self.items(expression)?);
        }
        Ok(items)
    }

    /// The items of a list whose members are counted. What comes twice, by name, by a pattern or by
    /// a `let`, is one thing and counts once. The same code in another window is something else,
    /// and constants are no codes: each counts.
    fn counted(&mut self, expressions: &'a [Expression]) -> Result<Vec<Formula>, Failed> {
        let mut items = Vec::new();
        let mut first_spans: FxHashMap<Formula, Span> = FxHashMap::default();
        for expression in expressions {
            // The first item here that the list had before, where that was, and how many there are.
            let mut repeated: Option<(Formula, Span)> = None;
            let mut repeats = 0;
            for item in self.items(expression)? {
                if matches!(item, Formula::Constant(_)) {
                    items.push(item);
                    continue;
                }
                match first_spans.entry(item) {
                    Entry::Vacant(entry) => {
                        items.push(entry.key().clone());
                        entry.insert(expression.span);
                    }
                    Entry::Occupied(entry) => {
                        repeats += 1;
                        repeated.get_or_insert_with(|| (entry.key().clone(), *entry.get()));
                    }
                }
            }
            if let Some((item, first)) = repeated {
                self.warn_repeats(&item, repeats, first, expression.span);
            }
        }
        Ok(items)
    }

    fn warn_repeats(&mut self, item: &Formula, repeats: usize, first: Span, span: Span) {
        let (source, vocabulary, absent) = (self.source, self.vocabulary, &self.absent);
        self.warnings.push(Topic::RepeatedItem, || {
            let item = show(&absent.without(item.clone()).text(vocabulary));
            let message = match repeats - 1 {
                0 => format!("{item} is in the list twice and counts once"),
                more => format!("{item} and {more} more are in the list twice and count once"),
            };
            let warning = Diagnostic::warning(message).at(source.location(span));
            if first == span { warning } else { warning.note("first here", source.location(first)) }
        });
    }

    /// What an expression stands for in a list: a set is several items, a formula one.
    fn items(&mut self, expression: &'a Expression) -> Result<Vec<Formula>, Failed> {
        use ExpressionKind::*;
        let span = expression.span;
        match &expression.kind {
            Name(name) if self.lets.contains_key(name.as_str()) => self.let_items(name, span),
            Code(name) if self.is_title(name) => self.titled(name, span),
            Name(name) | Code(name) => {
                self.count(1, span)?;
                Ok(vec![self.code(name, span)])
            }
            Glob(pattern) => self.glob(pattern, span),
            Range(from, to) => self.range(from, to, span),
            In(inner, window) if matches!(inner.kind, Name(_) | Code(_) | Glob(_) | Range(..)) => {
                let items = self.items(inner)?;
                items.into_iter().map(|item| self.in_window(item, window, span)).collect()
            }
            _ => Ok(vec![self.formula(expression)?]),
        }
    }

    fn let_items(&mut self, name: &str, span: Span) -> Result<Vec<Formula>, Failed> {
        let Some(entry) = self.lets.get_mut(name) else { return Err(Failed) };
        entry.used = true;
        let nodes = match &entry.definition {
            Some(Ok(definition)) => definition.nodes,
            Some(Err(Failed)) => return Err(Failed),
            None => {
                let (source, definition) = (self.source, entry.item.name.span);
                self.errors.push_with(|| {
                    Diagnostic::error(format!("{} is used before it is defined", show(name)))
                        .at(source.location(span))
                        .help("move the `let` up; a code of that name is written in quotes")
                        .note("defined here", source.location(definition))
                });
                return Err(Failed);
            }
        };
        self.count(nodes, span)?;
        match self.lets.get(name).and_then(|entry| entry.definition.as_ref()) {
            Some(Ok(definition)) => Ok(definition.items.clone()),
            _ => Err(Failed),
        }
    }

    /// Whether a `let` of the file has the name.
    pub(super) fn is_let(&self, name: &str) -> bool {
        self.lets.contains_key(name)
    }

    fn code(&mut self, name: &str, span: Span) -> Formula {
        if name == END_NAME {
            return Formula::Now(self.vocabulary.end());
        }
        if let Some(code) = self.vocabulary.code(name) {
            return Formula::Now(code);
        }
        if self.reported.insert(name.to_owned()) {
            self.unknown_code(name, span);
        }
        match self.unknown_codes {
            UnknownCodes::Refuse => Formula::Constant(false),
            UnknownCodes::Absent => Formula::Now(self.absent.number(name)),
        }
    }

    fn unknown_code(&mut self, name: &str, span: Span) {
        let message = format!("unknown code {}", show(name));
        // Looking for a likeness costs a walk over the vocabulary: only where it will be shown.
        if self.unknown_codes == UnknownCodes::Refuse {
            let mut diagnostic = Diagnostic::error(message).lacking_code();
            if self.errors.len() < self.limits.diagnostics {
                let names = || self.vocabulary.codes().map(|code| self.vocabulary.name(code));
                let is_family = |family: &str| {
                    names().any(|name| name.split_once("//").is_some_and(|one| one.0 == family))
                };
                let known = name.split_once("//").is_some_and(|(family, _)| is_family(family));
                let meant = |candidate: &&str| may_mean(name, candidate, known);
                let lets = self.lets.keys().copied().filter(|_| !name.contains("//"));
                let tests = self.knows.into_iter().flat_map(Knows::tests);
                if let Some(help) = self.said_of_no_code(name) {
                    diagnostic.help = Some(help);
                } else if let Some(guess) =
                    closest(name, names().filter(meant).chain(lets).chain(tests))
                {
                    diagnostic.help = Some(format!("did you mean {}?", show(guess)));
                    diagnostic.meant = Some(guess.to_owned());
                } else if let Some(title) = self.titles.closest(name) {
                    diagnostic.help = Some(format!("did you mean the title \"{title}\"?"));
                }
            }
            self.error(diagnostic, span);
        } else {
            let source = self.source;
            self.warnings.push(Topic::UnknownCode, || {
                Diagnostic::warning(format!(
                    "{message}: it counts as never present, so what demands it is forbidden"
                ))
                .at(source.location(span))
            });
        }
    }

    /// How a name is written that is no code, but says something with a comparison.
    fn said_of_no_code(&self, name: &str) -> Option<String> {
        if name.eq_ignore_ascii_case(AGE_NAME) {
            return Some(format!("ages are compared: `{AGE_NAME} >= 18`"));
        }
        let codes = self.knows?.codes_of(name);
        let first = show(self.vocabulary.name(*codes.first()?));
        let name = show(name);
        Some(format!(
            "{name} is a test, whose values are kept in codes: compare it, as in {name} `> 6.5`, or name a \
             code, such as {first}"
        ))
    }

    fn glob(&mut self, pattern: &str, span: Span) -> Result<Vec<Formula>, Failed> {
        let Some(codes) = self.names.matching(pattern) else {
            let message = "too many names to try against patterns";
            let help = "begin patterns with fixed text, such as `ICD9CM//63*`";
            return Err(self.error(Diagnostic::error(message).help(help), span));
        };
        let codes: Vec<Code> = codes.to_vec();
        if codes.is_empty() && self.reported.insert(pattern.to_owned()) {
            let help = "`*` stands for any run of characters, `?` for one";
            self.no_code(format!("{} matches no code", show(pattern)), help, span);
        }
        self.each_now(codes, span)
    }

    fn range(&mut self, from: &str, to: &str, span: Span) -> Result<Vec<Formula>, Failed> {
        let codes = self.names.between(from, to);
        if codes.is_empty() && self.reported.insert(format!("{from} to {to}")) {
            let help = "codes go by their characters, as in a dictionary, with both ends in";
            self.no_code(format!("no code is from {} to {}", show(from), show(to)), help, span);
        }
        self.each_now(codes, span)
    }

    fn is_title(&self, name: &str) -> bool {
        self.vocabulary.code(name).is_none() && !self.titles.of(name).is_empty()
    }

    fn titled(&mut self, title: &str, span: Span) -> Result<Vec<Formula>, Failed> {
        let codes = self.titles.of(title).to_vec();
        if codes.len() > 1 {
            let (source, vocabulary) = (self.source, self.vocabulary);
            self.warnings.push(Topic::SharedTitle, || {
                let named = codes.iter().take(SHOWN_CODES).map(|&code| show(vocabulary.name(code)));
                let named: Vec<String> = named.collect();
                let more = if codes.len() > SHOWN_CODES { ", ..." } else { "" };
                let message = format!("{} is the title of {} codes", show(title), codes.len());
                Diagnostic::warning(message)
                    .at(source.location(span))
                    .help(format!("it means any of {}{more}", named.join(", ")))
            });
        }
        self.each_now(codes, span)
    }

    fn each_now(&mut self, codes: Vec<Code>, span: Span) -> Result<Vec<Formula>, Failed> {
        self.count(codes.len(), span)?;
        Ok(codes.into_iter().map(Formula::Now).collect())
    }

    /// A pattern or a range that stands for nothing.
    fn no_code(&mut self, message: String, help: &'static str, span: Span) {
        if self.unknown_codes == UnknownCodes::Refuse {
            self.error(Diagnostic::error(message).lacking_code().help(help), span);
            return;
        }
        let source = self.source;
        self.warnings
            .push(Topic::EmptyGlob, || Diagnostic::warning(message).at(source.location(span)));
    }

    /// The codes of a `static` statement's item, whatever `let`s there are.
    pub(super) fn declared(&mut self, code: &'a Expression) -> Result<Vec<Code>, Failed> {
        self.nodes = 0;
        let found = match &code.kind {
            ExpressionKind::Name(name) => vec![self.code(name, code.span)],
            _ => self.items(code)?,
        };
        let codes = found.into_iter().filter_map(|formula| match formula {
            Formula::Now(code) if !self.absent.is_absent(code) => Some(code),
            _ => None,
        });
        Ok(codes.collect())
    }

    /// The formula with the window on every code.
    fn in_window(
        &mut self,
        formula: Formula,
        window: &LookBack,
        span: Span,
    ) -> Result<Formula, Failed> {
        self.check_dates(window, span)?;
        let weight = weight(window);
        if weight > 0 {
            self.count(weight.saturating_mul(formula.codes_now().len()), span)?;
        }
        let (message, help) = match in_window(formula, window) {
            Ok(formula) => return Ok(formula),
            Err(WindowError::Window) => (
                "a window over a formula that already has one",
                "write one window next to each code".to_owned(),
            ),
            Err(WindowError::Negation) => {
                ("a window over a negation", format!("put `not` before it: `not X in {window}`"))
            }
            Err(WindowError::Fact) => (
                "a window over what is known of the current visit alone",
                "ages, values and `first visit` are those of the visit that the rule looks at"
                    .to_owned(),
            ),
            Err(WindowError::Other) => (
                "a window over a formula that is more than codes, `and` and `or`",
                format!("write the window next to each code: `X in {window}`"),
            ),
        };
        Err(self.error(Diagnostic::error(message).help(help), span))
    }
}

/// Why a window cannot be spread over a formula.
enum WindowError {
    Window,
    Fact,
    Negation,
    Other,
}

/// The formula with the window on every code.
fn in_window(formula: Formula, window: &LookBack) -> Result<Formula, WindowError> {
    let spread = |parts: Vec<Formula>| -> Result<Vec<Formula>, WindowError> {
        parts.into_iter().map(|part| in_window(part, window)).collect()
    };
    Ok(match formula {
        Formula::Constant(value) => Formula::Constant(value),
        Formula::Now(code) => match window {
            LookBack::Visits(window) => Formula::In(code, window.clone()),
            LookBack::Days(days) => Formula::Fact(Fact::within(code, *days)),
        },
        Formula::And(parts) => Formula::And(spread(parts)?),
        Formula::Or(parts) => Formula::Or(spread(parts)?),
        Formula::In(..) | Formula::Fact(Fact::Seen { .. } | Fact::Since { .. }) => {
            return Err(WindowError::Window);
        }
        Formula::Fact(_) => return Err(WindowError::Fact),
        Formula::Not(_) => return Err(WindowError::Negation),
        _ => return Err(WindowError::Other),
    })
}

/// Any of the items.
pub(super) fn any(mut items: Vec<Formula>) -> Formula {
    match items.len() {
        0 => Formula::Constant(false),
        1 => items.remove(0),
        _ => Formula::Or(items),
    }
}

/// All of the items.
pub(super) fn all(mut items: Vec<Formula>) -> Formula {
    match items.len() {
        0 => Formula::Constant(true),
        1 => items.remove(0),
        _ => Formula::And(items),
    }
}

/// The levels of a formula.
pub(super) fn depth(formula: &Formula) -> usize {
    let deepest = |parts: &[Formula]| parts.iter().map(depth).max().unwrap_or(0);
    1 + match formula {
        Formula::Constant(_) | Formula::Now(_) | Formula::In(..) | Formula::Fact(_) => 0,
        Formula::Not(inner) => depth(inner),
        Formula::And(parts)
        | Formula::Or(parts)
        | Formula::AtMostOne(parts)
        | Formula::ExactlyOne(parts) => deepest(parts),
        Formula::Implies(left, right) | Formula::Iff(left, right) => depth(left).max(depth(right)),
    }
}
