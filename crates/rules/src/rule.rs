//! Rules over a vocabulary: what the parser's tree becomes once every name is a code.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Index;
use std::sync::Arc;

use consequence_record::{AgeBand, Code, Kind, Vocabulary};
use thiserror::Error;

use crate::{Fact, Formula, Window};

/// What a rule says, and whether it must hold or holds with a stated probability.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// The formula holds in every record.
    Hard(Formula),
    /// Where the antecedent holds, the consequent holds with a probability. The consequent is about
    /// one code of the current visit.
    Soft {
        /// The antecedent; none if the rule speaks of every visit.
        when: Option<Formula>,
        /// The code that the rule speaks of.
        code: Code,
        /// Whether the rule says that the code is present, rather than absent.
        present: bool,
        /// How probable that is: strictly between 0 and 1.
        probability: f64,
    },
}

impl Says {
    /// A literal, or an implication whose consequent is one, with a probability; `None` for any
    /// other formula.
    ///
    /// ```
    /// use consequence_record::Code;
    /// use consequence_rules::{Formula, Says};
    ///
    /// let [a, b] = [Code(0), Code(1)].map(Formula::Now);
    /// let either = Formula::Or(vec![a.clone(), b.clone()]);
    /// assert!(Says::soft(a.clone().implies(b.not()), 0.5).is_some());
    /// assert_eq!(Says::soft(a.implies(either), 0.5), None);
    /// ```
    pub fn soft(formula: Formula, probability: f64) -> Option<Self> {
        let (when, consequent) = match formula {
            Formula::Implies(when, consequent) => (Some(*when), *consequent),
            literal => (None, literal),
        };
        let (code, present) = consequent.as_literal()?;
        Some(Self::Soft { when, code, present, probability })
    }
}

/// Where a rule was written: file, line, and its text on one line.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Origin {
    /// The file's name as the user gave it, or a word for where the rule came from.
    pub file: Arc<str>,
    /// The line the rule starts at, counted from 1.
    pub line: u32,
    /// The rule's own text.
    pub text: Arc<str>,
}

/// The visits a rule is required of: those where its output codes live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Required of visit 0.
    pub static_visit: bool,
    /// Required of visits 1 and later.
    pub encounters: bool,
}

impl Scope {
    /// Whether visits of a kind are among those required.
    pub(crate) fn includes(self, kind: Kind) -> bool {
        match kind {
            Kind::Static => self.static_visit,
            Kind::Encounter => self.encounters,
        }
    }
}

/// One rule over a vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The name the user gave it; unique in its set.
    pub name: Arc<str>,
    /// What it says, and whether it is hard or soft.
    pub says: Says,
    /// The visits it is required of, where the formula does not tell: some codes that the rule was
    /// written with are of no record, and false in the formula.
    pub visits: Option<Scope>,
    /// Where it was written.
    pub origin: Origin,
}

impl Rule {
    /// A rule that was written nowhere.
    pub fn new(name: impl Into<Arc<str>>, says: Says) -> Self {
        Self { name: name.into(), says, visits: None, origin: Origin::default() }
    }

    /// A hard rule that was written nowhere.
    pub fn hard(name: impl Into<Arc<str>>, formula: Formula) -> Self {
        Self::new(name, Says::Hard(formula))
    }

    /// The formula, as an implication where the rule is soft and has an antecedent.
    pub fn formula(&self) -> Cow<'_, Formula> {
        match &self.says {
            Says::Hard(formula) => Cow::Borrowed(formula),
            Says::Soft { when, code, present, .. } => {
                let consequent = Formula::literal(*code, *present);
                Cow::Owned(match when {
                    Some(when) => when.clone().implies(consequent),
                    None => consequent,
                })
            }
        }
    }

    /// Whether the rule is hard.
    pub fn is_hard(&self) -> bool {
        matches!(self.says, Says::Hard(_))
    }

    /// The probability that a soft rule states; `None` for a hard one.
    pub fn probability(&self) -> Option<f64> {
        match self.says {
            Says::Hard(_) => None,
            Says::Soft { probability, .. } => Some(probability),
        }
    }

    /// Whether the rule looks back at earlier visits.
    pub fn is_temporal(&self) -> bool {
        let mut temporal = false;
        self.formula().for_each_code(&mut |_, window| temporal |= window.is_some());
        temporal
    }

    /// The codes the rule is about: those its consequent names now; where there is no consequent,
    /// or it only looks back, every code named now.
    pub fn outputs(&self) -> Vec<Code> {
        self.formula().outputs()
    }

    /// The visits the rule is required of. A rule that names no code now speaks of encounters,
    /// unless it says otherwise.
    pub fn scope(&self, vocabulary: &Vocabulary) -> Scope {
        self.visits.unwrap_or_else(|| self.formula().scope_by(&|code| vocabulary.kind(code)))
    }
}

/// A rule that cannot be part of a set.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("rule `{rule}` cannot be used: {reason}")]
pub struct BadRule {
    /// The rule's name.
    pub rule: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// Rules over one vocabulary, in the order they were written.
///
/// Every code that they name is of the vocabulary, and every probability is strictly between 0 and
/// 1.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSet {
    vocabulary: Arc<Vocabulary>,
    rules: Vec<Rule>,
}

impl RuleSet {
    /// Puts rules together. Refuses one that names a code which the vocabulary does not have, or
    /// whose probability is not strictly between 0 and 1.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use consequence_record::{Code, Kind, Vocabulary};
    /// use consequence_rules::{Formula, Rule, RuleSet};
    ///
    /// let vocabulary = Arc::new(Vocabulary::new([("A", Kind::Encounter)])?);
    /// let known = Rule::hard("known", Formula::Now(Code(0)));
    /// assert_eq!(RuleSet::new(Arc::clone(&vocabulary), vec![known])?.len(), 1);
    /// let unknown = Rule::hard("unknown", Formula::Now(Code(9)));
    /// assert_eq!(RuleSet::new(vocabulary, vec![unknown]).unwrap_err().rule, "unknown");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(vocabulary: Arc<Vocabulary>, rules: Vec<Rule>) -> Result<Self, BadRule> {
        for rule in &rules {
            let fail = |reason| Err(BadRule { rule: rule.name.to_string(), reason });
            let mut known = true;
            rule.formula().for_each_code(&mut |code, _| known &= code.index() < vocabulary.len());
            if !known {
                return fail("it names a code that the vocabulary of the rules does not have");
            }
            // NaN is between no two numbers.
            if !rule.probability().is_none_or(|probability| probability > 0.0 && probability < 1.0)
            {
                return fail("its probability is not strictly between 0 and 1");
            }
        }
        Ok(Self { vocabulary, rules })
    }

    /// No rules.
    pub fn empty(vocabulary: Arc<Vocabulary>) -> Self {
        Self { vocabulary, rules: Vec::new() }
    }

    /// Rules that the language has read over the vocabulary, and so checked.
    pub(crate) fn resolved(vocabulary: Arc<Vocabulary>, rules: Vec<Rule>) -> Self {
        Self { vocabulary, rules }
    }

    /// The rules of which `keep` is true.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(&Rule) -> bool) -> Self {
        let rules = self.rules.iter().filter(|rule| keep(rule)).cloned().collect();
        Self { vocabulary: Arc::clone(&self.vocabulary), rules }
    }

    /// The rules with these indices, in this order.
    #[must_use]
    pub(crate) fn selected(&self, indices: &[usize]) -> Self {
        let rules = indices.iter().map(|&index| self.rules[index].clone()).collect();
        Self { vocabulary: Arc::clone(&self.vocabulary), rules }
    }

    /// The same rules where the age is what static codes such as `AGE//40-60` tell at every encounter: that of the
    /// first year of the band. So it is of records without dates and births.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use consequence_record::{Kind, Vocabulary};
    /// use consequence_rules::RuleSet;
    ///
    /// let codes = [("AGE//0-18", Kind::Static), ("AGE//18+", Kind::Static), ("A", Kind::Encounter)];
    /// let vocabulary = Arc::new(Vocabulary::new(codes)?);
    /// let rules = RuleSet::parse("rule adults: A => AGE >= 18", Some(vocabulary.clone()))?;
    /// let told = rules.with_static_ages();
    /// assert_eq!(told[0].formula().text(&vocabulary), "A => AGE//18+ in static");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_static_ages(&self) -> Self {
        let bands = AgeBand::of_statics(&self.vocabulary);
        let told = |fact: Fact| match fact {
            Fact::Age { least } => {
                let codes = bands.iter().filter(|(_, band)| band.from >= least);
                let told = |(&code, _)| Formula::In(code, Window::static_visit());
                let mut told: Vec<Formula> = codes.map(told).collect();
                match told.len() {
                    0 => Formula::Constant(false),
                    1 => told.remove(0),
                    _ => Formula::Or(told),
                }
            }
            other => Formula::Fact(other),
        };
        let rules = self.rules.iter().map(|rule| {
            let says = match rule.says.clone() {
                Says::Hard(formula) => Says::Hard(formula.with_facts(&told)),
                Says::Soft { when, code, present, probability } => {
                    let when = when.map(|when| when.with_facts(&told));
                    Says::Soft { when, code, present, probability }
                }
            };
            Rule { says, ..rule.clone() }
        });
        Self { rules: rules.collect(), vocabulary: Arc::clone(&self.vocabulary) }
    }

    /// The codes the rules speak of.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The rules, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Rule> {
        self.rules.iter()
    }

    pub(crate) fn as_slice(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules that another set lacks, each with its index: it has none of that name, or one that says
    /// something else.
    ///
    /// ```
    /// use consequence_rules::RuleSet;
    ///
    /// let all = RuleSet::parse("rule a: A => B  rule b: B => C", None)?;
    /// let some = all.filtered(|rule| &*rule.name == "a");
    /// let lacking: Vec<usize> = all.lacking_in(&some).map(|(index, _)| index).collect();
    /// assert_eq!(lacking, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lacking_in(&self, other: &Self) -> impl Iterator<Item = (usize, &Rule)> {
        let there: HashMap<&str, &Rule> = other.iter().map(|rule| (&*rule.name, rule)).collect();
        let lacks = |rule: &Rule| there.get(&*rule.name).is_none_or(|one| one.says != rule.says);
        let lacking: Vec<bool> = self.iter().map(lacks).collect();
        self.rules.iter().enumerate().filter(move |&(index, _)| lacking[index])
    }

    /// The hard rules, each with its index.
    pub fn hard(&self) -> impl Iterator<Item = (usize, &Rule)> + Clone {
        self.rules.iter().enumerate().filter(|(_, rule)| rule.is_hard())
    }

    /// The soft rules, each with its index.
    pub fn soft(&self) -> impl Iterator<Item = (usize, &Rule)> + Clone {
        self.rules.iter().enumerate().filter(|(_, rule)| !rule.is_hard())
    }

    /// The rule with an index, if there is one.
    pub fn get(&self, index: usize) -> Option<&Rule> {
        self.rules.get(index)
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether a rule speaks of days, ages or values, so that records are judged with what is known of them
    /// beside their codes.
    ///
    /// ```
    /// use consequence_rules::RuleSet;
    ///
    /// let asks = |text| RuleSet::parse(text, None).map(|rules| (rules.ask_details(), rules.ask_dates()));
    /// assert_eq!(asks("rule a: A in last 30 days => B")?, (true, true));
    /// assert_eq!(asks("rule a: AGE < 12 => B")?, (true, false));
    /// assert_eq!(asks("rule a: A in past => B")?, (false, false));
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    pub fn ask_details(&self) -> bool {
        self.any_fact(|fact| {
            fact.needs_dates() || matches!(fact, Fact::Age { .. } | Fact::Value { .. })
        })
    }

    /// Whether a rule speaks of days.
    pub fn ask_dates(&self) -> bool {
        self.any_fact(Fact::needs_dates)
    }

    /// Whether a rule speaks of ages.
    pub fn ask_ages(&self) -> bool {
        self.any_fact(|fact| matches!(fact, Fact::Age { .. }))
    }

    fn any_fact(&self, mut is: impl FnMut(&Fact) -> bool) -> bool {
        let mut found = false;
        for rule in &self.rules {
            rule.formula().for_each_fact(&mut |fact| found |= is(fact));
        }
        found
    }
}

impl Index<usize> for RuleSet {
    type Output = Rule;

    fn index(&self, index: usize) -> &Rule {
        &self.rules[index]
    }
}

impl<'a> IntoIterator for &'a RuleSet {
    type Item = &'a Rule;
    type IntoIter = std::slice::Iter<'a, Rule>;

    fn into_iter(self) -> Self::IntoIter {
        self.rules.iter()
    }
}
