//! Rules filed under the codes without which they cannot be false.

use consequence_record::{Code, Vocabulary};
use consequence_rules::Formula;

use crate::Visits;
use crate::needs::{Sign, needs};

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
