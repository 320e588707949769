//! The rule language, its compiler and its proofs.
//!
//! In order of use:
//! - [`parse`] reads the text of a file, and [`resolve`] makes a [`RuleSet`] of files. A [`Rule`] is
//!   hard, a [`Formula`] that holds in every record, or soft, one code with a probability ([`Says`]).
//! - [`WrittenRules`] are the hard rules as clauses: what an audit checks, and what [`conflicts`],
//!   [`superfluous`] and [`form`] look at.
//! - [`compile()`] closes the clauses and proves them: a [`Plan`]. A [`Clause`] of it is a list of
//!   [`LiteralId`]s of which one must hold, at the visits of a [`VisitRange`].
//! - [`OrderedPass`] is the paper's way instead, one pass of implications, and whether it is safe.
#![forbid(unsafe_code)]

mod analyse;
mod compile;
pub mod decisions;
mod fact;
mod formula;
pub mod language;
mod plan;
mod prove;
mod rule;

pub use analyse::{
    AnalysisLimits, Conflict, Conflicts, Form, Superfluous, Why, conflicts, form, superfluous,
};
pub use compile::{
    Asked, Atom, Atoms, Branch, Clause, ClosedRules, CompileError, CompileLimits, CompileOptions,
    Derivation, Diagram, Implication, Literal, LiteralId, Order, SoftImplication, Stage, Stages,
    Subject, TooLarge, VisitRange, WrittenClause, WrittenRules, clausal_form, implicative_form,
};
pub use fact::{Days, Fact, Limit, ValueRange};
pub use formula::{Formula, Window};
pub use language::LanguageLimits;
pub use language::diagnostic::{Diagnostic, Diagnostics, Severity};
pub use language::parser::parse;
pub use language::resolve::{ResolveOptions, Resolved, UnknownCodes, resolve};
pub use language::tree::RuleFile;
pub use language::tuple_writer::{TupleError, write_tuples};
pub use language::tuples::TupleFile;
pub use plan::{Plan, compile};
pub use prove::{OrderedPass, PassCounterexample, PassVerdict, Proof};
pub use rule::{BadRule, Origin, Rule, RuleSet, Says, Scope};
