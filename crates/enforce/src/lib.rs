//! A proved plan at run time: guided sampling, override, audit and repair.
//!
//! - [`Enforcer`] prepares a [`Plan`](consequence_rules::Plan); its [`Writer`]s sample or repair
//!   visits so that every hard rule holds.
//! - [`Auditor`] finds every violation in a cohort, from any source.
//! - [`repair`] makes a cohort obey the rules.
//!
//! Work grows with the codes that are present, memory with the literals of the rules.
#![forbid(unsafe_code)]

mod auditor;
mod condition;
mod enforcer;
mod history;
mod index;
mod repair;

pub use auditor::{Audit, Auditor, Example, Reader, RuleFinding, Violation};
pub use enforcer::{BadProbability, Enforcer, Writer};
pub use repair::{Repair, repair, repair_record};
