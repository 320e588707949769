//! What rules settle while a network learns.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use consequence_enforce::{Enforcer, Ruling, Writer};
use consequence_engine::Settled;
use consequence_model::CodeOrder;
use consequence_record::{Code, RecordView};
use consequence_rules::{Derivation, Literal, Plan};
use thiserror::Error;

/// How rules take part in learning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrainMode {
    /// They do not.
    Off,
    /// A rule settles a code from what is already decided when its turn comes.
    #[default]
    Causal,
    /// A rule settles its output from the whole true visit, as the paper writes. The loss is then
    /// no likelihood.
    Paper,
}

/// No mode has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no way of training is called `{0}`; there are causal, paper and off")]
pub struct UnknownTrainMode(String);

impl FromStr for TrainMode {
    type Err = UnknownTrainMode;

    fn from_str(name: &str) -> Result<Self, UnknownTrainMode> {
        match name {
            "off" => Ok(Self::Off),
            "causal" => Ok(Self::Causal),
            "paper" => Ok(Self::Paper),
            _ => Err(UnknownTrainMode(name.to_owned())),
        }
    }
}

impl Display for TrainMode {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Off => "off",
            Self::Causal => "causal",
            Self::Paper => "paper",
        })
    }
}

/// Says which codes of a record the rules settle.
///
/// A code that a hard rule settles costs nothing, whatever the record has there: who trains looks
/// for records that break rules before. A code that a soft rule settles costs what its probability
/// says.
#[derive(Clone, Debug)]
pub enum Teacher<'a> {
    /// None.
    Off,
    /// What a plan forces when the turn of a code comes.
    Causal(&'a Enforcer),
    /// What the rules as written conclude from the whole visit.
    Paper(PaperRules),
}

impl<'a> Teacher<'a> {
    /// A teacher of a mode.
    pub fn new(mode: TrainMode, enforcer: &'a Enforcer) -> Self {
        match mode {
            TrainMode::Off => Self::Off,
            TrainMode::Causal => Self::Causal(enforcer),
            TrainMode::Paper => Self::Paper(PaperRules::new(enforcer.plan())),
        }
    }

    /// For every visit of a record, the codes that rules settle, counted from the first the visit may
    /// hold.
    pub fn settled(&self, codes: &CodeOrder, record: RecordView<'_>) -> Vec<Vec<Settled>> {
        self.reader().settled(codes, record)
    }

    /// Someone to ask, one for each thread.
    pub(crate) fn reader(&self) -> TeacherReader<'_> {
        match self {
            Self::Off => TeacherReader::Off,
            Self::Causal(enforcer) => TeacherReader::Causal(enforcer.writer()),
            Self::Paper(rules) => TeacherReader::Paper(rules),
        }
    }
}

#[allow(clippy::large_enum_variant, reason = "one for each thread")]
pub(crate) enum TeacherReader<'a> {
    Off,
    Causal(Writer<'a>),
    Paper(&'a PaperRules),
}

impl TeacherReader<'_> {
    /// For every visit, the codes that rules settle, counted from the first the visit may hold.
    pub fn settled(&mut self, codes: &CodeOrder, record: RecordView<'_>) -> Vec<Vec<Settled>> {
        match self {
            Self::Off => vec![Vec::new(); record.len()],
            Self::Causal(writer) => causal(writer, codes, record),
            Self::Paper(rules) => {
                (0..record.len()).map(|visit| rules.settled(codes, record, visit)).collect()
            }
        }
    }
}

fn causal(writer: &mut Writer<'_>, codes: &CodeOrder, record: RecordView<'_>) -> Vec<Vec<Settled>> {
    let mut all = Vec::with_capacity(record.len());
    for visit in 0..record.len() {
        let truth = codes.positions(record, visit);
        let range = writer.open();
        let mut rest = truth.iter().copied().peekable();
        let mut settled = Vec::new();
        for position in range.clone() {
            let present = rest.next_if_eq(&position).is_some();
            let nats = match writer.ruling(position) {
                Ruling::Free => None,
                Ruling::Forced(_) => Some(0.0),
                Ruling::Soft { probability, .. } => Some(cost(probability, present)),
            };
            settled.extend(nats.map(|nats| Settled { output: position - range.start, nats }));
            writer.place(position, present);
        }
        writer.close();
        all.push(settled);
    }
    writer.take();
    all
}

/// What an event costs that has this probability.
fn cost(probability: f64, present: bool) -> f32 {
    let chance = if present { probability } else { 1.0 - probability };
    -chance.ln() as f32
}

/// The rules as the paper applies them while learning: each concludes one code from the true visit
/// and the visits before, and of two that speak of one code the later wins.
#[derive(Clone, Debug)]
pub struct PaperRules {
    implications: Vec<Implication>,
}

#[derive(Clone, Debug)]
struct Implication {
    conditions: Vec<Literal>,
    output: Code,
    /// The probability of the output: 0 or 1 for a hard rule.
    value: f64,
    first: usize,
    last: usize,
}

impl PaperRules {
    /// The rules of a plan, as they were written.
    pub fn new(plan: &Plan) -> Self {
        let mut implications: Vec<(u32, Implication)> = Vec::new();
        for clause in plan.clauses().filter(|clause| clause.derivation == Derivation::Written) {
            let Some(&rule) = clause.rules.first() else { continue };
            let outputs = plan.rule(rule).outputs();
            let literals: Vec<Literal> =
                clause.literals.iter().map(|&literal| plan.decode(literal)).collect();
            for (at, literal) in literals.iter().enumerate() {
                if literal.window.is_none() && outputs.contains(&literal.code) {
                    let others = literals.iter().enumerate().filter(|&(other, _)| other != at);
                    let negated = |(_, other): (usize, &Literal)| Literal {
                        present: !other.present,
                        ..other.clone()
                    };
                    implications.push((
                        rule,
                        Implication {
                            conditions: others.map(negated).collect(),
                            output: literal.code,
                            value: f64::from(u8::from(literal.present)),
                            first: usize::from(clause.span.first),
                            last: usize::from(clause.span.last),
                        },
                    ));
                }
            }
        }
        for soft in plan.soft() {
            let conditions = soft.conditions.iter().map(|&literal| plan.decode(literal));
            implications.push((
                soft.rule,
                Implication {
                    conditions: conditions.collect(),
                    output: plan.order().code(soft.output),
                    value: soft.probability,
                    first: usize::from(soft.span.first),
                    last: usize::from(soft.span.last),
                },
            ));
        }
        implications.sort_by_key(|(rule, _)| *rule);
        Self { implications: implications.into_iter().map(|(_, one)| one).collect() }
    }

    /// What they settle in a visit of a record, counted from the first code that the visit may hold.
    pub fn settled(&self, codes: &CodeOrder, record: RecordView<'_>, visit: usize) -> Vec<Settled> {
        let range = codes.range(visit);
        let holds = |literal: &Literal| literal_holds(literal, codes, record, visit);
        let mut settled: Vec<Settled> = Vec::new();
        for implication in &self.implications {
            let position = codes.order().position(implication.output);
            let speaks = (implication.first..=implication.last).contains(&visit)
                && range.contains(&position);
            if speaks && implication.conditions.iter().all(holds) {
                let truth = Literal { window: None, code: implication.output, present: true };
                let nats = match implication.value {
                    0.0 | 1.0 => 0.0,
                    probability => cost(probability, holds(&truth)),
                };
                let output = position - range.start;
                settled.retain(|one| one.output != output);
                settled.push(Settled { output, nats });
            }
        }
        settled
    }
}

fn literal_holds(
    literal: &Literal,
    codes: &CodeOrder,
    record: RecordView<'_>,
    visit: usize,
) -> bool {
    let end = codes.vocabulary().end();
    let here = |visit: usize| match literal.code == end {
        true => visit > 0 && record.ends_at(visit),
        false => record.visit(visit).binary_search(&literal.code).is_ok(),
    };
    let found = match &literal.window {
        None => here(visit),
        Some(window) => (0..visit).any(|then| window.selects(visit, then) && here(then)),
    };
    found == literal.present
}
