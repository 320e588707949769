//! Rules that a method cannot express.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// A rule that a method cannot express, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpressed {
    /// The name of the rule.
    pub rule: Arc<str>,
    /// What is in the way.
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
