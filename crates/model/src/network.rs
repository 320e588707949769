//! A network as a model of records.

use std::ops::Range;

use consequence_engine::Settled;
use consequence_network::{
    Ahead, Batch, Glance, Past, Sampler, Shape, ShapeError, StepBuffers, Weights, halo, recurrent,
};
use consequence_record::RecordView;
use consequence_rules::Order;
use serde::{Deserialize, Serialize};

use crate::ends::{EndClock, Timed};
use crate::{Decide, Elapsed, EndsByDays, Generator, Turn};

/// A network over the codes of a vocabulary: one output for each code in order.
#[derive(Clone, Debug)]
pub struct Network {
    codes: Order,
    weights: Weights,
    max_visits: usize,
    ends: Option<EndsByDays>,
}

/// What is known of the visits of a record from elsewhere than the network. Any list may be shorter
/// than the record.
#[derive(Clone, Debug, Default)]
pub struct KnownVisits {
    /// Outputs that something else decides, counted from the first code that the visit may hold.
    pub settled: Vec<Vec<Settled>>,
    /// Facts that the network's objective asks for.
    pub facts: Vec<Vec<u32>>,
    /// Logits that its objective asks for beside those of the visit.
    pub ahead: Vec<Vec<Glance>>,
}

/// The sizes of a network, apart from the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The most encounters that a record may have.
    pub max_visits: usize,
    /// Those that are the network's own.
    pub network: NetworkSizes,
}

/// The sizes of a network, apart from what a cohort gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NetworkSizes {
    /// Of the recurrent network.
    Recurrent(RecurrentSizes),
    /// Of HALO.
    Halo(HaloSizes),
}

/// The sizes of the recurrent network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecurrentSizes {
    /// Numbers that the state of a visit has, which every code reads.
    pub head: usize,
    /// Numbers that the history of a record is kept in.
    pub width: usize,
    /// Numbers between the two layers that refine a state.
    pub bottleneck: usize,
}

impl RecurrentSizes {
    /// A head of this width, and the rest as usual.
    pub fn of_head(head: usize) -> Self {
        Self { head, width: 64, bottleneck: 32 }
    }
}

/// The sizes of HALO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HaloSizes {
    /// Numbers that a visit is embedded in.
    pub width: usize,
    /// Blocks of attention.
    pub layers: usize,
    /// Heads of attention.
    pub heads: usize,
    /// Hidden units of the head for each code.
    pub head_units: usize,
}

impl Sizes {
    /// A recurrent network with a head of this width.
    pub fn recurrent(max_visits: usize, head: usize) -> Self {
        let network = NetworkSizes::Recurrent(RecurrentSizes::of_head(head));
        Self { max_visits, network }
    }

    /// A HALO network.
    pub fn halo(max_visits: usize, sizes: HaloSizes) -> Self {
        Self { max_visits, network: NetworkSizes::Halo(sizes) }
    }

    /// The shape of a network for these codes.
    pub fn shape(&self, codes: &Order) -> Shape {
        match self.network {
            NetworkSizes::Recurrent(RecurrentSizes { head, width, bottleneck }) => {
                let codes = codes.len();
                Shape::Recurrent(recurrent::Shape { codes, width, head, bottleneck, side: 0 })
            }
            NetworkSizes::Halo(HaloSizes { width, layers, heads, head_units }) => {
                // A code for the mark that a record begins with.
                let codes = codes.len() + 1;
                // That mark, the static visit, and all encounters but the last.
                let positions = self.max_visits + 1;
                Shape::Halo(halo::Shape {
                    codes,
                    positions,
                    width,
                    layers,
                    heads,
                    head_units,
                    side: 0,
                })
            }
        }
    }
}

impl Network {
    /// An untrained network.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use consequence_model::{Network, Sizes};
    /// use consequence_record::{Kind, Vocabulary};
    /// use consequence_rules::Order;
    ///
    /// let codes = Order::natural(Arc::new(Vocabulary::new([("A", Kind::Encounter)])?));
    /// let network = Network::drawn(codes, &Sizes::recurrent(9, 64), 1)?;
    /// assert_eq!(network.max_visits(), 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drawn(codes: Order, sizes: &Sizes, seed: u64) -> Result<Self, ShapeError> {
        let weights = Weights::drawn(sizes.shape(&codes), seed)?;
        Ok(Self { codes, weights, max_visits: sizes.max_visits, ends: None })
    }

    /// The same network with so many outputs beside the head, drawn anew.
    pub fn with_side(self, side: usize, seed: u64) -> Result<Self, ShapeError> {
        Ok(Self { weights: self.weights.with_side(side, seed)?, ..self })
    }

    /// A network with these weights, for records of so many encounters at most; none if they are for
    /// another number of codes or of encounters.
    pub fn new(codes: Order, weights: Weights, max_visits: usize) -> Option<Self> {
        let shape = weights.shape();
        let fits = shape.codes() == codes.len()
            && shape.max_visits().is_none_or(|visits| visits == max_visits);
        fits.then_some(Self { codes, weights, max_visits, ends: None })
    }

    /// The same network with `END` moved by how long a record has gone on, or as its weights give it.
    pub fn with_ends(self, ends: Option<EndsByDays>) -> Self {
        Self { ends, ..self }
    }

    /// How `END` moves with how long a record has gone on, if it does.
    pub fn ends(&self) -> Option<&EndsByDays> {
        self.ends.as_ref()
    }

    /// The codes, in the order they are decided.
    pub fn codes(&self) -> &Order {
        &self.codes
    }

    /// The weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The weights, to be changed.
    pub fn weights_mut(&mut self) -> &mut Weights {
        &mut self.weights
    }

    /// The most encounters that a record may have.
    pub fn max_visits(&self) -> usize {
        self.max_visits
    }

    /// A batch of records for this network, empty.
    pub fn batch(&self) -> Batch {
        Batch::new(self.codes.len() as u32)
    }

    /// Appends a record to a batch, with what is known of its visits from elsewhere.
    pub fn push(&self, batch: &mut Batch, record: RecordView<'_>, known: &KnownVisits) {
        fn of<T>(lists: &[Vec<T>], visit: usize) -> impl Iterator<Item = &T> {
            lists.get(visit).into_iter().flatten()
        }
        batch.begin();
        for visit in 0..record.len() {
            let range = self.codes.range(visit);
            let codes = range.start as usize..range.end as usize;
            let settled = of(&known.settled, visit).copied();
            batch.push(codes, self.codes.positions(record, visit), settled);
            batch.note(of(&known.facts, visit).copied());
            batch.look_ahead(of(&known.ahead, visit).copied());
        }
    }
}

/// A network made ready to write records.
///
/// All records begin with the same mark, so the network's answer to it is computed once.
pub struct NetworkGenerator {
    codes: Order,
    max_visits: usize,
    sampler: Sampler,
    begun: Past,
    hidden: Vec<f32>,
    has_head: bool,
    ends: Option<EndClock>,
}

/// What a [`NetworkGenerator`] remembers of a record.
#[derive(Clone, Debug)]
pub struct NetworkPast {
    network: Past,
    /// What has passed before the visit at hand; none before the first encounter, and where days have no say.
    elapsed: Option<Elapsed>,
}

impl NetworkGenerator {
    /// Lays out the weights of a network.
    pub fn new(network: &Network) -> Self {
        let sampler = Sampler::new(&network.weights);
        let (mut begun, mut hidden) = (sampler.begin(), Vec::new());
        let start = [network.codes.len() as u32];
        sampler.see(&mut [(&mut begun, &start)], &mut hidden, &mut StepBuffers::default());
        Self {
            codes: network.codes.clone(),
            max_visits: network.max_visits(),
            sampler,
            begun,
            hidden,
            has_head: true,
            ends: network.ends.as_ref().map(|ends| EndClock::new(&network.codes, ends)),
        }
    }

    /// A network that gives the probability of each code by its output beside the head, from the
    /// visits before alone; it has one for each code.
    pub fn without_head(network: &Network) -> Self {
        Self { has_head: false, ..Self::new(network) }
    }

    /// Has the codes of visits decided by the outputs beside the head, in order.
    fn decide_beside(&self, codes: Range<usize>, side: &[f32], deciders: &mut [&mut dyn Decide]) {
        let rows = side.chunks_exact(self.sampler.side_outputs().max(1));
        for (logits, decider) in rows.zip(deciders) {
            for code in codes.clone() {
                // These outputs do not go by codes of the same visit.
                let mut ahead = |_: bool, positions: &[u32], into: &mut [f64]| {
                    for (&position, into) in positions.iter().zip(into) {
                        *into = probability(logits[position as usize]);
                    }
                };
                decider.decide(code as u32, probability(logits[code]), &mut ahead);
            }
        }
    }
}

/// In double precision, so that what is nearly certain is not taken for certain.
fn probability(logit: f32) -> f64 {
    1.0 / (1.0 + (-f64::from(logit)).exp())
}

/// Memory of a [`NetworkGenerator`].
#[derive(Debug, Default)]
pub struct NetworkScratch {
    buffers: StepBuffers,
    hidden: Vec<f32>,
    chosen: Vec<f32>,
    side: Vec<f32>,
}

impl Generator for NetworkGenerator {
    type Past = NetworkPast;
    type Scratch = NetworkScratch;

    fn codes(&self) -> &Order {
        &self.codes
    }

    fn max_visits(&self) -> usize {
        self.max_visits
    }

    fn begin(&self) -> NetworkPast {
        NetworkPast { network: self.begun.clone(), elapsed: None }
    }

    fn next(&self, turns: &mut [Turn<'_, NetworkPast>], scratch: &mut NetworkScratch) {
        let Some(ends) = &self.ends else { return self.walk(turns, scratch) };
        let mut deciders: Vec<Timed<'_>> = Vec::with_capacity(turns.len());
        let mut others = Vec::with_capacity(turns.len());
        for turn in turns {
            if let Some(last) = turn.last {
                turn.past.elapsed = ends.days.after(turn.past.elapsed, last);
            }
            deciders.push(ends.timed(turn.past.elapsed, &mut *turn.decider));
            others.push((&mut *turn.past, turn.last));
        }
        let mut turns: Vec<Turn<'_, NetworkPast>> = others
            .into_iter()
            .zip(&mut deciders)
            .map(|((past, last), decider)| Turn { past, last, decider })
            .collect();
        self.walk(&mut turns, scratch);
    }
}

impl NetworkGenerator {
    /// One visit of each record, with the probabilities of the weights alone.
    fn walk(&self, turns: &mut [Turn<'_, NetworkPast>], scratch: &mut NetworkScratch) {
        let NetworkScratch { buffers, hidden, chosen, side } = scratch;
        for first in [true, false] {
            let mut deciders: Vec<&mut dyn Decide> = Vec::new();
            let mut seen: Vec<(&mut Past, &[u32])> = Vec::new();
            for turn in turns.iter_mut().filter(|turn| turn.last.is_none() == first) {
                seen.push((&mut turn.past.network, turn.last.unwrap_or_default()));
                deciders.push(&mut *turn.decider);
            }
            if deciders.is_empty() {
                continue;
            }
            let hidden: &[f32] = if first {
                chosen.clear();
                deciders.iter().for_each(|_| chosen.extend_from_slice(&self.hidden));
                chosen
            } else {
                self.sampler.see(&mut seen, hidden, buffers);
                hidden
            };
            let pasts: Vec<&Past> = seen.iter().map(|(past, _)| &**past).collect();
            let range = self.codes.range(usize::from(!first));
            let codes = range.start as usize..range.end as usize;
            self.sampler.side(hidden, side);
            let said = side.chunks_exact(self.sampler.side_outputs().max(1));
            for (decider, said) in deciders.iter_mut().zip(said) {
                decider.open(said);
            }
            if !self.has_head {
                self.decide_beside(codes, side, &mut deciders);
                continue;
            }
            let mut deciders: Vec<_> = deciders
                .into_iter()
                .map(|decider| {
                    move |code, logit: f32, ahead: &mut dyn Ahead| {
                        decider.decide(code, probability(logit), &mut |present, codes, into| {
                            into.iter_mut()
                                .zip(ahead.logits(present, codes))
                                .for_each(|(into, &logit)| *into = probability(logit));
                        })
                    }
                })
                .collect();
            self.sampler.decide(hidden, &pasts, codes, &mut deciders, buffers);
        }
    }
}
