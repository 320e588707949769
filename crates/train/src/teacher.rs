//! What rules settle while a network trains.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use consequence_enforce::{Conclusions, Enforcer, Outlook, Ruling, Writer, nats};
use consequence_engine::Settled;
use consequence_model::{KnownVisits, Network};
use consequence_network::{Asked, Batch, Codewise, Objective, Said};
use consequence_record::{RecordView, Selection};
use consequence_rules::{Order, Plan};
use rayon::prelude::*;
use thiserror::Error;

use crate::looking_ahead::{LookingAhead, glances};

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

    /// Whether codes are written with the probabilities that the network gives them, as they are.
    fn writes_as_is(&self) -> bool {
        false
    }
}

/// Says what a network is trained for: which codes of a record the rules settle, or another aim.
///
/// A code that a hard rule settles costs nothing, whatever the record has there: who trains looks
/// for records that break rules before. A code that a soft rule settles costs what its probability
/// says. Where one of several codes has to come on, each costs what it is proposed with.
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

    /// Whether the head of the network is asked.
    pub fn asks_head(&self) -> bool {
        match self {
            Self::Off | Self::Causal(_) | Self::Paper(_) => true,
            Self::Aim(aim) => aim.asks_head(),
        }
    }

    /// Whether codes are expected by the probabilities that the network gives them, where no rule says
    /// otherwise.
    pub(crate) fn expects_codewise(&self) -> bool {
        match self {
            Self::Off | Self::Causal(_) | Self::Paper(_) => true,
            Self::Aim(aim) => aim.writes_as_is(),
        }
    }

    /// A batch of records, ready to be trained on.
    pub fn batch(&self, network: &Network, records: Selection<'_>) -> TaughtBatch<'_> {
        let codes = network.codes();
        let known: Vec<Read> = (0..records.len())
            .into_par_iter()
            .with_min_len(8)
            .map_init(|| self.reader(), |reader, number| reader.read(codes, records.record(number)))
            .collect();
        self.taught(network, records, known)
    }

    /// The same, on this thread alone.
    pub(crate) fn batch_by(
        &self,
        reader: &mut TeacherReader<'_>,
        network: &Network,
        records: Selection<'_>,
    ) -> TaughtBatch<'_> {
        let codes = network.codes();
        let known = records.records().map(|record| reader.read(codes, record));
        self.taught(network, records, known)
    }

    fn taught(
        &self,
        network: &Network,
        records: Selection<'_>,
        known: impl IntoIterator<Item = Read>,
    ) -> TaughtBatch<'_> {
        let (mut batch, mut outlooks) = (network.batch(), Vec::new());
        for (record, (known, ahead)) in records.records().zip(known) {
            network.push(&mut batch, record, &known);
            outlooks.extend(ahead);
        }
        let scored_by = match self {
            Self::Aim(aim) => ScoredBy::Aim(*aim),
            Self::Causal(enforcer) if outlooks.iter().any(Option::is_some) => {
                ScoredBy::LookingAhead(LookingAhead::new(enforcer.plan(), outlooks))
            }
            Self::Off | Self::Causal(_) | Self::Paper(_) => ScoredBy::Codewise,
        };
        TaughtBatch { batch, scored_by }
    }

    /// For every visit of a record, the codes that rules settle or look ahead to, counted from the first
    /// the visit may hold.
    pub fn settled(&self, codes: &Order, record: RecordView<'_>) -> Vec<Vec<Settled>> {
        self.reader().read(codes, record).0.settled
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

/// Records that a network is to be trained on, and what it is scored by.
pub struct TaughtBatch<'a> {
    /// The records.
    pub batch: Batch,
    scored_by: ScoredBy<'a>,
}

enum ScoredBy<'a> {
    Codewise,
    LookingAhead(LookingAhead<'a>),
    Aim(&'a dyn Aim),
}

impl TaughtBatch<'_> {
    /// What the network is scored by.
    pub fn objective(&self) -> &dyn Objective {
        match &self.scored_by {
            ScoredBy::Codewise => &Codewise,
            ScoredBy::LookingAhead(ahead) => ahead,
            ScoredBy::Aim(aim) => *aim,
        }
    }

    /// What the likelihood looks ahead to, if it does.
    pub(crate) fn looks_ahead(&self) -> Option<&LookingAhead<'_>> {
        match &self.scored_by {
            ScoredBy::LookingAhead(ahead) => Some(ahead),
            ScoredBy::Codewise | ScoredBy::Aim(_) => None,
        }
    }

    /// Codes that a look-ahead touches in some rows: their positions, how likely each is, and whether it
    /// is there.
    pub(crate) fn touched(&self, rows: &[Asked<'_>], said: &Said<'_>) -> Vec<(u32, f64, bool)> {
        match &self.scored_by {
            ScoredBy::LookingAhead(ahead) => ahead.expected(rows, said),
            ScoredBy::Codewise | ScoredBy::Aim(_) => Vec::new(),
        }
    }
}

/// What is known of the visits of a record, and what the likelihood of each looks ahead to, if it does.
type Read = (KnownVisits, Vec<Option<Box<Outlook>>>);

#[allow(clippy::large_enum_variant, reason = "one for each thread")]
pub(crate) enum TeacherReader<'a> {
    Off,
    Causal(Writer<'a>),
    Paper(&'a PaperRules),
    Aim(&'a dyn Aim),
}

impl TeacherReader<'_> {
    fn read(&mut self, codes: &Order, record: RecordView<'_>) -> Read {
        let known = match self {
            Self::Off => KnownVisits::default(),
            Self::Aim(aim) => {
                KnownVisits { facts: aim.facts(codes, record), ..KnownVisits::default() }
            }
            Self::Causal(writer) => return causal(writer, codes, record),
            Self::Paper(rules) => {
                let visits = 0..record.len();
                let settled = visits.map(|visit| rules.settled(codes, record, visit)).collect();
                KnownVisits { settled, ..KnownVisits::default() }
            }
        };
        (known, Vec::new())
    }
}

fn causal(writer: &mut Writer<'_>, codes: &Order, record: RecordView<'_>) -> Read {
    let mut known = KnownVisits::default();
    known.settled.reserve(record.len());
    known.ahead.reserve(record.len());
    let (mut outlooks, mut settled) = (Vec::with_capacity(record.len()), Vec::new());
    for visit in 0..record.len() {
        let first = codes.range(visit).start;
        settled.clear();
        let truth = codes.positions(record, visit);
        writer.arrive_as(record, visit);
        let outlook = writer.replay(&truth, |position, ruling, present| {
            let nats = match ruling {
                Ruling::Free => return,
                Ruling::Forced(_) => 0.0,
                Ruling::Soft { probability, .. } => nats(probability, present) as f32,
            };
            settled.push(Settled { output: position - first, nats });
        });
        // What the look-ahead changes is scored by it alone.
        settled.extend(outlook.touched().map(|at| Settled { output: at - first, nats: 0.0 }));
        known.settled.push(settled.to_vec());
        known.ahead.push(glances(&outlook).collect());
        outlooks.push((!outlook.is_empty()).then(|| Box::new(outlook)));
    }
    writer.take();
    (known, outlooks)
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
