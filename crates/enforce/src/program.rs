//! A plan as flat tables, for backends on other devices or in other languages.
//!
//! A table knows numbers only. *Variables* are what conditions ask for: first the codes of the visit
//! that is decided, by their position in the plan's order, then codes in windows of earlier visits.
//! [`Program::levels`] says what can be decided at once: a code reads codes of lower levels only.
//!
//! The tables are those of visits whose record may end anywhere, as records do while they are
//! generated. What they mean is what a [`Writer`](crate::Writer) of [`Enforcer::new`] does:
//!
//! 1. A code is present if a conjunction of [`Program::forcing`] that puts it on holds, else absent if
//!    one that keeps it off does.
//! 2. Else the last conjunction of [`Program::drawing`] that holds gives its probability, else the model.
//! 3. Where the code may meet clauses that are due ([`Program::waits`]) that probability `p` becomes
//!    `p / (p + (1 - p) a)`, where `a` is the product over those clauses of the probability that a later
//!    one of its codes comes on.
//!
//! A decision diagram has no table: [`Program::diagram`] says whether there is one.

use consequence_record::Lists;
use consequence_rules::{Clause, LiteralId, Plan, Stage, Subject, VisitRange, Window};

use crate::due::split;
use crate::history::{History, Layout};

/// Conjunctions of conditions, and the visits at which each can hold.
#[derive(Clone, Debug, Default)]
pub struct Conjunctions {
    /// The conditions of each: a variable times two, plus one if it must hold.
    pub conditions: Lists<u32>,
    /// The visits.
    pub visits: Vec<VisitRange>,
}

impl Conjunctions {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.visits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.visits.is_empty()
    }

    fn push(&mut self, conditions: Vec<u32>, visits: VisitRange) {
        self.conditions.push(conditions);
        self.visits.push(visits);
    }

    /// The conditions of one about the visit that is decided: positions, and whether each must hold.
    fn now(&self, number: usize, codes: u32) -> impl Iterator<Item = (u32, bool)> {
        let conditions = self.conditions.list(number).iter();
        conditions.map(|one| (one >> 1, one & 1 == 1)).filter(move |&(at, _)| at < codes)
    }
}

/// What a conjunction of [`Program::forcing`] makes of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forced {
    /// The code's position.
    pub output: u32,
    /// Whether it is put on, rather than kept off.
    pub present: bool,
}

/// What a conjunction of [`Program::drawing`] makes of a code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// The code's position.
    pub output: u32,
    /// The soft rule, by which the draw is keyed.
    pub rule: u32,
    /// The probability that the code is present.
    pub probability: f64,
}

/// A code that may meet a clause which is due, though later codes may as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The clause: a number of [`Program::due`].
    pub clause: u32,
    /// Which of the clause's codes it is. It is due here if its conjunction holds and no code of it
    /// before this one is present.
    pub code: u32,
}

/// A later code of a clause that is known to be absent once it is [`Wait`]ed for at a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptOff {
    /// The wait, by its number.
    pub wait: u32,
    /// Which of the clause's codes is kept off.
    pub code: u32,
    /// By which conjunction of [`Program::forcing`], if that holds.
    pub by: u32,
}

/// A code in a window of earlier visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastCode {
    /// The window, by its number in [`Program::windows`].
    pub window: u32,
    /// The code's position.
    pub position: u32,
}

/// A plan as flat tables.
///
/// ```
/// use std::sync::Arc;
/// use consequence_enforce::Program;
/// use consequence_rules::{CompileOptions, RuleSet, compile};
///
/// let rules = RuleSet::parse("rule r: A and B in past => C", None)?;
/// let plan = compile(Arc::new(rules), &CompileOptions::default())?;
/// let program = Program::new(&plan).expect("rules about codes");
/// assert_eq!((program.codes(), program.past().len()), (4, 1)); // A, B, C and END; B in the past
/// assert_eq!(program.levels().iter().max(), Some(&1)); // C is decided after A
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    plan: Plan,
    layout: Layout,
    /// The plan's number of each atom in use.
    atoms: Vec<u32>,
    windows: Vec<Window>,
    past: Vec<PastCode>,
    forcing: Conjunctions,
    forced: Vec<Forced>,
    drawing: Conjunctions,
    drawn: Vec<Drawn>,
    due: Conjunctions,
    due_codes: Lists<u32>,
    waits: Vec<Wait>,
    kept_off: Vec<KeptOff>,
    lasting: Vec<bool>,
    levels: Vec<u32>,
}

impl Program {
    /// Lays out a plan; none if its rules speak of days, counts, ages or values, which the tables have no
    /// words for.
    pub fn new(plan: &Plan) -> Option<Self> {
        let required = |clause: &Clause<'_>| clause.stages.contains(Stage::OPEN);
        let clauses = || plan.clauses().filter(required);
        let forcing = || clauses().filter(|clause| clause.position().is_some());
        let soft = plan.soft().iter().flat_map(|implication| &implication.conditions);
        let asked = plan.diagram().into_iter().flat_map(|diagram| &diagram.atoms).copied();
        let used = forcing().flat_map(|clause| clause.literals).chain(soft);
        let mut atoms: Vec<u32> = used.filter_map(|literal| literal.atom()).chain(asked).collect();
        atoms.sort_unstable();
        atoms.dedup();
        let layout = Layout::new(plan.order(), plan.atoms(), atoms.iter().copied());
        let mut windows: Vec<Window> = Vec::new();
        let past = atoms.iter().map(|&atom| {
            let (code, window) = plan.atoms().seen_in(atom)?;
            let number = windows.iter().position(|one| one == window).unwrap_or_else(|| {
                windows.push(window.clone());
                windows.len() - 1
            });
            let position = plan.order().position(code);
            Some(PastCode { window: number as u32, position })
        });
        let past = past.collect::<Option<Vec<PastCode>>>()?;
        let mut program = Self {
            plan: plan.clone(),
            layout,
            atoms,
            windows,
            past,
            forcing: Conjunctions::default(),
            forced: Vec::new(),
            drawing: Conjunctions::default(),
            drawn: Vec::new(),
            due: Conjunctions::default(),
            due_codes: Lists::default(),
            waits: Vec::new(),
            kept_off: Vec::new(),
            lasting: Vec::new(),
            levels: Vec::new(),
        };
        for clause in forcing() {
            let Some((last, others)) = clause.literals.split_last() else { continue };
            let Some(output) = last.position() else { continue };
            program.forcing.push(program.broken(others), clause.visits);
            program.forced.push(Forced { output, present: last.present() });
        }
        for soft in plan.soft() {
            let conditions = soft.conditions.iter().map(|&literal| program.condition(literal));
            program.drawing.push(conditions.collect(), soft.visits);
            let (output, rule, probability) = (soft.output, soft.rule, soft.probability);
            program.drawn.push(Drawn { output, rule, probability });
        }
        for clause in clauses() {
            if let Some((before, left @ [_, _, ..])) = split(&clause) {
                program.due.push(program.broken(before), clause.visits);
                program.due_codes.push(left.iter().filter_map(|literal| literal.position()));
            }
        }
        program.wait();
        program.level();
        Some(program)
    }

    /// The condition that a literal holds.
    fn condition(&self, literal: LiteralId) -> u32 {
        let variable = match literal.subject() {
            Subject::Now(position) => position,
            // Atoms in use are all of those that literals name.
            Subject::Past(atom) => {
                (self.codes() + self.atoms.partition_point(|&one| one < atom)) as u32
            }
            // Only where rules speak of days, which have no tables.
            Subject::Gap(_) => return u32::MAX,
        };
        variable << 1 | u32::from(literal.present())
    }

    /// That none of these literals holds.
    fn broken(&self, literals: &[LiteralId]) -> Vec<u32> {
        literals.iter().map(|literal| self.condition(literal.negated())).collect()
    }

    /// Lists the codes that may meet a clause before its last, and what is known of those after them.
    fn wait(&mut self) {
        let codes = self.codes() as u32;
        let bars = (0u32..).zip(&self.forced).filter(|(_, forced)| !forced.present);
        let bars: Vec<(u32, u32)> = bars.map(|(number, forced)| (forced.output, number)).collect();
        let bars = Lists::filed(self.codes(), &bars);
        for (clause, left) in (0u32..).zip(self.due_codes.iter()) {
            let mut lasting = false;
            for (code, &at) in left[..left.len() - 1].iter().enumerate() {
                for (later, &position) in left.iter().enumerate().skip(code + 1) {
                    for &by in bars.list(position as usize) {
                        // What stands later than the code at hand may still come on.
                        let last = self.forcing.now(by as usize, codes).max();
                        if last.is_none_or(|(read, _)| read < at) {
                            let wait = self.waits.len() as u32;
                            self.kept_off.push(KeptOff { wait, code: later as u32, by });
                        }
                        lasting |= last
                            .is_some_and(|(read, wanted)| !wanted && (left[0]..at).contains(&read));
                    }
                }
                self.waits.push(Wait { clause, code: code as u32 });
            }
            self.lasting.push(lasting);
        }
    }

    /// Sets the level of each code: above all that it reads.
    fn level(&mut self) {
        let codes = self.codes() as u32;
        let mut read: Vec<Vec<u32>> = vec![Vec::new(); self.codes()];
        for (number, forced) in self.forced.iter().enumerate() {
            let now = self.forcing.now(number, codes).map(|(at, _)| at);
            read[forced.output as usize].extend(now);
        }
        for (number, drawn) in self.drawn.iter().enumerate() {
            let now = self.drawing.now(number, codes).map(|(at, _)| at);
            read[drawn.output as usize].extend(now);
        }
        for &Wait { clause, code } in &self.waits {
            let left = &self.due_codes.list(clause as usize)[..=code as usize];
            let [before @ .., at] = left else { continue };
            let reads = &mut read[*at as usize];
            reads.extend(self.due.now(clause as usize, codes).map(|(at, _)| at));
            reads.extend(before);
            if self.lasting[clause as usize] {
                reads.extend(left[0]..*at);
            }
        }
        for off in &self.kept_off {
            let Wait { clause, code } = self.waits[off.wait as usize];
            let at = self.due_codes.list(clause as usize)[code as usize];
            let now = self.forcing.now(off.by as usize, codes).map(|(at, _)| at);
            read[at as usize].extend(now);
        }
        for reads in &read {
            // What a code reads is decided before it, so its level is known.
            let levels = &self.levels;
            let level = reads.iter().map(|&at| levels[at as usize] + 1).max().unwrap_or(0);
            self.levels.push(level);
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of codes, `END` among them: the first variables, in the plan's order.
    pub fn codes(&self) -> usize {
        self.plan.order().len()
    }

    /// The windows that [`Program::past`] looks at.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The variables after the codes of the visit: codes in windows of earlier visits.
    pub fn past(&self) -> &[PastCode] {
        &self.past
    }

    /// What puts codes on and keeps codes off.
    pub fn forcing(&self) -> &Conjunctions {
        &self.forcing
    }

    /// What each of [`Program::forcing`] does.
    pub fn forced(&self) -> &[Forced] {
        &self.forced
    }

    /// What has soft rules draw a code; of several the last one does.
    pub fn drawing(&self) -> &Conjunctions {
        &self.drawing
    }

    /// What each of [`Program::drawing`] does.
    pub fn drawn(&self) -> &[Drawn] {
        &self.drawn
    }

    /// What makes clauses due that one of several codes may still meet.
    pub fn due(&self) -> &Conjunctions {
        &self.due
    }

    /// The codes that may meet each of [`Program::due`]: positions, ascending.
    pub fn due_codes(&self) -> &Lists<u32> {
        &self.due_codes
    }

    /// The codes that may meet a clause, but for the last of each: that one is forced.
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// Later codes of a clause that cannot meet it any more: they do not count.
    pub fn kept_off(&self) -> &[KeptOff] {
        &self.kept_off
    }

    /// For each of [`Program::due`], whether what was found to be kept off at one of its codes stays
    /// as it is for those after it until a code, any code, comes on. Others may look anew each time,
    /// and find the same.
    pub fn lasting(&self) -> &[bool] {
        &self.lasting
    }

    /// The level of each code, by its position.
    pub fn levels(&self) -> &[u32] {
        &self.levels
    }

    /// Whether some codes are decided by a decision diagram, which has no table.
    pub fn diagram(&self) -> bool {
        self.plan.diagram().is_some()
    }

    /// What holds of the past of a record while it grows, visit by visit.
    pub fn reader(&self) -> PastReader<'_> {
        PastReader { program: self, history: History::new(&self.layout) }
    }
}

/// Tells the variables about the past of one record after the other.
///
/// ```
/// use std::sync::Arc;
/// use consequence_enforce::Program;
/// use consequence_rules::{CompileOptions, RuleSet, compile};
///
/// let rules = RuleSet::parse("rule r: A in previous => A", None)?;
/// let plan = compile(Arc::new(rules), &CompileOptions::default())?;
/// let program = Program::new(&plan).expect("rules about codes");
/// let mut reader = program.reader();
/// reader.advance(&[]); // the static visit
/// assert_eq!(reader.past().collect::<Vec<_>>(), [false]);
/// reader.advance(&[0]); // A, which is the first code of the order
/// assert_eq!(reader.past().collect::<Vec<_>>(), [true]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PastReader<'a> {
    program: &'a Program,
    history: History,
}

impl PastReader<'_> {
    /// What holds of the visits so far: one answer for each of [`Program::past`].
    pub fn past(&self) -> impl Iterator<Item = bool> {
        let Program { plan, layout, atoms, .. } = self.program;
        atoms.iter().map(|&atom| layout.past(plan.atoms(), atom, &self.history))
    }

    /// Takes in the next visit: the positions of its codes.
    pub fn advance(&mut self, visit: &[u32]) {
        visit.iter().for_each(|&position| self.history.set_present(position));
        self.history.advance(&self.program.layout);
    }

    /// Forgets the record.
    pub fn clear(&mut self) {
        self.history.clear();
    }
}
