//! One generation of a method, and what it comes to.

use std::cell::RefCell;
use std::time::Instant;

use consequence_baselines::Method;
use consequence_evaluate::{
    CompareOptions, PrivacyOptions, Reference, Samples, UtilityOptions, privacy, utility,
};
use consequence_model::{Generator, Network, NetworkGenerator};
use consequence_network::gpu::DeckSize;
use consequence_pipeline::{Error, Unwatched};
use consequence_record::{Cohort, Selection};
use consequence_rules::RuleSet;
use consequence_sample::{Mode, Request, Sampler, Totals};
use consequence_train::{DeviceChoice, Gpu, Precision};

use super::arena::Arena;
use super::contestant::Contestant;
use super::figures::{DeepFigures, RunFigures, r2};

impl Contestant {
    /// Writes the records of one generation, and tells how long it took and how many were begun.
    pub fn generate(
        &self,
        arena: &Arena,
        (network, gpus): (&Network, &Gpus),
        (seed, records): (u64, u64),
    ) -> Result<Generated, Error> {
        let request = |mode: Mode| Request { seed, mode, ..Request::default() };
        let plain = || NetworkGenerator::new(network);
        let no_rules = || arena.no_rules();
        match (self.method, &self.rival) {
            (_, Some(rival)) => {
                let generator = rival.generator(network);
                write(&generator, &no_rules(), request(Mode::Off), records)
            }
            (Method::Consequence, _) => {
                let trained_with = Some(&*arena.rules);
                let request = Request { trained_with, ..request(Mode::Guided) };
                write_on((network, gpus), &arena.rules, request, records)
            }
            (Method::PostProcessing, _) => {
                write(&plain(), &arena.rules, request(Mode::Reject), records)
            }
            (Method::Published, _) => {
                let request = Request { pass: Some(&arena.pass), ..request(Mode::Off) };
                write(&plain(), &no_rules(), request, records)
            }
            _ => write_on((network, gpus), &no_rules(), request(Mode::Off), records),
        }
    }
}

/// Records that were generated.
pub(super) struct Generated {
    pub cohort: Cohort,
    pub seconds: f64,
    pub attempts: f64,
    /// What drew them.
    pub drawn_by: String,
}

/// The GPUs that networks write on, where there are any.
pub(super) struct Gpus(RefCell<Vec<Gpu>>);

impl Gpus {
    /// Those of a device; what cannot be done there is done on the CPU.
    pub fn find(device: DeviceChoice) -> Self {
        let found = device.find_all(Precision::Full);
        Self(RefCell::new(found.map(|found| found.gpus).unwrap_or_default()))
    }
}

fn write<G: Generator>(
    generator: &G,
    rules: &RuleSet,
    request: Request<'_>,
    records: u64,
) -> Result<Generated, Error> {
    // Laying out weights and compiling rules is done once, however many records follow.
    written(&Sampler::new(generator, rules, request)?, records)
}

/// The same by a network, on GPUs if they can.
fn write_on(
    (network, gpus): (&Network, &Gpus),
    rules: &RuleSet,
    request: Request<'_>,
    records: u64,
) -> Result<Generated, Error> {
    let generator = NetworkGenerator::new(network);
    let mut sampler = Sampler::new(&generator, rules, request)?;
    let able = sampler.can_be_drawn_on_gpu(network).is_ok();
    let there = if able { gpus.0.take() } else { Vec::new() };
    if !there.is_empty() {
        // Those that have too little memory for a network are not asked again.
        let _ = sampler.draw_on(there, network, DeckSize::of(records));
    }
    let generated = written(&sampler, records);
    if able {
        gpus.0.replace(sampler.into_gpus());
    }
    generated
}

fn written<G: Generator>(sampler: &Sampler<'_, G>, records: u64) -> Result<Generated, Error> {
    let (mut cohort, mut totals) = (Cohort::default(), Totals::default());
    let began = Instant::now();
    sampler.records(0..records, &mut totals, |number, record| {
        cohort.push(&number.to_string(), &record);
        Ok(())
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let attempts = totals.attempts as f64 / records.max(1) as f64;
    Ok(Generated { cohort, seconds, attempts, drawn_by: sampler.drawn_by().to_string() })
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
            drawn_by: generated.drawn_by.clone(),
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
