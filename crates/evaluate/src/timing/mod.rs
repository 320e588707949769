//! Dates, stays, ages and values of generated records, beside those of real ones.

mod counting;
mod distance;
mod faults;
mod known;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use consequence_record::{
    AgeBand, Code, CohortDetails, DetailsView, Part, RecordView, Scale, Selection, Vocabulary,
};
use consequence_tally::Counts as _;
use serde::Serialize;

pub use self::counting::{FollowedCodes, TimingCounts, followed_codes};
pub use self::distance::Summary;
pub use self::faults::Misplaced;
pub use self::known::Known;

use self::counting::Days;
use self::distance::{Number, kolmogorov_smirnov, sorted, total_variation};
use crate::measured::BadRecord;

/// The days of a year, for ages in years with a fraction.
const YEAR: f64 = 365.25;

const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// How much is told.
#[derive(Clone, Copy, Debug)]
pub struct TimingOptions {
    /// Codes of the visit before, within each of which days between visits are compared. Default 5.
    pub codes: usize,
    /// Tests with figures of their own. Default 20.
    pub tests: usize,
}

impl Default for TimingOptions {
    fn default() -> Self {
        Self { codes: 5, tests: 20 }
    }
}

/// Records, and what is known of those of their cohort beside the codes.
#[derive(Clone, Copy, Debug)]
pub struct TimingSample<'a> {
    /// The records.
    pub records: Selection<'a>,
    /// Dates, stays, births and values of all records of the cohort, where any are known.
    pub details: Option<&'a CohortDetails>,
}

impl<'a> TimingSample<'a> {
    pub(crate) fn records(
        &self,
    ) -> impl Iterator<Item = (RecordView<'a>, DetailsView<'a>)> + use<'a> {
        let (cohort, details) = (self.records.cohort(), self.details);
        self.records.indices().map(move |index| {
            let details = details.filter(|details| index < details.len());
            let details = details.map_or_else(DetailsView::default, |details| details.of(index));
            (cohort.record(index), details)
        })
    }
}

/// What is compared, over one vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct TimingSamples<'a> {
    /// Real records that the generator trained on.
    pub real: TimingSample<'a>,
    /// Records that it wrote.
    pub synthetic: TimingSample<'a>,
    /// Other real records, which show what luck alone does; may be missing.
    pub other: Option<TimingSample<'a>>,
    /// The codes of them all.
    pub vocabulary: &'a Vocabulary,
    /// What the values of codes are.
    pub scales: &'a BTreeMap<Code, Scale>,
}

/// The same of the real records, of the generated ones, and of other real ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sides<T> {
    /// Of the real records.
    pub real: T,
    /// Of the generated records.
    pub synthetic: T,
    /// Of other real records, where there are any.
    pub other: Option<T>,
}

impl<T> Sides<T> {
    /// The same of something else of each.
    pub fn map<U>(&self, mut of: impl FnMut(&T) -> U) -> Sides<U> {
        Sides {
            real: of(&self.real),
            synthetic: of(&self.synthetic),
            other: self.other.as_ref().map(of),
        }
    }

    /// How far the generated ones, and the other real ones, are from the real ones.
    fn distances(&self, of: impl Fn(&T, &T) -> Option<f64>) -> (Option<f64>, Option<f64>) {
        let other = self.other.as_ref().and_then(|other| of(&self.real, other));
        (of(&self.real, &self.synthetic), other)
    }
}

/// A number that records have many of: what it looks like in each, and how far apart they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// What it looks like.
    #[serde(flatten)]
    pub sides: Sides<Summary>,
    /// The Kolmogorov-Smirnov distance of the generated records from the real ones; none where one of
    /// them has no such number.
    pub ks: Option<f64>,
    /// The same of other real records.
    pub other_ks: Option<f64>,
}

impl Distribution {
    fn of<T: Number>(sides: &Sides<Vec<(T, u64)>>, unit: f64) -> Self {
        let (ks, other_ks) = sides.distances(|one, other| kolmogorov_smirnov(one, other));
        Self { sides: sides.map(|numbers| Summary::of(numbers, unit)), ks, other_ks }
    }

    fn days(counts: &Sides<TimingCounts>, of: impl Fn(&TimingCounts) -> &Days, unit: f64) -> Self {
        let sorted =
            |counts: &TimingCounts| sorted(of(counts).iter().map(|(&days, &times)| (days, times)));
        Self::of(&counts.map(sorted), unit)
    }
}

/// Days between visits after a visit with a code.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AfterCode {
    /// The code.
    pub code: String,
    /// Days from a visit with the code to the next.
    #[serde(flatten)]
    pub days: Distribution,
}

/// How visits are spread over weekdays, months or age bands.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SharesOf {
    /// Each of them, with the visits that are in it.
    pub rows: Vec<ShareRow>,
    /// The total variation between the shares of the generated records and of the real ones; none
    /// where one of them has no such visit.
    pub total_variation: Option<f64>,
    /// The same of other real records.
    pub other_total_variation: Option<f64>,
}

/// The visits of a weekday, a month or an age band.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShareRow {
    /// Which.
    pub name: String,
    /// The visits that are in it.
    #[serde(flatten)]
    pub visits: Sides<u64>,
}

impl SharesOf {
    fn of<N: ToString>(names: &[N], counts: &Sides<Vec<u64>>) -> Self {
        let (total_variation, other_total_variation) =
            counts.distances(|one, other| self::total_variation(one, other));
        let row = |(at, name): (usize, &N)| ShareRow {
            name: name.to_string(),
            visits: counts.map(|counts| counts[at]),
        };
        let rows = names.iter().enumerate().map(row).collect();
        Self { rows, total_variation, other_total_variation }
    }
}

/// The values of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TestValues {
    /// The test, as the source names it.
    pub test: String,
    /// The unit of its values, where one is known.
    pub unit: Option<String>,
    /// Its values.
    #[serde(flatten)]
    pub values: Distribution,
}

/// The values of all tests.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Values {
    /// Tests with values in the real records.
    pub tests: u64,
    /// Those of them with values in the generated records too.
    pub in_both: u64,
    /// Tests with values in the generated records alone.
    pub only_synthetic: u64,
    /// Values of all tests.
    pub values: Sides<u64>,
    /// The distance in the middle of those of all tests in both.
    pub median_ks: Option<f64>,
    /// The largest.
    pub largest_ks: Option<f64>,
    /// The one in the middle of other real records.
    pub other_median_ks: Option<f64>,
    /// The largest of other real records.
    pub other_largest_ks: Option<f64>,
    /// The tests with the most values in real records, the commonest first.
    pub commonest: Vec<TestValues>,
}

/// Dates, stays, ages and values of generated records, beside those of real ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timing {
    /// Whether encounters have dates.
    pub dated: Sides<bool>,
    /// Records.
    pub records: Sides<u64>,
    /// Days between the dates on which a visit and the next begin.
    pub days_between_visits: Distribution,
    /// The same within each of the commonest codes of the visit before, as they are in real records.
    pub days_after: Vec<AfterCode>,
    /// Days from the first visit of a record to its last.
    pub span: Distribution,
    /// The weekdays on which visits begin.
    pub weekdays: SharesOf,
    /// The months in which visits begin.
    pub months: SharesOf,
    /// The age in years on the date on which a visit begins, where births are known.
    pub age: Distribution,
    /// The age bands that the source itself gave at visits.
    pub age_bands: SharesOf,
    /// Days from the beginning of a visit to its end, where that is known.
    pub stay: Distribution,
    /// What was measured.
    pub values: Values,
    /// What is after the death of a patient: by time, or without dates by the order of visits.
    pub after_death: Sides<Misplaced>,
    /// What is on a date before that of birth.
    pub before_birth: Sides<Misplaced>,
    /// Values with their code and date that some real patient of those trained on has.
    pub known: Option<Sides<Known>>,
}

/// Compares dates, stays, ages and values. What a cohort does not have is left empty, and the rest
/// is measured.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use consequence_evaluate::{TimingOptions, TimingSample, TimingSamples, timing};
/// use consequence_record::calendar::DAY;
/// use consequence_record::{Cohort, CohortDetails, Details, Record, Selection, Vocabulary};
///
/// let vocabulary = Vocabulary::new::<&str>([])?;
/// let made = |gap: i64| {
///     let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
///     for _ in 0..10 {
///         cohort.push("", &Record::new(vec![vec![]; 3]));
///         details.push(Details { times: vec![0, gap * DAY], ..Details::default() }.view());
///     }
///     (cohort, details)
/// };
/// let [real, synthetic] = [7, 14].map(made);
/// let sample = |(cohort, details)| TimingSample { records: Selection::all(cohort), details: Some(details) };
/// let samples = TimingSamples {
///     real: sample((&real.0, &real.1)),
///     synthetic: sample((&synthetic.0, &synthetic.1)),
///     other: None,
///     vocabulary: &vocabulary,
///     scales: &BTreeMap::new(),
/// };
/// let found = timing(&samples, &TimingOptions::default())?;
/// assert_eq!(found.days_between_visits.ks, Some(1.0));
/// assert_eq!(found.days_between_visits.sides.synthetic.median(), Some(14.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn timing(samples: &TimingSamples<'_>, options: &TimingOptions) -> Result<Timing, BadRecord> {
    let TimingSamples { vocabulary, scales, .. } = *samples;
    let after = followed_codes(&samples.real, vocabulary)?.commonest(vocabulary, options.codes);
    let counted = |sample: &TimingSample<'_>| TimingCounts::of(sample, vocabulary, &after);
    let sides = Sides {
        real: counted(&samples.real)?,
        synthetic: counted(&samples.synthetic)?,
        other: samples.other.as_ref().map(counted).transpose()?,
    };
    Ok(timing_of(&sides, &after, vocabulary, scales, options))
}

/// The same of records that were counted, with days after each of these codes.
pub fn timing_of(
    counts: &Sides<TimingCounts>,
    after: &[Code],
    vocabulary: &Vocabulary,
    scales: &BTreeMap<Code, Scale>,
    options: &TimingOptions,
) -> Timing {
    let days = |of: fn(&TimingCounts) -> &Days| Distribution::days(counts, of, 1.0);
    let after_code = |(at, &code): (usize, &Code)| AfterCode {
        code: vocabulary.name(code).to_owned(),
        days: Distribution::days(counts, |counts| &counts.gaps_after[at], 1.0),
    };
    let all = [Some(&counts.real), Some(&counts.synthetic), counts.other.as_ref()];
    let bands = all.into_iter().flatten().flat_map(|counts| counts.age_bands.keys().copied());
    let bands: BTreeSet<AgeBand> = bands.collect();
    let bands: Vec<AgeBand> = bands.into_iter().collect();
    let of_bands = |counts: &TimingCounts| {
        bands.iter().map(|band| counts.age_bands.get(band).copied().unwrap_or(0)).collect()
    };
    let tests = Tests::of(counts, vocabulary, scales);
    Timing {
        dated: counts.map(|counts| counts.dated),
        records: counts.map(|counts| counts.records),
        days_between_visits: days(|counts| &counts.gaps),
        days_after: after.iter().enumerate().map(after_code).collect(),
        span: days(|counts| &counts.spans),
        weekdays: SharesOf::of(&WEEKDAYS, &counts.map(|counts| counts.weekdays.to_vec())),
        months: SharesOf::of(&MONTHS, &counts.map(|counts| counts.months.to_vec())),
        age: Distribution::days(counts, |counts| &counts.ages, YEAR),
        age_bands: SharesOf::of(&bands, &counts.map(of_bands)),
        stay: days(|counts| &counts.stays),
        values: tests.compared(counts, options.tests),
        after_death: counts.map(|counts| counts.after_death),
        before_birth: counts.map(|counts| counts.before_birth),
        known: known::known(counts),
    }
}

/// The tests that there are.
struct Tests {
    names: Vec<(String, Option<String>)>,
    /// The codes of each.
    codes: Vec<Vec<Code>>,
}

impl Tests {
    /// Those that the scales name; a code with values and without a scale is named by itself.
    fn of(
        counts: &Sides<TimingCounts>,
        vocabulary: &Vocabulary,
        scales: &BTreeMap<Code, Scale>,
    ) -> Self {
        let sides = [Some(&counts.real), Some(&counts.synthetic), counts.other.as_ref()];
        let codes = sides.into_iter().flatten().flat_map(|counts| counts.values.keys().copied());
        let codes: BTreeSet<Code> = codes.collect();
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut tests = Self { names: Vec::new(), codes: Vec::new() };
        for code in codes {
            let name = vocabulary.name(code);
            let test = match (scales.get(&code), vocabulary.part(code)) {
                (Some(scale), _) => scale.test.as_str(),
                (None, Part::Values) => name.rsplit_once("//").map_or(name, |(test, _)| test),
                (None, _) => name,
            };
            let unit = scales.get(&code).and_then(|scale| scale.unit.clone());
            let next = tests.names.len();
            let number = *numbers.entry(test.to_owned()).or_insert(next);
            if number == next {
                tests.names.push((test.to_owned(), unit));
                tests.codes.push(Vec::new());
            }
            tests.codes[number].push(code);
        }
        tests
    }

    /// The values of a test in order, with how often each is there.
    fn values(&self, counts: &TimingCounts, test: usize) -> Vec<(f32, u64)> {
        let mut all = consequence_tally::Values::default();
        for values in self.codes[test].iter().filter_map(|code| counts.values.get(code)) {
            all.add(values.clone());
        }
        sorted(all.sorted())
    }

    fn compared(&self, of: &Sides<TimingCounts>, told: usize) -> Values {
        let all: Vec<TestValues> = self
            .names
            .iter()
            .enumerate()
            .map(|(at, (test, unit))| {
                let values = Distribution::of(&of.map(|counts| self.values(counts, at)), 1.0);
                TestValues { test: test.clone(), unit: unit.clone(), values }
            })
            .collect();
        let counts = |test: &TestValues| test.values.sides.map(|side| side.count);
        let of_all =
            |of: &dyn Fn(&Sides<u64>) -> u64| all.iter().map(|test| of(&counts(test))).sum();
        let holds = |of: fn(&Sides<u64>) -> bool| {
            all.iter().filter(|test| of(&counts(test))).count() as u64
        };
        let in_order = |of: fn(&Distribution) -> Option<f64>| {
            let mut found: Vec<f64> = all.iter().filter_map(|test| of(&test.values)).collect();
            found.sort_by(f64::total_cmp);
            found
        };
        let [ours, others] = [in_order(|one| one.ks), in_order(|one| one.other_ks)];
        let middle = |found: &[f64]| match found.len() {
            0 => None,
            count if count % 2 == 1 => Some(found[count / 2]),
            count => Some((found[count / 2 - 1] + found[count / 2]) / 2.0),
        };
        let (values, tests) = (
            Sides {
                real: of_all(&|counts| counts.real),
                synthetic: of_all(&|counts| counts.synthetic),
                other: of.other.as_ref().map(|_| of_all(&|counts| counts.other.unwrap_or(0))),
            },
            holds(|counts| counts.real > 0),
        );
        let in_both = holds(|counts| counts.real > 0 && counts.synthetic > 0);
        let only_synthetic = holds(|counts| counts.real == 0 && counts.synthetic > 0);
        let mut commonest = all;
        commonest.retain(|test| counts(test).real > 0);
        commonest.sort_by(|one, other| {
            counts(other).real.cmp(&counts(one).real).then_with(|| one.test.cmp(&other.test))
        });
        commonest.truncate(told);
        Values {
            tests,
            in_both,
            only_synthetic,
            values,
            median_ks: middle(&ours),
            largest_ks: ours.last().copied(),
            other_median_ks: middle(&others),
            other_largest_ks: others.last().copied(),
            commonest,
        }
    }
}
