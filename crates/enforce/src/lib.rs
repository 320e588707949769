//! A proved plan at run time: guided sampling, override, audit and repair.
//!
//! - [`Enforcer`] prepares a [`Plan`](consequence_rules::Plan); its [`Writer`]s sample or repair
//!   visits so that every hard rule holds.
//! - [`Auditor`] finds every violation in a cohort, from any source.
//! - [`Conclusions`] tells which rules speak of a code, and what they say.
//! - [`repair`] makes a cohort obey the rules, by a [`RepairPlan`].
//!
//! Work grows with the codes that are present, memory with the literals of the rules.
#![forbid(unsafe_code)]

mod auditor;
mod conclusions;
mod enforcer;
mod history;
mod index;
mod repair;
mod writer;

pub use auditor::{Audit, Auditor, Example, Reader, RuleFinding, Violation};
pub use conclusions::{Conclusion, Conclusions};
pub use enforcer::Enforcer;
pub use repair::{Repair, RepairPlan, repair};
pub use writer::{BadProbability, Ruling, Writer, nats};
