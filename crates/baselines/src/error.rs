//! Why a method cannot take a set of rules, and the rules that it cannot express.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use thiserror::Error;

/// Why a method cannot take a set of rules.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaselineError {
    /// The rules and the order are over different vocabularies.
    #[error("the rules and the order of codes have different vocabularies; make both from one")]
    OtherCodes,
    /// A clause is about a rule or a code that does not exist.
    #[error("clause {clause} names a rule or a code that does not exist")]
    BadClause {
        /// The clause, counted from 0.
        clause: usize,
    },
    /// A rule speaks of something that the method has no words for.
    #[error(
        "rule `{rule}` speaks of days, counts, ages or values, and the method knows codes in visits only; leave the rule out"
    )]
    Facts {
        /// The name of the rule.
        rule: String,
    },
    /// A decision diagram grew too large.
    #[error(
        "{} codes need a decision diagram of more than {limit} nodes; leave out some of these rules: {}",
        .codes,
        listed(.rules)
    )]
    TooManyNodes {
        /// The codes that the rules tie together.
        codes: usize,
        /// The limit.
        limit: usize,
        /// The names of the rules.
        rules: Vec<Arc<str>>,
    },
    /// Rules allow too many different cases.
    #[error(
        "{} codes need more than {limit} terms (their decision diagram has {paths} paths); leave out some of these rules: {}",
        .codes,
        listed(.rules)
    )]
    TooManyTerms {
        /// The codes that the rules tie together.
        codes: usize,
        /// The limit.
        limit: usize,
        /// Ways through the decision diagram, at most [`u64::MAX`].
        paths: u64,
        /// The names of the rules.
        rules: Vec<Arc<str>>,
    },
    /// No visit obeys the rules.
    #[error("no visit can obey these rules together: {}", listed(.rules))]
    Unsatisfiable {
        /// The names of the rules.
        rules: Vec<Arc<str>>,
    },
}

/// The first names of a list, and how many more there are.
fn listed(names: &[Arc<str>]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(|name| &**name).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// How large the logic of a method may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes of one decision diagram. Default 200,000; each costs about 40 bytes while it is made.
    pub nodes: usize,
    /// Terms of one component. Default 1,024; each is an output of a network.
    pub terms: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { nodes: 200_000, terms: 1_024 }
    }
}

/// A rule that a method cannot express, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpressed {
    /// The name of the rule.
    pub rule: Arc<str>,
    /// Why it cannot.
    pub reason: Reason,
}

impl Display for Unexpressed {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.rule, self.reason)
    }
}

/// Why a method cannot express a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// It holds with a probability only.
    Soft,
    /// It looks at earlier visits, or holds in some visits only.
    Temporal,
    /// It demands that a code is absent.
    Absence,
    /// It demands one of several codes and does not say which.
    Choice,
    /// Its loss is that of its clauses one by one, since it is tied to too many others.
    Rough,
    /// Its output is decided before one of its antecedents.
    Late,
    /// Its output is, through other rules, among its own antecedents.
    Cyclic,
    /// No visit obeys it.
    Impossible,
}

impl Display for Reason {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Soft => "holds with a probability only",
            Self::Temporal => "looks at earlier visits",
            Self::Absence => "demands that a code is absent",
            Self::Choice => "demands one of several codes",
            Self::Rough => "is tied to so many others that its loss is a rough one",
            Self::Late => "its output is decided before one of its antecedents",
            Self::Cyclic => "depends on its own output",
            Self::Impossible => "no visit obeys it",
        })
    }
}
