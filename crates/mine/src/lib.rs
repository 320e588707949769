//! Rules found in data, with the evidence for each.
//!
//! [`mine`] looks for these kinds of rules in the train split of a cohort, the paper's five and some
//! beyond:
//!
//! | template | rule | an occasion to fail |
//! |---|---|---|
//! | [`Template::OneOf`] | `exactly one of SEX//F, SEX//M`, or `at most one of` | a record (with a code of the category) |
//! | [`Template::OneInVisit`] | `exactly one of GAP//long, GAP//short`, or `at most one of` | a visit (with a code of the family) |
//! | [`Template::Together`] | `A => B`, or `A <=> B` where both hold | a visit with `A` |
//! | [`Template::Last`] | `A => END` | a visit with `A` |
//! | [`Template::NeverFor`] | `SEX//F in static => not A`, or `=> none of A, B, C` | a visit with `A`, or with one of them |
//! | [`Template::OnlyAfter`] | `not A in past => not B` | a visit with `B` |
//! | [`Template::SoonAfter`] | `not A in last 2 visits => not B` | a visit with `B` |
//! | [`Template::Stays`] | `A in previous => A` | a visit with `A` that another follows |
//! | [`Template::Once`] | `A in past => not A` | a visit with `A` |
//! | [`Template::Ages`] | `AGE < 12 => not A`, or `AGE >= 65 => not A` | a visit with `A` at a known age |
//! | [`Template::Apart`] | `A in last 27 days => not A` | a visit with `A` |
//!
//! The last two need to be told when visits were ([`Known::details`]).
//!
//! A rule is of a [`Class`]. Those without an exception in the train split and in the tuning split
//! are certain or likely, by three things:
//!
//! - **Enough occasions**: [`Cutoffs`], which grow with the cohort.
//! - **Not by chance.** Were the codes independent, some pair of thousands would look like a rule.
//!   The probability that a candidate has no exception by chance, times the number of candidates of
//!   its template, must be below [`Evidence::probability`] for a certain rule. For a likely one it is
//!   enough that few of those found are to be expected by chance ([`Evidence::by_chance`]). A code is
//!   taken to be as likely as it is in visits with as many codes, a group as large as its part of
//!   records or codes, and what came before as likely as it is that far into a record.
//! - **Not merely rare exceptions.** Codes may depend on each other without being bound by a rule.
//!   How many nearly bound pairs there are shows in the candidates with one, two, three exceptions;
//!   from them follows how far a candidate with none is to be doubted ([`Evidence::doubt`]), and how
//!   likely a tenth of as many further records break it ([`Evidence::broken`]).
//!
//! Visits of one record resemble each other, so the last two count records, each once, with its
//! first occasion. Candidates with few exceptions are frequent: they become soft rules
//! ([`NearRules`]), one for each code they decide.
//!
//! Rare codes show little alone. Codes that begin alike, whose titles share a word, that a caller
//! says are alike ([`CodeGroup`]) or that keep company in visits are claimed together to be absent in
//! a demographic group. One half of the records chooses the codes, the other half tests the claim.
//!
//! What follows from several rules together, such as a rare code that is excluded because it never
//! comes without an excluded one, is left to the compiler of the rules.
//!
//! A few walks over the records count everything, and a last one checks what was found, visit by
//! visit. Of a very large cohort, some of them see a part; the last one sees all.
//! Counts are whole numbers, so the result is the same on any number of threads.
#![forbid(unsafe_code)]

mod claim;
mod common_sense;
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
mod times;
mod verify;

pub use common_sense::{CommonSense, MOST_BROKEN, Sense, SenseRule, common_sense};
pub use found::{Class, Dropped, Mined, MinedRule, Reason, Tally, Template, Tried, static_codes};
pub use groups::{CodeGroup, Known};
pub use mine::{MineError, mine, mine_in_rounds, mine_knowing};
pub use options::{Cutoffs, Evidence, LikelyRules, MineOptions, NearRules};
