//! Rules that can be used but hardly say what was meant.

use rustc_hash::FxHashSet;

use consequence_record::{Code, Kind, Vocabulary};

use super::diagnostic::{Diagnostic, Topic, Warnings};
use super::glob::matches;
use super::names::show;
use super::source::{Source, Span};
use super::tree::{Expression, ExpressionKind, RuleItem};
use crate::{Rule, Scope, Window};

/// Warns of codes that are looked for in visits where they never are.
pub(super) fn lint(
    rule: &Rule,
    item: &RuleItem,
    vocabulary: &Vocabulary,
    source: &Source,
    warnings: &mut Warnings,
) {
    let scope = rule.scope(vocabulary);
    if scope.static_visit && scope.encounters {
        warnings.push(Topic::MixedOutputs, || {
            let name = show(&rule.name);
            let message = format!("rule {name} concludes static codes and codes of encounters");
            Diagnostic::warning(message)
                .at(source.location(item.name.span))
                .help("it is required of every visit; write two rules if that is not meant")
        });
        return;
    }
    let mut warned = FxHashSet::default();
    rule.formula().for_each_code(&mut |code, window| {
        let Some((topic, what, in_static)) = complaint(code, window, scope, vocabulary) else {
            return;
        };
        if warned.insert((code, topic)) {
            warnings.push(topic, || {
                let name = vocabulary.name(code);
                let span = find(&item.formula, name, window, None).unwrap_or(item.name.span);
                let message = format!("{} {what}", show(name));
                let warning = Diagnostic::warning(message).at(source.location(span));
                if in_static && name.len() < 100 {
                    warning.help(format!("write `{} in static`", Expression::literal(name)))
                } else {
                    warning
                }
            });
        }
    });
}

/// What is odd about looking for the code there, and whether `in static` would help.
fn complaint(
    code: Code,
    window: Option<&Window>,
    scope: Scope,
    vocabulary: &Vocabulary,
) -> Option<(Topic, &'static str, bool)> {
    let is_static = vocabulary.kind(code) == Kind::Static;
    let Some(window) = window else {
        return match (scope.static_visit, is_static) {
            (false, true) => {
                let what = "is a static code and never present in an encounter";
                Some((Topic::WrongVisit, what, true))
            }
            (true, false) => {
                let what = "is a code of encounters and never present in the static visit";
                Some((Topic::WrongVisit, what, false))
            }
            _ => None,
        };
    };
    if code == vocabulary.end() {
        let what = "marks the last encounter and is never in an earlier visit";
        return Some((Topic::EndInWindow, what, false));
    }
    if scope.static_visit {
        let what = "is looked for before the static visit, and no visit is earlier";
        return Some((Topic::WrongVisit, what, false));
    }
    let by_number = !window.is_past() && window.distances().is_empty();
    if is_static && by_number && !window.visits().contains(&0) {
        let what = "is a static code and never present in an encounter";
        return Some((Topic::WrongVisit, what, true));
    }
    if !is_static && by_number && window.visits() == [0] {
        let what = "is a code of encounters and never present in the static visit";
        return Some((Topic::WrongVisit, what, false));
    }
    None
}

/// Where an expression looks for a code in a window; `within` is the window around the expression.
fn find(
    expression: &Expression,
    code: &str,
    wanted: Option<&Window>,
    within: Option<&Window>,
) -> Option<Span> {
    use ExpressionKind::*;
    let found = |names: bool| (names && wanted == within).then_some(expression.span);
    let find = |inner: &Expression| find(inner, code, wanted, within);
    match &expression.kind {
        Name(name) | Code(name) => found(name == code),
        Glob(pattern) => found(matches(pattern, code)),
        Constant(_) => None,
        In(inner, window) => self::find(inner, code, wanted, Some(window)),
        Not(inner) => find(inner),
        And(parts) | Or(parts) | Group(_, parts) => parts.iter().find_map(find),
        Implies(left, right) | Iff(left, right) => find(left).or_else(|| find(right)),
    }
}
