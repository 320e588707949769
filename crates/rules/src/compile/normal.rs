//! Step one, normal form: any boolean formula becomes clauses, and clauses become implications.

use std::cmp::Ordering;

use consequence_record::Code;

use crate::{Fact, Formula, Window};

/// What a literal asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asked {
    /// A code in the current visit.
    Now(Code),
    /// A code in a window of earlier visits.
    In(Window, Code),
    /// Something that is known before the codes of the visit are.
    Fact(Fact),
}

/// A code now or in a window, or a fact: present or absent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal {
    /// What it asks for.
    pub asked: Asked,
    /// True if the literal asks for it, false if it asks for its absence.
    pub present: bool,
}

impl Literal {
    /// The literal as a formula.
    pub fn formula(&self) -> Formula {
        let atom = match &self.asked {
            Asked::Now(code) => Formula::Now(*code),
            Asked::In(window, code) => Formula::In(*code, window.clone()),
            Asked::Fact(fact) => Formula::Fact(fact.clone()),
        };
        if self.present { atom } else { atom.not() }
    }

    /// A code in the current visit, or its absence.
    pub fn now(code: Code, present: bool) -> Self {
        Self { asked: Asked::Now(code), present }
    }

    /// A code in a window, or its absence there.
    pub fn within(code: Code, window: Window, present: bool) -> Self {
        Self { asked: Asked::In(window, code), present }
    }

    /// The code that is asked for, and the window it is looked for in, `None` for the current visit; none for a
    /// fact.
    pub fn code(&self) -> Option<(Code, Option<&Window>)> {
        match &self.asked {
            Asked::Now(code) => Some((*code, None)),
            Asked::In(window, code) => Some((*code, Some(window))),
            Asked::Fact(_) => None,
        }
    }

    /// The code that is asked for in the current visit, if one is.
    pub fn code_now(&self) -> Option<Code> {
        match self.asked {
            Asked::Now(code) => Some(code),
            Asked::In(..) | Asked::Fact(_) => None,
        }
    }

    /// Whether the literal holds at a visit; `has` tells which codes a visit has, and whether `END`
    /// is one of them. `None` if it asks for a fact, of which codes do not tell.
    pub fn holds(&self, visit: usize, has: impl Fn(usize, Code) -> bool) -> Option<bool> {
        let found = match &self.asked {
            Asked::Now(code) => has(visit, *code),
            Asked::In(window, code) => window.any(visit, |then| has(then, *code)),
            Asked::Fact(_) => return None,
        };
        Some(found == self.present)
    }

    fn negated(&self) -> Self {
        Self { present: !self.present, ..self.clone() }
    }
}

/// `antecedent[0] and antecedent[1] and ... => consequent`, the paper's implicative form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implication {
    /// The literals that must all hold for the implication to fire; none means always.
    pub antecedent: Vec<Literal>,
    /// What it demands; `None` only for the empty clause, which nothing satisfies.
    pub consequent: Option<Literal>,
}

impl Implication {
    /// The implication as a formula.
    pub fn formula(&self) -> Formula {
        let antecedent = Formula::And(self.antecedent.iter().map(Literal::formula).collect());
        let consequent =
            self.consequent.as_ref().map_or(Formula::Constant(false), Literal::formula);
        antecedent.implies(consequent)
    }
}

/// The formula needs more literals in clausal form than the limit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// The clauses whose conjunction equals the formula: tautologies dropped, repeats merged. A clause
/// is the literals of which one holds, sorted, without repeats.
///
/// `max_literals` bounds the size of the result; formulas that mix many alternatives can grow
/// exponentially.
///
/// ```
/// use consequence_record::Code;
/// use consequence_rules::{Formula, clausal_form};
///
/// let [a, b, c] = [0, 1, 2].map(|code| Formula::Now(Code(code)));
/// let clauses = clausal_form(&Formula::Or(vec![a, b]).implies(c), 100)?;
/// assert_eq!(clauses.len(), 2); // not a or c; not b or c
/// # Ok::<(), consequence_rules::TooLarge>(())
/// ```
pub fn clausal_form(formula: &Formula, max_literals: usize) -> Result<Vec<Vec<Literal>>, TooLarge> {
    Normaliser { max_literals }.clauses(formula, true)
}

/// Hands on the clauses of the formula one by one, so that of a rule that counts thousands of
/// codes, and has millions of clauses, never all are in memory in this wide form.
pub(crate) fn each_clause(
    formula: &Formula,
    max_literals: usize,
    mut take: impl FnMut(Vec<Literal>),
) -> Result<(), TooLarge> {
    let mut left = max_literals;
    Normaliser { max_literals }.each(formula, true, &mut |clause| {
        left = left.checked_sub(clause.len().max(1)).ok_or(TooLarge)?;
        take(clause);
        Ok(())
    })
}

/// The paper's theorem: every clause, and so every formula, has an equivalent implication.
///
/// The consequent is the clause's last literal about the current visit, or its last literal where
/// it only looks back.
///
/// ```
/// use consequence_record::Code;
/// use consequence_rules::{Formula, clausal_form, implicative_form};
///
/// let [a, b] = [0, 1].map(|code| Formula::Now(Code(code)));
/// let implications = implicative_form(&clausal_form(&Formula::Or(vec![a, b]), 100)?);
/// assert_eq!(implications.len(), 1); // not a => b
/// assert!(!implications[0].antecedent[0].present);
/// # Ok::<(), consequence_rules::TooLarge>(())
/// ```
pub fn implicative_form(clauses: &[Vec<Literal>]) -> Vec<Implication> {
    clauses
        .iter()
        .map(|clause| {
            let consequent = clause
                .iter()
                .rposition(|literal| literal.code_now().is_some())
                .or(clause.len().checked_sub(1));
            let antecedent = clause
                .iter()
                .enumerate()
                .filter(|&(index, _)| Some(index) != consequent)
                .map(|(_, literal)| literal.negated())
                .collect();
            Implication { antecedent, consequent: consequent.map(|index| clause[index].clone()) }
        })
        .collect()
}

struct Normaliser {
    max_literals: usize,
}

/// Takes in one clause; an error where it is one too many.
type Take<'t> = &'t mut dyn FnMut(Vec<Literal>) -> Result<(), TooLarge>;

impl Normaliser {
    /// The clauses of the formula, or of its negation where `sign` is false.
    fn clauses(&self, formula: &Formula, sign: bool) -> Result<Vec<Vec<Literal>>, TooLarge> {
        let mut clauses = Vec::new();
        let mut left = self.max_literals;
        self.each(formula, sign, &mut |clause| {
            left = left.checked_sub(clause.len().max(1)).ok_or(TooLarge)?;
            clauses.push(clause);
            Ok(())
        })?;
        Ok(clauses)
    }

    /// The same, one by one.
    fn each(&self, formula: &Formula, sign: bool, take: Take<'_>) -> Result<(), TooLarge> {
        let literal = |asked: Asked| vec![Literal { asked, present: sign }];
        match formula {
            Formula::Constant(value) if *value == sign => Ok(()),
            Formula::Constant(_) => take(Vec::new()),
            Formula::Now(code) => take(literal(Asked::Now(*code))),
            Formula::In(code, window) => take(literal(Asked::In(window.clone(), *code))),
            Formula::Fact(fact) => take(literal(Asked::Fact(fact.clone()))),
            Formula::Not(inner) => self.each(inner, !sign, take),
            Formula::And(parts) | Formula::Or(parts)
                if matches!(formula, Formula::And(_)) == sign =>
            {
                parts.iter().try_for_each(|part| self.each(part, sign, take))
            }
            Formula::And(parts) | Formula::Or(parts) => {
                self.any(parts.iter().map(|part| (part, sign)))?.into_iter().try_for_each(take)
            }
            Formula::Implies(left, right) if sign => {
                self.any([(&**left, false), (&**right, true)])?.into_iter().try_for_each(take)
            }
            Formula::Implies(left, right) => {
                self.each(left, true, take)?;
                self.each(right, false, take)
            }
            Formula::Iff(left, right) => {
                let one = self.any([(&**left, !sign), (&**right, true)])?;
                let other = self.any([(&**left, sign), (&**right, false)])?;
                one.into_iter().chain(other).try_for_each(take)
            }
            Formula::AtMostOne(parts) if sign => self.at_most_one(parts, take),
            Formula::AtMostOne(parts) => self.at_least_two(parts)?.into_iter().try_for_each(take),
            Formula::ExactlyOne(parts) if sign => {
                self.at_most_one(parts, take)?;
                self.any(parts.iter().map(|part| (part, true)))?.into_iter().try_for_each(take)
            }
            Formula::ExactlyOne(parts) => {
                // Two or more, or none.
                let none = parts.iter().map(|part| self.clauses(part, false));
                let none = none.collect::<Result<Vec<_>, _>>()?.concat();
                let either = self.product(&self.at_least_two(parts)?, &none)?;
                either.into_iter().try_for_each(take)
            }
        }
    }

    fn any<'a>(
        &self,
        parts: impl IntoIterator<Item = (&'a Formula, bool)>,
    ) -> Result<Vec<Vec<Literal>>, TooLarge> {
        let mut clauses = vec![Vec::new()];
        for (part, sign) in parts {
            clauses = self.product(&clauses, &self.clauses(part, sign)?)?;
        }
        Ok(clauses)
    }

    /// No two hold.
    fn at_most_one(&self, parts: &[Formula], take: Take<'_>) -> Result<(), TooLarge> {
        let absent = parts.iter().map(|part| self.clauses(part, false));
        let absent = absent.collect::<Result<Vec<_>, _>>()?;
        for (index, part) in absent.iter().enumerate() {
            for other in &absent[..index] {
                self.product(other, part)?.into_iter().try_for_each(&mut *take)?;
            }
        }
        Ok(())
    }

    /// Two or more hold: whichever one is left out, another holds.
    fn at_least_two(&self, parts: &[Formula]) -> Result<Vec<Vec<Literal>>, TooLarge> {
        if parts.is_empty() {
            return Ok(vec![Vec::new()]);
        }
        let mut clauses = Vec::new();
        let mut left = self.max_literals;
        for index in 0..parts.len() {
            let others = parts.iter().enumerate().filter(|&(other, _)| other != index);
            for clause in self.any(others.map(|(_, part)| (part, true)))? {
                left = left.checked_sub(clause.len().max(1)).ok_or(TooLarge)?;
                clauses.push(clause);
            }
        }
        Ok(clauses)
    }

    /// Every clause of the one or'ed with every clause of the other.
    fn product(
        &self,
        left: &[Vec<Literal>],
        right: &[Vec<Literal>],
    ) -> Result<Vec<Vec<Literal>>, TooLarge> {
        let mut clauses = Vec::new();
        let mut literals = 0;
        for one in left {
            for other in right {
                if let Some(clause) = union(one, other) {
                    literals += clause.len() + 1;
                    if literals > self.max_literals {
                        return Err(TooLarge);
                    }
                    clauses.push(clause);
                }
            }
        }
        if clauses.len() > 1 {
            clauses.sort_unstable();
            clauses.dedup();
        }
        Ok(clauses)
    }
}

/// The union of two sorted clauses; `None` if it holds a literal and its negation.
fn union(left: &[Literal], right: &[Literal]) -> Option<Vec<Literal>> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (None, None) => return Some(merged),
            (Some(_), None) => left.next(),
            (None, Some(_)) => right.next(),
            (Some(one), Some(other)) => match one.cmp(other) {
                Ordering::Less => left.next(),
                Ordering::Greater => right.next(),
                Ordering::Equal => {
                    right.next();
                    left.next()
                }
            },
        };
        let Some(next) = next else { continue };
        if let Some(last) = merged.last() {
            let last: &Literal = last;
            if last.asked == next.asked {
                return None;
            }
        }
        merged.push(next.clone());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CODES: u32 = 4;

    fn truth(formula: &Formula, world: u32) -> bool {
        let count = |parts: &[Formula]| parts.iter().filter(|part| truth(part, world)).count();
        match formula {
            Formula::Constant(value) => *value,
            Formula::Now(code) => world >> code.0 & 1 == 1,
            Formula::In(code, _) => world >> (CODES + code.0) & 1 == 1,
            Formula::Fact(_) => world >> (2 * CODES) & 1 == 1,
            Formula::Not(inner) => !truth(inner, world),
            Formula::And(parts) => count(parts) == parts.len(),
            Formula::Or(parts) => count(parts) > 0,
            Formula::Implies(left, right) => !truth(left, world) || truth(right, world),
            Formula::Iff(left, right) => truth(left, world) == truth(right, world),
            Formula::AtMostOne(parts) => count(parts) <= 1,
            Formula::ExactlyOne(parts) => count(parts) == 1,
        }
    }

    fn formulas() -> impl Strategy<Value = Formula> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Formula::Constant),
            (0..CODES).prop_map(|code| Formula::Now(Code(code))),
            (0..CODES).prop_map(|code| Formula::In(Code(code), Window::past())),
            Just(Formula::Fact(Fact::FirstVisit)),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let list = proptest::collection::vec(inner.clone(), 0..4);
            prop_oneof![
                inner.clone().prop_map(Formula::not),
                list.clone().prop_map(Formula::And),
                list.clone().prop_map(Formula::Or),
                list.clone().prop_map(Formula::AtMostOne),
                list.prop_map(Formula::ExactlyOne),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| a.implies(b)),
                (inner.clone(), inner).prop_map(|(a, b)| Formula::Iff(a.into(), b.into())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

        /// The theorem by truth table: clauses and implications say what the formula says.
        #[test]
        fn clauses_and_implications_equal_the_formula(formula in formulas()) {
            let Ok(clauses) = clausal_form(&formula, 100_000) else { return Ok(()) };
            let implications = implicative_form(&clauses);
            for world in 0..1 << (2 * CODES + 1) {
                let expected = truth(&formula, world);
                let by_clauses = clauses
                    .iter()
                    .all(|clause| clause.iter().any(|literal| truth(&literal.formula(), world)));
                let by_implications = implications.iter().all(|rule| truth(&rule.formula(), world));
                prop_assert_eq!(by_clauses, expected);
                prop_assert_eq!(by_implications, expected);
            }
            for clause in &clauses {
                prop_assert!(clause.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }

    #[test]
    fn a_formula_past_the_limit_is_refused() {
        let pairs = (0..20).map(|pair| {
            Formula::And(vec![Formula::Now(Code(2 * pair)), Formula::Now(Code(2 * pair + 1))])
        });
        assert_eq!(clausal_form(&Formula::Or(pairs.collect()), 100_000), Err(TooLarge));
    }

    #[test]
    fn the_limit_counts_literals() {
        let codes = Formula::AtMostOne((0..11).map(|code| Formula::Now(Code(code))).collect());
        assert_eq!(clausal_form(&codes, 110).map(|clauses| clauses.len()), Ok(55));
        assert_eq!(clausal_form(&codes, 109), Err(TooLarge));
        let mut taken = 0;
        assert_eq!(each_clause(&codes, 110, |_| taken += 1), Ok(()));
        assert_eq!(each_clause(&codes, 109, |_| taken += 1), Err(TooLarge));
        assert_eq!(taken, 55 + 54);
    }
}
