//! Training from simulated records: against counting, against a fresh sample, with rules and without.

use std::sync::Arc;

use consequence_enforce::Auditor;
use consequence_evaluate::{Likelihood, ReplayOptions, likelihood, likelihood_with_rules};
use consequence_feedback::Unwatched;
use consequence_model::{Generator, Markov, NetworkGenerator, Sizes};
use consequence_record::{Cohort, Selection, Split};
use consequence_rules::{CompileLimits, Order, RuleSet, WrittenRules};
use consequence_sample::{Mode, Request};
use consequence_simulate::{Preset as Simulated, Simulation};
use consequence_train::{Examples, Preset, TrainOptions};

use crate::training::{enforcer, fit, r2, write};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// How much of the study to run.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Simulated inpatients.
    pub patients: usize,
    /// Records to write with each model, and to simulate afresh.
    pub written: u64,
    /// Epochs, at most.
    pub epochs: u32,
}

impl Default for Extent {
    fn default() -> Self {
        Self { patients: 46_520, written: 10_000, epochs: Preset::default().options().epochs }
    }
}

/// One line: a model, what it makes of held-out records, and what it writes.
#[derive(Clone, Debug)]
pub struct Line {
    /// The model.
    pub model: String,
    /// Perplexity per code present of held-out records; none for a sample.
    pub perplexity: Option<f64>,
    /// Nats of a held-out record.
    pub nats: Option<f64>,
    /// The three R2 against the train split.
    pub r2: [f64; 3],
    /// Violations of the planted rules in what was written.
    pub violations: u64,
    /// Seconds to train, and to write a thousand records.
    pub seconds: [f64; 2],
}

/// Runs it.
pub fn run(extent: &Extent) -> Fallible<Vec<Line>> {
    let simulation = Simulation::new(Simulated::Inpatient, extent.patients, 1);
    let (cohort, vocabulary) = (simulation.cohort(), simulation.vocabulary());
    let splits = Split::of_records(&cohort);
    let splits = Split::ALL.map(|split| split.indices(&splits));
    let [train, tuning, held_out] =
        splits.each_ref().map(|records| Selection::new(&cohort, records));
    let examples = Examples { train, tuning };
    let max_visits = cohort.longest();
    let planted = &simulation.truth().rules;
    let mut lines = Vec::new();

    let afresh = Simulation::new(Simulated::Inpatient, extent.written as usize, 2).cohort();
    lines.push(Line {
        model: "a fresh simulated sample".into(),
        perplexity: None,
        nats: None,
        r2: r2(train, &afresh, vocabulary)?,
        violations: violations(planted, &afresh)?,
        seconds: [0.0; 2],
    });
    let mut line = |model: &str,
                    found: Likelihood,
                    (written, seconds): (Cohort, f64),
                    training: f64|
     -> Fallible<()> {
        lines.push(Line {
            model: model.into(),
            perplexity: found.perplexity,
            nats: found.nats_per_record,
            r2: r2(train, &written, vocabulary)?,
            violations: violations(planted, &written)?,
            seconds: [training, 1000.0 * seconds / extent.written as f64],
        });
        Ok(())
    };
    let replay = ReplayOptions::default();
    let request = |mode: Mode| Request { mode, seed: 7, ..Request::default() };
    let predicted = |generator: &dyn Predicts| generator.predict(held_out, &replay);

    let began = std::time::Instant::now();
    let codes = Order::natural(Arc::clone(vocabulary));
    let markov = Markov::fit(codes, train, max_visits);
    let seconds = began.elapsed().as_secs_f64();
    let written = write(&markov, planted, request(Mode::Off), extent.written)?;
    line("Markov", predicted(&markov)?, written, seconds)?;

    let preset = Preset::default();
    let sizes = Sizes { max_visits, network: preset.sizes() };
    let options = TrainOptions { epochs: extent.epochs, ..preset.options() };
    eprintln!("without rules");
    let plain = fit(&examples, vocabulary, None, &sizes, &options)?;
    let generator = NetworkGenerator::new(&plain.network);
    let written = write(&generator, planted, request(Mode::Off), extent.written)?;
    line("network, no rules", predicted(&generator)?, written, plain.seconds)?;

    eprintln!("with the planted rules");
    let enforcer = enforcer(planted, max_visits)?;
    let ruled = fit(&examples, vocabulary, Some(&enforcer), &sizes, &options)?;
    let generator = NetworkGenerator::new(&ruled.network);
    let found = likelihood_with_rules(&generator, &enforcer, held_out, &replay)?;
    let written = write(&generator, planted, request(Mode::Guided), extent.written)?;
    line("network, planted rules, guided", found.clone(), written, ruled.seconds)?;
    let written = write(&generator, planted, request(Mode::Override), extent.written)?;
    line("network, planted rules, override", found, written, ruled.seconds)?;
    Ok(lines)
}

/// A model whose kind does not matter.
trait Predicts {
    fn predict(&self, records: Selection<'_>, options: &ReplayOptions<'_>) -> Fallible<Likelihood>;
}

impl<G: Generator> Predicts for G {
    fn predict(&self, records: Selection<'_>, options: &ReplayOptions<'_>) -> Fallible<Likelihood> {
        Ok(likelihood(self, records, options)?)
    }
}

/// Violations of hard rules.
pub fn violations(rules: &Arc<RuleSet>, cohort: &Cohort) -> Fallible<u64> {
    let written = WrittenRules::new(Arc::clone(rules), &CompileLimits::default())?;
    let audit = Auditor::new(&written).audit(cohort, 0, &Unwatched);
    Ok(audit.within_visit_violations + audit.temporal_violations)
}
