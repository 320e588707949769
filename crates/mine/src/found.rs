//! What mining found.

use consequence_rules::Formula;
use serde::Serialize;

/// The paper's five kinds of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Template {
    /// At most one code of a demographic category.
    OneOf,
    /// A code that never comes without another in the same visit.
    Together,
    /// A code that a demographic group never has.
    NeverFor,
    /// A code that only comes after another, in a later encounter.
    OnlyAfter,
    /// A code that is in every encounter after its first.
    Stays,
}

impl Template {
    /// All of them, in the order rules are written.
    pub const ALL: [Self; 5] =
        [Self::OneOf, Self::Together, Self::NeverFor, Self::OnlyAfter, Self::Stays];

    /// A heading for rules of this kind.
    pub fn heading(self) -> &'static str {
        match self {
            Self::OneOf => "At most one of each demographic category",
            Self::Together => "Codes that never come without another in the same visit",
            Self::NeverFor => "Codes that a demographic group never has",
            Self::OnlyAfter => "Codes that only come after another, in a later visit",
            Self::Stays => "Codes that stay once they are there",
        }
    }
}

/// How often a rule could have failed, and how often it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Occasions on which it could have failed.
    pub support: u64,
    /// Occasions on which it did.
    pub exceptions: u64,
}

/// A rule with its evidence.
///
/// What counts as an occasion depends on the template: records with a code of the category; visits
/// with the code; visits with the code; visits with the code; visits with the code that another
/// visit follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MinedRule {
    /// The kind of rule.
    pub template: Template,
    /// The rule's name in the rule file.
    pub name: String,
    /// The rule as a statement of the language.
    pub statement: String,
    /// The rule over the cohort's vocabulary.
    #[serde(skip)]
    pub formula: Formula,
    /// The names of the codes it speaks of, the one it is about first.
    pub codes: Vec<String>,
    /// For a soft rule, the probability it states.
    pub probability: Option<f64>,
    /// What the train split shows.
    pub train: Tally,
    /// Records of the train split with an occasion.
    pub records: u64,
    /// The most that the rate of exceptions may be with 95% confidence, with records as trials.
    pub bound: f64,
    /// The probability that exceptions are rare rather than none, judging by the other candidates
    /// of its kind; none for soft rules, and where no evidence was asked for.
    pub doubt: Option<f64>,
    /// What the tuning split shows.
    pub tuning: Tally,
}

/// Why a claim did not become a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The tuning split has exceptions, or too many of them for a soft rule.
    Contradicted,
    /// Without exceptions, but too likely to have rare ones.
    Doubted,
    /// A soft rule whose code another soft rule decides, or that would close a cycle.
    Crowded,
}

/// A claim that did not become a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dropped {
    /// Why.
    pub reason: Reason,
    /// The rule it would have been.
    pub rule: MinedRule,
}

/// What became of the candidates of a template.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The template.
    pub template: Template,
    /// All candidates.
    pub candidates: u64,
    /// Those without exceptions in the train split.
    pub without_exception: u64,
    /// Of these, those that independent codes would show too, with so many candidates.
    pub by_chance: u64,
    /// Of the rest, those that are doubted.
    pub doubted: u64,
}

impl Tried {
    pub(crate) fn new(template: Template) -> Self {
        Self { template, candidates: 0, without_exception: 0, by_chance: 0, doubted: 0 }
    }
}

/// Rules found in a cohort.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mined {
    /// Records of the train split.
    pub train_records: u64,
    /// Encounters of the train split.
    pub train_visits: u64,
    /// Records of the tuning split.
    pub tuning_records: u64,
    /// The rules, by template; hard rules before soft ones.
    pub rules: Vec<MinedRule>,
    /// Claims that did not become rules, in the same order.
    pub dropped: Vec<Dropped>,
    /// What became of all candidates.
    pub tried: Vec<Tried>,
}
