//! Formulas over codes, now and in windows of earlier visits.

use std::fmt;

use consequence_record::{Code, Kind};

use crate::{Fact, Scope};

/// Which earlier visits a literal looks at. A window never reaches the current visit or the future.
///
/// The set may hold absolute visits (0 is the static visit), visits counted back from the current
/// one, and all of the past at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Window {
    past: bool,
    at: Vec<u16>,
    ago: Vec<u16>,
}

impl Window {
    /// The largest visit number or distance a window may name.
    pub const MAX: u16 = 10_000;

    /// Every earlier visit, the static visit included.
    pub fn past() -> Self {
        PAST.clone()
    }

    /// The static visit.
    pub fn static_visit() -> Self {
        Self::at([0])
    }

    /// The visit just before.
    pub fn previous() -> Self {
        Self::ago([1])
    }

    /// Visits by number.
    pub fn at(visits: impl IntoIterator<Item = u16>) -> Self {
        Self::set(visits, [])
    }

    /// Visits by distance: 1 is the visit just before.
    pub fn ago(distances: impl IntoIterator<Item = u16>) -> Self {
        Self::set([], distances)
    }

    /// The last `count` visits before the current one.
    pub fn last(count: u16) -> Self {
        Self::ago(1..=count)
    }

    /// Visits by number and by distance together. A distance of 0 is no earlier visit, and is left
    /// out.
    pub fn set(
        visits: impl IntoIterator<Item = u16>,
        distances: impl IntoIterator<Item = u16>,
    ) -> Self {
        let sorted = |mut list: Vec<u16>| {
            list.sort_unstable();
            list.dedup();
            list
        };
        let ago = sorted(distances.into_iter().filter(|&distance| distance > 0).collect());
        Self { past: false, at: sorted(visits.into_iter().collect()), ago }
    }

    /// Whether the window is all of the past.
    pub fn is_past(&self) -> bool {
        self.past
    }

    /// The visits named by number, ascending.
    pub fn visits(&self) -> &[u16] {
        &self.at
    }

    /// The visits named by distance, ascending.
    pub fn distances(&self) -> &[u16] {
        &self.ago
    }

    /// The window that, seen from one visit earlier, selects the same visits before that one.
    pub(crate) fn one_visit_earlier(&self) -> Self {
        let ago = self.ago.iter().filter(|&&distance| distance > 1);
        let ago = ago.map(|distance| distance - 1).collect();
        Self { past: self.past, at: self.at.clone(), ago }
    }

    /// Whether the window, seen from visit `now`, selects visit `then`.
    pub fn selects(&self, now: usize, then: usize) -> bool {
        then < now
            && (self.past
                || self.at.iter().any(|&visit| usize::from(visit) == then)
                || self.ago.iter().any(|&distance| usize::from(distance) == now - then))
    }

    /// Whether the window, seen from visit `now`, selects a visit of which `found` is true.
    ///
    /// ```
    /// use consequence_rules::Window;
    ///
    /// let window = Window::set([0], [2]);
    /// assert!(window.any(5, |visit| visit == 3) && window.any(5, |visit| visit == 0));
    /// assert!(!window.any(5, |visit| visit == 4));
    /// ```
    pub fn any(&self, now: usize, mut found: impl FnMut(usize) -> bool) -> bool {
        if self.past {
            return (0..now).any(found);
        }
        let mut at = self.at.iter().map(|&visit| usize::from(visit)).filter(|&then| then < now);
        let mut back = self.ago.iter().filter_map(|&distance| now.checked_sub(distance.into()));
        at.any(&mut found) || back.any(found)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ago = &self.ago;
        match (self.past, self.at.as_slice(), ago.as_slice()) {
            (true, ..) => out.write_str("past"),
            (false, [0], []) => out.write_str("static"),
            (false, [visit], []) => write!(out, "visit {visit}"),
            (false, [], [1]) => out.write_str("previous"),
            (false, [], [distance]) => write!(out, "{distance} visits ago"),
            (false, [], [1, .., last]) if usize::from(*last) == ago.len() => {
                write!(out, "last {last} visits")
            }
            (false, at, ago) => {
                let back = ago.iter().rev().map(|&distance| -i32::from(distance));
                let members: Vec<String> = back
                    .chain(at.iter().map(|&visit| i32::from(visit)))
                    .map(|member| member.to_string())
                    .collect();
                write!(out, "{{{}}}", members.join(", "))
            }
        }
    }
}

/// Every earlier visit.
pub(crate) static PAST: Window = Window { past: true, at: Vec::new(), ago: Vec::new() };

/// A boolean formula over codes now and codes in windows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// Always true or always false.
    Constant(bool),
    /// The code is in the current visit.
    Now(Code),
    /// The code is in some visit of the window.
    In(Code, Window),
    /// Something that is known before the codes of the visit are.
    Fact(Fact),
    /// Negation.
    Not(Box<Formula>),
    /// All hold; true when empty.
    And(Vec<Formula>),
    /// Any holds; false when empty.
    Or(Vec<Formula>),
    /// The first implies the second.
    Implies(Box<Formula>, Box<Formula>),
    /// Both or neither.
    Iff(Box<Formula>, Box<Formula>),
    /// No two hold.
    AtMostOne(Vec<Formula>),
    /// Exactly one holds.
    ExactlyOne(Vec<Formula>),
}

impl Formula {
    /// The negation.
    #[allow(clippy::should_implement_trait, reason = "reads as the language does")]
    pub fn not(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// `self => consequent`.
    pub fn implies(self, consequent: Self) -> Self {
        Self::Implies(Box::new(self), Box::new(consequent))
    }

    /// The code is in the current visit, or it is not.
    pub fn literal(code: Code, present: bool) -> Self {
        let now = Self::Now(code);
        if present { now } else { now.not() }
    }

    /// The code that the formula says is in the current visit, or is not, and which of the two;
    /// `None` if it says anything else.
    pub(crate) fn as_literal(&self) -> Option<(Code, bool)> {
        match self {
            Self::Now(code) => Some((*code, true)),
            Self::Not(inner) => inner.as_literal().map(|(code, present)| (code, !present)),
            _ => None,
        }
    }

    /// The formula with others in the place of its facts.
    pub(crate) fn with_facts(self, other: &dyn Fn(Fact) -> Self) -> Self {
        let each =
            |parts: Vec<Self>| parts.into_iter().map(|part| part.with_facts(other)).collect();
        let boxed = |part: Box<Self>| Box::new(part.with_facts(other));
        match self {
            Self::Fact(fact) => other(fact),
            Self::Constant(_) | Self::Now(_) | Self::In(..) => self,
            Self::Not(inner) => Self::Not(boxed(inner)),
            Self::And(parts) => Self::And(each(parts)),
            Self::Or(parts) => Self::Or(each(parts)),
            Self::Implies(left, right) => Self::Implies(boxed(left), boxed(right)),
            Self::Iff(left, right) => Self::Iff(boxed(left), boxed(right)),
            Self::AtMostOne(parts) => Self::AtMostOne(each(parts)),
            Self::ExactlyOne(parts) => Self::ExactlyOne(each(parts)),
        }
    }

    /// Calls `visit` for every code with its window, `None` for now.
    pub fn for_each_code<'a>(&'a self, visit: &mut dyn FnMut(Code, Option<&'a Window>)) {
        match self {
            Self::Constant(_) => {}
            Self::Now(code) => visit(*code, None),
            Self::In(code, window) => visit(*code, Some(window)),
            Self::Fact(fact) => fact.for_each_code(visit),
            Self::Not(inner) => inner.for_each_code(visit),
            Self::And(parts)
            | Self::Or(parts)
            | Self::AtMostOne(parts)
            | Self::ExactlyOne(parts) => {
                for part in parts {
                    part.for_each_code(visit);
                }
            }
            Self::Implies(left, right) | Self::Iff(left, right) => {
                left.for_each_code(visit);
                right.for_each_code(visit);
            }
        }
    }

    /// Calls `visit` for every fact.
    pub fn for_each_fact<'a>(&'a self, visit: &mut dyn FnMut(&'a Fact)) {
        match self {
            Self::Constant(_) | Self::Now(_) | Self::In(..) => {}
            Self::Fact(fact) => visit(fact),
            Self::Not(inner) => inner.for_each_fact(visit),
            Self::And(parts)
            | Self::Or(parts)
            | Self::AtMostOne(parts)
            | Self::ExactlyOne(parts) => {
                parts.iter().for_each(|part| part.for_each_fact(visit));
            }
            Self::Implies(left, right) | Self::Iff(left, right) => {
                left.for_each_fact(visit);
                right.for_each_fact(visit);
            }
        }
    }

    /// The codes that the formula is about as a rule: those its consequent names now; where there
    /// is no consequent, or it only looks back, every code named now.
    pub(crate) fn outputs(&self) -> Vec<Code> {
        if let Self::Implies(_, consequent) = self {
            let codes = consequent.codes_now();
            if !codes.is_empty() {
                return codes;
            }
        }
        self.codes_now()
    }

    /// The visits that the formula is required of as a rule, by the kinds of its outputs.
    pub(crate) fn scope_by(&self, kind: &dyn Fn(Code) -> Kind) -> Scope {
        let outputs = self.outputs();
        let lives = |wanted| outputs.iter().any(|&code| kind(code) == wanted);
        Scope {
            static_visit: lives(Kind::Static),
            encounters: outputs.is_empty() || lives(Kind::Encounter),
        }
    }

    /// The codes named in the current visit, in order of appearance, repeats included.
    pub fn codes_now(&self) -> Vec<Code> {
        let mut codes = Vec::new();
        self.for_each_code(&mut |code, window| {
            if window.is_none() {
                codes.push(code);
            }
        });
        codes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_window_example() {
        // I = {-1, 1, 4} with the label visit numbered 1 there and 0 here.
        let window = Window::set([0, 3], [1]);
        let selected = |now| (0..12).filter(|&then| window.selects(now, then)).collect::<Vec<_>>();
        assert!(selected(0).is_empty());
        assert_eq!(selected(1), [0]);
        assert_eq!(selected(2), [0, 1]);
        assert_eq!(selected(9), [0, 3, 8]);
    }

    #[test]
    fn one_visit_earlier_selects_the_same_visits() {
        let windows = [
            Window::past(),
            Window::last(4),
            Window::set([0, 2, 5], [1, 3]),
            Window::at([3]),
            Window::ago([2]),
        ];
        for window in windows {
            let earlier = window.one_visit_earlier();
            for (now, then) in (0..9).flat_map(|now| (0..now).map(move |then| (now, then))) {
                assert_eq!(window.selects(now + 1, then), earlier.selects(now, then), "{window}");
            }
        }
    }

    #[test]
    fn windows_print_as_the_language_writes_them() {
        let shown = [
            Window::past(),
            Window::static_visit(),
            Window::previous(),
            Window::at([4]),
            Window::ago([3]),
            Window::last(3),
            Window::set([1, 4], [1]),
            Window::ago([2, 3]),
        ]
        .map(|window| window.to_string());
        assert_eq!(
            shown,
            [
                "past",
                "static",
                "previous",
                "visit 4",
                "3 visits ago",
                "last 3 visits",
                "{-1, 1, 4}",
                "{-3, -2}"
            ]
        );
    }
}
