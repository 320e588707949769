//! Formulas put together from formulas.

use crate::{Formula, Window};

/// Why a window cannot be spread over a formula.
pub(super) enum WindowError {
    Window,
    Negation,
    Other,
}

/// The formula with the window on every code.
pub(super) fn in_window(formula: Formula, window: &Window) -> Result<Formula, WindowError> {
    let spread = |parts: Vec<Formula>| -> Result<Vec<Formula>, WindowError> {
        parts.into_iter().map(|part| in_window(part, window)).collect()
    };
    Ok(match formula {
        Formula::Constant(value) => Formula::Constant(value),
        Formula::Now(code) => Formula::In(code, window.clone()),
        Formula::And(parts) => Formula::And(spread(parts)?),
        Formula::Or(parts) => Formula::Or(spread(parts)?),
        Formula::In(..) => return Err(WindowError::Window),
        Formula::Not(_) => return Err(WindowError::Negation),
        _ => return Err(WindowError::Other),
    })
}

/// Any of the items.
pub(super) fn any(mut items: Vec<Formula>) -> Formula {
    match items.len() {
        0 => Formula::Constant(false),
        1 => items.remove(0),
        _ => Formula::Or(items),
    }
}

/// All of the items.
pub(super) fn all(mut items: Vec<Formula>) -> Formula {
    match items.len() {
        0 => Formula::Constant(true),
        1 => items.remove(0),
        _ => Formula::And(items),
    }
}

/// The levels of a formula.
pub(super) fn depth(formula: &Formula) -> usize {
    let deepest = |parts: &[Formula]| parts.iter().map(depth).max().unwrap_or(0);
    1 + match formula {
        Formula::Constant(_) | Formula::Now(_) | Formula::In(..) => 0,
        Formula::Not(inner) => depth(inner),
        Formula::And(parts)
        | Formula::Or(parts)
        | Formula::AtMostOne(parts)
        | Formula::ExactlyOne(parts) => deepest(parts),
        Formula::Implies(left, right) | Formula::Iff(left, right) => depth(left).max(depth(right)),
    }
}
