//! Example records as timelines, with what the rules had to say.

use std::collections::BTreeMap;

use consequence_enforce::Conclusions;
use consequence_feedback::words::{count, number};
use consequence_record::{Code, Cohort, Vocabulary};
use consequence_report::{
    Act, Block, Chip, ExampleRecord, ExampleVisit, Reach, Records, Rule, RuleTable, Strength,
};
use consequence_rules::RuleSet;
use consequence_rules::language::RuleItem;

/// Codes shown of a visit, and codes shown that rules kept out of it.
const SHOWN: usize = 40;
const KEPT_OUT: usize = 4;

/// What is needed to tell which rule acted on which code.
pub struct Timelines<'a> {
    /// The rules.
    pub rules: &'a RuleSet,
    /// What they conclude.
    pub conclusions: &'a Conclusions,
    /// The codes.
    pub vocabulary: &'a Vocabulary,
    /// What codes mean.
    pub titles: &'a BTreeMap<Code, String>,
    /// How frequent each code is in real encounters, to tell which absence is worth telling of.
    pub frequency: &'a [f64],
}

/// How many encounters of some records have each code.
pub fn occurrences(cohort: &Cohort, indices: &[usize], codes: usize) -> Vec<f64> {
    let mut counts = vec![0.0; codes];
    for &index in indices {
        for code in cohort.record(index).visits().skip(1).flatten() {
            counts[code.index()] += 1.0;
        }
    }
    counts
}

/// Some records of a cohort as timelines.
pub fn examples(
    timelines: &Timelines<'_>,
    cohort: &Cohort,
    indices: &[usize],
    (title, note): (&str, &str),
) -> Block {
    let record = |&index: &usize| ExampleRecord {
        title: format!("record {}", cohort.id(index)),
        source: String::new(),
        visits: (0..cohort.record(index).len())
            .map(|visit| timelines.visit(cohort, index, visit))
            .collect(),
    };
    Block::Records(Records {
        title: title.to_owned(),
        note: note.to_owned(),
        records: indices.iter().map(record).collect(),
    })
}

impl Timelines<'_> {
    /// The records that rules had most to say about, of the first so many.
    pub fn telling(&self, cohort: &Cohort, among: usize, count: usize) -> Vec<usize> {
        let mut scored: Vec<(usize, usize)> = (0..cohort.len().min(among))
            .map(|index| {
                let record = cohort.record(index);
                let forced = (0..record.len()).map(|visit| {
                    let said = self.conclusions.of(record, visit).into_iter();
                    said.filter(|one| one.probability == 1.0).count()
                });
                (forced.sum(), index)
            })
            .collect();
        scored.sort_by_key(|&(forced, index)| (std::cmp::Reverse(forced), index));
        scored.into_iter().take(count).map(|(_, index)| index).collect()
    }

    fn visit(&self, cohort: &Cohort, index: usize, visit: usize) -> ExampleVisit {
        let record = cohort.record(index);
        let here = record.visit(visit);
        let (mut demanded, mut barred) = (BTreeMap::new(), BTreeMap::new());
        for one in self.conclusions.of(record, visit) {
            match one.probability {
                1.0 => demanded.entry(one.code).or_insert(one.rule),
                0.0 => barred.entry(one.code).or_insert(one.rule),
                _ => continue,
            };
        }
        let chip = |code: Code, act: Act, rule: Option<usize>| Chip {
            code: self.vocabulary.name(code).to_owned(),
            meaning: self.titles.get(&code).cloned().unwrap_or_default(),
            act,
            rule: rule.map_or_else(String::new, |rule| statement(self.rules, rule)),
        };
        let mut chips: Vec<Chip> = here
            .iter()
            .map(|&code| match (barred.get(&code), demanded.get(&code)) {
                (Some(&rule), _) => chip(code, Act::Breaks, Some(rule)),
                (None, Some(&rule)) => chip(code, Act::Forced, Some(rule)),
                (None, None) => chip(code, Act::Free, None),
            })
            .collect();
        chips.truncate(SHOWN);
        let end = self.vocabulary.end();
        let is_here = |code: &Code| match *code == end {
            true => visit > 0 && record.ends_at(visit),
            false => here.binary_search(code).is_ok(),
        };
        let lacking = demanded.iter().filter(|(code, _)| !is_here(code));
        chips.extend(lacking.map(|(&code, &rule)| chip(code, Act::Lacking, Some(rule))));
        // Of all the absences that rules demand, those that would otherwise be likeliest.
        let mut kept: Vec<(Code, usize)> =
            barred.into_iter().filter(|(code, _)| !is_here(code) && *code != end).collect();
        kept.sort_by(|one, other| {
            let frequency = |code: Code| self.frequency.get(code.index()).copied().unwrap_or(0.0);
            frequency(other.0).total_cmp(&frequency(one.0)).then(one.0.cmp(&other.0))
        });
        chips.extend(
            kept.into_iter()
                .take(KEPT_OUT)
                .map(|(code, rule)| chip(code, Act::KeptOut, Some(rule))),
        );
        let title = match visit {
            0 => "static".to_owned(),
            number if record.ends_at(visit) => format!("encounter {number}, the last"),
            number => format!("encounter {number}"),
        };
        ExampleVisit { title, chips }
    }
}

/// Violations of each rule in some records: a count, or a mean over generations.
pub struct RuleCountsOf {
    /// Whose records they are.
    pub title: String,
    /// By the place of the rule; none where it was not judged.
    pub violations: Vec<Option<f64>>,
}

/// Every rule with its violations in the real records and in synthetic ones, both of as many records. Those
/// that real records break come first, the most often broken first: they need a look before all others.
pub fn rule_table(
    rules: &RuleSet,
    real: Option<&[Option<f64>]>,
    synthetic: &[RuleCountsOf],
    ours: usize,
    records: u64,
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
    let mut table: Vec<Rule> = rules.iter().enumerate().map(row).collect();
    table.sort_by(|one, other| {
        let broken = |rule: &Rule| rule.real.unwrap_or(0.0);
        broken(other).total_cmp(&broken(one))
    });
    let broken = table.iter().filter(|rule| rule.real.is_some_and(|count| count > 0.0)).count();
    let first = match broken {
        0 => String::new(),
        1 => " The first is broken in real records.".to_owned(),
        many => format!(" The first {} are broken in real records.", number(many as u64)),
    };
    Block::Rules(RuleTable {
        title: "Every rule".to_owned(),
        note: format!(
            "Visits that break the rule in {}, those of real records brought to as many. Soft rules \
             may be broken, and are not counted.{first}",
            count(records, "record")
        ),
        methods: synthetic.iter().map(|counts| counts.title.clone()).collect(),
        ours,
        rules: table,
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
