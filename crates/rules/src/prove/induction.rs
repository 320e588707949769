//! Step five, the proof, by induction over visits.
//!
//! From any proposed values and any history that satisfies the preconditions, one visit of
//! enforcement ends with every hard rule true and the preconditions true again; the empty history
//! satisfies them; and the last position a record may have ends it. Where the end of records is
//! given, all this is shown for every stage that a visit may be at, of every visit that may follow
//! at the next; that the static visit is possible at a record's own stage is for the one who
//! repairs to see. Enforcement is modelled as it runs: in order, a code is on if a clause demands
//! it, else off if a clause bars it, else as proposed.
//!
//! What is shared with the compiler, and what is not: goals are taken from the trees of the rules,
//! not from their clauses, and the step from one visit to the next is written anew here, so an
//! error in the normal form, in closure or in regression cannot vouch for itself. Literals are
//! numbered by the compiler's `Encoder`, which shortens windows (`canonical`, tested by enumeration
//! in `clause.rs`); an error there would be shared. The referee and the studies of small worlds
//! share nothing with either.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_record::{Code, Kind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::reveal::{agree, some_days_will_do};
use super::solver::{Lit, Meaning, Solver, encode};
use super::visit::{Counted, Facts, Known};
use crate::Fact;
use crate::compile::{
    Atom, Branch, Clause, ClosedRules, Diagram, LiteralId, Stage, Stages, Subject, VisitRange,
    sort_clause,
};

/// What a proof consisted of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Kinds of visits told apart: the static visit, encounters, the last position, and others
    /// where the rules name visits.
    pub stages: usize,
    /// Statements whose negation was shown to be impossible.
    pub goals: usize,
}

/// A statement that could not be proved: an error in the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unproved {
    /// The first visit it concerns.
    pub visit: usize,
    /// The rule, or `None` for a precondition.
    pub rule: Option<usize>,
}

/// Proves that no input can end in a violation.
pub(crate) fn prove(plan: &ClosedRules) -> Result<Proof, Unproved> {
    let mut proof = Proof::default();
    apart_from_the_diagram(plan)?;
    let end = plan.order().position(plan.rules().vocabulary().end());
    let end = [false, true].map(|ends| [LiteralId::now(end, ends)]);
    for visits in ranges(plan) {
        for stage in unlike_stages(plan) {
            proof.stages += 1;
            let known = stage.ends().map(|ends| &end[usize::from(ends)][..]);
            Step::new(plan, visits, stage, known).prove(plan, &mut proof.goals)?;
        }
    }
    Ok(proof)
}

/// Shows that no code of an encounter is decided by clauses and by the decision diagram: each is
/// modelled as obeyed, and where both spoke of one code only one of them could be.
fn apart_from_the_diagram(plan: &ClosedRules) -> Result<(), Unproved> {
    let Some(diagram) = plan.diagram() else { return Ok(()) };
    let asked: FxHashSet<u32> = diagram.asked().collect();
    let shared = |clause: &Clause<'_>| {
        clause.visits.last > 0
            && clause.position().is_some_and(|position| asked.contains(&position))
    };
    match plan.clauses().find(shared) {
        None => Ok(()),
        Some(clause) => Err(Unproved {
            visit: clause.visits.first.into(),
            rule: clause.rules.first().map(|&rule| rule as usize),
        }),
    }
}

/// Of the stages that visits may be at, one of each kind: those at which the same clauses hold, now
/// and at the visit after, need only be looked at once.
fn unlike_stages(plan: &ClosedRules) -> Vec<Stage> {
    let mut required: FxHashSet<Stages> = FxHashSet::default();
    let mut asked: FxHashSet<Stages> = FxHashSet::default();
    for clause in plan.clauses() {
        required.insert(clause.stages);
        if clause.position().is_none() {
            asked.insert(clause.stages);
        }
    }
    let end = plan.rules().vocabulary().end();
    let mut speaks_of_the_end = false;
    for (_, rule) in plan.rules().hard() {
        rule.formula().for_each_code(&mut |code, _| speaks_of_the_end |= code == end);
    }
    let mut seen = FxHashSet::default();
    let unlike = |stage: &Stage| {
        let now: Vec<bool> = required.iter().map(|stages| stages.contains(*stage)).collect();
        let next = stage.next();
        let after: Vec<bool> = asked.iter().map(|stages| !stages.meet(next).is_empty()).collect();
        seen.insert((now, after, stage.ends().filter(|_| speaks_of_the_end)))
    };
    plan.stages().iter().filter(unlike).collect()
}

/// Visits cut into ranges within which the same clauses hold, now and at the visit after.
fn ranges(plan: &ClosedRules) -> Vec<VisitRange> {
    let last = plan.max_visits() as u32;
    let mut cuts = vec![0, 1, last, last + 1];
    if plan.atoms().has_facts() {
        cuts.extend([2, 3]);
    }
    for clause in plan.clauses() {
        let (first, end) = (u32::from(clause.visits.first), u32::from(clause.visits.last) + 1);
        cuts.extend([first, end]);
        if clause.position().is_none() {
            cuts.extend([first.saturating_sub(1), end - 1]);
        }
    }
    for window in plan.atoms().windows() {
        for &visit in window.visits() {
            cuts.extend([u32::from(visit), u32::from(visit) + 1]);
        }
    }
    if let Some(diagram) = plan.diagram() {
        let changes = |visit: &u32| {
            let visit = *visit as usize;
            diagram.root(visit) != diagram.root(visit + 1)
        };
        cuts.extend((1..last).filter(changes).flat_map(|visit| [visit, visit + 1]));
    }
    cuts.retain(|&cut| cut <= last + 1);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2)
        .map(|pair| VisitRange { first: pair[0] as u16, last: pair[1] as u16 - 1 })
        .collect()
}

/// One visit of the range, at the stage.
struct Step<'a> {
    visits: VisitRange,
    stage: Stage,
    known: Known<'a>,
    facts: Facts<'a>,
    /// Given the facts only when something does not follow from a single one of them.
    solver: Solver,
}

impl<'a> Step<'a> {
    /// `end` is the clause that says whether `END` holds, where that is given.
    fn new(
        plan: &'a ClosedRules,
        visits: VisitRange,
        stage: Stage,
        end: Option<&'a [LiteralId]>,
    ) -> Self {
        let kind = Kind::of_visit(visits.first.into());
        let known = Known::new(plan.encoder(), kind);
        let mut facts = Facts::default();
        if let Some(end) = end.filter(|_| kind == Kind::Encounter) {
            facts.add(end);
        }
        Self { visits, stage, known, facts, solver: Solver::new() }
    }

    fn prove(mut self, plan: &'a ClosedRules, goals: &mut usize) -> Result<(), Unproved> {
        self.follow_diagram(plan);
        self.begin(plan, goals)?;
        self.enforce(plan, goals)?;
        self.rules_hold(plan, goals)?;
        if usize::from(self.visits.last) < plan.max_visits() {
            return self.preconditions_hold_again(plan, goals);
        }
        if plan.end_given() {
            return Ok(());
        }
        // The last position ends the record, so every record can end.
        *goals += 1;
        let ends = self.known.literal(&mut self.solver, plan.rules().vocabulary().end(), None);
        self.refuted(&[!ends], None)
    }

    /// Shows that some days since the visit before will do, and has what is revealed then agree with
    /// itself.
    fn begin(&mut self, plan: &'a ClosedRules, goals: &mut usize) -> Result<(), Unproved> {
        if !plan.atoms().has_facts() || self.known.kind == Kind::Static {
            return Ok(());
        }
        let visit = usize::from(self.visits.first);
        let here = |clause: &Clause<'_>| {
            clause.position().is_none()
                && clause.visits.contains(visit)
                && clause.stages.contains(self.stage)
        };
        let here: Vec<Clause<'_>> = plan.clauses().filter(here).collect();
        *goals += 1;
        if !some_days_will_do(plan, self.visits, &here) {
            return Err(Unproved { visit, rule: None });
        }
        let fact = |atom: u32| match plan.atoms().seen_in(atom) {
            // A code in the past is one that was seen.
            Some((code, window)) => {
                window.is_past().then(|| Fact::Seen { codes: [code].into(), days: None, count: 1 })
            }
            None => plan.atoms().fact(atom).cloned(),
        };
        let facts: Vec<(Fact, Lit)> = (0..plan.atoms().atoms().len() as u32)
            .filter_map(|atom| Some((fact(atom)?, LiteralId::past(atom, true))))
            .map(|(fact, literal)| (fact, self.known.encoded(&mut self.solver, literal)))
            .collect();
        let stated: Vec<(&Fact, Lit)> = facts.iter().map(|(fact, value)| (fact, *value)).collect();
        agree(&mut self.solver, &stated);
        for (fact, value) in stated {
            // What happened lately happened.
            if let Fact::Seen { codes, count: 1, .. } = fact {
                let ever = Fact::Seen { codes: Arc::clone(codes), days: None, count: 1 };
                let ever = self.known.fact(&mut self.solver, &ever);
                self.solver.add([!value, ever]);
            }
        }
        for threshold in 1..plan.atoms().thresholds().len() as u32 {
            let [less, more] = [threshold - 1, threshold]
                .map(|one| self.known.encoded(&mut self.solver, LiteralId::gap(one, true)));
            self.solver.add([!more, less]);
        }
        Ok(())
    }

    fn refuted(&mut self, assumptions: &[Lit], rule: Option<usize>) -> Result<(), Unproved> {
        for fact in self.facts.news() {
            let lits = self.lits(fact);
            self.solver.add(lits);
        }
        if self.solver.satisfiable(assumptions) {
            return Err(Unproved { visit: self.visits.first.into(), rule });
        }
        Ok(())
    }

    /// Models one visit of enforcement, and shows code by code that demands and bars never meet.
    fn enforce(&mut self, plan: &'a ClosedRules, goals: &mut usize) -> Result<(), Unproved> {
        let visit = usize::from(self.visits.first);
        let here = |clause: &Clause<'_>| {
            clause.visits.contains(visit) && clause.stages.contains(self.stage)
        };
        let mut clauses: Vec<Clause<'a>> = plan.clauses().filter(here).collect();
        clauses.sort_by_key(|clause| clause.position().map_or(0, |position| position + 1));
        for same in clauses.chunk_by(|one, other| one.position() == other.position()) {
            // Preconditions are given; a clause that demands its code is obeyed without fail.
            let obeyed = |clause: &&Clause<'_>| {
                clause.literals.last().is_none_or(|last| last.present())
                    || clause.position().is_none()
            };
            for clause in same.iter().filter(obeyed) {
                self.facts.add(clause.literals);
            }
            let demands: Vec<&[LiteralId]> = same
                .iter()
                .filter(|clause| clause.position().is_some())
                .filter(obeyed)
                .map(|clause| clause.literals)
                .collect();
            for bar in same.iter().filter(|clause| !obeyed(clause)) {
                if !demands.is_empty() {
                    *goals += 1;
                    self.never_meet(bar, &demands)?;
                }
                self.facts.add(bar.literals);
            }
        }
        Ok(())
    }

    /// Shows that a clause that bars a code is obeyed although a demand would win over it: no
    /// demand for the code fires where the bar does.
    fn never_meet(&mut self, bar: &Clause<'_>, demands: &[&[LiteralId]]) -> Result<(), Unproved> {
        let conditions = |literals: &[LiteralId]| literals[..literals.len() - 1].to_vec();
        let apart = |demand: &&[LiteralId]| {
            let both = [conditions(bar.literals), conditions(demand)].concat();
            sort_clause(both).is_none_or(|either_fails| self.facts.imply(&either_fails))
        };
        if demands.iter().all(apart) {
            return Ok(());
        }
        let fires: Vec<Lit> = demands
            .iter()
            .map(|demand| {
                let lits = self.lits(&conditions(demand));
                let negated: Vec<Lit> = lits.into_iter().map(|lit| !lit).collect();
                self.solver.all(&negated)
            })
            .collect();
        let demanded = self.solver.any(&fires);
        let lits = self.lits(bar.literals);
        self.solver.add(lits.iter().copied().chain([demanded]));
        let broken: Vec<Lit> = lits.iter().map(|&lit| !lit).collect();
        self.refuted(&broken, bar.rules.first().map(|&rule| rule as usize))
    }

    /// Models the decision diagram: where one branch is impossible the other is taken, and the past
    /// is such that one is always possible.
    fn follow_diagram(&mut self, plan: &ClosedRules) {
        if let Some(diagram) = plan.diagram()
            && self.known.kind == Kind::Encounter
        {
            let root = diagram.root(self.visits.first.into());
            let Self { solver, known, .. } = self;
            let mut answer = |solver: &mut Solver, question| match question {
                Subject::Past(atom) => known.encoded(solver, LiteralId::past(atom, true)),
                Subject::Now(position) => known.encoded(solver, LiteralId::now(position, true)),
                Subject::Gap(threshold) => known.encoded(solver, LiteralId::gap(threshold, true)),
            };
            let impossible = walk(solver, diagram, root, &mut answer, true);
            self.solver.add([!impossible]);
        }
    }

    fn rules_hold(&mut self, plan: &ClosedRules, goals: &mut usize) -> Result<(), Unproved> {
        for (index, rule) in plan.rules().hard() {
            if !rule.scope(plan.rules().vocabulary()).includes(self.known.kind) {
                continue;
            }
            *goals += 1;
            let clause = self.known.clause(&rule.formula());
            if clause.is_some_and(|clause| self.facts.imply(&clause)) {
                continue;
            }
            let counted = self.known.counted(&rule.formula());
            if counted.is_some_and(|counted| self.count_is_known(&counted)) {
                continue;
            }
            let holds = encode(&mut self.solver, &mut self.known, &rule.formula());
            self.refuted(&[!holds], Some(index))?;
        }
        Ok(())
    }

    /// Whether some known clause keeps every two counted literals apart, and, where one has to
    /// hold, another asks for one. Of thousands of codes that is seen much faster than it is
    /// solved.
    fn count_is_known(&self, counted: &Counted) -> bool {
        let Counted { released, literals, exactly } = counted;
        let known = |more: &[LiteralId]| {
            let clause = sort_clause([released, more].concat());
            clause.is_none_or(|clause| self.facts.imply(&clause))
        };
        let apart = |(index, one): (usize, &LiteralId)| {
            literals[..index].iter().all(|other| known(&[one.negated(), other.negated()]))
        };
        literals.iter().enumerate().all(apart) && (!exactly || known(literals))
    }

    fn preconditions_hold_again(
        &mut self,
        plan: &ClosedRules,
        goals: &mut usize,
    ) -> Result<(), Unproved> {
        let after = usize::from(self.visits.first) + 1;
        let end = plan.rules().vocabulary().end();
        let next = self.stage.next();
        for clause in plan.clauses() {
            if clause.position().is_some()
                || !clause.visits.contains(after)
                || clause.stages.meet(next).is_empty()
                // What is revealed is dealt with when the visit begins.
                || plan.is_revealed(&clause)
            {
                continue;
            }
            *goals += 1;
            let next = self.clause_after(plan, clause.literals);
            if next.is_some_and(|next| next.iter().all(|next| self.facts.imply(next))) {
                continue;
            }
            let ends = self.known.literal(&mut self.solver, end, None);
            let mut broken = vec![!ends];
            for &literal in clause.literals {
                let Some(atom) = literal.atom() else { continue };
                let next = self.next(plan, atom);
                broken.push(if literal.present() { !next } else { next });
            }
            self.refuted(&broken, None)?;
        }
        if let Some(diagram) = plan.diagram() {
            let ends = self.known.literal(&mut self.solver, end, None);
            let mut values: FxHashMap<u32, Lit> = FxHashMap::default();
            for &atom in &diagram.atoms {
                values.insert(atom, self.next(plan, atom));
            }
            let mut answer = |solver: &mut Solver, question| match question {
                Subject::Past(atom) => values[&atom],
                Subject::Now(_) | Subject::Gap(_) => solver.fresh(),
            };
            let root = diagram.root(after);
            let impossible = walk(&mut self.solver, diagram, root, &mut answer, false);
            *goals += 1;
            self.refuted(&[!ends, impossible], None)?;
        }
        Ok(())
    }

    /// A precondition of the visit after this one, as clauses about this visit; `None` if they are
    /// too many to write out.
    fn clause_after(
        &mut self,
        plan: &ClosedRules,
        literals: &[LiteralId],
    ) -> Option<Vec<Vec<LiteralId>>> {
        let visit = usize::from(self.visits.first);
        let kind = self.known.kind;
        let end = self.known.encoder.now(plan.rules().vocabulary().end(), true, kind);
        let mut clauses = vec![Vec::from_iter(end.literal())];
        for &literal in literals {
            let (code, window) = plan.atoms().seen_in(literal.atom()?)?;
            let encoder = &mut self.known.encoder;
            let now = window.selects(visit + 1, visit);
            let now = now.then(|| encoder.now(code, literal.present(), kind).literal()).flatten();
            let before = window.one_visit_earlier();
            let before = encoder.past(code, &before, literal.present(), kind).literal();
            let parts: Vec<LiteralId> = now.into_iter().chain(before).collect();
            if literal.present() {
                clauses.iter_mut().for_each(|clause| clause.extend(&parts));
            } else {
                // Absent from both: one clause for each.
                let with = |part: &LiteralId| {
                    let with = |clause: &Vec<LiteralId>| [clause.as_slice(), &[*part]].concat();
                    clauses.iter().map(with).collect::<Vec<_>>()
                };
                clauses = parts.iter().flat_map(with).collect();
            }
            if clauses.len() > 64 {
                return None;
            }
        }
        Some(clauses.into_iter().filter_map(sort_clause).collect())
    }

    /// An atom's value at the visit after this one.
    fn next(&mut self, plan: &ClosedRules, atom: u32) -> Lit {
        let (code, window) = match &plan.atoms().atoms()[atom as usize] {
            Atom::In { code, window } => (*code, &plan.atoms().windows()[*window as usize]),
            Atom::Fact(fact) => return self.next_fact(fact),
            // The visit before the next one is this one.
            Atom::FactBefore(fact) => return self.known.fact(&mut self.solver, fact),
        };
        let visit = usize::from(self.visits.first);
        let mut parts = Vec::new();
        if window.selects(visit + 1, visit) {
            parts.push(self.known.literal(&mut self.solver, code, None));
        }
        let before = window.one_visit_earlier();
        parts.push(self.known.literal(&mut self.solver, code, Some(&before)));
        self.solver.any(&parts)
    }

    /// The value at the visit after this one of a fact that earlier visits tell.
    fn next_fact(&mut self, fact: &Fact) -> Lit {
        let Self { known, solver, visits, .. } = self;
        let mut here = |solver: &mut Solver, codes: &[Code]| {
            let codes: Vec<Lit> =
                codes.iter().map(|&code| known.literal(solver, code, None)).collect();
            solver.any(&codes)
        };
        match fact {
            Fact::Seen { codes, count, .. } => {
                let here = here(solver, codes);
                let less = match count {
                    0 | 1 => solver.constant(true),
                    _ => {
                        let codes = Arc::clone(codes);
                        known.fact(solver, &Fact::Seen { codes, days: None, count: count - 1 })
                    }
                };
                let once_more = solver.all(&[here, less]);
                let already = known.fact(solver, fact);
                solver.any(&[already, once_more])
            }
            Fact::Since { codes, mark } => {
                let [seen, marked] = [codes, mark].map(|codes| here(solver, codes));
                let codes = Arc::clone(mark);
                let before = known.fact(solver, &Fact::Seen { codes, days: None, count: 1 });
                let after = solver.all(&[seen, before]);
                let since = known.fact(solver, fact);
                let since = solver.any(&[since, after]);
                solver.all(&[since, !marked])
            }
            Fact::FirstVisit => solver.constant(visits.first == 0),
            // Nothing is known of what will be revealed.
            Fact::Age { .. } | Fact::Value { .. } => solver.fresh(),
        }
    }

    fn lits(&mut self, literals: &[LiteralId]) -> Vec<Lit> {
        literals.iter().map(|&literal| self.known.encoded(&mut self.solver, literal)).collect()
    }
}

/// Follows a diagram from a branch. Gives the literal that the past leads to the impossible branch.
/// With `enforced`, a code whose one branch is impossible takes the other.
fn walk(
    solver: &mut Solver,
    diagram: &Diagram,
    root: Branch,
    answer: &mut dyn FnMut(&mut Solver, Subject) -> Lit,
    enforced: bool,
) -> Lit {
    let mut reached: BTreeMap<Reverse<Branch>, Vec<Lit>> = BTreeMap::new();
    let mut impossible = Vec::new();
    reached.insert(Reverse(root), vec![solver.constant(true)]);
    // A branch's number is above those of the branches it leads to, so each is complete when taken.
    while let Some((Reverse(branch), ways)) = reached.pop_first() {
        if branch == Branch::IMPOSSIBLE {
            impossible = ways;
            break;
        }
        let Some((question, next)) = diagram.question(branch) else { continue };
        let here = solver.any(&ways);
        let code = matches!(question, Subject::Now(_));
        if code && !enforced {
            continue;
        }
        let yes = answer(solver, question);
        for (branch, taken) in next.into_iter().zip([!yes, yes]) {
            if code && branch == Branch::IMPOSSIBLE {
                solver.add([!here, !taken]);
            } else {
                let way = solver.all(&[here, taken]);
                reached.entry(Reverse(branch)).or_default().push(way);
            }
        }
    }
    solver.any(&impossible)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compile::{CompileOptions, close};
    use crate::{RuleSet, compile};

    /// Whatever clause is taken from a plan, the proof fails: the prover sees what is missing.
    #[test]
    fn a_plan_with_a_clause_missing_is_not_proved() {
        let texts = [
            // A conflict, which needs a derived clause within the visit.
            "rule one: A => B  rule two: C => not B",
            // A demand that is impossible in the next visit, which needs prediction.
            "rule one: A in previous => B  rule two: C in past => not B",
            "static S  rule one: S in static => A  rule two: not A or END  rule three: A => not END",
            "rule one: A in visit 1 => B  rule two: C in 2 visits ago => not B",
            "rule one: D => END  rule two: A in last 2 visits => D",
            // Counts, which are seen to hold without the solver.
            "rule one: at most one of A, B, C, D",
            "rule one: A => exactly one of B, C, D in past, not E",
            "static S, T, U  rule one: exactly one of S, T, U",
        ];
        for (text, end_first) in texts.into_iter().flat_map(|text| [(text, false), (text, true)]) {
            let rules = Arc::new(RuleSet::parse(text, None).expect(text));
            let options = CompileOptions { max_visits: 5, end_first, ..CompileOptions::default() };
            let plan = close(Arc::clone(&rules), &options).expect(text);
            prove(&plan).unwrap_or_else(|unproved| panic!("{text}: {unproved:?}"));
            let mut needed = 0;
            for index in 0..plan.clauses().len() {
                needed += usize::from(prove(&plan.without(index)).is_err());
            }
            assert_eq!(needed, plan.clauses().len(), "{text}");
            compile(rules, &options).expect(text);
        }
    }
}
