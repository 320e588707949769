//! The rule language, its compiler and its proofs.
#![forbid(unsafe_code)]

mod analyse;
mod compile;
pub mod decisions;
mod formula;
pub mod language;
mod plan;
mod prove;
mod rule;

pub use analyse::{
    AnalysisLimits, Conflict, Conflicts, Form, Superfluous, Why, conflicts, form, superfluous,
};
pub use compile::{
    Atom, Atoms, Branch, Clause, ClosedRules, CompileError, CompileLimits, CompileOptions,
    Derivation, Diagram, Implication, Literal, LiteralId, Order, SoftImplication, Stage, Stages,
    Subject, TooLarge, VisitRange, WrittenClause, WrittenRules, clausal_form, implicative_form,
};
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
