//! From the codes of the source to the codes of the records: mapped, cut, and values put into parts
//! of equal size.

use std::collections::{BTreeMap, BTreeSet};

use consequence_record::{
    AgeBand, Concept, DayBand, EDITION_PREFIX, GAP_PREFIX, Kind, STAY_PREFIX, Scale, Split, edition,
};
use consequence_tables::shown;
use consequence_tally::{Coded, Counts, Damaged, Reader, Values, Writer, counts};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::codes::{Codes, OTHER_TEXT, RawCode, Role, is_icd, test_of_part, truncated};
use crate::summary::Reason;
use crate::units::Measures;
use crate::{ImportOptions, ImportProblem};

/// The results in words of a test that are codes of their own.
const TEXTS_OF_A_TEST: usize = 50;

/// The codes that records may have, numbered before it is known which of them occur.
#[derive(Default)]
pub(crate) struct Finals {
    pub names: Vec<String>,
    pub kinds: Vec<Kind>,
    pub titles: Vec<Option<Box<str>>>,
    pub concepts: FxHashMap<u32, Concept>,
    /// What the values of codes are.
    pub scales: FxHashMap<u32, Scale>,
    /// The codes that the source names by themselves, which are kept though no record may have them.
    pub unused: FxHashSet<u32>,
    numbers: FxHashMap<String, u32>,
    /// What each code of the source becomes without a value.
    plain: Vec<Target>,
    /// What the values of a test become, by the code that the test becomes without one.
    parts: FxHashMap<u32, Parts>,
    ages: Vec<(AgeBand, u32)>,
    gaps: Vec<(DayBand, u32)>,
    stays: Vec<(DayBand, u32)>,
    /// The codes of editions, where there are several.
    editions: Vec<(u32, u32)>,
    /// Which codes tell the time, by number.
    times: Vec<Option<Time>>,
    /// The codes of results in words.
    texts: FxHashSet<u32>,
}

/// What a code tells of an encounter, beside what happened in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Gap,
    Stay,
    Edition,
}

/// The parts that the values of a test are put into, from the lowest.
struct Parts {
    /// Where one ends and the next begins.
    cuts: Vec<f32>,
    codes: Vec<u32>,
}

/// What a code of the source becomes.
enum Target {
    Codes(Vec<u32>),
    Dropped(Reason),
}

/// Which codes an import makes of dates, beside those that the source has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub gaps: bool,
    pub stays: bool,
    pub ages: bool,
    pub editions: bool,
}

impl Finals {
    /// The codes without those of values.
    pub fn new(
        codes: &Codes,
        truncate: Option<usize>,
        made: Made,
        options: &ImportOptions,
    ) -> Result<Self, ImportProblem> {
        let mut finals = Self::default();
        let mapped_systems = mapped_systems(codes, options);
        let common = common_texts(codes);
        for (number, code) in codes.entries().iter().enumerate() {
            let target = match &code.result {
                // A test comes before its results.
                Some(result) => {
                    let known = common.contains(&(number as u32));
                    let text = if known { &*result.text } else { OTHER_TEXT };
                    finals.text_target(result.test, text, code)?
                }
                None => finals.target(code, truncate, &mapped_systems, options)?,
            };
            finals.plain.push(target);
        }
        if made.ages {
            for band in age_bands(options.age_bands.as_deref().unwrap_or_default()) {
                let age = finals.intern(&format!("AGE//{band}"), Kind::Static, None)?;
                finals.ages.push((band, age));
            }
        }
        if made.gaps {
            for band in DayBand::gaps() {
                finals.intern(&format!("{GAP_PREFIX}{band}"), Kind::Encounter, None)?;
            }
        }
        if made.stays {
            for band in DayBand::stays() {
                finals.intern(&format!("{STAY_PREFIX}{band}"), Kind::Encounter, None)?;
            }
        }
        let editions = if made.editions { finals.add_editions()? } else { Vec::new() };
        // A cohort of ours brings its own along.
        let of_source = |of: fn(&str) -> Option<DayBand>| {
            let bands = finals.names.iter().zip(0..).zip(&finals.kinds);
            let encounter = bands.filter(|(_, kind)| **kind == Kind::Encounter);
            let mut found: Vec<(DayBand, u32)> =
                encounter.filter_map(|((name, number), _)| Some((of(name)?, number))).collect();
            found.sort_unstable();
            found
        };
        let (gaps, stays) = (of_source(DayBand::of_gap), of_source(DayBand::of_stay));
        finals.times = vec![None; finals.names.len()];
        gaps.iter().for_each(|&(_, code)| finals.times[code as usize] = Some(Time::Gap));
        stays.iter().for_each(|&(_, code)| finals.times[code as usize] = Some(Time::Stay));
        editions.iter().for_each(|&(_, code)| finals.times[code as usize] = Some(Time::Edition));
        (finals.gaps, finals.stays, finals.editions) = (gaps, stays, editions);
        Ok(finals)
    }

    /// Codes for the editions of a classification, if there are several; none where the source has them already.
    fn add_editions(&mut self) -> Result<Vec<(u32, u32)>, ImportProblem> {
        let of_encounters =
            self.names.iter().zip(&self.kinds).filter(|(_, kind)| **kind == Kind::Encounter);
        let names = || of_encounters.clone().map(|(name, _)| name.as_str());
        let found: BTreeSet<u32> = names().filter_map(|name| Some(edition(name)?.0)).collect();
        if found.len() < 2 || names().any(|name| name.starts_with(EDITION_PREFIX)) {
            return Ok(Vec::new());
        }
        let code = |number| {
            let code =
                self.intern(&format!("{EDITION_PREFIX}ICD{number}"), Kind::Encounter, None)?;
            Ok((number, code))
        };
        found.into_iter().map(code).collect()
    }

    /// The code of a result in words.
    fn text_target(
        &mut self,
        test: u32,
        text: &str,
        code: &RawCode,
    ) -> Result<Target, ImportProblem> {
        let test = match self.plain.get(test as usize) {
            Some(Target::Codes(codes)) => codes.first().copied(),
            Some(Target::Dropped(reason)) => return Ok(Target::Dropped(*reason)),
            None => None,
        };
        let base = test.map_or(&*code.name, |test| &self.names[test as usize]);
        let name = format!("{base}//{text}");
        let title = test.and_then(|test| self.titles[test as usize].clone());
        let number = self.intern(&name, kind(code), title.as_deref())?;
        if let Some(concept) = test.and_then(|test| self.concepts.get(&test)) {
            let words = code.result.as_ref().and_then(|result| result.concept);
            let words = words.filter(|_| text != OTHER_TEXT);
            let concept = Concept { result: Some(words.unwrap_or(0)), ..concept.clone() };
            self.concepts.insert(number, concept);
        }
        self.texts.insert(number);
        Ok(Target::Codes(vec![number]))
    }

    /// Names the parts of values.
    pub fn add_parts(&mut self, cuts: Cuts, measures: &Measures) -> Result<(), ImportProblem> {
        for (test, cuts) in cuts.0 {
            let index = test as usize;
            let (base, kind) = (self.names[index].clone(), self.kinds[index]);
            let (title, concept) = (self.titles[index].clone(), self.concepts.get(&test).cloned());
            let mut codes = Vec::with_capacity(cuts.len() + 1);
            for part in 0..=cuts.len() {
                let code =
                    self.intern(&format!("{base}//q{}", part + 1), kind, title.as_deref())?;
                if let Some(concept) = &concept {
                    self.concepts.insert(code, concept.clone());
                }
                let scale = Scale {
                    test: base.clone(),
                    unit: measures.unit(test).map(str::to_owned),
                    above: part.checked_sub(1).map(|below| cuts[below]),
                    up_to: cuts.get(part).copied(),
                    count: 0,
                };
                self.scales.insert(code, scale);
                codes.push(code);
            }
            self.parts.insert(test, Parts { cuts, codes });
        }
        Ok(())
    }

    /// Tells what the values are of a code that is a part of a test's values already. Its cut points
    /// are not known.
    pub fn add_scale(&mut self, code: u32, unit: Option<&str>) {
        let name = &self.names[code as usize];
        let test = test_of_part(name).unwrap_or(name).to_owned();
        let unit = unit.map(str::to_owned);
        self.scales.insert(code, Scale { test, unit, ..Scale::default() });
    }

    /// The code that the values of a code of the source are parts of.
    pub fn test(&self, raw: usize) -> Option<u32> {
        match self.plain.get(raw)? {
            Target::Codes(codes) => codes.first().copied(),
            Target::Dropped(_) => None,
        }
    }

    fn target(
        &mut self,
        code: &RawCode,
        truncate: Option<usize>,
        mapped_systems: &FxHashSet<String>,
        options: &ImportOptions,
    ) -> Result<Target, ImportProblem> {
        let kind = kind(code);
        if kind == Kind::Encounter && code.is(Role::Exclusive) {
            return Err(ImportProblem::TwoKinds { code: shown(&code.name) });
        }
        if let Some(map) = options.map.as_ref().filter(|_| kind == Kind::Encounter) {
            let mut targets = Vec::new();
            for (name, title) in map.titled(&code.name) {
                targets.push(self.intern(name, kind, title)?);
            }
            if !targets.is_empty() {
                return Ok(Target::Codes(targets));
            }
            if map.drop_unmapped && mapped_systems.contains(system(&code.name)) {
                return Ok(Target::Dropped(Reason::Unmapped));
            }
        }
        match truncate.filter(|_| is_icd(&code.name)) {
            Some(characters) => {
                let name = truncated(&code.name, characters);
                let whole = name == *code.name;
                let title = code.title.as_deref().filter(|_| whole);
                let number = self.intern(&name, kind, title)?;
                if whole {
                    self.stand_for(&[number], code);
                }
                Ok(Target::Codes(vec![number]))
            }
            None => {
                let number = self.intern(&code.name, kind, code.title.as_deref())?;
                self.stand_for(&[number], code);
                Ok(Target::Codes(vec![number]))
            }
        }
    }

    /// Keeps the concept of a code of the source for what it becomes.
    fn stand_for(&mut self, numbers: &[u32], code: &RawCode) {
        if let Some(concept) = &code.concept {
            self.concepts.extend(numbers.iter().map(|&number| (number, concept.clone())));
        }
    }

    fn intern(
        &mut self,
        name: &str,
        kind: Kind,
        title: Option<&str>,
    ) -> Result<u32, ImportProblem> {
        let number = match self.numbers.get(name) {
            Some(&number) if self.kinds[number as usize] != kind => {
                return Err(ImportProblem::TwoKinds { code: shown(name) });
            }
            Some(&number) => number,
            None => {
                let number = self.names.len() as u32;
                self.names.push(name.to_owned());
                self.kinds.push(kind);
                self.titles.push(None);
                self.numbers.insert(name.to_owned(), number);
                number
            }
        };
        let kept = &mut self.titles[number as usize];
        if kept.is_none() {
            *kept = title.map(Into::into);
        }
        Ok(number)
    }

    /// What a code of the source becomes, or why nothing.
    pub fn of(&self, raw: usize, value: f32) -> Result<&[u32], Reason> {
        let codes = match self.plain.get(raw) {
            Some(Target::Codes(codes)) => codes,
            Some(Target::Dropped(reason)) => return Err(*reason),
            None => return Err(Reason::NoCode),
        };
        let parts = codes.first().and_then(|test| self.parts.get(test));
        Ok(match parts.filter(|_| !value.is_nan()) {
            Some(Parts { cuts, codes }) => {
                let part = cuts.partition_point(|cut| *cut < value);
                codes.get(part..=part).unwrap_or_default()
            }
            None => codes,
        })
    }

    /// The code of an age in years; none for an age below the first band.
    pub fn age(&self, years: i64) -> Option<u32> {
        self.ages.iter().find(|(band, _)| band.holds(years)).map(|&(_, code)| code)
    }

    /// The code of days since the encounter before; none where such codes are not asked for.
    pub fn gap(&self, days: i64) -> Option<u32> {
        banded(&self.gaps, days)
    }

    /// The code of days that an encounter took; none where such codes are not asked for.
    pub fn stay(&self, days: i64) -> Option<u32> {
        banded(&self.stays, days)
    }

    /// The code of the edition that a code is of; none where that goes without saying.
    pub fn edition(&self, code: u32) -> Option<u32> {
        if self.editions.is_empty() {
            return None;
        }
        let (number, _) = edition(&self.names[code as usize])?;
        self.editions.iter().find(|&&(known, _)| known == number).map(|&(_, code)| code)
    }

    /// The codes of editions, from the oldest.
    pub fn editions(&self) -> impl Iterator<Item = u32> {
        self.editions.iter().map(|&(_, code)| code)
    }

    /// Tells days between encounters by other bands.
    pub fn set_gaps(&mut self, bands: Vec<DayBand>) -> Result<(), ImportProblem> {
        let mut gaps = Vec::with_capacity(bands.len());
        for band in bands {
            let code = self.intern(&format!("{GAP_PREFIX}{band}"), Kind::Encounter, None)?;
            gaps.push((band, code));
        }
        self.times.resize(self.names.len(), None);
        gaps.iter().for_each(|&(_, code)| self.times[code as usize] = Some(Time::Gap));
        self.gaps = gaps;
        Ok(())
    }

    /// The codes of age bands, from the youngest.
    pub fn ages(&self) -> impl Iterator<Item = u32> {
        self.ages.iter().map(|&(_, code)| code)
    }

    /// The codes of times since the encounter before, from the shortest.
    pub fn gaps(&self) -> impl Iterator<Item = u32> {
        self.gaps.iter().map(|&(_, code)| code)
    }

    /// The codes of lengths of stays, from the shortest.
    pub fn stays(&self) -> impl Iterator<Item = u32> {
        self.stays.iter().map(|&(_, code)| code)
    }

    /// Whether a code tells the days since the encounter before.
    pub fn is_gap(&self, code: u32) -> bool {
        self.time(code) == Some(Time::Gap)
    }

    /// Whether a code tells how long an encounter took.
    pub fn is_stay(&self, code: u32) -> bool {
        self.time(code) == Some(Time::Stay)
    }

    /// Whether a code tells when an encounter was, or how it is coded, rather than what happened in it.
    pub fn is_time(&self, code: u32) -> bool {
        self.time(code).is_some()
    }

    fn time(&self, code: u32) -> Option<Time> {
        // Those that come later are parts of values.
        self.times.get(code as usize).copied().flatten()
    }

    /// The number of results in words that are codes, of those that `kept` says.
    pub fn texts(&self, kept: impl Fn(u32) -> bool) -> u64 {
        self.texts.iter().filter(|&&code| kept(code)).count() as u64
    }

    /// Whether rarity leaves a code alone: static codes and times are made here, not found.
    pub fn always_kept(&self, number: usize) -> bool {
        self.kinds[number] == Kind::Static || self.is_time(number as u32)
    }
}

fn banded(bands: &[(DayBand, u32)], days: i64) -> Option<u32> {
    bands.iter().find(|(band, _)| band.holds(days)).map(|&(_, code)| code)
}

/// The age bands with these bounds.
fn age_bands(bounds: &[u16]) -> impl Iterator<Item = AgeBand> {
    let next = bounds.iter().skip(1).map(|&to| Some(to)).chain([None]);
    bounds.iter().zip(next).map(|(&from, to)| AgeBand { from, to })
}

/// The results in words that are codes of their own: the commonest of each test.
fn common_texts(codes: &Codes) -> FxHashSet<u32> {
    let mut of_tests: BTreeMap<u32, Vec<(u64, &str, u32)>> = BTreeMap::new();
    for (number, code) in codes.entries().iter().enumerate() {
        if let Some(result) = code.result.as_ref().filter(|result| &*result.text != OTHER_TEXT) {
            let row = (result.rows, &*result.text, number as u32);
            of_tests.entry(result.test).or_default().push(row);
        }
    }
    let mut common = FxHashSet::default();
    for texts in of_tests.values_mut() {
        texts.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
        common.extend(texts.iter().take(TEXTS_OF_A_TEST).map(|&(_, _, number)| number));
    }
    common
}

/// A code that is dated anywhere is one of encounters.
fn kind(code: &RawCode) -> Kind {
    if code.is(Role::Encounter) { Kind::Encounter } else { Kind::Static }
}

fn system(name: &str) -> &str {
    name.split_once("//").map_or("", |(system, _)| system)
}

/// The systems of which the map has a code.
fn mapped_systems(codes: &Codes, options: &ImportOptions) -> FxHashSet<String> {
    let Some(map) = options.map.as_ref().filter(|map| map.drop_unmapped) else {
        return FxHashSet::default();
    };
    let mapped = |code: &&RawCode| map.targets(&code.name).next().is_some();
    let entries = codes.entries().iter().filter(mapped);
    entries.map(|code| system(&code.name).to_owned()).collect()
}

/// Where the values of each test are cut, by the code that the test becomes without a value.
#[derive(Debug, Default)]
pub(crate) struct Cuts(BTreeMap<u32, Vec<f32>>);

/// The values of a test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Those of the train split.
    train: Values,
    /// The largest of all splits.
    largest: Largest,
}

counts!(Seen { train, largest });

/// The largest of some numbers, by bits that are in the order of the numbers; 0 if there are none.
#[derive(Clone, Copy, Debug, Default)]
struct Largest(u32);

impl Coded for Largest {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        u32::read(from).map(Self)
    }
}

impl Counts for Largest {
    fn add(&mut self, other: Self) {
        self.0 = self.0.max(other.0);
    }
}

impl Seen {
    /// Takes a value of a subject of a split.
    pub fn see(&mut self, value: f32, split: Split) {
        let bits = value.to_bits();
        let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        self.largest.add(Largest(ordered));
        if split == Split::Train {
            self.train.push(value);
        }
    }

    fn largest(&self) -> f32 {
        let ordered = self.largest.0;
        f32::from_bits(if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered })
    }
}

impl Cuts {
    /// Cuts the values of each test into `parts` of equal size, as far as equal values allow. Every
    /// part has a value in it.
    pub fn new(seen: &BTreeMap<u32, Seen>, parts: usize) -> Self {
        Self(seen.iter().map(|(&test, seen)| (test, cuts(seen, parts as u64))).collect())
    }
}

/// Where the values of a test are cut: cut j is the value that as many as j in `parts` of all values do not exceed.
fn cuts(seen: &Seen, parts: u64) -> Vec<f32> {
    let values = seen.train.sorted();
    let count: u64 = values.iter().map(|&(_, times)| times).sum();
    let (mut found, mut position, mut next) = (Vec::new(), 0_u64, 1);
    for (value, times) in values {
        position += times;
        let before = next;
        while next < parts
            && u128::from(position) * u128::from(parts) >= u128::from(count) * u128::from(next)
        {
            next += 1;
        }
        // Above the largest value there is none.
        if next > before && value < seen.largest() {
            found.push(value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(values: &[f32], largest: f32, parts: u64) -> Vec<f32> {
        let mut seen = Seen::default();
        values.iter().for_each(|&value| seen.see(value, Split::Train));
        seen.see(largest, Split::HeldOut);
        super::cuts(&seen, parts)
    }

    #[test]
    fn parts_are_of_equal_size() {
        assert_eq!(cuts(&[8., 3., -1., 4., 7., 2., 6., 5.], 8., 4), [2., 4., 6.]);
        assert_eq!(cuts(&[3., 1., 2.], 3., 2), [2.]);
    }

    #[test]
    fn every_part_has_a_value() {
        assert_eq!(cuts(&[1.; 9], 1., 4), [0_f32; 0]);
        // A larger value of another split is in a part of its own.
        assert_eq!(cuts(&[1.; 9], 2., 4), [1.]);
        assert_eq!(cuts(&[0., 0., 0., 0., 0., 0., 1., 2.], 2., 4), [0.]);
        assert_eq!(cuts(&[], 2., 4), [0_f32; 0]);
    }
}
