//! What sources are taken apart into: one small event for each fact of a row.

use consequence_record::AgeBand;
use consequence_record::calendar::DAY;

/// A time that is not known.
const NO_TIME: i64 = i64::MIN;

/// Where an age band ends that has no end.
const OPEN_BAND: u16 = u16::MAX;

/// One fact of a subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event {
    /// The subject, by the number it has in the table of subjects.
    pub subject: u32,
    /// What is said.
    pub fact: Fact,
    /// The encounter it is said of.
    pub visit: VisitKey,
    time: i64,
    /// The value of a measurement, or where an age band begins; not a number where there is none.
    pub value: f32,
    /// The unit of the value by its number, or where an age band ends.
    pub unit: u16,
}

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fact(pub u32);

impl Fact {
    /// The subject is listed.
    pub const LISTED: Self = Self(u32::MAX);
    /// The encounter is listed, and began at the time.
    pub const VISIT: Self = Self(u32::MAX - 1);
    /// The subject was born at the time.
    pub const BIRTH: Self = Self(u32::MAX - 2);
    /// The subject was from `value` up to `unit` years old at the encounter.
    pub const AGE: Self = Self(u32::MAX - 3);
    /// The record was cut before it ended.
    pub const CUT: Self = Self(u32::MAX - 4);
    /// The encounter ended at the time.
    pub const ENDED: Self = Self(u32::MAX - 5);
    /// The subject died at the time; at midnight where only the date is known.
    pub const DIED: Self = Self(u32::MAX - 6);

    /// The most facts that are codes.
    pub const MOST_CODES: usize = (u32::MAX - 16) as usize;

    /// The number of the code, where the fact is that the subject has one.
    pub fn code(self) -> Option<usize> {
        ((self.0 as usize) < Self::MOST_CODES).then_some(self.0 as usize)
    }
}

/// Which encounter of a subject an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct VisitKey(u64);

impl VisitKey {
    const DAYS: u64 = 1 << 62;
    const NAMES: u64 = 2 << 62;

    /// Of no encounter.
    pub const STATIC: Self = Self(u64::MAX);

    /// The encounter with an identifier: a number where it is one, so that numbers give an order.
    pub fn named(identifier: &str) -> Self {
        match identifier.parse::<u64>() {
            // A number written in two ways is two identifiers.
            Ok(number) if number < Self::DAYS && number.to_string() == identifier => Self(number),
            _ => Self(Self::NAMES | scattered(identifier) & (Self::DAYS - 1)),
        }
    }

    /// The encounter with a number, which need not be positive.
    pub fn numbered(number: i64) -> Self {
        match u64::try_from(number).ok().filter(|&number| number < Self::DAYS) {
            Some(number) => Self(number),
            None => Self::named(&number.to_string()),
        }
    }

    /// What happened on the day of a time, outside any encounter that has an identifier.
    pub fn day(time: i64) -> Self {
        let day = time.div_euclid(DAY) + (1 << 40);
        Self(Self::DAYS | day as u64 & (Self::DAYS - 1))
    }

    /// The day, for what has no identifier.
    pub fn as_day(self) -> Option<i64> {
        (self.0 >> 62 == 1).then(|| (self.0 & (Self::DAYS - 1)) as i64 - (1 << 40))
    }

    /// The number, for an identifier that is one.
    pub fn as_number(self) -> Option<u64> {
        (self.0 < Self::DAYS).then_some(self.0)
    }
}

/// FNV-1a and a finishing mix. Only the encounters of one subject need to be told apart.
fn scattered(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

impl Event {
    /// An event without a value.
    pub fn new(subject: u32, fact: Fact, visit: VisitKey, time: Option<i64>) -> Self {
        Self { subject, fact, visit, time: time.unwrap_or(NO_TIME), value: f32::NAN, unit: 0 }
    }

    /// The same of another fact.
    pub fn saying(self, fact: Fact) -> Self {
        Self { fact, ..self }
    }

    /// The same with a value in a unit.
    pub fn valued(self, value: f32, unit: u16) -> Self {
        Self { value, unit, ..self }
    }

    /// That a subject was of some age at an encounter.
    pub fn aged(subject: u32, visit: VisitKey, band: AgeBand) -> Self {
        let to = band.to.unwrap_or(OPEN_BAND);
        Self::new(subject, Fact::AGE, visit, None).valued(f32::from(band.from), to)
    }

    /// The age band that it tells, if it tells one.
    pub fn age(&self) -> Option<AgeBand> {
        let to = (self.unit != OPEN_BAND).then_some(self.unit);
        (self.fact == Fact::AGE).then_some(AgeBand { from: self.value as u16, to })
    }

    /// When it was.
    pub fn time(&self) -> Option<i64> {
        (self.time != NO_TIME).then_some(self.time)
    }
}

/// A value of a size that is always the same, so that it can wait in a file.
pub(crate) trait Fixed: Copy {
    /// Its bytes in a file.
    const BYTES: usize;

    /// Appends it.
    fn put(&self, bytes: &mut Vec<u8>);

    /// Takes it from the front of `bytes`, which has at least `BYTES`.
    fn take(bytes: &[u8]) -> Option<Self>;
}

impl Fixed for Event {
    const BYTES: usize = 30;

    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.subject.to_le_bytes());
        bytes.extend_from_slice(&self.fact.0.to_le_bytes());
        bytes.extend_from_slice(&self.visit.0.to_le_bytes());
        bytes.extend_from_slice(&self.time.to_le_bytes());
        bytes.extend_from_slice(&self.value.to_le_bytes());
        bytes.extend_from_slice(&self.unit.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            subject: u32::from_le_bytes(*bytes.first_chunk()?),
            fact: Fact(u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?)),
            visit: VisitKey(u64::from_le_bytes(*bytes.get(8..)?.first_chunk()?)),
            time: i64::from_le_bytes(*bytes.get(16..)?.first_chunk()?),
            value: f32::from_le_bytes(*bytes.get(24..)?.first_chunk()?),
            unit: u16::from_le_bytes(*bytes.get(28..)?.first_chunk()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_a_file() {
        let event = Event::new(7, Fact(3), VisitKey::named("b-1"), Some(-5)).valued(1.5, 9);
        let mut bytes = Vec::new();
        event.put(&mut bytes);
        assert_eq!(bytes.len(), Event::BYTES);
        assert_eq!(Event::take(&bytes), Some(event));
        assert_eq!(Event::take(&bytes[1..]), None);
    }

    #[test]
    fn visits_are_told_apart() {
        assert_eq!(VisitKey::named("12").as_number(), Some(12));
        assert_eq!(VisitKey::named("012").as_number(), None);
        assert_ne!(VisitKey::named("012"), VisitKey::named("12"));
        assert_eq!(VisitKey::named("18446744073709551615").as_number(), None);
        for day in [-800_000, -1, 0, 20_000] {
            assert_eq!(VisitKey::day(day * DAY + 5).as_day(), Some(day));
        }
        assert_eq!(VisitKey::STATIC.as_day(), None);
        assert!(VisitKey::named("9") < VisitKey::named("10"));
        for number in [0, 7, -7, i64::MAX, i64::MIN] {
            assert_eq!(VisitKey::numbered(number), VisitKey::named(&number.to_string()));
        }
    }

    #[test]
    fn ages_are_bands() {
        for band in ["40-50", "100+"] {
            let band: AgeBand = band.parse().unwrap();
            assert_eq!(Event::aged(1, VisitKey::STATIC, band).age(), Some(band));
        }
        assert_eq!(Event::new(1, Fact::VISIT, VisitKey::STATIC, None).age(), None);
    }
}
