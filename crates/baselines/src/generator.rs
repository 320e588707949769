//! Rivals as generators: the probabilities that a network gives, as the method changes them.

use consequence_model::{Decide, Generator, LookAhead, Network, NetworkGenerator, Turn};
use consequence_record::Kind;
use consequence_rules::Order;

use crate::rival::Part;
use crate::{CircuitWalk, Layer, Method, MixtureWalk, Rival};

impl Rival {
    /// The trained network, ready to write records by the method.
    pub fn generator(&self, network: &Network) -> RivalGenerator<'_> {
        let network = match self.method() {
            Method::Spl => NetworkGenerator::without_head(network),
            _ => NetworkGenerator::new(network),
        };
        RivalGenerator { rival: self, network }
    }
}

/// A network whose probabilities a method changes. They are normalised: over all visits that the
/// method can write, they add up to one.
pub struct RivalGenerator<'a> {
    rival: &'a Rival,
    network: NetworkGenerator,
}

impl<'a> Generator for RivalGenerator<'a> {
    type Past = <NetworkGenerator as Generator>::Past;
    type Scratch = <NetworkGenerator as Generator>::Scratch;

    fn codes(&self) -> &Order {
        self.network.codes()
    }

    fn max_visits(&self) -> usize {
        self.network.max_visits()
    }

    fn begin(&self) -> Self::Past {
        self.network.begin()
    }

    fn next(&self, turns: &mut [Turn<'_, Self::Past>], scratch: &mut Self::Scratch) {
        let mut asked: Vec<Changed<'_>> = Vec::with_capacity(turns.len());
        let mut others = Vec::with_capacity(turns.len());
        for turn in turns {
            let kind = if turn.last.is_none() { Kind::Static } else { Kind::Encounter };
            let range = self.codes().range(usize::from(kind == Kind::Encounter));
            let (first, codes) = (range.start, range.len());
            let walk = match self.rival.part(kind) {
                Part::Layer(layer) => Way::Layer(layer, vec![false; codes]),
                Part::SemanticLoss(_) | Part::Mixture(_) | Part::Circuit(_) => Way::AsIs,
            };
            let decider = &mut *turn.decider;
            asked.push(Changed { rival: self.rival, kind, first, codes, walk, decider });
            others.push((&mut *turn.past, turn.last));
        }
        let mut turns: Vec<Turn<'_, Self::Past>> = others
            .into_iter()
            .zip(&mut asked)
            .map(|((past, last), decider)| Turn { past, last, decider })
            .collect();
        self.network.next(&mut turns, scratch);
    }
}

/// How the probabilities of a visit are changed.
enum Way<'a> {
    AsIs,
    /// With what is decided: the codes before the one at hand.
    Layer(&'a Layer, Vec<bool>),
    Mixture(MixtureWalk<'a>),
    Circuit(CircuitWalk<'a>),
}

/// Passes probabilities on to who decides, as the method changes them.
struct Changed<'a> {
    rival: &'a Rival,
    kind: Kind,
    /// The first code that the visit may hold, and how many there are.
    first: u32,
    codes: usize,
    walk: Way<'a>,
    decider: &'a mut dyn Decide,
}

impl Decide for Changed<'_> {
    fn open(&mut self, side: &[f32]) {
        let own = self.rival.own(self.kind, self.codes, side);
        match self.rival.part(self.kind) {
            Part::Mixture(mixture) => self.walk = Way::Mixture(mixture.walk(own)),
            Part::Circuit(circuit) => self.walk = Way::Circuit(circuit.walk(own)),
            Part::SemanticLoss(_) | Part::Layer(_) => {}
        }
    }

    fn decide(&mut self, position: u32, probability: f64, ahead: &mut LookAhead<'_>) -> bool {
        let code = position - self.first;
        let changed = match &self.walk {
            Way::AsIs => probability,
            Way::Layer(layer, visit) => {
                let decided = |other: u32| (other < code).then(|| visit[other as usize]);
                if layer.forced(code, decided) { 1.0 } else { probability }
            }
            Way::Mixture(walk) => walk.probability(code, probability),
            Way::Circuit(walk) => walk.probability(code),
        };
        // Nobody looks ahead under a rival: what it says there is the network's alone.
        let present = self.decider.decide(position, changed, ahead);
        match &mut self.walk {
            Way::AsIs => {}
            Way::Layer(_, visit) => visit[code as usize] = present,
            Way::Mixture(walk) => walk.decide(code, probability, present),
            Way::Circuit(walk) => walk.decide(code, present),
        }
        present
    }
}
