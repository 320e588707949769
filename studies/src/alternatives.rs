//! What a repair puts in, and what a model writes, where a rule leaves the choice: the shares of codes
//! in real records and then.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_enforce::{RepairPlan, Repaired, repair};
use consequence_feedback::Unwatched;
use consequence_model::{NetworkGenerator, Sizes};
use consequence_prng::Draws;
use consequence_record::{Code, Cohort};
use consequence_rules::{CompileOptions, RuleSet};
use consequence_sample::{Mode, Request};
use consequence_train::{Examples, Preset, TrainOptions};

use crate::networks::{Loaded, Subject};
use crate::training::{enforcer, fit, write};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Occurrences that a code must have for its growth to count.
const OCCURRENCES: u64 = 20;

/// The rules, with the cohorts they are tried on.
pub const RULES: [(Subject, &str, &str); 3] = [
    (
        Subject::Inpatients(46_520),
        "an endocrine diagnosis stays",
        "DX//endocrine//* in past => any of DX//endocrine//*",
    ),
    (Subject::Synpuf, "diabetes stays", "ICD9CM//250* in past => any of ICD9CM//250*"),
    (Subject::Uci, "diabetes is treated", "ICD9CM//250 => any of RX//*"),
];

/// What came of a rule.
#[derive(Clone, Debug)]
pub struct Line {
    /// Codes put in, and how many different ones.
    pub added: [usize; 2],
    /// The total variation between the shares of the rule's codes, before and after.
    pub variation: f64,
    /// The largest factor by which the share of a code with at least 20 occurrences grew.
    pub growth: f64,
    /// The code that grew so, with its occurrences before and after.
    pub grown: String,
}

/// One rule over the codes of a cohort.
fn rule(loaded: &Loaded, rule: &str) -> Fallible<Arc<RuleSet>> {
    let text = format!("rule chosen: {rule}");
    Ok(Arc::new(RuleSet::parse(&text, Some(Arc::clone(&loaded.vocabulary)))?))
}

fn repaired(rules: &Arc<RuleSet>, cohort: &Cohort) -> Fallible<Repaired> {
    let max_visits = u16::try_from(cohort.longest())?;
    let options = CompileOptions { max_visits, ..CompileOptions::default() };
    let plan = RepairPlan::compile(Arc::clone(rules), &options)?;
    Ok(repair(&plan, cohort, &Draws::new(1), &Unwatched))
}

/// Repairs a cohort by one rule; none where the cohort is not there.
pub fn run(subject: Subject, text: &str) -> Fallible<Option<Line>> {
    let Some(loaded) = subject.load()? else { return Ok(None) };
    let rules = rule(&loaded, text)?;
    let repaired = repaired(&rules, &loaded.cohort)?;
    let different: BTreeSet<Code> = repaired.changes.iter().map(|change| change.code).collect();
    let added = [repaired.summary.added as usize, different.len()];
    Ok(Some(Line { added, ..shares(&rules, &loaded.cohort, &repaired.cohort) }))
}

/// Records written for each of the cohort, so that a code which 20 patients have is counted well enough.
const WRITTEN: u64 = 4;

/// What a rule has to do with the records that a network writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nothing: what the network gets wrong by itself.
    None,
    /// It is obeyed by a network that was trained without it.
    Obeyed,
    /// The network was trained with it, on records that were repaired by it.
    Trained,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Obeyed, Self::Trained];
}

impl Display for Part {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::None => "no rule",
            Self::Obeyed => "trained without it",
            Self::Trained => "trained with it",
        })
    }
}

/// Trains a network and writes records. None where the cohort is not there.
pub fn generated(
    subject: Subject,
    text: &str,
    part: Part,
    (preset, options): (Preset, &TrainOptions),
) -> Fallible<Option<Line>> {
    let Some(mut loaded) = subject.load()? else { return Ok(None) };
    let rules = rule(&loaded, text)?;
    let real = loaded.cohort.clone();
    let taught = part == Part::Trained;
    if taught {
        loaded.cohort = repaired(&rules, &real)?.cohort;
        if loaded.cohort.len() != real.len() {
            return Err("some records cannot obey the rule".into());
        }
    }
    let max_visits = loaded.cohort.longest();
    let enforcer = enforcer(&rules, max_visits)?;
    let [train, tuning, _] = loaded.selections();
    let sizes = Sizes { max_visits, network: preset.sizes() };
    let with = taught.then_some(&enforcer);
    let fitted = fit(&Examples { train, tuning }, &loaded.vocabulary, with, &sizes, options)?;
    let generator = NetworkGenerator::new(&fitted.network);
    let trained_with = taught.then_some(&*rules);
    let mode = if part == Part::None { Mode::Off } else { Mode::Guided };
    let request = Request { seed: options.seed, mode, trained_with, ..Request::default() };
    let (written, _) = write(&generator, &rules, request, WRITTEN * real.len() as u64)?;
    Ok(Some(shares(&rules, &real, &written)))
}

/// How the shares of a rule's codes differ between two cohorts.
fn shares(rules: &RuleSet, before: &Cohort, after: &Cohort) -> Line {
    let codes: BTreeSet<Code> = rules[0].outputs().into_iter().collect();
    let counts = [before, after].map(|cohort| {
        let mut counts = vec![0u64; rules.vocabulary().len()];
        for code in cohort.records().flat_map(|record| record.visits().flatten()) {
            counts[code.index()] += 1;
        }
        counts
    });
    let shares = counts.each_ref().map(|counts| {
        let all: u64 = codes.iter().map(|code| counts[code.index()]).sum();
        codes.iter().map(|code| counts[code.index()] as f64 / all as f64).collect::<Vec<f64>>()
    });
    let both = || shares[0].iter().zip(&shares[1]);
    let frequent = both().zip(&codes).filter(|(_, code)| counts[0][code.index()] >= OCCURRENCES);
    let grown = frequent.map(|((before, after), code)| (after / before, *code));
    let (growth, code) = grown.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, Code(0)));
    let [before, after] = counts.each_ref().map(|counts| counts[code.index()]);
    Line {
        added: [0; 2],
        variation: both().map(|(before, after)| (before - after).abs()).sum::<f64>() / 2.0,
        growth,
        grown: format!("{}, {before} to {after}", rules.vocabulary().name(code)),
    }
}
