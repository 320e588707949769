//! What is odd in a cohort: worth a look, and not always wrong.

use std::hash::{DefaultHasher, Hash, Hasher};

use consequence_record::{Code, DetailsView, Kind, RecordView, Vocabulary, says_dead};
use consequence_tally::{Repeats, counts};
use serde::Serialize;

use super::{CodeCount, Family, Lengths, day};

/// Nobody is older, as far as is known.
const OLDEST: f64 = 120.0;
/// A stay of more days is odd.
const LONGEST_STAY: f64 = 365.0;

/// How often something odd was seen, and of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Oddity {
    /// How often.
    pub count: u64,
    /// Of how many that it could be seen in.
    pub of: u64,
}

/// What is odd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Oddities {
    /// Encounters without a code.
    pub empty_encounters: Oddity,
    /// Patients without a code in any encounter.
    pub empty_patients: Oddity,
    /// Patients whose record was cut before its end.
    pub cut_patients: Oddity,
    /// Patients with the codes, the order and the dates of another patient.
    pub same_patients: Oddity,
    /// Of each family of static codes that half of the patients have: those without one.
    pub without_static: Vec<StaticOddity>,
    /// The same: those with several.
    pub several_static: Vec<StaticOddity>,
    /// Encounters that begin on the day of the one before.
    pub same_day: Oddity,
    /// Encounters that begin after the day of a code that says that the patient died, or, without
    /// dates, after its encounter.
    pub after_death: Oddity,
    /// Encounters that begin before the patient's birth.
    pub before_birth: Oddity,
    /// Encounters at an age of more than 120 years.
    pub old_age: Oddity,
    /// Stays of more than 365 days.
    pub long_stays: Oddity,
    /// Values outside of the cut points of their part.
    pub outside_part: Oddity,
    /// Values further from the quartiles of their test than three times what those are apart.
    pub far_out: Oddity,
    /// Codes of the vocabulary that no patient has.
    pub unseen_codes: Oddity,
    /// Codes that one patient alone has.
    pub single_codes: Oddity,
}

/// Patients without a static code of a family, or with several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StaticOddity {
    /// What the names of the codes begin with.
    pub family: String,
    /// Patients.
    pub count: u64,
    /// Of how many.
    pub of: u64,
}

impl Oddities {
    /// Counts below this number become 0, those of codes aside, which are no patients.
    pub fn hide_below(&mut self, least: u64) {
        let all = [
            &mut self.empty_encounters,
            &mut self.empty_patients,
            &mut self.cut_patients,
            &mut self.same_patients,
            &mut self.same_day,
            &mut self.after_death,
            &mut self.before_birth,
            &mut self.old_age,
            &mut self.long_stays,
            &mut self.outside_part,
            &mut self.far_out,
        ];
        let statics = self.without_static.iter_mut().chain(&mut self.several_static);
        let counts = all.into_iter().map(|one| &mut one.count);
        for count in counts.chain(statics.map(|one| &mut one.count)) {
            *count = if *count < least { 0 } else { *count };
        }
    }

    /// What was seen, in words, with how often and of how many.
    pub fn seen(&self) -> Vec<(String, Oddity)> {
        let statics = |list: &[StaticOddity], what: &str| -> Vec<(String, Oddity)> {
            let each = |one: &StaticOddity| {
                (format!("patients {what} {}", one.family), Oddity { count: one.count, of: one.of })
            };
            list.iter().map(each).collect()
        };
        let of = |what: &str, oddity: Oddity| vec![(what.to_owned(), oddity)];
        let all = [
            of("encounters without a code", self.empty_encounters),
            of("patients without a code in any encounter", self.empty_patients),
            of("patients whose record was cut before its end", self.cut_patients),
            of("patients with the codes and dates of another patient", self.same_patients),
            statics(&self.without_static, "without a code of"),
            statics(&self.several_static, "with several codes of"),
            of("encounters that begin on the day of the one before", self.same_day),
            of("encounters after the patient's death", self.after_death),
            of("encounters before the patient's birth", self.before_birth),
            of("encounters at an age of more than 120 years", self.old_age),
            of("stays of more than 365 days", self.long_stays),
            of("values outside of the cut points of their code", self.outside_part),
            of("values far from all others of their test", self.far_out),
            of("codes of the vocabulary that no patient has", self.unseen_codes),
            of("codes that one patient alone has", self.single_codes),
        ];
        all.into_iter().flatten().filter(|(_, oddity)| oddity.count > 0).collect()
    }
}

/// What is odd in some records, in numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct OddCounts {
    /// By family of static codes: patients with several of them.
    several: Vec<u64>,
    empty_encounters: u64,
    empty_patients: u64,
    cut_patients: u64,
    alike: Repeats,
    same_day: u64,
    followed: u64,
    after_death: u64,
    before_birth: u64,
    with_birth: u64,
    pub outside_part: u64,
}

counts!(OddCounts {
    several,
    empty_encounters,
    empty_patients,
    cut_patients,
    alike,
    same_day,
    followed,
    after_death,
    before_birth,
    with_birth,
    outside_part,
});

/// What codes tell that are odd in some places.
#[derive(Debug)]
pub(super) struct Oddness {
    is_death: Vec<bool>,
    family_of: Vec<Option<u32>>,
    families: Vec<String>,
}

/// What is known once all records were seen.
pub(super) struct Described<'a> {
    pub patients: u64,
    pub encounters: u64,
    pub values: u64,
    pub vocabulary: &'a Vocabulary,
    pub codes: &'a [CodeCount],
    pub families: &'a [Family],
    pub lengths: &'a Lengths,
    pub far_out: u64,
}

impl Oddness {
    pub fn new(vocabulary: &Vocabulary) -> Self {
        let mut families: Vec<String> = Vec::new();
        let family_of = vocabulary.codes().map(|code| {
            let name = vocabulary.family(code);
            (vocabulary.kind(code) == Kind::Static).then(|| {
                let known = families.iter().position(|family| family == name);
                known.unwrap_or_else(|| {
                    families.push(name.to_owned());
                    families.len() - 1
                }) as u32
            })
        });
        let family_of: Vec<Option<u32>> = family_of.collect();
        let is_death = vocabulary.codes().map(|code| says_dead(vocabulary.name(code)));
        Self { is_death: is_death.collect(), family_of, families }
    }

    /// Counts of no records.
    pub fn none(&self) -> OddCounts {
        OddCounts { several: vec![0; self.families.len()], ..OddCounts::default() }
    }

    pub fn add(&self, counts: &mut OddCounts, record: RecordView<'_>, details: DetailsView<'_>) {
        let empty = record.visits().skip(1).filter(|codes| codes.is_empty()).count();
        counts.empty_encounters += empty as u64;
        counts.empty_patients += u64::from(empty + 1 == record.len());
        counts.cut_patients += u64::from(!record.ended());
        counts.alike.push(digest(record, details));
        let mut of_family = vec![0_u32; self.families.len()];
        for code in record.visit(0) {
            if let Some(family) = self.family_of[code.index()] {
                of_family[family as usize] += 1;
            }
        }
        for (several, codes) in counts.several.iter_mut().zip(of_family) {
            *several += u64::from(codes > 1);
        }
        counts.followed += details.times.len().saturating_sub(1) as u64;
        let same = |pair: &&[i64]| day(pair[0]) == day(pair[1]);
        counts.same_day += details.times.windows(2).filter(same).count() as u64;
        counts.after_death += self.after_death(record, details);
        if let Some(birth) = details.birth {
            let before = |&&time: &&i64| day(time) < day(birth);
            counts.with_birth += details.times.len() as u64;
            counts.before_birth += details.times.iter().filter(before).count() as u64;
        }
    }

    fn after_death(&self, record: RecordView<'_>, details: DetailsView<'_>) -> u64 {
        let deaths = (1..record.len()).flat_map(|visit| {
            let codes = record.visit(visit).iter();
            codes.filter(|code| self.is_death[code.index()]).map(move |&code| (visit, code))
        });
        if details.times.is_empty() {
            let first = deaths.map(|(visit, _)| visit).min();
            return first.map_or(0, |visit| (record.len() - 1 - visit) as u64);
        }
        let when = |(visit, code): (usize, Code)| {
            let own = details.event(visit, code).and_then(|event| event.time);
            own.or_else(|| details.time(visit)).map(day)
        };
        let Some(died) = deaths.filter_map(when).min() else { return 0 };
        details.times.iter().filter(|&&time| day(time) > died).count() as u64
    }

    pub fn finish(&self, counts: &OddCounts, known: &Described<'_>) -> Oddities {
        let beyond = |spread: &super::Spread, most: f64| Oddity {
            count: spread.counts.iter().filter(|one| one.0 > most).map(|one| one.1).sum(),
            of: spread.count,
        };
        let of_patients = |count: u64| Oddity { count, of: known.patients };
        let of_encounters = |count: u64| Oddity { count, of: known.encounters };
        let of_codes = |wanted: &dyn Fn(u64) -> bool| {
            let codes = known.vocabulary.codes().filter(|&code| code != known.vocabulary.end());
            let count = codes.filter(|code| wanted(known.codes[code.index()].patients)).count();
            Oddity { count: count as u64, of: known.vocabulary.len() as u64 - 1 }
        };
        let common = || {
            known.families.iter().filter(|one| one.is_static && 2 * one.patients >= known.patients)
        };
        let statics = |count: &dyn Fn(&Family) -> u64| -> Vec<StaticOddity> {
            let each = |family: &Family| StaticOddity {
                family: family.name.clone(),
                count: count(family),
                of: known.patients,
            };
            common().map(each).collect()
        };
        let several = |family: &Family| {
            let number = self.families.iter().position(|name| *name == family.name);
            number.map_or(0, |number| counts.several[number])
        };
        Oddities {
            empty_encounters: of_encounters(counts.empty_encounters),
            empty_patients: of_patients(counts.empty_patients),
            cut_patients: of_patients(counts.cut_patients),
            same_patients: of_patients(counts.alike.alike()),
            without_static: statics(&|family| known.patients - family.patients),
            several_static: statics(&several),
            same_day: Oddity { count: counts.same_day, of: counts.followed },
            after_death: of_encounters(counts.after_death),
            before_birth: Oddity { count: counts.before_birth, of: counts.with_birth },
            old_age: beyond(&known.lengths.age_at_encounters, OLDEST),
            long_stays: beyond(&known.lengths.days_of_stay, LONGEST_STAY),
            outside_part: Oddity { count: counts.outside_part, of: known.values },
            far_out: Oddity { count: known.far_out, of: known.values },
            unseen_codes: of_codes(&|patients| patients == 0),
            single_codes: of_codes(&|patients| patients == 1),
        }
    }
}

/// A digest of the codes of all visits, of the days on which they begin, and of whether the record
/// ends.
fn digest(record: RecordView<'_>, details: DetailsView<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (record.len(), record.ended()).hash(&mut hasher);
    for codes in record.visits() {
        codes.hash(&mut hasher);
    }
    for &time in details.times {
        day(time).hash(&mut hasher);
    }
    hasher.finish()
}
