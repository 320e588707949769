//! New dates, ages and values like those of a cohort.

use std::collections::BTreeMap;

use consequence_prng::{Draws, Purpose, VisitDraws};
use consequence_record::calendar::{self, DAY, civil, years_between};
use consequence_record::{
    AgeBand, Code, Details, EventDetail, Record, Scale, Vocabulary, stands_at_end,
};

use crate::Histogram;
use crate::fit::{month, value};
use crate::model::{Births, Dates, DetailModel, Gap, ToldTo, Values};

/// The last second of a day, in microseconds.
const DAY_END: i64 = DAY - 1_000_000;

/// Where dates end: the last day of the year 9999.
pub(crate) const LAST_DAY: i64 = 2_932_896;

/// How often something is drawn again that cannot be.
const TRIES: u32 = 16;

/// A [`DetailModel`] over the codes of a vocabulary, ready to give records their dates and values.
#[derive(Debug)]
pub struct Drawer<'m> {
    pub(crate) dates: Option<&'m Dates>,
    births: Option<&'m Births>,
    /// By code: what it tells beyond itself.
    pub(crate) tells: Vec<Tells<'m>>,
}

/// What a code tells beyond itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tells<'m> {
    Nothing,
    Gap(&'m Gap),
    Stay(&'m Histogram),
    Age(AgeBand, &'m Histogram),
    Value(&'m Values, &'m Histogram),
    /// That it is said at the end of the visit.
    End,
}

/// What is drawn of a visit, by index; each has room for as many tries as there are.
#[derive(Clone, Copy)]
pub(crate) enum What {
    Weekday,
    Days,
    Stay,
    Month,
    DayOfMonth,
    Age,
    DayOfBirth,
}

pub(crate) fn uniform(draws: &mut VisitDraws, what: What, attempt: u32) -> f64 {
    draws.uniform(what as u32 * TRIES + attempt)
}

impl DetailModel {
    /// The model over a vocabulary; codes that it does not know tell nothing.
    pub fn drawer(&self, vocabulary: &Vocabulary) -> Drawer<'_> {
        let bands = AgeBand::of_statics(vocabulary);
        let tells = |code: Code| {
            let name = vocabulary.name(code);
            if let Some(gap) = self.dates.as_ref().and_then(|dates| dates.gaps.get(name)) {
                return Tells::Gap(gap);
            }
            if let Some(days) = self.stays.get(name) {
                return Tells::Stay(days);
            }
            let ages = self.births.as_ref().and_then(|births| births.ages.get(name));
            if let (Some(&band), Some(ages)) = (bands.get(&code), ages) {
                return Tells::Age(band, ages);
            }
            if let Some(values) = self.values.get(name)
                && let Some(numbers) = &values.numbers
            {
                return Tells::Value(values, numbers);
            }
            if stands_at_end(name) { Tells::End } else { Tells::Nothing }
        };
        Drawer {
            dates: self.dates.as_ref(),
            births: self.births.as_ref(),
            tells: vocabulary.codes().map(tells).collect(),
        }
    }

    /// What the values of codes are.
    pub fn scales_over(&self, vocabulary: &Vocabulary) -> BTreeMap<Code, Scale> {
        let known = |(name, scale): (&str, Scale)| Some((vocabulary.code(name)?, scale));
        self.scales().filter_map(known).collect()
    }
}

impl Drawer<'_> {
    /// The details of a record. They depend on the record, on the seed of the draws and on the record's
    /// number alone.
    pub fn draw(&self, record: &Record, draws: &Draws, number: u64) -> Details {
        let visits = &record.visits;
        let dated = self.dates.filter(|_| visits.len() > 1);
        let drawn = |attempt: u16| Drawn { drawer: self, visits, draws, number, attempt };
        let mut details = dated.map(|dates| within(dates, drawn)).unwrap_or_default();
        drawn(0).events(&mut details);
        details
    }

    pub(crate) fn told(&self, codes: &[Code]) -> impl Iterator<Item = Tells<'_>> {
        codes.iter().map(|code| self.tells[code.index()])
    }

    /// The day of birth of a patient whose first encounter is on a day.
    pub(crate) fn birth(
        &self,
        statics: &[Code],
        first: i64,
        draws: &mut VisitDraws,
    ) -> Option<i64> {
        let told_to = self.births?.told_to;
        let (band, ages) = self.told(statics).find_map(|tells| match tells {
            Tells::Age(band, ages) => Some((band, ages)),
            _ => None,
        })?;
        let fits =
            |&birth: &i64| birth <= first && band.holds(years_between(birth * DAY, first * DAY));
        let mut births = (0..TRIES).map(|attempt| {
            let age = ages.draw(uniform(draws, What::Age, attempt));
            match told_to {
                ToldTo::Day => first - age,
                ToldTo::Month => month_day(month(first) - age, 1),
                ToldTo::Year => month_day((civil(first).0 - age) * 12, 1),
            }
        });
        if let Some(birth) = births.find(fits) {
            return Some(birth);
        }
        // The age at the beginning of the band, to the day.
        let (year, month, day) = civil(first);
        let birth = calendar::day(year - i64::from(band.from), month, day.min(28))?;
        let within = (uniform(draws, What::DayOfBirth, 0) * 300.0) as i64;
        [birth - within, birth].into_iter().find(fits)
    }
}

/// Dates of the first attempt that takes no longer than records do, or else of the shortest. Bands leave some room, and
/// many gaps together a lot of it: codes of a whole year can be drawn as one of thirteen months.
fn within<'a>(dates: &Dates, drawn: impl Fn(u16) -> Drawn<'a>) -> Details {
    let (mut shortest, mut least) = (Details::default(), i64::MAX);
    for attempt in 0..TRIES as u16 {
        let (details, days) = drawn(attempt).dates(dates);
        if days < least {
            (shortest, least) = (details, days);
        }
        if dates.longest.is_none_or(|longest| least <= longest) {
            break;
        }
    }
    shortest
}

/// The draws of one record.
pub(crate) struct Drawn<'a> {
    pub drawer: &'a Drawer<'a>,
    pub visits: &'a [Vec<Code>],
    pub draws: &'a Draws,
    pub number: u64,
    /// Which of the attempts at dates it is.
    pub attempt: u16,
}

impl Drawn<'_> {
    fn of(&self, visit: usize, purpose: Purpose) -> VisitDraws {
        self.draws.visit(self.number, self.attempt, visit as u16, purpose)
    }

    /// When encounters begin and end, and the birth; and the days from the first to the last.
    fn dates(&self, dates: &Dates) -> (Details, i64) {
        let mut details = Details::default();
        let encounters = self.visits.len() - 1;
        let stays: Vec<Option<i64>> =
            (1..=encounters).map(|visit| self.stay(dates, visit)).collect();
        let mut first = self.of(1, Purpose::Date);
        let start_weekday = draw_weekday(&dates.weekdays, uniform(&mut first, What::Weekday, 0));
        let mut days = vec![0_i64];
        for visit in 2..=encounters {
            let before = days[visit - 2];
            let least = stays[visit - 2].filter(|_| dates.one_stay_at_a_time).unwrap_or(0);
            let on = (start_weekday as i64 + before).rem_euclid(7) as usize;
            days.push((before + self.gap(dates, visit, on, least)).min(LAST_DAY));
        }
        let start = dates.start(start_weekday, days[encounters - 1], &mut first);
        details.times = days.iter().map(|day| (start + day).min(LAST_DAY) * DAY).collect();
        let birth = self.drawer.birth(&self.visits[0], start, &mut self.of(0, Purpose::Date));
        details.birth = birth.map(|birth| birth * DAY);
        if stays.iter().any(Option::is_some) {
            details.ends = stays.iter().zip(&details.times).map(end_of_stay).collect();
        }
        (details, days[encounters - 1])
    }

    /// The days that a stay takes; no more than can pass until the next, where stays do not overlap.
    fn stay(&self, dates: &Dates, visit: usize) -> Option<i64> {
        let next = self.told_gap(visit + 1).filter(|_| dates.one_stay_at_a_time);
        self.stay_until(visit, next.map(|gap| gap.days.range().1))
    }

    /// The days that a stay takes; no more than so many, if it can be less.
    pub fn stay_until(&self, visit: usize, most: Option<i64>) -> Option<i64> {
        let days = self.drawer.told(&self.visits[visit]).find_map(|tells| match tells {
            Tells::Stay(days) => Some(days),
            _ => None,
        })?;
        let (from, to) = days.range();
        let most = most.filter(|&most| most < to);
        let shorter = most.and_then(|most| days.between(from, most));
        let days = shorter.as_ref().unwrap_or(days);
        Some(days.draw(uniform(&mut self.of(visit, Purpose::Date), What::Stay, 0)))
    }

    /// The days from the encounter before, which began on a day of the week; one where no code tells.
    fn gap(&self, dates: &Dates, visit: usize, weekday: usize, least: i64) -> i64 {
        let gap = self.told_gap(visit);
        gap.map_or(1, |gap| dates.days(gap, weekday, least, &mut self.of(visit, Purpose::Date)))
    }

    /// What is known of the days before a visit, if there is one and a code of it tells them.
    fn told_gap(&self, visit: usize) -> Option<&Gap> {
        self.drawer.told(self.visits.get(visit)?).find_map(|tells| match tells {
            Tells::Gap(gap) => Some(gap),
            _ => None,
        })
    }

    /// The values of codes, and when those are said that stand at the end.
    pub fn events(&self, details: &mut Details) {
        for (visit, codes) in self.visits.iter().enumerate() {
            let mut draws = self.of(visit, Purpose::Value);
            let begin = visit.checked_sub(1).and_then(|at| details.times.get(at).copied());
            let end = details.view().end(visit).or(begin.map(|begin| begin + DAY_END));
            for &code in codes {
                let (time, value) = match self.drawer.tells[code.index()] {
                    Tells::Value(values, numbers) => {
                        let number = numbers.draw(draws.uniform(code.0));
                        (None, Some(value(number, values.decimals)))
                    }
                    Tells::End => (end, None),
                    _ => (None, None),
                };
                if time.is_some() || value.is_some() {
                    details.events.push(EventDetail { visit: visit as u32, code, time, value });
                }
            }
        }
    }
}

impl Dates {
    /// The days of a gap after an encounter on a day of the week; `least` if that can be.
    pub fn days(&self, gap: &Gap, weekday: usize, least: i64, draws: &mut VisitDraws) -> i64 {
        let (from, to) = gap.days.range();
        let later = (least > from).then(|| gap.days.between(least, to)).flatten();
        let days = later.as_ref().unwrap_or(&gap.days);
        for attempt in 0..TRIES {
            let on = uniform(draws, What::Weekday, attempt);
            let row = &gap.weekdays_after[weekday];
            let row = if row.iter().any(|&count| count > 0) {
                row
            } else {
                &self.weekdays_after[weekday]
            };
            if row.iter().all(|&count| count == 0) {
                break;
            }
            let next = draw_weekday(row, on) as i64;
            let remainder = (next - weekday as i64).rem_euclid(7);
            let at = uniform(draws, What::Days, attempt);
            if let Some(days) = days.draw_remainder(at, 7, remainder) {
                return days;
            }
        }
        days.draw(uniform(draws, What::Days, 0))
    }

    /// The day of the first encounter of a record that goes on for so many days.
    pub fn start(&self, weekday: usize, span: i64, draws: &mut VisitDraws) -> i64 {
        let group =
            self.starts.iter().find(|group| group.up_to_days.is_none_or(|most| span <= most));
        let Some(months) = group.map(|group| &group.months) else { return 0 };
        let on = |drawn: i64, at: f64| {
            let (first, after) = (month_day(drawn, 1), month_day(drawn + 1, 1));
            let first = first + (weekday as i64 - calendar::weekday(first) as i64).rem_euclid(7);
            first + 7 * (at * ((after - first + 6) / 7) as f64) as i64
        };
        for attempt in 0..TRIES {
            let drawn = months.draw(uniform(draws, What::Month, attempt));
            let start = on(drawn, uniform(draws, What::DayOfMonth, attempt));
            if month(start + span) <= self.last_month {
                return start;
            }
        }
        // Too long for any of them: it ends when the cohort does.
        let last = month_day(self.last_month + 1, 1) - 1;
        let start = last - span;
        start - (calendar::weekday(start) as i64 - weekday as i64).rem_euclid(7)
    }
}

/// When a stay ends that began so, and takes so many days.
pub(crate) fn end_of_stay((stay, begin): (&Option<i64>, &i64)) -> Option<i64> {
    stay.map(|days| begin + days * DAY + DAY_END)
}

/// A day of the week by counts; any where there are none.
pub(crate) fn draw_weekday(counts: &[u64; 7], uniform: f64) -> usize {
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return (uniform * 7.0) as usize;
    }
    let mut left = uniform * total as f64;
    for (weekday, &count) in counts.iter().enumerate() {
        if left < count as f64 {
            return weekday;
        }
        left -= count as f64;
    }
    counts.iter().rposition(|&count| count > 0).unwrap_or(0)
}

/// A day of a month that is counted from the year 0.
fn month_day(month: i64, day: i64) -> i64 {
    let (year, month) = (month.div_euclid(12).clamp(1, 9999), month.rem_euclid(12) + 1);
    calendar::day(year, month, day).unwrap_or(0)
}
