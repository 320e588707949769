//! A proved plan at run time: guided sampling, override, audit and repair.
//!
//! - [`Enforcer`] prepares a [`Plan`](consequence_rules::Plan); its [`Writer`]s sample or repair
//!   visits so that every hard rule holds.
//! - [`Auditor`] finds every violation in a cohort, from any source.
//! - [`Conclusions`] tells which rules speak of a code, and what they say.
//! - [`Program`] is a plan as flat tables, for backends on other devices; [`Tables`] are those that a writer
//!   itself looks at.
//! - [`repair`] makes a cohort obey the rules, by a [`RepairPlan`]; where a rule leaves a choice of
//!   codes, by [`Shares`].
//!
//! Work grows with the codes that are present, memory with the literals of the rules.
#![forbid(unsafe_code)]

mod auditor;
mod barred;
mod choice;
mod conclusions;
mod due;
mod enforcer;
mod facts;
mod history;
mod index;
mod program;
mod repair;
mod shares;
mod tables;
mod writer;

pub use auditor::{Audit, Auditor, BrokenClause, Example, Reader, RuleFinding, Violation};
pub use choice::Choice;
pub use conclusions::{Conclusion, Conclusions};
pub use enforcer::Enforcer;
pub use facts::Moment;
pub use program::{Conjunctions, Drawn, Forced, KeptOff, PastCode, PastReader, Program, Wait};
pub use repair::{
    Likelihoods, Repair, RepairPlan, Repaired, RepairedCode, VisitLikelihoods, repair, repair_by,
    repair_with,
};
pub use shares::Shares;
pub use tables::{FiledConjunctions, Tables};
pub use writer::{
    BadProbability, Change, LookAhead, Outlook, Proposal, Reading, Ruling, Writer, nats,
};
