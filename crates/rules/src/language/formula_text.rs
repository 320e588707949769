//! Formulas over codes, written in the language again.

use consequence_record::{Code, Vocabulary};

use super::tree::{Expression, ExpressionKind, Quantifier};
use crate::formula::{Formula, Window};

/// From so many literals on, a disjunction is written as a list.
const LIST: usize = 3;

impl Formula {
    /// The formula in the rule language. Resolving the text over the same vocabulary gives the
    /// same formula, but for `and` and `or` of fewer than two parts.
    ///
    /// ```
    /// use consequence_rules::RuleSet;
    ///
    /// let text = "rule r: (A and B in past) => none of C, D, \"x > 7\"";
    /// let rules = RuleSet::parse(text, None)?;
    /// assert_eq!(
    ///     rules.rules[0].formula.text(&rules.vocabulary),
    ///     "A and B in past => none of C, D, \"x > 7\""
    /// );
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    pub fn text(&self, vocabulary: &Vocabulary) -> String {
        self.expression(vocabulary).to_string()
    }

    /// The formula as a tree of the language, every code by its name.
    pub fn expression(&self, vocabulary: &Vocabulary) -> Expression {
        let name = |code: Code| Expression::literal(vocabulary.name(code));
        let each = |parts: &[Self]| -> Vec<Expression> {
            parts.iter().map(|part| part.expression(vocabulary)).collect()
        };
        let group = |quantifier, parts: &[Self]| match parts {
            [] => ExpressionKind::Constant(quantifier != Quantifier::ExactlyOne).into(),
            parts => ExpressionKind::Group(quantifier, each(parts)).into(),
        };
        match self {
            Self::Constant(value) => ExpressionKind::Constant(*value).into(),
            Self::Now(code) => name(*code),
            Self::In(code, window) => name(*code).within(window.clone()),
            Self::Not(inner) => match &**inner {
                Self::Or(parts) if parts.len() >= LIST && all_now(parts) => {
                    group(Quantifier::None, parts)
                }
                inner => inner.expression(vocabulary).not(),
            },
            Self::And(parts) => Expression::all(each(parts)),
            Self::Or(parts) if parts.len() >= LIST && all_now(parts) => {
                group(Quantifier::Any, parts)
            }
            Self::Or(parts) => match shared_window(parts) {
                Some((window, codes)) if codes.len() >= LIST => {
                    let codes = codes.into_iter().map(name).collect();
                    let any: Expression = ExpressionKind::Group(Quantifier::Any, codes).into();
                    any.within(window.clone())
                }
                _ => Expression::any(each(parts)),
            },
            Self::Implies(left, right) => {
                left.expression(vocabulary).implies(right.expression(vocabulary))
            }
            Self::Iff(left, right) => {
                let left = Box::new(left.expression(vocabulary));
                ExpressionKind::Iff(left, Box::new(right.expression(vocabulary))).into()
            }
            Self::AtMostOne(parts) => group(Quantifier::AtMostOne, parts),
            Self::ExactlyOne(parts) => group(Quantifier::ExactlyOne, parts),
        }
    }
}

fn all_now(parts: &[Formula]) -> bool {
    parts.iter().all(|part| matches!(part, Formula::Now(_)))
}

/// The codes of a disjunction that looks at one window only.
fn shared_window(parts: &[Formula]) -> Option<(&Window, Vec<Code>)> {
    let Some(Formula::In(_, shared)) = parts.first() else { return None };
    let codes = parts.iter().map(|part| match part {
        Formula::In(code, window) if window == shared => Some(*code),
        _ => None,
    });
    codes.collect::<Option<Vec<Code>>>().map(|codes| (shared, codes))
}
