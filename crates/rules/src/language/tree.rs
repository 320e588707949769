//! The parsed tree: rules as they were written, before names become codes.
//!
//! Two trees are equal when they say the same, wherever they were written: spans and sources do
//! not count.

use std::fmt;
use std::sync::Arc;

use super::diagnostic::{Diagnostic, Diagnostics};
use super::source::{Source, Span};
use super::{LanguageLimits, names};
use crate::{Days, ValueRange, Window};

/// One file of rules.
#[derive(Clone, Debug)]
pub struct RuleFile {
    pub(super) source: Arc<Source>,
    pub(super) items: Vec<Item>,
    pub(super) warnings: Vec<Diagnostic>,
}

impl RuleFile {
    /// A file made by a program: the items are laid out as text, so that diagnostics have
    /// something to point at, and checked as any text is.
    ///
    /// ```
    /// use consequence_rules::language::{Expression, Item, RuleItem};
    /// use consequence_rules::{LanguageLimits, RuleFile};
    ///
    /// let formula = Expression::literal("ICD9CM//250").implies(Expression::literal("A1C//>7"));
    /// let rule = RuleItem::new("monitored", formula);
    /// let file = RuleFile::new("made", vec![Item::Rule(rule)], &LanguageLimits::default())?;
    /// assert_eq!(file.to_string(), "rule monitored: ICD9CM//250 => \"A1C//>7\"\n");
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    pub fn new(name: &str, items: Vec<Item>, limits: &LanguageLimits) -> Result<Self, Diagnostics> {
        super::parser::parse(name, super::printer::print_items(&items), limits)
    }

    /// The statements in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// What the parser found odd; [`resolve`](crate::resolve()) hands these on.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The first pattern or range in a rule or a `let`, a range by where it begins: what it stands for depends on
    /// the codes there are.
    ///
    /// ```
    /// use consequence_rules::{LanguageLimits, parse};
    ///
    /// let text = "static AGE//*  rule one: SEX//F in static => none of ICD9CM//60*, \"X*\"";
    /// let file = parse("women.rules", text, &LanguageLimits::default())?;
    /// assert_eq!(file.first_pattern(), Some("ICD9CM//60*"));
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    pub fn first_pattern(&self) -> Option<&str> {
        self.items.iter().find_map(|item| match item {
            Item::Rule(rule) => rule.formula.first_pattern(),
            Item::Let(definition) => definition.values.iter().find_map(Expression::first_pattern),
            Item::Static(_) | Item::For(_) => None,
        })
    }
}

impl PartialEq for RuleFile {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `let NAME = ...`
    Let(LetItem),
    /// `rule NAME: ...`
    Rule(RuleItem),
    /// `static CODE, CODE, ...`
    Static(StaticItem),
    /// `for VOCABULARY version VERSION`
    For(ForItem),
}

/// `let NAME = ITEM, ITEM, ...`: a name for a formula, or for a set of items.
#[derive(Clone, Debug)]
pub struct LetItem {
    /// The name: a plain word.
    pub name: Name,
    /// One formula, or the items of a set; never empty.
    pub values: Vec<Expression>,
    /// The whole statement.
    pub span: Span,
}

impl PartialEq for LetItem {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.values == other.values
    }
}

/// `rule NAME: FORMULA with probability P`.
#[derive(Clone, Debug)]
pub struct RuleItem {
    /// The rule's name.
    pub name: Name,
    /// What it says.
    pub formula: Expression,
    /// How often it holds; none: always.
    pub probability: Option<f64>,
    /// The whole statement.
    pub span: Span,
}

impl RuleItem {
    /// A rule that always holds.
    pub fn new(name: impl Into<String>, formula: Expression) -> Self {
        Self { name: Name::new(name), formula, probability: None, span: Span::default() }
    }
}

impl PartialEq for RuleItem {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.formula == other.formula
            && self.probability == other.probability
    }
}

/// `static CODE, CODE, ...`: codes of the static visit, for when no cohort says so.
#[derive(Clone, Debug)]
pub struct StaticItem {
    /// Codes and globs; never empty.
    pub codes: Vec<Expression>,
    /// The whole statement.
    pub span: Span,
}

impl PartialEq for StaticItem {
    fn eq(&self, other: &Self) -> bool {
        self.codes == other.codes
    }
}

/// `for VOCABULARY version VERSION`: what the file was made for. It stands before all else.
#[derive(Clone, Debug)]
pub struct ForItem {
    /// The vocabulary: what its codes have before `//`.
    pub vocabulary: Name,
    /// Its version, where it matters.
    pub version: Option<Name>,
    /// The whole statement.
    pub span: Span,
}

impl PartialEq for ForItem {
    fn eq(&self, other: &Self) -> bool {
        self.vocabulary == other.vocabulary && self.version == other.version
    }
}

/// A name with its span.
#[derive(Clone, Debug, Default)]
pub struct Name {
    /// The name itself, without quotes.
    pub text: String,
    /// Where it was written.
    pub span: Span,
}

impl Name {
    /// A name written nowhere.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), span: Span::default() }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// A formula with its span.
#[derive(Clone, Debug)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Where it was written.
    pub span: Span,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// The forms of a formula.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// `true` or `false`.
    Constant(bool),
    /// A bare name: a `let`'s if there is one, else a code.
    Name(String),
    /// A name in quotes: a code, whatever `let`s there are.
    Code(String),
    /// A bare name with `*` or `?`: every code that matches.
    Glob(String),
    /// `ICD9CM//630 to 679`: every code from the first to the second, both and what begins with them in. The
    /// second may leave out what stands before the last `//` of the first.
    Range(String, String),
    /// `X in WINDOW`.
    In(Box<Expression>, LookBack),
    /// `first visit`: the visit is the first encounter.
    FirstVisit,
    /// `X at least 2 times in last 365 days` and its kin.
    Times(Box<Expression>, Times),
    /// `X since Y`.
    Since(Box<Expression>, Box<Expression>),
    /// `X > 6.5` and its kin: the value of a code or a test, or the age, which is the bare name `AGE`.
    Compare(Box<Expression>, ValueRange),
    /// `not X`.
    Not(Box<Expression>),
    /// `X and Y and ...`, two or more.
    And(Vec<Expression>),
    /// `X or Y or ...`, two or more.
    Or(Vec<Expression>),
    /// `X => Y`.
    Implies(Box<Expression>, Box<Expression>),
    /// `X <=> Y`.
    Iff(Box<Expression>, Box<Expression>),
    /// `any of X, Y, ...` and its kin, one or more.
    Group(Quantifier, Vec<Expression>),
}

/// What the age is called where it is compared.
pub(super) const AGE_NAME: &str = "AGE";

/// Whether an expression that is compared is the age, unless a `let` has the name.
pub(super) fn is_age(expression: &Expression) -> bool {
    matches!(&expression.kind, ExpressionKind::Name(name) if name == AGE_NAME)
}

/// Which earlier visits are looked at: some of them by their number, or those of some days.
///
/// ```
/// use consequence_rules::{Days, Window};
/// use consequence_rules::language::LookBack;
///
/// assert_eq!(LookBack::from(Window::previous()).to_string(), "previous");
/// assert_eq!(LookBack::from(Days::last(30)).to_string(), "last 30 days");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LookBack {
    /// Visits by number or distance.
    Visits(Window),
    /// Encounters of so many days ago.
    Days(Days),
}

impl From<Window> for LookBack {
    fn from(window: Window) -> Self {
        Self::Visits(window)
    }
}

impl From<Days> for LookBack {
    fn from(days: Days) -> Self {
        Self::Days(days)
    }
}

impl fmt::Display for LookBack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Visits(window) => window.fmt(out),
            Self::Days(days) => days.fmt(out),
        }
    }
}

/// How many visits have something.
///
/// ```
/// use consequence_rules::Days;
/// use consequence_rules::language::{Bound, Times};
///
/// let within = Some(Days::last(365).into());
/// let twice = Times { bound: Bound::AtLeast, count: 2, within };
/// assert_eq!(twice.to_string(), "at least 2 times in last 365 days");
/// let once = Times { bound: Bound::AtMost, count: 1, within: None };
/// assert_eq!(once.to_string(), "at most once");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Times {
    /// Whether the count is the least or the most.
    pub bound: Bound,
    /// How many visits.
    pub count: u16,
    /// Which earlier visits count; none: every visit up to this one, which counts too.
    pub within: Option<LookBack>,
}

/// Whether a count is the least or the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// `at least`
    AtLeast,
    /// `at most`
    AtMost,
}

impl Bound {
    /// The words of the language.
    pub fn words(self) -> &'static str {
        match self {
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(out, "{} once", self.bound.words())?,
            count => write!(out, "{} {count} times", self.bound.words())?,
        }
        match &self.within {
            Some(within) => write!(out, " in {within}"),
            None => Ok(()),
        }
    }
}

/// How many items of a list hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// `any of`, also written `at least one of`.
    Any,
    /// `none of`.
    None,
    /// `all of`.
    All,
    /// `at most one of`.
    AtMostOne,
    /// `exactly one of`.
    ExactlyOne,
}

impl Quantifier {
    /// Every quantifier.
    pub const ALL: [Self; 5] =
        [Self::Any, Self::None, Self::All, Self::AtMostOne, Self::ExactlyOne];

    /// The words of the language.
    pub fn words(self) -> &'static str {
        match self {
            Self::Any => "any of",
            Self::None => "none of",
            Self::All => "all of",
            Self::AtMostOne => "at most one of",
            Self::ExactlyOne => "exactly one of",
        }
    }

    /// Whether it depends on how many items hold, so that an item must not be counted twice.
    pub(super) fn counts(self) -> bool {
        matches!(self, Self::AtMostOne | Self::ExactlyOne)
    }
}

impl From<ExpressionKind> for Expression {
    fn from(kind: ExpressionKind) -> Self {
        Self { kind, span: Span::default() }
    }
}

impl Expression {
    /// What the text means as a word of the language: a glob, a name, or, where it cannot be
    /// written bare, a code in quotes.
    pub fn word(text: &str) -> Self {
        let kind = match (names::can_be_bare(text), names::is_glob(text)) {
            (true, true) => ExpressionKind::Glob(text.to_owned()),
            (true, false) => ExpressionKind::Name(text.to_owned()),
            (false, _) => ExpressionKind::Code(text.to_owned()),
        };
        kind.into()
    }

    /// The code of that name, in quotes where it needs them.
    pub fn literal(text: &str) -> Self {
        if names::is_glob(text) {
            ExpressionKind::Code(text.to_owned()).into()
        } else {
            Self::word(text)
        }
    }

    /// The codes of these names as a rule lists them, each in quotes where it needs them.
    ///
    /// ```
    /// use consequence_rules::language::Expression;
    ///
    /// assert_eq!(Expression::literals(["A", "GAP//7-14d"]), "A, GAP//7-14d");
    /// ```
    pub fn literals<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
        let listed = names.into_iter().map(|name| Self::literal(name).to_string());
        listed.collect::<Vec<_>>().join(", ")
    }

    /// `self in window`, of visits or of days.
    pub fn within(self, window: impl Into<LookBack>) -> Self {
        ExpressionKind::In(Box::new(self), window.into()).into()
    }

    /// `self at least 2 times` and its kin.
    pub fn times(self, times: Times) -> Self {
        ExpressionKind::Times(Box::new(self), times).into()
    }

    /// `self since mark`.
    pub fn since(self, mark: Self) -> Self {
        ExpressionKind::Since(Box::new(self), Box::new(mark)).into()
    }

    /// `self > 6.5` and its kin.
    pub fn compared(self, range: ValueRange) -> Self {
        ExpressionKind::Compare(Box::new(self), range).into()
    }

    /// The negation.
    #[allow(clippy::should_implement_trait, reason = "reads as the language does")]
    pub fn not(self) -> Self {
        ExpressionKind::Not(Box::new(self)).into()
    }

    /// `self => consequent`.
    pub fn implies(self, consequent: Self) -> Self {
        ExpressionKind::Implies(Box::new(self), Box::new(consequent)).into()
    }

    /// All of them: `true` for none, itself for one.
    pub fn all(mut parts: Vec<Self>) -> Self {
        match parts.len() {
            0 => ExpressionKind::Constant(true).into(),
            1 => parts.remove(0),
            _ => ExpressionKind::And(parts).into(),
        }
    }

    /// Any of them: `false` for none, itself for one.
    pub fn any(mut parts: Vec<Self>) -> Self {
        match parts.len() {
            0 => ExpressionKind::Constant(false).into(),
            1 => parts.remove(0),
            _ => ExpressionKind::Or(parts).into(),
        }
    }

    fn first_pattern(&self) -> Option<&str> {
        use ExpressionKind::*;
        match &self.kind {
            Glob(pattern) | Range(pattern, _) => Some(pattern),
            Constant(_) | Name(_) | Code(_) | FirstVisit => None,
            In(inner, _) | Not(inner) | Times(inner, _) | Compare(inner, _) => {
                inner.first_pattern()
            }
            And(parts) | Or(parts) | Group(_, parts) => parts.iter().find_map(Self::first_pattern),
            Implies(left, right) | Iff(left, right) | Since(left, right) => {
                left.first_pattern().or_else(|| right.first_pattern())
            }
        }
    }

    /// Where it first speaks of what is known of encounters alone: days, ages, values, `since` or the first visit.
    pub(super) fn first_fact(&self) -> Option<Span> {
        use ExpressionKind::*;
        match &self.kind {
            FirstVisit | Since(..) | Compare(..) | In(_, LookBack::Days(_)) => Some(self.span),
            Times(_, times) => match times.within {
                Some(LookBack::Days(_)) => Some(self.span),
                _ => None,
            },
            Constant(_) | Name(_) | Code(_) | Glob(_) | Range(..) => None,
            In(inner, LookBack::Visits(_)) | Not(inner) => inner.first_fact(),
            And(parts) | Or(parts) | Group(_, parts) => parts.iter().find_map(Self::first_fact),
            Implies(left, right) | Iff(left, right) => {
                left.first_fact().or_else(|| right.first_fact())
            }
        }
    }

    /// The same, written at a span.
    pub(super) fn at(self, span: Span) -> Self {
        Self { span, ..self }
    }
}
