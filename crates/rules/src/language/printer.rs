//! Trees to text: the canonical way to write a file.
//!
//! Reading what was printed gives the same tree, and printing that gives the same text.

use std::fmt::{self, Write};

use super::names::{quote, write_name};
use super::tree::{Expression, ExpressionKind, Item, RuleFile, RuleItem};

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
        Constant(_) | Name(_) | Code(_) | Glob(_) => Tightness::Term,
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
