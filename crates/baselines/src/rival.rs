//! Rival methods as networks train by them: what the network is asked for, and what it is scored
//! by.

use consequence_engine::{BinaryRow, binary_cross_entropy};
use consequence_model::Network;
use consequence_network::{Asked, Objective, Said, ShapeError};
use consequence_record::{Kind, RecordView};
use consequence_rules::{Order, WrittenRules};
use consequence_train::Aim;
use rayon::prelude::*;

use crate::{
    BaselineError, Circuit, Coin, Constraint, Layer, Limits, Method, Mixture, Reason, Row,
    SemanticLoss, Term, Unexpressed,
};

/// How much the semantic loss counts beside the likelihood.
const PENALTY: f64 = 1.0;

/// One of the methods that constrain a network while it trains, for a set of rules.
///
/// It is the [`Aim`] of the network, and wraps the trained network for generation
/// ([`Rival::generator`]).
#[derive(Debug)]
pub struct Rival {
    method: Method,
    constraint: Constraint,
    /// For the static visit and for encounters.
    parts: [Part; 2],
    /// The first encounter code.
    first_encounter: usize,
}

/// What a method makes of the rules for one kind of visit.
#[derive(Debug)]
pub(crate) enum Part {
    SemanticLoss(SemanticLoss),
    Layer(Layer),
    Mixture(Mixture),
    Circuit(Circuit),
}

impl Part {
    fn unexpressed(&self) -> Vec<Unexpressed> {
        match self {
            Self::SemanticLoss(part) => {
                let rules = part.approximated().iter().flat_map(|one| &one.rules);
                let rough =
                    rules.map(|rule| Unexpressed { rule: rule.clone(), reason: Reason::Rough });
                part.unexpressed().iter().cloned().chain(rough).collect()
            }
            Self::Layer(part) => {
                // Records are written code by code, so what comes too late cannot be mended.
                let late = part.late().iter();
                let late =
                    late.map(|rule| Unexpressed { rule: rule.clone(), reason: Reason::Late });
                part.unexpressed().iter().cloned().chain(late).collect()
            }
            Self::Mixture(part) => part.unexpressed().to_vec(),
            Self::Circuit(part) => part.unexpressed().to_vec(),
        }
    }

    fn terms(&self) -> usize {
        self.all_terms().count()
    }

    /// The terms of all components, one after the other.
    fn all_terms(&self) -> impl Iterator<Item = &Term> {
        let mixture = match self {
            Self::Mixture(mixture) => Some(mixture),
            Self::SemanticLoss(_) | Self::Layer(_) | Self::Circuit(_) => None,
        };
        mixture.into_iter().flat_map(Mixture::components).flat_map(|terms| terms.terms())
    }
}

impl Rival {
    /// A method for these rules, over the codes in the order that the network decides them; none if
    /// the method needs nothing but what training and sampling already do.
    pub fn new(
        method: Method,
        rules: &WrittenRules,
        codes: &Order,
        limits: &Limits,
    ) -> Result<Option<Self>, BaselineError> {
        let constraint = Constraint::new(rules, codes)?;
        let part = |kind: Kind| -> Result<Option<Part>, BaselineError> {
            let world = constraint.world(kind);
            Ok(match method {
                Method::SemanticLoss => Some(Part::SemanticLoss(SemanticLoss::new(world, limits))),
                Method::Ccn => Some(Part::Layer(Layer::new(world))),
                Method::MultiPlexNet => Some(Part::Mixture(Mixture::new(world, limits)?)),
                Method::Spl => Some(Part::Circuit(Circuit::new(world, limits)?)),
                Method::Vanilla
                | Method::PostProcessing
                | Method::Published
                | Method::Consequence => None,
            })
        };
        let (Some(statics), Some(encounters)) = (part(Kind::Static)?, part(Kind::Encounter)?)
        else {
            return Ok(None);
        };
        let first_encounter = codes.statics();
        Ok(Some(Self { method, constraint, parts: [statics, encounters], first_encounter }))
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The rules that the method cannot express, each once for every reason.
    pub fn unexpressed(&self) -> Vec<Unexpressed> {
        let mut all: Vec<Unexpressed> = Vec::new();
        for one in self.parts.iter().flat_map(Part::unexpressed) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }

    /// The network with the outputs that the method reads beside the head: one for each term, or
    /// one for each code.
    pub fn fitted(&self, network: Network, seed: u64) -> Result<Network, ShapeError> {
        let side = match self.method {
            Method::Spl => network.codes().len(),
            _ => self.parts.iter().map(Part::terms).sum(),
        };
        if side == 0 {
            return Ok(network);
        }
        // Networks begin with how frequent each code is, and so do the outputs beside the head.
        let bias = network.weights().output_bias();
        let beginning = match self.method {
            Method::Spl => bias.to_vec(),
            _ => {
                let terms = self.parts.iter().flat_map(Part::all_terms);
                terms.map(|term| frequency(term, bias)).collect()
            }
        };
        let mut network = network.with_side(side, seed)?;
        network.weights_mut().set_side_bias(&beginning);
        Ok(network)
    }

    pub(crate) fn part(&self, kind: Kind) -> &Part {
        &self.parts[usize::from(kind == Kind::Encounter)]
    }

    /// The outputs beside the head that a part reads.
    pub(crate) fn own<'a>(&self, kind: Kind, codes: usize, side: &'a [f32]) -> &'a [f32] {
        let range = self.own_range(kind, codes, side.len());
        &side[range]
    }

    fn own_range(&self, kind: Kind, codes: usize, side: usize) -> std::ops::Range<usize> {
        let terms = self.parts[0].terms();
        let statics = self.first_encounter;
        match (self.method, kind) {
            (Method::Spl, Kind::Static) => 0..statics.min(side),
            (Method::Spl, Kind::Encounter) => statics..(statics + codes).min(side),
            (_, Kind::Static) => 0..terms,
            (_, Kind::Encounter) => terms..side,
        }
    }

    /// The loss of one row; outputs become gradients.
    fn row(&self, asked: &Asked<'_>, factor: f32, logits: &mut [f32], side: &mut [f32]) -> f64 {
        let kind = if asked.first < self.first_encounter { Kind::Static } else { Kind::Encounter };
        let world = self.constraint.world(kind);
        let own = self.own_range(kind, world.range().len(), side.len());
        let scale = f64::from(factor);
        match self.part(kind) {
            Part::SemanticLoss(part) => {
                let said = logits.to_vec();
                let row = BinaryRow { present: asked.present, settled: &[] };
                let nats = binary_cross_entropy(logits, said.len(), &[row], factor)[0];
                let mut known = vec![false; world.known_atoms().len()];
                asked.facts.iter().for_each(|&fact| known[fact as usize] = true);
                nats + PENALTY * part.gradient(&known, &said, PENALTY * scale, logits).nats
            }
            Part::Layer(part) => {
                let said = logits.to_vec();
                logits.fill(0.0);
                let row = Row { logits: &said, present: asked.present };
                part.gradient(row, scale, logits).nats
            }
            Part::Mixture(part) => {
                let (said, terms) = (logits.to_vec(), side[own.clone()].to_vec());
                logits.fill(0.0);
                side.fill(0.0);
                let row = Row { logits: &said, present: asked.present };
                part.gradient(row, &terms, scale, logits, &mut side[own]).nats
            }
            Part::Circuit(part) => {
                let said = side[own.clone()].to_vec();
                side.fill(0.0);
                let row = Row { logits: &said, present: asked.present };
                part.gradient(row, scale, &mut side[own]).nats
            }
        }
    }
}

impl Objective for Rival {
    fn asks_head(&self) -> bool {
        self.method != Method::Spl
    }

    fn score(&self, rows: &[Asked<'_>], factor: f32, said: Said<'_>) -> Vec<f64> {
        let Said { logits, side, .. } = said;
        let count = rows.len().max(1);
        let (codes, beside) = (logits.len() / count, side.len() / count);
        // Chunks of nothing are none at all, so each row takes its own out of what there is.
        let logits = split(logits, codes, rows.len());
        let side = split(side, beside, rows.len());
        rows.par_iter()
            .zip(logits)
            .zip(side)
            .with_min_len(4)
            .map(|((asked, logits), side)| self.row(asked, factor, logits, side))
            .collect()
    }
}

/// The logarithm of how often a term would hold if codes came by themselves, given the logit of
/// each.
fn frequency(term: &Term, logits: &[f32]) -> f32 {
    let log = |&(position, present): &(u32, bool)| {
        -Coin::from_logit(f64::from(logits[position as usize])).nats(present)
    };
    term.iter().map(log).sum::<f64>() as f32
}

/// A part of so many for each of some rows.
fn split(values: &mut [f32], each: usize, rows: usize) -> Vec<&mut [f32]> {
    let mut rest = values;
    (0..rows)
        .map(|_| {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(each);
            rest = others;
            own
        })
        .collect()
}

impl Aim for Rival {
    fn writes_as_is(&self) -> bool {
        self.method == Method::SemanticLoss
    }

    fn facts(&self, _codes: &Order, record: RecordView<'_>) -> Vec<Vec<u32>> {
        if self.method != Method::SemanticLoss {
            return Vec::new();
        }
        let held = |visit: usize| {
            let known = self.constraint.of_visit(visit).known(record, visit);
            (0..).zip(known).filter(|&(_, holds)| holds).map(|(atom, _)| atom).collect()
        };
        (0..record.len()).map(held).collect()
    }
}
