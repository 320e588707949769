//! The naive judge: does this record obey this rule?
//!
//! The referee walks the rule's tree over the record's visits, literally. It shares no code with
//! the compiler or the enforcer, so that an error of theirs cannot hide itself here. Of many rules
//! it walks those that a visit could make false: the others lack every code that they would need.
//!
//! How it reads a record:
//! - `END` holds at the last encounter of a record that has ended, and nowhere else.
//! - A static code holds in visit 0 only, an encounter code in encounters only. A code found in the
//!   other kind of visit does not hold there; it is a [`Defect`].
//! - A window looks at visits before the current one. One that selects no visit holds no code.
//! - Days are whole days between the calendar days on which two encounters began; the static visit has none. An
//!   age is that of dates or of the band that the source gave at the visit, else that of a static code such as
//!   `AGE//40-60`, of which the first year counts. A value is the one that the record has of the code in the
//!   visit. What is not known is false, and at visit 0 nothing of it is known.
//! - A rule is required of visit 0 if one of its outputs is a static code, and of encounters if one
//!   is an encounter code. Its outputs are the codes that its consequent names now; without a
//!   consequent, or if that names none now, all codes it names now. A rule that names no code now
//!   is required of encounters. A rule that says itself where it is required
//!   ([`Rule::visits`](consequence_rules::Rule::visits)) is required there.
//!
//! ```
//! use std::sync::Arc;
//! use consequence_record::{Kind, Record, Vocabulary};
//! use consequence_referee::{Referee, Violation};
//! use consequence_rules::{Formula, Rule, RuleSet, Window};
//!
//! let vocabulary = Vocabulary::new([("SEX//F", Kind::Static), ("ICD9CM//185", Kind::Encounter)])?;
//! let female = vocabulary.code("SEX//F").unwrap();
//! let prostate = vocabulary.code("ICD9CM//185").unwrap();
//! let formula =
//!     Formula::In(female, Window::static_visit()).implies(Formula::Now(prostate).not());
//! let rule = Rule::hard("no-prostate-cancer-in-women", formula);
//! let rules = RuleSet::new(Arc::new(vocabulary), vec![rule])?;
//!
//! let referee = Referee::new(&rules);
//! let record = Record::new(vec![vec![female], vec![], vec![prostate]]);
//! assert!(referee.holds(0, &record, 1));
//! assert_eq!(referee.violations(&record), [Violation { rule: 0, visit: 2 }]);
//! assert!(!referee.is_valid(&record));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod docket;
mod truth;
mod verdict;

pub use truth::{Defect, Detailed, Visits};
pub use verdict::{Referee, Violation};
