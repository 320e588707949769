//! Births, dates and stays: when the encounters of a simulated patient are.
//!
//! The days to the next encounter, counted from the end of the one before, go by the codes of that one:
//! a course of treatment goes on, an acute illness is looked after within two weeks, a chronic one after
//! about three months, and anything else whenever, with a tail of years. Patients who come often come
//! more often. Weekends and summers have fewer encounters. Stays go by their codes too.
//!
//! Invariants: an encounter begins at or after the end of the one before, and later than it; none begins
//! before the birth; where the age is known, it is in its band at the first encounter.

use consequence_record::calendar::{DAY, civil, day, day_of, weekday};
use consequence_record::{Code, Vocabulary};

use crate::preset::{Band, Preset};
use crate::probability::{Probability, Table};

const MINUTE: i64 = 60_000_000;
const MINUTES: i64 = 24 * 60;

/// The years in which records begin.
const FIRST_YEAR: i64 = 1995;
const YEARS: usize = 10;

/// How full the months are, from January.
const SEASON: [f64; 12] = [1.0, 0.96, 1.0, 0.94, 0.94, 0.9, 0.84, 0.82, 0.94, 1.0, 1.0, 0.98];

/// How often a date is looked for that the season lets pass.
const ATTEMPTS: usize = 3;

/// After so many encounters they are twice as close together.
const OFTEN: f64 = 40.0;

/// The first days of a newborn.
const NEWBORN_DAYS: usize = 4;

/// What calls for the next encounter, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FollowUp {
    Course,
    Acute,
    Chronic,
    Other,
}

/// How long a stay is, the longest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gravity {
    Grave,
    Serious,
    Light,
}

/// Codes, or the beginnings of codes, by what they call for.
const FOLLOW_UPS: [(FollowUp, &[&str]); 3] = [
    (FollowUp::Course, &["PROC//chemotherapy", "PROC//dialysis", "DX//pregnancy//supervision"]),
    (
        FollowUp::Acute,
        &[
            "DX//injury",
            "DX//circulatory//stroke",
            "DX//circulatory//heart-attack",
            "DX//circulatory//heart-failure//acute",
            "DX//respiratory//copd//exacerbation",
            "DX//pregnancy//delivery",
            "DX//perinatal",
            "STATUS//HOSPITALIZED",
        ],
    ),
    (
        FollowUp::Chronic,
        &[
            "DX//circulatory//hypertension",
            "DX//circulatory//coronary-disease",
            "DX//circulatory//heart-failure",
            "DX//circulatory//atrial-fibrillation",
            "DX//endocrine//type-2-diabetes",
            "DX//endocrine//type-1-diabetes",
            "DX//endocrine//high-cholesterol",
            "DX//endocrine//hypothyroidism",
            "DX//genitourinary//chronic-kidney-disease",
            "DX//respiratory//copd",
            "DX//respiratory//asthma",
            "DX//mental//depression",
            "DX//infectious//hiv",
        ],
    ),
];

/// Codes, or the beginnings of codes, by how long they keep a patient in hospital.
const GRAVITIES: [(Gravity, &[&str]); 2] = [
    (
        Gravity::Grave,
        &[
            "PROC//mechanical-ventilation",
            "PROC//intubation",
            "PROC//kidney-transplant",
            "DX//circulatory//stroke",
            "DX//perinatal//prematurity",
        ],
    ),
    (
        Gravity::Serious,
        &[
            "DX//circulatory//heart-attack",
            "DX//circulatory//heart-failure",
            "DX//injury//fracture-care",
            "DX//respiratory//respiratory-failure",
            "DX//respiratory//copd//exacerbation",
            "DX//digestive//cirrhosis//ascites",
            "PROC//chemotherapy",
            "PROC//dialysis",
            "DISCHARGE//FACILITY",
        ],
    ),
];

impl FollowUp {
    /// The days to the next encounter: evenly spaced quantiles.
    fn days(self, preset: Preset) -> &'static [u16] {
        match (self, preset) {
            (Self::Course, _) => &[5, 7, 14, 20, 21, 21, 28, 28, 30, 42],
            (Self::Acute, _) => &[1, 3, 5, 7, 7, 8, 10, 12, 14, 14],
            (Self::Chronic, _) => &[30, 60, 75, 84, 88, 91, 94, 98, 110, 130, 190],
            (Self::Other, Preset::Inpatient) => {
                &[3, 15, 40, 70, 110, 160, 220, 300, 400, 550, 750, 1000, 1400, 1900, 2600, 4400]
            }
            (Self::Other, Preset::Outpatient) => {
                &[0, 2, 4, 6, 7, 8, 10, 13, 14, 17, 21, 24, 28, 32, 40, 50, 65, 85, 120, 240, 2000]
            }
        }
    }
}

impl Gravity {
    /// The days in hospital: evenly spaced quantiles.
    fn days(self) -> &'static [u16] {
        match self {
            Self::Grave => &[2, 5, 7, 9, 11, 14, 18, 24, 35, 70],
            Self::Serious => &[1, 2, 3, 4, 5, 6, 7, 9, 12, 20],
            Self::Light => &[0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 8],
        }
    }
}

/// What is known of the codes of a preset, and what dates are drawn from.
pub(crate) struct Timeline {
    preset: Preset,
    follow_ups: Vec<FollowUp>,
    gravities: Vec<Gravity>,
    newborn: Vec<bool>,
    months: Table,
    /// The age bands, each with its code.
    bands: Vec<(Code, Band)>,
}

/// When an encounter was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dates {
    pub begin: i64,
    /// None where a visit takes no time to speak of.
    pub end: Option<i64>,
}

impl Dates {
    /// The calendar days of the stay, if it is one.
    pub fn stay(&self) -> Option<i64> {
        self.end.map(|end| day_of(end) - day_of(self.begin))
    }

    fn over(&self) -> i64 {
        self.end.unwrap_or(self.begin)
    }
}

impl Timeline {
    pub fn new(preset: Preset, vocabulary: &Vocabulary) -> Self {
        let names = || vocabulary.codes().map(|code| vocabulary.name(code));
        let bands = preset.settings().bands.iter();
        Self {
            preset,
            follow_ups: names().map(|name| find(&FOLLOW_UPS, name, FollowUp::Other)).collect(),
            gravities: names().map(|name| find(&GRAVITIES, name, Gravity::Light)).collect(),
            newborn: names().map(|name| begins(name, "DX//perinatal")).collect(),
            months: Table::new(&SEASON),
            bands: bands.filter_map(|&band| Some((vocabulary.code(band.name)?, band))).collect(),
        }
    }

    /// When the first encounter is.
    pub fn first(&self, codes: &[Code], draws: &mut Probability) -> Dates {
        let year = FIRST_YEAR + draws.index(YEARS) as i64;
        let month = 1 + draws.pick(&self.months) as i64;
        let beginning = day(year, month, 1).unwrap_or_default();
        let next = day(year, month + 1, 1).or_else(|| day(year + 1, 1, 1)).unwrap_or_default();
        let date = beginning + draws.index((next - beginning) as usize) as i64;
        let date = self.off_weekends(date, i64::MIN, draws);
        let begin = date * DAY + self.time_of_day(draws) * MINUTE;
        Dates { begin, end: self.end(begin, codes, draws) }
    }

    /// When the patient was born, if the record tells the age at the first encounter.
    pub fn birth(
        &self,
        statics: &[Code],
        first: &[Code],
        begin: i64,
        draws: &mut Probability,
    ) -> Option<i64> {
        let (_, band) = self.bands.iter().find(|(code, _)| statics.contains(code))?;
        let date = day_of(begin);
        let newborn = first.iter().any(|code| self.newborn[code.index()]);
        let (age, days) = match newborn {
            true => (0, draws.index(NEWBORN_DAYS)),
            false => (draws.between(band.ages) as i64, draws.index(365)),
        };
        let (year, month, of_month) = civil(date);
        // Who was born on a leap day has the birthday a day before in other years.
        let birthday = day(year - age, month, of_month).or_else(|| day(year - age, 2, 28))?;
        Some((birthday - days as i64) * DAY)
    }

    /// When the next encounter is, by the codes of the one before and its number.
    pub fn next(
        &self,
        before: Dates,
        codes_before: &[Code],
        number: usize,
        codes: &[Code],
        draws: &mut Probability,
    ) -> Dates {
        let follow_up = codes_before.iter().map(|code| self.follow_ups[code.index()]).min();
        let quantiles = follow_up.unwrap_or(FollowUp::Other).days(self.preset);
        let pace = 1.0 + number as f64 / OFTEN;
        let over = before.over();
        let today = day_of(over);
        let mut date = today;
        for _ in 0..ATTEMPTS {
            let days = (draws.between(quantiles) / pace).round() as i64;
            date = match days {
                0 => today,
                _ => self.off_weekends(today + days, today, draws),
            };
            let (_, month, _) = civil(date);
            if draws.below(SEASON[month as usize - 1]) {
                break;
            }
        }
        let begin = match date == today {
            true => self.later_today(over, draws),
            false => date * DAY + self.time_of_day(draws) * MINUTE,
        };
        Dates { begin, end: self.end(begin, codes, draws) }
    }

    /// A time later than another, on its day if there is any left.
    fn later_today(&self, time: i64, draws: &mut Probability) -> i64 {
        let date = day_of(time);
        let left = MINUTES - 1 - time.rem_euclid(DAY) / MINUTE;
        // What is left of a late evening is no time for a visit.
        match left {
            ..=60 => (date + 1) * DAY + self.time_of_day(draws) * MINUTE,
            _ => date * DAY + (MINUTES - 1 - draws.index(left as usize) as i64) * MINUTE,
        }
    }

    /// Moves a date from a weekend into the end of the week before or the beginning of the next, as a rule.
    fn off_weekends(&self, date: i64, earliest: i64, draws: &mut Probability) -> i64 {
        // The first of January 1970 was a Thursday; Mondays are 0.
        let weekday = weekday(date) as i64;
        let stays = draws.below(match self.preset {
            Preset::Inpatient => 0.6,
            Preset::Outpatient => 0.1,
        });
        let forward = draws.below(0.6);
        let further = draws.index(3) as i64;
        if weekday < 5 || stays {
            return date;
        }
        let (sooner, later) = (date - (weekday - 4) - further, date + 7 - weekday + further);
        if forward || sooner < earliest { later } else { sooner }
    }

    /// Minutes from midnight: at the hours of a practice, or at any.
    fn time_of_day(&self, draws: &mut Probability) -> i64 {
        match self.preset {
            Preset::Outpatient => 8 * 60 + 15 * draws.index(40) as i64,
            Preset::Inpatient => {
                draws.between(&[0_u16, 420, 560, 660, 750, 840, 930, 1020, 1140, 1290, 1439]) as i64
            }
        }
    }

    /// When a stay ends, by its codes; visits to a doctor have no end.
    fn end(&self, begin: i64, codes: &[Code], draws: &mut Probability) -> Option<i64> {
        if self.preset == Preset::Outpatient {
            return None;
        }
        let gravity = codes.iter().map(|code| self.gravities[code.index()]).min();
        let days = draws.between(gravity.unwrap_or(Gravity::Light).days()).round() as i64;
        let minute = draws.between(&[540_u16, 660, 720, 780, 900, 1140]) as i64;
        let usual = (day_of(begin) + days) * DAY + minute * MINUTE;
        let left = MINUTES - 1 - begin.rem_euclid(DAY) / MINUTE;
        let hurried = begin + (1 + draws.index(left.max(1) as usize) as i64).min(left) * MINUTE;
        Some(if usual > begin { usual } else { hurried })
    }
}

/// A moment of an encounter: some minutes after its beginning, and not after its end.
pub(crate) fn minutes_into(dates: Dates, minutes: i64) -> i64 {
    let last = dates.end.unwrap_or((day_of(dates.begin) + 1) * DAY - MINUTE);
    (dates.begin + minutes * MINUTE).min(last)
}

fn find<T: Copy>(groups: &[(T, &[&str])], name: &str, other: T) -> T {
    let found = groups.iter().find(|(_, prefixes)| prefixes.iter().any(|p| begins(name, p)));
    found.map_or(other, |&(group, _)| group)
}

/// Whether a name is another, or something below it.
fn begins(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    #[test]
    fn every_name_of_the_tables_is_that_of_a_code() {
        let vocabularies = Preset::ALL.map(|preset| Catalogue::new(preset).vocabulary);
        let follow_ups = FOLLOW_UPS.iter().flat_map(|(_, names)| names.iter());
        for name in follow_ups.chain(GRAVITIES.iter().flat_map(|(_, names)| names.iter())) {
            let known = vocabularies.iter().any(|vocabulary| {
                vocabulary.codes().any(|code| begins(vocabulary.name(code), name))
            });
            assert!(known, "{name}");
        }
        assert!(begins("DX//injury//head", "DX//injury") && !begins("DX//injury2", "DX//injury"));
    }

    #[test]
    fn quantiles_are_in_order() {
        for preset in Preset::ALL {
            for kind in [FollowUp::Course, FollowUp::Acute, FollowUp::Chronic, FollowUp::Other] {
                assert!(kind.days(preset).is_sorted());
            }
            assert!(preset.settings().bands.iter().all(|band| band.ages.is_sorted()));
        }
        for gravity in [Gravity::Grave, Gravity::Serious, Gravity::Light] {
            assert!(gravity.days().is_sorted());
        }
    }
}
