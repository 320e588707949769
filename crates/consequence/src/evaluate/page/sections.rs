//! The sections of the page.

use std::collections::BTreeSet;
use std::sync::Arc;

use consequence_enforce::{Auditor, Conclusions};
use consequence_evaluate::{
    Correlations, GuessFigures, Measured, Obeyed, Scores, Violations, ViolationsError, violations,
};
use consequence_pipeline::pages::{
    Panel, RuleCountsOf, Timelines, cell, examples, histograms, occurrences, rule_table, scatters,
};
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{Error, Unwatched};
use consequence_report::{Block, Cell, Column, Row, RowKind, Section, Table};
use consequence_rules::{CompileLimits, CompileOptions, RuleSet, WrittenRules, compile};

use super::Page;
use crate::evaluate::cohorts::Deeper;

impl Page<'_> {
    pub(super) fn violations(&self) -> Result<Section, Error> {
        let (Some(rules), Some(found)) = (self.rules, &self.report.violations) else {
            return Ok(Section::default());
        };
        let limits = CompileLimits::default();
        let of_real =
            violations(self.pair.real_sample(), rules, &limits).map_err(|error| match error {
                ViolationsError::Rules(error) => Error::compile(rules, error),
                ViolationsError::Record(bad) => bad.into(),
            })?;
        let by_rule = |found: &Violations, scale: f64| -> Vec<Option<f64>> {
            let mut hard = found.hard.iter();
            let judged = rules.iter().map(|rule| match rule.is_hard() {
                true => hard.next().map(|rule| scale * rule.violations as f64),
                false => None,
            });
            judged.collect()
        };
        // As many as there are synthetic ones, so that the counts can be compared.
        let records = self.pair.generated.len();
        let real = by_rule(&of_real, records as f64 / self.pair.base.len().max(1) as f64);
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
        blocks.push(rule_table(rules, Some(&real), &[synthetic], 0, records as u64));
        Ok(Section::new("violations", "Are the rules kept?", blocks))
    }

    pub(super) fn agreement(&self) -> Result<Section, Error> {
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
            let few = fresh.records as u64;
            rows.push(row(
                "as many of them as follow".into(),
                few,
                &fresh.synthetic,
                RowKind::Ours,
            ));
            rows.push(row("other real records".into(), few, &fresh.real, RowKind::Reference));
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
            sample: self.pair.synthetic_sample(),
            r2,
            ours: true,
        };
        let mut blocks = vec![Block::Table(table)];
        blocks.extend(scatters(
            self.pair.real_sample(),
            &[panel],
            &self.pair.vocabulary,
            &self.pair.titles,
        )?);
        Ok(Section::new("agreement", "Do codes come as often as in real records?", blocks))
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
        let frequency = occurrences(&self.pair.real, &self.pair.base, self.pair.vocabulary.len());
        let timelines = Timelines {
            rules,
            conclusions: &conclusions,
            vocabulary: &self.pair.vocabulary,
            titles: &self.pair.titles,
            frequency: &frequency,
        };
        let written = WrittenRules::new(Arc::clone(rules), &CompileLimits::default()).ok()?;
        let audit = Auditor::new(&written).audit(&self.pair.synthetic, 2, &Unwatched);
        let found = audit.rules.iter().flat_map(|rule| &rule.examples);
        let broken: BTreeSet<usize> = found.map(|example| example.record).collect();
        let broken: Vec<usize> = broken.into_iter().take(3).collect();
        let block = match broken.is_empty() {
            false => examples(
                &timelines,
                &self.pair.synthetic,
                &broken,
                ("Records that break a rule", "The first that were found."),
            ),
            true => {
                let indices = timelines.telling(&self.pair.synthetic, 500, 3);
                let note = "Of the first 500 records, those that rules had most to say about.";
                examples(&timelines, &self.pair.synthetic, &indices, ("Synthetic records", note))
            }
        };
        Some(Section::new("records", "A few records", vec![block]))
    }
}
