//! Every rule, and how often it was broken.

use consequence_report::{Block, Reach, Rule, RuleTable, Strength};
use consequence_rules::RuleSet;
use consequence_rules::language::RuleItem;

/// Violations of each rule in some records: a count, or a mean over generations.
pub struct RuleCountsOf {
    /// Whose records they are.
    pub title: String,
    /// By the place of the rule; none where it was not judged.
    pub violations: Vec<Option<f64>>,
}

/// Every rule with its violations in the real records and in synthetic ones.
pub fn rule_table(
    rules: &RuleSet,
    real: Option<&[Option<f64>]>,
    synthetic: &[RuleCountsOf],
    ours: usize,
) -> Block {
    let row = |(index, rule): (usize, &consequence_rules::Rule)| Rule {
        name: rule.name.to_string(),
        text: statement(rules, index),
        strength: if rule.is_hard() { Strength::Hard } else { Strength::Soft },
        reach: if rule.is_temporal() { Reach::Temporal } else { Reach::Static },
        real: real.and_then(|counts| counts.get(index).copied().flatten()),
        synthetic: synthetic
            .iter()
            .map(|counts| counts.violations.get(index).copied().flatten())
            .collect(),
    };
    Block::Rules(RuleTable {
        title: "Every rule".to_owned(),
        note: "Visits that break the rule. Soft rules may be broken, and are not counted."
            .to_owned(),
        methods: synthetic.iter().map(|counts| counts.title.clone()).collect(),
        ours,
        rules: rules.iter().enumerate().map(row).collect(),
    })
}

/// What a rule says, without its name.
pub fn statement(rules: &RuleSet, index: usize) -> String {
    let Some(rule) = rules.get(index) else { return String::new() };
    let mut item = RuleItem::new("r", rule.formula().expression(rules.vocabulary()));
    item.probability = rule.probability();
    let text = item.to_string();
    text.split_once(':').map_or(text.clone(), |(_, statement)| statement.trim().to_owned())
}
