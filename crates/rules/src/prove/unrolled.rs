//! Records written out visit by visit, with every code of every visit a variable.

use consequence_record::{Code, Kind, Record, Vocabulary};
use rustc_hash::FxHashMap;

use super::solver::{Lit, Meaning, Solver, encode};
use crate::{Fact, Formula, RuleSet, Window};

/// The visits of a record that the solver looks for.
pub(crate) struct Unrolled<'a> {
    pub solver: Solver,
    visits: Visits<'a>,
}

struct Visits<'a> {
    vocabulary: &'a Vocabulary,
    codes: Vec<FxHashMap<Code, Lit>>,
    current: usize,
    /// Whether `END` may be proposed before the last visit.
    early_ends: bool,
    /// What days, ages and values may tell, by visit: any of it.
    revealed: FxHashMap<(usize, Fact), Lit>,
}

impl Visits<'_> {
    fn at(&mut self, solver: &mut Solver, visit: usize, code: Code) -> Lit {
        let early =
            code == self.vocabulary.end() && visit + 1 < self.codes.len() && !self.early_ends;
        if early || self.vocabulary.kind(code) != Kind::of_visit(visit) {
            return solver.constant(false);
        }
        *self.codes[visit].entry(code).or_insert_with(|| solver.fresh())
    }
}

impl Visits<'_> {
    fn any_at(&mut self, solver: &mut Solver, visit: usize, codes: &[Code]) -> Lit {
        let end = self.vocabulary.end();
        let codes: Vec<Lit> = codes
            .iter()
            .filter(|&&code| code != end)
            .map(|&code| self.at(solver, visit, code))
            .collect();
        solver.any(&codes)
    }
}

impl Meaning for Visits<'_> {
    fn literal(&mut self, solver: &mut Solver, code: Code, window: Option<&Window>) -> Lit {
        let now = self.current;
        let Some(window) = window else { return self.at(solver, now, code) };
        if code == self.vocabulary.end() {
            // A visit with `END` is the last, so no later visit looks back at one.
            return solver.constant(false);
        }
        let selected: Vec<Lit> = (0..now)
            .filter(|&then| window.selects(now, then))
            .map(|then| self.at(solver, then, code))
            .collect();
        solver.any(&selected)
    }

    fn fact(&mut self, solver: &mut Solver, fact: &Fact) -> Lit {
        let now = self.current;
        match fact {
            Fact::Seen { codes, days: None, count } => {
                // How many of the visits so far have one of the codes, one literal for each number.
                let mut counts = vec![solver.constant(false); usize::from(*count)];
                for then in 0..now {
                    let here = self.any_at(solver, then, codes);
                    for at in (0..counts.len()).rev() {
                        let fewer =
                            if at == 0 { here } else { solver.all(&[counts[at - 1], here]) };
                        counts[at] = solver.any(&[counts[at], fewer]);
                    }
                }
                counts.last().copied().unwrap_or_else(|| solver.constant(true))
            }
            Fact::Since { codes, mark } => {
                let (mut since, mut marked) = (solver.constant(false), solver.constant(false));
                for then in 0..now {
                    let [seen, mark] = [codes, mark].map(|codes| self.any_at(solver, then, codes));
                    let after = solver.all(&[seen, marked]);
                    since = solver.any(&[since, after]);
                    since = solver.all(&[since, !mark]);
                    marked = solver.any(&[marked, mark]);
                }
                since
            }
            Fact::FirstVisit => solver.constant(now == 1),
            Fact::Seen { .. } | Fact::Age { .. } | Fact::Value { .. } if now == 0 => {
                solver.constant(false)
            }
            Fact::Seen { .. } | Fact::Age { .. } | Fact::Value { .. } => {
                let known = self.revealed.entry((now, fact.clone()));
                *known.or_insert_with(|| solver.fresh())
            }
        }
    }
}

impl<'a> Unrolled<'a> {
    /// Visits `0..=last`, about which nothing is known yet but that only the last may end the
    /// record.
    pub fn new(vocabulary: &'a Vocabulary, last: usize) -> Self {
        let codes = vec![FxHashMap::default(); last + 1];
        let visits = Visits {
            vocabulary,
            codes,
            current: 0,
            early_ends: false,
            revealed: FxHashMap::default(),
        };
        Self { solver: Solver::new(), visits }
    }

    /// Visits `0..=last` as proposals, any of which may hold `END`.
    pub fn proposals(vocabulary: &'a Vocabulary, last: usize) -> Self {
        let mut unrolled = Self::new(vocabulary, last);
        unrolled.visits.early_ends = true;
        unrolled
    }

    /// A literal that holds exactly if the formula does at a visit.
    pub fn formula(&mut self, formula: &Formula, visit: usize) -> Lit {
        self.visits.current = visit;
        encode(&mut self.solver, &mut self.visits, formula)
    }

    /// The literal of a code at a visit.
    pub fn code(&mut self, code: Code, visit: usize) -> Lit {
        self.visits.at(&mut self.solver, visit, code)
    }

    /// Makes a literal stand for a code at a visit.
    pub fn set_code(&mut self, code: Code, visit: usize, literal: Lit) {
        self.visits.codes[visit].insert(code, literal);
    }

    /// The visits of the last solution, each sorted, `END` among their codes.
    pub fn visits(&self) -> Vec<Vec<Code>> {
        let present = |codes: &FxHashMap<Code, Lit>| {
            let present = codes.iter().filter(|(_, literal)| self.solver.value(**literal));
            let mut codes: Vec<Code> = present.map(|(&code, _)| code).collect();
            codes.sort_unstable();
            codes
        };
        self.visits.codes.iter().map(present).collect()
    }

    /// The record of the last solution.
    fn record(&self) -> Record {
        let end = self.visits.vocabulary.end();
        let mut visits = self.visits();
        let last = visits.last_mut();
        let ended = last.is_some_and(|last| last.pop_if(|code| *code == end).is_some());
        Record { visits, ended }
    }

    /// Looks for a record in which the assumptions hold and every rule that `required` names is
    /// kept. Rules are brought in only when a candidate breaks them.
    pub fn find(
        &mut self,
        rules: &RuleSet,
        assumptions: &[Lit],
        mut required: impl FnMut(usize, usize) -> bool,
    ) -> Option<Record> {
        while self.solver.satisfiable(assumptions) {
            let record = self.record();
            let mut broken = Vec::new();
            for (index, rule) in rules.hard() {
                let scope = rule.scope(self.visits.vocabulary);
                for visit in 0..record.visits.len() {
                    if scope.includes(Kind::of_visit(visit))
                        && required(index, visit)
                        && !self.holds(&rule.formula(), &record, visit)
                    {
                        broken.push((index, visit));
                    }
                }
            }
            if broken.is_empty() {
                return Some(record);
            }
            for (index, visit) in broken {
                let kept = self.formula(&rules[index].formula(), visit);
                self.solver.add([kept]);
            }
        }
        None
    }
}

impl Unrolled<'_> {
    /// Whether a formula holds at a visit of the last solution, of which this is the record. What is
    /// revealed and was not asked for yet is false.
    fn holds(&self, formula: &Formula, record: &Record, visit: usize) -> bool {
        holds(formula, record, visit, self.visits.vocabulary, &|fact| {
            let known = self.visits.revealed.get(&(visit, fact.clone()));
            known.is_some_and(|&literal| self.solver.value(literal))
        })
    }
}

/// Whether a formula holds at a visit of a record whose codes are all in visits of their kind.
fn holds(
    formula: &Formula,
    record: &Record,
    visit: usize,
    vocabulary: &Vocabulary,
    revealed: &dyn Fn(&Fact) -> bool,
) -> bool {
    let truth = |part: &Formula| holds(part, record, visit, vocabulary, revealed);
    let has = |then: usize, codes: &[Code]| {
        codes.iter().any(|code| record.visits[then].binary_search(code).is_ok())
    };
    let count = |parts: &[Formula]| parts.iter().filter(|part| truth(part)).count();
    match formula {
        Formula::Constant(value) => *value,
        Formula::Now(code) if *code == vocabulary.end() => {
            record.ended && visit > 0 && visit + 1 == record.visits.len()
        }
        Formula::Now(code) => record.visits[visit].binary_search(code).is_ok(),
        Formula::In(code, window) => {
            window.any(visit, |then| record.visits[then].binary_search(code).is_ok())
        }
        Formula::Fact(fact) => match fact {
            Fact::Seen { codes, days: None, count } => {
                (0..visit).filter(|&then| has(then, codes)).count() >= usize::from(*count)
            }
            Fact::Since { codes, mark } => {
                let last = (0..visit).rev().find(|&then| has(then, mark));
                last.is_some_and(|last| (last + 1..visit).any(|then| has(then, codes)))
            }
            Fact::FirstVisit => visit == 1,
            Fact::Seen { .. } | Fact::Age { .. } | Fact::Value { .. } => revealed(fact),
        },
        Formula::Not(inner) => !truth(inner),
        Formula::And(parts) => parts.iter().all(truth),
        Formula::Or(parts) => parts.iter().any(truth),
        Formula::Implies(left, right) => !truth(left) || truth(right),
        Formula::Iff(left, right) => truth(left) == truth(right),
        Formula::AtMostOne(parts) => count(parts) <= 1,
        Formula::ExactlyOne(parts) => count(parts) == 1,
    }
}
