//! Facts of a visit as bits: counted as visits are closed, and revealed when one begins.
//!
//! Work grows with the codes that are on: a list of codes that no visit of the record has had costs
//! nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_record::calendar::DAY;
use consequence_record::{AgeBand, Code, Lists, RecordView};
use consequence_rules::{Days, Fact, Order, ValueRange};
use rustc_hash::FxHashMap;

/// What is known of a visit when it begins, beside what visits before it were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// The day that the visit begins on, since 1970.
    pub day: Option<i64>,
    /// The years that the patient has completed, as far as that is known.
    pub age: Option<AgeBand>,
    /// What codes measure, or would measure if they came.
    pub values: Vec<(Code, f32)>,
    /// Whether the day was chosen for this visit, so that codes which tell the days since the visit before must tell
    /// them.
    pub chosen: bool,
}

impl Moment {
    /// What is known of a visit of a record that exists.
    pub fn of(record: RecordView<'_>, visit: usize) -> Self {
        let details = record.details();
        let values = details.events_of(visit).iter();
        Self {
            day: details.time(visit).map(|time| time.div_euclid(DAY)),
            age: details.age(visit),
            values: values.filter_map(|event| Some((event.code, event.value?))).collect(),
            chosen: false,
        }
    }
}

/// Codes of which one counts as much as another, and what is asked of them.
#[derive(Clone, Debug, Default)]
struct Group {
    /// The visits that make a bit true, ascending.
    counts: Vec<(u32, u32)>,
    /// The same for encounters of so many days ago.
    windows: Vec<(Days, u32, u32)>,
    /// How many days ago an encounter still matters.
    reach: i64,
}

/// A bit that says that a code of one group came after the last of another.
#[derive(Clone, Copy, Debug)]
struct Since {
    codes: u32,
    mark: u32,
    bit: u32,
}

/// Which bits tell which facts.
#[derive(Clone, Debug)]
pub(crate) struct FactLayout {
    groups: Vec<Group>,
    /// By position: the groups that the code is of.
    groups_of: Lists<u32>,
    sinces: Vec<Since>,
    first_visit: Option<u32>,
    ages: Vec<(u16, u32)>,
    values: Vec<(Code, ValueRange, u32)>,
    /// Ages that static codes tell, by position, for records that tell no others.
    bands: BTreeMap<u32, AgeBand>,
    /// Days since the visit before: two bits for each number, for more days and for no more.
    thresholds: Vec<u32>,
    first_gap_bit: u32,
}

impl FactLayout {
    /// A layout of these facts and their bits.
    pub fn new(order: &Order, facts: &[(&Fact, u32)], thresholds: &[u32], gap_bit: u32) -> Self {
        let mut numbers: FxHashMap<Arc<[Code]>, u32> = FxHashMap::default();
        let mut members: Vec<(u32, u32)> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut layout = Self {
            groups: Vec::new(),
            groups_of: Lists::default(),
            sinces: Vec::new(),
            first_visit: None,
            ages: Vec::new(),
            values: Vec::new(),
            bands: AgeBand::of_statics(order.vocabulary())
                .into_iter()
                .map(|(code, band)| (order.position(code), band))
                .collect(),
            thresholds: thresholds.to_vec(),
            first_gap_bit: gap_bit,
        };
        let mut number = |codes: &Arc<[Code]>, groups: &mut Vec<Group>| -> u32 {
            *numbers.entry(Arc::clone(codes)).or_insert_with(|| {
                let number = groups.len() as u32;
                groups.push(Group::default());
                members.extend(codes.iter().map(|&code| (order.position(code), number)));
                number
            })
        };
        for &(fact, bit) in facts {
            match fact {
                Fact::Seen { codes, days, count } => {
                    let group = number(codes, &mut groups);
                    let group = &mut groups[group as usize];
                    match days {
                        None => group.counts.push((u32::from(*count), bit)),
                        Some(days) => {
                            group.windows.push((*days, u32::from(*count), bit));
                            group.reach = group.reach.max(days.to.into());
                        }
                    }
                }
                Fact::Since { codes, mark } => {
                    let [codes, mark] = [codes, mark].map(|codes| number(codes, &mut groups));
                    layout.sinces.push(Since { codes, mark, bit });
                }
                Fact::FirstVisit => layout.first_visit = Some(bit),
                Fact::Age { least } => layout.ages.push((*least, bit)),
                Fact::Value { code, range } => layout.values.push((*code, *range, bit)),
            }
        }
        members.sort_unstable();
        let mut members = members.into_iter().peekable();
        for position in 0..order.len() as u32 {
            let mut of = Vec::new();
            while let Some((_, group)) = members.next_if(|&(at, _)| at == position) {
                of.push(group);
            }
            layout.groups_of.push(of);
        }
        layout.groups = groups;
        layout
    }

    /// Whether a bit, once set, stays set for the rest of the record.
    pub fn is_lasting(&self, bit: u32) -> bool {
        self.groups.iter().any(|group| group.counts.iter().any(|&(_, lasting)| lasting == bit))
    }

    /// The bit that says that more days than a threshold have passed, or that no more have.
    pub fn gap_bit(&self, threshold: u32, more: bool) -> u32 {
        self.first_gap_bit + 2 * threshold + u32::from(more)
    }
}

/// What has been counted in a record so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct FactCounts {
    /// By group: the visits that had one of its codes, and the days of those that have one.
    groups: Vec<Counted>,
    /// The groups that some visit had a code of.
    active: Vec<u32>,
    /// Groups that the visit being closed has a code of.
    here: Vec<u32>,
    /// By number of what is asked: whether it is so.
    since: Vec<bool>,
    /// The age that the static visit tells.
    band: Option<AgeBand>,
    /// The days of the visit being decided, and of the encounter before it.
    day: Option<i64>,
    before: Option<i64>,
}

#[derive(Clone, Debug, Default)]
struct Counted {
    visits: u32,
    days: Vec<i64>,
}

impl FactCounts {
    pub fn new(layout: &FactLayout) -> Self {
        Self {
            groups: vec![Counted::default(); layout.groups.len()],
            since: vec![false; layout.sinces.len()],
            ..Self::default()
        }
    }

    /// Forgets the record.
    pub fn clear(&mut self) {
        for group in self.active.drain(..) {
            self.groups[group as usize].visits = 0;
            self.groups[group as usize].days.clear();
        }
        self.since.fill(false);
        (self.band, self.day, self.before) = (None, None, None);
    }

    /// Closes a visit that has these positions. Gives the bits that now last, and those that hold at the
    /// next visit.
    pub fn close(
        &mut self,
        layout: &FactLayout,
        visit: usize,
        present: &[u32],
        mut lasts: impl FnMut(u32),
        mut holds_next: impl FnMut(u32),
    ) {
        self.here.clear();
        for &position in present {
            self.here.extend(layout.groups_of.list(position as usize));
            if visit == 0 {
                self.band = self.band.or(layout.bands.get(&position).copied());
            }
        }
        self.here.sort_unstable();
        self.here.dedup();
        let has = |here: &[u32], group: u32| here.binary_search(&group).is_ok();
        for (asked, so) in layout.sinces.iter().zip(&mut self.since) {
            let after = has(&self.here, asked.codes) && self.groups[asked.mark as usize].visits > 0;
            *so = (*so || after) && !has(&self.here, asked.mark);
            if *so {
                holds_next(asked.bit);
            }
        }
        for &group in &self.here {
            let (counted, asked) =
                (&mut self.groups[group as usize], &layout.groups[group as usize]);
            if counted.visits == 0 {
                self.active.push(group);
            }
            counted.visits += 1;
            for &(count, bit) in &asked.counts {
                if count == counted.visits {
                    lasts(bit);
                }
            }
            if let Some(day) = self.day.filter(|_| visit > 0 && !asked.windows.is_empty()) {
                counted.days.push(day);
            }
        }
        if let Some(bit) = layout.first_visit.filter(|_| visit == 0) {
            holds_next(bit);
        }
        self.before = self.day.take();
    }

    /// Gives the bits that hold of a visit that begins so.
    pub fn reveal(&mut self, layout: &FactLayout, moment: &Moment, mut holds: impl FnMut(u32)) {
        self.day = moment.day;
        if let Some(day) = moment.day {
            for &group in &self.active {
                let (days, asked) =
                    (&self.groups[group as usize].days, &layout.groups[group as usize]);
                if days.last().is_none_or(|&last| day - last > asked.reach) {
                    continue;
                }
                for &(span, count, bit) in &asked.windows {
                    let within = days.iter().rev().map(|then| day - then);
                    let within = within.take_while(|&ago| ago <= span.to.into());
                    let found = within.filter(|&ago| span.holds(ago)).take(count as usize).count();
                    if found == count as usize {
                        holds(bit);
                    }
                }
            }
            if let Some(before) = self.before.filter(|_| moment.chosen) {
                for (threshold, &days) in layout.thresholds.iter().enumerate() {
                    holds(layout.gap_bit(threshold as u32, day - before > days.into()));
                }
            }
        }
        if let Some(age) = moment.age.or(self.band) {
            for &(least, bit) in &layout.ages {
                if age.from >= least {
                    holds(bit);
                }
            }
        }
        for &(code, range, bit) in &layout.values {
            let value = moment.values.iter().find(|&&(measured, _)| measured == code);
            if value.is_some_and(|&(_, value)| range.holds(value)) {
                holds(bit);
            }
        }
    }

    /// The day of the encounter before the one being decided.
    pub fn day_before(&self) -> Option<i64> {
        self.before
    }
}
