//! What a person wants to know about a rule set before trusting it.

mod conflict;
mod superfluous;

use crate::compile::{WrittenClause, WrittenRules};
use crate::{Rule, Window};

pub use conflict::{Conflict, Conflicts, conflicts};
pub use superfluous::{Superfluous, Why, superfluous};

/// How far an analysis looks.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisLimits {
    /// Pairs of rules examined for a conflict. Default 200; each may take a few solver calls.
    pub pairs: usize,
    /// Encounters before a conflict is given up on. Default 4.
    pub encounters: usize,
    /// Rules up to which each is compared with all others for being superfluous. Default 2,000;
    /// the work grows with the square. Above it only repeated and narrower rules are found.
    pub compared_rules: usize,
}

impl Default for AnalysisLimits {
    fn default() -> Self {
        Self { pairs: 200, encounters: 4, compared_rules: 2_000 }
    }
}

/// What a rule looks like, by the paper's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// An empty antecedent.
    Always,
    /// One literal of the current visit.
    OneLiteral,
    /// Several literals of the current visit.
    Conjunction,
    /// One literal of the previous visit.
    PreviousVisit,
    /// Literals of chosen past visits.
    PastVisits,
    /// Literals of past visits and of the current one.
    Mixed,
    /// Anything else: several forms at once, or a rule that says nothing.
    General,
}

impl Form {
    /// All forms, in the paper's order.
    pub const ALL: [Self; 7] = [
        Self::Always,
        Self::OneLiteral,
        Self::Conjunction,
        Self::PreviousVisit,
        Self::PastVisits,
        Self::Mixed,
        Self::General,
    ];

    /// The form in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "empty antecedent",
            Self::OneLiteral => "one literal",
            Self::Conjunction => "conjunction",
            Self::PreviousVisit => "previous visit",
            Self::PastVisits => "past visits",
            Self::Mixed => "past and present",
            Self::General => "general formula",
        }
    }
}

/// The form of every rule of a set, in order. Soft rules are read as if they were hard.
pub fn form(written: &WrittenRules) -> Vec<Form> {
    let rules = written.rules();
    let mut forms: Vec<Option<Form>> = vec![None; rules.len()];
    for clause in written.clauses() {
        let found = clause_form(written, &clause);
        let form = &mut forms[clause.rule as usize];
        *form = Some(if form.is_none_or(|form| form == found) { found } else { Form::General });
    }
    let of = |(rule, form): (&Rule, Option<Form>)| {
        if rule.is_hard() { form.unwrap_or(Form::General) } else { soft_form(rule) }
    };
    rules.iter().zip(forms).map(of).collect()
}

fn clause_form(written: &WrittenRules, clause: &WrittenClause<'_>) -> Form {
    let now = clause.literals.iter().filter(|literal| literal.position().is_some()).count();
    let past = clause.literals.len() - now;
    let previous = || {
        let seen = clause.literals[0].atom().and_then(|atom| written.atoms().seen_in(atom));
        seen.is_some_and(|(_, window)| *window == Window::previous())
    };
    by_counts(now.saturating_sub(1), past, previous)
}

fn soft_form(rule: &Rule) -> Form {
    let (mut now, mut past, mut previous) = (0usize, 0, true);
    rule.formula().for_each_code(&mut |_, window| match window {
        None => now += 1,
        Some(window) => {
            past += 1;
            previous &= *window == Window::previous();
        }
    });
    by_counts(now.saturating_sub(1), past, || previous)
}

fn by_counts(now: usize, past: usize, previous: impl FnOnce() -> bool) -> Form {
    match (now, past) {
        (0, 0) => Form::Always,
        (1, 0) => Form::OneLiteral,
        (_, 0) => Form::Conjunction,
        (0, 1) if previous() => Form::PreviousVisit,
        (0, _) => Form::PastVisits,
        _ => Form::Mixed,
    }
}
