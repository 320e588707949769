//! Who keeps the rules, and whose findings hold.

use std::collections::BTreeMap;

use consequence_baselines::Method;
use consequence_evaluate::{HardRule, violations};
use consequence_pipeline::pages::{RuleCountsOf, measure, rule_table};
use consequence_pipeline::words::number;
use consequence_record::Selection;
use consequence_report::{
    Bar, BarPanel, Bars, Better, Block, Cell, Column, Findings, Row, ScaleKind, Section, Table,
    Verdict,
};
use consequence_rules::CompileLimits;

use super::{Page, estimate_cell};
use crate::{Estimate, MethodFigures};

impl Page<'_> {
    pub(super) fn violations(&self) -> Section {
        let mut table = Table {
            title: "Violations".to_owned(),
            note: format!(
                "In {} records; rules within a visit look at one visit (the paper calls them static), temporal rules look back. The \
                 paper's figures are of 10,000 records of {}. {}",
                number(self.report.effort.records),
                self.paper_cohort().title(),
                self.behind()
            ),
            columns: vec![
                Column::new("method"),
                Column::grouped("here", "within a visit"),
                Column::grouped("here", "temporal"),
                Column::grouped("here", "% valid"),
                Column::grouped("paper", "within a visit"),
                Column::grouped("paper", "temporal"),
                Column::grouped("paper", "% valid"),
            ],
            rows: Vec::new(),
        };
        let mut bars = [Vec::new(), Vec::new()];
        for (figures, said, ours) in self.rows() {
            let found = &figures.generation;
            table.rows.push(self.row(
                ours,
                vec![
                    Cell::text(&figures.title),
                    estimate_cell(found.within_visit_violations, 1, "not measured"),
                    estimate_cell(found.temporal_violations, 1, "not measured"),
                    estimate_cell(found.valid_percent, 2, "not measured"),
                    Cell::number(said.violations[0], 1),
                    Cell::number(said.violations[1], 1),
                    Cell::number(said.valid_percent, 1),
                ],
            ));
            let kinds = [found.within_visit_violations, found.temporal_violations];
            for ((bars, kind), said) in bars.iter_mut().zip(kinds).zip(said.violations) {
                bars.push(Bar {
                    label: figures.title.clone(),
                    value: measure(kind.map(Estimate::interval)),
                    reference: Some(said),
                    ours,
                });
            }
        }
        for (column, better) in [(1, Better::Lower), (2, Better::Lower), (3, Better::Higher)] {
            table.mark_best(column, better);
        }
        let titles = ["rules within a visit", "temporal rules"];
        let panel = |(title, bars): (&str, Vec<Bar>)| BarPanel {
            title: format!("Violations of {title}"),
            scale: ScaleKind::SquareRoot,
            digits: 1,
            reference: "the paper".to_owned(),
            bars,
        };
        let plot = Bars {
            title: "Violations".to_owned(),
            note: self.behind(),
            panels: titles.into_iter().zip(bars).map(panel).collect(),
        };
        let rules = &self.arena.rules;
        let counts = |broken: &dyn Fn(usize) -> Option<f64>| -> Vec<Option<f64>> {
            let judged = |index: usize| match rules[index].is_hard() {
                true => Some(broken(index).unwrap_or(0.0)),
                false => None,
            };
            (0..rules.len()).map(judged).collect()
        };
        // As many as a generation has, so that the counts can be compared.
        let train = Selection::new(&self.arena.cohort, &self.arena.train);
        let found = violations(train, rules, &CompileLimits::default());
        let scale = self.report.effort.records as f64 / self.arena.train.len() as f64;
        let found: BTreeMap<String, f64> = found.map_or_else(
            |_| BTreeMap::new(),
            |found| {
                let scaled = |rule: HardRule| (rule.rule, scale * rule.violations as f64);
                found.hard.into_iter().map(scaled).collect()
            },
        );
        let real = counts(&|index| found.get(&*rules[index].name).copied());
        let synthetic: Vec<RuleCountsOf> = self
            .report
            .methods
            .iter()
            .map(|figures| RuleCountsOf {
                title: figures.title.clone(),
                violations: counts(&|index| figures.broken.get(&*rules[index].name).copied()),
            })
            .collect();
        let ours = self
            .contestants
            .iter()
            .position(|one| one.method == Method::Consequence && !one.beside);
        Section {
            key: "violations".to_owned(),
            title: "Who keeps the rules".to_owned(),
            lead: "Only a method that promises to keep every rule should have a row of zeros."
                .to_owned(),
            blocks: vec![
                Block::Table(table),
                Block::Bars(plot),
                rule_table(
                    rules,
                    Some(&real),
                    &synthetic,
                    ours.unwrap_or(0),
                    self.report.effort.records,
                ),
            ],
        }
    }

    pub(super) fn findings(&self) -> Section {
        let count = |wanted: fn(&Verdict) -> bool| {
            self.report.findings.iter().filter(|finding| wanted(&finding.verdict)).count()
        };
        let confirmed = count(|verdict| *verdict == Verdict::Confirmed);
        let contradicted = count(|verdict| *verdict == Verdict::Contradicted);
        let unclear = count(|verdict| *verdict == Verdict::Unclear);
        Section {
            key: "findings".to_owned(),
            title: "The paper's findings, one by one".to_owned(),
            lead: format!(
                "{confirmed} seen again here, {contradicted} not, and of {unclear} the intervals \
                 overlap: no clear difference. The paper's figures are those of {}; those here are \
                 of the {}.",
                self.paper_cohort().title(),
                self.networks[0]
            ),
            blocks: vec![Block::Findings(Findings {
                title: "Findings of ConSequence (AAAI 2024)".to_owned(),
                note: String::new(),
                findings: self.report.findings.clone(),
            })],
        }
    }

    pub(super) fn methods(&self) -> Section {
        let row = |figures: &MethodFigures| {
            let unexpressed = match figures.unexpressed.len() {
                0 => String::new(),
                count => format!("{count} of these rules it cannot express."),
            };
            Row::new(vec![
                Cell::text(&figures.title),
                Cell::text(figures.reach),
                Cell::text(unexpressed),
                Cell::number(figures.training.parameters as f64, 0),
            ])
        };
        let table = Table {
            title: "The methods".to_owned(),
            note:
                "All but the published one decide codes in the order that the rules ask for; that \
                   one in the order of the vocabulary."
                    .to_owned(),
            columns: vec![
                Column::new("method"),
                Column::new("rules it can express"),
                Column::new("here"),
                Column::new("parameters"),
            ],
            rows: self.report.methods.iter().map(row).collect(),
        };
        Section::new("methods", "What each method can do", vec![Block::Table(table)])
    }
}
