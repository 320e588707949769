//! Whether rules help to predict: nats of held-out records that break no rule, trained with mined rules and
//! those of common sense, and trained without.

use std::sync::Arc;

use consequence_evaluate::{Likelihood, ReplayOptions, likelihood, likelihood_with_rules};
use consequence_mine::common_sense;
use consequence_model::{NetworkGenerator, Sizes};
use consequence_record::{Selection, Split};
use consequence_referee::Referee;
use consequence_rules::RuleSet;
use consequence_tables::Dataset;
use consequence_train::{Examples, Preset, TrainOptions};

use crate::mining_splits::mine_split;
use crate::training::{enforcer, fit};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// What a cohort shows.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    /// Rules, hard and soft.
    pub rules: usize,
    /// Held-out records, and those of them that break no rule.
    pub records: [usize; 2],
    /// Nats of these: without rules and with them.
    pub nats: [f64; 2],
}

/// Trains two networks on a cohort and asks both for the same records.
///
/// # Errors
/// If the cohort is too small for it.
pub fn gain(dataset: &Dataset, preset: Preset, seed: u64) -> Fallible<Gain> {
    let Dataset { cohort, vocabulary, .. } = dataset;
    let (mined, splits) = mine_split(dataset, 0)?;
    let sense = common_sense(cohort, vocabulary, &splits);
    let text = sense.text() + &mined.text(&|_| None).replace("\nstatic ", "\n# static ");
    let rules = Arc::new(RuleSet::parse(&text, Some(Arc::clone(vocabulary)))?);
    let max_visits = cohort.longest();
    let enforcer = enforcer(&rules, max_visits)?;
    let [train, tuning, held_out] =
        [Split::Train, Split::Tuning, Split::HeldOut].map(|split| split.indices(&splits));
    let referee = Referee::new(&rules);
    let valid: Vec<usize> = held_out
        .iter()
        .copied()
        .filter(|&index| referee.is_valid(&cohort.record(index).to_record()))
        .collect();
    let examples =
        Examples { train: Selection::new(cohort, &train), tuning: Selection::new(cohort, &tuning) };
    let options = TrainOptions { seed, ..preset.options() };
    let sizes = Sizes { max_visits, network: preset.sizes() };
    let (test, replay) = (Selection::new(cohort, &valid), ReplayOptions::default());
    let total =
        |found: &Likelihood| found.nats.static_codes + found.nats.encounter_codes + found.nats.end;
    let alone = fit(&examples, vocabulary, None, &sizes, &options)?;
    let without = total(&likelihood(&NetworkGenerator::new(&alone.network), test, &replay)?);
    let taught = fit(&examples, vocabulary, Some(&enforcer), &sizes, &options)?;
    let generator = NetworkGenerator::new(&taught.network);
    let with = total(&likelihood_with_rules(&generator, &enforcer, test, &replay)?);
    let records = [held_out.len(), valid.len()];
    Ok(Gain { rules: rules.len(), records, nats: [without, with] })
}
