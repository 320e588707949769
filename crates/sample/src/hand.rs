//! Who decides the codes of one record, visit by visit.

use consequence_enforce::{Ruling, Writer};
use consequence_model::Decide;
use consequence_prng::{Draws, Purpose, VisitDraws};
use consequence_record::{Code, Record};
use consequence_rules::{Order, Pass};

use crate::prefix::{Beginning, Ending};

/// What is the same for every record.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub codes: &'a Order,
    pub draws: Draws,
    pub temperature: f64,
    /// The most encounters that a record may have.
    pub max_visits: usize,
}

/// What a visit is written with.
pub(crate) enum Pen<'a> {
    /// No rules.
    Free(Record),
    /// One pass over each visit once it is drawn.
    Passing(Record, &'a Pass),
    /// Rules force codes as they are drawn.
    Guided(Writer<'a>),
    /// The same, and what is forced is weighed.
    Weighing(Writer<'a>),
    /// Rules repair the visit once it is drawn.
    Overriding(Writer<'a>),
}

impl<'a> Pen<'a> {
    fn writer(&mut self) -> Option<&mut Writer<'a>> {
        match self {
            Self::Free(_) | Self::Passing(..) => None,
            Self::Guided(writer) | Self::Weighing(writer) | Self::Overriding(writer) => {
                Some(writer)
            }
        }
    }

    fn record(&self) -> &Record {
        match self {
            Self::Free(record) | Self::Passing(record, _) => record,
            Self::Guided(writer) | Self::Weighing(writer) | Self::Overriding(writer) => {
                writer.record()
            }
        }
    }
}

/// Decides the codes of one attempt at a record.
pub(crate) struct Hand<'a> {
    frame: Frame<'a>,
    pen: Pen<'a>,
    number: u64,
    attempt: u16,
    beginning: Option<Beginning<'a>>,
    codes: VisitDraws,
    rules: VisitDraws,
    /// What the visit holds if it is taken over.
    taken: Option<Vec<u32>>,
    present: Vec<u32>,
    /// The logarithm of the product of the probabilities of what was forced.
    pub weight: f64,
    /// Codes decided otherwise than they were drawn.
    pub turned: u64,
    /// Whether the record would have gone on where the model cannot.
    pub full: bool,
    /// Whether the model gave something that is no probability.
    pub bad_probability: bool,
}

impl<'a> Hand<'a> {
    pub fn new(frame: Frame<'a>, pen: Pen<'a>) -> Self {
        let draws = frame.draws.visit(0, 0, 0, Purpose::Code);
        Self {
            frame,
            pen,
            number: 0,
            attempt: 0,
            beginning: None,
            codes: draws.clone(),
            rules: draws,
            taken: None,
            present: Vec::new(),
            weight: 0.0,
            turned: 0,
            full: false,
            bad_probability: false,
        }
    }

    /// Begins an attempt at a record, forgetting the one before.
    pub fn begin(&mut self, number: u64, attempt: u16, beginning: Option<Beginning<'a>>) {
        self.take();
        (self.number, self.attempt, self.beginning) = (number, attempt, beginning);
        (self.weight, self.turned, self.full) = (0.0, 0, false);
        self.open();
    }

    /// What has been written so far.
    pub fn record(&self) -> &Record {
        self.pen.record()
    }

    /// Takes the record.
    pub fn take(&mut self) -> Record {
        match &mut self.pen {
            Pen::Free(record) | Pen::Passing(record, _) => std::mem::take(record),
            Pen::Guided(writer) | Pen::Weighing(writer) | Pen::Overriding(writer) => writer.take(),
        }
    }

    /// The visit to be written next; 0 is the static visit.
    pub fn visit(&self) -> usize {
        self.record().visits.len()
    }

    /// Makes ready for the next visit.
    fn open(&mut self) {
        let (visit, codes) = (self.visit(), self.frame.codes);
        let key = visit as u16;
        self.codes = self.frame.draws.visit(self.number, self.attempt, key, Purpose::Code);
        self.rules = self.frame.draws.visit(self.number, self.attempt, key, Purpose::Rule);
        self.taken = self.beginning.filter(|beginning| visit < beginning.record.len()).map(|one| {
            let positions = one.record.visit(visit).iter().map(|&code| codes.position(code));
            let mut positions: Vec<u32> = positions.collect();
            positions.sort_unstable();
            positions
        });
        self.present.clear();
        let repaired = matches!(self.pen, Pen::Overriding(_)) && self.taken.is_none();
        if let (Some(writer), false) = (self.pen.writer(), repaired) {
            writer.open();
        }
    }

    /// Ends the visit, gives its positions in ascending order through `last`, and makes ready for the
    /// next, unless the record has ended.
    pub fn close(&mut self, last: &mut Vec<u32>) {
        let order = self.frame.codes;
        let end = self.frame.codes.end();
        match &mut self.pen {
            Pen::Free(record) => {
                let codes = self.present.iter().filter(|&&position| position != end);
                let mut visit: Vec<Code> = codes.map(|&position| order.code(position)).collect();
                visit.sort_unstable();
                record.ended = self.present.binary_search(&end).is_ok();
                record.visits.push(visit);
            }
            Pen::Passing(record, pass) => {
                let drawn: Vec<Code> =
                    self.present.iter().map(|&position| order.code(position)).collect();
                pass.apply(self.frame.codes.vocabulary(), record, &drawn);
                let visit = record.visits.len() - 1;
                // Whatever the rules say, the model goes no further.
                record.ended |= visit == self.frame.max_visits;
                let visit = record.visits[visit].iter();
                let mut passed: Vec<u32> = visit.map(|&code| order.position(code)).collect();
                passed.extend(record.ended.then_some(end));
                passed.sort_unstable();
                self.turned += differences(&self.present, &passed);
                self.present = passed;
            }
            Pen::Overriding(writer) if self.taken.is_none() => {
                let drawn: Vec<Code> =
                    self.present.iter().map(|&position| order.code(position)).collect();
                let visit = writer.overridden(&drawn, &self.frame.draws, self.number);
                let mut repaired: Vec<u32> =
                    visit.iter().map(|&code| order.position(code)).collect();
                repaired.extend(writer.record().ended.then_some(end));
                repaired.sort_unstable();
                self.turned += differences(&self.present, &repaired);
                self.present = repaired;
            }
            Pen::Guided(writer) | Pen::Weighing(writer) | Pen::Overriding(writer) => {
                writer.close();
            }
        }
        std::mem::swap(last, &mut self.present);
        if !self.record().ended {
            self.open();
        }
    }

    /// The probability of a code: the model's, tempered. At the last visit that the model has, the end is
    /// certain.
    fn probability(&mut self, position: u32, probability: f64) -> f64 {
        if !(0.0..=1.0).contains(&probability) {
            self.bad_probability = true;
            return 0.0;
        }
        let temperature = self.frame.temperature;
        let tempered = if temperature == 1.0 {
            probability
        } else {
            1.0 / (1.0 + ((1.0 - probability) / probability).powf(1.0 / temperature))
        };
        if position == self.frame.codes.end() && self.visit() == self.frame.max_visits {
            self.full = !self.codes.below(position, tempered);
            return 1.0;
        }
        tempered
    }

    /// Decides a code that is drawn.
    fn draw(&mut self, position: u32, probability: f64) -> bool {
        let drawn = self.codes.below(position, probability);
        let present = match &mut self.pen {
            Pen::Free(_) | Pen::Passing(..) | Pen::Overriding(_) => drawn,
            Pen::Guided(writer) => writer.propose(position, drawn, &mut self.rules),
            Pen::Weighing(writer) => {
                let present = match writer.ruling(position) {
                    Ruling::Forced(present) => {
                        self.weight += logarithm(present, probability);
                        present
                    }
                    Ruling::Free | Ruling::Soft { .. } => drawn,
                };
                writer.place(position, present);
                present
            }
        };
        self.turned += u64::from(present != drawn);
        present
    }

    /// Decides a code of a visit that is taken over: all is known, but perhaps not whether the record
    /// ends there.
    fn copy(&mut self, position: u32, probability: f64, present: bool) -> bool {
        let ruling = self.pen.writer().map_or(Ruling::Free, |writer| writer.ruling(position));
        let end = self.frame.codes.end();
        let last = self.beginning.filter(|one| self.visit() + 1 == one.record.len());
        let present = match last.map(|one| one.ending) {
            Some(ending) if position == end => match (ending, ruling) {
                (Ending::Open, Ruling::Soft { rule, probability }) => {
                    self.rules.below(rule, probability)
                }
                (Ending::Open, _) => self.codes.below(position, probability),
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
        if let Some(writer) = self.pen.writer() {
            writer.place(position, present);
        }
        present
    }
}

impl Decide for Hand<'_> {
    fn decide(&mut self, position: u32, probability: f64) -> bool {
        let probability = self.probability(position, probability);
        let known = self.taken.as_ref().map(|taken| taken.binary_search(&position).is_ok());
        let present = match known {
            Some(present) => self.copy(position, probability, present),
            None => self.draw(position, probability),
        };
        if present {
            self.present.push(position);
        }
        present
    }
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
