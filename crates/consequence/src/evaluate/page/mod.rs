//! Two cohorts side by side, as a page for a reviewer.

mod dates_and_values;
mod sections;

use std::sync::Arc;

use consequence_evaluate::{Correlations, Measured, Unmeasured};
use consequence_pipeline::pages::{program, today};
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{Error, model_rules};
use consequence_report::{Caution, CautionKind, Count, Head, Holds, Report, Source, Statement};
use consequence_rules::RuleSet;

use super::cohorts::EvaluateReport;
use super::counting::{Counted, Judged, Shown};
use super::sides::{Both, Roles};

/// Rules that real records break named in the summary; the report as JSON has all.
const NAMED: usize = 3;

/// Fewer generated records than this give figures that luck moves.
const FEW: u64 = 1_000;

/// The share of synthetic records that are copies of real ones from which on something is amiss.
const MANY_COPIES: f64 = 0.2;

/// Makes the page.
pub(super) fn page(
    report: &EvaluateReport,
    facts: &PageFacts<'_>,
    rules: Option<&Arc<RuleSet>>,
) -> Result<Report, Error> {
    let page = Page { report, facts, rules };
    let mut sections = vec![page.agreement()];
    if rules.is_some() {
        sections.insert(0, page.violations());
    }
    sections.push(page.lengths());
    sections.extend(page.groups());
    sections.push(page.dates_and_values());
    sections.extend(report.deep.as_ref().map(|deep| page.utility(deep)));
    sections.extend(report.deep.as_ref().map(|deep| page.privacy(deep)));
    if let Some(rules) = rules {
        sections.extend(page.records(rules).filter(|_| page.copied() < MANY_COPIES));
    }
    Ok(Report {
        head: page.head(),
        summary: page.summary(),
        statements: page.statements(),
        cautions: page.cautions(),
        sections,
    })
}

/// What the page has beside the report.
pub(super) struct PageFacts<'a> {
    pub both: &'a Both,
    pub roles: Roles,
    pub frequencies: &'a Counted<'a>,
    pub judged: Option<&'a Judged>,
    pub shown: Shown,
}

struct Page<'a> {
    report: &'a EvaluateReport,
    facts: &'a PageFacts<'a>,
    rules: Option<&'a Arc<RuleSet>>,
}

impl Page<'_> {
    fn head(&self) -> Head {
        let PageFacts { roles, shown, .. } = self.facts;
        let [real_digest, synthetic_digest] = &shown.digests;
        let comparison = &self.report.comparison;
        let count = |count: u64, of: &str| Count::new(count, of);
        let mut sources = vec![
            Source {
                role: "real cohort".to_owned(),
                name: self.report.real.clone(),
                counts: vec![
                    count(roles.real(), "records"),
                    count(roles.base(), "compared with"),
                    count(roles.held_out(), "held out"),
                    count(comparison.real.encounters, "encounters compared with"),
                ],
                sha256: real_digest.clone(),
            },
            Source {
                role: "synthetic cohort".to_owned(),
                name: self.report.synthetic.clone(),
                counts: vec![
                    count(roles.synthetic, "records"),
                    count(comparison.synthetic.encounters, "encounters"),
                ],
                sha256: synthetic_digest.clone(),
            },
        ];
        if let Some(rules) = self.rules {
            let hard = rules.hard().count();
            sources.push(Source {
                role: "rules".to_owned(),
                name: self.report.files.join(", "),
                counts: vec![
                    count(hard as u64, "hard rules"),
                    count((rules.len() - hard) as u64, "soft rules"),
                ],
                sha256: consequence_store::digest(model_rules::text(rules).as_bytes()),
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
            false => "all that are not held out, since the real cohort has no train split",
        };
        let mut summary = vec![
            format!(
                "{} synthetic records were held against {} real ones: {base}.",
                number(self.facts.roles.synthetic),
                number(self.facts.roles.base())
            ),
            "Nothing is assumed about how the synthetic records came to be, but for one thing: figures \
             of utility and privacy presume that the generator saw the train split and not the \
             held-out records. If it saw those too, they say nothing."
                .to_owned(),
        ];
        if let Some(broken) = self.report.broken.as_ref().filter(|broken| broken.records > 0) {
            let often: Vec<String> = broken
                .rules
                .iter()
                .take(NAMED)
                .map(|rule| format!("{} ({})", rule.rule, count(rule.records, "record")))
                .collect();
            let sentence = broken.sentence();
            let kept = self.report.violations.as_ref().is_some_and(|one| one.all.violations == 0);
            let of = if kept { "Of the rules that synthetic records obey" } else { "Of the rules" };
            summary.push(format!("{of}, {sentence}; most often {}.", often.join(", ")));
        }
        summary
    }

    fn statements(&self) -> Vec<Statement> {
        let told = |holds: bool| if holds { Holds::Yes } else { Holds::No };
        let mut all = Vec::new();
        all.push(match &self.report.violations {
            Some(found) => Statement {
                text: "No synthetic record breaks a hard rule".to_owned(),
                figure: format!(
                    "{} violations within a visit and {} temporal ones; {:.2}% of the records are valid",
                    number(found.within_visit_rules.violations),
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
        all.extend(self.statements_of_dates());
        let Some(deep) = &self.report.deep else { return all };
        let unknown = |why: Unmeasured| Holds::Unknown(why.to_string());
        all.push(match &deep.utility {
            Measured::Measured(found) => Statement {
                text: "Models trained on synthetic records predict the next encounter nearly as \
                       well as those trained on real ones (AUROC within 0.05)"
                    .to_owned(),
                figure: format!(
                    "AUROC {:.3}, from real records {:.3}",
                    found.synthetic.auroc, found.real.auroc
                ),
                holds: told(found.synthetic.auroc >= found.real.auroc - 0.05),
            },
            Measured::Unmeasured(why) => Statement {
                text: "Models trained on synthetic records predict the next encounter".to_owned(),
                figure: String::new(),
                holds: unknown(*why),
            },
        });
        let presumed = self.copied() < MANY_COPIES;
        all.push(Statement {
            text: format!(
                "Less than {:.0}% of the synthetic records have exactly the codes of a real one",
                100.0 * MANY_COPIES
            ),
            figure: format!("{:.1}%: {}", 100.0 * self.copied(), number(self.report.copies)),
            holds: told(presumed),
        });
        all.push(match &deep.privacy.membership {
            Measured::Measured(found) => Statement {
                text: "Nearness to a synthetic record does not tell who was trained on (AUROC at most \
                       1.96 standard errors above one half)"
                    .to_owned(),
                figure: match found.standard_error {
                    Some(error) => {
                        format!("AUROC {:.3}, standard error {error:.3}", found.auroc)
                    }
                    None => format!("AUROC {:.3}", found.auroc),
                },
                holds: match found.standard_error {
                    _ if !presumed => Holds::Unknown(
                        "so many records are copies that the held-out ones may have been seen too"
                            .to_owned(),
                    ),
                    Some(error) if (1e-9..=0.02).contains(&error) => {
                        told(found.auroc <= 0.5 + 1.96 * error)
                    }
                    _ => Holds::Unknown("there are too few records to tell".to_owned()),
                },
            },
            Measured::Unmeasured(why) => Statement {
                text: "Nearness to a synthetic record does not tell who was trained on".to_owned(),
                figure: String::new(),
                holds: unknown(*why),
            },
        });
        all
    }

    /// The share of synthetic records that have exactly the codes of a real one.
    fn copied(&self) -> f64 {
        self.report.copies as f64 / self.facts.roles.synthetic.max(1) as f64
    }

    fn cautions(&self) -> Vec<Caution> {
        let say = |kind, text: String| Caution { kind, text };
        let warnings = self.report.warnings.iter();
        let mut all: Vec<Caution> =
            warnings.map(|text| say(CautionKind::Warning, text.clone())).collect();
        let codes = &self.report.codes;
        if codes.both == 0 {
            all.push(say(
                CautionKind::Warning,
                "The cohorts have no code in common: these are not two versions of one cohort, or their codes are \
                 written differently. No figure below says anything."
                    .to_owned(),
            ));
        } else if codes.real + codes.synthetic > 0 {
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
        let records = self.facts.roles.synthetic;
        if records < FEW {
            all.push(say(
                CautionKind::Warning,
                format!(
                    "There are only {}: luck alone moves most of these figures.",
                    count(records, "synthetic record")
                ),
            ));
        }
        if self.facts.roles.held_out() == 0 {
            all.push(say(
                CautionKind::Warning,
                "The real cohort has no held-out records, so that utility and privacy cannot be \
                 measured."
                    .to_owned(),
            ));
        }
        if self.copied() >= MANY_COPIES {
            all.push(say(
                CautionKind::Warning,
                "Many synthetic records have exactly the codes of a real one. Where records are short \
                 that may be by chance; else the generator copies. No example records are shown."
                    .to_owned(),
            ));
        }
        all.push(say(
            CautionKind::Limit,
            "Shares of codes are exact, so that a code which one real patient has can be read off \
             this page. Pass the page on as you would pass on such counts."
                .to_owned(),
        ));
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
}
