//! The rule language: text to tree, tree to rules over a vocabulary, and back.
//!
//! [`parse`] reads a file into a [`RuleFile`]; [`resolve()`] makes one
//! [`RuleSet`](crate::RuleSet) of many files. Everything that can go wrong is a [`Diagnostic`] that
//! points at the text. `docs/rules.md` explains the language to those who write rules.

mod absent;
mod compose;
mod diagnostic;
mod excerpt;
mod expand;
mod formula_text;
mod gather;
mod glob;
mod grammar;
pub mod json;
mod json_reader;
mod lexer;
mod limits;
mod lint;
mod names;
mod parser;
mod printer;
mod probability;
mod resolve;
mod source;
mod suggest;
mod tree;
mod tuple_writer;
pub mod tuples;
mod window;

pub use diagnostic::{Diagnostic, Diagnostics, Note, Severity};
pub use excerpt::Excerpt;
pub use limits::Limits as LanguageLimits;
pub use parser::parse;
pub use resolve::{ResolveOptions, Resolved, UnknownCodes, resolve};
pub use source::{Location, Source, Span};
pub use suggest::closest;
pub use tree::{
    Expression, ExpressionKind, Item, LetItem, Name, Quantifier, RuleFile, RuleItem, StaticItem,
};
pub use tuple_writer::{TupleError, write_tuples};
pub use tuples::TupleFile;
