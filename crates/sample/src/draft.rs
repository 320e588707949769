//! One attempt at a record, under way.

use consequence_model::{Generator, Turn};
use consequence_referee::Referee;

use crate::hand::Hand;
use crate::prefix::Beginning;

/// One attempt at a record, under way.
pub(crate) struct Draft<'a, G: Generator> {
    /// Which of the records under way it is for.
    pub serial: u64,
    /// The record's number.
    pub number: u64,
    pub attempt: u16,
    pub hand: Hand<'a>,
    /// The rules that the visit written last breaks, where that is asked.
    pub broken: Vec<usize>,
    past: G::Past,
    last: Vec<u32>,
    beginning: Option<Beginning<'a>>,
}

impl<'a, G: Generator> Draft<'a, G> {
    pub fn new(generator: &G, hand: Hand<'a>) -> Self {
        Self {
            serial: 0,
            number: 0,
            attempt: 0,
            hand,
            broken: Vec::new(),
            past: generator.begin(),
            last: Vec::new(),
            beginning: None,
        }
    }

    /// Begins an attempt at a record.
    pub fn begin(
        &mut self,
        generator: &G,
        (serial, number): (u64, u64),
        attempt: u16,
        beginning: Option<Beginning<'a>>,
    ) {
        (self.serial, self.number, self.beginning) = (serial, number, beginning);
        self.again(generator, attempt);
    }

    /// Begins another attempt at the same record.
    pub fn again(&mut self, generator: &G, attempt: u16) {
        self.attempt = attempt;
        self.hand.begin(self.number, attempt, self.beginning);
        self.past = generator.begin();
        self.last.clear();
        self.broken.clear();
    }

    /// The next visit, for the model.
    pub fn turn(&mut self) -> Turn<'_, G::Past> {
        let last = (self.hand.visit() > 0).then_some(self.last.as_slice());
        Turn { past: &mut self.past, last, decider: &mut self.hand }
    }

    /// Ends the visit, and finds the rules that it breaks if there is someone to judge.
    pub fn close(&mut self, referee: Option<&Referee>) {
        let visit = self.hand.visit();
        self.hand.close(&mut self.last);
        if let Some(referee) = referee {
            let record = self.hand.record();
            let broken = |&rule: &usize| {
                referee.required(rule, visit) && !referee.holds(rule, record, visit)
            };
            self.broken.extend((0..referee.rule_count()).filter(broken));
        }
    }

    /// Whether the record has ended.
    pub fn ended(&self) -> bool {
        self.hand.record().ended
    }
}
