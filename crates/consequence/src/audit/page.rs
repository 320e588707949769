//! What an audit found, as a page.

use std::collections::BTreeSet;

use consequence_pipeline::pages::{program, today};
use consequence_pipeline::words::{count, number, percent};
use consequence_report::{
    Act, Block, Caution, CautionKind, Cell, Chip, Column, Count, ExampleRecord, ExampleVisit, Head,
    Holds, Records, Report, Row, Section, Source, Statement, Table,
};
use consequence_rules::RuleSet;

use super::{AuditReport, BrokenRule, ExplainedRecord};
use crate::look::ReadCode;

/// Records that are shown as timelines at most, and encounters of each.
const RECORDS: usize = 12;
const VISITS: usize = 8;
/// Rules that are listed at most.
const RULES: usize = 2_000;

impl AuditReport {
    /// The page; `explain` gives a record by its index.
    pub(super) fn page(&self, set: &RuleSet, explain: &dyn Fn(usize) -> ExplainedRecord) -> Report {
        let split = self.split.map_or_else(String::new, |split| format!(", {split} split"));
        let mut cautions: Vec<Caution> = (self.warnings.iter())
            .map(|text| Caution { kind: CautionKind::Warning, text: text.clone() })
            .collect();
        if self.hidden_rules > 0 {
            let (rules, least) =
                (count(self.hidden_rules as u64, "rule"), count(self.hide_below, "record"));
            let text =
                format!("{rules} broken by fewer than {least}: not told, and counted nowhere.");
            cautions.push(Caution { kind: CautionKind::Limit, text });
        }
        let cohort = Source {
            role: "cohort".to_owned(),
            name: self.cohort.clone(),
            counts: vec![
                Count::new(self.records, "records"),
                Count::new(self.encounters, "encounters"),
            ],
            sha256: String::new(),
        };
        let rules = self.files.iter().map(|file| Source {
            role: "rules".to_owned(),
            name: file.clone(),
            ..Source::default()
        });
        let mut sections = Vec::new();
        if !self.broken.is_empty() {
            sections.push(self.broken_rules());
            sections.extend(self.examples(explain));
        }
        sections.push(self.kept_rules(set));
        Report {
            head: Head {
                title: format!("Audit of {}{split}", self.cohort),
                compared: format!(
                    "{} and {}, held against {}.",
                    count(self.records, "record"),
                    count(self.encounters, "encounter"),
                    count(self.rules_checked as u64, "hard rule")
                ),
                when: today(),
                program: program(),
                sources: [cohort].into_iter().chain(rules).collect(),
                ..Head::default()
            },
            statements: self.statements(),
            cautions,
            sections,
            ..Report::default()
        }
    }

    fn statements(&self) -> Vec<Statement> {
        let holds =
            if self.violations() + self.hidden_rules as u64 == 0 { Holds::Yes } else { Holds::No };
        let mut statements = vec![Statement {
            text: "Every record obeys every hard rule.".to_owned(),
            figure: format!(
                "{} valid ({} of {})",
                percent(self.valid_records, self.records),
                number(self.valid_records),
                number(self.records)
            ),
            holds,
        }];
        if self.refereed {
            statements.push(Statement {
                text:
                    "A second judge, which shares no code with the first, agrees on every record."
                        .to_owned(),
                figure: count(self.records, "record"),
                holds: Holds::Yes,
            });
        }
        statements
    }

    fn broken_rules(&self) -> Section {
        let row = |one: &BrokenRule| {
            let counts = [one.violations, one.records].map(|many| Cell::number(many as f64, 0));
            let share = 100.0 * one.records as f64 / self.records.max(1) as f64;
            let why = Cell::text(one.reason.clone().unwrap_or_default());
            let says = Cell::text(statement(&one.rule.name, &one.rule.text));
            let counts = [counts.to_vec(), vec![Cell::number(share, 1)]].concat();
            Row::new([vec![Cell::text(&one.rule.name)], counts, vec![says, why]].concat())
        };
        let columns =
            ["rule", "violations", "records", "% of all", "what it says", "why it is there"];
        let table = Table {
            title: "Broken rules".to_owned(),
            note: "Violations are visits.".to_owned(),
            columns: columns.map(Column::new).to_vec(),
            rows: self.broken.iter().take(RULES).map(row).collect(),
        };
        let mut section = Section::new("broken", "Broken rules", vec![Block::Table(table)]);
        section.lead = format!(
            "{}: {} of rules within a visit, {} of rules looking back.",
            count(self.violations(), "violation"),
            number(self.within_visit_violations),
            number(self.temporal_violations)
        );
        section
    }

    /// Records that break rules: the first of each rule, as far as there is room.
    fn examples(&self, explain: &dyn Fn(usize) -> ExplainedRecord) -> Option<Section> {
        let first = self.broken.iter().filter_map(|rule| rule.examples.first());
        let mut indices: Vec<usize> = first.map(|example| example.record - 1).collect();
        let mut known = BTreeSet::new();
        indices.retain(|&index| known.insert(index));
        indices.truncate(RECORDS);
        if indices.is_empty() {
            return None;
        }
        let records: Vec<ExplainedRecord> = indices.into_iter().map(explain).collect();
        let timelines = Records {
            title: "Records that break rules".to_owned(),
            note: "The first record of each rule; visits that break none may be left out. Point at a code to \
                   see what it means."
                .to_owned(),
            records: records.iter().map(timeline).collect(),
        };
        let rows = records.iter().flat_map(|one| {
            one.violations.iter().filter(|violation| self.tells(violation)).map(|violation| {
                let visit = match violation.visit {
                    0 => "static".to_owned(),
                    visit => format!("visit {visit}"),
                };
                let date = violation.date.as_ref().map_or_else(String::new, |at| format!(", {at}"));
                let place = format!("{}, {visit}{date}", title(one));
                let words = [place, violation.rule.clone(), violation.to_string()];
                Row::new(words.map(Cell::text).to_vec())
            })
        });
        let table = Table {
            title: "What breaks them".to_owned(),
            columns: ["where", "rule", "the visit"].map(Column::new).to_vec(),
            rows: rows.collect(),
            ..Table::default()
        };
        let blocks = vec![Block::Table(table), Block::Records(timelines)];
        Some(Section::new("examples", "Examples", blocks))
    }

    fn kept_rules(&self, set: &RuleSet) -> Section {
        let broken: BTreeSet<(&str, u32)> =
            self.broken.iter().map(|one| (one.rule.name.as_str(), one.rule.line)).collect();
        let kept = set
            .iter()
            .filter(|rule| rule.is_hard() && !broken.contains(&(&*rule.name, rule.origin.line)));
        let rows: Vec<Row> = kept
            .map(|rule| {
                let says = statement(&rule.name, &rule.origin.text);
                Row::new(vec![Cell::text(&*rule.name), Cell::text(says)])
            })
            .collect();
        // Which of them are broken by a few records must not be told by leaving them out.
        if self.hidden_rules > 0 || rows.is_empty() {
            let text = match self.hidden_rules {
                0 => "Every hard rule is broken by some record.".to_owned(),
                _ => "They are not listed, as that would tell which rules few records break."
                    .to_owned(),
            };
            return Section::new("kept", "Rules that hold", vec![Block::Text(text)]);
        }
        let kept = rows.len();
        let table = Table {
            title: "Broken by no record".to_owned(),
            columns: ["rule", "what it says"].map(Column::new).to_vec(),
            rows: rows.into_iter().take(RULES).collect(),
            ..Table::default()
        };
        let mut section = Section::new("kept", "Rules that hold", vec![Block::Table(table)]);
        section.lead = format!("{} broken by no record.", count(kept as u64, "rule"));
        section
    }
}

/// What a rule says, without its name.
fn statement<'a>(name: &str, text: &'a str) -> &'a str {
    let named = text.strip_prefix("rule ").and_then(|text| text.trim_start().strip_prefix(name));
    named.and_then(|text| text.trim_start().strip_prefix(':')).map_or(text, str::trim)
}

fn title(explained: &ExplainedRecord) -> String {
    let record = &explained.record;
    match &record.id {
        Some(id) => format!("record {} ({id})", record.record),
        None => format!("record {}", record.record),
    }
}

/// A record with the codes that break rules in it marked.
fn timeline(explained: &ExplainedRecord) -> ExampleRecord {
    let ExplainedRecord { record, violations } = explained;
    let chips = |visit: usize, codes: &[ReadCode]| -> Vec<Chip> {
        let breaks = |code: &str| {
            let with = violations.iter().find(|one| {
                one.has.iter().any(|present| present.visit == visit && present.code == code)
            });
            with.map(|one| one.rule.clone())
        };
        let chip = |one: &ReadCode| {
            let rule = breaks(&one.code);
            let act = if rule.is_some() { Act::Breaks } else { Act::Free };
            let measured = one.measured().map(|value| format!(" {value}")).unwrap_or_default();
            Chip {
                code: format!("{}{measured}", one.code),
                meaning: one.title.clone().unwrap_or_default(),
                act,
                rule: rule.unwrap_or_default(),
            }
        };
        let lacking = violations.iter().filter(|one| one.visit == visit);
        let lacking = lacking.flat_map(|one| {
            let missing = one.lacks.iter().filter(|missing| missing.window.is_none()).take(4);
            missing.map(|missing| Chip {
                code: missing.code.clone(),
                meaning: missing.title.clone().unwrap_or_default(),
                act: Act::Lacking,
                rule: one.rule.clone(),
            })
        });
        codes.iter().map(chip).chain(lacking).collect()
    };
    let mut visits =
        vec![ExampleVisit { title: "static".to_owned(), chips: chips(0, &record.statics) }];
    let telling = |visit: usize| {
        violations
            .iter()
            .any(|one| one.visit == visit || one.has.iter().any(|present| present.visit == visit))
    };
    let short = record.visits.len() <= VISITS;
    let shown = record.visits.iter().filter(|visit| short || telling(visit.visit)).take(VISITS);
    visits.extend(shown.map(|visit| ExampleVisit {
        title: visit.to_string(),
        chips: chips(visit.visit, &visit.codes),
    }));
    ExampleRecord {
        title: title(explained),
        source: count(record.visits.len() as u64, "encounter"),
        visits,
    }
}
