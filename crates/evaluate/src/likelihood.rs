//! How well a model predicts records that exist, and a model that knows little to hold against it.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_enforce::{Auditor, Enforcer};
use consequence_feedback::Unwatched;
use consequence_feedback::words::{count, number};
use consequence_model::{Generator, Settled, Turn};
use consequence_record::{Part, RecordView, Selection, Vocabulary};
use consequence_rules::{CompileError, CompileLimits, Order, WrittenRules};
use serde::Serialize;
use thiserror::Error;

use crate::figures::nats;
use crate::measured::{BadRecord, check};
use crate::replay::{
    Parts, RecordNats, ReplayOptions, record_nats, record_nats_with_rules, record_nats_with_settled,
};

/// Why a likelihood could not be measured.
#[derive(Debug, Error)]
pub enum LikelihoodError {
    /// A record is not of the model's vocabulary.
    #[error(transparent)]
    Record(#[from] BadRecord),
    /// The plan decides codes in another order than the model.
    #[error(
        "the rules were compiled for another order of codes than the model's; compile them in the model's order"
    )]
    OtherOrder,
    /// The model gave something that is not a probability.
    #[error(
        "the model gives code `{code}` the probability {probability}, not a number from 0 to 1"
    )]
    BadProbability {
        /// The code.
        code: String,
        /// What was given.
        probability: f64,
    },
    /// The model did not ask for every code once.
    #[error("the model asked for {asked} codes of visit {visit}, not for each code once")]
    NotAsked {
        /// The visit; 0 is the static visit.
        visit: usize,
        /// How often it asked.
        asked: usize,
    },
    /// The rules could not be read again to name those that were broken.
    #[error(transparent)]
    Rules(#[from] CompileError),
}

/// How many codes are present, by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Positives {
    /// Codes of static visits.
    pub static_codes: u64,
    /// Codes of encounters, but for those below.
    pub encounter_codes: u64,
    /// Records that end.
    pub end: u64,
    /// Codes that tell when encounters were, and how long they took.
    pub time: u64,
    /// Codes that tell in which part of a test's values a result is.
    pub values: u64,
}

impl Positives {
    /// All five together.
    pub fn total(&self) -> u64 {
        self.of_codes() + self.time + self.values
    }

    /// Static codes, encounter codes and `END`: what perplexity is of.
    pub fn of_codes(&self) -> u64 {
        self.static_codes + self.encounter_codes + self.end
    }
}

impl Positives {
    fn of(&mut self, part: Part) -> &mut u64 {
        match part {
            Part::Static => &mut self.static_codes,
            Part::Codes => &mut self.encounter_codes,
            Part::End => &mut self.end,
            Part::Time => &mut self.time,
            Part::Values => &mut self.values,
        }
    }
}

/// A hard rule that forbids some records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenRule {
    /// Its name.
    pub rule: String,
    /// The records that break it.
    pub records: u64,
}

/// How well a model, with rules or without, predicts records that exist. Probabilities are
/// normalised: over all records that can be, they add up to 1.
///
/// All sums are over the records that have a finite likelihood; the others are counted by reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Likelihood {
    /// Records asked for.
    pub records: u64,
    /// Records with a finite likelihood: what follows is of these.
    pub measured: u64,
    /// Their encounters.
    pub encounters: u64,
    /// Codes present in them.
    pub positives: Positives,
    /// What they cost.
    pub nats: Parts,
    /// Nats a record.
    pub nats_per_record: Option<f64>,
    /// Nats an encounter, static codes left out.
    pub nats_per_visit: Option<f64>,
    /// The exponential of the nats for each code present, time and values left out: figures of a cohort
    /// compare, whether its dates and values were taken in or not.
    pub perplexity: Option<f64>,
    /// Records that cannot be under the rules.
    pub forbidden: u64,
    /// The hard rules that they break, the most often broken first.
    pub broken: Vec<BrokenRule>,
    /// Those of them that break no rule, but that no record which obeys the rules begins with: they
    /// were cut.
    pub dead_ends: u64,
    /// Records with something in them that had a probability of exactly 0.
    pub infinite: u64,
    /// Records with more encounters than the model or the plan can write.
    pub too_long: u64,
}

/// The likelihood of records under a model alone.
///
/// ```
/// use consequence_evaluate::{ReplayOptions, likelihood};
/// use consequence_model::Markov;
/// use consequence_rules::Order;
/// use consequence_record::Selection;
/// use consequence_simulate::{Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::Inpatient, 500, 7);
/// let (codes, cohort) = (Order::natural(simulation.vocabulary().clone()), simulation.cohort());
/// let [train, test] = [0..400, 400..500].map(|range| Selection::all(&cohort).part(range));
/// let markov = Markov::fit(codes, train, 100);
/// let likelihood = likelihood(&markov, test, &ReplayOptions::default())?;
/// assert_eq!((likelihood.measured, likelihood.infinite), (100, 0));
/// assert!(likelihood.perplexity.unwrap() < 100.0);
/// # Ok::<(), consequence_evaluate::LikelihoodError>(())
/// ```
pub fn likelihood<G: Generator>(
    generator: &G,
    records: Selection<'_>,
    options: &ReplayOptions<'_>,
) -> Result<Likelihood, LikelihoodError> {
    let outcomes = record_nats(generator, records, options)?;
    Ok(Likelihood::of(records, generator.codes().vocabulary(), &outcomes))
}

/// The likelihood of records under a model with rules: each code is given by what is already
/// decided, as when records are generated.
///
/// What a hard rule forces costs nothing if it is so, and forbids the record if not; the rules that
/// were broken are named. Soft rules give their own probability.
pub fn likelihood_with_rules<G: Generator>(
    generator: &G,
    enforcer: &Enforcer,
    records: Selection<'_>,
    options: &ReplayOptions<'_>,
) -> Result<Likelihood, LikelihoodError> {
    let outcomes = record_nats_with_rules(generator, enforcer, records, options)?;
    let vocabulary = generator.codes().vocabulary();
    let mut likelihood = Likelihood::of(records, vocabulary, &outcomes);
    likelihood.name_rules(enforcer, records, &outcomes)?;
    Ok(likelihood)
}

/// The logarithm of the probability of each record under a model, with rules or alone, in the order given. It
/// is minus infinity for a record that the rules forbid, that has something in it with a probability of 0, or
/// that is longer than any that can be written.
///
/// ```
/// use consequence_evaluate::{ReplayOptions, likelihood, log_probabilities};
/// use consequence_model::Markov;
/// use consequence_record::Selection;
/// use consequence_rules::Order;
/// use consequence_simulate::{Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::Inpatient, 300, 7);
/// let (codes, cohort) = (Order::natural(simulation.vocabulary().clone()), simulation.cohort());
/// let records = Selection::all(&cohort);
/// let (markov, options) = (Markov::fit(codes, records, 100), ReplayOptions::default());
/// let each = log_probabilities(&markov, None, records, &options)?;
/// let all = likelihood(&markov, records, &options)?;
/// assert!((each.iter().sum::<f64>() + all.nats.total()).abs() < 1e-6);
/// # Ok::<(), consequence_evaluate::LikelihoodError>(())
/// ```
pub fn log_probabilities<G: Generator>(
    generator: &G,
    enforcer: Option<&Enforcer>,
    records: Selection<'_>,
    options: &ReplayOptions<'_>,
) -> Result<Vec<f64>, LikelihoodError> {
    let outcomes = match enforcer {
        Some(enforcer) => record_nats_with_rules(generator, enforcer, records, options)?,
        None => record_nats(generator, records, options)?,
    };
    let logarithm = |outcome: &RecordNats| match outcome {
        RecordNats::Finite(parts) => -parts.total(),
        RecordNats::Forbidden | RecordNats::Infinite | RecordNats::TooLong => f64::NEG_INFINITY,
    };
    Ok(outcomes.iter().map(logarithm).collect())
}

/// A figure that looks like a likelihood and is none: probabilities do not add up to 1, since some
/// were settled from codes that are decided later. Not to be held against a [`Likelihood`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnnormalisedLikelihood {
    /// The figure.
    pub unnormalised: Likelihood,
}

/// The figure of records where some codes are settled by something that may look at the whole
/// record: `settled` is asked for each record and visit, and counts from the first code that the
/// visit may hold. As the paper measures.
pub fn likelihood_with_settled<G: Generator>(
    generator: &G,
    settled: impl Fn(RecordView<'_>, usize) -> Vec<Settled> + Sync,
    records: Selection<'_>,
    options: &ReplayOptions<'_>,
) -> Result<UnnormalisedLikelihood, LikelihoodError> {
    let outcomes = record_nats_with_settled(generator, settled, records, options)?;
    let vocabulary = generator.codes().vocabulary();
    Ok(UnnormalisedLikelihood { unnormalised: Likelihood::of(records, vocabulary, &outcomes) })
}

impl Likelihood {
    /// Adds up what records cost, in their order.
    fn of(records: Selection<'_>, vocabulary: &Vocabulary, outcomes: &[RecordNats]) -> Self {
        let mut all = Self { records: records.len() as u64, ..Self::default() };
        for (record, outcome) in records.records().zip(outcomes) {
            match outcome {
                RecordNats::Forbidden => all.forbidden += 1,
                RecordNats::Infinite => all.infinite += 1,
                RecordNats::TooLong => all.too_long += 1,
                RecordNats::Finite(parts) => {
                    all.measured += 1;
                    all.encounters += record.len() as u64 - 1;
                    for &code in record.visits().flatten() {
                        *all.positives.of(vocabulary.part(code)) += 1;
                    }
                    all.positives.end += u64::from(record.ends_at(record.len() - 1));
                    all.nats.add(parts);
                }
            }
        }
        let share = |nats: f64, of: u64| (of > 0).then(|| nats / of as f64);
        all.nats_per_record = share(all.nats.total(), all.measured);
        let Parts { encounter_codes, end, time, values, .. } = all.nats;
        all.nats_per_visit = share(encounter_codes + end + time + values, all.encounters);
        all.perplexity = share(all.nats.of_codes(), all.positives.of_codes()).map(f64::exp);
        all
    }

    /// Names the rules that the forbidden records break.
    fn name_rules(
        &mut self,
        enforcer: &Enforcer,
        records: Selection<'_>,
        outcomes: &[RecordNats],
    ) -> Result<(), LikelihoodError> {
        if self.forbidden == 0 {
            return Ok(());
        }
        let rules = enforcer.plan().rules();
        // The plan exists, so its rules were small enough.
        let limits = CompileLimits { rule_literals: usize::MAX, ..CompileLimits::default() };
        let auditor = Auditor::new(&WrittenRules::new(Arc::clone(rules), &limits)?);
        let forbidden = records.indices().zip(outcomes);
        let forbidden: Vec<usize> = forbidden
            .filter(|&(_, outcome)| *outcome == RecordNats::Forbidden)
            .map(|(index, _)| index)
            .collect();
        let audit = auditor.audit(records.others(&forbidden), 0, &Unwatched);
        self.dead_ends = audit.valid_records;
        let broken = rules.iter().zip(&audit.rules);
        let broken = broken.filter(|(_, finding)| finding.records > 0);
        self.broken = broken
            .map(|(rule, finding)| BrokenRule {
                rule: rule.name.to_string(),
                records: finding.records,
            })
            .collect();
        self.broken.sort_by_key(|broken| std::cmp::Reverse(broken.records));
        Ok(())
    }
}

impl Display for Likelihood {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{} of {}, {}, {} present",
            number(self.measured),
            count(self.records, "record"),
            count(self.encounters, "encounter"),
            count(self.positives.total(), "code")
        )?;
        if let (Some(perplexity), Some(record)) = (self.perplexity, self.nats_per_record) {
            write!(
                out,
                "  perplexity {perplexity:.3} per code present; {record:.3} nats a record"
            )?;
            match self.nats_per_visit {
                Some(visit) => writeln!(out, ", {visit:.3} an encounter")?,
                None => writeln!(out)?,
            }
            let [statics, encounters, end, time, values] = self.nats.each().map(nats);
            write!(out, "  nats: {statics} static codes, {encounters} encounters, {end} END")?;
            match self.positives.time + self.positives.values {
                0 => writeln!(out)?,
                _ => writeln!(out, ", {time} time, {values} values (not in the perplexity)")?,
            }
        }
        if self.forbidden > 0 {
            let many = count(self.forbidden, "record");
            writeln!(out, "  {many} left out that the rules forbid:")?;
            for BrokenRule { rule, records } in &self.broken {
                writeln!(out, "    {}: {rule}", count(*records, "record"))?;
            }
            if self.dead_ends > 0 {
                let many = count(self.dead_ends, "record");
                writeln!(out, "    {many}: cut where no record can go on and obey the rules")?;
            }
        }
        if self.infinite > 0 {
            let many = count(self.infinite, "record");
            writeln!(out, "  {many} left out with an infinite cost: something had probability 0")?;
        }
        if self.too_long > 0 {
            let many = count(self.too_long, "record");
            writeln!(out, "  {many} left out with more encounters than can be written")?;
        }
        Ok(())
    }
}

impl Display for UnnormalisedLikelihood {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "not normalised, as the paper measures: {}", self.unnormalised)
    }
}

/// Independent codes, each as frequent as it was in the records trained on: the least a model
/// should beat. Not smoothed, so a code that was never seen has no probability.
#[derive(Clone, Debug)]
pub struct Independent {
    codes: Order,
    max_visits: usize,
    probabilities: Vec<f64>,
}

impl Independent {
    /// Counts the codes of records.
    pub fn fit(codes: Order, records: Selection<'_>, max_visits: usize) -> Result<Self, BadRecord> {
        check(records, codes.vocabulary())?;
        let mut counts = vec![0u64; codes.len()];
        let mut encounters = 0;
        for record in records.records() {
            encounters += record.len() - 1;
            for visit in 0..record.len() {
                for position in codes.positions(record, visit) {
                    counts[position as usize] += 1;
                }
            }
        }
        let probability = |(position, count): (usize, u64)| {
            let visits = if position < codes.statics() { records.len() } else { encounters };
            count as f64 / visits.max(1) as f64
        };
        let probabilities = counts.into_iter().enumerate().map(probability).collect();
        Ok(Self { codes, max_visits, probabilities })
    }
}

impl Generator for Independent {
    /// The number of visits so far.
    type Past = usize;
    type Scratch = ();

    fn codes(&self) -> &Order {
        &self.codes
    }

    fn max_visits(&self) -> usize {
        self.max_visits
    }

    fn begin(&self) -> usize {
        0
    }

    fn next(&self, turns: &mut [Turn<'_, usize>], _: &mut ()) {
        for turn in turns {
            for position in self.codes.range(*turn.past) {
                let probability = |position: u32| self.probabilities[position as usize];
                let mut ahead = |_: bool, positions: &[u32], into: &mut [f64]| {
                    into.iter_mut().zip(positions).for_each(|(into, &at)| *into = probability(at));
                };
                turn.decider.decide(position, probability(position), &mut ahead);
            }
            *turn.past += 1;
        }
    }
}
