//! Simulated cohorts with births, dates, stays, deaths and values.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use consequence_prng::{Draws, Purpose};
use consequence_record::calendar::{DAY, day_of};
use consequence_record::{
    Code, Cohort, CohortDetails, DayBand, Details, EventDetail, GAP_PREFIX, Record, STAY_PREFIX,
    Scale, Vocabulary,
};
use consequence_rules::language::Expression;
use rayon::prelude::*;

use crate::catalogue::{Catalogue, SEXES};
use crate::measurements::{BINS, Condition, Driver, Own, TESTS, Test};
use crate::patient::Draft;
use crate::preset::Preset;
use crate::probability::Probability;
use crate::simulation::{BATCH, BATCHES, Simulation};
use crate::timeline::{Dates, Timeline, minutes_into};
use crate::truth::Truth;

/// A year in microseconds.
const YEAR: f64 = 365.2425 * DAY as f64;

/// After so many days in hospital a test is done again, at times.
const AGAIN_AFTER: i64 = 4;
const AGAIN: f64 = 0.5;

/// A simulated cohort with births, dates, stays, deaths and the values of [`TESTS`].
///
/// The codes are those of the [`Simulation`] that it is made of, with the same numbers, and after them
/// come codes of their own: days since the encounter before, lengths of stays, and values in four parts.
/// A record and its details are a function of the preset, the seed and the record's number.
///
/// ```
/// use consequence_record::{DayBand, Part};
/// use consequence_simulate::{Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::Inpatient, 100, 7).detailed();
/// let (cohort, details) = simulation.cohort();
/// let vocabulary = simulation.vocabulary();
/// for (index, record) in cohort.records().enumerate() {
///     let days = |visit| details.of(index).time(visit).unwrap().div_euclid(86_400_000_000);
///     for visit in 2..record.len() {
///         let names = record.visit(visit).iter().map(|&code| vocabulary.name(code));
///         let gap = names.filter_map(DayBand::of_gap).next().unwrap();
///         assert!(gap.holds(days(visit) - days(visit - 1)));
///     }
/// }
/// ```
pub struct DetailedSimulation {
    simulation: Simulation,
    catalogue: Catalogue,
    truth: Truth,
    timeline: Timeline,
    added: Added,
}

/// The codes that tell of dates, stays and values.
struct Added {
    gaps: Vec<(DayBand, Code)>,
    stays: Vec<(DayBand, Code)>,
    /// The first of the codes of each test's values, in the order of [`TESTS`].
    bins: Vec<Code>,
    drivers: Vec<Option<Code>>,
    /// The code of death.
    death: Option<Code>,
    /// The codes of how a stay ended.
    outcomes: Vec<Code>,
    women: Option<Code>,
}

impl DetailedSimulation {
    pub(crate) fn new(simulation: Simulation) -> Self {
        let preset = simulation.preset();
        let catalogue = Catalogue::new(preset).with(further_codes(preset));
        let truth = Truth::new(preset, &catalogue);
        let timeline = Timeline::new(preset, &catalogue.vocabulary);
        let added = Added::new(preset, &catalogue);
        Self { simulation, catalogue, truth, timeline, added }
    }

    /// The preset.
    pub fn preset(&self) -> Preset {
        self.simulation.preset()
    }

    /// The number of patients.
    pub fn patients(&self) -> usize {
        self.simulation.patients()
    }

    /// The codes, the same for every simulation of a preset. Those of [`Simulation::vocabulary`] come
    /// first, with the same numbers but for `END`.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.catalogue.vocabulary
    }

    /// What a code means. `END` has no title.
    pub fn title(&self, code: Code) -> Option<&str> {
        self.catalogue.title(code)
    }

    /// The planted rules, over this vocabulary. Every record obeys them.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// Rules that every record obeys by the way it is told, as the text of a rule file: one code for the
    /// days since the encounter before, one for a stay.
    ///
    /// ```
    /// use consequence_simulate::{Preset, Simulation};
    ///
    /// let rules = Simulation::new(Preset::Inpatient, 0, 7).detailed().own_rules();
    /// assert!(rules.contains("rule own-one-stay: exactly one of STAY//0d, STAY//1d"));
    /// ```
    pub fn own_rules(&self) -> String {
        let mut text = String::from("# Rules that every record obeys by the way it is told.\n");
        // Writing to a string cannot fail.
        let _ = self.write_own_rules(&mut text);
        text
    }

    fn write_own_rules(&self, out: &mut String) -> std::fmt::Result {
        let vocabulary = &self.catalogue.vocabulary;
        let listed = |codes: &[(DayBand, Code)]| {
            Expression::literals(codes.iter().map(|&(_, code)| vocabulary.name(code)))
        };
        let statics = Expression::literals(vocabulary.statics().map(|code| vocabulary.name(code)));
        let gaps = listed(&self.added.gaps);
        writeln!(out, "\nstatic {statics}\n")?;
        if self.added.stays.is_empty() {
            // Of a few patients neither sex nor age is known, so a first encounter cannot always be told
            // by the static visit before it.
            writeln!(
                out,
                "rule own-no-gap-at-first: (any of {statics}) in previous => none of {gaps}"
            )?;
            writeln!(out, "rule own-one-gap: at most one of {gaps}")?;
            writeln!(
                out,
                "rule own-one-gap-later: (any of {gaps}) in previous => exactly one of {gaps}"
            )?;
            for (test, &first) in TESTS.iter().zip(&self.added.bins) {
                let bins = (first.0..).take(BINS).map(|number| vocabulary.name(Code(number)));
                let name = test.name.trim_start_matches("LAB//");
                writeln!(
                    out,
                    "rule own-one-{name}: at most one of {}",
                    Expression::literals(bins)
                )?;
            }
            return Ok(());
        }
        let stays = listed(&self.added.stays);
        writeln!(out, "rule own-one-stay: exactly one of {stays}")?;
        let later = format!("(any of {stays}) in previous");
        writeln!(out, "rule own-no-gap-at-first: not {later} => none of {gaps}")?;
        writeln!(out, "rule own-one-gap-later: {later} => exactly one of {gaps}")
    }

    /// What the values of each part of a test are, with the number of values that this cohort has there.
    /// To count them takes as long as to make the cohort.
    pub fn scales(&self) -> BTreeMap<Code, Scale> {
        let counts = self.starts(0..self.patients()).into_par_iter().map(|start| {
            let mut counts = [0_u64; TESTS.len() * BINS];
            let mut chart = Chart::default();
            let first = self.added.bins.first().map_or(0, |code| code.0);
            for patient in start..self.patients().min(start + BATCH) {
                self.write(&mut chart, patient);
                for event in chart.details.events.iter().filter(|event| event.value.is_some()) {
                    counts[(event.code.0 - first) as usize] += 1;
                }
            }
            counts
        });
        let none = || [0; TESTS.len() * BINS];
        let counts = counts.reduce(none, |mut sums, counts| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            sums
        });
        let tests = TESTS.iter().zip(&self.added.bins).zip(counts.chunks(BINS));
        let scales = tests.flat_map(|((test, first), counts)| {
            counts.iter().enumerate().map(|(bin, &count)| {
                (Code(first.0 + bin as u32), test.scale(self.preset(), bin, count))
            })
        });
        scales.collect()
    }

    /// The identifier of a patient, counted from 0.
    pub fn id(&self, patient: usize) -> String {
        self.simulation.id(patient)
    }

    /// The record of a patient, counted from 0, and what is known of it beside its codes.
    pub fn record(&self, patient: usize) -> (Record, Details) {
        let mut chart = Chart::default();
        self.write(&mut chart, patient);
        let visits = chart.visits().map(<[Code]>::to_vec).collect();
        (Record { visits, ended: true }, chart.details)
    }

    /// The whole cohort, made on all threads.
    pub fn cohort(&self) -> (Cohort, CohortDetails) {
        self.part(0..self.patients())
    }

    /// The cohort in parts of so many records, each made on all threads as it is asked for.
    pub fn parts(&self, records: usize) -> impl Iterator<Item = (Cohort, CohortDetails)> {
        let size = records.max(1);
        (0..self.patients())
            .step_by(size)
            .map(move |start| self.part(start..start.saturating_add(size)))
    }

    /// The patients of a range, as far as there are such, made on all threads.
    pub fn part(&self, patients: Range<usize>) -> (Cohort, CohortDetails) {
        let mut whole = (Cohort::default(), CohortDetails::default());
        let end = patients.end.min(self.patients());
        let mut start = patients.start;
        while start < end {
            let stop = end.min(start.saturating_add(BATCH * BATCHES));
            let batches: Vec<(Cohort, CohortDetails)> = self
                .starts(start..stop)
                .into_par_iter()
                .map(|start| self.batch(start..stop.min(start + BATCH)))
                .collect();
            for (cohort, details) in &batches {
                for (index, record) in cohort.records().enumerate() {
                    whole.0.push_visits(cohort.id(index), record.visits(), record.ended());
                    whole.1.push(details.of(index));
                }
            }
            start = stop;
        }
        whole
    }

    fn starts(&self, patients: Range<usize>) -> Vec<usize> {
        patients.step_by(BATCH).collect()
    }

    fn batch(&self, patients: Range<usize>) -> (Cohort, CohortDetails) {
        let mut cohort = Cohort::default();
        let mut details = CohortDetails::default();
        let mut chart = Chart::default();
        for patient in patients {
            self.write(&mut chart, patient);
            cohort.push_visits(&self.id(patient), chart.visits(), true);
            details.push(chart.details.view());
        }
        (cohort, details)
    }

    fn write(&self, chart: &mut Chart, patient: usize) {
        let draws = &self.simulation.draws;
        chart.draft.write(&self.simulation.world, draws, patient as u64);
        let mut draft = std::mem::take(&mut chart.draft);
        chart.write(self, draws, patient as u64, &mut draft);
        chart.draft = draft;
    }
}

/// A record with its details while it is written, and the room to write the next one in.
#[derive(Default)]
struct Chart {
    draft: Draft,
    codes: Vec<Code>,
    /// Where each visit ends, the static visit first.
    ends: Vec<usize>,
    details: Details,
}

impl Chart {
    fn visits(&self) -> impl Iterator<Item = &[Code]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.codes[start..end])
    }

    fn write(
        &mut self,
        simulation: &DetailedSimulation,
        draws: &Draws,
        patient: u64,
        draft: &mut Draft,
    ) {
        let DetailedSimulation { timeline, added, .. } = simulation;
        self.codes.clear();
        self.ends.clear();
        self.details.birth = None;
        self.details.times.clear();
        self.details.ends.clear();
        self.details.events.clear();
        let draws_of = |visit: usize| {
            Probability::new(draws.visit(patient, 0, visit as u16, Purpose::SimulatedDetail))
        };
        let mut fate = draws_of(0);
        let own: [Own; TESTS.len()] = std::array::from_fn(|_| Own::draw(&mut fate));
        let mut woman = false;
        let mut drivers = [Driver::Never; TESTS.len()];
        let mut before: Option<(Dates, &[Code])> = None;
        for (number, codes) in draft.visits().enumerate() {
            self.codes.extend_from_slice(codes);
            if number == 0 {
                woman = added.women.is_some_and(|code| codes.contains(&code));
                self.ends.push(self.codes.len());
                continue;
            }
            let mut draws = draws_of(number);
            let dates = match before {
                None => timeline.first(codes, &mut fate),
                Some((dates, earlier)) => {
                    timeline.next(dates, earlier, number - 1, codes, &mut draws)
                }
            };
            match before {
                None => {
                    let statics = &self.codes[..self.ends[0]];
                    self.details.birth = timeline.birth(statics, codes, dates.begin, &mut fate);
                }
                Some((earlier, _)) => {
                    let days = day_of(dates.begin) - day_of(earlier.begin);
                    self.codes.extend(band_code(&added.gaps, days));
                }
            }
            self.details.times.push(dates.begin);
            if let Some(days) = dates.stay() {
                self.details.ends.push(dates.end);
                self.codes.extend(band_code(&added.stays, days));
            }
            self.close(added, number, codes, dates, &mut draws);
            for (driver, code) in drivers.iter_mut().zip(&added.drivers) {
                *driver = match (*driver, code.is_some_and(|code| codes.contains(&code))) {
                    (_, true) => Driver::Now,
                    (Driver::Never, false) => Driver::Never,
                    _ => Driver::Before,
                };
            }
            let years = |from: i64| (dates.begin - from) as f64 / YEAR;
            let condition = Condition {
                woman,
                age: self.details.birth.map(years),
                years: years(self.details.times[0]),
            };
            let results = Results { simulation, number, dates, condition, drivers, own };
            self.measure(&results, &mut draws);
            self.ends.push(self.codes.len());
            before = Some((dates, codes));
        }
    }

    /// Tells when a code was that stands at an encounter's end.
    fn close(
        &mut self,
        added: &Added,
        number: usize,
        codes: &[Code],
        dates: Dates,
        draws: &mut Probability,
    ) {
        let minutes = 30 + draws.index(240) as i64;
        for &code in codes.iter().filter(|code| added.outcomes.contains(code)) {
            let time = match dates.end {
                Some(end) => Some(end),
                None if Some(code) == added.death => Some(minutes_into(dates, minutes)),
                None => None,
            };
            if time.is_some_and(|time| time != dates.begin) {
                self.details.events.push(EventDetail {
                    visit: number as u32,
                    code,
                    time,
                    value: None,
                });
            }
        }
    }

    /// Writes down the results of an encounter.
    fn measure(&mut self, results: &Results<'_>, draws: &mut Probability) {
        let preset = results.simulation.preset();
        for (index, test) in TESTS.iter().enumerate() {
            if !test.is_done(preset, results.drivers[index], draws) {
                continue;
            }
            // The first result is of the first hours, and any other of a later day.
            let start = self.details.events.len();
            let minutes = 15 * draws.index(24) as i64;
            self.result(results, index, minutes, draws);
            let stay = results.dates.stay().unwrap_or(0);
            if stay >= AGAIN_AFTER && draws.below(AGAIN) {
                let days = 1 + draws.index(stay as usize - 1) as i64;
                self.result(results, index, days * 24 * 60, draws);
            }
            self.keep_last(start);
        }
    }

    fn result(
        &mut self,
        results: &Results<'_>,
        index: usize,
        minutes: i64,
        draws: &mut Probability,
    ) {
        let Results { simulation, dates, .. } = results;
        let test: &Test = &TESTS[index];
        let value =
            test.value(results.own[index], results.drivers[index], results.condition, draws);
        let bin = test.bin(simulation.preset(), value);
        // Visits to a doctor have one time for all that is in them.
        let time = dates.end.map(|_| minutes_into(*dates, minutes));
        self.details.events.push(EventDetail {
            visit: results.number as u32,
            code: Code(simulation.added.bins[index].0 + bin as u32),
            time: time.filter(|&time| time != dates.begin),
            value: Some(value),
        });
    }

    /// Of the results of a test in an encounter keeps the last of each part, and writes down their codes.
    fn keep_last(&mut self, start: usize) {
        let events = &mut self.details.events;
        if let [first, last] = events[start..]
            && first.code == last.code
        {
            events[start] = last;
            events.truncate(start + 1);
        }
        events[start..].sort_by_key(|event| event.code);
        self.codes.extend(events[start..].iter().map(|event| event.code));
    }
}

/// What the results of an encounter depend on.
struct Results<'a> {
    simulation: &'a DetailedSimulation,
    number: usize,
    dates: Dates,
    condition: Condition,
    drivers: [Driver; TESTS.len()],
    own: [Own; TESTS.len()],
}

impl Added {
    fn new(preset: Preset, catalogue: &Catalogue) -> Self {
        let vocabulary = &catalogue.vocabulary;
        let banded = |prefix: &str, bands: Vec<DayBand>| -> Vec<(DayBand, Code)> {
            let code = |band: &DayBand| vocabulary.code(&format!("{prefix}{band}"));
            bands.iter().filter_map(|band| Some((*band, code(band)?))).collect()
        };
        let outcomes = preset.settings().outcomes.iter().filter_map(|o| catalogue.code(o.name));
        let outcomes: Vec<Code> = outcomes.collect();
        Self {
            gaps: banded(GAP_PREFIX, DayBand::gaps()),
            stays: banded(STAY_PREFIX, DayBand::stays()),
            bins: TESTS.iter().filter_map(|test| catalogue.code(&bin_name(test, 0))).collect(),
            drivers: TESTS.iter().map(|test| catalogue.code(test.driver)).collect(),
            death: outcomes.first().copied(),
            outcomes,
            women: catalogue.code(SEXES[0].0),
        }
    }
}

fn band_code(bands: &[(DayBand, Code)], days: i64) -> Option<Code> {
    bands.iter().find(|(band, _)| band.holds(days)).map(|&(_, code)| code)
}

fn bin_name(test: &Test, bin: usize) -> String {
    format!("{}//q{}", test.name, bin + 1)
}

/// The names and titles of the codes that tell of dates, stays and values.
fn further_codes(preset: Preset) -> Vec<(String, String)> {
    let days = |band: &DayBand| match band.to {
        Some(to) if to == band.from + 1 => match band.from {
            1 => "1 day".to_owned(),
            from => format!("{from} days"),
        },
        Some(to) => format!("{} to {} days", band.from, to - 1),
        None => format!("{} days or more", band.from),
    };
    let gaps = DayBand::gaps();
    let gaps = gaps.iter().map(|band| {
        (format!("{GAP_PREFIX}{band}"), format!("{} since the visit before", days(band)))
    });
    let stays = match preset {
        Preset::Inpatient => DayBand::stays(),
        Preset::Outpatient => Vec::new(),
    };
    let stays = stays
        .iter()
        .map(|band| (format!("{STAY_PREFIX}{band}"), format!("{} in hospital", days(band))));
    let bins = TESTS.iter().flat_map(|test| {
        let parts: [&str; BINS] =
            ["lowest quarter", "second quarter", "third quarter", "highest quarter"];
        (0..BINS).map(move |bin| {
            (bin_name(test, bin), format!("{} ({}), {}", test.title, test.unit, parts[bin]))
        })
    });
    gaps.chain(stays).chain(bins).collect()
}
