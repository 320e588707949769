//! Codes that come at some ages only, and codes that come again only after some days.
//!
//! Every code has a youngest age and a shortest interval in a cohort, and most of them are accidents: the
//! rarer a code is near the edge, the further the edge moves with more records. A rule shows as a step
//! instead. So only the neighbourhood of a border is looked at: how often the code comes just on the
//! side where it may, and how often it would come just on the other side, were it as likely in each
//! visit there. Borders are those that people name (12, 18 and 65 years; 28 and 90 days), each is a
//! claim of its own, and all of them count among the candidates that chance has to answer for.

use std::ops::Range;

use consequence_record::calendar::DAY;
use consequence_record::{DetailsView, RecordView};
use consequence_tally::{Counts as _, Paused, Rounds, Whose, counts};

use crate::claim::Claim;
use crate::found::{Class, Template};
use crate::options::{Cutoffs, MineOptions};
use crate::pool::{Candidate, Pool, Probability, Settled};
use crate::profile::Profile;
use crate::records::{Columns, sweep};
use crate::survey::Sample;
use crate::templates::{candidate, part_of_group};

/// Completed years at which something may begin or end.
const YEARS: [u16; 18] = [1, 2, 5, 10, 12, 15, 18, 21, 30, 40, 45, 50, 55, 60, 65, 70, 75, 80];
/// Ages that are told apart.
const AGES: usize = 100;
/// Days that something may have to wait.
const DAYS: [u32; 10] = [7, 14, 21, 28, 30, 60, 90, 120, 180, 365];
/// Days after which nothing is counted.
const FARTHEST: usize = 548;
/// Codes that are looked at, the most frequent first: each takes two kilobytes for each worker.
const MOST_CODES: usize = 10_000;
const NONE: u32 = u32::MAX;

/// How far the neighbourhood of an age reaches to both sides.
fn reach(years: u16) -> usize {
    usize::from((years / 4).clamp(1, 5))
}

/// The ages next to a border: those below it, and those from it on.
fn neighbours(years: u16) -> [Range<usize>; 2] {
    let (border, reach) = (usize::from(years), reach(years));
    [border - reach..border, border..(border + reach).min(AGES)]
}

/// Days in steps, as fine as borders and their neighbourhoods need: half as many days before a border, and
/// half as many from it on.
struct Steps {
    of_day: Vec<u8>,
    count: usize,
}

impl Steps {
    fn new() -> Self {
        let mut starts: Vec<u32> =
            DAYS.iter().flat_map(|&days| [days.div_ceil(2), days, days + days / 2]).collect();
        starts.sort_unstable();
        starts.dedup();
        let of_day = |day| starts.partition_point(|&start| start as usize <= day) as u8;
        Self { of_day: (0..FARTHEST).map(of_day).collect(), count: starts.len() + 1 }
    }

    /// The step of so many days, if it is counted.
    fn of(&self, days: usize) -> Option<usize> {
        self.of_day.get(days).map(|&step| step.into())
    }

    /// The first step that begins with so many days, or later.
    fn from(&self, days: u32) -> usize {
        self.of(days as usize).unwrap_or(self.count)
    }

    /// The steps next to a border, before it and from it on.
    fn near(&self, days: u32) -> [Range<usize>; 2] {
        let [start, border, end] =
            [days.div_ceil(2), days, days + days / 2].map(|days| self.from(days));
        [start..border, border..end]
    }
}

/// The years completed at an encounter, where they are known to the year.
pub(crate) fn years_at(details: &DetailsView<'_>, visit: usize) -> Option<u16> {
    details.age(visit).filter(|age| age.to.is_none_or(|to| to == age.from + 1)).map(|age| age.from)
}

/// The day of an encounter, since 1970.
pub(crate) fn day_at(details: &DetailsView<'_>, visit: usize) -> Option<i64> {
    details.time(visit).map(|time| time.div_euclid(DAY))
}

/// Counts of the codes that are looked at, by their place among these.
struct Counts {
    /// By age: visits, and the codes in them.
    visits: Vec<u64>,
    codes: Vec<u64>,
    /// By code and age: visits with the code, and records that have it first, or last, at that age.
    visits_with: Vec<u32>,
    first: Vec<u32>,
    last: Vec<u32>,
    /// By code: records with it whose age is known.
    aged: Vec<u32>,
    /// By code and step of days since the code was first there: visits until it came again, and records in
    /// which it did.
    waiting: Vec<u32>,
    again: Vec<u32>,
    /// By code and step of days since the code was last there: visits with it, and records for which these are
    /// the fewest days.
    repeats: Vec<u32>,
    nearest: Vec<u32>,
}

impl Counts {
    fn new(codes: usize, steps: &Steps) -> Self {
        let (ages, days) = (vec![0; codes * AGES], vec![0; codes * steps.count]);
        Self {
            visits: vec![0; AGES],
            codes: vec![0; AGES],
            visits_with: ages.clone(),
            first: ages.clone(),
            last: ages,
            aged: vec![0; codes],
            waiting: days.clone(),
            again: days.clone(),
            repeats: days.clone(),
            nearest: days,
        }
    }
}

counts!(Counts { visits, codes, visits_with, first, last, aged, waiting, again, repeats, nearest });

/// What is kept of a code while a record is walked.
#[derive(Clone, Copy, Default)]
struct Seen {
    record: u64,
    first_visit: u32,
    last_visit: u32,
    /// The visit in which it came again first; 0: in none.
    again: u32,
    nearest: Option<u32>,
    first_age: Option<u16>,
    last_age: Option<u16>,
}

struct Part {
    counts: Counts,
    record: u64,
    seen: Vec<Seen>,
    /// The places of codes of the record.
    places: Vec<u32>,
    days: Vec<Option<i64>>,
    now: Vec<u32>,
}

/// The codes that are looked at.
struct Looked {
    place_of: Vec<u32>,
    columns: Vec<usize>,
    steps: Steps,
}

impl Looked {
    /// Codes that are common enough. Which part of its values a test gives is a matter of degree.
    fn at(profile: &Profile, columns: &Columns, cutoffs: &Cutoffs) -> Self {
        let steps = Steps::new();
        let least = cutoffs.never_for.max(1);
        let mut common: Vec<usize> = (0..columns.end())
            .filter(|&code| !columns.is_value[code] && profile.visits_with[code] >= least)
            .collect();
        common.sort_by_key(|&code| std::cmp::Reverse(profile.records_with[code]));
        common.truncate(MOST_CODES);
        common.sort_unstable();
        let mut place_of = vec![NONE; columns.len()];
        for (place, &column) in common.iter().enumerate() {
            place_of[column] = place as u32;
        }
        Self { place_of, columns: common, steps }
    }
}

/// What ages and days come to: codes of some ages, and codes that are days apart.
pub(crate) struct Times<'a> {
    pub columns: &'a Columns,
    pub profile: &'a Profile,
    pub cutoffs: &'a Cutoffs,
    pub options: &'a MineOptions,
}

impl Times<'_> {
    /// Looks at a sample of the train split.
    pub fn of(&self, rounds: &mut Rounds<'_>, sample: &Sample) -> Result<[Settled; 2], Paused> {
        let looked = Looked::at(self.profile, self.columns, self.cutoffs);
        let start = || Part {
            counts: Counts::new(looked.columns.len(), &looked.steps),
            record: 0,
            seen: vec![Seen::default(); looked.columns.len()],
            places: Vec::new(),
            days: Vec::new(),
            now: Vec::new(),
        };
        let counts: Counts = rounds.count(Whose::Cohort, "ages and days", |block| {
            let chosen = sample.all(block);
            let records = block.records.others(&chosen);
            let work = |part: &mut Part, place: usize| {
                part.record(self.columns, &looked, &records.record(place));
            };
            let join = |mut one: Part, other: Part| {
                one.counts.add(other.counts);
                one
            };
            let workers = rayon::current_num_threads();
            Ok::<_, Paused>(sweep(records.len(), workers, start, work, join).counts)
        })?;
        Ok([self.ages(&looked, &counts), self.days(&looked, &counts)])
    }

    fn ages(&self, looked: &Looked, counts: &Counts) -> Settled {
        let borders = YEARS.map(|years| {
            let [below, above] = neighbours(years);
            let part = |counts: &[u64]| {
                let sum = |range: &Range<usize>| counts[range.clone()].iter().sum::<u64>();
                [sum(&below), sum(&below) + sum(&above)]
            };
            let (visits, codes) = (part(&counts.visits), part(&counts.codes));
            let other = |[part, all]: [u64; 2]| [all - part, all];
            // A side's part in what chance would give, below and above.
            [part_of_group(visits, codes), part_of_group(other(visits), other(codes))]
        });
        let candidates = (2 * YEARS.len() * looked.columns.len()) as u64;
        let mut pool = Pool::new(Template::Ages, candidates, self.options);
        for (place, &code) in looked.columns.iter().enumerate() {
            let of = |counts: &[u32], ages: Range<usize>| {
                counts[place * AGES..][ages].iter().map(|&count| u64::from(count)).sum::<u64>()
            };
            for (&years, shares) in YEARS.iter().zip(borders) {
                let border = usize::from(years);
                let [below, above] = neighbours(years);
                for from in [true, false] {
                    let (records, outside, share) = match from {
                        true => (&counts.first, 0..border, shares[0]),
                        false => (&counts.last, border..AGES, shares[1]),
                    };
                    let near = of(records, below.start..above.end);
                    let claim = Claim::Aged { code, years, from };
                    let seen = Candidate {
                        trials: near as f64 * share,
                        scale: share,
                        ..candidate(
                            claim,
                            of(&counts.visits_with, 0..AGES),
                            of(&counts.visits_with, outside.clone()),
                            counts.aged[place].into(),
                            of(records, outside),
                        )
                    };
                    if near > 0 {
                        pool.offer(seen, || Probability::of(near, share));
                    }
                }
            }
        }
        tightest(pool.settle())
    }

    fn days(&self, looked: &Looked, counts: &Counts) -> Settled {
        let steps = &looked.steps;
        let candidates = (DAYS.len() * looked.columns.len()) as u64;
        let mut pool = Pool::new(Template::Apart, candidates, self.options);
        for (place, &code) in looked.columns.iter().enumerate() {
            let of = |counts: &[u32], days: Range<usize>| {
                counts[place * steps.count..][days]
                    .iter()
                    .map(|&count| u64::from(count))
                    .sum::<u64>()
            };
            for days in DAYS {
                let [below, above] = steps.near(days);
                let waiting = [below.clone(), above.clone()].map(|days| of(&counts.waiting, days));
                let near = of(&counts.again, below.start..above.end);
                let share = waiting[0] as f64 / (waiting[0] + waiting[1]).max(1) as f64;
                let seen = Candidate {
                    trials: near as f64 * share,
                    scale: share,
                    ..candidate(
                        Claim::Apart { code, days },
                        self.profile.visits_with[code],
                        of(&counts.repeats, 0..above.start),
                        self.profile.records_with[code],
                        of(&counts.nearest, 0..above.start),
                    )
                };
                if near > 0 {
                    pool.offer(seen, || Probability::of(near, share));
                }
            }
        }
        tightest(pool.settle())
    }
}

/// Of claims that say the same with several borders, the surest, and of those the one that says most.
fn tightest(mut settled: Settled) -> Settled {
    let subject = |claim: Claim| match claim {
        Claim::Aged { code, from, .. } => (code, from),
        Claim::Apart { code, .. } => (code, true),
        _ => (usize::MAX, false),
    };
    let says = |claim: Claim| match claim {
        Claim::Aged { years, from: true, .. } => i64::from(years),
        Claim::Aged { years, from: false, .. } => -i64::from(years),
        Claim::Apart { days, .. } => days.into(),
        _ => 0,
    };
    let key = |one: &Candidate| (subject(one.claim), one.class, -says(one.claim));
    settled.exact.sort_by_key(key);
    settled.exact.dedup_by_key(|one| subject(one.claim));
    let of = |class: Class| settled.exact.iter().filter(|one| one.class == class).count() as u64;
    (settled.tried.likely, settled.tried.doubted) = (of(Class::Likely), of(Class::Doubted));
    settled
}

impl Part {
    fn record(&mut self, columns: &Columns, looked: &Looked, record: &RecordView<'_>) {
        let details = record.details();
        let Self { counts, record: number, seen, places, days, now } = self;
        *number += 1;
        places.clear();
        days.clear();
        days.push(None);
        for visit in 1..record.len() {
            columns.encounter(record, visit, now);
            let age = years_at(&details, visit).map(|years| usize::from(years).min(AGES - 1));
            let day = day_at(&details, visit);
            days.push(day);
            if let Some(age) = age {
                counts.visits[age] += 1;
                counts.codes[age] += now.len() as u64;
            }
            for &column in now.iter() {
                let place = looked.place_of[column as usize];
                if place == NONE {
                    continue;
                }
                let at = place as usize;
                let one = &mut seen[at];
                if one.record != *number {
                    let first_visit = visit as u32;
                    *one = Seen { record: *number, first_visit, ..Seen::default() };
                    places.push(place);
                } else {
                    one.again = if one.again == 0 { visit as u32 } else { one.again };
                    if let (Some(day), Some(before)) = (day, days[one.last_visit as usize]) {
                        let apart = (day - before).clamp(0, i64::from(u32::MAX)) as u32;
                        if let Some(step) = looked.steps.of(apart as usize) {
                            counts.repeats[at * looked.steps.count + step] += 1;
                        }
                        one.nearest = Some(one.nearest.map_or(apart, |nearest| nearest.min(apart)));
                    }
                }
                one.last_visit = visit as u32;
                if let Some(age) = age {
                    counts.visits_with[at * AGES + age] += 1;
                    one.first_age = one.first_age.or(Some(age as u16));
                    one.last_age = Some(age as u16);
                }
            }
        }
        for &place in places.iter() {
            let at = place as usize;
            let one = seen[at];
            if let (Some(first), Some(last)) = (one.first_age, one.last_age) {
                counts.first[at * AGES + usize::from(first)] += 1;
                counts.last[at * AGES + usize::from(last)] += 1;
                counts.aged[at] += 1;
            }
            let row = at * looked.steps.count;
            if let Some(step) = one.nearest.and_then(|days| looked.steps.of(days as usize)) {
                counts.nearest[row + step] += 1;
            }
            let Some(first) = days[one.first_visit as usize] else { continue };
            let until = if one.again == 0 { record.len() - 1 } else { one.again as usize };
            let after = one.first_visit as usize + 1;
            for (visit, &day) in (after..).zip(&days[after..=until]) {
                let Some(day) = day else { break };
                let Some(step) = looked.steps.of((day - first).max(0) as usize) else { break };
                counts.waiting[row + step] += 1;
                counts.again[row + step] += u32::from(visit == one.again as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbourhoods_are_within_what_is_counted() {
        for years in YEARS {
            let [below, above] = neighbours(years);
            assert!(below.end == above.start && !below.is_empty() && !above.is_empty());
            assert!(above.end <= AGES);
        }
        let steps = Steps::new();
        for days in DAYS {
            let [below, above] = steps.near(days);
            assert!(below.end == above.start && !below.is_empty() && !above.is_empty());
            for day in 0..FARTHEST {
                let step = steps.of(day).unwrap();
                let half = days.div_ceil(2) as usize;
                assert_eq!(below.contains(&step), (half..days as usize).contains(&day));
                assert_eq!(step < above.start, day < days as usize, "{day} of {days}");
            }
        }
    }
}
