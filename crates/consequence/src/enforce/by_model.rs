//! Codes that a rule leaves the choice of, chosen by how likely a model finds them.

use consequence_enforce::{Likelihoods, VisitLikelihoods};
use consequence_model::{Decide, Generator, LookAhead, Markov, NetworkGenerator, Trained, Turn};
use consequence_record::Code;
use consequence_rules::{Order, RuleSet};

/// A model that goes along with records over the codes of some rules.
pub(super) enum ModelLikelihoods<'a> {
    Network(Box<NetworkGenerator>, Positions),
    Markov(&'a Markov, Positions),
}

/// The position of each code in the model's order; none for a code that the model does not know.
type Positions = Vec<Option<u32>>;

impl<'a> ModelLikelihoods<'a> {
    pub fn new(trained: &'a Trained, rules: &RuleSet) -> Self {
        let (codes, own) = (rules.vocabulary(), trained.codes());
        let known = |code: Code| own.vocabulary().code(codes.name(code));
        let positions = codes.codes().map(|code| known(code).map(|code| own.position(code)));
        let positions = positions.collect();
        match trained {
            Trained::Network(network) => {
                Self::Network(Box::new(NetworkGenerator::new(network)), positions)
            }
            Trained::Markov(markov) => Self::Markov(markov, positions),
        }
    }
}

impl Likelihoods for ModelLikelihoods<'_> {
    fn begin(&self) -> Box<dyn VisitLikelihoods + '_> {
        match self {
            Self::Network(network, positions) => Box::new(Along::new(&**network, positions)),
            Self::Markov(markov, positions) => Box::new(Along::new(*markov, positions)),
        }
    }
}

/// A model on its way along one record.
struct Along<'a, G: Generator> {
    generator: &'a G,
    positions: &'a [Option<u32>],
    past: G::Past,
    scratch: G::Scratch,
    visits: usize,
    told: Told,
}

/// Decides a visit as it was given, and keeps the probabilities.
#[derive(Default)]
struct Told {
    given: Vec<u32>,
    first: u32,
    probabilities: Vec<f64>,
}

impl Decide for Told {
    fn decide(&mut self, position: u32, probability: f64, _: &mut LookAhead<'_>) -> bool {
        self.probabilities.push(probability);
        self.given.binary_search(&position).is_ok()
    }
}

impl<'a, G: Generator> Along<'a, G> {
    fn new(generator: &'a G, positions: &'a [Option<u32>]) -> Self {
        let (past, scratch) = (generator.begin(), G::Scratch::default());
        Self { generator, positions, past, scratch, visits: 0, told: Told::default() }
    }

    /// The codes of a visit that the model knows, as ascending positions.
    fn known(&self, visit: usize, codes: &[Code]) -> Vec<u32> {
        let order: &Order = self.generator.codes();
        let range = order.range(visit);
        let known = codes.iter().filter_map(|code| self.positions[code.index()]);
        let mut known: Vec<u32> = known.filter(|position| range.contains(position)).collect();
        known.sort_unstable();
        known
    }
}

impl<G: Generator> VisitLikelihoods for Along<'_, G> {
    fn next(&mut self, before: Option<&[Code]>, given: &[Code]) -> bool {
        let visit = self.visits;
        // A record that goes on further than the model does is beyond it.
        if visit > self.generator.max_visits() {
            return false;
        }
        self.visits += 1;
        let last = before.map(|codes| self.known(visit - 1, codes));
        self.told.given = self.known(visit, given);
        self.told.first = self.generator.codes().range(visit).start;
        self.told.probabilities.clear();
        let turn = Turn { past: &mut self.past, last: last.as_deref(), decider: &mut self.told };
        self.generator.next(&mut [turn], &mut self.scratch);
        true
    }

    fn likelihood(&self, code: Code) -> f64 {
        let Some(position) = self.positions[code.index()] else { return 0.0 };
        let at = position.checked_sub(self.told.first).map(|at| at as usize);
        at.and_then(|at| self.told.probabilities.get(at)).copied().unwrap_or(0.0)
    }
}
