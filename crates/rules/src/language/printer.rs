//! Trees to text: the canonical way to write a file. Formulas over codes to trees.
//!
//! Reading what was printed gives the same tree, and printing that gives the same text.

use std::fmt::{self, Write};

use consequence_record::{Code, Vocabulary};
use rustc_hash::FxHashSet;

use super::names::{quote, write_code, write_name};
use super::tree::{Expression, ExpressionKind, Item, Quantifier, RuleFile, RuleItem};
use crate::{Formula, Window};

/// How tightly a form holds together, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tightness {
    Formula,
    Disjunction,
    Conjunction,
    Operand,
    /// An item of a list, where a list or a window stands in parentheses.
    ListItem,
    Term,
}

impl fmt::Display for RuleFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&print_items(self.items()))
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_expression(&mut text, self, Tightness::Formula);
        out.write_str(&text)
    }
}

impl fmt::Display for RuleItem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_rule(&mut text, self);
        out.write_str(&text)
    }
}

/// Every statement on a line of its own.
pub(super) fn print_items(items: &[Item]) -> String {
    let mut text = String::new();
    for item in items {
        match item {
            Item::Rule(rule) => write_rule(&mut text, rule),
            Item::Let(definition) => {
                text.push_str("let ");
                write_name(&mut text, &definition.name.text);
                text.push_str(" = ");
                match definition.values.as_slice() {
                    [formula] => write_expression(&mut text, formula, Tightness::Formula),
                    values => write_list(&mut text, values),
                }
            }
            Item::Static(declaration) => {
                text.push_str("static ");
                write_list(&mut text, &declaration.codes);
            }
        }
        text.push('\n');
    }
    text
}

fn write_rule(text: &mut String, rule: &RuleItem) {
    text.push_str("rule ");
    write_name(text, &rule.name.text);
    text.push_str(": ");
    write_expression(text, &rule.formula, Tightness::Formula);
    if let Some(probability) = rule.probability {
        // Writing to a string cannot fail.
        let _ = write!(text, " with probability {probability:?}");
    }
}

fn write_list(text: &mut String, items: &[Expression]) {
    write_joined(text, items, ", ", Tightness::ListItem);
}

fn write_joined(text: &mut String, parts: &[Expression], between: &str, tightness: Tightness) {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            text.push_str(between);
        }
        write_expression(text, part, tightness);
    }
}

/// Writes an expression, in parentheses if it binds more loosely than the expression around it.
fn write_expression(text: &mut String, expression: &Expression, wanted: Tightness) {
    use ExpressionKind::*;
    let own = match &expression.kind {
        Implies(..) | Iff(..) => Tightness::Formula,
        Or(_) => Tightness::Disjunction,
        And(_) => Tightness::Conjunction,
        In(..) | Group(..) => Tightness::Operand,
        Not(_) => Tightness::ListItem,
        Constant(_) | Name(_) | Code(_) | Glob(_) | Range(..) => Tightness::Term,
    };
    let parentheses = own < wanted;
    let wanted = if parentheses { Tightness::Formula } else { wanted };
    if parentheses {
        text.push('(');
    }
    match &expression.kind {
        Constant(value) => text.push_str(if *value { "true" } else { "false" }),
        Name(name) => write_name(text, name),
        Code(name) => quote(text, name),
        Glob(pattern) => text.push_str(pattern),
        Range(from, to) => {
            write_code(text, from);
            text.push_str(" to ");
            write_code(text, to);
        }
        In(inner, window) => {
            write_expression(text, inner, Tightness::Term);
            let _ = write!(text, " in {window}");
        }
        Not(inner) => {
            text.push_str("not ");
            write_expression(text, inner, wanted.max(Tightness::Operand));
        }
        And(parts) => write_joined(text, parts, " and ", Tightness::Operand),
        Or(parts) => write_joined(text, parts, " or ", Tightness::Conjunction),
        Implies(left, right) => write_pair(text, left, " => ", right),
        Iff(left, right) => write_pair(text, left, " <=> ", right),
        Group(quantifier, items) => {
            text.push_str(quantifier.words());
            text.push(' ');
            write_list(text, items);
        }
    }
    if parentheses {
        text.push(')');
    }
}

fn write_pair(text: &mut String, left: &Expression, operator: &str, right: &Expression) {
    write_expression(text, left, Tightness::Disjunction);
    text.push_str(operator);
    write_expression(text, right, Tightness::Disjunction);
}

/// A disjunction of at least this many literals is written as a list.
const LIST: usize = 3;

impl Formula {
    /// The formula in the rule language. Resolving the text over the same vocabulary gives the same
    /// formula, but for `and` and `or` of fewer than two parts, and for a part that comes twice
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
