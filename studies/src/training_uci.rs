//! Training from real records: the diabetes cohort, over the width of the head.

use consequence_evaluate::{ReplayOptions, likelihood, likelihood_with_rules};
use consequence_model::{Markov, NetworkGenerator, NetworkSizes, RecurrentSizes, Sizes};
use consequence_record::{Selection, Split};
use consequence_rules::Order;
use consequence_train::{Examples, Preset, TrainOptions};
use std::sync::Arc;

use crate::training::{enforcer, fit};
use consequence_testing::uci_reference::UciReference;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// How much of the study to run.
#[derive(Clone, Debug)]
pub struct Extent {
    /// Records to train on, at most.
    pub records: usize,
    /// Epochs, at most.
    pub epochs: u32,
    /// Widths of the head, one network for each.
    pub heads: Vec<usize>,
}

impl Default for Extent {
    fn default() -> Self {
        let epochs = Preset::default().options().epochs;
        Self { records: usize::MAX, epochs, heads: vec![64, 256, 512] }
    }
}

/// One line: a model and the nats of the test records.
#[derive(Clone, Debug)]
pub struct Line {
    /// The model.
    pub model: String,
    /// Nats of static codes, of codes of encounters, and of `END`.
    pub nats: [f64; 3],
    /// Perplexity per code present.
    pub perplexity: f64,
    /// Test records that rules forbid, and records with an infinite term.
    pub impossible: [u64; 2],
    /// Seconds of an epoch, and of all.
    pub seconds: [f64; 2],
}

/// Runs it; none where the cohort is not there.
pub fn run(extent: &Extent) -> Fallible<Option<Vec<Line>>> {
    let Some(uci) = UciReference::read()? else { return Ok(None) };
    let mut train = uci.of(Split::Train);
    train.truncate(extent.records);
    let (tuning, test) = (uci.of(Split::Tuning), uci.of(Split::HeldOut));
    let [train, tuning, test] =
        [&train, &tuning, &test].map(|records| Selection::new(&uci.cohort, records));
    let examples = Examples { train, tuning };
    let max_visits = uci.cohort.longest();
    let preset = Preset::default();
    let options = TrainOptions { epochs: extent.epochs, ..preset.options() };
    let replay = ReplayOptions::default();
    let mut lines = Vec::new();
    let mut line = |model: String, seconds, likelihood: consequence_evaluate::Likelihood| {
        let nats = &likelihood.nats;
        lines.push(Line {
            model,
            nats: [nats.static_codes, nats.encounter_codes, nats.end],
            perplexity: likelihood.perplexity.unwrap_or(f64::NAN),
            impossible: [likelihood.forbidden + likelihood.dead_ends, likelihood.infinite],
            seconds,
        });
    };
    let began = std::time::Instant::now();
    let codes = Order::natural(Arc::clone(&uci.vocabulary));
    let markov = Markov::fit(codes, train, max_visits);
    let seconds = began.elapsed().as_secs_f64();
    line("Markov".into(), [seconds; 2], likelihood(&markov, test, &replay)?);
    for &head in &extent.heads {
        eprintln!("a head of {head}");
        let network = NetworkSizes::Recurrent(RecurrentSizes::of_head(head));
        let sizes = Sizes { max_visits, network };
        let fitted = fit(&examples, &uci.vocabulary, None, &sizes, &options)?;
        let generator = NetworkGenerator::new(&fitted.network);
        let found = likelihood(&generator, test, &replay)?;
        let seconds = [fitted.epoch_seconds, fitted.seconds];
        line(format!("a head of {head}"), seconds, found);
    }
    eprintln!("with the 29 rules");
    let rules = uci.rules(&uci.mined())?;
    let enforcer = enforcer(&rules, max_visits)?;
    let sizes = Sizes { max_visits, network: preset.sizes() };
    let fitted = fit(&examples, &uci.vocabulary, Some(&enforcer), &sizes, &options)?;
    let generator = NetworkGenerator::new(&fitted.network);
    let found = likelihood_with_rules(&generator, &enforcer, test, &replay)?;
    line("the usual network, 29 rules".into(), [fitted.epoch_seconds, fitted.seconds], found);
    Ok(Some(lines))
}
