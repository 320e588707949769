//! What networks learn: every cohort that settings were chosen on, over seeds.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

use consequence_evaluate::{ReplayOptions, likelihood};
use consequence_feedback::Unwatched;
use consequence_import::{ImportOptions, Source, open};
use consequence_model::{
    Decide, Generator, LookAhead, Network, NetworkGenerator, NetworkSizes, Sizes, Turn,
};
use consequence_record::{Cohort, Selection, Split, Vocabulary};
use consequence_simulate::{Preset as Simulated, Simulation};
use consequence_testing::shared;
use consequence_testing::uci_reference::UciReference;
use consequence_train::{Examples, SilentUnits, TrainOptions};

use crate::real_cohorts::synpuf;
use crate::training::fit;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// A cohort to train on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The diabetes data of 130 US hospitals, in the published split.
    Uci,
    /// So many simulated inpatients.
    Inpatients(usize),
    /// So many simulated outpatients, and held-out records of 20,000.
    Outpatients(usize),
    /// The synthetic claims of CMS, with codes as they are written.
    Synpuf,
    /// The MIMIC-III demo.
    Mimic,
    /// Synthea's patients, by OMOP concepts.
    Synthea,
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, count) = text.split_once(':').unwrap_or((text, ""));
        let patients = |usual: usize| match count {
            "" => Ok(usual),
            count => count.parse().map_err(|_| format!("`{count}` is no number of patients")),
        };
        Ok(match name {
            "uci" => Self::Uci,
            "inpatients" => Self::Inpatients(patients(46_520)?),
            "outpatients" => Self::Outpatients(patients(20_000)?),
            "synpuf" => Self::Synpuf,
            "mimic" => Self::Mimic,
            "synthea" => Self::Synthea,
            _ => return Err(format!("no cohort is called `{name}`")),
        })
    }
}

impl Display for Subject {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uci => out.write_str("UCI diabetes"),
            Self::Inpatients(patients) => write!(out, "{patients} simulated inpatients"),
            Self::Outpatients(patients) => write!(out, "{patients} simulated outpatients"),
            Self::Synpuf => out.write_str("SynPUF claims, uncut"),
            Self::Mimic => out.write_str("MIMIC-III demo"),
            Self::Synthea => out.write_str("Synthea, OMOP"),
        }
    }
}

/// A cohort and its splits.
pub struct Loaded {
    /// The records.
    pub cohort: Cohort,
    /// Their codes.
    pub vocabulary: Arc<Vocabulary>,
    /// The indices of records to train on, of those that tell when to stop, and of the others.
    pub splits: [Vec<usize>; 3],
}

impl Loaded {
    /// Records of the three splits.
    pub fn selections(&self) -> [Selection<'_>; 3] {
        self.splits.each_ref().map(|records| Selection::new(&self.cohort, records))
    }
}

/// Held-out outpatients are those of so many.
const OUTPATIENTS: usize = 20_000;

impl Subject {
    /// Reads or simulates the cohort; none where it is not there.
    pub fn load(self) -> Fallible<Option<Loaded>> {
        let by = |splits: &[Split]| Split::ALL.map(|split| split.indices(splits));
        let imported = |dataset: consequence_tables::Dataset| Loaded {
            splits: by(&dataset.splits),
            cohort: dataset.cohort,
            vocabulary: dataset.vocabulary,
        };
        let simulated = |preset: Simulated, patients: usize| {
            let simulation = Simulation::new(preset, patients, 1);
            let cohort = simulation.cohort();
            let splits = by(&Split::of_records(&cohort));
            Loaded { cohort, vocabulary: Arc::clone(simulation.vocabulary()), splits }
        };
        Ok(match self {
            Self::Uci => UciReference::read()?.map(|uci| Loaded {
                splits: Split::ALL.map(|split| uci.of(split)),
                cohort: uci.cohort,
                vocabulary: uci.vocabulary,
            }),
            Self::Inpatients(patients) => Some(simulated(Simulated::Inpatient, patients)),
            Self::Outpatients(patients) => {
                let mut all = simulated(Simulated::Outpatient, OUTPATIENTS.max(patients));
                for records in &mut all.splits[..2] {
                    records.retain(|&record| record < patients);
                }
                Some(all)
            }
            Self::Synpuf => match shared("data/outpatient/synpuf_claims500") {
                Some(folder) => Some(imported(synpuf(&folder, None)?)),
                None => None,
            },
            Self::Mimic => match shared("data/inpatient/mimic3_demo") {
                Some(folder) => {
                    let options = ImportOptions::default();
                    let opened = open(&Source::Mimic3, &folder, &options, &Unwatched)?;
                    Some(imported(opened.collect()?.0))
                }
                None => None,
            },
            Self::Synthea => match shared("data/outpatient/synthea1k_omop") {
                Some(folder) => {
                    let options = ImportOptions::default();
                    let opened = open(&Source::Omop, &folder, &options, &Unwatched)?;
                    Some(imported(opened.collect()?.0))
                }
                None => None,
            },
        })
    }
}

/// What a network came to.
#[derive(Clone, Debug)]
pub struct Line {
    /// Nats of static codes, of codes of encounters, and of `END`, of all held-out records.
    pub nats: [f64; 3],
    /// Held-out records.
    pub records: u64,
    /// Perplexity per code present.
    pub perplexity: f64,
    /// The probability that a record has both sexes, and neither.
    pub sexes: [f64; 2],
    /// Nats of a tuning record: what settings are chosen by.
    pub tuning_nats: f64,
    /// Units of HALO's head that never fire on the tuning split.
    pub silent_units: Option<SilentUnits>,
    /// Epochs, and the best of them.
    pub epochs: (usize, u32),
    /// Seconds of an epoch, and of all.
    pub seconds: [f64; 2],
    /// Its parameters.
    pub parameters: usize,
}

impl Line {
    /// Nats of a held-out record.
    pub fn nats_a_record(&self) -> f64 {
        self.nats.iter().sum::<f64>() / self.records.max(1) as f64
    }
}

/// Trains a network without rules, and has it predict the held-out records.
pub fn run(loaded: &Loaded, network: NetworkSizes, options: &TrainOptions) -> Fallible<Line> {
    let [train, tuning, held_out] = loaded.selections();
    let sizes = Sizes { max_visits: loaded.cohort.longest(), network };
    let examples = Examples { train, tuning };
    let fitted = fit(&examples, &loaded.vocabulary, None, &sizes, options)?;
    let generator = NetworkGenerator::new(&fitted.network);
    let found = likelihood(&generator, held_out, &ReplayOptions::default())?;
    Ok(Line {
        nats: [found.nats.static_codes, found.nats.encounter_codes, found.nats.end],
        records: held_out.len() as u64,
        perplexity: found.perplexity.unwrap_or(f64::NAN),
        sexes: sexes(&fitted.network),
        tuning_nats: fitted.tuning_nats,
        silent_units: fitted.silent_units,
        epochs: fitted.epochs,
        seconds: [fitted.epoch_seconds, fitted.seconds],
        parameters: fitted.network.weights().values().len(),
    })
}

/// The probability that a record has both sexes, and neither, by every static visit that there is.
/// Not a number if there are more than 2^20 of them.
pub fn sexes(network: &Network) -> [f64; 2] {
    let (codes, generator) = (network.codes(), NetworkGenerator::new(network));
    let statics = codes.range(0);
    if statics.len() > 20 {
        return [f64::NAN; 2];
    }
    let is_sex = |position: u32| codes.vocabulary().name(codes.code(position)).starts_with("SEX");
    let mut found = [0.0; 2];
    let mut scratch = Default::default();
    for visit in 0..1u32 << statics.len() {
        let mut told = Told { visit, first: statics.start, probability: 1.0 };
        let mut past = generator.begin();
        generator
            .next(&mut [Turn { past: &mut past, last: None, decider: &mut told }], &mut scratch);
        let present = statics.clone().filter(|&position| told.has(position) && is_sex(position));
        match present.count() {
            0 => found[1] += told.probability,
            1 => {}
            _ => found[0] += told.probability,
        }
    }
    found
}

/// Decides as it was told, and multiplies what each decision was likely to be.
struct Told {
    visit: u32,
    first: u32,
    probability: f64,
}

impl Told {
    fn has(&self, position: u32) -> bool {
        self.visit >> (position - self.first) & 1 == 1
    }
}

impl Decide for Told {
    fn decide(&mut self, position: u32, probability: f64, _: &mut LookAhead<'_>) -> bool {
        let present = self.has(position);
        self.probability *= if present { probability } else { 1.0 - probability };
        present
    }
}
