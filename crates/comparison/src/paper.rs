//! The figures that the paper publishes (ConSequence, AAAI 2024), to stand beside ours.
//!
//! Its inpatients are MIMIC-III, which nobody may pass on, and its outpatients a claims database that
//! was never published: its figures were measured on other records, other networks and a GPU. What can
//! be compared is who breaks which rules, and who is faster or better than whom.

use consequence_baselines::Method;

/// The cohorts of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PaperCohort {
    /// Intensive care stays: few visits, many codes.
    Inpatient,
    /// Claims: many visits, few codes.
    Outpatient,
}

impl PaperCohort {
    /// The one whose records are more like these, by their mean length; the paper's have 1.27 and 35.4
    /// encounters.
    pub fn like(mean_encounters: f64) -> Self {
        if mean_encounters < 7.0 { Self::Inpatient } else { Self::Outpatient }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Inpatient => "the paper's inpatients (MIMIC-III)",
            Self::Outpatient => "the paper's outpatients (claims)",
        }
    }
}

/// What the paper says of a method on a cohort.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaperFigures {
    /// Violations within a visit, and temporal ones, in 10,000 records.
    pub violations: [f64; 2],
    /// Records that break no rule, in percent.
    pub valid_percent: f64,
    /// None for post-processing.
    pub perplexity: Option<f64>,
    /// Seconds of training.
    pub training_seconds: f64,
    /// Seconds to generate a record.
    pub generation_seconds: f64,
    /// R2 of codes, pairs and sequential pairs.
    pub r2: [f64; 3],
}

const fn clock(hours: u32, minutes: u32, seconds: u32) -> f64 {
    (hours * 3600 + minutes * 60 + seconds) as f64
}

/// What the paper says of a method on a cohort. Its own method stands for both of ours.
pub(super) fn published(method: Method, cohort: PaperCohort) -> PaperFigures {
    let of = |violations, valid_percent, perplexity, training_seconds, generation_seconds, r2| {
        PaperFigures {
            violations,
            valid_percent,
            perplexity,
            training_seconds,
            generation_seconds,
            r2,
        }
    };
    use Method::*;
    match cohort {
        PaperCohort::Inpatient => match method {
            Vanilla => of(
                [4320.6, 2046.2],
                65.4,
                Some(13.443),
                clock(1, 30, 38),
                0.0124,
                [0.964, 0.929, 0.911],
            ),
            PostProcessing => {
                of([0.0, 0.0], 100.0, None, clock(1, 30, 38), 0.0212, [0.886, 0.878, 0.934])
            }
            SemanticLoss => of(
                [3827.0, 1817.2],
                65.3,
                Some(13.432),
                clock(1, 44, 16),
                0.0130,
                [0.967, 0.955, 0.929],
            ),
            Ccn => of(
                [3070.24, 2149.76],
                70.7,
                Some(12.985),
                clock(4, 38, 13),
                0.0179,
                [0.993, 0.980, 0.941],
            ),
            MultiPlexNet => of(
                [0.0, 3304.8],
                72.7,
                Some(24.260),
                clock(3, 44, 53),
                0.0170,
                [0.799, 0.763, 0.778],
            ),
            Spl => {
                of([0.0, 11.5], 99.9, Some(22.794), clock(2, 46, 9), 0.2689, [0.988, 0.838, 0.880])
            }
            Published | Consequence => {
                of([0.0, 0.0], 100.0, Some(12.712), clock(1, 30, 50), 0.0140, [0.975, 0.948, 0.920])
            }
        },
        PaperCohort::Outpatient => match method {
            Vanilla => of(
                [1265.4, 17.5],
                87.2,
                Some(24.019),
                clock(25, 26, 31),
                0.218,
                [0.940, 0.866, 0.904],
            ),
            PostProcessing => {
                of([0.0, 0.0], 100.0, None, clock(25, 26, 31), 0.371, [0.932, 0.835, 0.892])
            }
            SemanticLoss => of(
                [955.5, 18.7],
                90.3,
                Some(23.995),
                clock(61, 28, 37),
                0.229,
                [0.919, 0.820, 0.874],
            ),
            Ccn => of(
                [1013.6, 17.7],
                91.0,
                Some(23.976),
                clock(94, 59, 22),
                0.411,
                [0.967, 0.943, 0.947],
            ),
            MultiPlexNet => of(
                [0.0, 2714.2],
                89.7,
                Some(119.560),
                clock(35, 9, 16),
                0.340,
                [0.099, -1.89, -0.082],
            ),
            Spl => {
                of([0.0, 41.0], 99.9, Some(34.454), clock(23, 39, 0), 21.378, [0.738, 0.468, 0.407])
            }
            Published | Consequence => {
                of([0.0, 0.0], 100.0, Some(23.924), clock(33, 40, 28), 0.238, [0.956, 0.934, 0.914])
            }
        },
    }
}
