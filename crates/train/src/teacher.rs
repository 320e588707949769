//! What rules settle while a network trains.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use consequence_enforce::{Conclusions, Enforcer, Ruling, Writer, nats};
use consequence_engine::Settled;
use consequence_network::{Codewise, Objective};
use consequence_record::RecordView;
use consequence_rules::{Order, Plan};
use thiserror::Error;

/// How rules take part in training.
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

/// Something to train for other than the likelihood of codes that rules leave open.
pub trait Aim: Objective {
    /// For every visit of a record, the facts that the objective asks for.
    fn facts(&self, codes: &Order, record: RecordView<'_>) -> Vec<Vec<u32>>;
}

/// Says what a network is trained for: which codes of a record the rules settle, or another aim.
///
/// A code that a hard rule settles costs nothing, whatever the record has there: who trains looks
/// for records that break rules before. A code that a soft rule settles costs what its probability
/// says.
#[derive(Clone)]
pub enum Teacher<'a> {
    /// None.
    Off,
    /// What a plan forces when the turn of a code comes.
    Causal(&'a Enforcer),
    /// What the rules as written conclude from the whole visit.
    Paper(PaperRules),
    /// No codes are settled; the network trains something else.
    Aim(&'a dyn Aim),
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

    /// What the network is scored by.
    pub fn objective(&self) -> &dyn Objective {
        match self {
            Self::Off | Self::Causal(_) | Self::Paper(_) => &Codewise,
            Self::Aim(aim) => *aim,
        }
    }

    /// For every visit of a record, the codes that rules settle, counted from the first the visit
    /// may hold.
    pub fn settled(&self, codes: &Order, record: RecordView<'_>) -> Vec<Vec<Settled>> {
        self.reader().settled(codes, record)
    }

    /// Someone to ask, one for each thread.
    pub(crate) fn reader(&self) -> TeacherReader<'_> {
        match self {
            Self::Off => TeacherReader::Off,
            Self::Causal(enforcer) => TeacherReader::Causal(enforcer.writer()),
            Self::Paper(rules) => TeacherReader::Paper(rules),
            Self::Aim(aim) => TeacherReader::Aim(*aim),
        }
    }
}

#[allow(clippy::large_enum_variant, reason = "one for each thread")]
pub(crate) enum TeacherReader<'a> {
    Off,
    Causal(Writer<'a>),
    Paper(&'a PaperRules),
    Aim(&'a dyn Aim),
}

impl TeacherReader<'_> {
    /// For every visit of a record, the facts that the objective asks for; none if it asks for
    /// none.
    pub fn facts(&self, codes: &Order, record: RecordView<'_>) -> Vec<Vec<u32>> {
        match self {
            Self::Aim(aim) => aim.facts(codes, record),
            Self::Off | Self::Causal(_) | Self::Paper(_) => Vec::new(),
        }
    }

    /// For every visit, the codes that rules settle, counted from the first the visit may hold.
    pub fn settled(&mut self, codes: &Order, record: RecordView<'_>) -> Vec<Vec<Settled>> {
        match self {
            Self::Off | Self::Aim(_) => vec![Vec::new(); record.len()],
            Self::Causal(writer) => causal(writer, codes, record),
            Self::Paper(rules) => {
                (0..record.len()).map(|visit| rules.settled(codes, record, visit)).collect()
            }
        }
    }
}

fn causal(writer: &mut Writer<'_>, codes: &Order, record: RecordView<'_>) -> Vec<Vec<Settled>> {
    let mut all = vec![Vec::new(); record.len()];
    for (visit, settled) in all.iter_mut().enumerate() {
        let first = codes.range(visit).start;
        writer.replay(&codes.positions(record, visit), |position, ruling, present| {
            let nats = match ruling {
                Ruling::Free => return,
                Ruling::Forced(_) => 0.0,
                Ruling::Soft { probability, .. } => nats(probability, present) as f32,
            };
            settled.push(Settled { output: position - first, nats });
        });
    }
    writer.take();
    all
}

/// The rules as the paper applies them while training: each concludes one code from the true visit
/// and the visits before, and of two that speak of one code the later wins. `at most one of` is
/// read as the paper writes it: what is set excludes what comes after it.
#[derive(Clone, Debug)]
pub struct PaperRules(Conclusions);

impl PaperRules {
    /// The rules of a plan, as they were written.
    pub fn new(plan: &Plan) -> Self {
        Self(Conclusions::one_way(plan))
    }

    /// The hard rules of a plan alone.
    pub fn hard(plan: &Plan) -> Self {
        Self(Conclusions::one_way(plan).certain())
    }

    /// What they settle in a visit of a record, counted from the first code that the visit may
    /// hold.
    pub fn settled(&self, codes: &Order, record: RecordView<'_>, visit: usize) -> Vec<Settled> {
        let range = codes.range(visit);
        let truth = codes.positions(record, visit);
        let mut settled: Vec<Settled> = Vec::new();
        for conclusion in self.0.of(record, visit) {
            let position = codes.position(conclusion.code);
            let present = truth.binary_search(&position).is_ok();
            let nats = match conclusion.probability {
                0.0 | 1.0 => 0.0,
                probability => nats(probability, present) as f32,
            };
            let output = position - range.start;
            settled.retain(|one| one.output != output);
            settled.push(Settled { output, nats });
        }
        settled
    }
}
