//! Two cohorts side by side, as a page for a reviewer.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_enforce::{Auditor, Conclusions};
use consequence_evaluate::{Correlations, Measured, Unmeasured};
use consequence_report::{
    Block, Caution, CautionKind, Cell, Column, Count, Head, Holds, Report, Row, RowKind, Section,
    Source, Statement, Table,
};
use consequence_rules::{CompileLimits, CompileOptions, RuleSet, WrittenRules, compile};

use super::cohorts::{CompareReport, Deeper};
use super::pair::Pair;
use crate::reporting::{
    Panel, RuleCountsOf, Timelines, cell, examples, histograms, program, rule_table, scatters,
    today,
};
use crate::words::{count, number};
use crate::{Error, digest, model_rules};

/// Fewer generated records than this give figures that chance moves.
const FEW: u64 = 1_000;

/// Makes the page.
pub(super) fn page(
    report: &CompareReport,
    pair: &Pair,
    rules: Option<&Arc<RuleSet>>,
) -> Result<Report, Error> {
    let page = Page { report, pair, rules };
    let mut sections = vec![page.agreement()?];
    if rules.is_some() {
        sections.insert(0, page.violations()?);
    }
    sections.push(page.lengths());
    sections.extend(report.deep.as_ref().map(|deep| page.utility(deep)));
    sections.extend(report.deep.as_ref().map(|deep| page.privacy(deep)));
    if let Some(rules) = rules {
        sections.extend(page.records(rules));
    }
    Ok(Report {
        head: page.head(),
        summary: page.summary(),
        statements: page.statements(),
        cautions: page.cautions(),
        sections,
    })
}

struct Page<'a> {
    report: &'a CompareReport,
    pair: &'a Pair,
    rules: Option<&'a Arc<RuleSet>>,
}

impl Page<'_> {
    fn head(&self) -> Head {
        let Pair { vocabulary, real, synthetic, base, generated, .. } = self.pair;
        let comparison = &self.report.comparison;
        let count = |count: u64, of: &str| Count::new(count, of);
        let mut sources = vec![
            Source {
                role: "real cohort".to_owned(),
                name: self.report.real.clone(),
                counts: vec![
                    count(real.len() as u64, "records"),
                    count(base.len() as u64, "compared with"),
                    count(self.pair.held_out.len() as u64, "held out"),
                    count(comparison.real.encounters, "encounters compared with"),
                ],
                sha256: digest::records(real, vocabulary, &[base, &self.pair.held_out]),
            },
            Source {
                role: "synthetic cohort".to_owned(),
                name: self.report.synthetic.clone(),
                counts: vec![
                    count(generated.len() as u64, "records"),
                    count(comparison.synthetic.encounters, "encounters"),
                ],
                sha256: digest::records(synthetic, vocabulary, &[generated]),
            },
        ];
        if let Some(rules) = self.rules {
            let hard = rules.rules.iter().filter(|rule| rule.is_hard()).count();
            sources.push(Source {
                role: "rules".to_owned(),
                name: self.report.files.join(", "),
                counts: vec![
                    count(hard as u64, "hard rules"),
                    count((rules.rules.len() - hard) as u64, "soft rules"),
                ],
                sha256: consequence_model::digest(model_rules::text(rules).as_bytes()),
            });
        }
        Head {
            title: "Synthetic records beside real ones".to_owned(),
            compared: format!("{} beside {}", self.report.synthetic, self.report.real),
            when: today(),
            program: program(),
            seed: None,
            facts: Vec::new(),
            sources,
        }
    }

    fn summary(&self) -> Vec<String> {
        let base = match self.report.of_train_split {
            true => "those of the train split of the real cohort",
            false => "all records of the real cohort, since it has no train split",
        };
        vec![
            format!(
                "{} synthetic records were held against {} real ones: {base}.",
                number(self.pair.generated.len() as u64),
                number(self.pair.base.len() as u64)
            ),
            "Nothing is assumed about how the synthetic records came to be. Every figure stands \
             beside the one that real records of other patients have, where there are such records."
                .to_owned(),
        ]
    }

    fn statements(&self) -> Vec<Statement> {
        let told = |holds: bool| if holds { Holds::Yes } else { Holds::No };
        let mut all = Vec::new();
        all.push(match &self.report.violations {
            Some(found) => Statement {
                text: "No synthetic record breaks a hard rule".to_owned(),
                figure: format!(
                    "{} static and {} temporal violations; {:.2}% of the records are valid",
                    number(found.static_rules.violations),
                    number(found.temporal_rules.violations),
                    found.all.valid_percent.unwrap_or(100.0)
                ),
                holds: told(found.all.violations == 0),
            },
            None => Statement {
                text: "No synthetic record breaks a hard rule".to_owned(),
                figure: String::new(),
                holds: Holds::Unknown("no rules were given".to_owned()),
            },
        });
        let fresh = self.report.fresh.as_ref();
        let close = fresh.map(|fresh| {
            let of = |one: &Correlations| [one.code.r2, one.pair.r2, one.sequence.r2];
            (of(&fresh.synthetic), of(&fresh.real))
        });
        let shown = |figures: [Option<f64>; 3]| {
            figures.map(|one| one.map_or("-".to_owned(), |one| format!("{one:.3}"))).join(" / ")
        };
        all.push(Statement {
            text: "Frequencies of codes, pairs and sequential pairs are within 0.05 of what other \
                   real records reach"
                .to_owned(),
            figure: close.map_or_else(String::new, |(synthetic, real)| {
                format!("R² {}, other real records {}", shown(synthetic), shown(real))
            }),
            holds: match close {
                Some((synthetic, real)) => told(synthetic.iter().zip(real).all(|(one, real)| {
                    real.is_none_or(|real| one.is_some_and(|one| one >= real - 0.05))
                })),
                None => Holds::Unknown("the real cohort has no held-out records".to_owned()),
            },
        });
        let Some(deep) = &self.report.deep else { return all };
        let unknown = |why: Unmeasured| Holds::Unknown(why.to_string());
        all.push(match &deep.utility {
            Measured::Measured(found) => Statement {
                text: "Models learnt from synthetic records foretell the next encounter nearly as \
                       well as those learnt from real ones (AUROC within 0.05)"
                    .to_owned(),
                figure: format!(
                    "AUROC {:.3}, from real records {:.3}",
                    found.synthetic.auroc, found.real.auroc
                ),
                holds: told(found.synthetic.auroc >= found.real.auroc - 0.05),
            },
            Measured::Unmeasured(why) => Statement {
                text: "Models learnt from synthetic records foretell the next encounter".to_owned(),
                figure: String::new(),
                holds: unknown(*why),
            },
        });
        all.push(match &deep.privacy.membership {
            Measured::Measured(found) => {
                let error = found.standard_error.unwrap_or(f64::INFINITY);
                Statement {
                    text: "Nearness to a synthetic record does not tell who was learnt from \
                           (AUROC within 1.96 standard errors of one half)"
                        .to_owned(),
                    figure: format!("AUROC {:.3}, standard error {error:.3}", found.auroc),
                    holds: told(found.auroc <= 0.5 + 1.96 * error),
                }
            }
            Measured::Unmeasured(why) => Statement {
                text: "Nearness to a synthetic record does not tell who was learnt from".to_owned(),
                figure: String::new(),
                holds: unknown(*why),
            },
        });
        all
    }

    fn cautions(&self) -> Vec<Caution> {
        let say = |kind, text: String| Caution { kind, text };
        let warnings = self.report.warnings.iter();
        let mut all: Vec<Caution> =
            warnings.map(|text| say(CautionKind::Warning, text.clone())).collect();
        let codes = &self.report.codes;
        if codes.real + codes.synthetic > 0 {
            let examples = match codes.examples.as_slice() {
                [] => String::new(),
                names => format!(" Only in the synthetic one: {}.", names.join(", ")),
            };
            all.push(say(
                CautionKind::Warning,
                format!(
                    "The cohorts have different vocabularies: {} only in the real one, {} only in \
                     the synthetic one, {} in both. A code that a cohort does not have counts as \
                     never present there.{examples}",
                    count(codes.real as u64, "code"),
                    count(codes.synthetic as u64, "code"),
                    number(codes.both as u64)
                ),
            ));
        }
        let records = self.pair.generated.len() as u64;
        if records < FEW {
            all.push(say(
                CautionKind::Warning,
                format!(
                    "There are only {}: chance alone moves most of these figures.",
                    count(records, "synthetic record")
                ),
            ));
        }
        if self.pair.held_out.is_empty() {
            all.push(say(
                CautionKind::Warning,
                "The real cohort has no held-out records, so that utility and privacy cannot be \
                 measured."
                    .to_owned(),
            ));
        }
        all.push(say(
            CautionKind::Limit,
            "Privacy figures are of attacks that are known and simple. They show what such attacks \
             gain, and are no proof that nothing else could."
                .to_owned(),
        ));
        if self.rules.is_none() {
            all.push(say(
                CautionKind::Limit,
                "No rules were given, so that nothing is said of what records must not hold."
                    .to_owned(),
            ));
        }
        all
    }

    fn violations(&self) -> Result<Section, Error> {
        let (Some(rules), Some(found)) = (self.rules, &self.report.violations) else {
            return Ok(Section::default());
        };
        let written = WrittenRules::new(Arc::clone(rules), &CompileLimits::default())
            .map_err(|error| Error::compile(rules, error))?;
        let audit = Auditor::new(&written).audit(&self.pair.real, 0, &|_| {});
        let real = rules
            .rules
            .iter()
            .zip(&audit.rules)
            .map(|(rule, finding)| rule.is_hard().then_some(finding.violations as f64));
        let real: Vec<Option<f64>> = real.collect();
        let mut hard = found.hard.iter();
        let synthetic = rules.rules.iter().map(|rule| match rule.is_hard() {
            true => hard.next().map(|rule| rule.violations as f64),
            false => None,
        });
        let synthetic =
            RuleCountsOf { title: "synthetic".to_owned(), violations: synthetic.collect() };
        let row = |title: &str, kind: &consequence_evaluate::Obeyed| {
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
                "Static rules look at one visit, temporal rules look back. A violation is a visit \
                   that breaks a rule."
                    .to_owned(),
            columns: ["rules", "number", "violations", "valid records", "% valid"]
                .map(Column::new)
                .to_vec(),
            rows: vec![
                row("static", &found.static_rules),
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
        blocks.push(rule_table(rules, Some(&real), &[synthetic], 0));
        Ok(Section::new("violations", "Are the rules kept?", blocks))
    }

    fn agreement(&self) -> Result<Section, Error> {
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
        blocks.extend(scatters(self.pair.real_sample(), &[panel], &self.pair.vocabulary)?);
        Ok(Section::new("agreement", "Do codes come as often as in real records?", blocks))
    }

    fn lengths(&self) -> Section {
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

    fn utility(&self, deep: &Deeper) -> Section {
        let block = match &deep.utility {
            Measured::Unmeasured(why) => Block::Text(format!("This cannot be measured: {why}.")),
            Measured::Measured(found) => {
                let figures = |scores: consequence_evaluate::Scores| {
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
                    left => format!(" {} could not be foretold.", count(left as u64, "code")),
                };
                Block::Table(Table {
                    title: "The next encounter, foretold".to_owned(),
                    note: format!(
                        "Is the code in the next encounter? Logistic regressions learnt from {} \
                         transitions of synthetic records and from as many of real ones, tried on \
                         {} held-out transitions.{left_out}",
                        number(found.learnt_from),
                        number(found.tried_on)
                    ),
                    columns: vec![
                        Column::new("code"),
                        Column::grouped("learnt from synthetic records", "AUROC"),
                        Column::grouped("learnt from synthetic records", "average precision"),
                        Column::grouped("learnt from real records", "AUROC"),
                        Column::grouped("learnt from real records", "average precision"),
                    ],
                    rows,
                })
            }
        };
        Section::new("utility", "What are the records good for?", vec![block])
    }

    fn privacy(&self, deep: &Deeper) -> Section {
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
                "telling train records from held-out ones by their distance to synthetic records",
            ),
            Measured::Unmeasured(why) => missing.push(format!("membership inference: {why}")),
        }
        match &found.attributes {
            Measured::Measured(one) => put(
                "attribute inference, F1",
                cell(one.from_synthetic.f1, 4, "nothing was guessed"),
                cell(one.from_held_out.f1, 4, "nothing was guessed"),
                "sensitive codes of a train record, read off the nearest synthetic record; beside: \
                 off the nearest held-out record",
            ),
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
    fn records(&self, rules: &Arc<RuleSet>) -> Option<Section> {
        // Rules that cannot all be kept can still be audited, but nothing follows from them.
        let plan = compile(Arc::clone(rules), &CompileOptions::default()).ok()?;
        let conclusions = Conclusions::new(&plan);
        let mut frequency = vec![0.0; self.pair.vocabulary.len()];
        for &place in &self.pair.base {
            for code in self.pair.real.record(place).visits().skip(1).flatten() {
                frequency[code.index()] += 1.0;
            }
        }
        let timelines = Timelines {
            rules,
            conclusions: &conclusions,
            vocabulary: &self.pair.vocabulary,
            titles: &self.pair.titles,
            frequency: &frequency,
        };
        let written = WrittenRules::new(Arc::clone(rules), &CompileLimits::default()).ok()?;
        let audit = Auditor::new(&written).audit(&self.pair.synthetic, 2, &|_| {});
        let mut broken: BTreeMap<usize, ()> = BTreeMap::new();
        for example in audit.rules.iter().flat_map(|rule| &rule.examples) {
            broken.insert(example.record, ());
        }
        let broken: Vec<usize> = broken.into_keys().take(3).collect();
        let block = match broken.is_empty() {
            false => examples(
                &timelines,
                &self.pair.synthetic,
                &broken,
                ("Records that break a rule", "The first that were found."),
            ),
            true => {
                let places = timelines.telling(&self.pair.synthetic, 500, 3);
                let note = "Of the first 500 records, those that rules had most to say about.";
                examples(&timelines, &self.pair.synthetic, &places, ("Synthetic records", note))
            }
        };
        Some(Section::new("records", "A few records", vec![block]))
    }
}
