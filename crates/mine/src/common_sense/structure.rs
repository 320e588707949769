//! How encounters are put together: which codes come only with others, what an encounter never lacks, and of
//! which codes it has one.
//!
//! Codes are taken by what stands before the first `//`, the family that a source files them under: of a code that
//! few patients have little is known, of its family much. So nothing is forbidden because it is rare, and a cohort
//! of thousands of codes has a handful of rules.

use consequence_record::{DayBand, GAP_PREFIX, Kind, Vocabulary, says_dead};
use rustc_hash::FxHashMap;

use crate::records::{Columns, add};

/// The most families, and the most codes that are a family of their own, since they have no `//`.
const MOST_FAMILIES: usize = 128;
const MOST_SINGLE: usize = 48;
/// The most codes of a family that others are said to need: what is needed is said by few.
const MOST_NEEDED: usize = 100;
/// Records that could break a rule, at the least.
const LEAST_RECORDS: u64 = 10;
/// Encounters that would break a rule if codes came as they please, at the least: then chance alone keeps it once
/// in some hundred and fifty cohorts.
const LEAST_BY_CHANCE: f64 = 5.0;

/// Codes with the same name before the first `//`.
#[derive(Debug)]
pub struct Family<'a> {
    pub name: &'a str,
    /// In ascending order.
    pub columns: Vec<usize>,
    /// Whether they are lengths of stays.
    pub is_stay: bool,
    /// Whether each of them says that the patient died.
    pub says_dead: bool,
    /// Whether `NAME//*` stands for these codes and no other.
    pub is_pattern: bool,
}

/// The families of a cohort.
#[derive(Debug, Default)]
pub struct Families<'a> {
    pub all: Vec<Family<'a>>,
    /// The family of each column, if it has one.
    of_column: Vec<Option<u16>>,
    /// Columns of codes that tell what happened or how long a stay took, and are of no family.
    pub alone: Vec<usize>,
    is_gap: Vec<bool>,
}

impl<'a> Families<'a> {
    /// Times since the encounter before are no family: an encounter has one because another came before it.
    pub fn of(vocabulary: &'a Vocabulary, columns: &Columns) -> Self {
        let name = |column: usize| vocabulary.name(columns.codes[column]);
        let first = |name: &'a str| name.split_once("//").map(|(first, _)| first);
        let is_gap: Vec<bool> =
            (0..columns.end()).map(|column| name(column).starts_with(GAP_PREFIX)).collect();
        let events = || (0..columns.end()).filter(|&column| !is_gap[column]);
        let mut named: Vec<(&str, bool, Vec<usize>)> = Vec::new();
        let mut numbers = FxHashMap::default();
        for column in events() {
            let (key, single) = match first(name(column)) {
                Some(first) => (first, false),
                None => (name(column), true),
            };
            let number = *numbers.entry((key, single)).or_insert_with(|| {
                named.push((key, single, Vec::new()));
                named.len() - 1
            });
            named[number].2.push(column);
        }
        let singles = named.iter().filter(|(_, single, _)| *single).count();
        named.retain(|(_, single, _)| !single || singles <= MOST_SINGLE);
        if named.len() > MOST_FAMILIES {
            named.clear();
        }
        let mut elsewhere: FxHashMap<&str, usize> = FxHashMap::default();
        for code in vocabulary.codes() {
            if let Some(first) = first(vocabulary.name(code)) {
                *elsewhere.entry(first).or_default() += usize::from(
                    vocabulary.kind(code) == Kind::Static || columns.column(code).is_none(),
                );
            }
        }
        let plain =
            |character: char| character.is_ascii_alphanumeric() || "_-+".contains(character);
        let family = |(key, single, members): (&'a str, bool, Vec<usize>)| Family {
            name: key,
            is_stay: members.iter().all(|&column| DayBand::of_stay(name(column)).is_some()),
            says_dead: members.iter().all(|&column| says_dead(name(column))),
            is_pattern: !single
                && members.len() > 1
                && !key.is_empty()
                && key.chars().all(plain)
                && elsewhere.get(key) == Some(&0),
            columns: members,
        };
        let all: Vec<Family<'a>> = named.into_iter().map(family).collect();
        let mut of_column = vec![None; columns.len()];
        for (number, family) in all.iter().enumerate() {
            for &column in &family.columns {
                of_column[column] = Some(number as u16);
            }
        }
        let alone = events().filter(|&column| of_column[column].is_none()).collect();
        Self { all, of_column, alone, is_gap }
    }

    /// The family of lengths of stays.
    fn stay(&self) -> Option<usize> {
        self.all.iter().position(|family| family.is_stay)
    }
}

/// What was counted of families.
#[derive(Debug, Default)]
pub struct FamilyCounts {
    records: u64,
    encounters: u64,
    /// By family: encounters with it, records with it, and records with an encounter that has several codes of it.
    encounters_with: Vec<u64>,
    records_with: Vec<u64>,
    several: Vec<u64>,
    /// By family and family: records with an encounter that has the first and not the second.
    apart: Vec<u64>,
    /// Encounters without a stay, records with one, and by family, records with one that lacks the family too.
    without_stay: u64,
    records_without_stay: u64,
    lacking: Vec<u64>,
    /// Records with an encounter that has no code but a time.
    empty: u64,
    /// By column: encounters with the code.
    code_encounters: Vec<u64>,
}

/// What a record was seen to do.
#[derive(Debug, Default)]
pub struct FamilyScratch {
    present: Vec<u32>,
    done: Vec<bool>,
    apart: Vec<bool>,
    lacking: Vec<bool>,
    several: Vec<bool>,
}

impl FamilyCounts {
    pub fn empty(families: &Families<'_>, columns: &Columns) -> Self {
        let many = families.all.len();
        Self {
            encounters_with: vec![0; many],
            records_with: vec![0; many],
            several: vec![0; many],
            apart: vec![0; many * many],
            lacking: vec![0; many],
            code_encounters: vec![0; columns.len()],
            ..Self::default()
        }
    }

    /// Counts a record, given by the columns of its encounters.
    pub fn record(
        &mut self,
        encounters: &[Vec<u32>],
        families: &Families<'_>,
        scratch: &mut FamilyScratch,
    ) {
        let many = families.all.len();
        let stay = families.stay();
        let FamilyScratch { present, done, apart, lacking, several } = scratch;
        for (list, length) in
            [(&mut *done, many), (apart, many * many), (lacking, many), (several, many)]
        {
            list.clear();
            list.resize(length, false);
        }
        let (mut empty, mut without_stay) = (false, false);
        for codes in encounters {
            self.encounters += 1;
            present.clear();
            present.resize(many, 0);
            let mut events = 0;
            for &column in codes {
                let column = column as usize;
                self.code_encounters[column] += 1;
                events += usize::from(families.is_gap.get(column) == Some(&false));
                if let Some(family) = families.of_column[column] {
                    present[usize::from(family)] += 1;
                }
            }
            empty |= events == 0;
            let stays = stay.is_some_and(|stay| present[stay] > 0);
            if !stays && stay.is_some() {
                self.without_stay += 1;
                without_stay = true;
            }
            for family in 0..many {
                if present[family] == 0 {
                    lacking[family] |= !stays;
                    continue;
                }
                self.encounters_with[family] += 1;
                done[family] = true;
                several[family] |= present[family] > 1;
                for other in 0..many {
                    apart[family * many + other] |= present[other] == 0;
                }
            }
        }
        self.records += 1;
        self.empty += u64::from(empty);
        self.records_without_stay += u64::from(without_stay);
        for (into, from) in [
            (&mut self.records_with, &*done),
            (&mut self.several, several),
            (&mut self.apart, apart),
            (&mut self.lacking, lacking),
        ] {
            into.iter_mut().zip(from).for_each(|(count, &is_so)| *count += u64::from(is_so));
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.encounters += other.encounters;
        self.without_stay += other.without_stay;
        self.records_without_stay += other.records_without_stay;
        self.empty += other.empty;
        for (into, from) in [
            (&mut self.encounters_with, &other.encounters_with),
            (&mut self.records_with, &other.records_with),
            (&mut self.several, &other.several),
            (&mut self.apart, &other.apart),
            (&mut self.lacking, &other.lacking),
            (&mut self.code_encounters, &other.code_encounters),
        ] {
            add(into, from);
        }
    }

    /// Encounters that would lack a family, of so many, if they had it as others do.
    fn lacking_by_chance(&self, encounters: u64, family: usize) -> f64 {
        let with = self.encounters_with[family] as f64 / self.encounters.max(1) as f64;
        encounters as f64 * (1.0 - with)
    }

    /// Families that come only with this one, each with the records that could break that and those that do. What
    /// discharge is called is known, so that it needs no number; which deaths come together is told elsewhere.
    pub fn needing(&self, families: &Families<'_>, needed: usize) -> Vec<(usize, [u64; 2])> {
        let of = &families.all;
        if of[needed].columns.len() > MOST_NEEDED {
            return Vec::new();
        }
        let needs = |&family: &usize| {
            let tally = [self.records_with[family], self.apart[family * of.len() + needed]];
            let known = of[needed].is_stay && of[family].name == "DISCHARGE" && tally[0] > 0;
            let by_chance = self.lacking_by_chance(self.encounters_with[family], needed);
            let shown = tally[0] >= LEAST_RECORDS && by_chance >= LEAST_BY_CHANCE;
            let deaths = of[family].says_dead && of[needed].says_dead;
            family != needed && !deaths && (known || shown) && super::holds(tally)
        };
        let tally =
            |family| (family, [self.records_with[family], self.apart[family * of.len() + needed]]);
        (0..of.len()).filter(needs).map(tally).collect()
    }

    /// What every encounter without a stay has, with the records that could break that and those that do.
    pub fn instead_of_stay(&self, families: &Families<'_>) -> Option<(usize, [u64; 2])> {
        let stay = families.stay()?;
        let has = |&family: &usize| {
            let tally = [self.records_without_stay, self.lacking[family]];
            let by_chance = self.lacking_by_chance(self.without_stay, family);
            family != stay
                && families.all[family].columns.len() <= MOST_NEEDED
                && tally[0] >= LEAST_RECORDS
                && by_chance >= LEAST_BY_CHANCE
                && super::holds(tally)
        };
        let found =
            (0..families.all.len()).filter(has).min_by_key(|&family| self.lacking[family])?;
        Some((found, [self.records_without_stay, self.lacking[found]]))
    }

    /// Records, and those with an encounter that has no code but a time; none where that happens.
    pub fn never_empty(&self) -> Option<[u64; 2]> {
        let tally = [self.records, self.empty];
        (tally[0] >= LEAST_RECORDS && super::holds(tally)).then_some(tally)
    }

    /// Whether an encounter has at most one code of a family, with the records that could break that and those
    /// that do.
    pub fn one_of(&self, families: &Families<'_>, family: usize) -> Option<[u64; 2]> {
        let columns = &families.all[family].columns;
        let encounters = self.encounters.max(1) as f64;
        let shares = columns.iter().map(|&column| self.code_encounters[column] as f64 / encounters);
        let (sum, squares) =
            shares.fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
        let by_chance = encounters * (sum * sum - squares) / 2.0;
        let tally = [self.records_with[family], self.several[family]];
        let shown = tally[0] >= LEAST_RECORDS && by_chance >= LEAST_BY_CHANCE;
        let small = (2..=MOST_NEEDED).contains(&columns.len());
        (small && shown && super::holds(tally)).then_some(tally)
    }
}
