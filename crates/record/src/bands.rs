//! Bands: days between visits, lengths of stays and ages, as codes tell them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::{Code, Vocabulary};

/// What the names of codes begin with that tell the days since the visit before.
pub const GAP_PREFIX: &str = "GAP//";
/// What the names of codes begin with that tell how long a stay was.
pub const STAY_PREFIX: &str = "STAY//";

/// What the names of static codes begin with that tell the age at the first encounter.
const AGE_PREFIX: &str = "AGE//";

/// Where bands of days between visits begin. They widen as a record's memory of them does, and go on far
/// enough that ten years are not told as one.
const GAP_BOUNDS: [u32; 21] =
    [0, 1, 2, 4, 7, 14, 21, 30, 45, 60, 90, 120, 180, 270, 365, 450, 550, 730, 1095, 1825, 3650];

/// Where bands of days in hospital begin.
const STAY_BOUNDS: [u32; 12] = [0, 1, 2, 3, 4, 5, 7, 10, 14, 21, 30, 60];

/// Days from one number up to, and not including, another; without end if there is none.
///
/// ```
/// use consequence_record::DayBand;
///
/// let band: DayBand = "7-14d".parse().unwrap();
/// assert!(band.holds(7) && band.holds(13) && !band.holds(14));
/// assert_eq!((DayBand::day(1).to_string(), band.to_string()), ("1d".into(), "7-14d".into()));
/// assert_eq!(DayBand::of_gap("GAP//365d+"), Some(DayBand { from: 365, to: None }));
/// assert_eq!(DayBand::of_gap("STAY//1d"), None);
/// assert!(DayBand::gaps().iter().filter(|band| band.holds(40)).count() == 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DayBand {
    /// The first day of it.
    pub from: u32,
    /// The first day after it.
    pub to: Option<u32>,
}

impl DayBand {
    /// The band of one day.
    pub fn day(day: u32) -> Self {
        Self { from: day, to: Some(day + 1) }
    }

    /// Whether so many days are in the band.
    pub fn holds(self, days: i64) -> bool {
        days >= self.from.into() && self.to.is_none_or(|to| days < to.into())
    }

    /// The bands of days between visits, from the shortest.
    pub fn gaps() -> Vec<Self> {
        bands(&GAP_BOUNDS)
    }

    /// The same, where some days have a band of their own.
    ///
    /// ```
    /// use consequence_record::DayBand;
    ///
    /// let names: Vec<String> = DayBand::gaps_with(&[28]).iter().map(DayBand::to_string).collect();
    /// assert_eq!(names[6..9], ["21-28d", "28d", "29d"]);
    /// ```
    pub fn gaps_with(days: &[u32]) -> Vec<Self> {
        let own = days.iter().flat_map(|&day| [day, day.saturating_add(1)]);
        let mut bounds: Vec<u32> = GAP_BOUNDS.into_iter().chain(own).collect();
        bounds.sort_unstable();
        bounds.dedup();
        bands(&bounds)
    }

    /// The bands of lengths of stays, from the shortest.
    pub fn stays() -> Vec<Self> {
        bands(&STAY_BOUNDS)
    }

    /// The band that a code of days between visits tells by its name, if it is one.
    pub fn of_gap(name: &str) -> Option<Self> {
        name.strip_prefix(GAP_PREFIX)?.parse().ok()
    }

    /// The band that a code of the length of a stay tells by its name, if it is one.
    pub fn of_stay(name: &str) -> Option<Self> {
        name.strip_prefix(STAY_PREFIX)?.parse().ok()
    }
}

fn bands(bounds: &[u32]) -> Vec<DayBand> {
    let next = bounds.iter().skip(1).map(|&to| Some(to)).chain([None]);
    bounds.iter().zip(next).map(|(&from, to)| DayBand { from, to }).collect()
}

impl fmt::Display for DayBand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to {
            Some(to) if to == self.from + 1 => write!(out, "{}d", self.from),
            Some(to) => write!(out, "{}-{to}d", self.from),
            None => write!(out, "{}d+", self.from),
        }
    }
}

impl FromStr for DayBand {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse::<u32>().ok().filter(|&days| days < u32::MAX).ok_or(()),
            false => Err(()),
        };
        if let Some(from) = text.strip_suffix("d+") {
            return Ok(Self { from: number(from)?, to: None });
        }
        let days = text.strip_suffix('d').ok_or(())?;
        match days.split_once('-') {
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from < to { Ok(Self { from, to: Some(to) }) } else { Err(()) }
            }
            None => number(days).map(Self::day),
        }
    }
}

/// Ages in years from one up to, and not including, another; without end if there is none.
///
/// ```
/// use consequence_record::AgeBand;
///
/// let band: AgeBand = "40-60".parse().unwrap();
/// assert!(band.holds(59) && !band.holds(60));
/// assert_eq!("80+".parse::<AgeBand>().unwrap().to_string(), "80+");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgeBand {
    /// The first age of it.
    pub from: u16,
    /// The first age after it.
    pub to: Option<u16>,
}

impl AgeBand {
    /// The bands of the static codes of age, such as `AGE//40-60`. Where the next begins a year after one ends,
    /// as `18-44` does after `0-17`, the last year is in the band.
    ///
    /// ```
    /// use consequence_record::{AgeBand, Kind, Vocabulary};
    ///
    /// let names = ["AGE//0-17", "AGE//18-44", "AGE//45+", "SEX//F"];
    /// let vocabulary = Vocabulary::new(names.map(|name| (name, Kind::Static)))?;
    /// let bands = AgeBand::of_statics(&vocabulary);
    /// let holding = |years| bands.values().filter(|band| band.holds(years)).count();
    /// assert_eq!((bands.len(), holding(17), holding(18), holding(44)), (3, 1, 1, 1));
    /// # Ok::<(), consequence_record::VocabularyError>(())
    /// ```
    pub fn of_statics(vocabulary: &Vocabulary) -> BTreeMap<Code, Self> {
        let band =
            |code: Code| vocabulary.name(code).strip_prefix(AGE_PREFIX)?.parse::<Self>().ok();
        let mut bands: BTreeMap<Code, Self> =
            vocabulary.statics().filter_map(|code| Some((code, band(code)?))).collect();
        let begins: Vec<u16> = bands.values().map(|band| band.from).collect();
        for band in bands.values_mut() {
            let after = band.to.and_then(|to| to.checked_add(1));
            let meets = |year: Option<u16>| year.is_some_and(|year| begins.contains(&year));
            if meets(after) && !meets(band.to) {
                band.to = after;
            }
        }
        bands
    }

    /// Whether an age in full years is in the band.
    pub fn holds(self, years: i64) -> bool {
        years >= self.from.into() && self.to.is_none_or(|to| years < to.into())
    }
}

impl fmt::Display for AgeBand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to {
            Some(to) => write!(out, "{}-{to}", self.from),
            None => write!(out, "{}+", self.from),
        }
    }
}

impl FromStr for AgeBand {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse::<u16>().map_err(drop),
            false => Err(()),
        };
        if let Some(from) = text.strip_suffix('+') {
            return Ok(Self { from: number(from)?, to: None });
        }
        let (from, to) = text.split_once('-').ok_or(())?;
        let (from, to) = (number(from)?, number(to)?);
        if from < to { Ok(Self { from, to: Some(to) }) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_days_is_in_one_band() {
        for bands in [DayBand::gaps(), DayBand::stays()] {
            for days in 0..5000 {
                assert_eq!(bands.iter().filter(|band| band.holds(days)).count(), 1, "{days}");
            }
            for band in bands {
                assert_eq!(band.to_string().parse(), Ok(band));
            }
        }
    }

    #[test]
    fn what_is_no_band_is_refused() {
        for text in ["", "d", "7", "x-yd", "-3d", "9-3d", "3-3d", "+3d", "1-d", "99999999999d"] {
            assert_eq!(text.parse::<DayBand>(), Err(()), "{text}");
        }
        for text in ["", "40", "60-40", "+", "-", "4x+"] {
            assert_eq!(text.parse::<AgeBand>(), Err(()), "{text}");
        }
    }
}
