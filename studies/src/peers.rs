//! The task that other tools were measured on: 4,000 real patients, 1,000 synthetic ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use consequence_model::{NetworkGenerator, NetworkSizes, Sizes};
use consequence_packs::Level;
use consequence_record::{Cohort, Selection, Split};
use consequence_referee::Referee;
use consequence_rules::RuleSet;
use consequence_sample::{Mode, Request};
use consequence_train::{Examples, Preset, TrainOptions};

use crate::real_rules::sex_rules;
use crate::training::{enforcer, fit, r2, write};
use consequence_testing::uci_reference::UciReference;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// How much of the task to run.
#[derive(Clone, Debug)]
pub struct Extent {
    /// Patients to train on.
    pub patients: usize,
    /// Records to write.
    pub written: u64,
    /// Whether rules take part, in training and in writing.
    pub rules: bool,
    /// The sizes of the network.
    pub network: NetworkSizes,
    /// How it trains.
    pub options: TrainOptions,
}

impl Default for Extent {
    fn default() -> Self {
        let preset = Preset::default();
        let (network, options) = (preset.sizes(), preset.options());
        Self { patients: 4_000, written: 1_000, rules: true, network, options }
    }
}

/// Our row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Seconds to train.
    pub fit: f64,
    /// Records written in a second, measured over many more than the task asks for.
    pub records_a_second: f64,
    /// The three R2 against the patients trained on.
    pub r2: [f64; 3],
    /// The same for a random part of those patients, as large.
    pub real: [f64; 3],
    /// Records that break a mined rule, a sex rule, and patients with a visit after death.
    pub broken: [usize; 3],
}

/// Runs it; none where the cohort is not there.
pub fn run(extent: &Extent) -> Fallible<Option<Row>> {
    let Some(uci) = UciReference::read()? else { return Ok(None) };
    let chosen: Vec<usize> = uci
        .of(Split::Train)
        .into_iter()
        .filter(|&record| uci.cohort.record(record).len() > 2)
        .take(extent.patients)
        .collect();
    let sexes = sex_rules(Level::Categories, &uci.vocabulary)?;
    let mined = uci.rules(&uci.mined())?;
    let death = uci.rules("rule death-ends-the-record: DISCHARGE//EXPIRED => END")?;
    let all = mined.iter().chain(&sexes).chain(death.iter()).cloned().collect();
    let rules = Arc::new(RuleSet::new(Arc::clone(&uci.vocabulary), all)?);
    let max_visits = uci.cohort.longest();
    let enforcer = enforcer(&rules, max_visits)?;

    // A twentieth of the patients tells when to stop.
    let (tuning, train): (Vec<usize>, Vec<usize>) =
        chosen.iter().partition(|&&record| record % 20 == 0);
    let examples = Examples {
        train: Selection::new(&uci.cohort, &train),
        tuning: Selection::new(&uci.cohort, &tuning),
    };
    let sizes = Sizes { max_visits, network: extent.network };
    let enforcer = extent.rules.then_some(&enforcer);
    let fitted = fit(&examples, &uci.vocabulary, enforcer, &sizes, &extent.options)?;

    let generator = NetworkGenerator::new(&fitted.network);
    let mode = if extent.rules { Mode::Guided } else { Mode::Off };
    let request = Request { mode, ..Request::default() };
    let (written, _) = write(&generator, &rules, request.clone(), extent.written)?;
    let many = 10 * extent.written;
    let (_, seconds) = write(&generator, &rules, request, many)?;
    let real = Selection::new(&uci.cohort, &chosen);
    let part = part(&uci.cohort, &chosen, extent.written as usize);
    let breaks = |set: &RuleSet| {
        let referee = Referee::new(set);
        (0..written.len()).filter(|&at| !referee.is_valid(&written.record(at))).count()
    };
    Ok(Some(Row {
        fit: fitted.seconds,
        records_a_second: many as f64 / seconds,
        r2: r2(real, &written, &uci.vocabulary)?,
        real: r2(real, &part, &uci.vocabulary)?,
        broken: [breaks(&mined), breaks(&sexes), breaks(&death)],
    }))
}

/// Some of the patients, spread evenly over all of them.
fn part(cohort: &Cohort, records: &[usize], count: usize) -> Cohort {
    let every: BTreeSet<usize> = (0..count).map(|at| at * records.len() / count).collect();
    let mut part = Cohort::default();
    for at in every {
        let record = cohort.record(records[at]);
        part.push_visits(cohort.id(records[at]), record.visits(), record.ended());
    }
    part
}
