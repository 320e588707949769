//! Hard rules as clauses over one visit, with what is known before the visit set apart, and clauses
//! that share codes put together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use consequence_record::{Code, Kind, RecordView};
use consequence_rules::{Asked, Literal, Order, VisitRange, Window, WrittenRules};
use rustc_hash::FxHashMap;

use crate::{BaselineError, Reason, Unexpressed};

/// A rule that clauses are part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRule {
    /// Its name.
    pub name: Arc<str>,
    /// The codes it is about.
    pub outputs: Vec<Code>,
    /// Whether it must hold. A rule that need not has no clauses.
    pub hard: bool,
}

/// A disjunction of literals that visits of a span must satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpannedClause {
    /// The literals.
    pub literals: Vec<Literal>,
    /// The visits it is required of. A span that does not reach [`VisitRange::OPEN`] leaves later
    /// encounters free.
    pub span: VisitRange,
    /// The rule it is part of, by index.
    pub rule: usize,
}

/// Something that is known when a visit begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// A code was in some visit of a window.
    Seen(Window, Code),
    /// The visit is one of these.
    Within(VisitRange),
}

/// What a literal of a [`Clause`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variable {
    /// What is known, by its number in [`World::known_atoms`].
    Known(u32),
    /// The code at a position is in the visit.
    Now(u32),
}

/// A disjunction: at least one variable has its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Variables and their values, ascending, each variable once.
    pub literals: Vec<(Variable, bool)>,
    /// The rule it is part of, by index.
    pub rule: u32,
}

impl Clause {
    /// Whether the clause is about the visit alone, whichever visit it is.
    pub fn is_static(&self) -> bool {
        self.literals.iter().all(|(variable, _)| matches!(variable, Variable::Now(_)))
    }

    /// The positions it names, with their values.
    pub fn now(&self) -> impl Iterator<Item = (u32, bool)> {
        self.literals.iter().filter_map(|&(variable, value)| match variable {
            Variable::Now(position) => Some((position, value)),
            Variable::Known(_) => None,
        })
    }

    /// What must be known or not for it to hold, whatever the visit.
    pub fn known(&self) -> impl Iterator<Item = (u32, bool)> {
        self.literals.iter().filter_map(|&(variable, value)| match variable {
            Variable::Known(atom) => Some((atom, value)),
            Variable::Now(_) => None,
        })
    }
}

/// The hard rules of a set, for each kind of visit.
///
/// ```
/// use std::sync::Arc;
/// use consequence_baselines::Constraint;
/// use consequence_record::Kind;
/// use consequence_rules::{CompileLimits, Order, RuleSet, WrittenRules};
///
/// let text = "rule now: A => B  rule then: C in past => not B";
/// let rules = Arc::new(RuleSet::parse(text, None)?);
/// let codes = Order::natural(Arc::clone(rules.vocabulary()));
/// let written = WrittenRules::new(rules, &CompileLimits::default())?;
/// let constraint = Constraint::new(&written, &codes)?;
/// let encounters = constraint.world(Kind::Encounter);
/// let temporal = |clause: &&consequence_baselines::Clause| !clause.is_static();
/// assert_eq!(encounters.clauses().len(), 2);
/// assert_eq!(encounters.clauses().iter().filter(temporal).count(), 1);
/// assert!(constraint.world(Kind::Static).clauses().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Constraint {
    worlds: [World; 2],
}

impl Constraint {
    /// The rules of a set. The order of codes may be any order of the same vocabulary.
    pub fn new(written: &WrittenRules, codes: &Order) -> Result<Self, BaselineError> {
        if written.rules().vocabulary() != codes.vocabulary() {
            return Err(BaselineError::OtherCodes);
        }
        let named = written.rules().iter().map(|rule| NamedRule {
            name: Arc::clone(&rule.name),
            outputs: rule.outputs(),
            hard: rule.is_hard(),
        });
        let clauses = written.clauses().map(|clause| SpannedClause {
            literals: clause.literals.iter().filter_map(|&one| written.decode(one)).collect(),
            span: clause.visits,
            rule: clause.rule as usize,
        });
        Self::from_clauses(codes, named.collect(), clauses)
    }

    /// Clauses from elsewhere.
    ///
    /// A clause whose span has visits of both kinds is required of both. In visits of the kind
    /// where a code does not live, it is absent.
    pub fn from_clauses(
        codes: &Order,
        rules: Vec<NamedRule>,
        clauses: impl IntoIterator<Item = SpannedClause>,
    ) -> Result<Self, BaselineError> {
        let rules: Arc<[NamedRule]> = rules.into();
        let mut worlds =
            [Kind::Static, Kind::Encounter].map(|kind| Maker::new(codes, kind, Arc::clone(&rules)));
        for (index, clause) in clauses.into_iter().enumerate() {
            let exists = |literal: &Literal| match literal.asked {
                Asked::Now(code) | Asked::In(_, code) => code.index() < codes.len(),
                Asked::Fact(_) => true,
            };
            let is_fact = |literal: &Literal| matches!(literal.asked, Asked::Fact(_));
            if let Some(rule) = rules.get(clause.rule)
                && clause.literals.iter().any(is_fact)
            {
                return Err(BaselineError::Facts { rule: rule.name.to_string() });
            }
            if clause.rule >= rules.len() || !clause.literals.iter().all(exists) {
                return Err(BaselineError::BadClause { clause: index });
            }
            for world in &mut worlds {
                world.add(&clause);
            }
        }
        Ok(Self { worlds: worlds.map(|maker| maker.world) })
    }

    /// What visits of a kind must obey.
    pub fn world(&self, kind: Kind) -> &World {
        &self.worlds[usize::from(kind == Kind::Encounter)]
    }

    /// What a visit must obey; visit 0 is the static one.
    pub fn of_visit(&self, visit: usize) -> &World {
        self.world(Kind::of_visit(visit))
    }
}

/// What visits of one kind must obey.
#[derive(Clone, Debug)]
pub struct World {
    kind: Kind,
    range: Range<u32>,
    end: Code,
    known: Vec<Known>,
    clauses: Vec<Clause>,
    rules: Arc<[NamedRule]>,
    /// The positions of the outputs of rules that live here.
    outputs: Vec<BTreeSet<u32>>,
}

impl World {
    /// The kind of visit.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The positions of the codes that such a visit may hold.
    pub fn range(&self) -> Range<u32> {
        self.range.clone()
    }

    /// What clauses ask about what is known when a visit begins.
    pub fn known_atoms(&self) -> &[Known] {
        &self.known
    }

    /// The clauses.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// A rule.
    pub fn rule(&self, index: u32) -> &NamedRule {
        &self.rules[index as usize]
    }

    /// For every atom of [`World::known_atoms`], whether it holds when a visit of a record begins.
    /// The visit itself need not be there yet.
    pub fn known(&self, record: RecordView<'_>, visit: usize) -> Vec<bool> {
        let has = |then: usize, code: &Code| {
            then < record.len() && record.visit(then).binary_search(code).is_ok()
        };
        let holds = |atom: &Known| match atom {
            Known::Within(span) => span.contains(visit),
            Known::Seen(window, code) => {
                *code != self.end && window.any(visit, |then| has(then, code))
            }
        };
        self.known.iter().map(holds).collect()
    }

    /// Whether a visit obeys every clause, given what is known.
    pub fn holds(&self, known: &[bool], mut present: impl FnMut(u32) -> bool) -> bool {
        self.clauses.iter().all(|clause| {
            clause.known().any(|(atom, value)| known[atom as usize] == value)
                || clause.now().any(|(position, value)| present(position) == value)
        })
    }

    /// Clauses that share codes of the visit, together.
    pub fn components(&self) -> Vec<Component> {
        Component::split(&self.clauses, |_| true)
    }

    /// Static clauses that share codes, together.
    pub fn static_components(&self) -> Vec<Component> {
        Component::split(&self.clauses, Clause::is_static)
    }

    /// The rules that are not hard, of those about codes of such visits.
    pub fn soft(&self) -> Vec<Unexpressed> {
        self.unexpressed(|_| None)
    }

    /// The rules that are soft or look beyond the visit.
    pub fn beyond_the_visit(&self) -> Vec<Unexpressed> {
        self.unexpressed(|clause| (!clause.is_static()).then_some(Reason::Temporal))
    }

    /// Every rule that is not expressed, once for each reason.
    pub(crate) fn unexpressed(
        &self,
        mut reason: impl FnMut(&Clause) -> Option<Reason>,
    ) -> Vec<Unexpressed> {
        let mut found: BTreeSet<(u32, Reason)> = BTreeSet::new();
        for (index, rule) in (0..).zip(self.rules.iter()) {
            if !rule.hard && !self.outputs[index as usize].is_empty() {
                found.insert((index, Reason::Soft));
            }
        }
        for clause in &self.clauses {
            found.extend(reason(clause).map(|reason| (clause.rule, reason)));
        }
        let name = |rule: u32| Arc::clone(&self.rule(rule).name);
        found.into_iter().map(|(rule, reason)| Unexpressed { rule: name(rule), reason }).collect()
    }

    /// Whether a rule is about the code at a position.
    pub(crate) fn is_output(&self, rule: u32, position: u32) -> bool {
        self.outputs[rule as usize].contains(&position)
    }

    /// The names of the rules of a component, in the order of the rules.
    pub fn rule_names(&self, component: &Component) -> Vec<Arc<str>> {
        let rule = |&clause: &u32| self.clauses[clause as usize].rule;
        let rules: BTreeSet<u32> = component.clauses.iter().map(rule).collect();
        rules.into_iter().map(|rule| Arc::clone(&self.rule(rule).name)).collect()
    }
}

/// Takes clauses into a world.
struct Maker<'a> {
    codes: &'a Order,
    numbers: FxHashMap<Known, u32>,
    world: World,
}

impl<'a> Maker<'a> {
    fn new(codes: &'a Order, kind: Kind, rules: Arc<[NamedRule]>) -> Self {
        let range = codes.range(usize::from(kind == Kind::Encounter));
        let exists = |code: &&Code| code.index() < codes.len();
        let outputs = rules.iter().map(|rule| {
            let positions = rule.outputs.iter().filter(exists);
            let positions = positions.map(|&code| codes.position(code));
            positions.filter(|position| range.contains(position)).collect()
        });
        let outputs = outputs.collect();
        let end = codes.vocabulary().end();
        let (known, clauses) = (Vec::new(), Vec::new());
        let world = World { kind, range, end, known, clauses, rules, outputs };
        Self { codes, numbers: FxHashMap::default(), world }
    }

    fn add(&mut self, clause: &SpannedClause) {
        let (first, last) = (clause.span.first, clause.span.last);
        let (required, whole) = match self.world.kind {
            Kind::Static => (first == 0, true),
            Kind::Encounter => (last >= first.max(1), first <= 1 && last == VisitRange::OPEN),
        };
        if !required {
            return;
        }
        let mut literals = Vec::with_capacity(clause.literals.len() + 1);
        for literal in &clause.literals {
            match self.variable(literal) {
                Some(variable) => literals.push((variable, literal.present)),
                // Here the code is never found: the clause holds, or the literal does not help.
                None if !literal.present => return,
                None => {}
            }
        }
        if !whole {
            literals.push((self.number(Known::Within(clause.span)), false));
        }
        literals.sort_unstable();
        literals.dedup();
        if literals.windows(2).all(|pair| pair[0].0 != pair[1].0) {
            self.world.clauses.push(Clause { literals, rule: clause.rule as u32 });
        }
    }

    /// What a literal is about; `None` if its code can never be found there.
    fn variable(&mut self, literal: &Literal) -> Option<Variable> {
        match &literal.asked {
            Asked::Now(code) => {
                let position = self.codes.position(*code);
                self.world.range.contains(&position).then_some(Variable::Now(position))
            }
            Asked::In(..) if self.world.kind == Kind::Static => None,
            Asked::In(window, code) => Some(self.number(Known::Seen(window.clone(), *code))),
            // Refused before.
            Asked::Fact(_) => None,
        }
    }

    fn number(&mut self, atom: Known) -> Variable {
        let known = &mut self.world.known;
        Variable::Known(*self.numbers.entry(atom).or_insert_with_key(|atom| {
            known.push(atom.clone());
            known.len() as u32 - 1
        }))
    }
}

/// Clauses tied together by the codes of the visit they share.
///
/// What is known does not tie clauses together: once it is known, codes of different components do
/// not depend on each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The positions of its codes, ascending. A clause that names none is a component by itself.
    pub codes: Vec<u32>,
    /// What its clauses ask about what is known, by number, ascending.
    pub known: Vec<u32>,
    /// Its clauses, by number, ascending.
    pub clauses: Vec<u32>,
}

impl Component {
    /// The components of some clauses, in the order of their first codes.
    pub(crate) fn split(clauses: &[Clause], wanted: impl Fn(&Clause) -> bool) -> Vec<Self> {
        let mut sets = Sets::default();
        for clause in clauses.iter().filter(|clause| wanted(clause)) {
            let mut codes = clause.now().map(|(position, _)| position);
            if let Some(first) = codes.next() {
                codes.for_each(|other| sets.join(first, other));
            }
        }
        let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut alone = Vec::new();
        for (index, clause) in (0..).zip(clauses).filter(|(_, clause)| wanted(clause)) {
            match clause.now().next() {
                Some((first, _)) => parts.entry(sets.root(first)).or_default().push(index),
                None => alone.push(vec![index]),
            }
        }
        let whole = |own: Vec<u32>| {
            let each = || own.iter().map(|&index| &clauses[index as usize]);
            let codes = each().flat_map(Clause::now).map(|(position, _)| position);
            let known = each().flat_map(Clause::known).map(|(atom, _)| atom);
            let (codes, known) = (ascending(codes), ascending(known));
            Self { codes, known, clauses: own }
        };
        parts.into_values().chain(alone).map(whole).collect()
    }
}

/// The numbers in ascending order, each once.
fn ascending(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    numbers.collect::<BTreeSet<u32>>().into_iter().collect()
}

/// Positions that belong together; the smallest of a set stands for it.
#[derive(Default)]
struct Sets {
    parents: FxHashMap<u32, u32>,
}

impl Sets {
    fn root(&mut self, position: u32) -> u32 {
        let mut root = position;
        while let Some(&parent) = self.parents.get(&root) {
            root = parent;
        }
        let mut at = position;
        while let Some(parent) = self.parents.get_mut(&at) {
            at = std::mem::replace(parent, root);
        }
        root
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.parents.insert(one.max(other), one.min(other));
        }
    }
}
