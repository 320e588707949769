//! Cohorts with births, dates, stays, ages and values, and how far those agree.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use consequence_evaluate::{
    CompareOptions, Independent, ReplayOptions, TimingOptions, TimingSample, TimingSamples,
    compare, likelihood, timing,
};
use consequence_prng::{Draws, Purpose};
use consequence_record::calendar::{DAY, parse};
use consequence_record::{
    AgeBand, Code, Cohort, CohortDetails, DayBand, Details, EventDetail, GAP_PREFIX, Kind, Part,
    Record, STAY_PREFIX, Scale, Selection, Split, Vocabulary,
};
use consequence_rules::Order;
use consequence_simulate::{Preset, Simulation};
use consequence_tables::{Dataset, meds};
use serde_json::{Value, json};

const TESTS: usize = 24;
const BINS: usize = 4;

/// Writes a real and a synthetic dataset, and gives the figures.
pub fn measure(folder: &Path) -> Result<Value, Box<dyn Error>> {
    let vocabulary = Arc::new(vocabulary()?);
    let real = dataset(&vocabulary, 700, 21)?;
    let synthetic = dataset(&vocabulary, 500, 22)?;
    for (name, dataset) in [("dated-real", &real), ("dated-synthetic", &synthetic)] {
        meds::write(folder.join(name), dataset)?;
    }
    let [train, held_out] = [Split::Train, Split::HeldOut].map(|split| split.indices(&real.splits));
    let sample = |dataset, records| TimingSample { records, details: details(dataset) };
    let [train, held_out] =
        [&train, &held_out].map(|indices| Selection::new(&real.cohort, indices));
    let generated = Selection::all(&synthetic.cohort);
    let samples = TimingSamples {
        real: sample(&real, train),
        synthetic: sample(&synthetic, generated),
        other: Some(sample(&real, held_out)),
        vocabulary: &vocabulary,
        scales: &real.scales,
    };
    let model = Independent::fit(Order::natural(Arc::clone(&vocabulary)), train, 1_000)?;
    Ok(json!({
        "timing": timing(&samples, &TimingOptions::default())?,
        "comparison": compare(train, generated, &vocabulary, &CompareOptions::default())?,
        "independent": likelihood(&model, held_out, &ReplayOptions::default())?,
    }))
}

fn details(dataset: &Dataset) -> Option<&CohortDetails> {
    dataset.details.as_ref()
}

fn base() -> Simulation {
    Simulation::new(Preset::Inpatient, 1, 7)
}

/// What a test's parts are called.
fn bin(test: usize, bin: usize) -> String {
    format!("LAB//dated-{test}//q{}", bin + 1)
}

/// Codes of the simulation, and codes that tell days, stays and parts of values.
fn vocabulary() -> Result<Vocabulary, Box<dyn Error>> {
    let simulation = base();
    let known = simulation.vocabulary();
    let plain = known.codes().filter(|&code| {
        matches!(known.part(code), Part::Static | Part::Codes) && known.name(code) != "DEATH"
    });
    let mut codes: Vec<(String, Kind)> =
        plain.map(|code| (known.name(code).to_owned(), known.kind(code))).collect();
    let mut put = |name: String| codes.push((name, Kind::Encounter));
    put("DEATH".to_owned());
    DayBand::gaps().iter().for_each(|band| put(format!("{GAP_PREFIX}{band}")));
    DayBand::stays().iter().for_each(|band| put(format!("{STAY_PREFIX}{band}")));
    (0..TESTS).for_each(|test| (0..BINS).for_each(|number| put(bin(test, number))));
    Ok(Vocabulary::new(codes)?)
}

/// Simulated records with everything else drawn: not like a patient's, but all of it there.
fn dataset(
    vocabulary: &Arc<Vocabulary>,
    patients: usize,
    seed: u64,
) -> Result<Dataset, Box<dyn Error>> {
    let simulation = Simulation::new(Preset::Inpatient, patients, seed);
    let (plain, names) = (simulation.cohort(), simulation.vocabulary());
    let (mut cohort, mut all) = (Cohort::default(), CohortDetails::default());
    for (index, record) in plain.records().enumerate() {
        let mut draws =
            Drawn { draws: Draws::new(seed).visit(index as u64, 9, 0, Purpose::Order), next: 0 };
        let mut made = Made { vocabulary, visits: Vec::new(), details: Details::default() };
        made.write(
            record.visits().map(|visit| {
                visit.iter().filter_map(|&code| vocabulary.code(names.name(code))).collect()
            }),
            seed,
            &mut draws,
        );
        cohort.push(&index.to_string(), &Record::new(made.visits));
        all.push(made.details.view());
    }
    let mut dataset = Dataset::new(cohort, Arc::clone(vocabulary));
    dataset.details = Some(all);
    for test in 0..TESTS {
        for part in 0..BINS {
            let code = vocabulary.code(&bin(test, part)).ok_or("a code of the vocabulary")?;
            let scale = Scale {
                test: format!("LAB//dated-{test}"),
                unit: (test % 3 > 0).then(|| "mg/dL".to_owned()),
                above: (part > 0).then_some(part as f32 * 10.0),
                up_to: (part + 1 < BINS).then_some((part + 1) as f32 * 10.0),
                count: 1,
            };
            dataset.scales.insert(code, scale);
        }
    }
    Ok(dataset)
}

struct Drawn {
    draws: consequence_prng::VisitDraws,
    next: u32,
}

impl Drawn {
    /// A whole number from 0 up to, and not including, another.
    fn below(&mut self, most: i64) -> i64 {
        self.next += 1;
        (self.draws.uniform(self.next) * most as f64) as i64
    }
}

/// A record under way.
struct Made<'a> {
    vocabulary: &'a Vocabulary,
    visits: Vec<Vec<Code>>,
    details: Details,
}

impl Made<'_> {
    fn write(&mut self, visits: impl Iterator<Item = Vec<Code>>, seed: u64, draws: &mut Drawn) {
        let minute = DAY / 1440;
        let start = parse("2003-05-17").unwrap_or_default() + draws.below(2_000) * DAY;
        let mut time = start + draws.below(1440) * minute;
        // Some are born on the day of their first visit, and a few, which cannot be, after it.
        let born = time - (draws.below(30_000) - 60).max(-20) * DAY;
        self.details.birth = (draws.below(8) > 0).then_some(born);
        for (visit, mut codes) in visits.enumerate() {
            if visit == 0 {
                self.visits.push(codes);
                continue;
            }
            if visit > 1 {
                let days = (draws.below(5) * draws.below(40 + seed as i64) * draws.below(9)) / 3;
                time = (time / DAY + days) * DAY + draws.below(1440) * minute;
                // Never before the visit that it follows.
                time = time.max(self.details.times[visit - 2]);
                let days = time / DAY - self.details.times[visit - 2] / DAY;
                codes.extend(self.banded(&DayBand::gaps(), GAP_PREFIX, days));
            }
            let stay = (draws.below(3) > 0).then(|| draws.below(12) * draws.below(4) / 2);
            let end = stay.map(|days| time + days * DAY + 7 * minute);
            if let Some(end) = end {
                codes.extend(self.banded(&DayBand::stays(), STAY_PREFIX, end / DAY - time / DAY));
            }
            self.details.times.push(time);
            self.details.ends.push(end);
            let age = (time / DAY - born / DAY) / 365 / 20 * 20;
            let band = AgeBand { from: age.max(0) as u16, to: Some(age.max(0) as u16 + 20) };
            self.details.ages.push((draws.below(4) > 0).then_some(band));
            let mut events = Vec::new();
            let mut put = |code, time, value| {
                events.push(EventDetail { visit: visit as u32, code, time, value });
            };
            // Those who die are often seen again, which cannot be either.
            if draws.below(25) == 0
                && let Some(death) = self.vocabulary.code("DEATH")
            {
                codes.push(death);
                let midnight = (draws.below(3) == 0).then_some((time / DAY + 1) * DAY);
                put(death, midnight.or(end), None);
            }
            for test in 0..TESTS {
                for part in 0..BINS {
                    if draws.below(6 + test as i64) > 0 {
                        continue;
                    }
                    let Some(code) = self.vocabulary.code(&bin(test, part)) else { continue };
                    codes.push(code);
                    let value =
                        part as f32 * 10.0 + (1 + draws.below(10 + seed as i64 % 2)) as f32 * 0.7;
                    let own = (draws.below(2) > 0).then(|| time + draws.below(90) * 17 * minute);
                    put(
                        code,
                        own.filter(|&own| own != time),
                        Some(value.min(part as f32 * 10.0 + 10.0)),
                    );
                }
            }
            events.retain(|event| event.time.is_some() || event.value.is_some());
            events.sort_by_key(|event| event.code);
            self.details.events.extend(events);
            self.visits.push(codes);
        }
    }

    /// The code of the band that so many days are in.
    fn banded(&self, bands: &[DayBand], prefix: &str, days: i64) -> Option<Code> {
        let band = bands.iter().find(|band| band.holds(days))?;
        self.vocabulary.code(&format!("{prefix}{band}"))
    }
}
