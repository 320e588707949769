//! A plan made ready to run.

use std::sync::OnceLock;

use consequence_rules::{Clause, LiteralId, Plan, RuleSet};

use crate::barred::BarredCodes;
use crate::due::DueClauses;
use crate::history::Layout;
use crate::index::{Condition, Index, IndexBuilder};
use crate::writer::Writer;

/// What a demand does to its output when its conditions hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub output: u32,
    pub source: Source,
}

/// Where a demand comes from, by its number in the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// A clause: the output is put on.
    Clause(u32),
    /// A soft implication: the output is drawn.
    Soft(u32),
}

/// A plan made ready to run: shared by all threads, one [`Writer`] each.
///
/// ```
/// use std::sync::Arc;
/// use consequence_enforce::Enforcer;
/// use consequence_prng::Draws;
/// use consequence_rules::{CompileOptions, RuleSet, compile};
///
/// let rules = RuleSet::parse("static SEX//M  rule r: SEX//M in static => not PREGNANT", None)?;
/// let codes = Arc::clone(rules.vocabulary());
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
    pub(crate) plan: Plan,
    pub(crate) layout: Layout,
    /// Conditions that put a code on or have it drawn.
    pub(crate) demands: Index,
    pub(crate) demanded: Vec<Demand>,
    /// Demands that need nothing to be present, of the static visit and of encounters, by output.
    pub(crate) standing: [Vec<(u32, u32)>; 2],
    /// Conditions that keep a code off, filed under that code.
    pub(crate) bars: Index,
    /// The clause of the plan that each of them is of.
    pub(crate) barring: Vec<u32>,
    /// Clauses that one of several codes may still meet.
    pub(crate) due: DueClauses,
    /// Clauses that a code makes due, filed under that code, where that is asked for.
    pub(crate) tests: DueClauses,
    /// Conditions under which a rule the user wrote ends the record.
    pub(crate) endings: Index,
    /// What makes the next visit impossible, where the end is given, or on the day that it begins.
    pub(crate) impossible: Index,
    /// The codes that bars may keep off, by what is there, once a visit that is known was walked.
    barred: OnceLock<BarredCodes>,
}

impl Enforcer {
    /// Prepares a plan for records that exist, or for a model that was trained with its rules.
    pub fn new(plan: &Plan) -> Self {
        // Where the end is open, preconditions hold by the plan itself, but for those about what is revealed
        // when a visit begins: its days are chosen by them. What was so at the visit before matters to
        // proofs only.
        let numbered = || {
            let asked = |clause: &Clause<'_>| {
                clause.position().is_some()
                    || !plan.asks_before(clause) && (plan.end_given() || plan.is_revealed(clause))
            };
            (0u32..).zip(plan.clauses()).filter(move |(_, clause)| asked(clause))
        };
        let clauses = || numbered().map(|(_, clause)| clause);
        let hard = clauses()
            .flat_map(|clause| clause.literals)
            .chain(plan.endings().flat_map(|(literals, _)| literals));
        let soft = plan.soft().iter().flat_map(|implication| &implication.conditions);
        let asked = plan.diagram().into_iter().flat_map(|diagram| &diagram.atoms).copied();
        let layout = Layout::new(
            plan.order(),
            plan.atoms(),
            hard.chain(soft).filter_map(|literal| literal.atom()).chain(asked),
        );
        let everywhere = |clause: &Clause<'_>| clause.stages == plan.stages();
        let confined = clauses().filter(|clause| !everywhere(clause));
        let layout = layout.confine(confined.map(|clause| clause.stages));
        let mut demands = IndexBuilder::new(&layout);
        let mut bars = IndexBuilder::new(&layout);
        let mut endings = IndexBuilder::new(&layout);
        let mut impossible = IndexBuilder::new(&layout);
        let (mut demanded, mut barring) = (Vec::new(), Vec::new());
        let opposite = |literal: &LiteralId| layout.condition(plan.atoms(), literal.negated());
        for (number, clause) in numbered() {
            let confined = layout.confined(clause.stages);
            let broken = |literals: &'_ [LiteralId]| -> Vec<Condition> {
                literals.iter().map(opposite).chain(confined).collect()
            };
            let forced = clause.literals.split_last();
            let forced = forced.and_then(|(last, others)| Some((last, last.position()?, others)));
            let Some((last, output, others)) = forced else {
                impossible.add(broken(clause.literals), clause.visits);
                continue;
            };
            // The clause forces its last code once every other literal is false.
            let conditions = broken(others);
            if last.present() {
                demands.add(conditions, clause.visits);
                demanded.push(Demand { output, source: Source::Clause(number) });
            } else {
                bars.add_under(output, conditions, clause.visits);
                barring.push(number);
            }
        }
        for (literals, visits) in plan.endings() {
            endings.add(literals.iter().map(opposite), visits);
        }
        for (number, implication) in plan.soft().iter().enumerate() {
            let conditions = implication.conditions.iter();
            demands.add(
                conditions.map(|&literal| layout.condition(plan.atoms(), literal)),
                implication.visits,
            );
            let source = Source::Soft(number as u32);
            demanded.push(Demand { output: implication.output, source });
        }
        let due = DueClauses::waiting(plan, &layout);
        let tests = DueClauses::none(&layout);
        let (demands, bars) = (demands.finish(), bars.finish());
        let (endings, impossible) = (endings.finish(), impossible.finish());
        let standing = [0, 1].map(|visit| {
            let unprompted = demands.unprompted(visit).iter();
            let mut list: Vec<(u32, u32)> =
                unprompted.map(|&id| (demanded[id as usize].output, id)).collect();
            list.sort_unstable();
            list
        });
        let plan = plan.clone();
        Self {
            plan,
            layout,
            demands,
            demanded,
            standing,
            bars,
            barring,
            due,
            tests,
            endings,
            impossible,
            barred: OnceLock::new(),
        }
    }

    /// Prepares a plan for a model that was trained with some of the rules, or with none.
    ///
    /// Of the others the model knows nothing: a code that would make a clause of theirs due is the less
    /// likely the less likely the clause is to be met after it. A model that was trained with a rule
    /// has learned that already.
    pub fn for_model(plan: &Plan, trained_with: Option<&RuleSet>) -> Self {
        let mut new = vec![trained_with.is_none(); plan.rules().len()];
        for (index, _) in trained_with.into_iter().flat_map(|known| plan.rules().lacking_in(known))
        {
            new[index] = true;
        }
        let prepared = Self::new(plan);
        let tests = DueClauses::tests(plan, &prepared.layout, |rule| new[rule as usize]);
        Self { tests, ..prepared }
    }

    /// The plan this runs.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The codes that bars may keep off, by what is there. Only who walks visits that are known asks.
    pub(crate) fn barred(&self) -> &BarredCodes {
        self.barred.get_or_init(|| BarredCodes::new(&self.layout, &self.bars))
    }

    /// Bytes the prepared plan holds: linear in the plan's literals.
    pub fn memory(&self) -> usize {
        self.demands.memory()
            + self.bars.memory()
            + self.due.memory()
            + self.tests.memory()
            + self.endings.memory()
            + self.impossible.memory()
            + self.barred.get().map_or(0, BarredCodes::memory)
            + self.standing.iter().map(|list| size_of_val(list.as_slice())).sum::<usize>()
            + size_of_val(self.demanded.as_slice())
            + size_of_val(self.barring.as_slice())
    }

    /// A writer of records, empty at first.
    pub fn writer(&self) -> Writer<'_> {
        Writer::new(self)
    }
}
