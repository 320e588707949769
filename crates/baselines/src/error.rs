//! Why a method cannot take a set of rules.

use std::sync::Arc;

use thiserror::Error;

/// Why a method cannot take a set of rules.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaselineError {
    /// The rules and the order of codes speak of different codes.
    #[error("the rules and the order of codes have different vocabularies; make both from one")]
    OtherCodes,
    /// A clause speaks of a rule or a code that is not there.
    #[error("clause {clause} names a rule or a code that does not exist")]
    BadClause {
        /// The clause, counted from 0.
        clause: usize,
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
