//! Rules before anything is derived from them: hard ones as clauses, which an audit checks, and
//! soft ones as what draws a code.

use std::sync::Arc;

use consequence_record::{Kind, Lists};

use super::clause::{Atoms, Encoder, LiteralId, VisitRange};
use super::closed::decode;
use super::normal::{Literal, TooLarge, clausal_form, each_clause};
use super::order::{Order, order};
use super::reveal::GapAxis;
use super::{CompileError, CompileLimits};
use crate::{Formula, RuleSet, Says, Scope};

/// One clause of a rule as written.
#[derive(Clone, Copy, Debug)]
pub struct WrittenClause<'a> {
    /// Its literals, sorted.
    pub literals: &'a [LiteralId],
    /// The visits it is required of.
    pub visits: VisitRange,
    /// The rule it says part of, by index.
    pub rule: u32,
}

/// The clauses of hard rules, in the order of the rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    literals: Lists<LiteralId>,
    /// The visits that each clause is required of, and its rule.
    required: Vec<(VisitRange, u32)>,
}

impl Written {
    pub fn add(
        &mut self,
        encoder: &mut Encoder<'_>,
        index: u32,
        formula: &Formula,
        scope: Scope,
        max_literals: usize,
    ) -> Result<(), TooLarge> {
        each_clause(formula, max_literals, |clause| {
            let kinds = [(scope.static_visit, Kind::Static), (scope.encounters, Kind::Encounter)];
            for (_, kind) in kinds.into_iter().filter(|(required, _)| *required) {
                let Some(encoded) = encoder.clause(&clause, kind) else { continue };
                self.literals.push(encoded);
                self.required.push((all_visits(kind, encoder.max_visits), index));
            }
        })
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = WrittenClause<'_>> {
        let required = self.literals.iter().zip(&self.required);
        required.map(|(literals, &(visits, rule))| WrittenClause { literals, visits, rule })
    }
}

/// The hard rules of a set as clauses, whether or not any record can obey them all.
///
/// ```
/// use std::sync::Arc;
/// use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
///
/// let rules = Arc::new(RuleSet::parse("rule either: A or B => C and not D", None)?);
/// let written = WrittenRules::new(rules, &CompileLimits::default())?;
/// assert_eq!(written.clauses().len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct WrittenRules {
    rules: Arc<RuleSet>,
    order: Order,
    axis: GapAxis,
    atoms: Atoms,
    written: Written,
    max_visits: u16,
}

impl WrittenRules {
    /// Normalises the hard rules, for records of any length.
    pub fn new(rules: Arc<RuleSet>, limits: &CompileLimits) -> Result<Self, CompileError> {
        let max_visits = VisitRange::OPEN;
        let vocabulary = Arc::clone(rules.vocabulary());
        let order = order(&vocabulary, rules.as_slice(), false).order;
        let axis = GapAxis::new(rules.as_slice(), &vocabulary);
        let mut encoder = Encoder {
            vocabulary: &vocabulary,
            order: &order,
            max_visits,
            atoms: Atoms::over(Arc::clone(&axis.thresholds)),
            axis: &axis,
        };
        let mut written = Written::default();
        for (index, rule) in rules.hard() {
            let scope = rule.scope(&vocabulary);
            written
                .add(&mut encoder, index as u32, &rule.formula(), scope, limits.rule_literals)
                .map_err(|TooLarge| CompileError::too_large(rule, limits.rule_literals))?;
        }
        let atoms = encoder.atoms;
        Ok(Self { rules, order, axis, atoms, written, max_visits })
    }

    /// Literals of this numbering, for the prover.
    pub(crate) fn encoder(&self) -> Encoder<'_> {
        Encoder {
            vocabulary: self.rules.vocabulary(),
            order: &self.order,
            max_visits: self.max_visits,
            axis: &self.axis,
            atoms: self.atoms.clone(),
        }
    }

    /// The rules.
    pub fn rules(&self) -> &Arc<RuleSet> {
        &self.rules
    }

    /// The order of codes that positions refer to.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// The atoms about the past that clauses use.
    pub fn atoms(&self) -> &Atoms {
        &self.atoms
    }

    /// The clauses, in the order of the rules.
    pub fn clauses(&self) -> impl ExactSizeIterator<Item = WrittenClause<'_>> {
        self.written.iter()
    }

    /// A numbered literal as what it asks for and its sign; no clause that was written has one without.
    pub fn decode(&self, literal: LiteralId) -> Option<Literal> {
        decode(&self.order, &self.atoms, literal)
    }
}

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
