//! Who decides the codes of one record, visit by visit.

use consequence_details::Diary;
use consequence_enforce::{Ruling, Writer};
use consequence_model::{Decide, LookAhead};
use consequence_prng::{Draws, Purpose, VisitDraws};
use consequence_record::{Code, Details, Record};
use consequence_rules::{Order, OrderedPass};

use crate::Request;
use crate::days::{Chosen, Days, NoDays};
use crate::prefix::{Beginning, Ending};

/// What rules do to the codes that are drawn, and what holds the record.
pub(crate) enum Policy<'a> {
    /// Nothing: there are no rules.
    Free(Record),
    /// One pass over each visit once it is drawn.
    Pass(Record, &'a OrderedPass),
    /// They force codes as these are drawn, and look ahead to what they will ask for.
    Force(Writer<'a>),
    /// The same, and what was proposed is weighed.
    Weigh(Writer<'a>),
    /// They repair the visit once it is drawn; where they leave a choice of codes, one that the
    /// patient had before is taken, else one by the probabilities that codes were drawn with.
    Repair(Writer<'a>),
}

impl<'a> Policy<'a> {
    fn writer(&mut self) -> Option<&mut Writer<'a>> {
        match self {
            Self::Free(_) | Self::Pass(..) => None,
            Self::Force(writer) | Self::Weigh(writer) | Self::Repair(writer) => Some(writer),
        }
    }

    fn record(&self) -> &Record {
        match self {
            Self::Free(record) | Self::Pass(record, _) => record,
            Self::Force(writer) | Self::Weigh(writer) | Self::Repair(writer) => writer.record(),
        }
    }
}

/// Decides the codes of one attempt at a record, as the model asks for them.
///
/// A code of a visit that the record begins with is copied. Any other is drawn with the model's
/// probability, as the policy has it: a [`Writer`] that forces it or looks ahead, or at the end of the
/// visit one that repairs the whole of it.
pub(crate) struct VisitDecider<'a> {
    order: &'a Order,
    draws: Draws,
    temperature: f64,
    /// The most encounters that a record may have.
    max_visits: usize,
    policy: Policy<'a>,
    /// The record's number.
    pub number: u64,
    pub attempt: u16,
    beginning: Option<Beginning<'a>>,
    /// Who chooses days where rules speak of them, and the days chosen so far.
    days: Option<Days<'a>>,
    diary: Option<Diary>,
    /// Whether the days since the visit before are still to be chosen, and then the code that tells them.
    waits_for_days: bool,
    days_chosen: bool,
    told: Option<u32>,
    /// Whether no days would do.
    pub no_days: bool,
    code_draws: VisitDraws,
    rule_draws: VisitDraws,
    /// What the visit holds if it is copied.
    copied: Option<Vec<u32>>,
    present: Vec<u32>,
    /// Of a visit that is to be repaired: the probability of each code that it may hold.
    probabilities: Vec<f64>,
    /// The logarithm of the product of what the model's probabilities are over those of proposals.
    pub weight: f64,
    /// Codes decided otherwise than they were drawn.
    pub overruled: u64,
    /// Whether the record would have gone on where the model cannot.
    pub truncated: bool,
    /// Whether the model gave something that is no probability.
    pub bad_probability: bool,
}

impl<'a> VisitDecider<'a> {
    pub fn new(
        order: &'a Order,
        request: &Request<'_>,
        max_visits: usize,
        policy: Policy<'a>,
        days: Option<Days<'a>>,
    ) -> Self {
        let draws = Draws::new(request.seed);
        let none = draws.visit(0, 0, 0, Purpose::Code);
        Self {
            order,
            draws,
            temperature: request.temperature,
            max_visits,
            policy,
            number: 0,
            attempt: 0,
            beginning: None,
            days,
            diary: None,
            waits_for_days: false,
            days_chosen: false,
            told: None,
            no_days: false,
            code_draws: none.clone(),
            rule_draws: none,
            copied: None,
            present: Vec::new(),
            probabilities: Vec::new(),
            weight: 0.0,
            overruled: 0,
            truncated: false,
            bad_probability: false,
        }
    }

    /// Begins an attempt at a record, forgetting the one before.
    pub fn begin(&mut self, number: u64, attempt: u16, beginning: Option<Beginning<'a>>) {
        (self.number, self.beginning) = (number, beginning);
        self.begin_again(attempt);
    }

    /// Begins another attempt at the same record.
    pub fn begin_again(&mut self, attempt: u16) {
        self.take();
        self.attempt = attempt;
        (self.weight, self.overruled) = (0.0, 0);
        (self.truncated, self.bad_probability, self.no_days) = (false, false, false);
        self.diary = None;
        if let Some(days) = &mut self.days {
            days.attempt(attempt);
        }
        self.open();
    }

    /// What has been written so far.
    pub fn record(&self) -> &Record {
        self.policy.record()
    }

    /// Takes the record.
    pub fn take(&mut self) -> Record {
        match &mut self.policy {
            Policy::Free(record) | Policy::Pass(record, _) => std::mem::take(record),
            Policy::Force(writer) | Policy::Weigh(writer) | Policy::Repair(writer) => writer.take(),
        }
    }

    /// The visit to be written next; 0 is the static visit.
    pub fn visit(&self) -> usize {
        self.record().visits.len()
    }

    /// Makes ready for the next visit.
    fn open(&mut self) {
        let (visit, order) = (self.visit(), self.order);
        let key = visit as u16;
        self.code_draws = self.draws.visit(self.number, self.attempt, key, Purpose::Code);
        self.rule_draws = self.draws.visit(self.number, self.attempt, key, Purpose::Rule);
        self.copied =
            self.beginning.filter(|beginning| visit < beginning.record.len()).map(|one| {
                let positions = one.record.visit(visit).iter().map(|&code| order.position(code));
                let mut positions: Vec<u32> = positions.collect();
                positions.sort_unstable();
                positions
            });
        self.present.clear();
        self.probabilities.clear();
        self.begin_visit(visit);
        if !self.waits_for_days {
            self.open_writer();
        }
    }

    /// Has the rules know what is known when the visit begins, but for days that the model has a say in.
    fn begin_visit(&mut self, visit: usize) {
        (self.waits_for_days, self.days_chosen, self.told) = (false, false, None);
        let (Some(days), Some(writer)) = (&self.days, self.policy.writer()) else { return };
        match (visit, &self.diary, self.beginning) {
            (0, ..) => {}
            (_, _, Some(given)) if visit < given.record.len() => {
                writer.arrive_as(given.record, visit);
                if visit + 1 == given.record.len() {
                    self.diary = Diary::given(given.record.details(), self.number);
                }
            }
            (1, ..) => self.diary = days.begin(writer, self.number),
            (_, Some(_), _) => self.waits_for_days = true,
            (_, None, _) => days.go_on_undated(writer, self.number),
        }
    }

    fn open_writer(&mut self) {
        let repaired = matches!(self.policy, Policy::Repair(_)) && self.copied.is_none();
        if let (Some(writer), false) = (self.policy.writer(), repaired) {
            writer.open();
        }
    }

    /// Chooses the days since the visit before, as probable as the model finds the codes that tell them; the
    /// probability of the code at hand is given.
    fn choose_days(&mut self, position: u32, probability: f64, ahead: &mut LookAhead<'_>) {
        (self.waits_for_days, self.days_chosen) = (false, true);
        let (temperature, number) = (self.temperature, self.number);
        let weighed = matches!(self.policy, Policy::Weigh(_));
        let (Some(days), Some(writer), Some(diary)) =
            (&mut self.days, self.policy.writer(), &mut self.diary)
        else {
            return;
        };
        let chosen = days.go_on(writer, diary, number, weighed, |positions, likely| {
            let later: Vec<u32> = positions.iter().copied().filter(|&at| at != position).collect();
            let mut of_later = vec![0.0; later.len()];
            ahead(false, &later, &mut of_later);
            let mut of_later = of_later.into_iter();
            likely.extend(positions.iter().map(|&at| {
                let own = (at == position).then_some(probability);
                let found = own.or_else(|| of_later.next()).unwrap_or(0.0);
                tempered(if (0.0..=1.0).contains(&found) { found } else { 0.0 }, temperature)
            }));
        });
        match chosen {
            Ok(Chosen { told, weight, .. }) => {
                self.told = told;
                self.weight += if weighed { weight } else { 0.0 };
            }
            Err(NoDays) => self.no_days = true,
        }
        self.open_writer();
    }

    /// The dates and values that the record was written with, where rules speak of them.
    pub fn details(&self, record: &Record) -> Option<Details> {
        let days = self.days.as_ref()?;
        Some(days.details(record, self.diary.as_ref(), self.beginning, self.number))
    }

    /// The encounters that the record began with, where they have details that stay as they are.
    pub fn encounters_given(&self) -> usize {
        let given = self.beginning.filter(|_| self.days.is_some());
        given.map_or(0, |one| one.record.len() - 1)
    }

    /// Ends the visit, gives its positions in ascending order through `last`, and makes ready for
    /// the next, unless the record has ended.
    pub fn close(&mut self, last: &mut Vec<u32>) {
        let order = self.order;
        let end = order.end();
        match &mut self.policy {
            Policy::Free(record) => {
                let codes = self.present.iter().filter(|&&position| position != end);
                let mut visit: Vec<Code> = codes.map(|&position| order.code(position)).collect();
                visit.sort_unstable();
                record.ended = self.present.binary_search(&end).is_ok();
                record.visits.push(visit);
            }
            Policy::Pass(record, pass) => {
                let drawn: Vec<Code> =
                    self.present.iter().map(|&position| order.code(position)).collect();
                pass.apply(order.vocabulary(), record, &drawn);
                let visit = record.visits.len() - 1;
                // Whatever the rules say, the model goes no further.
                record.ended |= visit == self.max_visits;
                let visit = record.visits[visit].iter();
                let mut passed: Vec<u32> = visit.map(|&code| order.position(code)).collect();
                passed.extend(record.ended.then_some(end));
                passed.sort_unstable();
                self.overruled += differences(&self.present, &passed);
                self.present = passed;
            }
            Policy::Repair(writer) if self.copied.is_none() => {
                let drawn: Vec<Code> =
                    self.present.iter().map(|&position| order.code(position)).collect();
                let (plan, number) = (writer.plan(), self.number);
                let visit = writer.visit();
                let first = order.range(visit).start;
                let mut draws = self.draws.visit(number, 0, visit as u16, Purpose::Alternative);
                let probabilities = &self.probabilities;
                let visit = writer.overridden_by(&drawn, &self.draws, number, |choice| {
                    let weight = |position: u32| probabilities[(position - first) as usize];
                    choice.pick(order, weight, draws.uniform(choice.key(plan)))
                });
                let mut repaired: Vec<u32> =
                    visit.iter().map(|&code| order.position(code)).collect();
                repaired.extend(writer.record().ended.then_some(end));
                repaired.sort_unstable();
                self.overruled += differences(&self.present, &repaired);
                self.present = repaired;
            }
            Policy::Force(writer) | Policy::Weigh(writer) | Policy::Repair(writer) => {
                writer.close();
            }
        }
        std::mem::swap(last, &mut self.present);
        if !self.record().ended {
            self.open();
        }
    }

    /// The probability of a code: the model's, tempered. At the last visit that the model has, the
    /// end is certain.
    fn probability(&mut self, position: u32, probability: f64) -> f64 {
        if !(0.0..=1.0).contains(&probability) {
            self.bad_probability = true;
            return 0.0;
        }
        let tempered = tempered(probability, self.temperature);
        if position == self.order.end() && self.visit() == self.max_visits {
            self.truncated = !self.code_draws.below(position, tempered);
            return 1.0;
        }
        tempered
    }

    fn tells_days(&self, position: u32) -> bool {
        let mut positions = self.days.iter().flat_map(Days::positions);
        positions.any(|told| told == position)
    }

    /// Decides a code that is drawn.
    fn draw(&mut self, position: u32, probability: f64, ahead: &mut LookAhead<'_>) -> bool {
        let drawn = self.code_draws.below(position, probability);
        let (temperature, bad) = (self.temperature, &mut self.bad_probability);
        let ahead: &mut LookAhead<'_> = &mut |present, positions, into| {
            ahead(present, positions, into);
            for probability in into {
                *bad |= !(0.0..=1.0).contains(probability);
                *probability = tempered(*probability, temperature);
            }
        };
        let present = match &mut self.policy {
            Policy::Free(_) | Policy::Pass(..) => drawn,
            Policy::Repair(_) => {
                self.probabilities.push(probability);
                drawn
            }
            Policy::Force(writer) => {
                let draws = (&mut self.code_draws, &mut self.rule_draws);
                writer.propose(position, probability, draws, ahead)
            }
            Policy::Weigh(writer) => {
                let proposal = writer.proposal(position, probability, ahead).probability;
                let present = self.code_draws.below(position, proposal);
                if proposal != probability {
                    self.weight += logarithm(present, probability) - logarithm(present, proposal);
                }
                writer.place(position, present);
                present
            }
        };
        self.overruled += u64::from(present != drawn);
        present
    }

    /// Decides a code that tells days when these are weighed: as they were chosen, unless rules have it otherwise.
    fn tell(&mut self, position: u32, probability: f64) -> bool {
        let wanted = self.told == Some(position);
        let ruling = self.policy.writer().map_or(Ruling::Free, |writer| writer.ruling(position));
        let present = if let Ruling::Forced(forced) = ruling { forced } else { wanted };
        // Days with other codes than their own are proposed as such.
        let told_otherwise = present != wanted;
        self.weight +=
            if told_otherwise { f64::NEG_INFINITY } else { logarithm(present, probability) };
        if let Some(writer) = self.policy.writer() {
            writer.place(position, present);
        }
        self.overruled += u64::from(told_otherwise);
        present
    }

    /// Decides a code of a visit that is copied: all is known, but perhaps not whether the record
    /// ends there.
    fn copy(&mut self, position: u32, probability: f64, present: bool) -> bool {
        let ruling = self.policy.writer().map_or(Ruling::Free, |writer| writer.ruling(position));
        let end = self.order.end();
        let last = self.beginning.filter(|one| self.visit() + 1 == one.record.len());
        let present = match last.map(|one| one.ending) {
            Some(ending) if position == end => match (ending, ruling) {
                (Ending::Open, Ruling::Soft { rule, probability }) => {
                    self.rule_draws.below(rule, probability)
                }
                (Ending::Open, _) => self.code_draws.below(position, probability),
                (Ending::Certain(ends), _) => {
                    self.weight += logarithm(ends, probability);
                    ends
                }
            },
            // What was known before the end was drawn weighs the same in every proposal.
            Some(_) if position > end => {
                self.weight += logarithm(present, probability);
                present
            }
            _ => present,
        };
        if let Some(writer) = self.policy.writer() {
            writer.place(position, present);
        }
        present
    }
}

impl Decide for VisitDecider<'_> {
    fn decide(&mut self, position: u32, probability: f64, ahead: &mut LookAhead<'_>) -> bool {
        if self.waits_for_days {
            self.choose_days(position, probability, ahead);
        }
        let tells = self.days_chosen && self.tells_days(position);
        if tells && matches!(self.policy, Policy::Weigh(_)) {
            let probability = self.probability(position, probability);
            let present = self.tell(position, probability);
            self.present.extend(present.then_some(position));
            return present;
        }
        let probability = match tells {
            // Days are told as they were chosen.
            true => f64::from(u8::from(self.told == Some(position))),
            false => self.probability(position, probability),
        };
        let known = self.copied.as_ref().map(|copied| copied.binary_search(&position).is_ok());
        let present = match known {
            Some(present) => self.copy(position, probability, present),
            None => self.draw(position, probability, ahead),
        };
        if present {
            self.present.push(position);
        }
        present
    }
}

/// A probability whose logit is divided by the temperature.
fn tempered(probability: f64, temperature: f64) -> f64 {
    if temperature == 1.0 {
        return probability;
    }
    1.0 / (1.0 + ((1.0 - probability) / probability).powf(1.0 / temperature))
}

/// The logarithm of the probability of what was decided.
fn logarithm(present: bool, probability: f64) -> f64 {
    if present { probability.ln() } else { (-probability).ln_1p() }
}

/// How many positions are in one of two ascending lists and not in the other.
fn differences(left: &[u32], right: &[u32]) -> u64 {
    let lacking = |from: &[u32], list: &[u32]| {
        from.iter().filter(|position| list.binary_search(position).is_err()).count() as u64
    };
    lacking(left, right) + lacking(right, left)
}
