//! Days, ages and values for rules that speak of them: chosen when a visit begins, before its codes.

use consequence_details::{Diary, Drawer, gone_on};
use consequence_enforce::{Moment, Writer};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, DayBand, Details, Record};
use consequence_rules::{Fact, Plan};

use crate::prefix::Beginning;

/// How often days are drawn before they are looked for.
const TRIES: u16 = 16;

/// The days since the visit before where no code tells them.
const UNTOLD: i64 = 1;

/// What tells the days, ages and values that rules speak of.
pub(crate) struct Days<'a> {
    drawer: &'a Drawer<'a>,
    seeded: Draws,
    /// The draws of the attempt at hand.
    draws: Draws,
    /// Codes that tell the days since the visit before, by position, and the days that they tell.
    gaps: Vec<(u32, Code, DayBand)>,
    /// Numbers of days that rules tell apart.
    thresholds: Vec<u32>,
    /// Codes whose values rules speak of.
    valued: Vec<Code>,
    /// The codes of days as probable as the model finds them.
    likely: Vec<f64>,
}

/// Days that were chosen since the visit before.
pub(crate) struct Chosen {
    gap: i64,
    /// The position of the code that tells them, if there is one.
    pub told: Option<u32>,
    /// The logarithm of what the model's probability of these days is over that with which they were proposed,
    /// but for the codes that tell them.
    pub weight: f64,
}

/// A code of days, by its index, or none, with the probability that it is the first that comes on.
type Shares = Vec<(Option<usize>, f64)>;

/// Whether rules speak of what is known only when a visit begins.
pub(crate) fn are_asked(plan: &Plan) -> bool {
    facts(plan).next().is_some()
}

/// Whether rules speak of days or ages.
pub(crate) fn dates_are_asked(plan: &Plan) -> bool {
    facts(plan).any(|fact| !matches!(fact, Fact::Value { .. }))
}

fn facts(plan: &Plan) -> impl Iterator<Item = &Fact> {
    let atoms = 0..plan.atoms().atoms().len() as u32;
    let facts = atoms.filter_map(|atom| plan.atoms().fact(atom));
    facts.filter(|fact| fact.needs_dates() || matches!(fact, Fact::Age { .. } | Fact::Value { .. }))
}

impl<'a> Days<'a> {
    pub fn new(plan: &Plan, drawer: &'a Drawer<'a>, draws: Draws) -> Self {
        let order = plan.order();
        let band = |&code: &Code| {
            let band = DayBand::of_gap(order.vocabulary().name(code))?;
            Some((order.position(code), code, band))
        };
        let mut gaps: Vec<(u32, Code, DayBand)> = order.codes().iter().filter_map(band).collect();
        gaps.sort_unstable();
        let mut valued: Vec<Code> = facts(plan)
            .filter_map(|fact| match fact {
                Fact::Value { code, .. } => Some(*code),
                _ => None,
            })
            .collect();
        valued.sort_unstable();
        valued.dedup();
        let thresholds = plan.atoms().thresholds().to_vec();
        Self { drawer, seeded: draws, draws, gaps, thresholds, valued, likely: Vec::new() }
    }

    /// Begins an attempt at a record.
    pub fn attempt(&mut self, attempt: u16) {
        self.draws = self.seeded.attempt(attempt);
    }

    /// The codes that tell the days, by position.
    pub fn positions(&self) -> impl Iterator<Item = u32> {
        self.gaps.iter().map(|&(position, ..)| position)
    }

    /// Begins the first encounter of a record.
    pub fn begin(&self, writer: &mut Writer<'_>, number: u64) -> Option<Diary> {
        let statics = writer.record().visits.first().map_or(&[][..], Vec::as_slice);
        let diary = self.drawer.begin(statics, &self.draws, number);
        let day = diary.as_ref().map(Diary::day);
        writer.arrive(&self.moment(writer, diary.as_ref(), day, number));
        diary
    }

    /// Begins a later encounter of a record without dates.
    pub fn go_on_undated(&self, writer: &mut Writer<'_>, number: u64) {
        writer.arrive(&self.moment(writer, None, None, number));
    }

    /// Begins a later encounter: draws the days since the one before, as probable as `likely` says that their
    /// codes are, such that the visit can obey the rules; weighed, if they are to be. An error if no days will do.
    pub fn go_on(
        &mut self,
        writer: &mut Writer<'_>,
        diary: &mut Diary,
        number: u64,
        weighed: bool,
        likely: impl FnOnce(&[u32], &mut Vec<f64>),
    ) -> Result<Chosen, NoDays> {
        let positions: Vec<u32> = self.positions().collect();
        let mut probabilities = std::mem::take(&mut self.likely);
        probabilities.clear();
        likely(&positions, &mut probabilities);
        // The first code that comes on, as if all were drawn one after the other.
        let mut left = 1.0;
        let mut shares: Shares = Vec::with_capacity(probabilities.len() + 1);
        for (at, &probability) in probabilities.iter().enumerate() {
            shares.push((Some(at), left * probability));
            left *= 1.0 - probability;
        }
        self.likely = probabilities;
        if weighed || self.gaps.is_empty() {
            shares.push((None, left));
        }
        let drawn = match weighed {
            true => self.weigh(writer, diary, number, &shares),
            false => self.draw(writer, diary, number, &shares),
        };
        let chosen = drawn.or_else(|| self.search(writer, diary, number, shares));
        let chosen = chosen.ok_or(NoDays)?;
        diary.go_on(chosen.gap);
        Ok(chosen)
    }

    /// Whether a visit so many days after the one before can obey; it begins then.
    fn possible(&self, writer: &mut Writer<'_>, diary: &Diary, number: u64, gap: i64) -> bool {
        let moment = self.moment(writer, Some(diary), Some(diary.day() + gap), number);
        writer.arrive(&moment)
    }

    /// Days as an attempt draws them, and the index of the share that they are of.
    fn drawn(
        &self,
        writer: &Writer<'_>,
        diary: &Diary,
        number: u64,
        shares: &Shares,
        attempt: u16,
    ) -> Option<(usize, i64)> {
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        let visit = writer.visit() as u16;
        let mut drawn = self.draws.visit(number, attempt, visit, Purpose::Alternative);
        let mut rest = drawn.uniform(u32::MAX) * total;
        let at = shares.iter().position(|(_, share)| {
            rest -= share;
            rest < 0.0
        });
        let at = at.or_else(|| shares.iter().rposition(|&(_, share)| share > 0.0))?;
        let before = writer.record().visits.last().map_or(&[][..], Vec::as_slice);
        let gap = match shares[at].0 {
            Some(code) => {
                self.drawer.draw_days(diary, self.gaps[code].1, before, &self.draws, attempt)?
            }
            None => UNTOLD,
        };
        Some((at, gap))
    }

    /// The first days drawn that will do, and before those that make the record longer than real ones are, others.
    fn draw(
        &self,
        writer: &mut Writer<'_>,
        diary: &Diary,
        number: u64,
        shares: &Shares,
    ) -> Option<Chosen> {
        let longest = self.drawer.longest();
        let mut long = None;
        for attempt in 0..TRIES {
            let Some((at, gap)) = self.drawn(writer, diary, number, shares, attempt) else {
                continue;
            };
            if self.possible(writer, diary, number, gap) {
                let told = shares[at].0.map(|code| self.gaps[code].0);
                let chosen = Chosen { gap, told, weight: 0.0 };
                if longest.is_none_or(|longest| diary.span() + gap <= longest) {
                    return Some(chosen);
                }
                long.get_or_insert(chosen);
            }
        }
        long.filter(|chosen| self.possible(writer, diary, number, chosen.gap))
    }

    /// One of those days drawn that will do. The share of them among all drawn is on average the probability that
    /// days will do, which is what a proposal of such days alone must weigh.
    fn weigh(
        &self,
        writer: &mut Writer<'_>,
        diary: &Diary,
        number: u64,
        shares: &Shares,
    ) -> Option<Chosen> {
        let (mut chosen, mut found) = (None, 0_u32);
        let visit = writer.visit() as u16;
        for attempt in 0..TRIES {
            let drawn = self.drawn(writer, diary, number, shares, attempt);
            let Some((at, gap)) = drawn else { continue };
            if self.possible(writer, diary, number, gap) {
                found += 1;
                let mut kept = self.draws.visit(number, attempt, visit, Purpose::Proposal);
                if kept.below(0, 1.0 / f64::from(found)) {
                    chosen = Some((at, gap));
                }
            }
        }
        let (at, gap) = chosen?;
        self.possible(writer, diary, number, gap);
        let (code, share) = shares[at];
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        let weight = (f64::from(found) / f64::from(TRIES)).ln() - (share / total).ln();
        Some(Chosen { gap, told: code.map(|code| self.gaps[code].0), weight })
    }

    /// Some days of every kind that rules tell apart: the likeliest codes first.
    fn search(
        &self,
        writer: &mut Writer<'_>,
        diary: &Diary,
        number: u64,
        mut shares: Shares,
    ) -> Option<Chosen> {
        let weight = f64::NEG_INFINITY;
        if self.gaps.is_empty() {
            let mut cells = self.cells(0, i64::MAX);
            let gap = cells.find(|&gap| self.possible(writer, diary, number, gap))?;
            return Some(Chosen { gap, told: None, weight });
        }
        let before: Vec<Code> = writer.record().visits.last().cloned().unwrap_or_default();
        shares.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        for after_stay in [true, false] {
            for code in shares.iter().filter_map(|&(code, _)| code) {
                let (position, code, band) = self.gaps[code];
                let most = band.to.map_or(i64::MAX, |to| i64::from(to) - 1);
                let told = self.drawer.days_of(code, &before).filter(|_| after_stay);
                let from = told.map_or(i64::from(band.from), |(from, _)| from);
                let mut cells = self.cells(from, most);
                if let Some(gap) = cells.find(|&gap| self.possible(writer, diary, number, gap)) {
                    return Some(Chosen { gap, told: Some(position), weight });
                }
            }
        }
        None
    }

    /// One number of days of each kind from one to another.
    fn cells(&self, from: i64, most: i64) -> impl Iterator<Item = i64> {
        let beyond = self.thresholds.iter().map(|&days| i64::from(days) + 1);
        [from].into_iter().chain(beyond.filter(move |&days| from < days && days <= most))
    }

    fn moment(
        &self,
        writer: &Writer<'_>,
        diary: Option<&Diary>,
        day: Option<i64>,
        number: u64,
    ) -> Moment {
        let visit = writer.visit();
        let value =
            |&code: &Code| Some((code, self.drawer.value(visit, code, &self.draws, number)?));
        Moment {
            day,
            age: diary.and_then(|diary| diary.age(day?)),
            values: self.valued.iter().filter_map(value).collect(),
            chosen: true,
        }
    }

    /// The details of a record: along the diary that it was written with, or else as days are drawn without rules. What
    /// it began with stays as it is.
    pub fn details(
        &self,
        record: &Record,
        diary: Option<&Diary>,
        beginning: Option<Beginning<'_>>,
        number: u64,
    ) -> Details {
        let along = || self.along(record, beginning, number);
        let drawn = match diary.cloned().or_else(along) {
            Some(diary) => self.drawer.keep(record, &diary, &self.draws),
            None => self.drawer.draw(record, &self.draws, number),
        };
        match beginning {
            Some(one) => gone_on(one.record.details(), one.record.len() - 1, drawn),
            None => drawn,
        }
    }

    /// The dates of a record whose codes are known.
    fn along(
        &self,
        record: &Record,
        beginning: Option<Beginning<'_>>,
        number: u64,
    ) -> Option<Diary> {
        let mut diary = match beginning {
            Some(one) => Diary::given(one.record.details(), number)?,
            None => self.drawer.begin(&record.visits[0], &self.draws, number)?,
        };
        let given = beginning.map_or(2, |one| one.record.len());
        for visit in given..record.visits.len() {
            let codes = &record.visits[visit];
            let told = self.gaps.iter().find(|(_, code, _)| codes.binary_search(code).is_ok());
            let days = told.and_then(|&(_, code, _)| {
                let before = &record.visits[visit - 1];
                self.drawer.draw_days(&diary, code, before, &self.draws, 0)
            });
            diary.go_on(days.unwrap_or(UNTOLD));
        }
        Some(diary)
    }
}

/// No days since the visit before let a visit obey the rules.
#[derive(Debug)]
pub(crate) struct NoDays;
