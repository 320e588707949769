//! One generation of a method, and what it comes to.

use std::time::Instant;

use consequence_baselines::Method;
use consequence_evaluate::{
    CompareOptions, PrivacyOptions, Reference, Samples, UtilityOptions, privacy, utility,
};
use consequence_model::{Generator, Network, NetworkGenerator};
use consequence_pipeline::{Error, Unwatched};
use consequence_record::{Cohort, Selection};
use consequence_rules::RuleSet;
use consequence_sample::{Mode, Request, Sampler, Totals};

use super::arena::Arena;
use super::contestant::Contestant;
use super::figures::{DeepFigures, RunFigures, r2};

impl Contestant {
    /// Writes the records of one generation, and tells how long it took and how many were begun.
    pub fn generate(
        &self,
        arena: &Arena,
        network: &Network,
        (seed, records): (u64, u64),
    ) -> Result<Generated, Error> {
        let request = |mode: Mode| Request { seed, mode, ..Request::default() };
        let plain = || NetworkGenerator::new(network);
        match (self.method, &self.rival) {
            (_, Some(rival)) => {
                let generator = rival.generator(network);
                write(&generator, &arena.no_rules(), request(Mode::Off), records)
            }
            (Method::Consequence, _) => {
                let trained_with = Some(&*arena.rules);
                let request = Request { trained_with, ..request(Mode::Guided) };
                write(&plain(), &arena.rules, request, records)
            }
            (Method::PostProcessing, _) => {
                write(&plain(), &arena.rules, request(Mode::Reject), records)
            }
            (Method::Published, _) => {
                let request = Request { pass: Some(&arena.pass), ..request(Mode::Off) };
                write(&plain(), &arena.no_rules(), request, records)
            }
            _ => write(&plain(), &arena.no_rules(), request(Mode::Off), records),
        }
    }
}

/// Records that were generated.
pub(super) struct Generated {
    pub cohort: Cohort,
    pub seconds: f64,
    pub attempts: f64,
}

fn write<G: Generator>(
    generator: &G,
    rules: &RuleSet,
    request: Request<'_>,
    records: u64,
) -> Result<Generated, Error> {
    // Laying out weights and compiling rules is done once, however many records follow.
    let sampler = Sampler::new(generator, rules, request)?;
    let (mut cohort, mut totals) = (Cohort::default(), Totals::default());
    let began = Instant::now();
    sampler.records(0..records, &mut totals, |number, record| {
        cohort.push(&number.to_string(), &record);
        Ok(())
    })?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Generated { cohort, seconds, attempts: totals.attempts as f64 / records.max(1) as f64 })
}

/// What generated records are held against.
pub(super) struct Judge<'a> {
    pub arena: &'a Arena,
    pub reference: Reference<'a>,
}

impl<'a> Judge<'a> {
    pub fn new(arena: &'a Arena) -> Result<Self, Error> {
        let real = Selection::new(&arena.cohort, &arena.train);
        let reference = Reference::new(real, &arena.vocabulary, &CompareOptions::default())?;
        Ok(Self { arena, reference })
    }

    /// Measures one generation.
    pub fn figures(&self, generated: &Generated) -> Result<RunFigures, Error> {
        let cohort = &generated.cohort;
        let comparison = self.reference.compare(Selection::all(cohort))?;
        let audit = self.arena.auditor.audit(cohort, 0, &Unwatched);
        let rules = self.arena.rules.iter().zip(&audit.rules);
        let broken = rules
            .filter(|(_, finding)| finding.violations > 0)
            .map(|(rule, finding)| (rule.name.to_string(), finding.violations))
            .collect();
        Ok(RunFigures {
            records: cohort.len() as u64,
            encounters: comparison.synthetic.encounters,
            codes: comparison.synthetic.codes,
            seconds: generated.seconds,
            attempts: generated.attempts,
            within_visit_violations: audit.within_visit_violations,
            temporal_violations: audit.temporal_violations,
            valid_records: audit.valid_records,
            r2: r2(&comparison.all),
            rare_r2: r2(&comparison.rare),
            broken,
        })
    }

    /// What the records of a generation are good for and what they give away.
    pub fn deep_figures(&self, cohort: &Cohort, seed: u64) -> Result<DeepFigures, Error> {
        let arena = self.arena;
        let real = |records| Selection::new(&arena.cohort, records);
        let samples = Samples {
            train: real(&arena.train),
            synthetic: Selection::all(cohort),
            held_out: real(&arena.held_out),
            vocabulary: &arena.vocabulary,
        };
        let useful = utility(&samples, &UtilityOptions::default())?;
        let private = privacy(&samples, &PrivacyOptions { seed, ..PrivacyOptions::default() })?;
        Ok(DeepFigures::new(&useful, &private))
    }
}
