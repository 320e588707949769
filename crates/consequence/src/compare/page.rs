//! The comparison as a page to read: the paper's tables and figures, and what became of its findings.

use std::collections::BTreeMap;

use consequence_baselines::Method;
use consequence_enforce::Conclusions;
use consequence_evaluate::{CohortShape, CompareOptions, Interval, Sample, compare};
use consequence_model::Network;
use consequence_record::Cohort;
use consequence_report::{
    Bar, BarPanel, Bars, Better, Block, Caution, CautionKind, Cell, Column, Count, Findings, Head,
    Holds, LinePanel, LineSeries, Lines, Measure, Report, Row, RowKind, ScaleKind, Section, Source,
    Statement, Table, Verdict,
};

use super::arena::Arena;
use super::contestant::Contestant;
use super::paper::{PaperCohort, PaperFigures, published};
use super::{MethodFigures, MethodsReport, MethodsTask, run_seed};
use crate::Error;
use crate::reporting::{
    Panel, RuleCountsOf, Timelines, cell, examples, histograms, interval_cell, measure, program,
    rule_table, scatters, today,
};
use crate::words::number;

/// Records of one generation that plots are made of; they need no more.
const PLOTTED: u64 = 10_000;

/// Makes the page of a comparison. What plots need is generated again: records depend on their seed
/// alone.
pub(super) fn page(
    report: &MethodsReport,
    arena: &Arena,
    contestants: &[Contestant],
    networks: &[Network],
    task: &MethodsTask,
) -> Result<Report, Error> {
    let records = task.effort.records.min(PLOTTED);
    let cohorts: Vec<Cohort> = contestants
        .iter()
        .zip(networks)
        .map(|(one, network)| {
            Ok(one.generate(arena, network, (run_seed(task, 0), records))?.cohort)
        })
        .collect::<Result<_, Error>>()?;
    let page = Page { report, arena, contestants };
    Ok(Report {
        head: page.head(),
        summary: page.summary(),
        statements: page.statements(),
        cautions: page.cautions(),
        sections: vec![
            page.violations(&cohorts),
            page.foresight(),
            page.correlations(&cohorts)?,
            page.clock(),
            page.utility_and_privacy(),
            page.findings(),
            page.lengths(&cohorts)?,
            page.records(&cohorts),
            page.methods(),
        ],
    })
}

struct Page<'a> {
    report: &'a MethodsReport,
    arena: &'a Arena,
    contestants: &'a [Contestant],
}

impl Page<'_> {
    fn paper_cohort(&self) -> PaperCohort {
        PaperCohort::like(self.report.records.mean_encounters)
    }

    /// The methods with what was measured of them and what the paper says.
    fn rows(&self) -> impl Iterator<Item = (&MethodFigures, PaperFigures, bool)> {
        self.contestants.iter().zip(&self.report.methods).map(|(contestant, figures)| {
            let said = published(contestant.method, self.paper_cohort());
            (figures, said, contestant.method == Method::Consequence)
        })
    }

    fn row(&self, ours: bool, cells: Vec<Cell>) -> Row {
        let row = Row::new(cells);
        if ours { row.of_kind(RowKind::Ours) } else { row }
    }

    fn of(&self, method: Method) -> Option<&MethodFigures> {
        self.report.methods.iter().find(|figures| figures.method == method.name())
    }

    fn head(&self) -> Head {
        let MethodsReport { records, effort, rules, .. } = self.report;
        let count = |count: usize, of: &str| Count::new(count as u64, of);
        Head {
            title: "Methods compared".to_owned(),
            compared: format!(
                "{} methods that keep medical rules, each on the same HALO network, trained on {} and \
                 asked for {} records, {} times over.",
                self.report.methods.len(),
                self.report.cohort,
                number(effort.records),
                effort.runs
            ),
            when: today(),
            program: program(),
            seed: Some(self.report.seed),
            facts: vec![
                ("threads".to_owned(), self.report.threads.to_string()),
                ("generations of each method".to_owned(), effort.runs.to_string()),
                ("records of each".to_owned(), number(effort.records)),
            ],
            sources: vec![
                Source {
                    role: "real cohort".to_owned(),
                    name: self.report.cohort.clone(),
                    counts: vec![
                        count(records.train, "train records"),
                        count(records.tuning, "tuning records"),
                        count(records.held_out, "held-out records"),
                        count(records.codes, "codes"),
                    ],
                    sha256: self.report.digests[0].clone(),
                },
                Source {
                    role: if self.report.mined { "rules, mined" } else { "rules" }.to_owned(),
                    name: self.report.files.join(", "),
                    counts: vec![
                        count(rules.static_rules, "static rules"),
                        count(rules.temporal_rules, "temporal rules"),
                        count(rules.soft_rules, "soft rules"),
                    ],
                    sha256: self.report.digests[1].clone(),
                },
            ],
        }
    }

    fn summary(&self) -> Vec<String> {
        let MethodsReport { records, effort, .. } = self.report;
        vec![
            format!(
                "Each method learnt from the same {} records with the same network, the same \
                 settings and the same number of epochs at most. Then each wrote {} records, {} \
                 times over with other seeds. Every generated figure is the mean of these \
                 generations, with 1.96 standard errors on each side, as in the paper.",
                number(records.train as u64),
                number(effort.records),
                effort.runs
            ),
            format!(
                "A record is valid if it breaks no hard rule. Perplexity is that of the {} held-out \
                 records that break none ({} do), so that every method can foresee all of them.",
                number(records.foreseen as u64),
                number((records.held_out - records.foreseen) as u64)
            ),
        ]
    }

    /// What this program promises, checked.
    fn statements(&self) -> Vec<Statement> {
        let missing = || Holds::Unknown("the methods were not measured".to_owned());
        let told = |holds: bool| if holds { Holds::Yes } else { Holds::No };
        let (ours, plain) = (self.of(Method::Consequence), self.of(Method::Vanilla));
        let both = ours.zip(plain);
        let mut all = Vec::new();
        for method in [Method::Consequence, Method::PostProcessing] {
            let broken = self.of(method).map(|one| one.broken.values().sum::<f64>());
            let records = self.report.effort.records * u64::from(self.report.effort.runs);
            all.push(Statement {
                text: format!("Records by {} break no hard rule", method.title()),
                figure: broken.map_or_else(String::new, |broken| {
                    let broken = (broken * f64::from(self.report.effort.runs)).round();
                    format!("{broken} violations in {} records", number(records))
                }),
                holds: broken.map_or_else(missing, |broken| told(broken == 0.0)),
            });
        }
        let perplexity = both.and_then(|(ours, plain)| {
            let of = |one: &MethodFigures| one.foresight.as_ref()?.perplexity;
            of(ours).zip(of(plain))
        });
        all.push(Statement {
            text: "With rules the network foresees held-out records at least as well as without"
                .to_owned(),
            figure: perplexity.map_or_else(String::new, |(ours, plain)| {
                format!("perplexity {ours:.3}, without rules {plain:.3}")
            }),
            holds: perplexity.map_or_else(missing, |(ours, plain)| told(ours <= plain)),
        });
        let correlated = both.and_then(|(ours, plain)| {
            let of = |one: &MethodFigures| -> Option<[Interval; 3]> {
                let [code, pair, sequence] = one.generation.r2;
                Some([code?, pair?, sequence?])
            };
            of(ours).zip(of(plain))
        });
        let shown = |figures: [Interval; 3]| {
            figures.map(|figure| format!("{:.4}", figure.mean)).join(" / ")
        };
        all.push(Statement {
            text: "Frequencies of codes, pairs and sequential pairs are at least as close to the \
                   real ones as without rules"
                .to_owned(),
            figure: correlated.map_or_else(String::new, |(ours, plain)| {
                format!("R² {}, without rules {}", shown(ours), shown(plain))
            }),
            holds: correlated.map_or_else(missing, |(ours, plain)| {
                told(ours.iter().zip(plain).all(|(ours, plain)| ours.mean >= plain.mean))
            }),
        });
        let slower = ours.and_then(|ours| ours.generation.median_times_vanilla);
        all.push(Statement {
            text: "Rules slow generation down by at most 1%".to_owned(),
            figure: slower.map_or_else(String::new, |times| {
                format!("{:+.2}% (middle of the generations)", 100.0 * (times - 1.0))
            }),
            holds: slower.map_or_else(missing, |times| told(times <= 1.01)),
        });
        all
    }

    fn cautions(&self) -> Vec<Caution> {
        let say = |kind, text: &str| Caution { kind, text: text.to_owned() };
        let mut all: Vec<Caution> =
            self.report.warnings.iter().map(|text| say(CautionKind::Warning, text)).collect();
        let effort = &self.report.effort;
        if effort.runs < 25 || effort.records < 10_000 {
            let text = format!(
                "{} generations of {} records: the paper has 25 of 10,000, so that its intervals \
                 are narrower.",
                effort.runs,
                number(effort.records)
            );
            all.push(say(CautionKind::Warning, &text));
        }
        all.push(say(
            CautionKind::Limit,
            "The intervals are about repeated generations from one trained network. Training again \
             with another seed moves figures too, and that is not in them.",
        ));
        all.push(say(
            CautionKind::Limit,
            "The paper's figures were measured on other records, larger networks, other rules and a \
             GPU. What can be compared is who breaks which rules, and who is better or faster than \
             whom.",
        ));
        all.push(say(
            CautionKind::Limit,
            "The perplexity of the method as published is not a likelihood: its rules see codes that \
             the network has not decided yet. It is not to be held against the others.",
        ));
        all
    }

    fn violations(&self, cohorts: &[Cohort]) -> Section {
        let mut table = Table {
            title: "Violations".to_owned(),
            note: format!(
                "In {} records; static rules look at one visit, temporal rules look back. The \
                 paper's figures are of 10,000 records of {}.",
                number(self.report.effort.records),
                self.paper_cohort().title()
            ),
            columns: vec![
                Column::new("method"),
                Column::grouped("here", "static"),
                Column::grouped("here", "temporal"),
                Column::grouped("here", "% valid"),
                Column::grouped("paper", "static"),
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
                    Cell::text(figures.title),
                    interval_cell(found.static_violations, 1, "not measured"),
                    interval_cell(found.temporal_violations, 1, "not measured"),
                    interval_cell(found.valid_percent, 2, "not measured"),
                    Cell::number(said.violations[0], 1),
                    Cell::number(said.violations[1], 1),
                    Cell::number(said.valid_percent, 1),
                ],
            ));
            let kinds = [found.static_violations, found.temporal_violations];
            for ((bars, kind), said) in bars.iter_mut().zip(kinds).zip(said.violations) {
                bars.push(Bar {
                    label: figures.title.to_owned(),
                    value: measure(kind),
                    reference: Some(said),
                    ours,
                });
            }
        }
        for (column, better) in [(1, Better::Lower), (2, Better::Lower), (3, Better::Higher)] {
            table.mark_best(column, better);
        }
        let titles = ["static rules", "temporal rules"];
        let panel = |(title, bars): (&str, Vec<Bar>)| BarPanel {
            title: format!("Violations of {title}"),
            scale: ScaleKind::Log,
            digits: 1,
            reference: "the paper".to_owned(),
            bars,
        };
        let plot = Bars {
            title: "Violations".to_owned(),
            note: "Means over generations, with 95% intervals.".to_owned(),
            panels: titles.into_iter().zip(bars).map(panel).collect(),
        };
        let rules = &self.arena.rules;
        let counts = |broken: &dyn Fn(usize) -> Option<f64>| -> Vec<Option<f64>> {
            let judged = |place: usize| match rules.rules[place].is_hard() {
                true => Some(broken(place).unwrap_or(0.0)),
                false => None,
            };
            (0..rules.rules.len()).map(judged).collect()
        };
        let real = self.arena.auditor.audit(&self.arena.cohort, 0, &|_| {});
        let real = counts(&|place| Some(real.rules[place].violations as f64));
        let synthetic: Vec<RuleCountsOf> = self
            .report
            .methods
            .iter()
            .map(|figures| RuleCountsOf {
                title: figures.title.to_owned(),
                violations: counts(&|place| figures.broken.get(&*rules.rules[place].name).copied()),
            })
            .collect();
        let ours = self.contestants.iter().position(|one| one.method == Method::Consequence);
        debug_assert_eq!(cohorts.len(), synthetic.len());
        Section {
            key: "violations".to_owned(),
            title: "Who keeps the rules".to_owned(),
            lead: "Only a method that promises to keep every rule should have a row of zeros."
                .to_owned(),
            blocks: vec![
                Block::Table(table),
                Block::Bars(plot),
                rule_table(rules, Some(&real), &synthetic, ours.unwrap_or(0)),
            ],
        }
    }

    fn foresight(&self) -> Section {
        let mut table = Table {
            title: "Perplexity".to_owned(),
            note: "For each code present in held-out records that break no rule; lower is better. \
                   Nats of static codes, encounter codes and END apart."
                .to_owned(),
            columns: vec![
                Column::new("method"),
                Column::grouped("here", "perplexity"),
                Column::grouped("here", "static nats"),
                Column::grouped("here", "encounter nats"),
                Column::grouped("here", "END nats"),
                Column::grouped("paper", "perplexity"),
            ],
            rows: Vec::new(),
        };
        for (figures, said, ours) in self.rows() {
            let why = "records thrown away have no chance of their own";
            let mut cells = vec![Cell::text(figures.title)];
            match &figures.foresight {
                Some(found) if !found.normalised => {
                    let figure = found.perplexity.map_or("-".to_owned(), |one| format!("{one:.3}"));
                    cells.push(Cell::text(format!("({figure}, not normalised)")));
                    cells.extend(found.nats.map(|nats| Cell::number(nats, 0)));
                }
                Some(found) => {
                    cells.push(cell(found.perplexity, 3, "nothing foreseen"));
                    cells.extend(found.nats.map(|nats| Cell::number(nats, 0)));
                }
                None => cells.extend((0..4).map(|_| Cell::missing(why))),
            }
            cells.push(cell(said.perplexity, 3, "not in the paper"));
            table.rows.push(self.row(ours, cells));
        }
        table.mark_best(1, Better::Lower);
        let curve = |figures: &MethodFigures| {
            let points = |of: fn(&consequence_model::Epoch) -> f64| {
                let epochs = figures.learning.epochs.iter();
                epochs.map(|epoch| (f64::from(epoch.epoch), of(epoch))).collect()
            };
            LinePanel {
                title: figures.title.to_owned(),
                series: vec![
                    LineSeries { name: "train".to_owned(), points: points(|one| one.train_nats) },
                    LineSeries { name: "tuning".to_owned(), points: points(|one| one.tuning_nats) },
                ],
            }
        };
        let learning = self
            .contestants
            .iter()
            .zip(&self.report.methods)
            .filter(|(contestant, _)| contestant.method.learns_as() == contestant.method);
        let lines = Lines {
            title: "Learning".to_owned(),
            note: "What each method learns, in nats a record: for semantic loss with its penalty, for \
                   CCN its own loss, for methods with rules without what rules decide. Levels of \
                   different methods cannot be compared; shapes can."
                .to_owned(),
            x_axis: "epoch".to_owned(),
            y_axis: "nats a record".to_owned(),
            panels: learning.map(|(_, figures)| curve(figures)).collect(),
            ..Lines::default()
        };
        Section {
            key: "perplexity".to_owned(),
            title: "Who foresees real records".to_owned(),
            lead: String::new(),
            blocks: vec![Block::Table(table), Block::Lines(lines)],
        }
    }

    fn correlations(&self, cohorts: &[Cohort]) -> Result<Section, Error> {
        let names = ["code", "pair", "sequential"];
        let mut columns = vec![Column::new("method")];
        for group in ["here, all codes", "here, rare codes", "paper"] {
            columns.extend(names.map(|name| Column::grouped(group, name)));
        }
        let mut table = Table {
            title: "R² of frequencies".to_owned(),
            note: "How far the frequencies of codes, of pairs in one encounter, and of a code and a \
                   code of the next encounter agree with those of the train records; 1 is all. Rare \
                   codes are in less than 1% of the real encounters."
                .to_owned(),
            columns,
            rows: Vec::new(),
        };
        for (figures, said, ours) in self.rows() {
            let found = &figures.generation;
            let mut cells = vec![Cell::text(figures.title)];
            for figure in found.r2.into_iter().chain(found.rare_r2) {
                cells.push(interval_cell(figure, 4, "nothing to compare"));
            }
            cells.extend(said.r2.map(|figure| Cell::number(figure, 3)));
            table.rows.push(self.row(ours, cells));
        }
        (1..7).for_each(|column| table.mark_best(column, Better::Higher));
        let fresh = &self.report.fresh;
        let real = [
            fresh.correlations.code.r2,
            fresh.correlations.pair.r2,
            fresh.correlations.sequence.r2,
        ];
        let mut cells =
            vec![Cell::text(format!("{} other real records", number(fresh.records as u64)))];
        cells.extend(real.map(|figure| cell(figure, 4, "nothing to compare")));
        table.rows.push(Row::new(cells).of_kind(RowKind::Reference));
        let places: Vec<Vec<usize>> = cohorts.iter().map(|one| (0..one.len()).collect()).collect();
        let panels: Vec<Panel<'_>> = self
            .rows()
            .zip(cohorts.iter().zip(&places))
            .map(|((figures, _, ours), (cohort, records))| Panel {
                title: figures.title.to_owned(),
                sample: Sample { cohort, records },
                r2: figures.generation.r2.map(|figure| figure.map(|figure| figure.mean)),
                ours,
            })
            .collect();
        let real = Sample { cohort: &self.arena.cohort, records: &self.arena.train };
        let mut blocks = vec![Block::Table(table)];
        blocks.extend(scatters(real, &panels, &self.arena.vocabulary)?);
        Ok(Section {
            key: "correlations".to_owned(),
            title: "Who writes what real records have".to_owned(),
            lead: String::new(),
            blocks,
        })
    }

    fn clock(&self) -> Section {
        let plain = published(Method::Vanilla, self.paper_cohort());
        let learnt = self.of(Method::Vanilla).map(|one| one.learning.seconds_per_epoch());
        let mut table = Table {
            title: "Wall clock".to_owned(),
            note: format!(
                "On {} threads of a CPU; the paper's on a Tesla P100. Ratios are to vanilla HALO; \
                 those of generation are taken generation by generation, with the middle one in \
                 brackets.",
                self.report.threads
            ),
            columns: vec![
                Column::new("method"),
                Column::grouped("learning here", "s"),
                Column::grouped("learning here", "epochs"),
                Column::grouped("learning here", "an epoch, times vanilla"),
                Column::grouped("generation here", "ms a record"),
                Column::grouped("generation here", "times vanilla"),
                Column::grouped("generation here", "records begun"),
                Column::grouped("paper", "learning, times"),
                Column::grouped("paper", "generation, times"),
            ],
            rows: Vec::new(),
        };
        let (mut learning, mut writing) = (Vec::new(), Vec::new());
        for (figures, said, ours) in self.rows() {
            let found = &figures.generation;
            let epoch = figures.learning.seconds_per_epoch();
            let times = match (found.times_vanilla, found.median_times_vanilla) {
                (Some(times), Some(middle)) => Cell::text(format!("{times:.3} ({middle:.3})")),
                _ => Cell::missing("vanilla HALO was not measured"),
            };
            table.rows.push(self.row(
                ours,
                vec![
                    Cell::text(figures.title),
                    Cell::number(figures.learning.seconds, 1),
                    Cell::number(figures.learning.epochs.len() as f64, 0),
                    cell(learnt.map(|plain| epoch / plain), 2, "vanilla HALO was not measured"),
                    interval_cell(found.milliseconds, 4, "not measured"),
                    times,
                    interval_cell(found.attempts, 2, "not measured"),
                    Cell::number(said.training_seconds / plain.training_seconds, 2),
                    Cell::number(said.generation_seconds / plain.generation_seconds, 2),
                ],
            ));
            let bar = |value: Option<Measure>| Bar {
                label: figures.title.to_owned(),
                value,
                reference: None,
                ours,
            };
            learning.push(bar(Some(Measure::once(epoch))));
            writing.push(bar(measure(found.milliseconds)));
        }
        let panel = |title: &str, digits: u8, bars: Vec<Bar>| BarPanel {
            title: title.to_owned(),
            scale: ScaleKind::Linear,
            digits,
            reference: String::new(),
            bars,
        };
        let plot = Bars {
            title: "Speed".to_owned(),
            note: "Generation: means over generations, with 95% intervals.".to_owned(),
            panels: vec![
                panel("Learning, seconds an epoch", 1, learning),
                panel("Generation, milliseconds a record", 3, writing),
            ],
        };
        Section {
            key: "clock".to_owned(),
            title: "Who is fast".to_owned(),
            lead: String::new(),
            blocks: vec![Block::Table(table), Block::Bars(plot)],
        }
    }

    fn utility_and_privacy(&self) -> Section {
        let group = "what generated records are good for";
        let risk = "what they give away";
        let mut table = Table {
            title: "Utility and privacy".to_owned(),
            note: format!(
                "Over the first {} generations. AUROC and average precision: the next encounter's \
                 codes foretold in held-out records, by regressions learnt from generated records. \
                 Nearer to train: the share of generated records nearer to a train record than to \
                 any of as many held-out ones; 0.5 gives nothing away. Membership: AUROC of telling \
                 train records from held-out ones; 0.5 gives nothing away. Attributes: F1 of \
                 sensitive codes read off the nearest record.",
                self.report.effort.deep_runs
            ),
            columns: vec![
                Column::new("method"),
                Column::grouped(group, "AUROC"),
                Column::grouped(group, "average precision"),
                Column::grouped(risk, "nearer to train"),
                Column::grouped(risk, "copies of train / held-out"),
                Column::grouped(risk, "membership"),
                Column::grouped(risk, "attributes"),
            ],
            rows: Vec::new(),
        };
        let none = "too few records";
        for (figures, _, ours) in self.rows() {
            let found = &figures.deep;
            let copies = match found.copies {
                [Some(train), Some(held_out)] => {
                    Cell::text(format!("{:.1} / {:.1}", train.mean, held_out.mean))
                }
                _ => Cell::missing(none),
            };
            table.rows.push(self.row(
                ours,
                vec![
                    Cell::text(figures.title),
                    interval_cell(found.auroc[0], 4, none),
                    interval_cell(found.average_precision[0], 4, none),
                    interval_cell(found.closer_to_train, 4, none),
                    copies,
                    interval_cell(found.membership, 4, none),
                    interval_cell(found.attributes[0], 4, none),
                ],
            ));
        }
        (1..3).for_each(|column| table.mark_best(column, Better::Higher));
        if let Some(any) = self.report.methods.first() {
            table.rows.push(
                Row::new(vec![
                    Cell::text("real records instead"),
                    interval_cell(any.deep.auroc[1], 4, none),
                    interval_cell(any.deep.average_precision[1], 4, none),
                    Cell::number(0.5, 1),
                    Cell::missing("held-out records are not copied"),
                    Cell::number(0.5, 1),
                    interval_cell(any.deep.attributes[1], 4, none),
                ])
                .of_kind(RowKind::Reference),
            );
        }
        Section::new(
            "utility-privacy",
            "What the records are good for, and what they give away",
            vec![Block::Table(table)],
        )
    }

    fn findings(&self) -> Section {
        let count = |wanted: fn(&Verdict) -> bool| {
            self.report.findings.iter().filter(|finding| wanted(&finding.verdict)).count()
        };
        let confirmed = count(|verdict| *verdict == Verdict::Confirmed);
        let contradicted = count(|verdict| *verdict == Verdict::Contradicted);
        Section {
            key: "findings".to_owned(),
            title: "The paper's findings, one by one".to_owned(),
            lead: format!(
                "{confirmed} seen again here, {contradicted} not. The paper's figures are those of {}.",
                self.paper_cohort().title()
            ),
            blocks: vec![Block::Findings(Findings {
                title: "Findings of ConSequence (AAAI 2024)".to_owned(),
                note: String::new(),
                findings: self.report.findings.clone(),
            })],
        }
    }

    fn lengths(&self, cohorts: &[Cohort]) -> Result<Section, Error> {
        let arena = self.arena;
        let real = Sample { cohort: &arena.cohort, records: &arena.train };
        let mut shapes: Vec<(String, CohortShape)> = Vec::new();
        let mut original = None;
        for (figures, cohort) in self.report.methods.iter().zip(cohorts) {
            let records: Vec<usize> = (0..cohort.len()).collect();
            let sample = Sample { cohort, records: &records };
            let found = compare(real, sample, &arena.vocabulary, &CompareOptions::default())?;
            original = Some(found.real);
            shapes.push((figures.title.to_owned(), found.synthetic));
        }
        let Some(original) = original else {
            return Ok(Section::new("lengths", "How long records are", Vec::new()));
        };
        let mut columns = vec![Column::new("static code"), Column::new("real, %")];
        columns.extend(shapes.iter().map(|(title, _)| Column::new(title.clone())));
        let share = |shape: &CohortShape, at: usize| {
            100.0 * shape.static_codes[at].records as f64 / shape.records.max(1) as f64
        };
        let rows = original.static_codes.iter().enumerate().map(|(at, code)| {
            let mut cells =
                vec![Cell::text(code.code.clone()), Cell::number(share(&original, at), 1)];
            cells.extend(shapes.iter().map(|(_, shape)| Cell::number(share(shape, at), 1)));
            Row::new(cells)
        });
        let table = Table {
            title: "Age, sex and other static codes".to_owned(),
            note: "The share of records that have the code, in percent.".to_owned(),
            columns,
            rows: rows.collect(),
        };
        let shapes: Vec<(String, &CohortShape)> =
            shapes.iter().map(|(title, shape)| (title.clone(), shape)).collect();
        Ok(Section::new(
            "lengths",
            "How long records are, and who is in them",
            vec![histograms(&original, &shapes), Block::Table(table)],
        ))
    }

    fn records(&self, cohorts: &[Cohort]) -> Section {
        let arena = self.arena;
        let conclusions = Conclusions::new(arena.enforcer.plan());
        let titles = BTreeMap::new();
        let mut frequency = vec![0.0; arena.vocabulary.len()];
        for &place in &arena.train {
            for code in arena.cohort.record(place).visits().skip(1).flatten() {
                frequency[code.index()] += 1.0;
            }
        }
        let timelines = Timelines {
            rules: &arena.rules,
            conclusions: &conclusions,
            vocabulary: &arena.vocabulary,
            titles: &titles,
            frequency: &frequency,
        };
        let wanted = |method: Method| self.contestants.iter().position(|one| one.method == method);
        let mut blocks = Vec::new();
        if let Some(at) = wanted(Method::Consequence) {
            let places = timelines.telling(&cohorts[at], 500, 3);
            blocks.push(examples(
                &timelines,
                &cohorts[at],
                &places,
                (
                    "Written by Consequence",
                    "Of the first 500 records, those that rules had most to say about.",
                ),
            ));
        }
        if let Some(at) = wanted(Method::Vanilla) {
            let cohort = &cohorts[at];
            let audit = arena.auditor.audit(cohort, 2, &|_| {});
            let mut places: Vec<usize> =
                audit.rules.iter().flat_map(|rule| &rule.examples).map(|one| one.record).collect();
            places.sort_unstable();
            places.dedup();
            places.truncate(2);
            if !places.is_empty() {
                blocks.push(examples(
                    &timelines,
                    cohort,
                    &places,
                    ("Written by vanilla HALO", "Records that break a rule, so as to see one."),
                ));
            }
        }
        Section::new("records", "A few records", blocks)
    }

    fn methods(&self) -> Section {
        let row = |figures: &MethodFigures| {
            let unexpressed = match figures.unexpressed.len() {
                0 => String::new(),
                count => format!("{count} of these rules it cannot express."),
            };
            Row::new(vec![
                Cell::text(figures.title),
                Cell::text(figures.reach),
                Cell::text(unexpressed),
                Cell::number(figures.learning.parameters as f64, 0),
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
