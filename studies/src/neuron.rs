//! Rules as the paper's tuples: one window, a conjunctive antecedent, one output and its value.

use consequence_record::Code;
use consequence_rules::{Formula, Origin, Rule, Says, Window};

/// One rule neuron of the paper: where the antecedent holds, the output takes the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neuron {
    /// The temporal component; `None` where the rule only looks at the current visit.
    pub window: Option<Window>,
    /// Codes that the window must hold.
    pub past_present: Vec<Code>,
    /// Codes that the window must not hold.
    pub past_absent: Vec<Code>,
    /// Codes that the current visit must hold.
    pub present: Vec<Code>,
    /// Codes that the current visit must not hold.
    pub absent: Vec<Code>,
    /// The code that is set.
    pub output: Code,
    /// What it is set to.
    pub value: bool,
}

impl Neuron {
    /// The codes of the current visit that the antecedent reads.
    pub fn inputs(&self) -> impl Iterator<Item = Code> + '_ {
        self.present.iter().chain(&self.absent).copied()
    }

    /// The rule as a formula.
    pub fn formula(&self) -> Formula {
        let window = self.window.clone().unwrap_or_default();
        let then = |&code: &Code| Formula::In(code, window.clone());
        let now = |&code: &Code| Formula::Now(code);
        let antecedent: Vec<Formula> = (self.past_present.iter().map(then))
            .chain(self.past_absent.iter().map(|code| then(code).not()))
            .chain(self.present.iter().map(now))
            .chain(self.absent.iter().map(|code| now(code).not()))
            .collect();
        let output = Formula::Now(self.output);
        Formula::And(antecedent).implies(if self.value { output } else { output.not() })
    }

    /// The rule under a name.
    pub fn rule(&self, name: &str, file: &str, line: u32) -> Rule {
        Rule {
            name: name.into(),
            says: Says::Hard(self.formula()),
            visits: None,
            origin: Origin { file: file.into(), line, text: name.into() },
        }
    }
}
