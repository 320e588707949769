//! From the codes of the source to the codes of the records: mapped, cut, and values put into parts
//! of equal size.

use std::io;

use consequence_record::{Concept, Kind};
use consequence_tables::shown;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::codes::{Codes, RawCode, Role, is_icd, truncated};
use crate::event::Value;
use crate::runs::Runs;
use crate::summary::Reason;
use crate::{ImportOptions, ImportProblem};

/// The bounds of the times between encounters, in days, and what the codes are called.
const GAPS: [(i64, &str); 6] = [
    (7, "GAP//0-7d"),
    (30, "GAP//7-30d"),
    (90, "GAP//30-90d"),
    (180, "GAP//90-180d"),
    (365, "GAP//180-365d"),
    (i64::MAX, "GAP//365d+"),
];

/// The codes that records may have, numbered before it is known which of them occur.
#[derive(Default)]
pub(crate) struct Finals {
    pub names: Vec<String>,
    pub kinds: Vec<Kind>,
    pub titles: Vec<Option<Box<str>>>,
    pub concepts: FxHashMap<u32, Concept>,
    numbers: FxHashMap<String, u32>,
    /// What each code of the source becomes without a value.
    plain: Vec<Target>,
    /// What it becomes with one, from the lowest part to the highest.
    valued: FxHashMap<u32, Vec<u32>>,
    ages: Vec<u32>,
    gaps: Vec<u32>,
}

/// What a code of the source becomes.
enum Target {
    Codes(Vec<u32>),
    Dropped(Reason),
}

impl Finals {
    pub fn new(
        codes: &Codes,
        truncate: Option<usize>,
        cuts: &Cuts,
        options: &ImportOptions,
    ) -> Result<Self, ImportProblem> {
        let mut finals = Self::default();
        let mapped_systems = mapped_systems(codes, options);
        for (number, code) in codes.entries().iter().enumerate() {
            let target = finals.target(code, truncate, &mapped_systems, options)?;
            if let (Some(parts), Target::Codes(bases)) = (cuts.parts(number as u32), &target) {
                let base = bases.first().map(|&base| finals.names[base as usize].clone());
                if let Some(base) = base {
                    let kind = kind(code);
                    let title = code.title.as_deref();
                    let valued = (1..=parts)
                        .map(|part| finals.intern(&format!("{base}//q{part}"), kind, title))
                        .collect::<Result<Vec<u32>, _>>()?;
                    finals.stand_for(&valued, code);
                    finals.valued.insert(number as u32, valued);
                }
            }
            finals.plain.push(target);
        }
        let bands = &options.age_bands;
        for (index, from) in bands.iter().enumerate() {
            let name = match bands.get(index + 1) {
                Some(to) => format!("AGE//{from}-{to}"),
                None => format!("AGE//{from}+"),
            };
            let age = finals.intern(&name, Kind::Static, None)?;
            finals.ages.push(age);
        }
        if options.gaps {
            for (_, name) in GAPS {
                let gap = finals.intern(name, Kind::Encounter, None)?;
                finals.gaps.push(gap);
            }
        }
        Ok(finals)
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
    pub fn of(&self, raw: usize, value: f32, cuts: &Cuts) -> Result<&[u32], Reason> {
        let part = cuts.part(raw as u32, value).map(usize::from);
        if let Some((part, valued)) = part.zip(self.valued.get(&(raw as u32))) {
            return Ok(valued.get(part..=part).unwrap_or_default());
        }
        match self.plain.get(raw) {
            Some(Target::Codes(codes)) => Ok(codes),
            Some(Target::Dropped(reason)) => Err(*reason),
            None => Err(Reason::NoCode),
        }
    }

    /// The code of an age in years; none for an age below the first band.
    pub fn age(&self, years: i64, bands: &[u16]) -> Option<u32> {
        let index = bands.partition_point(|&from| i64::from(from) <= years);
        self.ages.get(index.checked_sub(1)?).copied()
    }

    /// The code of a time between encounters; none where such codes are not asked for.
    pub fn gap(&self, days: i64) -> Option<u32> {
        let index = GAPS.iter().position(|(below, _)| days < *below).unwrap_or(GAPS.len() - 1);
        self.gaps.get(index).copied()
    }

    /// The codes of age bands, from the youngest.
    pub fn ages(&self) -> &[u32] {
        &self.ages
    }

    /// The codes of times since the encounter before, from the shortest.
    pub fn gaps(&self) -> &[u32] {
        &self.gaps
    }

    /// Whether rarity leaves a code alone: static codes and gaps are made here, not found.
    pub fn always_kept(&self, number: usize) -> bool {
        self.kinds[number] == Kind::Static || self.gaps.contains(&(number as u32))
    }
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

/// Where the values of each code are cut.
#[derive(Default)]
pub(crate) struct Cuts {
    parts: usize,
    cuts: FxHashMap<u32, Vec<f32>>,
}

impl Cuts {
    /// Cuts the values of each code into `parts` of equal size, as far as equal values allow. The
    /// values are sorted by code and value; `counts` has how many there are of each code.
    pub fn new(
        values: &Runs<Value>,
        counts: &FxHashMap<u32, u64>,
        parts: usize,
    ) -> io::Result<Self> {
        let mut cuts: FxHashMap<u32, Vec<f32>> = counts
            .keys()
            .map(|&code| (code, Vec::with_capacity(parts.saturating_sub(1))))
            .collect();
        let (mut current, mut seen) = (None, 0_u64);
        for value in values.merged(sort_key) {
            let Value { code, value } = value?;
            if current != Some(code) {
                (current, seen) = (Some(code), 0);
            }
            seen += 1;
            let count = counts.get(&code).copied().unwrap_or(0);
            let found = cuts.entry(code).or_default();
            // Cut j is the value that as many as j in `parts` of all values do not exceed.
            while found.len() + 1 < parts
                && u128::from(seen) * parts as u128 >= u128::from(count) * (found.len() as u128 + 1)
            {
                found.push(value);
            }
        }
        Ok(Self { parts, cuts })
    }

    /// The number of parts of a code; none where it has no values.
    pub fn parts(&self, code: u32) -> Option<usize> {
        self.cuts.contains_key(&code).then_some(self.parts)
    }

    /// The part a value of a code is in, the lowest being 0; none where there is no value.
    pub fn part(&self, code: u32, value: f32) -> Option<u16> {
        let cuts = self.cuts.get(&code).filter(|_| !value.is_nan())?;
        Some(cuts.partition_point(|cut| *cut < value) as u16)
    }
}

/// Sorts values by code, then by size.
pub(crate) fn sort_key(value: &Value) -> (u32, u32) {
    // With this change the bits of numbers are in the order of the numbers.
    let bits = value.value.to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    (value.code, ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(values: &[f32], parts: usize) -> Cuts {
        let mut runs = Runs::new(3, None);
        for &value in values {
            if runs.full() {
                runs.flush(sort_key).unwrap();
            }
            runs.push(Value { code: 5, value });
        }
        runs.finish(sort_key).unwrap();
        Cuts::new(&runs, &[(5, values.len() as u64)].into_iter().collect(), parts).unwrap()
    }

    #[test]
    fn parts_are_of_equal_size() {
        let cut = cuts(&[8., 3., -1., 4., 7., 2., 6., 5.], 4);
        let parts: Vec<u16> =
            [-1., 2., 3., 4., 5., 6., 7., 8.].iter().map(|v| cut.part(5, *v).unwrap()).collect();
        assert_eq!(parts, [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!((cut.part(5, 100.0), cut.part(5, f32::NEG_INFINITY)), (Some(3), Some(0)));
        assert_eq!((cut.part(5, f32::NAN), cut.part(6, 1.0)), (None, None));
    }

    #[test]
    fn equal_values_are_in_one_part() {
        assert_eq!(cuts(&[1.; 9], 4).part(5, 1.), Some(0));
        assert_eq!(cuts(&[1.], 4).part(5, 2.), Some(3));
    }
}
