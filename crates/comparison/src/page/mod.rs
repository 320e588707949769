//! The comparison as a page to read: the paper's tables and figures, and what became of its findings.

mod cohorts;
mod figures;
mod networks;
mod rules;

use consequence_baselines::Method;
use consequence_evaluate::interval_by;
use consequence_pipeline::Error;
use consequence_pipeline::pages::{interval_cell, program, today};
use consequence_pipeline::words::{count as count_of, number};
use consequence_record::Cohort;
use consequence_report::{
    Caution, CautionKind, Cell, Count, Head, Holds, Report, Row, RowKind, Source, Statement,
};

use super::arena::Arena;
use super::contestant::Contestant;
use super::estimate::{Answer, within};
use super::findings::at_least;
use super::paper::{PaperCohort, PaperFigures, published};
use super::task::network_title;
use super::{ComparisonReport, ComparisonTask, Estimate, Median, MethodFigures};

/// Records of one generation that plots are made of; they need no more.
pub(crate) const PLOTTED: u64 = 10_000;

/// Makes the page of a comparison, with records of each contestant for its plots.
pub(crate) fn page(
    report: &ComparisonReport,
    arena: &Arena,
    contestants: &[Contestant],
    cohorts: &[Cohort],
    task: &ComparisonTask,
) -> Result<Report, Error> {
    let networks =
        [Some(&task.network), task.also.as_ref()].into_iter().flatten().map(network_title);
    let page = Page { report, arena, contestants, networks: networks.collect() };
    let mut sections = vec![
        page.violations(),
        page.prediction(),
        page.correlations(cohorts)?,
        page.clock(),
        page.utility_and_privacy(),
    ];
    sections.extend(page.gains());
    sections.extend([
        page.findings(),
        page.lengths(cohorts)?,
        page.records(cohorts),
        page.methods(),
    ]);
    Ok(Report {
        head: page.head(),
        summary: page.summary(),
        statements: page.statements(),
        cautions: page.cautions(),
        sections,
    })
}

/// A mean with its interval, or why there is none.
fn estimate_cell(figure: Option<Estimate>, digits: u8, why: &str) -> Cell {
    interval_cell(figure.map(Estimate::interval), digits, why)
}

/// What the page is made of.
struct Page<'a> {
    report: &'a ComparisonReport,
    arena: &'a Arena,
    contestants: &'a [Contestant],
    /// The network of all methods, then the one beside it.
    networks: Vec<&'static str>,
}

impl Page<'_> {
    fn head(&self) -> Head {
        let ComparisonReport { records, effort, rules, .. } = self.report;
        let count = |count: usize, of: &str| Count::new(count as u64, of);
        let on = match self.networks[..] {
            [first, second] => {
                format!("the same {first}, and vanilla and Consequence on the {second} too")
            }
            _ => format!("the same {}", self.networks[0]),
        };
        let methods = self.report.methods.iter().filter(|figures| !figures.beside).count();
        Head {
            title: "Methods compared".to_owned(),
            compared: format!(
                "{methods} methods that keep medical rules, each on {on}, trained on {} with {} and \
                 asked for {} records, {} times over.",
                self.report.cohort,
                count_of(effort.trainings.into(), "seed"),
                number(effort.records),
                effort.runs
            ),
            when: today(),
            program: program(),
            seed: Some(self.report.seed),
            facts: vec![
                ("threads".to_owned(), self.report.threads.to_string()),
                ("trainings of each method".to_owned(), effort.trainings.to_string()),
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
                        count(rules.within_visit_rules, "rules within a visit"),
                        count(rules.temporal_rules, "temporal rules"),
                        count(rules.soft_rules, "soft rules"),
                    ],
                    sha256: self.report.digests[1].clone(),
                },
            ],
        }
    }

    fn summary(&self) -> Vec<String> {
        let ComparisonReport { records, effort, .. } = self.report;
        let spread = match effort.trainings {
            1 => format!(
                "Then each wrote {} records, {} times over with other seeds. Every generated figure is \
                 the mean of these generations, with a 95% interval over them ({}).",
                number(effort.records),
                effort.runs,
                interval_by(effort.runs.into())
            ),
            trainings => format!(
                "Each trained {trainings} times with other seeds, and wrote {} records {} times over, \
                 the trained networks in turn. Every 95% interval is that of the means of each \
                 training ({}), so that it covers what another training changes and what another \
                 generation does; it is never narrower than that of all generations taken as one.",
                number(effort.records),
                effort.runs,
                interval_by(trainings.into())
            ),
        };
        let beside = match self.networks[..] {
            [_, second] => format!(" The {second} has settings of its own."),
            _ => String::new(),
        };
        let mut all = vec![
            format!(
                "Each method trained on the same {} records with the same network, the same \
                 settings and the same number of epochs at most.{beside} {spread}",
                number(records.train as u64),
            ),
            format!(
                "A record is valid if it breaks no hard rule. Perplexity is that of the {} held-out \
                 records that break none ({} do), so that every method can predict all of them.",
                number(records.predicted as u64),
                number((records.held_out - records.predicted) as u64)
            ),
        ];
        let less = self.report.gains.iter().filter(|gain| gain.less == Answer::Yes);
        all.extend(less.map(|gain| gain.finding.clone()));
        all
    }

    /// What stands behind the intervals of generations.
    fn behind(&self) -> String {
        let effort = &self.report.effort;
        behind(effort.trainings, effort.runs)
    }

    /// What stands behind the intervals of trained networks.
    fn behind_trainings(&self) -> String {
        match self.report.effort.trainings {
            1 => "Of one training, so without an interval.".to_owned(),
            trainings => format!(
                "Means and 95% intervals ({}) over {trainings} trainings.",
                interval_by(trainings.into())
            ),
        }
    }

    /// What this program promises, checked.
    fn statements(&self) -> Vec<Statement> {
        let missing = || Holds::Unknown("the methods were not measured".to_owned());
        let told = |answer: Answer| match answer {
            Answer::Yes => Holds::Yes,
            Answer::No => Holds::No,
            Answer::Unclear => {
                Holds::Unknown("no clear difference: the intervals overlap".to_owned())
            }
        };
        let (ours, plain) = (self.of(Method::Consequence), self.of(Method::Vanilla));
        let both = ours.zip(plain);
        let mut all = Vec::new();
        for method in Method::ALL.into_iter().rev().filter(|method| method.promises()) {
            let named = self.report.methods.iter().filter(|one| one.method == method.name());
            let on: Vec<&MethodFigures> = named.collect();
            let runs = f64::from(self.report.effort.runs);
            // A sum of nothing is a negative zero.
            let broken: f64 = on.iter().flat_map(|one| one.broken.values()).sum::<f64>().abs();
            let broken = (!on.is_empty()).then_some((broken * runs).round());
            let records = self.report.effort.records * u64::from(self.report.effort.runs);
            let records = records * on.len() as u64;
            all.push(Statement {
                text: format!("Records by {} break no hard rule", method.title()),
                figure: broken.map_or_else(String::new, |broken| {
                    format!("{broken} violations in {} records", number(records))
                }),
                holds: broken.map_or_else(missing, |broken| told((broken == 0.0).into())),
            });
        }
        let perplexity = both.and_then(|(ours, plain)| {
            ours.over_trainings.perplexity.zip(plain.over_trainings.perplexity)
        });
        all.push(Statement {
            text: "With rules the network predicts held-out records at least as well as without"
                .to_owned(),
            figure: perplexity.map_or_else(String::new, |(ours, plain)| {
                format!("perplexity {ours:.3}, without rules {plain:.3}")
            }),
            holds: perplexity.map_or_else(missing, |(ours, plain)| told(plain.less(&ours).not())),
        });
        let correlated = both.and_then(|(ours, plain)| {
            let of = |one: &MethodFigures| -> Option<[Estimate; 3]> {
                let [code, pair, sequence] = one.generation.r2;
                Some([code?, pair?, sequence?])
            };
            of(ours).zip(of(plain))
        });
        let shown =
            |figures: [Estimate; 3]| figures.map(|figure| format!("{figure:.4}")).join(" / ");
        all.push(Statement {
            text: "Frequencies of codes, pairs and sequential pairs are at least as close to the \
                   real ones as without rules"
                .to_owned(),
            figure: correlated.map_or_else(String::new, |(ours, plain)| {
                format!("R² {}, without rules {}", shown(ours), shown(plain))
            }),
            holds: correlated.map_or_else(missing, |(ours, plain)| told(at_least(&ours, &plain))),
        });
        let slower = ours.and_then(|ours| ours.generation.median_times_vanilla);
        all.push(Statement {
            text: "Rules slow generation down by at most 1%, by the middle of the generations"
                .to_owned(),
            figure: slower.map_or_else(String::new, |Median { median, low, high, .. }| {
                let percent = |times: f64| 100.0 * (times - 1.0);
                format!(
                    "{:+.2}% (95%: {:+.1}% to {:+.1}%)",
                    percent(median),
                    percent(low),
                    percent(high)
                )
            }),
            holds: match slower {
                Some(_) if self.report.effort.runs < 5 => {
                    Holds::Unknown("fewer than 5 generations tell nothing of speed".to_owned())
                }
                Some(Median { low, high, .. }) => told(within([low, high], 1.01)),
                None => missing(),
            },
        });
        all
    }

    fn cautions(&self) -> Vec<Caution> {
        let say = |kind, text: &str| Caution { kind, text: text.to_owned() };
        let mut all: Vec<Caution> =
            self.report.warnings.iter().map(|text| say(CautionKind::Warning, text)).collect();
        for one in &self.report.left_out {
            let text = format!("{} is left out: {}.", one.title, one.because);
            all.push(say(CautionKind::Warning, &text));
        }
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
        let text = match effort.trainings {
            1 => "The intervals are about repeated generations from one trained network. Training \
                  again with another seed moves figures too, and that is not in them."
                .to_owned(),
            trainings => format!(
                "The intervals are about training again with another seed and generating again, \
                 judged by {trainings} trainings; few trainings make them wide. Another choice of \
                 train and held-out records moves figures too, and that is not in them."
            ),
        };
        all.push(say(CautionKind::Limit, &text));
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

    fn paper_cohort(&self) -> PaperCohort {
        PaperCohort::like(self.report.records.mean_encounters)
    }

    /// The methods with what was measured of them and what the paper says.
    fn rows(&self) -> impl Iterator<Item = (&MethodFigures, PaperFigures, bool)> {
        self.contestants.iter().zip(&self.report.methods).map(|(contestant, figures)| {
            let said = published(contestant.method, self.paper_cohort());
            let ours = contestant.method == Method::Consequence && !contestant.beside;
            (figures, said, ours)
        })
    }

    fn row(&self, ours: bool, cells: Vec<Cell>) -> Row {
        let row = Row::new(cells);
        if ours { row.of_kind(RowKind::Ours) } else { row }
    }

    fn of(&self, method: Method) -> Option<&MethodFigures> {
        let mut all = self.report.methods.iter();
        all.find(|figures| figures.method == method.name() && !figures.beside)
    }
}

/// What stands behind the intervals of so many generations of so many trainings.
fn behind(trainings: u32, runs: u32) -> String {
    match (trainings, runs) {
        (1, 1) => "Of one generation of one training, so without an interval.".to_owned(),
        (1, _) => format!(
            "Means and 95% intervals ({}) over {runs} generations of one training.",
            interval_by(runs.into())
        ),
        _ => format!(
            "Means and 95% intervals ({}) over {trainings} trainings with {} in all.",
            interval_by(trainings.into()),
            count_of(runs.into(), "generation")
        ),
    }
}
