//! Trees to text: the canonical way to write a file. Formulas over codes to trees.
//!
//! Reading what was printed gives the same tree, and printing that gives the same text.

use std::fmt::{self, Write};

use consequence_record::{Code, Vocabulary};
use rustc_hash::FxHashSet;

use super::facts::OLDEST;
use super::names::{quote, write_code, write_name};
use super::tree::{
    AGE_NAME, Bound, Expression, ExpressionKind, Item, LookBack, Quantifier, RuleFile, RuleItem,
    Times,
};
use crate::{Days, Fact, Formula, ValueRange, Window};

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
            Item::For(made) => {
                text.push_str("for ");
                write_name(&mut text, &made.vocabulary.text);
                if let Some(version) = &made.version {
                    text.push_str(" version ");
                    write_name(&mut text, &version.text);
                }
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
        In(..) | Group(..) | Times(..) | Since(..) | Compare(..) => Tightness::Operand,
        Not(_) => Tightness::ListItem,
        Constant(_) | Name(_) | Code(_) | Glob(_) | Range(..) | FirstVisit => Tightness::Term,
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
        FirstVisit => text.push_str("first visit"),
        Times(inner, times) => {
            write_expression(text, inner, Tightness::Term);
            let _ = write!(text, " {times}");
        }
        Since(inner, mark) => {
            write_expression(text, inner, Tightness::Term);
            text.push_str(" since ");
            write_expression(text, mark, Tightness::Term);
        }
        Compare(inner, range) => {
            write_expression(text, inner, Tightness::Term);
            let _ = write!(text, " {range}");
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
            Self::Fact(fact) => fact.expression(vocabulary),
            Self::Not(inner) => match &**inner {
                Self::Fact(Fact::Seen { codes, days, count: more @ 2.. }) => {
                    counted_visits(codes, *days, Bound::AtMost, more - 1, vocabulary)
                }
                Self::Or(parts) if parts.len() >= LIST && all_now(parts) => {
                    group(Quantifier::None, parts)
                }
                inner => inner.expression(vocabulary).not(),
            },
            Self::And(parts) => match as_comparison(parts, vocabulary) {
                Some(comparison) => comparison,
                None => Expression::all(each(parts)),
            },
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

impl Fact {
    /// The fact as a tree of the language, every code by its name. A value stands for its code too.
    fn expression(&self, vocabulary: &Vocabulary) -> Expression {
        match self {
            Self::Seen { codes, days: Some(days), count: 1 } if codes.len() == 1 => {
                any_of(codes, vocabulary).within(*days)
            }
            Self::Seen { codes, days, count } => {
                counted_visits(codes, *days, Bound::AtLeast, *count, vocabulary)
            }
            Self::Since { codes, mark } => {
                any_of(codes, vocabulary).since(any_of(mark, vocabulary))
            }
            Self::FirstVisit => ExpressionKind::FirstVisit.into(),
            // The oldest age that can be written can still be passed.
            Self::Age { least } if *least > OLDEST => age(ValueRange::above(f32::from(least - 1))),
            Self::Age { least } => age(ValueRange::at_least(f32::from(*least))),
            Self::Value { code, range } => value_of(*code, *range, vocabulary),
        }
    }
}

/// Any of the codes, as what is counted or looked for.
fn any_of(codes: &[Code], vocabulary: &Vocabulary) -> Expression {
    let mut names: Vec<Expression> =
        codes.iter().map(|&code| Expression::literal(vocabulary.name(code))).collect();
    match names.len() {
        0 => ExpressionKind::Constant(false).into(),
        1 => names.remove(0),
        _ => ExpressionKind::Group(Quantifier::Any, names).into(),
    }
}

fn counted_visits(
    codes: &[Code],
    days: Option<Days>,
    bound: Bound,
    count: u16,
    vocabulary: &Vocabulary,
) -> Expression {
    let within = Some(days.map_or_else(|| Window::past().into(), LookBack::Days));
    any_of(codes, vocabulary).times(Times { bound, count, within })
}

fn age(range: ValueRange) -> Expression {
    Expression::from(ExpressionKind::Name(AGE_NAME.to_owned())).compared(range)
}

fn value_of(code: Code, range: ValueRange, vocabulary: &Vocabulary) -> Expression {
    let name = vocabulary.name(code);
    let code = match name {
        // Bare it would be the age.
        AGE_NAME => ExpressionKind::Code(name.to_owned()).into(),
        _ => Expression::literal(name),
    };
    code.compared(range)
}

/// What the language says in one comparison: a code with its value, or an age with a limit above.
fn as_comparison(parts: &[Formula], vocabulary: &Vocabulary) -> Option<Expression> {
    match parts {
        [Formula::Now(now), Formula::Fact(Fact::Value { code, range })] if now == code => {
            Some(value_of(*code, *range, vocabulary))
        }
        [Formula::Fact(Fact::Age { least }), Formula::Not(above)] => match **above {
            Formula::Fact(Fact::Age { least: until }) if until > OLDEST => None,
            Formula::Fact(Fact::Age { least: until }) if *least == 0 => {
                Some(age(ValueRange::below(f32::from(until))))
            }
            Formula::Fact(Fact::Age { least: until }) if *least < until => {
                Some(age(ValueRange::between(f32::from(*least), f32::from(until - 1))))
            }
            _ => None,
        },
        _ => None,
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
