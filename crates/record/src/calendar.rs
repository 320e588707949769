//! The calendar: times in microseconds since 1970, read as tables write them and written as people
//! do.

use std::fmt;

/// Microseconds in a day.
pub const DAY: i64 = 86_400_000_000;

const SECOND: i64 = 1_000_000;

/// The first of January 2000, when records begin that have no dates.
pub const UNDATED_START: i64 = 10_957 * DAY;

/// The days from 1970-01-01 to a date of the Gregorian calendar; none where there is no such date.
pub fn day(year: i64, month: i64, day: i64) -> Option<i64> {
    const LENGTHS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = LENGTHS[month as usize - 1] + i64::from(leap && month == 2);
    if !(1..=length).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last of its year.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * months + 2) / 5 + day - 1;
    Some(years * 365 + years / 4 - years / 100 + years / 400 + of_year - 719_468)
}

/// The year, month and day of a day counted from 1970-01-01.
pub fn civil(days: i64) -> (i64, i64, i64) {
    // 400 years are an era of 146,097 days; that of the year 0 began 719,468 days before 1970.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let months = (5 * of_year + 2) / 153;
    let day = of_year - (153 * months + 2) / 5 + 1;
    let month = if months < 10 { months + 3 } else { months - 9 };
    (era * 400 + years + i64::from(month <= 2), month, day)
}

/// The day of a time, counted from 1970-01-01.
pub fn day_of(time: i64) -> i64 {
    time.div_euclid(DAY)
}

/// The day of the week of a day counted from 1970-01-01: Monday is 0.
///
/// ```
/// use consequence_record::calendar::{day, weekday};
///
/// assert_eq!(day(2026, 11, 16).map(weekday), Some(0));
/// ```
pub fn weekday(day: i64) -> usize {
    // The first of January 1970 was a Thursday.
    (day.rem_euclid(7) as usize + 3) % 7
}

/// The full years between two times.
pub fn years_between(from: i64, to: i64) -> i64 {
    let (from_year, from_month, from_day) = civil(from.div_euclid(DAY));
    let (to_year, to_month, to_day) = civil(to.div_euclid(DAY));
    to_year - from_year - i64::from((to_month, to_day) < (from_month, from_day))
}

/// A time in microseconds since 1970 from `2024-01-31`, `2024/01/31` or `20240131`, with or without
/// a time of day. It is what the clock on the wall showed: an offset from UTC is dropped.
pub fn parse(text: &str) -> Option<i64> {
    parse_with_offset(text).map(|(time, _)| time)
}

/// The same, and whether an offset from UTC was dropped, `Z` being one too.
///
/// ```
/// use consequence_record::calendar::{parse, parse_with_offset};
///
/// let clock = parse("2024-01-31 16:05");
/// assert_eq!(parse_with_offset("2024-01-31T16:05:00+01:00"), clock.map(|time| (time, true)));
/// assert_eq!(parse_with_offset("2024-01-31T16:05:00"), clock.map(|time| (time, false)));
/// ```
pub fn parse_with_offset(text: &str) -> Option<(i64, bool)> {
    let text = text.trim();
    let compact = text.len() >= 8 && text.bytes().take(8).all(|byte| byte.is_ascii_digit());
    let (date, rest) = text.split_at_checked(if compact { 8 } else { 10 })?;
    let days = match date.as_bytes() {
        [_, _, _, _, b'-', _, _, b'-', _, _] | [_, _, _, _, b'/', _, _, b'/', _, _] => {
            day(digits(date.get(..4)?)?, digits(date.get(5..7)?)?, digits(date.get(8..)?)?)?
        }
        [_, _, _, _, _, _, _, _] => {
            day(digits(date.get(..4)?)?, digits(date.get(4..6)?)?, digits(date.get(6..)?)?)?
        }
        _ => return None,
    };
    let (time, offset) = match rest.strip_prefix(['T', 't', ' ']) {
        Some(time) => time_of_day(time.trim())?,
        None if rest.is_empty() => (0, false),
        None => return None,
    };
    Some((days * DAY + time, offset))
}

/// A time from `2/24/96 14:38`: month, day and a year without its century, which is the one that
/// brings the year closest to `near`.
pub fn parse_short(text: &str, near: i64) -> Option<i64> {
    let (date, time) = match text.trim().split_once(' ') {
        Some((date, time)) => (date, time_of_day(time.trim())?.0),
        None => (text.trim(), 0),
    };
    let mut parts = date.split('/');
    let (month, of_month, year) = (digits(parts.next()?)?, digits(parts.next()?)?, parts.next()?);
    if parts.next().is_some() || year.len() != 2 {
        return None;
    }
    let after = (digits(year)? - near).rem_euclid(100);
    let year = near + if after >= 50 { after - 100 } else { after };
    Some(day(year, month, of_month)? * DAY + time)
}

/// The microseconds of `16:05`, `16:05:30.25`, `16:05:30Z` or `16:05:30+01:00` on the clock, and
/// whether there was an offset from UTC.
fn time_of_day(text: &str) -> Option<(i64, bool)> {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) if text[at..].eq_ignore_ascii_case("z") => (&text[..at], true),
        Some(at) => {
            let zone = &text[at + 1..];
            let (hours, minutes) = match zone.split_once(':') {
                Some(parts) => parts,
                None if zone.len() == 4 && zone.is_ascii() => zone.split_at(2),
                None => (zone, "0"),
            };
            // It says nothing here, but it must be one.
            digits(hours).filter(|&hours| hours < 24).zip(digits(minutes).filter(|&m| m < 60))?;
            (&text[..at], true)
        }
        None => (text, false),
    };
    let clock = clock.trim_end();
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = whole.split(':');
    let (hours, minutes) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let seconds = parts.next().map_or(Some(0), digits)?;
    if hours > 23 || minutes > 59 || seconds > 60 || parts.next().is_some() {
        return None;
    }
    let micros = match fraction.get(..fraction.len().min(6))? {
        "" => 0,
        part => digits(part)? * 10_i64.pow(6 - part.len() as u32),
    };
    Some((((hours * 60 + minutes) * 60 + seconds) * SECOND + micros, offset))
}

/// A number of a few digits and nothing else.
fn digits(text: &str) -> Option<i64> {
    let short = (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if short { text.parse().ok() } else { None }
}

/// The day of a time, in microseconds from 1970 on, shown as `2000-01-31`.
#[derive(Clone, Copy, Debug)]
pub struct Date(pub i64);

impl Date {
    /// The year.
    pub fn year(self) -> i64 {
        civil(self.0.div_euclid(DAY)).0
    }
}

impl fmt::Display for Date {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        write!(out, "{year:04}-{month:02}-{day:02}")
    }
}

/// A time, shown as `2000-01-31 23:59:59`.
#[derive(Clone, Copy, Debug)]
pub struct Moment(pub i64);

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_day = self.0.rem_euclid(DAY);
        let seconds = of_day / SECOND;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(out, "{} {hour:02}:{minute:02}:{second:02}", Date(self.0))?;
        match of_day % SECOND {
            0 => Ok(()),
            micros => write!(out, ".{micros:06}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_around_the_edges() {
        let day = |days: i64| Date(days * DAY).to_string();
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(-1), "1969-12-31");
        assert_eq!(day(10_957), "2000-01-01");
        assert_eq!(day(11_016), "2000-02-29");
        assert_eq!(day(11_017), "2000-03-01");
        assert_eq!(day(47_540), "2100-02-28");
        assert_eq!(day(47_541), "2100-03-01");
        assert_eq!(day(-719_468), "0000-03-01");
        assert_eq!(Moment(-1).to_string(), "1969-12-31 23:59:59.999999");
        assert_eq!(Moment(DAY / 2).to_string(), "1970-01-01 12:00:00");
        assert!(
            !Moment(i64::MIN).to_string().is_empty() && !Moment(i64::MAX).to_string().is_empty()
        );
    }

    #[test]
    fn every_day_of_a_thousand_years_follows_the_one_before() {
        let mut before = civil(-400_000);
        for days in -399_999..400_000 {
            let now = civil(days);
            let next_day = now == (before.0, before.1, before.2 + 1);
            let next_month = now == (before.0, before.1 + 1, 1) && before.2 >= 28;
            let next_year = now == (before.0 + 1, 1, 1) && (before.1, before.2) == (12, 31);
            assert!(next_day || next_month || next_year, "{before:?} {now:?}");
            before = now;
        }
    }

    #[test]
    fn days_follow_the_calendar() {
        assert_eq!(day(1970, 1, 1), Some(0));
        assert_eq!(day(2000, 3, 1), Some(11_017));
        assert_eq!(day(1969, 12, 31), Some(-1));
        assert_eq!(day(2100, 2, 29), None);
        assert_eq!(day(2000, 2, 29), Some(11_016));
        for days in (-719_162..2_932_896).step_by(37) {
            let (year, month, of_month) = civil(days);
            assert_eq!(day(year, month, of_month), Some(days));
        }
    }

    #[test]
    fn many_ways_to_write_a_time() {
        let time = Some(11_017 * DAY + (14 * 60 + 5) * 60_000_000);
        for text in [
            "2000-03-01 14:05",
            "2000-03-01T14:05:00Z",
            "2000/03/01 14:05:00",
            "20000301 14:05:00.000",
            "2000-03-01T14:05:00+01:00",
            " 2000-03-01 14:05:00 ",
            "2000-03-01T14:05:00-0500",
            "2000-03-01T14:05:00+14",
        ] {
            assert_eq!(parse(text), time, "{text}");
            let offset = text.contains(['Z', '+']) || text.contains("-05");
            assert_eq!(parse_with_offset(text).map(|(_, offset)| offset), Some(offset), "{text}");
        }
        assert_eq!(parse("2000-03-01"), Some(11_017 * DAY));
        assert_eq!(parse("2000-03-01 00:00:00.25"), Some(11_017 * DAY + 250_000));
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "",
            "soon",
            "2000",
            "2000-13-01",
            "2000-02-30",
            "2000-03-01x",
            "01/02/2000",
            "2000-03-01 25:00",
            "2000-03-01 14",
            "0000-00-00",
            "2000-03-01 14:05:00.é",
            "été 2000-é",
            "99999999999999999999",
            "2000-03-01T",
            "2000-3-1-----",
            "2000-03-01 14:05+x",
            "2000-03-01 14:05+25:00",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_short_year_is_the_nearest() {
        let year = |text, near| parse_short(text, near).map(|time| civil(time.div_euclid(DAY)).0);
        assert_eq!(year("2/24/96 14:38", 2190), Some(2196));
        assert_eq!(year("2/24/96 14:38", 2202), Some(2196));
        assert_eq!(year("9/2/05", 2196), Some(2205));
        assert_eq!(year("9/2/2005", 2196), None);
        assert_eq!(year("31/2/05", 2196), None);
    }

    #[test]
    fn years_are_full() {
        let time = |text| parse(text).unwrap();
        assert_eq!(years_between(time("2000-03-02"), time("2020-03-01")), 19);
        assert_eq!(years_between(time("2000-03-02"), time("2020-03-02")), 20);
        assert_eq!(years_between(time("2000-03-02"), time("2000-03-01")), -1);
    }
}
