//! Rules about one visit, with what came before it left open; clauses known to hold there, and the
//! quick way to see that another one follows from a single one of them.

use consequence_record::{Code, Kind};
use rustc_hash::FxHashSet;

use super::solver::{Lit, Meaning, Solver, encode};
use crate::compile::{Encoder, Encoding, LiteralId, Subject};
use crate::{Fact, Formula, Window};

/// A rule that counts literals.
pub(crate) struct Counted {
    pub released: Vec<LiteralId>,
    pub literals: Vec<LiteralId>,
    pub exactly: bool,
}

/// The literals of a visit: its codes, and what is known of the past.
pub(crate) struct Known<'a> {
    pub encoder: Encoder<'a>,
    pub kind: Kind,
    now: Vec<Option<Lit>>,
    past: Vec<Option<Lit>>,
    gaps: Vec<Option<Lit>>,
}

impl<'a> Known<'a> {
    pub fn new(encoder: Encoder<'a>, kind: Kind) -> Self {
        let now = vec![None; encoder.vocabulary.len()];
        let gaps = vec![None; encoder.atoms.thresholds().len()];
        Self { encoder, kind, now, past: Vec::new(), gaps }
    }

    pub fn encoded(&mut self, solver: &mut Solver, literal: LiteralId) -> Lit {
        let slot = match literal.subject() {
            Subject::Now(position) => &mut self.now[position as usize],
            Subject::Gap(threshold) => &mut self.gaps[threshold as usize],
            Subject::Past(atom) => {
                let atom = atom as usize;
                if self.past.len() <= atom {
                    self.past.resize(atom + 1, None);
                }
                &mut self.past[atom]
            }
        };
        let lit = *slot.get_or_insert_with(|| solver.fresh());
        if literal.present() { lit } else { !lit }
    }
}

impl Known<'_> {
    pub fn settled(&mut self, solver: &mut Solver, found: Encoding) -> Lit {
        match found {
            Encoding::Literal(literal) => self.encoded(solver, literal),
            Encoding::Always => solver.constant(true),
            Encoding::Never => solver.constant(false),
        }
    }

    /// The clause that a literal or an implication between literals says, straight from its tree;
    /// `None` for any other formula.
    pub fn clause(&mut self, formula: &Formula) -> Option<Vec<LiteralId>> {
        let (mut literals, consequent) = self.antecedent(formula)?;
        self.push(consequent, true, &mut literals)?;
        self.encoder.sorted(literals)
    }

    /// What a formula counts, straight from its tree: the literals of which at most one may hold,
    /// those of which any releases the rule, and whether one has to hold. `None` for any other
    /// formula. What never holds here is not counted.
    pub fn counted(&mut self, formula: &Formula) -> Option<Counted> {
        let (released, consequent) = self.antecedent(formula)?;
        let (parts, exactly) = match consequent {
            Formula::AtMostOne(parts) => (parts, false),
            Formula::ExactlyOne(parts) => (parts, true),
            _ => return None,
        };
        let mut literals = Vec::new();
        parts.iter().try_for_each(|part| self.push(part, true, &mut literals))?;
        Some(Counted { released, literals, exactly })
    }

    /// The literals that make an implication's antecedent fail, and its consequent; for any other
    /// formula none, and itself.
    fn antecedent<'f>(&mut self, formula: &'f Formula) -> Option<(Vec<LiteralId>, &'f Formula)> {
        let mut literals = Vec::new();
        let Formula::Implies(antecedent, consequent) = formula else {
            return Some((literals, formula));
        };
        match &**antecedent {
            Formula::And(parts) => {
                parts.iter().try_for_each(|part| self.push(part, false, &mut literals))?;
            }
            literal => self.push(literal, false, &mut literals)?,
        }
        Some((literals, consequent))
    }

    /// Adds a literal, or its opposite where `sign` is false; `None` if it is not a literal, or if
    /// it always holds here.
    fn push(&mut self, formula: &Formula, sign: bool, into: &mut Vec<LiteralId>) -> Option<()> {
        let found = match formula {
            Formula::Now(code) => self.encoder.now(*code, sign, self.kind),
            Formula::In(code, window) => self.encoder.past(*code, window, sign, self.kind),
            Formula::Fact(fact) => self.encoder.fact(fact, sign, self.kind),
            Formula::Not(inner) => return self.push(inner, !sign, into),
            _ => return None,
        };
        match found {
            Encoding::Literal(literal) => into.push(literal),
            Encoding::Always => return None,
            Encoding::Never => {}
        }
        Some(())
    }
}

impl Meaning for Known<'_> {
    fn literal(&mut self, solver: &mut Solver, code: Code, window: Option<&Window>) -> Lit {
        let found = match window {
            None => self.encoder.now(code, true, self.kind),
            Some(window) => self.encoder.past(code, window, true, self.kind),
        };
        self.settled(solver, found)
    }

    fn fact(&mut self, solver: &mut Solver, fact: &Fact) -> Lit {
        let found = self.encoder.fact(fact, true, self.kind);
        self.settled(solver, found)
    }
}

/// Questions about which rules can hold together at one visit.
pub(crate) struct RulesAtVisit<'a> {
    solver: Solver,
    known: Known<'a>,
}

impl<'a> RulesAtVisit<'a> {
    pub fn new(encoder: Encoder<'a>, kind: Kind) -> Self {
        Self { solver: Solver::new(), known: Known::new(encoder, kind) }
    }

    pub fn formula(&mut self, formula: &Formula) -> Lit {
        encode(&mut self.solver, &mut self.known, formula)
    }

    /// A literal whose truth forces `consequence`.
    pub fn switch(&mut self, consequence: Lit) -> Lit {
        let switch = self.solver.fresh();
        self.solver.add([!switch, consequence]);
        switch
    }

    pub fn possible(&mut self, assumptions: &[Lit]) -> bool {
        self.solver.satisfiable(assumptions)
    }

    /// Whether the last impossible assumptions were so because of this one.
    pub fn in_core(&self, literal: Lit) -> bool {
        self.solver.in_core(literal)
    }
}

/// Longer clauses are left to the solver: they have too many parts.
const LONGEST: usize = 8;

/// Clauses known to hold.
#[derive(Default)]
pub(crate) struct Facts<'a> {
    known: FxHashSet<&'a [LiteralId]>,
    /// In the order they came, for a solver that is given them only when it is needed.
    listed: Vec<&'a [LiteralId]>,
    told: usize,
}

impl<'a> Facts<'a> {
    pub fn add(&mut self, clause: &'a [LiteralId]) {
        if self.known.insert(clause) {
            self.listed.push(clause);
        }
    }

    /// Whether some known clause is a part of this sorted one, which then holds as well.
    pub fn imply(&self, clause: &[LiteralId]) -> bool {
        if clause.len() > LONGEST {
            return self.known.contains(clause);
        }
        let mut part = Vec::with_capacity(LONGEST);
        (0u32..1 << clause.len()).any(|chosen| {
            part.clear();
            part.extend(
                clause
                    .iter()
                    .enumerate()
                    .filter(|(bit, _)| chosen >> bit & 1 == 1)
                    .map(|(_, &literal)| literal),
            );
            self.known.contains(part.as_slice())
        })
    }

    /// The clauses that have come since this was last asked.
    pub fn news(&mut self) -> Vec<&'a [LiteralId]> {
        let news = self.listed[self.told..].to_vec();
        self.told = self.listed.len();
        news
    }
}
