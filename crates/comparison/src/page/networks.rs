//! What rules gain on one network and on another.

use consequence_report::{Block, Cell, Column, Row, Section, Table};

use super::{Page, estimate_cell};
use crate::Answer;

impl Page<'_> {
    /// What rules gain on each of two networks; none where there is one.
    pub(super) fn gains(&self) -> Option<Section> {
        let [first, second] = self.networks[..] else { return None };
        if self.report.gains.is_empty() {
            return None;
        }
        let mut columns = vec![Column::new("figure")];
        for network in [first, second] {
            let names = ["without rules", "with rules", "gain"];
            columns.extend(names.map(|name| Column::grouped(network, name)));
        }
        columns.push(Column::new(format!("on the {first} rules gain")));
        let rows = self.report.gains.iter().map(|gain| {
            let digits = match gain.unit {
                "" => 4,
                _ => 2,
            };
            let mut cells = vec![Cell::text(match gain.unit.trim() {
                "" => gain.figure.to_owned(),
                unit => format!("{} (gain in {unit})", gain.figure),
            })];
            for on in &gain.networks {
                let figures = [on.vanilla, on.ours, on.gain];
                cells.extend(figures.map(|figure| estimate_cell(Some(figure), digits, "")));
            }
            cells.push(Cell::text(match gain.less {
                Answer::Yes => "less",
                Answer::No => "more",
                Answer::Unclear => "no clear difference",
            }));
            Row::new(cells)
        });
        let table = Table {
            title: "Gain of rules".to_owned(),
            note: format!(
                "Consequence against vanilla, training by training and generation by generation. Of \
                 perplexity: {} Of the others: {}",
                self.behind_trainings(),
                self.behind()
            ),
            columns,
            rows: rows.collect(),
        };
        let findings: Vec<&str> =
            self.report.gains.iter().map(|gain| gain.finding.as_str()).collect();
        Some(Section {
            key: "networks".to_owned(),
            title: "What rules gain on each network".to_owned(),
            lead: findings.join(" "),
            blocks: vec![Block::Table(table)],
        })
    }
}
