//! The paper's way: one ordered pass of implications over a sampled visit. Is it safe?

use consequence_record::{Code, Kind, Record, Vocabulary};
use rustc_hash::FxHashMap;

use super::solver::{Lit, Meaning, Solver, encode};
use super::unrolled::Unrolled;
use crate::compile::{Asked, Implication, Literal, TooLarge, clausal_form, implicative_form};
use crate::{Fact, RuleSet, Scope, Window};

/// Rules as one pass: implications applied one after the other, each setting its output where its
/// antecedent holds.
///
/// ```
/// use consequence_rules::{OrderedPass, PassVerdict, RuleSet};
///
/// let rules = RuleSet::parse("rule second: B => C  rule first: A => B", None)?;
/// let verdict = OrderedPass::in_list_order(&rules, 1_000).unwrap().verdict(&rules, 100, 3);
/// assert!(matches!(verdict, PassVerdict::Unsafe(_)), "A sets B after B was looked at");
/// # Ok::<(), consequence_rules::Diagnostics>(())
/// ```
#[derive(Clone, Debug)]
pub struct OrderedPass {
    implications: Vec<OrderedImplication>,
}

/// An implication that sets a code of the current visit.
#[derive(Clone, Debug)]
struct OrderedImplication {
    antecedent: Vec<Literal>,
    /// The code that is set, and to what.
    output: Code,
    present: bool,
    /// The visits that its rule is required of.
    scope: Scope,
}

impl OrderedImplication {
    fn new(implication: Implication, scope: Scope) -> Option<Self> {
        let Implication { antecedent, consequent } = implication;
        let Literal { present, .. } = *consequent.as_ref()?;
        let output = consequent?.code_now()?;
        // A pass over codes knows no facts.
        let known = |literal: &Literal| !matches!(literal.asked, Asked::Fact(_));
        antecedent.iter().all(known).then_some(Self { antecedent, output, present, scope })
    }

    /// Whether it sets its output at visits of a kind.
    fn applies(&self, kind: Kind, vocabulary: &Vocabulary) -> bool {
        self.scope.includes(kind) && vocabulary.kind(self.output) == kind
    }

    /// The literal of its output once it was applied.
    fn after(&self, solver: &mut Solver, before: Lit, fires: Lit) -> Lit {
        if self.present { solver.any(&[before, fires]) } else { solver.all(&[before, !fires]) }
    }
}

/// What one ordered pass leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassVerdict {
    /// No input ends in a violation.
    Safe,
    /// This input does.
    Unsafe(PassCounterexample),
    /// None was found in records of up to this many encounters, and longer ones were not searched.
    Unknown(usize),
}

/// A record whose visits, each put through the pass, end in a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassCounterexample {
    /// The visits as proposed to the pass, `END` among their codes.
    pub proposed: Vec<Vec<Code>>,
    /// The rule that is broken at the last visit once the pass is done.
    pub rule: usize,
}

impl OrderedPass {
    /// The hard rules of a set in the order they are written.
    ///
    /// An implication's consequent is the last literal about the current visit in the rule's own
    /// consequent; clauses that only look back cannot be enforced by a pass and are left out.
    pub fn in_list_order(rules: &RuleSet, max_literals: usize) -> Result<Self, TooLarge> {
        let mut implications = Vec::new();
        for (_, rule) in rules.hard() {
            let outputs = rule.outputs();
            let scope = rule.scope(rules.vocabulary());
            let clauses = clausal_form(&rule.formula(), max_literals)?;
            for mut implication in implicative_form(&clauses) {
                prefer_output(&mut implication, &outputs);
                implications.extend(OrderedImplication::new(implication, scope));
            }
        }
        Ok(Self { implications })
    }

    /// The number of implications.
    pub fn len(&self) -> usize {
        self.implications.len()
    }

    /// Whether nothing is applied.
    pub fn is_empty(&self) -> bool {
        self.implications.is_empty()
    }

    /// Puts the next visit of a record through the pass. `END` among the codes ends the record.
    pub fn apply(&self, vocabulary: &Vocabulary, record: &mut Record, proposed: &[Code]) {
        let visit = record.visits.len();
        let end = vocabulary.end();
        let mut codes: Vec<Code> = proposed.iter().copied().filter(|&code| code != end).collect();
        codes.sort_unstable();
        codes.dedup();
        record.visits.push(codes);
        record.ended = visit > 0 && proposed.contains(&end);
        let kind = Kind::of_visit(visit);
        for implication in self.implications.iter().filter(|one| one.applies(kind, vocabulary)) {
            let has = |then: usize, code: Code| {
                if code == end {
                    then == visit && record.ended
                } else {
                    record.visits[then].binary_search(&code).is_ok()
                }
            };
            if !implication.antecedent.iter().all(|literal| literal.holds(visit, has) == Some(true))
            {
                continue;
            }
            let &OrderedImplication { output, present, .. } = implication;
            if output == end {
                record.ended = present;
                continue;
            }
            let codes = &mut record.visits[visit];
            match (codes.binary_search(&output), present) {
                (Err(index), true) => codes.insert(index, output),
                (Ok(index), false) => {
                    codes.remove(index);
                }
                _ => {}
            }
        }
    }

    /// Decides whether the pass is safe for records of at most `max_visits` encounters: first for
    /// any history whatever, then by searching records of up to `depth` encounters.
    pub fn verdict(&self, rules: &RuleSet, max_visits: usize, depth: usize) -> PassVerdict {
        let safe = |kind| self.safe_for_any_history(rules, kind);
        if safe(Kind::Static) && safe(Kind::Encounter) {
            return PassVerdict::Safe;
        }
        for last in 0..=depth.min(max_visits) {
            if let Some(found) = self.counterexample(rules, last) {
                return PassVerdict::Unsafe(found);
            }
        }
        if depth >= max_visits { PassVerdict::Safe } else { PassVerdict::Unknown(depth) }
    }

    fn counterexample(&self, rules: &RuleSet, last: usize) -> Option<PassCounterexample> {
        let vocabulary = rules.vocabulary();
        let mut record = Unrolled::proposals(vocabulary, last);
        let mut proposed: Vec<FxHashMap<Code, Lit>> = Vec::new();
        for visit in 0..=last {
            let mut inputs = FxHashMap::default();
            let kind = Kind::of_visit(visit);
            for implication in self.implications.iter().filter(|one| one.applies(kind, vocabulary))
            {
                let antecedent: Vec<Lit> = implication
                    .antecedent
                    .iter()
                    .map(|literal| record.formula(&literal.formula(), visit))
                    .collect();
                let fires = record.solver.all(&antecedent);
                let before = record.code(implication.output, visit);
                inputs.entry(implication.output).or_insert(before);
                let after = implication.after(&mut record.solver, before, fires);
                record.set_code(implication.output, visit, after);
            }
            proposed.push(inputs);
            if visit < last {
                let ends = record.code(vocabulary.end(), visit);
                record.solver.add([!ends]);
            }
        }
        let mut broken = Vec::new();
        for (index, rule) in rules.hard() {
            if rule.scope(vocabulary).includes(Kind::of_visit(last)) {
                broken.push((index, !record.formula(&rule.formula(), last)));
            }
        }
        let lits: Vec<Lit> = broken.iter().map(|&(_, lit)| lit).collect();
        let any = record.solver.any(&lits);
        if !record.solver.satisfiable(&[any]) {
            return None;
        }
        let &(rule, _) = broken.iter().find(|&&(_, lit)| record.solver.value(lit))?;
        // What was proposed is the first value of each code, not the one the pass left.
        for (visit, inputs) in proposed.into_iter().enumerate() {
            for (code, input) in inputs {
                record.set_code(code, visit, input);
            }
        }
        Some(PassCounterexample { proposed: record.visits(), rule })
    }

    /// Whether one visit of the pass keeps every rule, whatever came before it.
    fn safe_for_any_history(&self, rules: &RuleSet, kind: Kind) -> bool {
        let mut solver = Solver::new();
        let mut visit = FreeVisit {
            vocabulary: rules.vocabulary(),
            kind,
            now: FxHashMap::default(),
            past: FxHashMap::default(),
            facts: FxHashMap::default(),
        };
        let vocabulary = rules.vocabulary();
        for implication in self.implications.iter().filter(|one| one.applies(kind, vocabulary)) {
            let antecedent: Vec<Lit> = implication
                .antecedent
                .iter()
                .map(|literal| encode(&mut solver, &mut visit, &literal.formula()))
                .collect();
            let fires = solver.all(&antecedent);
            let before = visit.literal(&mut solver, implication.output, None);
            let after = implication.after(&mut solver, before, fires);
            visit.now.insert(implication.output, after);
        }
        rules.hard().all(|(_, rule)| {
            !rule.scope(vocabulary).includes(kind) || {
                let kept = encode(&mut solver, &mut visit, &rule.formula());
                !solver.satisfiable(&[!kept])
            }
        })
    }
}

/// A visit with nothing known of what came before it.
struct FreeVisit<'a> {
    vocabulary: &'a Vocabulary,
    kind: Kind,
    now: FxHashMap<Code, Lit>,
    past: FxHashMap<(Code, Window), Lit>,
    facts: FxHashMap<Fact, Lit>,
}

impl Meaning for FreeVisit<'_> {
    fn literal(&mut self, solver: &mut Solver, code: Code, window: Option<&Window>) -> Lit {
        match window {
            None if self.vocabulary.kind(code) != self.kind => solver.constant(false),
            None => *self.now.entry(code).or_insert_with(|| solver.fresh()),
            Some(_) if self.kind == Kind::Static => solver.constant(false),
            Some(window) => {
                *self.past.entry((code, window.clone())).or_insert_with(|| solver.fresh())
            }
        }
    }

    fn fact(&mut self, solver: &mut Solver, fact: &Fact) -> Lit {
        *self.facts.entry(fact.clone()).or_insert_with(|| solver.fresh())
    }
}

/// Turns an implication so that it concludes in one of the rule's outputs, where it has one.
fn prefer_output(implication: &mut Implication, outputs: &[Code]) {
    let is_output =
        |literal: &Literal| literal.code_now().is_some_and(|code| outputs.contains(&code));
    let Some(consequent) = implication.consequent.as_mut() else { return };
    if is_output(consequent) {
        return;
    }
    let mut last_first = implication.antecedent.iter_mut().rev();
    if let Some(better) = last_first.find(|literal| is_output(literal)) {
        std::mem::swap(better, consequent);
        better.present = !better.present;
        consequent.present = !consequent.present;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Formula, Rule};

    fn rules(formulas: &[Formula]) -> RuleSet {
        let names = ["a", "b", "c"].map(|name| (name, Kind::Encounter));
        let rules = formulas
            .iter()
            .enumerate()
            .map(|(index, formula)| Rule::hard(format!("r{index}"), formula.clone()));
        RuleSet::new(Arc::new(Vocabulary::new(names).unwrap()), rules.collect()).unwrap()
    }

    #[test]
    fn order_decides() {
        let [a, b, c] = [0, 1, 2].map(|code| Formula::Now(Code(code)));
        let (first, second) = (a.implies(b.clone()), b.implies(c));
        let good = rules(&[first.clone(), second.clone()]);
        let bad = rules(&[second, first]);
        let verdict = |rules: &RuleSet| {
            OrderedPass::in_list_order(rules, 1_000).unwrap().verdict(rules, 50, 2)
        };
        assert_eq!(verdict(&good), PassVerdict::Safe);
        let PassVerdict::Unsafe(found) = verdict(&bad) else { panic!("the wrong order is unsafe") };
        assert_eq!(found.rule, 0);
        assert!(found.proposed[1].contains(&Code(0)));
    }
}
