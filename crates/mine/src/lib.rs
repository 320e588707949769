//! Rules found in data, with the evidence for each.
//!
//! [`mine`] looks for five kinds of rules, those of the paper, in the train split of a cohort:
//!
//! | template | rule | an occasion to fail |
//! |---|---|---|
//! | [`Template::OneOf`] | `at most one of AGE//0-20, AGE//20-40` | a record with a code of the category |
//! | [`Template::Together`] | `A => B`, or `A <=> B` where both hold | a visit with `A` |
//! | [`Template::NeverFor`] | `SEX//F in static => not A` | a visit with `A` |
//! | [`Template::OnlyAfter`] | `not A in past => not B` | a visit with `B` |
//! | [`Template::Stays`] | `A in previous => A` | a visit with `A` that another follows |
//!
//! A rule has no exception in the train split and in the tuning split, and three things speak for
//! it:
//!
//! - **Enough occasions**: the paper's [`Cutoffs`].
//! - **Not by chance.** Were the codes independent, some pair of thousands would look like a rule.
//!   The probability that a candidate has no exception by chance, times the number of candidates of
//!   its template, must be below [`Evidence::probability`]. A code is taken to be as likely as it
//!   is in visits with as many codes, a group as large as its part of records or codes, and what
//!   came before as likely as it is that far into a record.
//! - **Not merely rare exceptions.** Codes may depend on each other without being bound by a rule.
//!   How many nearly bound pairs there are shows in the candidates with one, two, three exceptions;
//!   from them follows how far a candidate with none is to be doubted ([`Evidence::doubt`]).
//!
//! Visits of one record resemble each other, so the last two count records, each once, with its
//! first occasion. Candidates with few exceptions become soft rules ([`NearRules`]), one for each
//! code they decide.
//!
//! What follows from several rules together, such as a rare code that is excluded because it never
//! comes without an excluded one, is left to the compiler of the rules.
//!
//! Two walks over the records count everything, a third checks what was found, visit by visit.
//! Counts are whole numbers, so the result is the same on any number of threads.
#![forbid(unsafe_code)]

mod claim;
mod doubt;
mod found;
mod groups;
mod mine;
mod options;
mod outcome;
mod pool;
mod profile;
mod records;
mod soon;
mod survey;
mod templates;
mod verify;

pub use found::{Class, Dropped, Mined, MinedRule, Reason, Tally, Template, Tried};
pub use groups::{CodeGroup, Known};
pub use mine::{MineError, mine, mine_knowing};
pub use options::{Cutoffs, Evidence, LikelyRules, MineOptions, NearRules};
