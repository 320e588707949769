//! Rules as reports name them.

use consequence_rules::Rule;
use serde::Serialize;

/// A rule as a report names it.
///
/// ```
/// use consequence_pipeline::RuleReference;
/// use consequence_rules::RuleSet;
///
/// let rules = RuleSet::parse("rule a: X in past => Y", None)?;
/// let reference = RuleReference::new(&rules[0]);
/// assert_eq!((reference.line, reference.text.as_str()), (1, "rule a: X in past => Y"));
/// # Ok::<(), consequence_rules::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleReference {
    /// Its name.
    pub name: String,
    /// The file it was written in.
    pub file: String,
    /// The line it starts at.
    pub line: u32,
    /// Its text on one line.
    pub text: String,
}

impl RuleReference {
    /// The reference to a rule.
    pub fn new(rule: &Rule) -> Self {
        Self {
            name: rule.name.to_string(),
            file: rule.origin.file.to_string(),
            line: rule.origin.line,
            text: rule.origin.text.to_string(),
        }
    }
}
