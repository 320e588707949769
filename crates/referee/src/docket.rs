//! Rules filed under the codes without which they cannot be false.
//!
//! Nothing here decides whether a formula is true. It only says which visits cannot make it false,
//! so that these are not asked.

use consequence_record::{Code, Vocabulary};
use consequence_rules::{Fact, Formula};

use crate::Visits;

/// A fact about a visit that the truth of a formula may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sign {
    /// The code is in the visit.
    Now(Code),
    /// The code is in some visit before.
    Before(Code),
}

/// Signs of which at least one is there whenever a formula has a truth value; `None` if it can have
/// it without any. An empty list: it never has it.
pub(crate) type Needs = Option<Vec<Sign>>;

/// What it takes to look at every visit that shows a sign; the less the better.
pub(crate) type Cost<'a> = &'a dyn Fn(Sign) -> usize;

/// What a formula needs to have a truth value.
pub(crate) fn needs(formula: &Formula, truth: bool, cost: Cost<'_>) -> Needs {
    let of = |formula: &Formula, truth: bool| needs(formula, truth, cost);
    match (formula, truth) {
        (Formula::Constant(constant), _) if *constant != truth => Some(Vec::new()),
        (Formula::Constant(_), _) => None,
        (Formula::Fact(_), false) => None,
        (Formula::Fact(fact), true) => match fact {
            Fact::Seen { codes, .. } => Some(before(codes)),
            Fact::Since { codes, mark } => all_of([Some(before(codes)), Some(before(mark))], cost),
            Fact::Value { code, .. } => Some(vec![Sign::Now(*code)]),
            Fact::FirstVisit | Fact::Age { .. } => None,
        },
        (Formula::Now(_) | Formula::In(..), false) => None,
        (Formula::Now(code), true) => Some(vec![Sign::Now(*code)]),
        (Formula::In(code, _), true) => Some(vec![Sign::Before(*code)]),
        (Formula::Not(inner), _) => of(inner, !truth),
        (Formula::And(parts), true) | (Formula::Or(parts), false) => {
            all_of(parts.iter().map(|part| of(part, truth)), cost)
        }
        (Formula::And(parts), false) | (Formula::Or(parts), true) => {
            one_of(parts.iter().map(|part| of(part, truth)))
        }
        (Formula::Implies(left, right), false) => all_of([of(left, true), of(right, false)], cost),
        (Formula::Implies(left, right), true) => one_of([of(left, false), of(right, true)]),
        (Formula::Iff(left, right), _) => one_of([
            all_of([of(left, true), of(right, truth)], cost),
            all_of([of(left, false), of(right, !truth)], cost),
        ]),
        (Formula::AtMostOne(parts), false) => two_of(parts.iter().map(|part| of(part, true)), cost),
        (Formula::AtMostOne(parts), true) => all_but_one(parts, cost),
        (Formula::ExactlyOne(parts), false) => one_of([
            all_of(parts.iter().map(|part| of(part, false)), cost),
            two_of(parts.iter().map(|part| of(part, true)), cost),
        ]),
        (Formula::ExactlyOne(parts), true) => {
            let one = one_of(parts.iter().map(|part| of(part, true)));
            all_of([one, all_but_one(parts, cost)], cost)
        }
    }
}

fn before(codes: &[Code]) -> Vec<Sign> {
    codes.iter().map(|&code| Sign::Before(code)).collect()
}

/// All of several things: what any of them needs will do.
fn all_of(parts: impl IntoIterator<Item = Needs>, cost: Cost<'_>) -> Needs {
    parts.into_iter().flatten().min_by_key(|signs| total(signs, cost))
}

/// Any one of several things: what each of them needs, together.
fn one_of(parts: impl IntoIterator<Item = Needs>) -> Needs {
    let mut together = Vec::new();
    for part in parts {
        together.extend(part?);
    }
    together.sort_unstable();
    together.dedup();
    Some(together)
}

/// Two of several things: then also one of all but any that is left out.
fn two_of(parts: impl IntoIterator<Item = Needs>, cost: Cost<'_>) -> Needs {
    let mut parts: Vec<Needs> = parts.into_iter().collect();
    let dearest = |part: &Needs| part.as_ref().map_or(usize::MAX, |signs| total(signs, cost));
    if let Some(left_out) = (0..parts.len()).max_by_key(|&part| dearest(&parts[part])) {
        parts.swap_remove(left_out);
    }
    one_of(parts)
}

/// At most one of several is true: of any two, one is false.
fn all_but_one(parts: &[Formula], cost: Cost<'_>) -> Needs {
    let mut parts: Vec<Vec<Sign>> =
        parts.iter().filter_map(|part| needs(part, false, cost)).collect();
    parts.sort_by_key(|signs| total(signs, cost));
    parts.truncate(2);
    if parts.len() == 2 { one_of(parts.into_iter().map(Some)) } else { None }
}

fn total(signs: &[Sign], cost: Cost<'_>) -> usize {
    signs.iter().map(|&sign| cost(sign)).sum()
}

/// A code seen once stays in view for the rest of the record.
const BEFORE: usize = 3;

/// The rules to judge at a visit: those that need nothing to be false, and those filed under a code
/// that is there.
#[derive(Clone, Debug)]
pub(crate) struct Docket {
    always: Vec<u32>,
    now: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
}

impl Docket {
    /// Files rules by number.
    pub fn new<'a>(
        vocabulary: &Vocabulary,
        rules: impl Iterator<Item = (usize, &'a Formula)>,
    ) -> Self {
        let empty = vec![Vec::new(); vocabulary.len()];
        let mut docket = Self { always: Vec::new(), now: empty.clone(), before: empty };
        for (rule, formula) in rules {
            let Some(signs) = needs(formula, false, &|sign| docket.cost(sign)) else {
                docket.always.push(rule as u32);
                continue;
            };
            for sign in signs {
                // A code of no vocabulary is never there.
                docket.drawer(sign).into_iter().for_each(|drawer| drawer.push(rule as u32));
            }
        }
        docket
    }

    /// How much a rule would be looked at under a sign: the more, the fuller its drawer is, since
    /// rules speak most of codes that are many.
    fn cost(&self, sign: Sign) -> usize {
        let filed = |drawers: &[Vec<u32>], code: Code| drawers.get(code.index()).map(Vec::len);
        match sign {
            Sign::Now(code) => filed(&self.now, code).map_or(0, |filed| filed + 1),
            Sign::Before(code) => filed(&self.before, code).map_or(0, |filed| BEFORE * (filed + 1)),
        }
    }

    fn drawer(&mut self, sign: Sign) -> Option<&mut Vec<u32>> {
        match sign {
            Sign::Now(code) => self.now.get_mut(code.index()),
            Sign::Before(code) => self.before.get_mut(code.index()),
        }
    }

    /// Calls `judge` with the number of every rule that could be false, visit by visit; with some
    /// rules more than once.
    pub fn call<V: Visits + ?Sized>(
        &self,
        vocabulary: &Vocabulary,
        record: &V,
        mut judge: impl FnMut(usize, usize),
    ) {
        let filed = |drawers: &'_ [Vec<u32>], code: Code| !drawers[code.index()].is_empty();
        // Codes of visits before that rules are filed under, each once.
        let mut seen: Vec<Code> = Vec::new();
        for visit in 0..record.visit_count() {
            let codes = record.codes(visit);
            let known = || codes.iter().copied().filter(|code| code.index() < self.now.len());
            let last = visit > 0 && visit + 1 == record.visit_count() && record.has_ended();
            let end = last.then(|| vocabulary.end());
            let drawers = known().chain(end).map(|code| &self.now[code.index()]);
            let drawers = drawers.chain(seen.iter().map(|code| &self.before[code.index()]));
            for &rule in self.always.iter().chain(drawers.flatten()) {
                judge(visit, rule as usize);
            }
            seen.extend(known().chain(end).filter(|&code| filed(&self.before, code)));
            seen.sort_unstable();
            seen.dedup();
        }
    }
}
