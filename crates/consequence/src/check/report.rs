//! What a check found, ready to be read by people and by programs.

use std::collections::BTreeMap;

use consequence_pipeline::{CodeSummary, Report, RuleReference};
use consequence_record::{Code, Record, Vocabulary};
use serde::Serialize;

use super::Explanation;
use crate::broken::BrokenRecords;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// The rule files.
    pub files: Vec<String>,
    /// How many rules there are.
    pub rules: RuleCounts,
    /// How many of each of the paper's forms.
    pub forms: Vec<FormCount>,
    /// The codes the rules were read over.
    pub codes: CodeSummary,
    /// What the records of the cohort break, if one was given.
    pub broken: Option<BrokenRecords>,
    /// The most encounters of a record that the verdict holds for.
    pub max_visits: u16,
    /// Whether the rules can always be kept.
    pub verdict: Verdict,
    /// Rules that demand opposite values of a code.
    pub conflicts: Vec<ConflictReport>,
    /// Pairs of rules that were not examined for a conflict.
    pub pairs_not_examined: usize,
    /// Codes that depend on each other in a cycle.
    pub cycles: Vec<Vec<String>>,
    /// Rules that could be left out.
    pub superfluous: Vec<SuperfluousRule>,
    /// False if there were too many rules to compare each with all others.
    pub all_rules_compared: bool,
    /// Rules that follow from the ones written.
    pub derived: Vec<DerivedRule>,
    /// The paper's one ordered pass over the rules as listed.
    pub one_pass: OnePass,
    /// The soft rules.
    pub soft: Vec<SoftRule>,
    /// Codes that several soft rules draw; where several fire, the last one wins.
    pub shared_outputs: Vec<SharedOutput>,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
    /// The rule that was asked about.
    pub explanation: Option<Explanation>,
    /// What the codes of conflicts, of cycles and of the rule that was asked about mean, as far as a
    /// cohort or a list tells.
    pub titles: BTreeMap<String, String>,
}

impl Report for CheckReport {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn found(&self) -> bool {
        !self.is_proved()
    }
}

impl CheckReport {
    /// Whether the rules were proved to be safe.
    pub fn is_proved(&self) -> bool {
        matches!(self.verdict, Verdict::Proved { .. })
    }
}

/// How many rules there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RuleCounts {
    /// All of them.
    pub total: usize,
    /// Those that must hold.
    pub hard: usize,
    /// Those that hold with a probability.
    pub soft: usize,
    /// Those that look at one visit only.
    pub within_a_visit: usize,
    /// Those that look back at earlier visits.
    pub temporal: usize,
}

/// How many rules have a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FormCount {
    /// The form in words.
    pub form: &'static str,
    /// The rules of that form.
    pub rules: usize,
}

/// Whether the rules can always be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Verdict {
    /// No input can end in a violation.
    Proved {
        /// Kinds of visits told apart by the proof.
        stages: usize,
        /// Statements whose negation was shown to be impossible.
        statements: usize,
        /// Clauses of the plan.
        clauses: usize,
        /// Those of them that were derived.
        derived_clauses: usize,
        /// Nodes of the decision diagram of codes too densely related for clauses; 0 without one.
        diagram_nodes: usize,
    },
    /// No record that ends obeys the rules; each of these is needed for that.
    Impossible {
        /// The rules that exclude every record.
        core: Vec<RuleReference>,
        /// Whether a record that was cut before its end can obey these rules.
        cut_obeys: bool,
    },
}

/// The visits of a record by the names of their codes; the first is the static visit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NamedVisits(pub Vec<Vec<String>>);

impl NamedVisits {
    pub(super) fn of_visits(vocabulary: &Vocabulary, visits: &[Vec<Code>]) -> Self {
        let names = |visit: &Vec<Code>| {
            visit.iter().map(|&code| vocabulary.name(code).to_owned()).collect()
        };
        Self(visits.iter().map(names).collect())
    }

    pub(super) fn of_record(vocabulary: &Vocabulary, record: &Record) -> Self {
        let mut named = Self::of_visits(vocabulary, &record.visits);
        if record.ended
            && record.visits.len() > 1
            && let Some(last) = named.0.last_mut()
        {
            last.push(vocabulary.name(vocabulary.end()).to_owned());
        }
        named
    }
}

/// Two rules that demand opposite values of a code in some record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConflictReport {
    /// The rule that demands the code.
    pub demands: RuleReference,
    /// The rule that forbids it.
    pub forbids: RuleReference,
    /// The code.
    pub code: String,
    /// A record at whose last visit the two meet.
    pub witness: NamedVisits,
}

/// A rule that could be left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SuperfluousRule {
    /// The rule.
    pub rule: RuleReference,
    /// Why.
    pub why: WhySuperfluous,
}

/// Why a rule could be left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason", content = "rules")]
pub enum WhySuperfluous {
    /// It holds of every visit.
    AlwaysTrue,
    /// Its antecedent holds in no visit that obeys the other rules.
    NeverFires,
    /// The rules named say as much.
    ImpliedBy(Vec<String>),
}

/// A rule that follows from the ones written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DerivedRule {
    /// The rule in the rule language.
    pub text: String,
    /// How it follows.
    pub kind: DerivedKind,
    /// The first and the last visit it is required of, where that is not all of them.
    pub visits: Option<[u16; 2]>,
    /// The rules it follows from.
    pub from: Vec<String>,
}

/// How a derived rule follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DerivedKind {
    /// Within a visit.
    Implied,
    /// Asked of a visit so that the visits after it can obey the rules.
    LookAhead,
}

/// What the paper's way, one pass over the rules in the order of the list, would leave behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum OnePass {
    /// No input ends in a violation.
    Safe,
    /// This one does.
    Unsafe {
        /// The rule that is broken in the end.
        breaks: RuleReference,
        /// The visits as they were before the pass.
        proposed: NamedVisits,
    },
    /// No such record was found, and longer ones were not searched.
    Unknown {
        /// The encounters of the longest record searched.
        encounters: usize,
    },
    /// The question was not asked.
    NotExamined {
        /// Why not.
        reason: String,
    },
}

/// A soft rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoftRule {
    /// The rule.
    pub rule: RuleReference,
    /// The probability that its conclusion holds once it fires.
    pub probability: f64,
}

/// A code that several soft rules draw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedOutput {
    /// The code.
    pub code: String,
    /// The rules, in order.
    pub rules: Vec<String>,
}
