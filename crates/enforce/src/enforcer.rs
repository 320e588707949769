//! A plan at run time: visits decided code by code, or repaired, so that every hard rule holds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use consequence_prng::{Draws, Purpose, VisitDraws};
use consequence_record::{Code, Kind, Record};
use consequence_rules::{Branch, ClauseView, Derivation, Encoded, Plan};
use thiserror::Error;

use crate::history::{History, Layout};
use crate::index::{Index, IndexBuilder};

/// A caller of [`Writer::guided`] gave something that is not a probability.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("the probability of code number {} is {value}, not a number from 0 to 1", .code.0)]
pub struct BadProbability {
    /// The code it was given for.
    pub code: Code,
    /// What was given.
    pub value: f64,
}

/// What a demand does to its output when its conditions hold.
#[derive(Clone, Copy, Debug)]
struct Demand {
    output: u32,
    /// The number of the soft implication, or `HARD`.
    soft: u32,
}

const HARD: u32 = u32::MAX;

/// Stands for the decision diagram among the candidates for a position.
const DIAGRAM: u32 = u32::MAX;

/// A plan made ready to run: shared by all threads, one [`Writer`] each.
///
/// ```
/// use std::sync::Arc;
/// use consequence_enforce::Enforcer;
/// use consequence_prng::Draws;
/// use consequence_rules::{CompileOptions, RuleSet, compile};
///
/// let rules = RuleSet::parse("static SEX//M  rule r: SEX//M in static => not PREGNANT", None)?;
/// let codes = Arc::clone(&rules.vocabulary);
/// let [male, pregnant] = ["SEX//M", "PREGNANT"].map(|name| codes.code(name).unwrap());
/// let enforcer = Enforcer::new(&compile(Arc::new(rules), &CompileOptions::default())?);
///
/// let (mut writer, draws) = (enforcer.writer(), Draws::new(1));
/// writer.overridden(&[male], &draws, 0); // the static visit
/// assert_eq!(writer.overridden(&[pregnant], &draws, 0), []); // repaired
/// assert_eq!(writer.guided(&draws, 0, |_, _| 1.0)?, []); // sampled, and barred
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Enforcer {
    plan: Plan,
    layout: Layout,
    /// Conditions that put a code on or have it drawn.
    demands: Index,
    demanded: Vec<Demand>,
    /// Demands that need nothing to be present, of the static visit and of encounters, by output.
    standing: [Vec<(u32, u32)>; 2],
    /// Conditions that keep a code off, filed under that code.
    bars: Index,
    /// Conditions under which a rule the user wrote ends the record.
    endings: Index,
}

impl Enforcer {
    /// Prepares a plan.
    pub fn new(plan: &Plan) -> Self {
        let vocabulary = &plan.rules().vocabulary;
        let statics =
            vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Static).count();
        let clauses = || plan.clauses().filter(|clause| clause.position().is_some());
        let hard = clauses().flat_map(|clause| clause.literals);
        let soft = plan.soft().iter().flat_map(|implication| &implication.conditions);
        let asked = plan.diagram().into_iter().flat_map(|diagram| &diagram.atoms).copied();
        let layout = Layout::new(
            plan.order(),
            statics as u32,
            vocabulary.end(),
            plan.atoms(),
            hard.chain(soft).filter_map(|literal| literal.atom()).chain(asked),
        );
        let mut demands = IndexBuilder::new(&layout);
        let mut bars = IndexBuilder::new(&layout);
        let mut endings = IndexBuilder::new(&layout);
        let mut demanded = Vec::new();
        for clause in clauses() {
            if let Some(others) = ending(plan, &clause) {
                let others =
                    others.map(|literal| layout.condition(plan.atoms(), literal.negated()));
                endings.add(others, clause.span);
            }
            let Some((&last, others)) = clause.literals.split_last() else { continue };
            let Some(output) = last.position() else { continue };
            // The clause forces its last code once every other literal is false.
            let conditions =
                others.iter().map(|literal| layout.condition(plan.atoms(), literal.negated()));
            if last.present() {
                demands.add(conditions, clause.span);
                demanded.push(Demand { output, soft: HARD });
            } else {
                bars.add_under(output, conditions, clause.span);
            }
        }
        for (number, implication) in plan.soft().iter().enumerate() {
            let conditions = implication.conditions.iter();
            demands.add(
                conditions.map(|&literal| layout.condition(plan.atoms(), literal)),
                implication.span,
            );
            demanded.push(Demand { output: implication.output, soft: number as u32 });
        }
        let (demands, bars, endings) = (demands.finish(), bars.finish(), endings.finish());
        let standing = [0, 1].map(|visit| {
            let unprompted = demands.unprompted(visit).iter();
            let mut list: Vec<(u32, u32)> =
                unprompted.map(|&id| (demanded[id as usize].output, id)).collect();
            list.sort_unstable();
            list
        });
        Self { plan: plan.clone(), demands, demanded, standing, bars, endings, layout }
    }

    /// The plan this runs.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Bytes the prepared plan holds: linear in the plan's literals.
    pub fn memory(&self) -> usize {
        self.demands.memory()
            + self.bars.memory()
            + self.endings.memory()
            + self.standing.iter().map(|list| size_of_val(list.as_slice())).sum::<usize>()
            + size_of_val(self.demanded.as_slice())
    }

    /// A writer of records, empty at first.
    pub fn writer(&self) -> Writer<'_> {
        Writer {
            enforcer: self,
            history: History::new(&self.layout),
            candidates: BinaryHeap::new(),
            passed: 0,
            branch: None,
            given: Vec::new(),
            record: Record { visits: Vec::new(), ended: false },
        }
    }
}

/// The other literals of a clause by which a rule the user wrote ends the record.
fn ending<'a>(
    plan: &Plan,
    clause: &ClauseView<'a>,
) -> Option<impl Iterator<Item = Encoded> + use<'a>> {
    let end = plan.rules().vocabulary.end();
    let literals = clause.literals;
    let position = plan.order().position(end);
    let is_end = move |literal: &Encoded| literal.position() == Some(position);
    let ends = clause.derivation == Derivation::Written
        && literals.iter().any(|literal| is_end(literal) && literal.present())
        && clause.rules.iter().any(|&rule| plan.rule(rule).outputs().contains(&end));
    ends.then(|| literals.iter().copied().filter(move |literal| !is_end(literal)))
}

/// Writes one record at a time, visit by visit, obeying the plan.
///
/// Each visit is either sampled with [`Writer::guided`] or repaired with [`Writer::overridden`].
#[derive(Clone, Debug)]
pub struct Writer<'a> {
    enforcer: &'a Enforcer,
    history: History,
    /// Demands that may hold, by the position they speak of: the next one first.
    candidates: BinaryHeap<Reverse<(u32, u32)>>,
    /// How many of the visit's standing demands have been passed.
    passed: usize,
    /// The place in the plan's decision diagram, while it has a say in the visit.
    branch: Option<Branch>,
    given: Vec<u32>,
    record: Record,
}

impl<'a> Writer<'a> {
    /// The number of the visit to be written next; 0 is the static visit.
    pub fn visit(&self) -> usize {
        self.history.visit
    }

    /// What has been written so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Takes the record and begins a new one.
    pub fn take(&mut self) -> Record {
        self.history.clear();
        std::mem::take(&mut self.record)
    }

    /// Samples the next visit: each code in the plan's order is forced by a hard rule, drawn by a
    /// soft rule, or drawn with the probability the caller gives for it. Gives the visit.
    ///
    /// The caller sees the codes decided so far, in the order they were decided. A code's draw is
    /// keyed by its place in the plan's order.
    ///
    /// # Panics
    ///
    /// If the record has ended: [`Writer::take`] it first.
    pub fn guided(
        &mut self,
        draws: &Draws,
        record: u64,
        mut probability: impl FnMut(Code, &[Code]) -> f64,
    ) -> Result<&[Code], BadProbability> {
        let enforcer = self.enforcer;
        let order = &enforcer.layout.order;
        let mut codes = draws.visit(record, 0, self.history.visit as u16, Purpose::Code);
        let mut rules = draws.visit(record, 0, self.history.visit as u16, Purpose::Rule);
        let mut decided: Vec<Code> = Vec::new();
        self.begin();
        let (first, last) = self.positions();
        let mut next = self.next_candidate();
        for position in first..last {
            let code = order.code(position);
            let value = probability(code, &decided);
            if !(0.0..=1.0).contains(&value) {
                self.history.abandon();
                return Err(BadProbability { code, value });
            }
            let proposed = codes.below(position, value);
            if proposed || next == position {
                if self.decide(position, proposed, &mut rules) {
                    decided.push(code);
                }
                next = self.next_candidate();
            }
        }
        Ok(self.finish())
    }

    /// Repairs a visit: each code keeps the value it was given unless a rule forces it or draws it.
    /// `END` among the codes says that the visit is the record's last. Gives the visit.
    ///
    /// # Panics
    ///
    /// If the record has ended ([`Writer::take`] it first), or if a code is not of the vocabulary.
    pub fn overridden(&mut self, given: &[Code], draws: &Draws, record: u64) -> &[Code] {
        let mut rules = draws.visit(record, 0, self.history.visit as u16, Purpose::Rule);
        let mut positions = std::mem::take(&mut self.given);
        positions.clear();
        positions.extend(given.iter().map(|&code| self.enforcer.layout.order.position(code)));
        positions.sort_unstable();
        self.begin();
        let (first, last) = self.positions();
        let mut rest = positions.iter().copied().filter(|&at| first <= at && at < last).peekable();
        loop {
            let proposed = rest.peek().copied().unwrap_or(last);
            let position = proposed.min(self.next_candidate());
            if position >= last {
                break;
            }
            while rest.next_if_eq(&position).is_some() {}
            self.decide(position, proposed == position, &mut rules);
        }
        self.given = positions;
        self.finish()
    }

    /// The code that marks the last encounter.
    pub fn end(&self) -> Code {
        self.enforcer.layout.order.code(self.enforcer.layout.end)
    }

    /// Whether a rule the user wrote would end the record if the next visit held these codes.
    pub fn ends_by_rule(&mut self, codes: &[Code]) -> bool {
        let Enforcer { layout, endings, .. } = self.enforcer;
        for &code in codes {
            self.history.set_present(layout.order.position(code));
        }
        let history = &self.history;
        let mut ends = false;
        endings.for_each_open(history, |id| ends |= endings.holds(id, history));
        self.history.abandon();
        ends
    }

    /// The positions of the codes that the next visit may hold.
    fn positions(&self) -> (u32, u32) {
        let layout = &self.enforcer.layout;
        if self.history.visit == 0 {
            (0, layout.statics)
        } else {
            (layout.statics, layout.order.codes().len() as u32)
        }
    }

    fn begin(&mut self) {
        assert!(!self.record.ended, "no visit follows the end");
        let enforcer = self.enforcer;
        let mut open = std::mem::take(&mut self.candidates).into_vec();
        open.clear();
        self.passed = 0;
        enforcer.demands.for_each_prompted(&self.history, |id| {
            open.push(Reverse((enforcer.demanded[id as usize].output, id)));
        });
        self.branch = None;
        if let Some(diagram) = enforcer.plan.diagram()
            && self.history.visit > 0
        {
            let holds = |atom| enforcer.layout.past(enforcer.plan.atoms(), atom, &self.history);
            self.branch = Some(diagram.start(self.history.visit, holds));
            open.extend(diagram.positions.iter().map(|&position| Reverse((position, DIAGRAM))));
        }
        self.candidates = BinaryHeap::from(open);
    }

    /// The next position that some demand may speak of.
    #[inline]
    fn next_candidate(&self) -> u32 {
        let standing = self.standing().get(self.passed).map_or(u32::MAX, |&(position, _)| position);
        self.candidates.peek().map_or(standing, |&Reverse((position, _))| position.min(standing))
    }

    fn standing(&self) -> &'a [(u32, u32)] {
        &self.enforcer.standing[usize::from(self.history.visit > 0)]
    }

    /// Decides one code. Hard rules win over soft ones, soft ones over what was proposed; of two
    /// soft rules the one written later wins.
    fn decide(&mut self, position: u32, proposed: bool, rules: &mut VisitDraws) -> bool {
        let enforcer = self.enforcer;
        let mut forced = false;
        let mut soft = None;
        let mut demand = |id: u32, history: &History| {
            if !forced && enforcer.demands.holds(id, history) {
                match enforcer.demanded[id as usize].soft {
                    HARD => forced = true,
                    number => soft = soft.max(Some(number)),
                }
            }
        };
        while let Some(&Reverse((at, id))) = self.candidates.peek()
            && at == position
        {
            self.candidates.pop();
            if id != DIAGRAM {
                demand(id, &self.history);
            }
        }
        while let Some(&(at, id)) = self.standing().get(self.passed)
            && at == position
        {
            self.passed += 1;
            demand(id, &self.history);
        }
        let mut present = forced || {
            let wanted = soft.map_or(proposed, |number| {
                let implication = &enforcer.plan.soft()[number as usize];
                rules.below(implication.rule, implication.probability)
            });
            wanted
                && !enforcer
                    .bars
                    .filed(position)
                    .iter()
                    .any(|&id| enforcer.bars.holds(id, &self.history))
        };
        if let (Some(at), Some(diagram)) = (self.branch, enforcer.plan.diagram()) {
            let branches = diagram.branches(at, position);
            if branches[usize::from(present)] == Branch::IMPOSSIBLE {
                present = !present;
            }
            self.branch = Some(branches[usize::from(present)]);
        }
        if present {
            self.history.set_present(position);
            for &id in enforcer.demands.filed(position) {
                self.candidates.push(Reverse((enforcer.demanded[id as usize].output, id)));
            }
        }
        present
    }

    fn finish(&mut self) -> &[Code] {
        let layout = &self.enforcer.layout;
        let present = &self.history.present;
        let mut visit: Vec<Code> = present
            .iter()
            .filter(|&&position| position != layout.end)
            .map(|&position| layout.order.code(position))
            .collect();
        visit.sort_unstable();
        self.record.ended = present.contains(&layout.end);
        self.record.visits.push(visit);
        self.history.advance(layout);
        self.record.visits.last().map_or(&[], Vec::as_slice)
    }
}
