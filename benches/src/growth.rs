//! How the cost of keeping rules grows with visits, codes and rules, beside the paper's way.

use std::hint::black_box;
use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_record::{Cohort, Record};
use consequence_referee::Referee;
use consequence_rules::{CompileOptions, Plan, RuleSet, compile};

use crate::dense::DensePass;
use crate::family::Family;
use crate::running::{repair, sample};
use crate::timing::{Repeats, Times, in_turn};
use crate::workload::Workload;

const SEED: u64 = 11;

/// How much to measure at each point.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Encounters in one repeat, in as many records as that makes.
    pub encounters: usize,
    /// Repeats.
    pub repeats: usize,
    /// Encounters of each way that the referee judges.
    pub judged: usize,
}

/// What grows, with everything else fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// Encounters of a record. Rules are spread over all codes.
    Visits,
    /// Codes. Visits and rules keep to the same 500 of them, so that as many rules as before look
    /// at a code that is present.
    Codes,
    /// Rules, spread over all codes. With as many codes as before, more rules look at each: the mean
    /// is the rules by the codes, and no way of spreading them changes that.
    Rules,
    /// Rules, the first 100 over the 500 codes that visits are drawn from, all others over the
    /// rest. As many as before look at a code that is present.
    RulesElsewhere,
}

impl Sweep {
    /// Every sweep.
    pub const ALL: [Self; 4] = [Self::Visits, Self::Codes, Self::Rules, Self::RulesElsewhere];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Visits => "visits",
            Self::Codes => "codes",
            Self::Rules => "rules",
            Self::RulesElsewhere => "rules_elsewhere",
        }
    }

    /// What stays fixed, in words.
    pub fn fixed(self) -> &'static str {
        match self {
            Self::Visits => "2,000 codes, 1,000 rules spread over all of them",
            Self::Codes => "32 visits, 1,000 rules, both about the same 500 codes",
            Self::Rules => "32 visits, 2,000 codes, rules spread over all of them",
            Self::RulesElsewhere => {
                "32 visits of 500 codes of 2,000, rules but 100 about the others"
            }
        }
    }

    /// The values it goes through.
    pub fn values(self) -> &'static [usize] {
        match self {
            Self::Visits => &[4, 16, 64, 256, 1_024],
            Self::Codes => &[500, 2_000, 8_000, 32_000],
            Self::Rules | Self::RulesElsewhere => &[100, 1_000, 10_000, 100_000],
        }
    }

    /// The rules at one value, and the encounters of a record.
    pub fn at(self, value: usize) -> (Family, usize) {
        let even = Family { core_codes: 2_000, rest_codes: 0, core_rules: 1_000, rest_rules: 0 };
        let apart = Family { core_codes: 500, rest_codes: 1_500, core_rules: 100, rest_rules: 0 };
        match self {
            Self::Visits => (even, value),
            Self::Codes => {
                let rest_codes = value.saturating_sub(500);
                (Family { core_rules: 1_000, rest_codes, ..apart }, 32)
            }
            Self::Rules => (Family { core_rules: value, ..even }, 32),
            Self::RulesElsewhere => {
                let rest_rules = value.saturating_sub(100);
                (Family { rest_rules, ..apart }, 32)
            }
        }
    }
}

/// What was measured at one value of a sweep, in seconds for each encounter.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The value.
    pub x: usize,
    /// Encounters of a record.
    pub visits: usize,
    /// Repairing a visit with our override.
    pub ours_override: Times,
    /// What the rules add to sampling a visit without them. A difference of two times: it may come
    /// out below zero where the rules add next to nothing.
    pub ours_guided: Times,
    /// The paper's pass over the same visit.
    pub paper: Times,
    /// The walk over all codes without rules that guided sampling is compared with.
    pub walk: Times,
    /// Groups of rules in the paper's pass.
    pub groups: usize,
    /// What the referee found.
    pub judgement: Judgement,
}

/// Violations by the referee, in the first encounters of each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Encounters judged of each way.
    pub encounters: usize,
    /// As proposed, before any rule.
    pub proposed: usize,
    /// After our override.
    pub ours_override: usize,
    /// In guided samples.
    pub ours_guided: usize,
    /// After the paper's pass.
    pub paper: usize,
    /// Records in which override and the paper's pass left different visits, of all records.
    pub different: usize,
}

/// How medians grow over a sweep: the exponent `e` of time for a record as `x` to the power of `e`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponents {
    /// The fit over all points.
    pub fitted: Option<f64>,
    /// Between the last two points, where what does not grow weighs least.
    pub last: Option<f64>,
}

/// Measures a sweep at the given values, all of them in turn: what else the machine does then
/// weighs on each alike.
///
/// # Panics
/// If the rules have no plan; those of a [`Family`] all have one.
pub fn measure(sweep: Sweep, values: &[usize], effort: Effort) -> Vec<Point> {
    let stages: Vec<Stage> = values.iter().map(|&x| Stage::new(sweep, x, effort)).collect();
    let mut work: Vec<Box<dyn FnMut() + '_>> = stages.iter().flat_map(Stage::work).collect();
    let repeats = in_turn(effort.repeats, &mut work);
    let (repeats, _) = repeats.as_chunks::<WAYS>();
    let points = stages.iter().zip(repeats).map(|(stage, repeats)| stage.point(repeats, effort));
    points.collect()
}

/// Override, the paper's pass, guided, and the walk without rules.
const WAYS: usize = 4;

/// One value of a sweep, ready to be measured.
struct Stage {
    x: usize,
    visits: usize,
    workload: Workload,
    proposals: Cohort,
    table: Vec<f64>,
    enforcer: Enforcer,
    without_rules: Enforcer,
    pass: DensePass,
}

impl Stage {
    fn new(sweep: Sweep, x: usize, effort: Effort) -> Self {
        let (family, visits) = sweep.at(x);
        let workload = family.workload(SEED);
        let vocabulary = Arc::clone(workload.rules.vocabulary());
        let none = Arc::new(RuleSet::empty(vocabulary));
        let plan = planned(&workload.rules, visits);
        Self {
            x,
            visits,
            proposals: workload.proposals_of(effort.encounters.div_ceil(visits), visits, SEED),
            table: workload.probabilities(),
            enforcer: Enforcer::new(&plan),
            without_rules: Enforcer::new(&planned(&none, visits)),
            pass: DensePass::new(&plan),
            workload,
        }
    }

    /// What is timed: each way on all records.
    fn work(&self) -> [Box<dyn FnMut() + '_>; WAYS] {
        let records = 0..self.proposals.len();
        let mut mender = self.enforcer.writer();
        let overridden = move || {
            for number in records.clone() {
                repair(&mut mender, &self.proposals, number);
                black_box(mender.take());
            }
        };
        let mut pass = self.pass.clone();
        let paper = move || {
            for record in self.proposals.records() {
                pass.clear();
                record.visits().for_each(|visit| pass.push(visit));
                black_box(&pass);
            }
        };
        let (guided, walk) = (self.walk(&self.enforcer), self.walk(&self.without_rules));
        [Box::new(overridden), Box::new(paper), Box::new(guided), Box::new(walk)]
    }

    /// Sampling code by code.
    fn walk<'a>(&'a self, enforcer: &'a Enforcer) -> impl FnMut() + use<'a> {
        let mut writer = enforcer.writer();
        move || {
            for number in 0..self.proposals.len() {
                sample(&mut writer, &self.table, number, self.visits);
                black_box(writer.take());
            }
        }
    }

    fn point(&self, [overridden, paper, guided, walk]: &[Repeats; WAYS], effort: Effort) -> Point {
        let encounters = self.proposals.len() * self.visits;
        Point {
            x: self.x,
            visits: self.visits,
            ours_override: overridden.times().per(encounters),
            ours_guided: guided.beyond(walk).per(encounters),
            paper: paper.times().per(encounters),
            walk: walk.times().per(encounters),
            groups: self.pass.groups(),
            judgement: self.judge(effort.judged.div_ceil(self.visits)),
        }
    }

    /// Has the referee look at a few records of each way, and compares all that were repaired.
    fn judge(&self, judged: usize) -> Judgement {
        let referee = Referee::new(&self.workload.rules);
        let (mut writer, mut pass) = (self.enforcer.writer(), self.pass.clone());
        let mut judgement = Judgement::default();
        for (number, proposed) in self.proposals.records().enumerate() {
            pass.clear();
            proposed.visits().for_each(|visit| pass.push(visit));
            let dense = Record::new(pass.codes()).cut();
            repair(&mut writer, &self.proposals, number);
            let repaired = writer.take();
            judgement.different += usize::from(repaired != dense);
            if number < judged {
                sample(&mut writer, &self.table, number, self.visits);
                let sampled = writer.take();
                judgement.encounters += self.visits;
                judgement.proposed += referee.violations(&proposed).len();
                judgement.ours_override += referee.violations(&repaired).len();
                judgement.ours_guided += referee.violations(&sampled).len();
                judgement.paper += referee.violations(&dense).len();
            }
        }
        judgement
    }
}

/// A proved plan with room for one visit more than are written, so that no record is made to end.
fn planned(rules: &Arc<RuleSet>, visits: usize) -> Plan {
    let options = CompileOptions { max_visits: visits as u16 + 1, ..CompileOptions::default() };
    compile(Arc::clone(rules), &options).unwrap_or_else(|error| panic!("{error}"))
}

/// The exponents of one way over the points of a sweep.
pub fn exponents(points: &[Point], way: impl Fn(&Point) -> Times) -> Exponents {
    let per_record: Vec<(f64, f64)> = points
        .iter()
        .map(|point| (point.x as f64, way(point).median * point.visits as f64))
        .collect();
    let last = per_record.len().saturating_sub(2);
    Exponents { fitted: slope(&per_record), last: slope(&per_record[last..]) }
}

/// The slope of the line of least squares through the logarithms; `None` if a value has none, or if
/// there are not two different places to draw a line through.
///
/// ```
/// use consequence_benches::growth::slope;
///
/// let square: Vec<(f64, f64)> = [1.0, 2.0, 10.0].map(|x| (x, 5.0 * x * x)).to_vec();
/// assert!((slope(&square).unwrap() - 2.0).abs() < 1e-12);
/// assert_eq!(slope(&[(1.0, 3.0), (2.0, -0.1)]), None);
/// assert_eq!(slope(&[(1.0, 3.0)]), None);
/// ```
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    if points.iter().any(|&(x, y)| x <= 0.0 || y <= 0.0) {
        return None;
    }
    let logarithms: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logarithms.len() as f64;
    let mean_x = logarithms.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = logarithms.iter().map(|(_, y)| y).sum::<f64>() / count;
    let both: f64 = logarithms.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let square: f64 = logarithms.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    (square > 0.0).then(|| both / square)
}
