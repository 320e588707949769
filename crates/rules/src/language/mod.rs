//! The rule language: text to tree, tree to rules over a vocabulary, and back.
//!
//! [`parse`](crate::parse) reads a file into a [`RuleFile`](crate::RuleFile);
//! [`resolve`](crate::resolve) makes one [`RuleSet`](crate::RuleSet) of many files. Everything that
//! can go wrong is a [`Diagnostic`](crate::Diagnostic) that points at the text. `docs/rules.md`
//! explains the language to those who write rules.

pub(crate) mod diagnostic;
mod expand;
mod facts;
mod grammar;
mod groups;
pub mod json;
mod json_values;
mod knows;
mod lexer;
mod names;
pub(crate) mod parser;
mod printer;
pub(crate) mod resolve;
mod source;
mod terms;
mod titles;
pub(crate) mod tree;
pub(crate) mod tuple_writer;
pub mod tuples;
mod vocabulary;
mod window;

pub use diagnostic::Note;
pub use knows::{Ages, Knows, Told};
pub use names::{closest, matches};
pub use source::{Excerpt, Location, Span};
pub use titles::TitledCodes;
pub use tree::{
    Bound, Expression, ExpressionKind, ForItem, Item, LetItem, LookBack, Name, Quantifier,
    RuleItem, StaticItem, Times,
};

/// Bounds on what is read, so that no file can exhaust memory, the stack or time.
///
/// Past a bound the answer is an error diagnostic that names it.
///
/// ```
/// use consequence_rules::{LanguageLimits, parse};
///
/// let limits = LanguageLimits { rules: 1, ..LanguageLimits::default() };
/// let refused = parse("two.rules", "rule a: X  rule b: Y", &limits).unwrap_err();
/// assert!(refused.to_string().starts_with("error: more than 1 rule in one file"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageLimits {
    /// Size of one file, in bytes. Default 64 MiB; never more than `u32::MAX`.
    pub file_bytes: usize,
    /// Nesting of parentheses, lists and `not` in one formula, in levels. Default 100; never more
    /// than [`LanguageLimits::DEEPEST_NESTING`].
    pub nesting_depth: usize,
    /// Nesting of a formula once every `let` is expanded, in levels of the formula. Default 600;
    /// never more than [`LanguageLimits::DEEPEST_FORMULA`].
    pub formula_depth: usize,
    /// Rules in one file. Default 1,000,000.
    pub rules: usize,
    /// Items in one list, as written. Default 100,000.
    pub list_items: usize,
    /// Parts of one rule or `let` once every `let` and glob is expanded. Default 1,000,000.
    pub formula_nodes: usize,
    /// Parts of all rules and `let`s together, expanded. Default 20,000,000, about 1.5 GB.
    pub total_nodes: usize,
    /// Names tried against globs. Default 1,000,000,000, some ten seconds.
    pub glob_comparisons: usize,
    /// Length of one name, in bytes. Default 1,024.
    pub name_bytes: usize,
    /// Errors reported, and warnings of one kind reported, before the rest are only counted.
    /// Default 20.
    pub diagnostics: usize,
}

impl LanguageLimits {
    /// The deepest nesting that can be asked for, whatever [`LanguageLimits::nesting_depth`] says:
    /// more could overflow the stack of a small thread.
    pub const DEEPEST_NESTING: usize = 200;

    /// The deepest expanded formula that can be asked for, whatever
    /// [`LanguageLimits::formula_depth`] says.
    pub const DEEPEST_FORMULA: usize = 2_000;

    /// The nesting that is allowed.
    fn nesting(&self) -> usize {
        self.nesting_depth.min(Self::DEEPEST_NESTING)
    }

    /// The depth of expanded formulas that is allowed.
    fn depth(&self) -> usize {
        self.formula_depth.min(Self::DEEPEST_FORMULA)
    }

    /// The file size that is allowed.
    fn bytes(&self) -> usize {
        self.file_bytes.min(u32::MAX as usize)
    }
}

impl Default for LanguageLimits {
    fn default() -> Self {
        Self {
            file_bytes: 64 << 20,
            nesting_depth: 100,
            formula_depth: 600,
            rules: 1_000_000,
            list_items: 100_000,
            formula_nodes: 1_000_000,
            total_nodes: 20_000_000,
            glob_comparisons: 1_000_000_000,
            name_bytes: 1_024,
            diagnostics: 20,
        }
    }
}
