//! Finding out what the dates, ages and values of a cohort are like.

use std::collections::BTreeMap;

use consequence_record::calendar::{civil, day_of, weekday};
use consequence_record::{
    AgeBand, Code, CohortDetails, DayBand, DetailsView, RecordView, Scale, Selection, Vocabulary,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::histogram::{FEWEST_PATIENTS, Histogram};
use crate::model::{Births, Dates, DetailModel, Gap, Starts, ToldTo, Values};

/// Where groups of records begin by the days from their first encounter to their last.
const SPANS: [i64; 6] = [1, 30, 365, 3 * 365, 8 * 365, 15 * 365];

/// The most digits after the point.
const MOST_DECIMALS: u8 = 6;

/// The longest gap that is believed, in days.
const LONGEST: u32 = 40_000;

/// Numbers, each with the patient it is of.
type Numbers = Vec<(i64, u32)>;

impl DetailModel {
    /// What the details of some records of a cohort are like. `scales` are those of its codes.
    ///
    /// ```
    /// use consequence_details::DetailModel;
    /// use consequence_record::{Cohort, CohortDetails, Details, Kind, Record, Selection, Vocabulary};
    ///
    /// let vocabulary = Vocabulary::new([("GAP//0-30d", Kind::Encounter)])?;
    /// let gap = vocabulary.code("GAP//0-30d").unwrap();
    /// let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
    /// for patient in 0..30_i64 {
    ///     cohort.push("", &Record::new(vec![vec![], vec![], vec![gap]]));
    ///     let day = 86_400_000_000;
    ///     let times = vec![patient * day, (patient + 14) * day];
    ///     details.push(Details { times, ..Details::default() }.view());
    /// }
    /// let model = DetailModel::fit(Selection::all(&cohort), &details, &vocabulary, &Default::default());
    /// assert!(model.dated());
    /// # Ok::<(), consequence_record::VocabularyError>(())
    /// ```
    pub fn fit(
        records: Selection<'_>,
        details: &CohortDetails,
        vocabulary: &Vocabulary,
        scales: &BTreeMap<Code, Scale>,
    ) -> Self {
        let told = records.indices().filter(|&index| index < details.len());
        let told: Vec<(u32, RecordView<'_>, DetailsView<'_>)> = told
            .map(|index| (index as u32, records.cohort().record(index), details.of(index)))
            .collect();
        let bands = |of: fn(&str) -> Option<DayBand>| -> FxHashMap<Code, DayBand> {
            let banded =
                vocabulary.codes().filter_map(|code| Some((code, of(vocabulary.name(code))?)));
            banded.filter(|(_, band)| band.from <= LONGEST).collect()
        };
        let (gaps, stays) = (bands(DayBand::of_gap), bands(DayBand::of_stay));
        let name = |code: Code| vocabulary.name(code).to_owned();
        Self {
            dates: dates(&told, &gaps, &name),
            births: births(&told, vocabulary),
            stays: stay_days(&told, &stays, &name),
            values: values(&told, vocabulary, scales),
        }
    }
}

type Told<'a> = [(u32, RecordView<'a>, DetailsView<'a>)];

/// The month of a day, counted from the year 0.
pub(crate) fn month(day: i64) -> i64 {
    let (year, month, _) = civil(day);
    year * 12 + month - 1
}

fn dates(
    told: &Told<'_>,
    bands: &FxHashMap<Code, DayBand>,
    name: &impl Fn(Code) -> String,
) -> Option<Dates> {
    if bands.is_empty() || told.iter().all(|(.., details)| details.times.is_empty()) {
        return None;
    }
    let mut first_days = Weekdays::default();
    let mut months: Vec<Numbers> = vec![Vec::new(); SPANS.len() + 1];
    let mut lasts: Vec<(i64, u32)> = Vec::new();
    let mut spans: Vec<i64> = Vec::new();
    let mut gaps: FxHashMap<Code, (Numbers, WeekdaysAfter)> = FxHashMap::default();
    let mut any_gap = WeekdaysAfter::default();
    let (mut stays, mut overlaps) = (0_u64, 0_u64);
    for &(patient, record, details) in told {
        let (Some(&first), Some(&last)) = (details.times.first(), details.times.last()) else {
            continue;
        };
        let (first, last) = (day_of(first), day_of(last));
        first_days.meet(weekday(first), patient);
        let group = SPANS.partition_point(|&from| from <= last - first);
        months[group].push((month(first), patient));
        lasts.push((month(last), patient));
        spans.push(last - first);
        for visit in 2..record.len() {
            let (Some(before), Some(now)) = (details.time(visit - 1), details.time(visit)) else {
                continue;
            };
            if let Some(end) = details.end(visit - 1).filter(|&end| day_of(end) > day_of(before)) {
                stays += 1;
                overlaps += u64::from(day_of(now) < day_of(end));
            }
            let days = day_of(now) - day_of(before);
            let code = record.visit(visit).iter().find(|code| bands.contains_key(code));
            let Some(code) = code.filter(|code| bands[code].holds(days)) else { continue };
            let pair = (weekday(day_of(before)), weekday(day_of(now)));
            let (numbers, weekdays) = gaps.entry(*code).or_default();
            numbers.push((days, patient));
            weekdays.meet(pair, patient);
            any_gap.meet(pair, patient);
        }
    }
    let all: Numbers = months.iter().flatten().copied().collect();
    let all = Histogram::fit(all, None, None)?;
    let starts = months.into_iter().enumerate().map(|(group, numbers)| Starts {
        up_to_days: SPANS.get(group).map(|below| below - 1),
        months: Histogram::fit(numbers, None, None).unwrap_or_else(|| all.clone()),
    });
    lasts.sort_unstable();
    let last_month = lasts[lasts.len().saturating_sub(FEWEST_PATIENTS)].0;
    spans.sort_unstable();
    let longest = spans.len().checked_sub(FEWEST_PATIENTS).map(|tenth| spans[tenth]);
    let gaps = bands.iter().filter_map(|(&code, band)| {
        let (numbers, weekdays) = gaps.remove(&code).unwrap_or_default();
        let to = band.to.map(|to| i64::from(to) - 1);
        let days =
            Histogram::fit(numbers, Some(band.from.into()), to).or_else(|| in_band(*band))?;
        Some((name(code), Gap { days, weekdays_after: weekdays.told() }))
    });
    Some(Dates {
        weekdays: first_days.told(),
        starts: starts.collect(),
        last_month,
        longest,
        gaps: gaps.collect(),
        weekdays_after: any_gap.told(),
        one_stay_at_a_time: stays > 0 && overlaps * 100 <= stays,
    })
}

/// All days of a band, where too few patients tell which; of a band without end, those up to twice its
/// beginning.
fn in_band(band: DayBand) -> Option<Histogram> {
    let from = i64::from(band.from);
    Histogram::uniform(from, band.to.map_or(2 * from + 1, i64::from) - 1)
}

fn stay_days(
    told: &Told<'_>,
    bands: &FxHashMap<Code, DayBand>,
    name: &impl Fn(Code) -> String,
) -> BTreeMap<String, Histogram> {
    let mut found: FxHashMap<Code, Numbers> = FxHashMap::default();
    for &(patient, record, details) in told {
        for visit in 1..record.len() {
            let (Some(begin), Some(end)) = (details.time(visit), details.end(visit)) else {
                continue;
            };
            let days = day_of(end) - day_of(begin);
            let code = record.visit(visit).iter().find(|code| bands.contains_key(code));
            if let Some(code) = code.filter(|code| bands[code].holds(days)) {
                found.entry(*code).or_default().push((days, patient));
            }
        }
    }
    let stays = bands.iter().filter_map(|(&code, band)| {
        let numbers = found.remove(&code).unwrap_or_default();
        let to = band.to.map(|to| i64::from(to) - 1);
        let days =
            Histogram::fit(numbers, Some(band.from.into()), to).or_else(|| in_band(*band))?;
        Some((name(code), days))
    });
    stays.collect()
}

fn births(told: &Told<'_>, vocabulary: &Vocabulary) -> Option<Births> {
    let bands = AgeBand::of_statics(vocabulary);
    let born = told.iter().filter_map(|&(patient, record, details)| {
        let (birth, first) = (day_of(details.birth?), day_of(*details.times.first()?));
        let code = record.visit(0).iter().find(|code| bands.contains_key(code))?;
        (birth <= first).then_some((patient, *code, birth, first))
    });
    let born: Vec<(u32, Code, i64, i64)> = born.collect();
    let patients: FxHashSet<u32> = born.iter().map(|one| one.0).collect();
    if patients.len() < FEWEST_PATIENTS {
        return None;
    }
    // One in a hundred may be otherwise, as tables are.
    let nearly_all = |on: &dyn Fn((i64, i64, i64)) -> bool| {
        let not = born.iter().filter(|(.., birth, _)| !on(civil(*birth))).count();
        not * 100 <= born.len()
    };
    let told_to = match () {
        () if nearly_all(&|(_, month, day)| (month, day) == (1, 1)) => ToldTo::Year,
        () if nearly_all(&|(.., day)| day == 1) => ToldTo::Month,
        () => ToldTo::Day,
    };
    let mut ages: FxHashMap<Code, Numbers> = FxHashMap::default();
    for &(patient, code, birth, first) in &born {
        ages.entry(code).or_default().push((told_to.age(birth, first), patient));
    }
    let ages = ages.into_iter().filter_map(|(code, numbers)| {
        let histogram = Histogram::fit(numbers, None, None).or_else(|| {
            let AgeBand { from, to } = bands[&code];
            let to = to.unwrap_or(from + 10);
            let unit = told_to.in_a_year();
            Histogram::uniform(
                (f64::from(from) * unit).ceil() as i64,
                (f64::from(to) * unit) as i64 - 1,
            )
        });
        Some((vocabulary.name(code).to_owned(), histogram?))
    });
    Some(Births { told_to, ages: ages.collect() })
}

impl ToldTo {
    /// The age on a day, in days, months or years as calendars count them.
    fn age(self, birth: i64, on: i64) -> i64 {
        match self {
            Self::Day => on - birth,
            Self::Month => month(on) - month(birth),
            Self::Year => civil(on).0 - civil(birth).0,
        }
    }

    fn in_a_year(self) -> f64 {
        match self {
            Self::Day => 365.25,
            Self::Month => 12.0,
            Self::Year => 1.0,
        }
    }
}

fn values(
    told: &Told<'_>,
    vocabulary: &Vocabulary,
    scales: &BTreeMap<Code, Scale>,
) -> BTreeMap<String, Values> {
    let mut found: BTreeMap<Code, Vec<(f32, u32)>> = BTreeMap::new();
    for &(patient, _, details) in told {
        for event in details.events {
            if let Some(value) = event.value.filter(|value| value.is_finite()) {
                found.entry(event.code).or_default().push((value, patient));
            }
        }
    }
    let scale_of = |code: Code| {
        let own = || Scale { test: vocabulary.name(code).to_owned(), ..Scale::default() };
        scales.get(&code).cloned().unwrap_or_else(own)
    };
    let mut tests: BTreeMap<String, Vec<Code>> = BTreeMap::new();
    for &code in found.keys() {
        tests.entry(scale_of(code).test).or_default().push(code);
    }
    let mut all = BTreeMap::new();
    for (test, codes) in tests {
        let of_test: Vec<(f32, u32)> =
            codes.iter().flat_map(|code| &found[code]).copied().collect();
        let decimals = decimals(&of_test);
        let numbers = |values: &[(f32, u32)]| -> Numbers {
            values.iter().map(|&(value, patient)| (number(value, decimals), patient)).collect()
        };
        let whole = Histogram::fit(numbers(&of_test), None, None);
        let cuts = known_cuts(codes.iter().map(|&code| scale_of(code)), &of_test);
        for code in codes {
            let scale = scale_of(code);
            // A cut point that too few patients are beyond is not told; the part is as wide as the next.
            let below = |cut: &&f32| scale.above.is_some_and(|above| **cut <= above);
            let beyond = |cut: &&f32| scale.up_to.is_some_and(|up_to| **cut >= up_to);
            let above = cuts.iter().rev().find(below).copied();
            let up_to = cuts.iter().find(beyond).copied();
            // The numbers that the part may hold.
            let from = above.map(|above| first_above(above, decimals));
            let to = up_to.map(|up_to| last_up_to(up_to, decimals));
            let within = |number: i64| {
                from.is_none_or(|from| number >= from) && to.is_none_or(|to| number <= to)
            };
            let mut own = numbers(&found[&code]);
            own.retain(|&(number, _)| within(number));
            let own = Histogram::fit(own, from, to);
            let part = || whole.as_ref()?.between(from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX));
            let values = Values {
                test: test.clone(),
                unit: scale.unit.clone(),
                above,
                up_to,
                count: found[&code].len() as u64,
                decimals,
                numbers: own.or_else(part),
            };
            all.insert(vocabulary.name(code).to_owned(), values);
        }
    }
    all
}

/// The cut points of a test that ten patients are on either side of, in order.
fn known_cuts(scales: impl Iterator<Item = Scale>, values: &[(f32, u32)]) -> Vec<f32> {
    let mut cuts: Vec<f32> =
        scales.flat_map(|scale| [scale.above, scale.up_to]).flatten().collect();
    cuts.sort_by(f32::total_cmp);
    cuts.dedup();
    cuts.retain(|&cut| {
        let patients = |side: &dyn Fn(f32) -> bool| {
            let on_it = values.iter().filter(|(value, _)| side(*value));
            on_it.map(|&(_, patient)| patient).collect::<FxHashSet<u32>>().len()
        };
        patients(&|value| value <= cut) >= FEWEST_PATIENTS
            && patients(&|value| value > cut) >= FEWEST_PATIENTS
    });
    cuts
}

/// The digits after the point that nearly all values are told to.
fn decimals(values: &[(f32, u32)]) -> u8 {
    let told_to = |decimals: u8| {
        let power = 10_f64.powi(decimals.into());
        let odd = values.iter().filter(|(value, _)| {
            let scaled = f64::from(*value) * power;
            // What single precision cannot tell apart counts as equal.
            (scaled - scaled.round()).abs() > (scaled.abs() * 1.2e-7).max(1e-6)
        });
        odd.count() * 100 <= values.len()
    };
    (0..MOST_DECIMALS).find(|&decimals| told_to(decimals)).unwrap_or(MOST_DECIMALS)
}

/// A value as a whole number.
fn number(value: f32, decimals: u8) -> i64 {
    (f64::from(value) * 10_f64.powi(decimals.into())).round() as i64
}

/// A whole number as a value.
pub(crate) fn value(number: i64, decimals: u8) -> f32 {
    (number as f64 / 10_f64.powi(decimals.into())) as f32
}

/// The first number whose value is above a cut point.
fn first_above(cut: f32, decimals: u8) -> i64 {
    let near = number(cut, decimals);
    (near - 2..).find(|&number| value(number, decimals) > cut).unwrap_or(near)
}

/// The last number whose value is at most a cut point.
fn last_up_to(cut: f32, decimals: u8) -> i64 {
    first_above(cut, decimals) - 1
}

/// Counts of patients and of encounters by the day of the week.
#[derive(Default)]
struct Weekdays([(u64, FxHashSet<u32>); 7]);

impl Weekdays {
    fn meet(&mut self, weekday: usize, patient: u32) {
        let (count, patients) = &mut self.0[weekday];
        *count += 1;
        if patients.len() < FEWEST_PATIENTS {
            patients.insert(patient);
        }
    }

    /// The counts that ten patients or more stand for.
    fn told(&self) -> [u64; 7] {
        let told = |weekday: usize| {
            let (count, patients) = &self.0[weekday];
            if patients.len() >= FEWEST_PATIENTS { *count } else { 0 }
        };
        std::array::from_fn(told)
    }
}

/// The same for an encounter and the one before.
#[derive(Default)]
struct WeekdaysAfter([Weekdays; 7]);

impl WeekdaysAfter {
    fn meet(&mut self, (before, now): (usize, usize), patient: u32) {
        self.0[before].meet(now, patient);
    }

    fn told(&self) -> [[u64; 7]; 7] {
        std::array::from_fn(|before| self.0[before].told())
    }
}
