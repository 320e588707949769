//! Codes that the vocabulary lacks, where that means that no record has them.
//!
//! While a rule is put together such a code keeps a number, past those of the vocabulary, so that what
//! it says of the rule is not lost: `exactly one of SEX//F, SEX//M` is about the static visit if one of
//! them is known to be static, or if the rules say so. Then it becomes what it is, false.

use rustc_hash::FxHashMap;

use consequence_record::{Code, Kind, Vocabulary};

use crate::{Formula, Scope, Window};

/// The codes that the vocabulary lacks, as they are met.
pub(super) struct Absent<'a> {
    vocabulary: &'a Vocabulary,
    /// The codes that the rules name, each of the kind that they say.
    named: Option<Vocabulary>,
    numbers: FxHashMap<String, Code>,
    /// Whether each is static; one that is not may be of either kind, as far as the rules tell.
    statics: Vec<bool>,
}

impl<'a> Absent<'a> {
    pub(super) fn new(vocabulary: &'a Vocabulary, named: Option<Vocabulary>) -> Self {
        Self { vocabulary, named, numbers: FxHashMap::default(), statics: Vec::new() }
    }

    /// The number of a code that the vocabulary lacks.
    pub(super) fn number(&mut self, name: &str) -> Code {
        if let Some(&code) = self.numbers.get(name) {
            return code;
        }
        let kind = self.named.as_ref().and_then(|named| Some(named.kind(named.code(name)?)));
        let code = Code((self.vocabulary.len() + self.statics.len()) as u32);
        self.numbers.insert(name.to_owned(), code);
        self.statics.push(kind == Some(Kind::Static));
        code
    }

    pub(super) fn is_absent(&self, code: Code) -> bool {
        code.index() >= self.vocabulary.len()
    }

    /// The kind of a code, where it is known; that of any other is `otherwise`.
    fn kind(&self, code: Code, otherwise: Kind) -> Kind {
        match code.index().checked_sub(self.vocabulary.len()) {
            Some(absent) if self.statics[absent] => Kind::Static,
            Some(_) => otherwise,
            None => self.vocabulary.kind(code),
        }
    }

    /// The visits that a formula speaks of. A code of which nothing is known goes with the others; if
    /// nothing is known of any, they are codes of encounters.
    fn scope(&self, formula: &Formula) -> Scope {
        let [as_static, as_encounter] = [Kind::Static, Kind::Encounter]
            .map(|otherwise| formula.scope_by(&|code| self.kind(code, otherwise)));
        let known =
            Scope { static_visit: as_encounter.static_visit, encounters: as_static.encounters };
        if known.static_visit || known.encounters { known } else { as_encounter }
    }

    /// The formula with every absent code false.
    pub(super) fn without(&self, formula: Formula) -> Formula {
        replace(formula, &|code, _| self.is_absent(code))
    }

    /// The formula of a rule with every absent code false, and the visits that the rule is required
    /// of where the formula no longer tells.
    pub(super) fn settle(&self, formula: Formula) -> (Formula, Option<Scope>) {
        let mut met = false;
        formula.for_each_code(&mut |code, _| met |= self.is_absent(code));
        if !met {
            return (formula, None);
        }
        let written = self.scope(&formula);
        let tells = |formula: &Formula| self.scope(formula) == written;
        let formula = self.without(formula);
        if tells(&formula) {
            return (formula, None);
        }
        // What is left speaks of other visits too. Where the rule is required, codes of the other
        // kind are not there, and before the static visit nothing is.
        let formula = match written {
            Scope { static_visit: true, encounters: false } => replace(formula, &|code, window| {
                window.is_some() || self.vocabulary.kind(code) == Kind::Encounter
            }),
            Scope { static_visit: false, .. } => replace(formula, &|code, window| {
                window.is_none() && self.vocabulary.kind(code) == Kind::Static
            }),
            _ => formula,
        };
        let visits = (!tells(&formula)).then_some(written);
        (formula, visits)
    }
}

/// The formula with the literals that `is_false` picks false.
fn replace(formula: Formula, is_false: &dyn Fn(Code, Option<&Window>) -> bool) -> Formula {
    let each = |parts: Vec<Formula>| -> Vec<Formula> {
        parts.into_iter().map(|part| replace(part, is_false)).collect()
    };
    let boxed = |part: Box<Formula>| Box::new(replace(*part, is_false));
    match formula {
        Formula::Now(code) if is_false(code, None) => Formula::Constant(false),
        Formula::In(code, window) if is_false(code, Some(&window)) => Formula::Constant(false),
        Formula::Constant(_) | Formula::Now(_) | Formula::In(..) => formula,
        Formula::Not(inner) => Formula::Not(boxed(inner)),
        Formula::And(parts) => Formula::And(each(parts)),
        Formula::Or(parts) => Formula::Or(each(parts)),
        Formula::Implies(left, right) => Formula::Implies(boxed(left), boxed(right)),
        Formula::Iff(left, right) => Formula::Iff(boxed(left), boxed(right)),
        Formula::AtMostOne(parts) => Formula::AtMostOne(each(parts)),
        Formula::ExactlyOne(parts) => Formula::ExactlyOne(each(parts)),
    }
}
