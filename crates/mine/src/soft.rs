//! Which rules with exceptions can be soft rules together.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::claim::Claim;
use crate::found::Tally;
use crate::profile::Profile;

/// The probability that a soft rule states: how often its code is there when the rule fires, to
/// four digits. None where it would be certain.
pub(crate) fn probability(claim: Claim, train: Tally, profile: &Profile) -> Option<f64> {
    let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    let exact = match claim {
        Claim::Together { .. } | Claim::Stays { .. } => {
            1.0 - share(train.exceptions, train.support)
        }
        Claim::NeverFor { group, .. } => share(train.exceptions, profile.group_visits[group]),
        Claim::OnlyAfter { other, .. } => share(train.exceptions, profile.visits_before(other)),
        Claim::OneOf { .. } | Claim::Same { .. } => return None,
    };
    let rounded: f64 = format!("{exact:.3e}").parse().unwrap_or(exact);
    (rounded > 0.0 && rounded < 1.0).then_some(rounded)
}

/// Soft rules chosen so far: one for each code they decide, and none in a cycle, as the compiler
/// asks. Only rules within a visit can close a cycle.
#[derive(Debug, Default)]
pub(crate) struct SoftRules {
    outputs: FxHashSet<usize>,
    leads_to: FxHashMap<usize, Vec<usize>>,
}

impl SoftRules {
    /// Notes a hard rule.
    pub fn hard(&mut self, claim: Claim) {
        match claim {
            Claim::Together { code, with } => self.edge(code, with),
            Claim::Same { one, other } => {
                self.edge(one, other);
                self.edge(other, one);
            }
            _ => {}
        }
    }

    /// Chooses a soft rule, if it can stand beside the others.
    pub fn take(&mut self, claim: Claim) -> bool {
        let Some(output) = claim.output() else { return false };
        let within = match claim {
            Claim::Together { code, .. } => Some(code),
            _ => None,
        };
        if self.outputs.contains(&output) || within.is_some_and(|code| self.reaches(output, code)) {
            return false;
        }
        if let Some(code) = within {
            self.edge(code, output);
        }
        self.outputs.insert(output)
    }

    fn edge(&mut self, from: usize, to: usize) {
        self.leads_to.entry(from).or_default().push(to);
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        let (mut open, mut seen) = (vec![from], FxHashSet::from_iter([from]));
        while let Some(code) = open.pop() {
            if code == to {
                return true;
            }
            let next = self.leads_to.get(&code).into_iter().flatten();
            open.extend(next.copied().filter(|&next| seen.insert(next)));
        }
        false
    }
}
