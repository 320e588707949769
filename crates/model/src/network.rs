//! The HALO network as a model of records.

use consequence_engine::Settled;
use consequence_halo::{Batch, Past, Sampler, Shape, ShapeError, StepBuffers, Weights};
use consequence_record::RecordView;

use crate::{CodeOrder, Generator, Turn};

/// A HALO network over the codes of a vocabulary: one input for each code in order, and one for the
/// mark that begins a record.
#[derive(Clone, Debug)]
pub struct Network {
    codes: CodeOrder,
    weights: Weights,
}

/// The sizes of a network, apart from the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The most encounters that a record may have.
    pub max_visits: usize,
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
    /// The shape of a network for these codes.
    pub fn shape(&self, codes: &CodeOrder) -> Shape {
        Shape {
            codes: codes.len() + 1,
            // The mark at the beginning, the static visit, and all encounters but the last.
            positions: self.max_visits + 1,
            width: self.width,
            layers: self.layers,
            heads: self.heads,
            head_units: self.head_units,
        }
    }
}

impl Network {
    /// A network that has learnt nothing yet.
    pub fn drawn(codes: CodeOrder, sizes: &Sizes, seed: u64) -> Result<Self, ShapeError> {
        let weights = Weights::drawn(sizes.shape(&codes), seed)?;
        Ok(Self { codes, weights })
    }

    /// A network with these weights; none if they are for another number of codes.
    pub fn new(codes: CodeOrder, weights: Weights) -> Option<Self> {
        (weights.shape().codes == codes.len() + 1).then_some(Self { codes, weights })
    }

    /// The codes, in the order they are decided.
    pub fn codes(&self) -> &CodeOrder {
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
        self.weights.shape().positions - 1
    }

    /// A batch of records for this network, empty.
    pub fn batch(&self) -> Batch {
        Batch::new(self.codes.len() as u32)
    }

    /// Appends a record to a batch. `settled` gives, for each visit, the outputs that something else
    /// decides, by position less the first position of the visit's range.
    pub fn push<'a>(
        &self,
        batch: &mut Batch,
        record: RecordView<'_>,
        settled: impl Fn(usize) -> &'a [Settled],
    ) {
        batch.begin();
        for visit in 0..record.len() {
            let range = self.codes.range(visit);
            let codes = range.start as usize..range.end as usize;
            let settled = settled(visit).iter().copied();
            batch.push(codes, self.codes.positions(record, visit), settled);
        }
    }
}

/// A network made ready to write records.
///
/// All records begin alike, so what the network makes of the beginning is computed once.
pub struct NetworkGenerator {
    codes: CodeOrder,
    max_visits: usize,
    sampler: Sampler,
    begun: Past,
    hidden: Vec<f32>,
}

impl NetworkGenerator {
    /// Lays out the weights of a network.
    pub fn new(network: &Network) -> Self {
        let sampler = Sampler::new(&network.weights);
        let (mut begun, mut hidden) = (Past::default(), Vec::new());
        let start = [network.codes.len() as u32];
        sampler.see(&mut [(&mut begun, &start)], &mut hidden, &mut StepBuffers::default());
        Self {
            codes: network.codes.clone(),
            max_visits: network.max_visits(),
            sampler,
            begun,
            hidden,
        }
    }
}

/// Memory of a [`NetworkGenerator`].
#[derive(Debug, Default)]
pub struct NetworkScratch {
    buffers: StepBuffers,
    hidden: Vec<f32>,
    chosen: Vec<f32>,
}

impl Generator for NetworkGenerator {
    type Past = Past;
    type Scratch = NetworkScratch;

    fn codes(&self) -> &CodeOrder {
        &self.codes
    }

    fn max_visits(&self) -> usize {
        self.max_visits
    }

    fn begin(&self) -> Past {
        self.begun.clone()
    }

    fn next(&self, turns: &mut [Turn<'_, Past>], scratch: &mut NetworkScratch) {
        let NetworkScratch { buffers, hidden, chosen } = scratch;
        for first in [true, false] {
            let mut deciders: Vec<_> = Vec::new();
            let mut seen: Vec<(&mut Past, &[u32])> = Vec::new();
            for turn in turns.iter_mut().filter(|turn| turn.last.is_none() == first) {
                if let Some(last) = turn.last {
                    seen.push((&mut *turn.past, last));
                }
                let decider = &mut *turn.decider;
                // In double precision, so that what is nearly certain is not taken for certain.
                deciders.push(move |code, logit: f32| {
                    decider.decide(code, 1.0 / (1.0 + (-f64::from(logit)).exp()))
                });
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
            let range = self.codes.range(usize::from(!first));
            let codes = range.start as usize..range.end as usize;
            self.sampler.decide(hidden, codes, &mut deciders, buffers);
        }
    }
}
