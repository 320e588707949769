//! The paper's findings, checked one by one against what was measured here.

use consequence_baselines::Method;
use consequence_evaluate::Interval;
use consequence_report::{Finding, Verdict};

use super::MethodFigures;
use super::paper::{PaperCohort, published};

/// What was measured, by method, beside what the paper says.
pub(super) struct Evidence<'a> {
    methods: &'a [MethodFigures],
    cohort: PaperCohort,
}

/// What became of a finding: the figure here, and whether it is the paper's.
type Outcome = Option<(String, bool)>;

impl<'a> Evidence<'a> {
    pub fn new(methods: &'a [MethodFigures], cohort: PaperCohort) -> Self {
        Self { methods, cohort }
    }

    /// Every finding of the paper.
    pub fn findings(&self) -> Vec<Finding> {
        [self.violations(), self.foresight(), self.speed(), self.correlations()].concat()
    }

    fn of(&self, method: Method) -> Option<&MethodFigures> {
        self.methods.iter().find(|figures| figures.method == method.name())
    }

    fn finding(&self, claim: &str, published: String, outcome: Outcome) -> Finding {
        let (here, verdict) = match outcome {
            Some((here, true)) => (here, Verdict::Confirmed),
            Some((here, false)) => (here, Verdict::Contradicted),
            None => {
                let why = "a method that it speaks of was not measured";
                (String::new(), Verdict::NotComparable(why.to_owned()))
            }
        };
        Finding { claim: claim.to_owned(), published, here, verdict }
    }

    /// Mean static and temporal violations, and the share of valid records.
    fn broken(&self, method: Method) -> Option<[f64; 3]> {
        let found = &self.of(method)?.generation;
        let mean = |figure: Option<Interval>| figure.map(|figure| figure.mean);
        Some([
            mean(found.static_violations)?,
            mean(found.temporal_violations)?,
            mean(found.valid_percent)?,
        ])
    }

    fn violations(&self) -> Vec<Finding> {
        let said = |method: Method| {
            let figures = published(method, self.cohort);
            let [statics, temporals] = figures.violations;
            format!("{statics} static, {temporals} temporal, {}% valid", figures.valid_percent)
        };
        let here = |[statics, temporals, valid]: [f64; 3]| {
            format!("{statics:.1} static, {temporals:.1} temporal, {valid:.1}% valid")
        };
        let check = |claim: &str, method: Method, holds: &dyn Fn([f64; 3]) -> bool| {
            let outcome = self.broken(method).map(|found| (here(found), holds(found)));
            self.finding(claim, said(method), outcome)
        };
        let vanilla = self.broken(Method::Vanilla);
        let against = |claim: &str, method: Method, holds: &dyn Fn([f64; 3], [f64; 3]) -> bool| {
            let outcome = self
                .broken(method)
                .zip(vanilla)
                .map(|(found, plain)| (here(found), holds(found, plain)));
            let said = format!("{}; vanilla {}", said(method), said(Method::Vanilla));
            self.finding(claim, said, outcome)
        };
        let mut all = vec![
            check("Vanilla HALO breaks static and temporal rules", Method::Vanilla, &|found| {
                found[0] > 0.0 && found[1] > 0.0
            }),
            check("Post-processing leaves no violation", Method::PostProcessing, &|found| {
                found[0] + found[1] == 0.0
            }),
            against(
                "Semantic loss has fewer violations than vanilla HALO, and still some",
                Method::SemanticLoss,
                &|found, plain| {
                    let (all, before) = (found[0] + found[1], plain[0] + plain[1]);
                    all > 0.0 && all < before
                },
            ),
            against(
                "CCN has fewer static violations than vanilla HALO, and does nothing for temporal \
                 rules",
                Method::Ccn,
                &|found, plain| found[0] < plain[0] && found[1] > 0.5 * plain[1],
            ),
            check(
                "MultiPlexNet leaves no static violation, but temporal ones",
                Method::MultiPlexNet,
                &|found| found[0] == 0.0 && found[1] > 0.0,
            ),
            check("SPL leaves no static violation, but temporal ones", Method::Spl, &|found| {
                found[0] == 0.0 && found[1] > 0.0
            }),
            check("ConSequence, as published, leaves no violation", Method::Published, &|found| {
                found[0] + found[1] == 0.0
            }),
            check("Consequence leaves no violation", Method::Consequence, &|found| {
                found[0] + found[1] == 0.0
            }),
            against(
                "MultiPlexNet has more temporal violations than vanilla HALO",
                Method::MultiPlexNet,
                &|found, plain| found[1] > plain[1],
            ),
        ];
        // On its outpatients the paper itself counts 41 against 17.5.
        if self.cohort == PaperCohort::Inpatient {
            all.push(against(
                "SPL has far fewer temporal violations than vanilla HALO",
                Method::Spl,
                &|found, plain| found[1] < 0.1 * plain[1],
            ));
        }
        all
    }

    fn foresight(&self) -> Vec<Finding> {
        let perplexity = |method: Method| self.of(method)?.foresight.as_ref()?.perplexity;
        let check = |claim: &str, method: Method, holds: &dyn Fn(f64, f64) -> bool| {
            let said = |method: Method| {
                let figure = published(method, self.cohort).perplexity;
                figure.map_or_else(String::new, |figure| format!("{figure:.3}"))
            };
            let outcome =
                perplexity(method).zip(perplexity(Method::Vanilla)).map(|(found, plain)| {
                    (format!("{found:.3}, vanilla {plain:.3}"), holds(found, plain))
                });
            let said = format!("{}, vanilla {}", said(method), said(Method::Vanilla));
            self.finding(claim, said, outcome)
        };
        vec![
            check(
                "ConSequence has a lower perplexity than vanilla HALO",
                Method::Consequence,
                &|found, plain| found < plain,
            ),
            check(
                "Semantic loss lowers perplexity a little",
                Method::SemanticLoss,
                &|found, plain| found < plain,
            ),
            check("CCN lowers perplexity a little", Method::Ccn, &|found, plain| found < plain),
            check(
                "MultiPlexNet raises perplexity by half or more",
                Method::MultiPlexNet,
                &|found, plain| found > 1.5 * plain,
            ),
            check("SPL raises perplexity", Method::Spl, &|found, plain| found > plain),
        ]
    }

    fn speed(&self) -> Vec<Finding> {
        let learning = |method: Method| self.of(method).map(|one| one.learning.seconds_per_epoch());
        let said_learning = |method: Method| {
            let plain = published(Method::Vanilla, self.cohort).training_seconds;
            format!("{:.2} times", published(method, self.cohort).training_seconds / plain)
        };
        let trains = |claim: &str, method: Method, holds: &dyn Fn(f64) -> bool| {
            let outcome = learning(method).zip(learning(Method::Vanilla)).map(|(found, plain)| {
                let times = found / plain;
                (format!("{times:.2} times an epoch of vanilla HALO"), holds(times))
            });
            self.finding(claim, said_learning(method), outcome)
        };
        let said_writing = |method: Method| {
            let plain = published(Method::Vanilla, self.cohort).generation_seconds;
            format!("{:.2} times", published(method, self.cohort).generation_seconds / plain)
        };
        let writes = |claim: &str, method: Method, holds: &dyn Fn(f64) -> bool| {
            let outcome = self.of(method).and_then(|one| {
                let middle = one.generation.median_times_vanilla?;
                let interval = one.generation.times_vanilla?;
                Some((format!("{middle:.3} times (mean {interval:.3})"), holds(middle)))
            });
            self.finding(claim, said_writing(method), outcome)
        };
        vec![
            trains(
                "ConSequence learns about as fast as vanilla HALO",
                Method::Consequence,
                &|times| times < 1.35,
            ),
            trains("Semantic loss learns slower", Method::SemanticLoss, &|times| times > 1.1),
            trains("CCN learns much slower", Method::Ccn, &|times| times > 2.0),
            trains("MultiPlexNet learns slower", Method::MultiPlexNet, &|times| times > 1.1),
            writes(
                "ConSequence writes records less than 13% slower than vanilla HALO",
                Method::Consequence,
                &|times| times < 1.13,
            ),
            writes(
                "Semantic loss writes as fast as vanilla HALO",
                Method::SemanticLoss,
                &|times| times < 1.06,
            ),
            writes("Post-processing writes much slower", Method::PostProcessing, &|times| {
                times > 1.37
            }),
            writes("CCN writes more than 37% slower", Method::Ccn, &|times| times > 1.37),
            writes("MultiPlexNet writes more than 37% slower", Method::MultiPlexNet, &|times| {
                times > 1.37
            }),
            writes("SPL writes many times slower", Method::Spl, &|times| times > 10.0),
        ]
    }

    fn correlations(&self) -> Vec<Finding> {
        let here = |method: Method| -> Option<[Interval; 3]> {
            let [code, pair, sequence] = self.of(method)?.generation.r2;
            Some([code?, pair?, sequence?])
        };
        let shown =
            |[code, pair, sequence]: [f64; 3]| format!("{code:.3} / {pair:.3} / {sequence:.3}");
        let means = |figures: [Interval; 3]| shown(figures.map(|figure| figure.mean));
        let check = |claim: &str,
                     method: Method,
                     holds: &dyn Fn(&[Interval; 3], &[Interval; 3]) -> bool| {
            let outcome = here(method).zip(here(Method::Vanilla)).map(|(found, plain)| {
                let figures = format!("{}, vanilla {}", means(found), means(plain));
                (figures, holds(&found, &plain))
            });
            let said = |method: Method| shown(published(method, self.cohort).r2);
            let said = format!("{}, vanilla {}", said(method), said(Method::Vanilla));
            self.finding(claim, said, outcome)
        };
        let best = here(Method::Ccn).map(|ccn| {
            let others = Method::ALL.into_iter().filter(|&method| method != Method::Ccn);
            let others: Vec<[Interval; 3]> = others.filter_map(here).collect();
            (means(ccn), others.iter().all(|other| at_least(&ccn, other)))
        });
        vec![
            check(
                "ConSequence has R2 of codes, pairs and sequential pairs at least those of vanilla \
                 HALO",
                Method::Consequence,
                &at_least,
            ),
            self.finding(
                "CCN has the best R2 of all",
                shown(published(Method::Ccn, self.cohort).r2),
                best,
            ),
            check(
                "Post-processing lowers the R2 of codes",
                Method::PostProcessing,
                &|found, plain| below(&found[0], &plain[0]),
            ),
            check("MultiPlexNet lowers every R2", Method::MultiPlexNet, &|found, plain| {
                found.iter().zip(plain).all(|(found, plain)| below(found, plain))
            }),
            check("SPL lowers the R2 of pairs", Method::Spl, &|found, plain| {
                below(&found[1], &plain[1])
            }),
        ]
    }
}

/// Whether every figure is at least the other, as far as the intervals can tell.
pub(super) fn at_least(found: &[Interval; 3], plain: &[Interval; 3]) -> bool {
    found.iter().zip(plain).all(|(found, plain)| !below(found, plain))
}

/// Whether a figure is below another, their intervals apart.
fn below(one: &Interval, other: &Interval) -> bool {
    let slack = one.half_width.unwrap_or(0.0) + other.half_width.unwrap_or(0.0);
    one.mean + slack < other.mean
}
