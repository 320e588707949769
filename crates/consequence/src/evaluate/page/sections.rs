//! The sections of the page.

use std::sync::Arc;

use consequence_enforce::Conclusions;
use consequence_evaluate::{Correlations, GuessFigures, Measured, Obeyed, Scores, Violations};
use consequence_pipeline::pages::{
    Panel, RuleCountsOf, Timelines, cell, examples, histograms, rule_table, scatters,
};
use consequence_pipeline::words::{count, number};
use consequence_report::{Block, Cell, Column, Row, RowKind, Section, Table};
use consequence_rules::{CompileOptions, RuleSet, compile};

use super::Page;
use crate::evaluate::cohorts::Deeper;
use crate::evaluate::counting::Judged;
use crate::evaluate::sides::Both;
use crate::evaluate::strata::StratumRecords;

impl Page<'_> {
    pub(super) fn violations(&self) -> Section {
        let (Some(rules), Some(Judged { real: of_real, synthetic: found, .. })) =
            (self.rules, self.facts.judged)
        else {
            return Section::default();
        };
        let by_rule = |found: &Violations, scale: f64| -> Vec<Option<f64>> {
            let mut hard = found.hard.iter();
            let judged = rules.iter().map(|rule| match rule.is_hard() {
                true => hard.next().map(|rule| scale * rule.violations as f64),
                false => None,
            });
            judged.collect()
        };
        // As many as there are synthetic ones, so that the counts can be compared.
        let (records, base) = (self.facts.roles.synthetic, self.facts.roles.base());
        let real = by_rule(of_real, records as f64 / base.max(1) as f64);
        let violations = by_rule(found, 1.0);
        let synthetic = RuleCountsOf { title: "synthetic".to_owned(), violations };
        let row = |title: &str, kind: &Obeyed| {
            Row::new(vec![
                Cell::text(title),
                Cell::number(kind.rules as f64, 0),
                Cell::number(kind.violations as f64, 0),
                Cell::number(kind.valid_records as f64, 0),
                cell(kind.valid_percent, 2, "no records"),
            ])
        };
        let table = Table {
            title: "Hard rules".to_owned(),
            note:
                "Rules within a visit look at one visit, temporal rules look back. A violation is a visit \
                   that breaks a rule."
                    .to_owned(),
            columns: ["rules", "number", "violations", "valid records", "% valid"]
                .map(Column::new)
                .to_vec(),
            rows: vec![
                row("within a visit", &found.within_visit_rules),
                row("temporal", &found.temporal_rules),
                row("all", &found.all),
            ],
        };
        let mut blocks = vec![Block::Table(table)];
        if !found.soft.is_empty() {
            let rows = found.soft.iter().map(|rule| {
                Row::new(vec![
                    Cell::text(rule.rule.clone()),
                    Cell::number(rule.probability, 4),
                    cell(rule.share, 4, "its condition never holds"),
                    Cell::number(rule.visits as f64, 0),
                ])
            });
            blocks.push(Block::Table(Table {
                title: "Soft rules".to_owned(),
                note: "How often the output is as the rule says, where its condition holds."
                    .to_owned(),
                columns: ["rule", "stated", "found", "visits"].map(Column::new).to_vec(),
                rows: rows.collect(),
            }));
        }
        blocks.push(rule_table(rules, Some(&real), &[synthetic], 0, records));
        Section::new("violations", "Are the rules kept?", blocks)
    }

    pub(super) fn agreement(&self) -> Section {
        let found = &self.report.comparison;
        let row = |title: String, records: u64, one: &Correlations, kind: RowKind| {
            let mut cells = vec![Cell::text(title), Cell::number(records as f64, 0)];
            let figures = [one.code, one.pair, one.sequence];
            cells.extend(figures.map(|figure| cell(figure.r2, 4, "nothing to compare")));
            Row::new(cells).of_kind(kind)
        };
        let records = found.synthetic.records;
        let mut rows = vec![
            row("synthetic records".to_owned(), records, &found.all, RowKind::Ours),
            row("synthetic, rare codes".to_owned(), records, &found.rare, RowKind::Ours),
        ];
        if let Some(fresh) = &self.report.fresh {
            let (few, real) = (fresh.synthetic_records, fresh.records);
            rows.push(row(
                "about as many of them as follow".into(),
                few,
                &fresh.synthetic,
                RowKind::Ours,
            ));
            rows.push(row("other real records".into(), real, &fresh.real, RowKind::Reference));
        }
        let table = Table {
            title: "R² of frequencies".to_owned(),
            note: format!(
                "1 - SS(real - synthetic) / SS(real - mean) over everything seen in either cohort; \
                 1 is full agreement. Rare codes are in less than {}% of the real encounters.",
                100.0 * found.rare_below
            ),
            columns: ["", "records", "codes", "pairs", "sequential pairs"]
                .map(Column::new)
                .to_vec(),
            rows,
        };
        let r2 = [found.all.code.r2, found.all.pair.r2, found.all.sequence.r2];
        let panel = Panel {
            title: "synthetic".to_owned(),
            counted: &self.facts.frequencies.synthetic,
            r2,
            ours: true,
        };
        let mut blocks = vec![Block::Table(table)];
        let Both { vocabulary, titles, .. } = self.facts.both;
        let real = self.facts.frequencies.reference.real();
        blocks.extend(scatters(real, &[panel], vocabulary, titles));
        Section::new("agreement", "Do codes come as often as in real records?", blocks)
    }

    pub(super) fn lengths(&self) -> Section {
        let found = &self.report.comparison;
        let share = |records: u64, of: u64| 100.0 * records as f64 / of.max(1) as f64;
        let codes = found.real.static_codes.iter().zip(&found.synthetic.static_codes);
        let rows = codes.map(|(real, synthetic)| {
            Row::new(vec![
                Cell::text(real.code.clone()),
                Cell::number(share(real.records, found.real.records), 1),
                Cell::number(share(synthetic.records, found.synthetic.records), 1),
            ])
        });
        let table = Table {
            title: "Age, sex and other static codes".to_owned(),
            note: "The share of records that have the code, in percent.".to_owned(),
            columns: ["static code", "real", "synthetic"].map(Column::new).to_vec(),
            rows: rows.collect(),
        };
        let shapes = [("synthetic".to_owned(), &found.synthetic)];
        Section::new(
            "lengths",
            "How long are records, and who is in them?",
            vec![histograms(&found.real, &shapes), Block::Table(table)],
        )
    }

    /// Patients of groups; none if no group was asked for.
    pub(super) fn groups(&self) -> Option<Section> {
        let strata = &self.report.strata;
        if strata.is_empty() {
            return None;
        }
        let rows = strata.iter().flat_map(|stratum| {
            let row = |title: &str, counted: StratumRecords, found: Option<Correlations>, kind| {
                let mut cells = vec![
                    Cell::text(title),
                    Cell::number(counted.records as f64, 0),
                    Cell::number(counted.percent(), 2),
                ];
                let figures = found.map(|one| [one.code.r2, one.pair.r2, one.sequence.r2]);
                let why =
                    if kind == RowKind::Ordinary { "what is compared with" } else { "too few" };
                cells.extend(figures.unwrap_or_default().map(|figure| cell(figure, 4, why)));
                Row::new(cells).of_kind(kind)
            };
            let (real, synthetic) = (format!("{}, real", stratum.name), stratum.synthetic);
            let mut rows = vec![
                row(&real, stratum.real, None, RowKind::Ordinary),
                row("synthetic", synthetic, stratum.agreement, RowKind::Ours),
            ];
            rows.extend(stratum.fresh.map(|fresh| {
                row("other real records", fresh, stratum.fresh_agreement, RowKind::Reference)
            }));
            rows
        });
        let table = Table {
            title: "Groups of patients".to_owned(),
            note: "A patient is of a group if its name is true at some visit. The share is that of all \
                   records, in percent; R² is of frequencies within the group."
                .to_owned(),
            columns: ["group", "records", "share", "codes", "pairs", "sequential pairs"]
                .map(Column::new)
                .to_vec(),
            rows: rows.collect(),
        };
        Some(Section::new("groups", "Are groups of patients alike?", vec![Block::Table(table)]))
    }

    pub(super) fn utility(&self, deep: &Deeper) -> Section {
        let block = match &deep.utility {
            Measured::Unmeasured(why) => Block::Text(format!("This cannot be measured: {why}.")),
            Measured::Measured(found) => {
                let figures = |scores: Scores| {
                    [Cell::number(scores.auroc, 4), Cell::number(scores.average_precision, 4)]
                };
                let row = |title: &str, synthetic, real, kind| {
                    let mut cells = vec![Cell::text(title)];
                    cells.extend(figures(synthetic));
                    cells.extend(figures(real));
                    Row::new(cells).of_kind(kind)
                };
                let mut rows =
                    vec![row("mean of the codes", found.synthetic, found.real, RowKind::Ours)];
                rows.extend(found.codes.iter().map(|code| {
                    let (synthetic, real) = (code.synthetic.scores, code.real.scores);
                    row(&code.code, synthetic, real, RowKind::Ordinary)
                }));
                let left_out = match found.left_out.len() {
                    0 => String::new(),
                    left => format!(" {} could not be predicted.", count(left as u64, "code")),
                };
                Block::Table(Table {
                    title: "The next encounter, predicted".to_owned(),
                    note: format!(
                        "Is the code in the next encounter? Logistic regressions trained on {} \
                         transitions of synthetic records and from as many of real ones, tried on \
                         {} held-out transitions.{left_out}",
                        number(found.trained_on),
                        number(found.tried_on)
                    ),
                    columns: vec![
                        Column::new("code"),
                        Column::grouped("trained on synthetic records", "AUROC"),
                        Column::grouped("trained on synthetic records", "average precision"),
                        Column::grouped("trained on real records", "AUROC"),
                        Column::grouped("trained on real records", "average precision"),
                    ],
                    rows,
                })
            }
        };
        Section::new("utility", "What are the records good for?", vec![block])
    }

    pub(super) fn privacy(&self, deep: &Deeper) -> Section {
        let found = &deep.privacy;
        let mut rows = Vec::new();
        let mut missing = Vec::new();
        let mut put = |title: &str, figure: Cell, expected: Cell, how: &str| {
            rows.push(Row::new(vec![Cell::text(title), figure, expected, Cell::text(how)]));
        };
        match &found.closest {
            Measured::Measured(one) => {
                put(
                    "nearer to a train record",
                    Cell::number(one.closer_to_train, 4),
                    Cell::number(one.expected, 1),
                    "the share of synthetic records nearer to a train record than to any held-out one",
                );
                put(
                    "copies",
                    Cell::number(one.to_train.copies as f64, 0),
                    Cell::number(one.to_held_out.copies as f64, 0),
                    "synthetic records with exactly the codes of a train record; beside: of a \
                     held-out one",
                );
                put(
                    "median distance",
                    Cell::number(one.to_train.median, 4),
                    Cell::number(one.to_held_out.median, 4),
                    "Jaccard distance to the nearest train record; beside: to the nearest held-out one",
                );
                put(
                    "5th percentile of the distance",
                    Cell::number(one.to_train.fifth_percentile, 4),
                    Cell::number(one.to_held_out.fifth_percentile, 4),
                    "the same for the nearest twentieth",
                );
            }
            Measured::Unmeasured(why) => missing.push(format!("closest records: {why}")),
        }
        match &found.membership {
            Measured::Measured(one) => put(
                "membership inference, AUROC",
                Cell::interval(one.auroc, one.standard_error.map(|error| 1.96 * error), 4),
                Cell::number(one.expected, 1),
                "telling train records from held-out ones by their distance to synthetic records; \
                 ± is 1.96 standard errors",
            ),
            Measured::Unmeasured(why) => missing.push(format!("membership inference: {why}")),
        }
        match &found.attributes {
            Measured::Measured(one) => {
                let f1 = |figures: &GuessFigures| cell(figures.f1, 4, "nothing was guessed");
                put(
                    "attribute inference, F1",
                    f1(&one.from_synthetic),
                    f1(&one.from_held_out),
                    "sensitive codes of a train record, read off the nearest synthetic record; beside: \
                     off the nearest held-out record",
                );
                put(
                    "the same of people not trained on",
                    f1(&one.of_held_out),
                    f1(&one.from_held_out),
                    "sensitive codes of a held-out record, read off the nearest synthetic record: what can \
                     be guessed of anyone is not given away",
                );
            }
            Measured::Unmeasured(why) => missing.push(format!("attribute inference: {why}")),
        }
        let mut blocks: Vec<Block> = missing
            .into_iter()
            .map(|text| Block::Text(format!("This cannot be measured: {text}.")))
            .collect();
        blocks.push(Block::Table(Table {
            title: "What the records give away".to_owned(),
            note: format!(
                "{} synthetic records, {} train records and as many held-out ones. A record is the \
                 set of its codes.",
                number(found.synthetic_records),
                number(found.real_records)
            ),
            columns: ["attack", "here", "without copying anybody", "what it is"]
                .map(Column::new)
                .to_vec(),
            rows,
        }));
        Section::new("privacy", "What do the records give away?", blocks)
    }

    /// Records that break a rule, or else such that rules speak of.
    pub(super) fn records(&self, rules: &Arc<RuleSet>) -> Option<Section> {
        let Ok(plan) = compile(Arc::clone(rules), &CompileOptions::default()) else {
            // Rules that cannot all be kept can still be audited, but nothing follows from them.
            let why =
                "No records are shown: the rules cannot all be kept, so that none acts alone.";
            let blocks = vec![Block::Text(why.to_owned())];
            return Some(Section::new("records", "A few records", blocks));
        };
        let conclusions = Conclusions::new(&plan);
        let (both, shown) = (self.facts.both, &self.facts.shown);
        let timelines = Timelines {
            rules,
            conclusions: &conclusions,
            vocabulary: &both.vocabulary,
            titles: &both.titles,
            frequency: &shown.occurrences,
        };
        let records = &shown.records;
        let block = match shown.break_rules {
            true => {
                let all: Vec<usize> = (0..records.len()).collect();
                let note = "Some of them, whichever.";
                examples(&timelines, records, &all, ("Records that break a rule", note))
            }
            false => {
                let indices = timelines.telling(records, records.len(), 3);
                let note = format!(
                    "Of {}, those that rules had most to say about.",
                    count(records.len() as u64, "record")
                );
                examples(&timelines, records, &indices, ("Synthetic records", &note))
            }
        };
        Some(Section::new("records", "A few records", vec![block]))
    }
}
