//! The codes that rules name: a vocabulary made of them, for when no cohort gives one, and those
//! that the vocabulary lacks, where that means that no record has them.
//!
//! While a rule is put together such a code keeps a number, past those of the vocabulary, so that
//! what it says of the rule is not lost: `exactly one of SEX//F, SEX//M` is about the static visit
//! if one of them is known to be static, or if the rules say so. Then it becomes what it is, false.

use std::sync::Arc;

use consequence_record::{Code, END_NAME, Kind, Vocabulary, VocabularyError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::names::Names;
use super::tree::{AGE_NAME, Expression, ExpressionKind, Item, LetItem, RuleFile, is_age};
use crate::formula::PAST;
use crate::{Fact, Formula, Scope, Window};

/// The codes named in the files, static ones first, each kind in alphabetical order.
///
/// A code is static if a `static` statement says so or if it is somewhere looked at `in static`.
/// `None` if too many names would have to be tried against patterns.
pub(super) fn gather(
    files: &[RuleFile],
    most_comparisons: usize,
) -> Result<Option<Vocabulary>, VocabularyError> {
    let mut gatherer = Gatherer::default();
    for file in files {
        gatherer.file(file);
    }
    let Gatherer { mut kinds, static_globs, .. } = gatherer;
    if !static_globs.is_empty() {
        let all = Vocabulary::new(kinds.iter().map(|(name, kind)| (*name, *kind)))?;
        let mut names = Names::new(&all, most_comparisons);
        for pattern in static_globs {
            let Some(codes) = names.matching(pattern) else { return Ok(None) };
            for &code in codes {
                if let Some(kind) = kinds.get_mut(all.name(code)) {
                    *kind = Kind::Static;
                }
            }
        }
    }
    let mut codes: Vec<(&str, Kind)> = kinds.into_iter().collect();
    codes.sort_unstable_by_key(|&(name, kind)| (kind != Kind::Static, name));
    Vocabulary::new(codes).map(Some)
}

#[derive(Default)]
struct Gatherer<'a> {
    kinds: FxHashMap<&'a str, Kind>,
    static_globs: FxHashSet<&'a str>,
    /// The `let`s of the file at hand.
    lets: FxHashMap<&'a str, &'a LetItem>,
    /// Those of them looked at `in static`, and of these the ones still to be walked.
    static_lets: FxHashSet<&'a str>,
    waiting: Vec<&'a LetItem>,
}

impl<'a> Gatherer<'a> {
    fn file(&mut self, file: &'a RuleFile) {
        let lets = file.items().iter().filter_map(|item| match item {
            Item::Let(definition) => Some((definition.name.text.as_str(), definition)),
            _ => None,
        });
        self.lets = lets.collect();
        self.static_lets.clear();
        for item in file.items() {
            match item {
                Item::Rule(rule) => self.expression(&rule.formula, false),
                Item::Let(definition) => {
                    for value in &definition.values {
                        self.expression(value, false);
                    }
                }
                Item::Static(declaration) => {
                    for code in &declaration.codes {
                        match &code.kind {
                            ExpressionKind::Name(name) => self.code(name, true),
                            _ => self.expression(code, true),
                        }
                    }
                }
                Item::For(_) => {}
            }
        }
        while let Some(definition) = self.waiting.pop() {
            for value in &definition.values {
                self.expression(value, true);
            }
        }
    }

    fn code(&mut self, name: &'a str, is_static: bool) {
        if name == END_NAME {
            return;
        }
        let kind = self.kinds.entry(name).or_insert(Kind::Encounter);
        if is_static {
            *kind = Kind::Static;
        }
    }

    /// Whether what is compared is the age, which is no code.
    fn is_age(&self, expression: &Expression) -> bool {
        is_age(expression) && !self.lets.contains_key(AGE_NAME)
    }

    fn expression(&mut self, expression: &'a Expression, is_static: bool) {
        use ExpressionKind::*;
        match &expression.kind {
            // A range stands for codes that are named elsewhere.
            Constant(_) | Range(..) | FirstVisit => {}
            Name(name) => match self.lets.get(name.as_str()) {
                Some(definition) => {
                    if is_static && self.static_lets.insert(name) {
                        self.waiting.push(definition);
                    }
                }
                None => self.code(name, is_static),
            },
            Code(name) => self.code(name, is_static),
            Glob(pattern) => {
                if is_static {
                    self.static_globs.insert(pattern);
                }
            }
            In(inner, window) => {
                let of_static = *window == Window::static_visit().into();
                self.expression(inner, is_static || of_static);
            }
            Compare(inner, _) if self.is_age(inner) => {}
            Not(inner) | Times(inner, _) | Compare(inner, _) => self.expression(inner, is_static),
            And(parts) | Or(parts) | Group(_, parts) => {
                for part in parts {
                    self.expression(part, is_static);
                }
            }
            Implies(left, right) | Iff(left, right) | Since(left, right) => {
                self.expression(left, is_static);
                self.expression(right, is_static);
            }
        }
    }
}

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

    /// The visits that a formula speaks of. A code of which nothing is known goes with the others;
    /// if nothing is known of any, they are codes of encounters.
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
        Formula::Fact(fact) => replace_fact(fact, is_false),
        Formula::Not(inner) => Formula::Not(boxed(inner)),
        Formula::And(parts) => Formula::And(each(parts)),
        Formula::Or(parts) => Formula::Or(each(parts)),
        Formula::Implies(left, right) => Formula::Implies(boxed(left), boxed(right)),
        Formula::Iff(left, right) => Formula::Iff(boxed(left), boxed(right)),
        Formula::AtMostOne(parts) => Formula::AtMostOne(each(parts)),
        Formula::ExactlyOne(parts) => Formula::ExactlyOne(each(parts)),
    }
}

/// A fact without the codes that `is_false` picks; false where it is about no others.
fn replace_fact(fact: Fact, is_false: &dyn Fn(Code, Option<&Window>) -> bool) -> Formula {
    let kept = |codes: &[Code]| -> Arc<[Code]> {
        codes.iter().copied().filter(|&code| !is_false(code, Some(&PAST))).collect()
    };
    let fact = match fact {
        Fact::Seen { codes, days, count } => Fact::Seen { codes: kept(&codes), days, count },
        Fact::Since { codes, mark } => Fact::Since { codes: kept(&codes), mark: kept(&mark) },
        Fact::Value { code, .. } if is_false(code, None) => return Formula::Constant(false),
        Fact::Value { .. } | Fact::FirstVisit | Fact::Age { .. } => fact,
    };
    let is_empty = match &fact {
        Fact::Seen { codes, .. } => codes.is_empty(),
        Fact::Since { codes, mark } => codes.is_empty() || mark.is_empty(),
        Fact::Value { .. } | Fact::FirstVisit | Fact::Age { .. } => false,
    };
    if is_empty { Formula::Constant(false) } else { Formula::Fact(fact) }
}
