//! Dates that are drawn while a record is written, so that what is decided can depend on them.
//!
//! The days between encounters are drawn one by one. When the record began is told at first as if it went on for
//! long; once it is known how long it is, the beginning is drawn again, as long as the patient is of the same age at
//! every encounter.

use consequence_prng::{Draws, Purpose};
use consequence_record::calendar::{DAY, day_of, weekday, years_between};
use consequence_record::{AgeBand, Code, Details, DetailsView, EventDetail, Record};

use crate::draw::{Drawer, Drawn, LAST_DAY, Tells, What, draw_weekday, end_of_stay, uniform};
use crate::fit::value;

/// How often the beginning of a record is drawn again.
const BEGINNINGS: u16 = 8;

/// The dates of a record that is being written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diary {
    number: u64,
    weekday: usize,
    start: i64,
    birth: Option<i64>,
    /// The days from the first encounter to each, the first among them.
    days: Vec<i64>,
    /// Whether the record was given with its first encounters: their dates stay as they are.
    begun: bool,
}

impl Diary {
    /// The dates of a record that exists and is gone on with; none if it has no dates.
    ///
    /// ```
    /// use consequence_details::Diary;
    /// use consequence_record::{Details, calendar::DAY};
    ///
    /// let details = Details { times: vec![100 * DAY, 130 * DAY], ..Details::default() };
    /// let mut diary = Diary::given(details.view(), 0).unwrap();
    /// assert_eq!(diary.day(), 130);
    /// diary.go_on(7);
    /// assert_eq!(diary.day(), 137);
    /// ```
    pub fn given(details: DetailsView<'_>, number: u64) -> Option<Self> {
        let start = day_of(*details.times.first()?);
        Some(Self {
            number,
            weekday: weekday(start),
            start,
            birth: details.birth.map(day_of),
            days: details.times.iter().map(|&time| day_of(time) - start).collect(),
            begun: true,
        })
    }

    /// The days from the first encounter to the last so far.
    pub fn span(&self) -> i64 {
        self.days.last().copied().unwrap_or(0)
    }

    /// The day of the last encounter so far, since 1970.
    pub fn day(&self) -> i64 {
        self.start + self.span()
    }

    /// The years that the patient has completed on a day.
    pub fn age(&self, day: i64) -> Option<AgeBand> {
        let years = years_between(self.birth? * DAY, day * DAY).clamp(0, u16::MAX.into()) as u16;
        Some(AgeBand { from: years, to: years.checked_add(1) })
    }

    /// Goes on to the next encounter, so many days after the last.
    pub fn go_on(&mut self, gap: i64) {
        self.days.push((self.span() + gap).min(LAST_DAY - self.start));
    }

    fn ages(&self, start: i64, birth: Option<i64>) -> Vec<Option<i64>> {
        let years = |day: &i64| Some(years_between(birth? * DAY, (start + day) * DAY));
        self.days.iter().map(years).collect()
    }
}

impl Drawer<'_> {
    /// Begins a record with a static visit: its first encounter has a day. None where the model tells no dates.
    pub fn begin(&self, statics: &[Code], draws: &Draws, number: u64) -> Option<Diary> {
        let dates = self.dates?;
        let mut first = draws.visit(number, 0, 1, Purpose::Date);
        let weekday = draw_weekday(&dates.weekdays, uniform(&mut first, What::Weekday, 0));
        let start = dates.start(weekday, dates.longest.unwrap_or(0), &mut first);
        let birth = self.birth(statics, start, &mut draws.visit(number, 0, 0, Purpose::Date));
        Some(Diary { number, weekday, start, birth, days: vec![0], begun: false })
    }

    /// The days from the first encounter to the last that records hardly ever exceed.
    pub fn longest(&self) -> Option<i64> {
        self.dates.and_then(|dates| dates.longest)
    }

    /// The days that may pass until an encounter with a code of days, after one with these codes; none if it is no
    /// such code.
    pub fn days_of(&self, code: Code, before: &[Code]) -> Option<(i64, i64)> {
        let Tells::Gap(gap) = self.tells[code.index()] else { return None };
        let (from, to) = gap.days.range();
        Some((from.max(self.least(before)).min(to), to))
    }

    /// Days until an encounter with a code of days, as they are drawn at an attempt.
    pub fn draw_days(
        &self,
        diary: &Diary,
        code: Code,
        before: &[Code],
        draws: &Draws,
        attempt: u16,
    ) -> Option<i64> {
        let (Tells::Gap(gap), Some(dates)) = (self.tells[code.index()], self.dates) else {
            return None;
        };
        let on = (diary.weekday as i64 + diary.span()).rem_euclid(7) as usize;
        let visit = diary.days.len() as u16 + 1;
        let mut drawn = draws.visit(diary.number, attempt, visit, Purpose::Date);
        Some(dates.days(gap, on, self.least(before), &mut drawn))
    }

    /// The days that must pass after an encounter with these codes: those of its stay, where stays do not overlap.
    fn least(&self, codes: &[Code]) -> i64 {
        let one_at_a_time = self.dates.is_some_and(|dates| dates.one_stay_at_a_time);
        let stays = self.told(codes).find_map(|tells| match tells {
            Tells::Stay(days) => Some(days.range().0),
            _ => None,
        });
        stays.filter(|_| one_at_a_time).unwrap_or(0)
    }

    /// What a code measures in a visit, if it measures anything: what [`Drawer::keep`] and [`Drawer::draw`] tell, too.
    pub fn value(&self, visit: usize, code: Code, draws: &Draws, number: u64) -> Option<f32> {
        let Tells::Value(values, numbers) = self.tells[code.index()] else { return None };
        let mut drawn = draws.visit(number, 0, visit as u16, Purpose::Value);
        Some(value(numbers.draw(drawn.uniform(code.0)), values.decimals))
    }

    /// The details of a record that was written along a diary.
    pub fn keep(&self, record: &Record, diary: &Diary, draws: &Draws) -> Details {
        let visits = &record.visits;
        let number = diary.number;
        let drawn = Drawn { drawer: self, visits, draws, number, attempt: 0 };
        let mut details = Details::default();
        if let Some(dates) = self.dates {
            let told = diary.ages(diary.start, diary.birth);
            let begun = (0..BEGINNINGS).filter(|_| !diary.begun).map(|attempt| {
                let of = |visit: u16| draws.visit(number, attempt, visit, Purpose::Date);
                let start = dates.start(diary.weekday, diary.span(), &mut of(1));
                (start, self.birth(&visits[0], start, &mut of(0)))
            });
            let mut alike = begun.filter(|&(start, birth)| diary.ages(start, birth) == told);
            let (start, birth) = alike.next().unwrap_or((diary.start, diary.birth));
            details.times =
                diary.days.iter().map(|day| (start + day).min(LAST_DAY) * DAY).collect();
            details.birth = birth.map(|birth| birth * DAY);
            let stays: Vec<Option<i64>> = (1..visits.len())
                .map(|visit| {
                    let next = diary.days.get(visit).map(|next| next - diary.days[visit - 1]);
                    drawn.stay_until(visit, next.filter(|_| dates.one_stay_at_a_time))
                })
                .collect();
            if stays.iter().any(Option::is_some) {
                details.ends = stays.iter().zip(&details.times).map(end_of_stay).collect();
            }
        }
        drawn.events(&mut details);
        details
    }
}

/// What is told of the encounters that a record was given with, so many, and what was drawn for those that follow them.
///
/// ```
/// use consequence_details::gone_on;
/// use consequence_record::Details;
///
/// let given = Details { times: vec![5], ..Details::default() };
/// let drawn = Details { times: vec![0, 86_400_000_000], ..Details::default() };
/// assert_eq!(gone_on(given.view(), 1, drawn).times, [5, 86_400_000_000]);
/// ```
pub fn gone_on(given: DetailsView<'_>, encounters: usize, drawn: Details) -> Details {
    let mut details = given.to_details();
    let all = drawn.times.len();
    if given.times.is_empty() {
        (details.birth, details.times) = (given.birth.or(drawn.birth), drawn.times);
    } else {
        // Days are drawn without a time of day: one on the last day given is no earlier than what was then.
        let last = given.times.last().copied().unwrap_or(i64::MIN);
        details.times.extend(drawn.times.iter().skip(encounters).map(|&time| time.max(last)));
    }
    if !given.ages.is_empty() {
        details.ages.resize(all.max(encounters), None);
    }
    if !given.ends.is_empty() || !drawn.ends.is_empty() {
        details.ends.resize(encounters, None);
        details.ends.extend(drawn.ends.iter().skip(encounters));
        details.ends.resize(all, None);
    }
    let later = |event: &&EventDetail| event.visit as usize > encounters;
    details.events.extend(drawn.events.iter().filter(later));
    details
}
