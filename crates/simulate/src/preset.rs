//! The built-in cohorts, what sets them apart, and the figures of a cohort.

use std::fmt;
use std::str::FromStr;

use consequence_record::{Cohort, Kind, Vocabulary};

use crate::catalogue::{INPATIENT_OUTCOMES, OUTPATIENT_OUTCOMES, Outcome, Stage};

/// A built-in cohort, of the size and shape of one of the paper's datasets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Hospital stays: few and full of codes.
    Inpatient,
    /// Visits to a doctor: many and short.
    Outpatient,
}

/// The figures of a dataset, as the paper tables them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Records.
    pub records: usize,
    /// Encounters a record, on average.
    pub visits_per_record: f64,
    /// Codes an encounter, on average.
    pub codes_per_visit: f64,
    /// Different codes in encounters.
    pub codes: usize,
    /// Different codes in static visits.
    pub demographic: usize,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 2] = [Self::Inpatient, Self::Outpatient];

    /// The preset's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inpatient => "inpatient",
            Self::Outpatient => "outpatient",
        }
    }

    /// The figures of the paper's dataset, which a simulation of that many patients has too.
    ///
    /// ```
    /// use consequence_simulate::Preset;
    ///
    /// assert_eq!(Preset::Inpatient.figures().records, 46_520);
    /// ```
    pub fn figures(self) -> Figures {
        match self {
            Self::Inpatient => Figures {
                records: 46_520,
                visits_per_record: 1.27,
                codes_per_visit: 13.61,
                codes: 1_610,
                demographic: 6,
            },
            Self::Outpatient => Figures {
                records: 1_006_321,
                visits_per_record: 35.40,
                codes_per_visit: 1.69,
                codes: 1_817,
                demographic: 7,
            },
        }
    }

    pub(crate) fn settings(self) -> Settings {
        match self {
            Self::Inpatient => INPATIENT,
            Self::Outpatient => OUTPATIENT,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// No preset has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPreset;

impl fmt::Display for UnknownPreset {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("there is no such preset; choose `inpatient` or `outpatient`")
    }
}

impl std::error::Error for UnknownPreset {}

impl FromStr for Preset {
    type Err = UnknownPreset;

    /// ```
    /// use consequence_simulate::Preset;
    ///
    /// assert_eq!("outpatient".parse(), Ok(Preset::Outpatient));
    /// assert!("dentist".parse::<Preset>().is_err());
    /// ```
    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        Self::ALL.into_iter().find(|preset| preset.name() == name).ok_or(UnknownPreset)
    }
}

/// A band of ages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band {
    pub name: &'static str,
    /// Ages in full years at the first encounter: evenly spaced quantiles.
    pub ages: &'static [u16],
    pub stage: Stage,
    /// The share of patients.
    pub share: f64,
    /// The probability to die in an encounter.
    pub death: f64,
}

/// Counts drawn from a negative binomial distribution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub mean: f64,
    /// The smaller, the longer the tail.
    pub shape: f64,
    pub most: usize,
}

/// Everything in which the presets differ, but for the frequencies of notable codes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Which of a notable code's two rates counts.
    pub column: usize,
    pub bands: &'static [Band],
    pub outcomes: &'static [Outcome],
    /// Encounters after the first, were it not for deaths.
    pub further_visits: Spread,
    /// Clusters a patient ever has, at an age where they are neither rare nor frequent.
    pub clusters: Spread,
    /// The probability that a cluster is there from the first encounter.
    pub early: f64,
    /// The probability of each core disease of a cluster to be written down again in an encounter.
    pub cores: [f64; 2],
    /// Codes that an active cluster adds to an encounter.
    pub companions: Spread,
    /// Codes of an encounter that have no particular reason.
    pub unrelated: Spread,
    /// How many of those are ordinary codes, at an age where they are neither rare nor frequent.
    pub ordinary: f64,
    /// How often a category is written down with a code below it.
    pub category: f64,
    /// The probability of a code of the encounter before to return, tried so many times.
    pub returns: (usize, f64),
}

const fn band(
    name: &'static str,
    ages: &'static [u16],
    stage: Stage,
    share: f64,
    death: f64,
) -> Band {
    Band { name, ages, stage, share, death }
}

/// The last ages are those of the very old.
const SENIORS: &[u16] = &[65, 67, 69, 71, 73, 75, 78, 82, 88];

const INPATIENT: Settings = Settings {
    column: 0,
    bands: &[
        band("AGE//0-17", &[0, 1, 3, 6, 9, 13, 17], Stage::Child, 0.18, 0.008),
        band("AGE//18-44", &[18, 44], Stage::Young, 0.22, 0.012),
        band("AGE//45-64", &[45, 64], Stage::Older, 0.28, 0.030),
        band("AGE//65+", SENIORS, Stage::Senior, 0.32, 0.060),
    ],
    outcomes: INPATIENT_OUTCOMES,
    further_visits: Spread { mean: 0.281, shape: 0.30, most: 44 },
    clusters: Spread { mean: 1.7, shape: 4.0, most: 4 },
    early: 0.75,
    cores: [0.75, 0.6],
    companions: Spread { mean: 1.9, shape: 3.0, most: 8 },
    unrelated: Spread { mean: 7.45, shape: 4.0, most: 30 },
    ordinary: 5.0,
    category: 0.3,
    returns: (3, 0.25),
};

const OUTPATIENT: Settings = Settings {
    column: 1,
    bands: &[
        band("AGE//0-17", &[0, 1, 3, 6, 9, 13, 17], Stage::Child, 0.19, 0.00002),
        band("AGE//18-34", &[18, 34], Stage::Young, 0.18, 0.00005),
        band("AGE//35-49", &[35, 49], Stage::Middle, 0.19, 0.0001),
        band("AGE//50-64", &[50, 64], Stage::Older, 0.23, 0.0003),
        band("AGE//65+", SENIORS, Stage::Senior, 0.21, 0.0010),
    ],
    outcomes: OUTPATIENT_OUTCOMES,
    further_visits: Spread { mean: 35.7, shape: 0.95, most: 199 },
    clusters: Spread { mean: 0.8, shape: 3.0, most: 4 },
    early: 0.4,
    cores: [0.35, 0.12],
    companions: Spread { mean: 0.25, shape: 1.0, most: 4 },
    unrelated: Spread { mean: 0.52, shape: 2.0, most: 10 },
    ordinary: 0.36,
    category: 0.2,
    returns: (1, 0.2),
};

/// Counts what the paper tables of a dataset. Only codes that occur are counted, and `END` is not.
///
/// ```
/// use consequence_simulate::{Preset, Simulation, measure};
///
/// let simulation = Simulation::new(Preset::Outpatient, 500, 7);
/// let figures = measure(&simulation.cohort(), simulation.vocabulary());
/// assert_eq!((figures.records, figures.demographic), (500, 7));
/// ```
pub fn measure(cohort: &Cohort, vocabulary: &Vocabulary) -> Figures {
    let mut used = vec![false; vocabulary.len()];
    let mut codes = 0u64;
    for record in cohort.records() {
        for (number, visit) in record.visits().enumerate() {
            codes += if number == 0 { 0 } else { visit.len() as u64 };
            for code in visit {
                if let Some(used) = used.get_mut(code.index()) {
                    *used = true;
                }
            }
        }
    }
    let count = |kind| {
        vocabulary.codes().filter(|&c| used[c.index()] && vocabulary.kind(c) == kind).count()
    };
    let records = cohort.len();
    let encounters = cohort.visit_count() - records;
    Figures {
        records,
        visits_per_record: encounters as f64 / records.max(1) as f64,
        codes_per_visit: codes as f64 / encounters.max(1) as f64,
        codes: count(Kind::Encounter),
        demographic: count(Kind::Static),
    }
}
