//! From rules to what can be proved: normal form, order, closure, look across visits.

mod clause;
mod closed;
mod closure;
mod diagram;
mod normal;
mod order;
mod regress;
mod reveal;
mod stage;
mod written;

use std::sync::Arc;

use consequence_record::{Lists, Vocabulary};
use thiserror::Error;

pub use clause::{Atom, Atoms, LiteralId, Subject, VisitRange};
pub(crate) use clause::{Encoder, Encoding, sort_clause};
pub use closed::{Clause, ClosedRules, Derivation};
pub use diagram::{Branch, Diagram};
pub use normal::{Asked, Implication, Literal, TooLarge, clausal_form, implicative_form};
pub use order::Order;
pub(crate) use reveal::GapAxis;
pub use stage::{Stage, Stages};
pub use written::{SoftImplication, WrittenClause, WrittenRules};

use closed::Parts;
use closure::{Closed, Closure, Source};
use diagram::Components;
use written::{Written, soft_implications};

use crate::decisions::TooManyNodes;
use crate::{Rule, RuleSet, Says};

/// What a compiled plan should hold for.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The most encounters a record may have. Default 100.
    pub max_visits: u16,
    /// Records exist already, so where they end is given: `END` is decided before every other
    /// encounter code, and no position forces it.
    pub end_first: bool,
    /// Decide codes in this order instead of one made from the rules.
    pub order: Option<Order>,
    /// Where to stop.
    pub limits: CompileLimits,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self { max_visits: 100, end_first: false, order: None, limits: CompileLimits::default() }
    }
}

/// How far compiling may go before it gives up with an error.
#[derive(Clone, Copy, Debug)]
pub struct CompileLimits {
    /// Literals one rule may need in clausal form. Default 8,000,000: `at most one of` 2,828 codes.
    /// A clause costs some 200 bytes while compiling.
    pub rule_literals: usize,
    /// Derived clauses before codes that depend on each other too densely get a decision diagram
    /// instead. Default 20,000, and more for large sets.
    pub derived: usize,
    /// Derived clauses added to that limit for each clause written. Default 20; each costs about 40
    /// bytes while compiling.
    pub growth: usize,
    /// Nodes of the decision diagrams. Default 2,000,000; each costs about 100 bytes while
    /// compiling.
    pub nodes: usize,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self { rule_literals: 8_000_000, derived: 20_000, growth: 20, nodes: 2_000_000 }
    }
}

/// Why a rule set has no plan.
#[derive(Debug, Error)]
pub enum CompileError {
    /// No record obeys all the rules; the rules named cannot all be kept, and each is needed for
    /// that.
    #[error(
        "{} can obey these rules together: {}",
        if *.cut_obeys { "only a record that was cut before its end" } else { "no record" },
        .core.join(", ")
    )]
    Unsatisfiable {
        /// The names of a smallest set of rules that exclude every record that ends.
        core: Vec<String>,
        /// The same rules by index.
        rules: Vec<usize>,
        /// Whether a record that was cut can obey these rules: it never comes to its end.
        cut_obeys: bool,
    },
    /// It could not be shown that days, ages or values can always be such that these rules can all be kept, though
    /// some record may obey them.
    #[error(
        "it cannot be shown that records can obey these rules together, whatever days, ages and values they come to: {}; loosen one of them",
        .core.join(", ")
    )]
    Beyond {
        /// The names of the rules, each of which is needed for that.
        core: Vec<String>,
        /// The same rules by index.
        rules: Vec<usize>,
    },
    /// One rule is too large in clausal form.
    #[error(
        "rule `{rule}` needs more than {limit} literals in clausal form; split it into smaller rules"
    )]
    RuleTooLarge {
        /// The rule's name.
        rule: String,
        /// The limit.
        limit: usize,
    },
    /// The consequences of the rules are too many.
    #[error(
        "the rules depend on each other too densely: more than {derived} derived clauses and more than {nodes} nodes of a decision diagram; simplify the rules"
    )]
    TooDense {
        /// The limit of derived clauses.
        derived: usize,
        /// The limit of nodes.
        nodes: usize,
    },
    /// Soft rules in a cycle: the draw of one would depend on itself.
    #[error("soft rules in a cycle: {}; a soft rule's antecedent cannot depend on its own output", .0.join(", "))]
    SoftCycle(Vec<String>),
    /// The order given is not one of this vocabulary.
    #[error("the order of codes is not a permutation of the vocabulary with static codes first")]
    BadOrder,
    /// In the order of codes, a soft rule's output comes before a code it depends on.
    #[error(
        "soft rule `{rule}` concludes a code that is decided before a code it depends on; leave the rule out, or decide codes in another order"
    )]
    SoftTooEarly {
        /// The rule's name.
        rule: String,
    },
    /// The proof failed: an error in the compiler, which refuses rather than guess.
    #[error("the plan could not be proved at visit {visit} ({}); this is a defect of the compiler, please report it with the rules", .rule.as_deref().unwrap_or("a precondition"))]
    Unproved {
        /// The first visit concerned.
        visit: usize,
        /// The rule concerned, if one.
        rule: Option<String>,
    },
    /// `max_visits` of zero leaves no room for an encounter.
    #[error("a record needs room for at least one encounter")]
    NoRoom,
}

impl CompileError {
    fn too_large(rule: &Rule, limit: usize) -> Self {
        Self::RuleTooLarge { rule: rule.name.to_string(), limit }
    }
}

/// Steps one to four: all but the proof.
pub(crate) fn close(
    rules: Arc<RuleSet>,
    options: &CompileOptions,
) -> Result<ClosedRules, CompileError> {
    if options.max_visits == 0 {
        return Err(CompileError::NoRoom);
    }
    let vocabulary = Arc::clone(rules.vocabulary());
    let ordered = order::order(&vocabulary, rules.as_slice(), options.end_first);
    if !ordered.cyclic_soft.is_empty() {
        let names = ordered.cyclic_soft.iter().map(|&index| rules[index].name.to_string());
        return Err(CompileError::SoftCycle(names.collect()));
    }
    let order = match &options.order {
        Some(given) => Order::new(given.codes().to_vec(), Arc::clone(&vocabulary))
            .ok_or(CompileError::BadOrder)?,
        None => ordered.order,
    };
    let axis = GapAxis::new(rules.as_slice(), &vocabulary);
    let mut encoder = Encoder {
        vocabulary: &vocabulary,
        order: &order,
        max_visits: options.max_visits,
        atoms: Atoms::over(Arc::clone(&axis.thresholds)),
        axis: &axis,
    };
    let mut saturated = saturate(rules.as_slice(), &mut encoder, options, Outlook::Worst)?;
    if saturated.unsatisfiable {
        let best = match encoder.atoms.has_facts() {
            true => saturate(rules.as_slice(), &mut encoder, options, Outlook::Best)?,
            false => saturated,
        };
        if best.unsatisfiable {
            let core = core(rules.as_slice(), &mut encoder, options, &best, Outlook::Best);
            return Err(unsatisfiable(&rules, core, options));
        }
        let worst = saturate(rules.as_slice(), &mut encoder, options, Outlook::Worst)?;
        let core = core(rules.as_slice(), &mut encoder, options, &worst, Outlook::Worst);
        let names = core.iter().map(|&index| rules[index].name.to_string()).collect();
        return Err(CompileError::Beyond { core: names, rules: core });
    }
    let early = saturated.soft.iter().find(|soft| soft.reads_later_codes());
    if let Some(soft) = early {
        let rule = rules[soft.rule as usize].name.to_string();
        return Err(CompileError::SoftTooEarly { rule });
    }
    let atoms = encoder.atoms;
    let mut parts = Parts {
        rules,
        order,
        axis,
        atoms,
        max_visits: options.max_visits,
        end_given: options.end_first,
        in_play: saturated.in_play,
        clauses: Vec::new(),
        literals: Lists::default(),
        clause_rules: Lists::default(),
        soft: std::mem::take(&mut saturated.soft),
        endings: std::mem::take(&mut saturated.endings),
        diagram: saturated.diagram.clone(),
        cycles: ordered.cycles,
    };
    for id in saturated.closure.kept() {
        let (closure, rules) = (&saturated.closure, leaves(&saturated, id));
        let closure::Entry { visits, stages, direct, .. } = *closure.entry(id);
        let (literals, derivation) = (closure.literals(id), derivation(closure, id));
        parts.push(Clause { literals, visits, stages, derivation, direct, rules: &rules });
    }
    Ok(ClosedRules::new(parts))
}

struct Saturated {
    soft: Vec<SoftImplication>,
    endings: Vec<(Vec<LiteralId>, VisitRange)>,
    closure: Closure,
    diagram: Option<Diagram>,
    in_play: Stages,
    /// Whether no record exists.
    unsatisfiable: bool,
}

/// What is expected of days, ages and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// They may come to be the worst: what can be kept then can always be.
    Worst,
    /// They are as they have to be: what cannot be kept then never can.
    Best,
}

/// The clauses of the rules and all that follows from them.
fn saturate(
    rules: &[Rule],
    encoder: &mut Encoder<'_>,
    options: &CompileOptions,
    outlook: Outlook,
) -> Result<Saturated, CompileError> {
    let limits = &options.limits;
    let mut written = Written::default();
    let mut soft = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let (index, limit) = (index as u32, limits.rule_literals);
        let encoded = match &rule.says {
            Says::Hard(formula) => {
                let scope = rule.scope(encoder.vocabulary);
                written.add(encoder, index, formula, scope, limit)
            }
            // Where the end is given, nothing draws it.
            Says::Soft { code, .. } if options.end_first && *code == encoder.vocabulary.end() => {
                continue;
            }
            says => soft_implications(encoder, index, says, limit).map(|ways| soft.extend(ways)),
        };
        encoded.map_err(|TooLarge| CompileError::too_large(rule, limit))?;
    }
    let derived = limits.derived + limits.growth * written.iter().len();
    let too_dense = || CompileError::TooDense { derived, nodes: limits.nodes };
    let components = Components::new(&written, encoder);
    let mut dense: Vec<u32> = Vec::new();
    let mut in_play = if options.end_first { Stages::ALL } else { Stages::OPEN };
    let end = encoder.order.position(encoder.vocabulary.end());
    loop {
        let mut closure = Closure::new(encoder.vocabulary.len(), in_play, outlook, derived);
        let (by_diagram, by_clauses): (Vec<_>, Vec<_>) =
            written.iter().partition(|clause| components.is_of(encoder, clause, &dense));
        for clause in &by_clauses {
            for (literals, stages) in at_stages(clause.literals, end) {
                closure.add(&literals, clause.visits, stages, Source::Rule(clause.rule));
            }
        }
        // Whoever decides `END` has it end the record at the last position.
        let diagram_ends = dense.contains(&components.root(end));
        if !options.end_first && !diagram_ends {
            let last = VisitRange { first: encoder.max_visits, last: encoder.max_visits };
            closure.add(&[LiteralId::now(end, true)], last, Stages::OPEN, Source::LastVisit);
        }
        tell_days(&mut closure, encoder);
        let mut outcome = closure.run(encoder);
        let mut diagram = None;
        if outcome == Closed::Complete && !by_diagram.is_empty() {
            let forces_end = !options.end_first && diagram_ends;
            let built = diagram::build(encoder, &by_diagram, forces_end, limits.nodes)
                .map_err(|TooManyNodes| too_dense())?;
            for clause in built.static_clauses {
                if let Some(clause) = sort_clause(clause) {
                    let first = VisitRange { first: 0, last: 0 };
                    closure.add(&clause, first, Stages::ALL, Source::Diagram);
                }
            }
            diagram = Some(built.diagram);
            outcome = closure.run(encoder);
        }
        let unsatisfiable = match outcome {
            Closed::Complete => false,
            Closed::Unsatisfiable => true,
            Closed::TooLarge if in_play != Stages::OPEN => {
                // Without counting the visits that follow, there is less to say.
                in_play = Stages::OPEN;
                continue;
            }
            Closed::TooLarge => {
                let heaviest = components.heaviest(&closure);
                dense.push(heaviest.filter(|root| !dense.contains(root)).ok_or_else(too_dense)?);
                continue;
            }
        };
        let endings = if options.end_first {
            endings(rules, &written, encoder.vocabulary, end)
        } else {
            Vec::new()
        };
        return Ok(Saturated { soft, endings, closure, diagram, in_play, unsatisfiable });
    }
}

/// Codes that tell the days since the visit before tell them rightly.
fn tell_days(closure: &mut Closure, encoder: &Encoder<'_>) {
    let later = VisitRange { first: 2, last: encoder.max_visits };
    if later.first > later.last {
        return;
    }
    for &(code, band) in &encoder.axis.told {
        let absent = LiteralId::now(encoder.order.position(code), false);
        let at_least = band.from.checked_sub(1).map(|days| encoder.gap(days, true));
        let at_most = band.to.map(|to| encoder.gap(to - 1, false));
        for days in at_least.into_iter().chain(at_most) {
            closure.add(&[days, absent], later, Stages::ALL, Source::Told);
        }
    }
}

/// What makes the rules that conclude `END` end a record: the other literals of their clauses, all
/// of which must be false.
fn endings(
    rules: &[Rule],
    written: &Written,
    vocabulary: &Vocabulary,
    end: u32,
) -> Vec<(Vec<LiteralId>, VisitRange)> {
    let ending = LiteralId::now(end, true);
    let concludes = |clause: &WrittenClause<'_>| {
        clause.literals.contains(&ending)
            && rules[clause.rule as usize].outputs().contains(&vocabulary.end())
    };
    let rest = |clause: WrittenClause<'_>| {
        let others = clause.literals.iter().copied().filter(|&literal| literal != ending);
        (others.collect(), clause.visits)
    };
    written.iter().filter(concludes).map(rest).collect()
}

/// A clause as it reads at each stage: where the end is given, `END` has its value.
fn at_stages(literals: &[LiteralId], end: u32) -> Vec<(Vec<LiteralId>, Stages)> {
    let is_end = |literal: &LiteralId| literal.position() == Some(end);
    let Some(ending) = literals.iter().find(|literal| is_end(literal)) else {
        return vec![(literals.to_vec(), Stages::ALL)];
    };
    let rest = literals.iter().copied().filter(|literal| !is_end(literal)).collect();
    let not_settled_by_the_end =
        if ending.present() { Stages::GIVEN.without(Stages::END) } else { Stages::END };
    vec![(literals.to_vec(), Stages::OPEN), (rest, not_settled_by_the_end)]
}

/// The rules a clause comes from, sorted.
fn leaves(saturated: &Saturated, id: u32) -> Vec<u32> {
    let closure = &saturated.closure;
    let mut rules = Vec::new();
    let mut open = vec![id];
    let mut seen = rustc_hash::FxHashSet::default();
    while let Some(id) = open.pop() {
        match closure.entry(id).source {
            Source::Rule(rule) => rules.push(rule),
            Source::LastVisit | Source::Told => {}
            Source::Diagram => {
                rules.extend(saturated.diagram.iter().flat_map(|diagram| &diagram.rules));
            }
            Source::Resolved(left, right)
            | Source::Merged(left, right)
            | Source::Joined(left, right) => {
                open.extend([left, right].into_iter().filter(|&parent| seen.insert(parent)));
            }
            Source::Regressed(parent) | Source::Concealed(parent) => {
                open.extend(seen.insert(parent).then_some(parent));
            }
        }
    }
    rules.sort_unstable();
    rules.dedup();
    rules
}

fn derivation(closure: &Closure, id: u32) -> Derivation {
    let mut open = vec![id];
    let mut seen = rustc_hash::FxHashSet::default();
    if matches!(closure.entry(id).source, Source::Rule(_)) {
        return Derivation::Written;
    }
    while let Some(id) = open.pop() {
        match closure.entry(id).source {
            Source::Rule(_) | Source::Told => {}
            Source::LastVisit
            | Source::Regressed(_)
            | Source::Diagram
            | Source::Concealed(_)
            | Source::Joined(..) => {
                return Derivation::LookAhead;
            }
            Source::Resolved(left, right) | Source::Merged(left, right) => {
                open.extend([left, right].into_iter().filter(|&parent| seen.insert(parent)));
            }
        }
    }
    Derivation::Implied
}

/// The rules that exclude every record, narrowed down until each is needed, by index.
fn core(
    rules: &[Rule],
    encoder: &mut Encoder<'_>,
    options: &CompileOptions,
    saturated: &Saturated,
    outlook: Outlook,
) -> Vec<usize> {
    let involved = saturated.closure.excluding().iter().flat_map(|&id| leaves(saturated, id));
    let mut core: Vec<usize> = involved.map(|index| index as usize).collect();
    core.sort_unstable();
    core.dedup();
    let mut tried = 0;
    while tried < core.len() {
        let without: Vec<usize> =
            core.iter().copied().filter(|&index| index != core[tried]).collect();
        let kept: Vec<Rule> = without.iter().map(|&index| rules[index].clone()).collect();
        if saturate(&kept, encoder, options, outlook).is_ok_and(|saturated| saturated.unsatisfiable)
        {
            core = without;
        } else {
            tried += 1;
        }
    }
    core
}

/// The error for rules that exclude every record that ends, and perhaps those that were cut.
fn unsatisfiable(set: &RuleSet, rules: Vec<usize>, options: &CompileOptions) -> CompileError {
    let core = rules.iter().map(|&index| set[index].name.to_string()).collect();
    let kept = set.selected(&rules);
    let for_repair = CompileOptions { end_first: true, order: None, ..options.clone() };
    let cut_obeys = !options.end_first
        && close(Arc::new(kept), &for_repair).is_ok_and(|plan| plan.admits_cut_records());
    CompileError::Unsatisfiable { core, rules, cut_obeys }
}
