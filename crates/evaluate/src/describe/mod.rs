//! What one cohort looks like: how many and how long, when and how old, which codes and values, and what
//! is odd. Records are taken one after the other, so that no cohort needs to be in memory.

mod odd;
mod spread;

use std::collections::BTreeMap;

use consequence_record::calendar::{DAY, civil, years_between};
use consequence_record::{Code, DetailsView, Kind, Part, RecordView, Scale, Split, Vocabulary};
use serde::Serialize;

pub use self::odd::{Oddities, Oddity, StaticOddity};
pub use self::spread::Spread;

use self::odd::Oddness;
use self::spread::{Tally, Values};

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
    families: Vec<Group>,
    tests: Vec<Group>,
    test_values: Vec<Values>,
    has_value: Vec<bool>,
    codes: Vec<Group>,
    splits: SplitCounts,
    patients: u64,
    events: u64,
    values: u64,
    dated: u64,
    births: u64,
    days: Option<(i64, i64)>,
    years: Tally<i64>,
    encounters_per_patient: Tally<i64>,
    codes_per_encounter: Tally<i64>,
    days_between: Tally<i64>,
    days_of_record: Tally<i64>,
    days_of_stay: Tally<i64>,
    age_at_first: Tally<i64>,
    age_at_encounters: Tally<i64>,
    odd: Oddness,
}

/// What is counted of a code, a family or a test.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    patients: u64,
    visits: u64,
    events: u64,
    /// The last patient and visit that it was counted for, from 1.
    patient: u64,
    visit: u64,
}

impl Group {
    fn see(&mut self, patient: u64, visit: u64) {
        self.patients += u64::from(self.patient != patient);
        self.visits += u64::from((self.patient, self.visit) != (patient, visit));
        self.events += 1;
        (self.patient, self.visit) = (patient, visit);
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
        Self {
            vocabulary,
            scales,
            family_of,
            test_of,
            families: vec![Group::default(); families],
            tests: vec![Group::default(); tests],
            test_values: vec![Values::default(); tests],
            has_value: vec![false; vocabulary.len()],
            codes: vec![Group::default(); vocabulary.len()],
            splits: SplitCounts::default(),
            patients: 0,
            events: 0,
            values: 0,
            dated: 0,
            births: 0,
            days: None,
            years: Tally::default(),
            encounters_per_patient: Tally::default(),
            codes_per_encounter: Tally::default(),
            days_between: Tally::default(),
            days_of_record: Tally::default(),
            days_of_stay: Tally::default(),
            age_at_first: Tally::default(),
            age_at_encounters: Tally::default(),
            odd: Oddness::new(vocabulary),
        }
    }

    /// Takes a record.
    pub fn add(&mut self, split: Split, record: RecordView<'_>, details: DetailsView<'_>) {
        self.patients += 1;
        match split {
            Split::Train => self.splits.train += 1,
            Split::Tuning => self.splits.tuning += 1,
            Split::HeldOut => self.splits.held_out += 1,
        }
        self.encounters_per_patient.add(record.len() as i64 - 1);
        for (visit, codes) in record.visits().enumerate() {
            for code in codes {
                let (patient, visit) = (self.patients, visit as u64);
                self.codes[code.index()].see(patient, visit);
                self.families[self.family_of[code.index()] as usize].see(patient, visit);
            }
            if visit > 0 {
                self.events += codes.len() as u64;
                self.codes_per_encounter.add(codes.len() as i64);
            }
        }
        self.dates(details);
        for event in details.events.iter().filter(|event| event.visit > 0) {
            let Some(value) = event.value else { continue };
            let test = self.test_of[event.code.index()] as usize;
            self.values += 1;
            self.has_value[event.code.index()] = true;
            self.tests[test].see(self.patients, event.visit.into());
            self.test_values[test].add(value);
            let scale = self.scales.get(&event.code);
            self.odd.outside_part += u64::from(scale.is_some_and(|scale| !scale.holds(value)));
        }
        self.odd.add(record, details);
    }

    fn dates(&mut self, details: DetailsView<'_>) {
        self.births += u64::from(details.birth.is_some());
        let (Some(&first), Some(&last)) = (details.times.first(), details.times.last()) else {
            return;
        };
        let (first, last) = (day(first), day(last));
        self.dated += 1;
        let (from, to) = self.days.unwrap_or((first, last));
        self.days = Some((from.min(first), to.max(last)));
        self.days_of_record.add(last - first);
        for pair in details.times.windows(2) {
            self.days_between.add(day(pair[1]) - day(pair[0]));
        }
        for (&begin, end) in details.times.iter().zip(details.ends) {
            if let Some(end) = end {
                self.days_of_stay.add(day(*end) - day(begin));
            }
        }
        for (number, &begin) in details.times.iter().enumerate() {
            self.years.add(civil(day(begin)).0);
            let Some(birth) = details.birth else { continue };
            let age = years_between(birth, begin);
            self.age_at_encounters.add(age);
            if number == 0 {
                self.age_at_first.add(age);
            }
        }
    }

    /// What they look like.
    pub fn finish(self) -> Description {
        let (vocabulary, scales) = (self.vocabulary, self.scales);
        let codes: Vec<CodeCount> = (self.codes.iter())
            .map(|group| CodeCount { patients: group.patients, visits: group.visits })
            .collect();
        let real = || vocabulary.codes().filter(|&code| code != vocabulary.end());
        let statics = vocabulary.statics().count() as u64;
        let seen = |code: &Code| codes[code.index()].patients > 0;
        let codes_seen = real()
            .filter(|&code| vocabulary.kind(code) == Kind::Encounter)
            .filter(|code| seen(code))
            .count() as u64;
        let mut families: Vec<Option<Family>> = vec![None; self.families.len()];
        for code in real() {
            let number = self.family_of[code.index()] as usize;
            let group = self.families[number];
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
        let mut tests: Vec<Option<TestFigures>> = vec![None; self.tests.len()];
        for code in real().filter(|code| self.has_value[code.index()]) {
            let number = self.test_of[code.index()] as usize;
            let unit = scales.get(&code).and_then(|scale| scale.unit.clone());
            let test = tests[number].get_or_insert_with(|| TestFigures {
                test: test_name(vocabulary, code).to_owned(),
                unit: None,
                codes: 0,
                patients: self.tests[number].patients,
                far_out: 0,
                values: Spread::default(),
                first_code: code,
            });
            test.codes += 1;
            test.unit = test.unit.take().or(unit);
        }
        let with_values = tests.into_iter().zip(self.test_values);
        let mut tests: Vec<TestFigures> = with_values
            .filter_map(|(test, values)| {
                let values = values.finish();
                test.map(|test| TestFigures { far_out: values.far_out(), values, ..test })
            })
            .collect();
        tests.sort_by(|one, other| {
            let key = |test: &TestFigures| std::cmp::Reverse(test.values.count);
            key(one).cmp(&key(other)).then_with(|| one.test.cmp(&other.test))
        });
        let lengths = Lengths {
            encounters_per_patient: self.encounters_per_patient.finish(),
            codes_per_encounter: self.codes_per_encounter.finish(),
            days_between: self.days_between.finish(),
            days_of_record: self.days_of_record.finish(),
            days_of_stay: self.days_of_stay.finish(),
            age_at_first: self.age_at_first.finish(),
            age_at_encounters: self.age_at_encounters.finish(),
        };
        let encounters = lengths.codes_per_encounter.count;
        let years = self.years.sorted().into_iter();
        let far_out = tests.iter().map(|test| test.far_out).sum();
        let vocabulary_size = vocabulary.len() as u64 - statics - 1;
        let described = odd::Described {
            patients: self.patients,
            encounters,
            values: self.values,
            vocabulary,
            codes: &codes,
            families: &families,
            lengths: &lengths,
            far_out,
        };
        Description {
            odd: self.odd.finish(&described),
            patients: self.patients,
            encounters,
            events: self.events,
            values: self.values,
            splits: self.splits,
            static_vocabulary: statics,
            vocabulary: vocabulary_size,
            codes_seen,
            dated: self.dated,
            births: self.births,
            first_day: self.days.map(|(first, _)| first),
            last_day: self.days.map(|(_, last)| last),
            lengths,
            years: years.map(|(year, encounters)| YearCount { year, encounters }).collect(),
            families,
            tests,
            codes,
        }
    }
}
