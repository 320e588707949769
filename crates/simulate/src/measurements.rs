//! The ten tests of the built-in cohorts: who has them done, and what comes out.
//!
//! A result is the sum of what is typical, what is the patient's own, what age, sex and the years since
//! the first encounter add, what the test's driver adds from the encounter on that first has its code,
//! and chance. Sums and products only, so that every machine agrees.

use consequence_record::Scale;

use crate::preset::Preset;
use crate::probability::Probability;

/// The parts that the values of a test are told in.
pub(crate) const BINS: usize = 4;

/// A test whose results have values.
///
/// ```
/// use consequence_simulate::{Preset, TESTS};
///
/// let a1c = &TESTS[0];
/// assert_eq!((a1c.name, a1c.unit, a1c.decimals), ("LAB//a1c", "%", 1));
/// assert_eq!(a1c.driver, "DX//endocrine//type-2-diabetes");
/// assert!(a1c.shift > 0.0 && a1c.cuts(Preset::Inpatient).is_sorted());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Its name; its codes are this with `//q1` to `//q4` after it.
    pub name: &'static str,
    /// What it measures.
    pub title: &'static str,
    /// The unit of its values.
    pub unit: &'static str,
    /// The decimals that its values are rounded to.
    pub decimals: u32,
    /// The code that drives it: from the encounter on that first has this code, the test is done more
    /// often, and its values are shifted.
    pub driver: &'static str,
    /// What the driver adds to values, on average over patients.
    pub shift: f64,
    /// The value of a man of 50 without the driver, on average.
    typical: f64,
    /// What is added in women.
    women: f64,
    /// What ten years of age add.
    decade: f64,
    /// What a year since the first encounter adds.
    year: f64,
    /// How patients differ, and the results of one patient: standard deviations.
    spread: [f64; 2],
    /// No value is outside.
    limits: [f64; 2],
    /// How often it is done in an encounter without the driver, and with it, in each preset.
    rates: [[f64; 2]; 2],
    /// The cut points of each preset.
    cuts: [[f32; BINS - 1]; 2],
}

/// The tests, in the order of their codes.
pub const TESTS: [Test; 10] = [
    Test {
        name: "LAB//a1c",
        title: "Hemoglobin A1c",
        unit: "%",
        decimals: 1,
        driver: "DX//endocrine//type-2-diabetes",
        shift: 2.2,
        typical: 5.3,
        women: 0.0,
        decade: 0.08,
        year: 0.03,
        spread: [0.25, 0.3],
        limits: [3.8, 15.0],
        rates: [[0.12, 0.5], [0.056, 0.2]],
        cuts: [[5.3, 6.3, 7.6], [5.3, 5.9, 7.6]],
    },
    Test {
        name: "LAB//glucose",
        title: "Glucose in blood",
        unit: "mg/dL",
        decimals: 0,
        driver: "DX//endocrine//type-2-diabetes",
        shift: 70.0,
        typical: 94.0,
        women: -2.0,
        decade: 1.5,
        year: 0.4,
        spread: [6.0, 12.0],
        limits: [45.0, 600.0],
        rates: [[0.19, 0.8], [0.054, 0.2]],
        cuts: [[93.0, 123.0, 163.0], [92.0, 111.0, 162.0]],
    },
    Test {
        name: "LAB//creatinine",
        title: "Creatinine in blood",
        unit: "mg/dL",
        decimals: 2,
        driver: "DX//genitourinary//chronic-kidney-disease",
        shift: 1.5,
        typical: 0.95,
        women: -0.15,
        decade: 0.03,
        year: 0.03,
        spread: [0.12, 0.1],
        limits: [0.2, 12.0],
        rates: [[0.07, 0.8], [0.013, 0.3]],
        cuts: [[0.87, 1.51, 2.4], [0.98, 1.44, 2.57]],
    },
    Test {
        name: "LAB//hemoglobin",
        title: "Hemoglobin in blood",
        unit: "g/dL",
        decimals: 1,
        driver: "DX//blood//anemia-of-kidney-disease",
        shift: -4.0,
        typical: 14.8,
        women: -1.3,
        decade: -0.1,
        year: -0.05,
        spread: [0.6, 0.5],
        limits: [4.0, 20.0],
        rates: [[0.065, 0.8], [0.0085, 0.35]],
        cuts: [[10.1, 12.4, 14.2], [10.0, 12.3, 14.1]],
    },
    Test {
        name: "LAB//sodium",
        title: "Sodium in blood",
        unit: "mmol/L",
        decimals: 0,
        driver: "DX//circulatory//heart-failure",
        shift: -7.0,
        typical: 140.0,
        women: 0.0,
        decade: -0.2,
        year: -0.1,
        spread: [1.2, 1.5],
        limits: [110.0, 165.0],
        rates: [[0.16, 0.7], [0.022, 0.15]],
        cuts: [[133.0, 137.0, 140.0], [133.0, 137.0, 140.0]],
    },
    Test {
        name: "LAB//potassium",
        title: "Potassium in blood",
        unit: "mmol/L",
        decimals: 1,
        driver: "RX//diuretic",
        shift: -0.9,
        typical: 4.4,
        women: -0.05,
        decade: 0.03,
        year: 0.01,
        spread: [0.15, 0.2],
        limits: [2.0, 7.5],
        rates: [[0.08, 0.7], [0.036, 0.12]],
        cuts: [[3.5, 4.0, 4.4], [3.7, 4.2, 4.5]],
    },
    Test {
        name: "LAB//ldl",
        title: "LDL cholesterol",
        unit: "mg/dL",
        decimals: 0,
        driver: "DX//endocrine//high-cholesterol",
        shift: 60.0,
        typical: 105.0,
        women: 3.0,
        decade: 3.0,
        year: -0.5,
        spread: [12.0, 10.0],
        limits: [20.0, 400.0],
        rates: [[0.09, 0.5], [0.027, 0.2]],
        cuts: [[105.0, 133.0, 168.0], [100.0, 125.0, 164.0]],
    },
    Test {
        name: "LAB//sbp",
        title: "Systolic blood pressure",
        unit: "mmHg",
        decimals: 0,
        driver: "DX//circulatory//hypertension",
        shift: 28.0,
        typical: 118.0,
        women: -3.0,
        decade: 3.0,
        year: 0.3,
        spread: [6.0, 6.0],
        limits: [60.0, 260.0],
        rates: [[0.2, 0.8], [0.048, 0.2]],
        cuts: [[115.0, 132.0, 148.0], [112.0, 127.0, 147.0]],
    },
    Test {
        name: "LAB//bmi",
        title: "Body mass index",
        unit: "kg/m2",
        decimals: 1,
        driver: "BMI//obese",
        shift: 10.0,
        typical: 25.0,
        women: -0.4,
        decade: 0.6,
        year: 0.1,
        spread: [2.2, 0.5],
        limits: [11.0, 70.0],
        rates: [[0.07, 0.8], [0.052, 0.1]],
        cuts: [[24.4, 28.5, 34.5], [24.2, 27.6, 34.9]],
    },
    Test {
        name: "LAB//tsh",
        title: "Thyroid stimulating hormone",
        unit: "mIU/L",
        decimals: 2,
        driver: "DX//endocrine//hypothyroidism",
        shift: 5.0,
        typical: 1.9,
        women: 0.2,
        decade: 0.08,
        year: 0.05,
        spread: [0.4, 0.4],
        limits: [0.05, 60.0],
        rates: [[0.037, 0.5], [0.0125, 0.2]],
        cuts: [[1.94, 4.61, 7.09], [2.16, 3.66, 7.39]],
    },
];

/// How patients differ in what a driver adds to their values: a standard deviation, as a share of it.
const UNEQUAL: f64 = 0.15;

/// Where the driver is of an earlier encounter, the test is done so much less often.
const NOT_NOW: f64 = 0.5;

/// The years after which values drift no further.
const DRIFT_YEARS: f64 = 15.0;

/// The age that values are told for, and that of patients whose age is not known.
const TYPICAL_AGE: f64 = 50.0;

/// What a patient's results depend on beside the codes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub woman: bool,
    /// In years.
    pub age: Option<f64>,
    /// Years since the first encounter.
    pub years: f64,
}

/// Where the driver of a test has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    Never,
    Before,
    Now,
}

/// What is a patient's own in the values of a test, in standard deviations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Own {
    level: f64,
    response: f64,
}

impl Own {
    pub fn draw(draws: &mut Probability) -> Self {
        Self { level: draws.normal(), response: draws.normal() }
    }
}

impl Test {
    /// The cut points between its parts, from the lowest; a value that equals one is below it. They
    /// are about the quartiles of any cohort of the preset, and depend on the preset alone.
    pub fn cuts(&self, preset: Preset) -> [f32; BINS - 1] {
        self.cuts[preset.settings().column]
    }

    /// What the values of a part are, the lowest being 0; so many were put there.
    pub(crate) fn scale(&self, preset: Preset, bin: usize, count: u64) -> Scale {
        let cuts = self.cuts(preset);
        Scale {
            test: self.name.to_owned(),
            unit: Some(self.unit.to_owned()),
            above: bin.checked_sub(1).and_then(|below| cuts.get(below).copied()),
            up_to: cuts.get(bin).copied(),
            count,
        }
    }

    pub(crate) fn bin(&self, preset: Preset, value: f32) -> usize {
        self.cuts(preset).iter().filter(|&&cut| value > cut).count()
    }

    pub(crate) fn is_done(&self, preset: Preset, driver: Driver, draws: &mut Probability) -> bool {
        let [without, with] = self.rates[preset.settings().column];
        draws.below(match driver {
            Driver::Never => without,
            Driver::Before => with * NOT_NOW,
            Driver::Now => with,
        })
    }

    pub(crate) fn value(
        &self,
        own: Own,
        driver: Driver,
        condition: Condition,
        draws: &mut Probability,
    ) -> f32 {
        let women = if condition.woman { self.women } else { 0.0 };
        let age = condition.age.unwrap_or(TYPICAL_AGE) - TYPICAL_AGE;
        let driven = if driver == Driver::Never { 0.0 } else { self.shift };
        let value = self.typical
            + women
            + self.decade * age / 10.0
            + self.year * condition.years.min(DRIFT_YEARS)
            + driven * (1.0 + UNEQUAL * own.response)
            + self.spread[0] * own.level
            + self.spread[1] * draws.normal();
        let [least, most] = self.limits;
        let steps = 10_f64.powi(self.decimals as i32);
        ((value.clamp(least, most) * steps).round() / steps) as f32
    }
}
