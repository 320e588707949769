//! What one cohort looks like: how many and how long, when and how old, which codes and values, and what
//! is odd. Records are taken one after the other, so that no cohort needs to be in memory.

mod odd;
mod spread;

use std::collections::BTreeMap;

use consequence_record::calendar::{DAY, civil, years_between};
use consequence_record::{Code, DetailsView, Kind, Part, RecordView, Scale, Split, Vocabulary};
use consequence_tally::{Counts as _, Span, Values, counts};
use serde::Serialize;

pub use self::odd::{Oddities, Oddity, StaticOddity};
pub use self::spread::Spread;

use self::odd::{OddCounts, Oddness};
use self::spread::{Tally, spread_of};

/// What a cohort looks like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// Records.
    pub patients: u64,
    /// Encounters of all records.
    pub encounters: u64,
    /// Codes of all encounters, each once a visit.
    pub events: u64,
    /// Values of codes of encounters.
    pub values: u64,
    /// Records of the train, the tuning and the held-out split.
    pub splits: SplitCounts,
    /// Static codes of the vocabulary.
    pub static_vocabulary: u64,
    /// Codes of encounters in the vocabulary, `END` not counted.
    pub vocabulary: u64,
    /// Codes of encounters that some patient has.
    pub codes_seen: u64,
    /// Records with dates.
    pub dated: u64,
    /// Records with a birth.
    pub births: u64,
    /// The day on which the first encounter of all began, from 1970-01-01.
    #[serde(skip)]
    pub first_day: Option<i64>,
    /// The day on which the last encounter of all began.
    #[serde(skip)]
    pub last_day: Option<i64>,
    /// How long records are, and how old patients.
    pub lengths: Lengths,
    /// Encounters that began in each year.
    pub years: Vec<YearCount>,
    /// Codes by what their names begin with, static ones first.
    pub families: Vec<Family>,
    /// What was measured.
    pub tests: Vec<TestFigures>,
    /// How often each code was seen, by code.
    #[serde(skip)]
    pub codes: Vec<CodeCount>,
    /// What is odd.
    pub odd: Oddities,
}

/// Records of each split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SplitCounts {
    /// To train on.
    pub train: u64,
    /// To choose by.
    pub tuning: u64,
    /// To report on.
    pub held_out: u64,
}

/// How long records, visits and the times between them are, and how old patients.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lengths {
    /// Encounters of each record.
    pub encounters_per_patient: Spread,
    /// Codes of each encounter.
    pub codes_per_encounter: Spread,
    /// Days from the beginning of each encounter to that of the next, by the calendar.
    pub days_between: Spread,
    /// Days from the first to the last encounter of each record.
    pub days_of_record: Spread,
    /// Days from the beginning to the end of each encounter whose end is known.
    pub days_of_stay: Spread,
    /// Full years from birth to the first encounter of each record.
    pub age_at_first: Spread,
    /// Full years from birth to each encounter.
    pub age_at_encounters: Spread,
}

impl Lengths {
    /// Each with what it is of.
    pub fn named(&self) -> [(&'static str, &Spread); 7] {
        [
            ("encounters a patient", &self.encounters_per_patient),
            ("codes an encounter", &self.codes_per_encounter),
            ("days between encounters", &self.days_between),
            ("days from first to last", &self.days_of_record),
            ("days of stay", &self.days_of_stay),
            ("age at the first encounter", &self.age_at_first),
            ("age at encounters", &self.age_at_encounters),
        ]
    }
}

/// Encounters of a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct YearCount {
    /// The year.
    pub year: i64,
    /// Encounters that began in it.
    pub encounters: u64,
}

/// How often a code was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CodeCount {
    /// Records with it.
    pub patients: u64,
    /// Visits with it.
    pub visits: u64,
}

/// Codes whose names begin alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Family {
    /// What their names begin with.
    pub name: String,
    /// Whether they are static.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// Codes of the vocabulary.
    pub codes: u64,
    /// Those of them that some patient has.
    pub codes_seen: u64,
    /// Records with one of them.
    pub patients: u64,
    /// Visits with one of them.
    pub visits: u64,
    /// How often they were seen, each once a visit.
    pub events: u64,
}

/// The values of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestFigures {
    /// What its codes share: `LAB//50912` of `LAB//50912//q4`.
    pub test: String,
    /// The unit, where one is known.
    pub unit: Option<String>,
    /// Its codes that have a value somewhere.
    pub codes: u64,
    /// Records with a value.
    pub patients: u64,
    /// Values further from the quartiles than three times what those are apart.
    pub far_out: u64,
    /// What its values are.
    pub values: Spread,
    /// The first of its codes.
    #[serde(skip)]
    pub first_code: Code,
}

/// The name of the test that a code tells a part of, or of the code itself.
pub fn test_name(vocabulary: &Vocabulary, code: Code) -> &str {
    let name = vocabulary.name(code);
    match vocabulary.part(code) {
        Part::Values => name.rsplit_once("//").map_or(name, |(test, _)| test),
        _ => name,
    }
}

/// Takes records one after the other, and tells what they look like.
///
/// ```
/// use std::collections::BTreeMap;
/// use consequence_evaluate::Describer;
/// use consequence_record::{Code, Cohort, DetailsView, Kind, Record, Split, Vocabulary};
///
/// let vocabulary = Vocabulary::new([("SEX//F", Kind::Static), ("ICD9CM//250", Kind::Encounter)])?;
/// let mut cohort = Cohort::default();
/// cohort.push("p1", &Record::new(vec![vec![Code(0)], vec![Code(1)], vec![]]));
///
/// let scales = BTreeMap::new();
/// let mut describer = Describer::new(&vocabulary, &scales);
/// describer.add(Split::Train, cohort.record(0), DetailsView::default());
/// let description = describer.finish();
/// assert_eq!((description.patients, description.encounters, description.events), (1, 2, 1));
/// assert_eq!(description.lengths.codes_per_encounter.mean, Some(0.5));
/// assert_eq!(description.odd.empty_encounters.count, 1);
/// # Ok::<(), consequence_record::VocabularyError>(())
/// ```
pub struct Describer<'a> {
    vocabulary: &'a Vocabulary,
    scales: &'a BTreeMap<Code, Scale>,
    /// Which family and test a code is of.
    family_of: Vec<u32>,
    test_of: Vec<u32>,
    odd: Oddness,
    counts: DescribeCounts,
    /// The last patient and visit that a code, a family and a test were counted for, from 1.
    last_of_codes: Vec<(u64, u64)>,
    last_of_families: Vec<(u64, u64)>,
    last_of_tests: Vec<(u64, u64)>,
}

/// What is counted of records to describe them. Counts of other records of the same cohort can be added.
#[derive(Clone, Debug, Default)]
pub struct DescribeCounts {
    codes: Vec<Group>,
    families: Vec<Group>,
    tests: Vec<Group>,
    /// By test, what was measured; and by code, whether it has a value somewhere.
    test_values: Vec<Values>,
    has_value: Vec<bool>,
    splits: [u64; 3],
    patients: u64,
    events: u64,
    values: u64,
    dated: u64,
    births: u64,
    days: Span<i64>,
    years: Tally,
    encounters_per_patient: Tally,
    codes_per_encounter: Tally,
    days_between: Tally,
    days_of_record: Tally,
    days_of_stay: Tally,
    age_at_first: Tally,
    age_at_encounters: Tally,
    odd: OddCounts,
}

counts!(DescribeCounts {
    codes,
    families,
    tests,
    test_values,
    has_value,
    splits,
    patients,
    events,
    values,
    dated,
    births,
    days,
    years,
    encounters_per_patient,
    codes_per_encounter,
    days_between,
    days_of_record,
    days_of_stay,
    age_at_first,
    age_at_encounters,
    odd,
});

/// What is counted of a code, a family or a test.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    patients: u64,
    visits: u64,
    events: u64,
}

counts!(Group { patients, visits, events });

impl Group {
    /// Counts it for a patient and a visit, after another.
    fn see(&mut self, last: &mut (u64, u64), patient: u64, visit: u64) {
        self.patients += u64::from(last.0 != patient);
        self.visits += u64::from(*last != (patient, visit));
        self.events += 1;
        *last = (patient, visit);
    }
}

impl DescribeCounts {
    fn dates(&mut self, details: DetailsView<'_>) {
        self.births += u64::from(details.birth.is_some());
        let (Some(&first), Some(&last)) = (details.times.first(), details.times.last()) else {
            return;
        };
        let (first, last) = (day(first), day(last));
        self.dated += 1;
        self.days.add(Span::of(first));
        self.days.add(Span::of(last));
        self.days_of_record.push(last - first);
        for pair in details.times.windows(2) {
            self.days_between.push(day(pair[1]) - day(pair[0]));
        }
        for (&begin, end) in details.times.iter().zip(details.ends) {
            if let Some(end) = end {
                self.days_of_stay.push(day(*end) - day(begin));
            }
        }
        for (number, &begin) in details.times.iter().enumerate() {
            self.years.push(civil(day(begin)).0);
            let Some(birth) = details.birth else { continue };
            let age = years_between(birth, begin);
            self.age_at_encounters.push(age);
            if number == 0 {
                self.age_at_first.push(age);
            }
        }
    }
}

/// The day of a time.
pub(super) fn day(time: i64) -> i64 {
    time.div_euclid(DAY)
}

impl<'a> Describer<'a> {
    /// Of records over a vocabulary.
    pub fn new(vocabulary: &'a Vocabulary, scales: &'a BTreeMap<Code, Scale>) -> Self {
        let numbered = |name: &dyn Fn(Code) -> &'a str| -> (Vec<u32>, usize) {
            let mut numbers = BTreeMap::new();
            let of = vocabulary.codes().map(|code| {
                let next = numbers.len() as u32;
                // The kind keeps `A//x` of the static visit from `A//y` of encounters.
                *numbers.entry((name(code), vocabulary.kind(code) == Kind::Static)).or_insert(next)
            });
            (of.collect(), numbers.len())
        };
        let (family_of, families) = numbered(&|code| vocabulary.family(code));
        let (test_of, tests) = numbered(&|code| test_name(vocabulary, code));
        let odd = Oddness::new(vocabulary);
        let counts = DescribeCounts {
            codes: vec![Group::default(); vocabulary.len()],
            families: vec![Group::default(); families],
            tests: vec![Group::default(); tests],
            test_values: vec![Values::default(); tests],
            has_value: vec![false; vocabulary.len()],
            odd: odd.none(),
            ..DescribeCounts::default()
        };
        Self {
            vocabulary,
            scales,
            family_of,
            test_of,
            odd,
            counts,
            last_of_codes: vec![(0, 0); vocabulary.len()],
            last_of_families: vec![(0, 0); families],
            last_of_tests: vec![(0, 0); tests],
        }
    }

    /// Takes a record.
    pub fn add(&mut self, split: Split, record: RecordView<'_>, details: DetailsView<'_>) {
        let counts = &mut self.counts;
        counts.patients += 1;
        counts.splits[split as usize] += 1;
        counts.encounters_per_patient.push(record.len() as i64 - 1);
        let patient = counts.patients;
        for (visit, codes) in record.visits().enumerate() {
            let at = visit as u64;
            for code in codes.iter().map(|code| code.index()) {
                counts.codes[code].see(&mut self.last_of_codes[code], patient, at);
                let family = self.family_of[code] as usize;
                counts.families[family].see(&mut self.last_of_families[family], patient, at);
            }
            if visit > 0 {
                counts.events += codes.len() as u64;
                counts.codes_per_encounter.push(codes.len() as i64);
            }
        }
        counts.dates(details);
        for event in details.events.iter().filter(|event| event.visit > 0) {
            let Some(value) = event.value else { continue };
            let test = self.test_of[event.code.index()] as usize;
            counts.values += 1;
            counts.has_value[event.code.index()] = true;
            counts.tests[test].see(&mut self.last_of_tests[test], patient, event.visit.into());
            counts.test_values[test].push(value);
            let scale = self.scales.get(&event.code);
            counts.odd.outside_part += u64::from(scale.is_some_and(|scale| !scale.holds(value)));
        }
        self.odd.add(&mut counts.odd, record, details);
    }

    /// Takes what was counted of other records of the cohort.
    pub fn add_counts(&mut self, counts: DescribeCounts) {
        self.counts.add(counts);
    }

    /// What was counted.
    pub fn into_counts(self) -> DescribeCounts {
        self.counts
    }

    /// What they look like.
    pub fn finish(self) -> Description {
        let (vocabulary, scales, counts) = (self.vocabulary, self.scales, self.counts);
        let codes: Vec<CodeCount> = (counts.codes.iter())
            .map(|group| CodeCount { patients: group.patients, visits: group.visits })
            .collect();
        let real = || vocabulary.codes().filter(|&code| code != vocabulary.end());
        let statics = vocabulary.statics().count() as u64;
        let seen = |code: &Code| codes[code.index()].patients > 0;
        let codes_seen = real()
            .filter(|&code| vocabulary.kind(code) == Kind::Encounter)
            .filter(|code| seen(code))
            .count() as u64;
        let mut families: Vec<Option<Family>> = vec![None; counts.families.len()];
        for code in real() {
            let number = self.family_of[code.index()] as usize;
            let group = counts.families[number];
            let family = families[number].get_or_insert_with(|| Family {
                name: vocabulary.family(code).to_owned(),
                is_static: vocabulary.kind(code) == Kind::Static,
                codes: 0,
                codes_seen: 0,
                patients: group.patients,
                visits: group.visits,
                events: group.events,
            });
            family.codes += 1;
            family.codes_seen += u64::from(seen(&code));
        }
        let mut families: Vec<Family> = families.into_iter().flatten().collect();
        families.sort_by(|one, other| {
            let key = |family: &Family| (!family.is_static, std::cmp::Reverse(family.events));
            key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
        });
        let mut tests: Vec<Option<TestFigures>> = vec![None; counts.tests.len()];
        for code in real().filter(|code| counts.has_value[code.index()]) {
            let number = self.test_of[code.index()] as usize;
            let unit = scales.get(&code).and_then(|scale| scale.unit.clone());
            let test = tests[number].get_or_insert_with(|| TestFigures {
                test: test_name(vocabulary, code).to_owned(),
                unit: None,
                codes: 0,
                patients: counts.tests[number].patients,
                far_out: 0,
                values: Spread::default(),
                first_code: code,
            });
            test.codes += 1;
            test.unit = test.unit.take().or(unit);
        }
        let with_values = tests.into_iter().zip(counts.test_values);
        let mut tests: Vec<TestFigures> = with_values
            .filter_map(|(test, values)| {
                let values = spread_of(&values);
                test.map(|test| TestFigures { far_out: values.far_out(), values, ..test })
            })
            .collect();
        tests.sort_by(|one, other| {
            let key = |test: &TestFigures| std::cmp::Reverse(test.values.count);
            key(one).cmp(&key(other)).then_with(|| one.test.cmp(&other.test))
        });
        let lengths = Lengths {
            encounters_per_patient: counts.encounters_per_patient.finish(),
            codes_per_encounter: counts.codes_per_encounter.finish(),
            days_between: counts.days_between.finish(),
            days_of_record: counts.days_of_record.finish(),
            days_of_stay: counts.days_of_stay.finish(),
            age_at_first: counts.age_at_first.finish(),
            age_at_encounters: counts.age_at_encounters.finish(),
        };
        let encounters = lengths.codes_per_encounter.count;
        let years = counts.years.sorted().into_iter();
        let far_out = tests.iter().map(|test| test.far_out).sum();
        let vocabulary_size = vocabulary.len() as u64 - statics - 1;
        let described = odd::Described {
            patients: counts.patients,
            encounters,
            values: counts.values,
            vocabulary,
            codes: &codes,
            families: &families,
            lengths: &lengths,
            far_out,
        };
        let [train, tuning, held_out] = counts.splits;
        Description {
            odd: self.odd.finish(&counts.odd, &described),
            patients: counts.patients,
            encounters,
            events: counts.events,
            values: counts.values,
            splits: SplitCounts { train, tuning, held_out },
            static_vocabulary: statics,
            vocabulary: vocabulary_size,
            codes_seen,
            dated: counts.dated,
            births: counts.births,
            first_day: counts.days.ends().map(|(first, _)| first),
            last_day: counts.days.ends().map(|(_, last)| last),
            lengths,
            years: years.map(|(year, encounters)| YearCount { year, encounters }).collect(),
            families,
            tests,
            codes,
        }
    }
}
