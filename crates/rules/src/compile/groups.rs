//! Grouping, as the paper does it: implications that one dense step can apply together.

use super::clause::Encoded;
use super::closed::{ClosedRules, Derivation};

/// One implication of a group: where all conditions hold, the output takes the value.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedImplication {
    /// What must all hold.
    pub conditions: Vec<Encoded>,
    /// The position of the code that is set.
    pub output: u32,
    /// The probability that it is set to present: 0 or 1 for a hard rule.
    pub value: f64,
    /// The rule it comes from, by index.
    pub rule: u32,
}

/// Implications that look at the same windows, write different codes, and read nothing that another
/// of them writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// The windows its conditions look at, by number.
    pub windows: Vec<u32>,
    /// The implications.
    pub implications: Vec<GroupedImplication>,
}

impl ClosedRules {
    /// The rules as written, in groups to be applied one after the other: a code is written before
    /// it is read, and a hard rule after the soft rules on the same code.
    ///
    /// This is the paper's pass in a safe order. On rule sets without cycles and conflicts it
    /// leaves what the enforcer's override leaves; where clauses had
    /// to be derived it is not enough, and the plan's own clauses are what enforcers run on.
    pub fn groups(&self) -> Vec<Group> {
        let soft = self.soft().iter().map(|implication| GroupedImplication {
            conditions: implication.conditions.clone(),
            output: implication.output,
            value: implication.probability,
            rule: implication.rule,
        });
        let written = self.clauses().filter(|clause| clause.derivation == Derivation::Written);
        let hard = written.filter_map(|clause| {
            let (&last, others) = clause.literals.split_last()?;
            Some(GroupedImplication {
                conditions: others.iter().map(|literal| literal.negated()).collect(),
                output: last.position()?,
                value: f64::from(u8::from(last.present())),
                rule: *clause.rules.first()?,
            })
        });
        let mut implications: Vec<GroupedImplication> = soft.chain(hard).collect();
        // Stable: on one code soft rules come first, then hard ones, each in the order written.
        implications.sort_by_key(|implication| implication.output);

        let mut groups: Vec<Group> = Vec::new();
        // One more than the last group that writes each position.
        let mut written_by = vec![0usize; self.order().codes().len()];
        for implication in implications {
            let read = implication.conditions.iter().filter_map(|literal| literal.position());
            let earliest = read
                .chain([implication.output])
                .map(|position| written_by[position as usize])
                .max()
                .unwrap_or(0);
            let mut windows: Vec<u32> = implication
                .conditions
                .iter()
                .filter_map(|literal| literal.atom())
                .map(|atom| self.atoms().atoms()[atom as usize].window)
                .collect();
            windows.sort_unstable();
            windows.dedup();
            let place = (earliest..groups.len())
                .find(|&group| groups[group].windows == windows)
                .unwrap_or_else(|| {
                    groups.push(Group { windows, implications: Vec::new() });
                    groups.len() - 1
                });
            written_by[implication.output as usize] = place + 1;
            groups[place].implications.push(implication);
        }
        groups
    }
}
