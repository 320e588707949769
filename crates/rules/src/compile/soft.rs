//! Soft rules: where the antecedent holds, the output is drawn with the rule's probability.

use consequence_record::Kind;

use super::clause::{Encoder, LiteralId, VisitRange};
use super::normal::{TooLarge, clausal_form};
use crate::{Formula, Says};

/// One way a soft rule can fire. A rule whose antecedent has alternatives has several of these.
#[derive(Clone, Debug)]
pub struct SoftImplication {
    /// The rule, by index.
    pub rule: u32,
    /// What must all hold for the rule to fire.
    pub conditions: Vec<LiteralId>,
    /// The position of the code that is drawn.
    pub output: u32,
    /// The probability that the code is present once the rule fires.
    pub probability: f64,
    /// The visits the rule speaks of.
    pub visits: VisitRange,
}

impl SoftImplication {
    /// Whether a condition is about a code that is decided with the output or after it.
    pub(crate) fn reads_later_codes(&self) -> bool {
        let mut positions = self.conditions.iter().filter_map(|literal| literal.position());
        positions.any(|position| position >= self.output)
    }
}

/// The ways a rule can fire if it is soft; none if it is hard, or if its antecedent never holds.
pub(crate) fn soft_implications(
    encoder: &mut Encoder<'_>,
    index: u32,
    says: &Says,
    max_literals: usize,
) -> Result<Vec<SoftImplication>, TooLarge> {
    let Says::Soft { when, code, present, probability } = says else { return Ok(Vec::new()) };
    let (code, antecedent) = (*code, when.clone().unwrap_or(Formula::Constant(true)));
    let probability = if *present { *probability } else { 1.0 - probability };
    let kind = encoder.vocabulary.kind(code);
    let visits = all_visits(kind, encoder.max_visits);
    let output = encoder.order.position(code);
    // The alternatives of the antecedent are the negated clauses of its negation.
    let clauses = clausal_form(&antecedent.not(), max_literals)?;
    Ok(clauses
        .iter()
        .filter_map(|clause| encoder.clause(clause, kind))
        .map(|clause| SoftImplication {
            rule: index,
            conditions: clause.into_iter().map(LiteralId::negated).collect(),
            output,
            probability,
            visits,
        })
        .collect())
}

/// All visits of a kind.
pub(crate) fn all_visits(kind: Kind, max_visits: u16) -> VisitRange {
    match kind {
        Kind::Static => VisitRange { first: 0, last: 0 },
        Kind::Encounter => VisitRange { first: 1, last: max_visits },
    }
}
