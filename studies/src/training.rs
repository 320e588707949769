//! What the studies of training share: fit a network, predict records, write records, compare.

use std::sync::Arc;
use std::time::Instant;

use consequence_enforce::Enforcer;
use consequence_evaluate::{CompareOptions, Comparison, compare};
use consequence_model::{Generator, Network, Sizes};
use consequence_record::{Cohort, Selection, Vocabulary};
use consequence_rules::{CompileOptions, Order, RuleSet, compile};
use consequence_sample::{Request, Sampler, Totals};
use consequence_train::{Event, Examples, SilentUnits, Teacher, TrainOptions, train, untrained};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// A trained network, and how long it took.
pub struct Fitted {
    /// The network.
    pub network: Network,
    /// Seconds in all.
    pub seconds: f64,
    /// Seconds of an epoch, on average.
    pub epoch_seconds: f64,
    /// Epochs, and the best of them.
    pub epochs: (usize, u32),
    /// Nats of a tuning record at the best.
    pub tuning_nats: f64,
    /// Units of HALO's head that never fire.
    pub silent_units: Option<SilentUnits>,
}

/// Fits a network, with rules or without, and says on stderr how it goes.
pub fn fit(
    examples: &Examples<'_>,
    vocabulary: &Arc<Vocabulary>,
    rules: Option<&Enforcer>,
    sizes: &Sizes,
    options: &TrainOptions,
) -> Fallible<Fitted> {
    let began = Instant::now();
    let codes = match rules {
        Some(enforcer) => enforcer.plan().order().clone(),
        None => Order::natural(Arc::clone(vocabulary)),
    };
    let network = untrained(codes, sizes, examples, options.seed)?;
    let teacher = rules.map_or(Teacher::Off, Teacher::Causal);
    let trained = train(network, examples, &teacher, options, None, &mut |event| {
        if let Event::Epoch { figures, best, seconds, .. } = event {
            eprintln!(
                "  epoch {:2}: {:.3} nats a record while training, {:.3} of tuning{}, {seconds:.1} s",
                figures.epoch,
                figures.train_nats,
                figures.tuning_nats,
                if best { " (best)" } else { "" }
            );
        }
        true
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let epochs = (trained.history.len(), trained.best.map_or(0, |best| best.epoch));
    let epoch_seconds = seconds / epochs.0.max(1) as f64;
    let tuning_nats = trained.best.map_or(f64::NAN, |best| best.tuning_nats);
    let (network, silent_units) = (trained.network, trained.silent_units);
    Ok(Fitted { network, seconds, epoch_seconds, epochs, tuning_nats, silent_units })
}

/// A plan for rules, ready to run, for records of so many encounters.
pub fn enforcer(rules: &Arc<RuleSet>, max_visits: usize) -> Fallible<Enforcer> {
    let max_visits = u16::try_from(max_visits)?;
    let options = CompileOptions { max_visits, ..CompileOptions::default() };
    Ok(Enforcer::new(&compile(Arc::clone(rules), &options)?))
}

/// Records of a model, and how long a thousand of them took.
pub fn write<G: Generator>(
    generator: &G,
    rules: &RuleSet,
    request: Request<'_>,
    records: u64,
) -> Fallible<(Cohort, f64)> {
    let sampler = Sampler::new(generator, rules, request)?;
    let mut cohort = Cohort::default();
    let began = Instant::now();
    sampler.records(0..records, &mut Totals::default(), |number, record| {
        cohort.push(&number.to_string(), &record);
        Ok(())
    })?;
    Ok((cohort, began.elapsed().as_secs_f64()))
}

/// The three R2 of some records against others.
pub fn r2(real: Selection<'_>, synthetic: &Cohort, vocabulary: &Vocabulary) -> Fallible<[f64; 3]> {
    let synthetic = Selection::all(synthetic);
    let Comparison { all, .. } = compare(real, synthetic, vocabulary, &CompareOptions::default())?;
    Ok([all.code, all.pair, all.sequence].map(|figure| figure.r2.unwrap_or(f64::NAN)))
}

/// Three figures as a cell of a table.
pub fn cell(figures: [f64; 3]) -> String {
    figures.map(|figure| format!("{figure:.3}")).join(" / ")
}
