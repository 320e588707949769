//! Formulas over codes, written in the language again.

use consequence_record::{Code, Vocabulary};
use rustc_hash::FxHashSet;

use super::tree::{Expression, ExpressionKind, Quantifier};
use crate::{Formula, Window};

/// From so many literals on, a disjunction is written as a list.
const LIST: usize = 3;

impl Formula {
    /// The formula in the rule language. Resolving the text over the same vocabulary gives the
    /// same formula, but for `and` and `or` of fewer than two parts, and for a part that comes twice
    /// where parts are counted: the language counts it once, so its copies are written in another
    /// way (`A and A`) that means the same.
    ///
    /// ```
    /// use consequence_rules::RuleSet;
    ///
    /// let text = "rule r: (A and B in past) => none of C, D, \"x > 7\"";
    /// let rules = RuleSet::parse(text, None)?;
    /// assert_eq!(
    ///     rules[0].formula().text(rules.vocabulary()),
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
        let group = |quantifier, parts: &[Self]| -> Expression {
            ExpressionKind::Group(quantifier, each(parts)).into()
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
            Self::AtMostOne(parts) => counted(Quantifier::AtMostOne, each(parts)),
            Self::ExactlyOne(parts) => counted(Quantifier::ExactlyOne, each(parts)),
        }
    }
}

/// A list whose members are counted, every part written differently.
fn counted(quantifier: Quantifier, parts: Vec<Expression>) -> Expression {
    if parts.is_empty() {
        return ExpressionKind::Constant(quantifier != Quantifier::ExactlyOne).into();
    }
    let mut written = FxHashSet::default();
    let different = |part: Expression| {
        let mut copy = part.clone();
        let mut copies = 1;
        while !matches!(part.kind, ExpressionKind::Constant(_)) && !written.insert(copy.to_string())
        {
            copies += 1;
            copy = Expression::all(vec![part.clone(); copies]);
        }
        copy
    };
    ExpressionKind::Group(quantifier, parts.into_iter().map(different).collect()).into()
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
