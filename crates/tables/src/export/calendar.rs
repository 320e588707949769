//! Times as people write them.

use std::fmt;

const DAY: i64 = 86_400_000_000;
const SECOND: i64 = 1_000_000;

/// The day of a time in microseconds since 1970, as `2000-01-31`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Date(pub i64);

impl Date {
    /// The year, month and day.
    fn parts(self) -> (i64, i64, i64) {
        // Years that begin in March have their leap day last; 400 of them are an era, which has
        // 146,097 days. The era of the year 0 began 719,468 days before 1970.
        let days = self.0.div_euclid(DAY) + 719_468;
        let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let of_year = day - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let of_month = of_year - (153 * month + 2) / 5 + 1;
        let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        (era * 400 + year + later, month, of_month)
    }

    /// The year.
    pub fn year(self) -> i64 {
        self.parts().0
    }
}

impl fmt::Display for Date {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.parts();
        write!(out, "{year:04}-{month:02}-{day:02}")
    }
}

/// A time in microseconds since 1970, as `2000-01-31 23:59:59`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(pub i64);

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
        let mut before = Date(-400_000 * DAY).parts();
        for days in -399_999..400_000 {
            let now = Date(days * DAY).parts();
            let next_day = now == (before.0, before.1, before.2 + 1);
            let next_month = now == (before.0, before.1 + 1, 1) && before.2 >= 28;
            let next_year = now == (before.0 + 1, 1, 1) && (before.1, before.2) == (12, 31);
            assert!(next_day || next_month || next_year, "{before:?} {now:?}");
            before = now;
        }
    }
}
