//! A diagram weighed by probabilities: how likely it holds, and what that says about each code.

use crate::row::log_add;
use crate::{Coin, Diagram, Variable};
use consequence_rules::decisions::{FALSE, Function, TRUE};

/// What decides a level of a diagram.
#[derive(Clone, Copy, Debug)]
enum Decided {
    Known(bool),
    Drawn(Coin),
}

/// A [`Diagram`] weighed by independent probabilities of its codes.
///
/// Weights are kept as logarithms. A diagram that some visit satisfies has a weight above zero for
/// all probabilities strictly between 0 and 1, however small the weight is.
#[derive(Clone, Debug)]
pub struct Evaluation<'a> {
    diagram: &'a Diagram,
    by_level: Vec<Decided>,
    reached: Vec<bool>,
    /// The logarithm of the weight of each node that is reached.
    weights: Vec<f64>,
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(diagram: &'a Diagram, known: &[bool], coins: &[Coin]) -> Self {
        assert_eq!(coins.len(), diagram.codes().len(), "one coin for every code");
        let mut coins = coins.iter();
        let decided = diagram.levels.iter().map(|variable| match variable {
            Variable::Known(atom) => Decided::Known(known[*atom as usize]),
            Variable::Now(_) => Decided::Drawn(*coins.next().expect("counted above")),
        });
        let by_level: Vec<Decided> = decided.collect();
        let (nodes, root) = (&diagram.nodes, diagram.root as usize);
        let mut reached = vec![false; nodes.len()];
        reached[root] = true;
        for index in (2..=root).rev() {
            if reached[index] {
                let node = nodes[index];
                let known = match by_level[node.variable as usize] {
                    Decided::Known(value) => Some(value),
                    Decided::Drawn(_) => None,
                };
                reached[node.low as usize] |= known != Some(true);
                reached[node.high as usize] |= known != Some(false);
            }
        }
        let mut weights = vec![f64::NEG_INFINITY; nodes.len()];
        weights[TRUE as usize] = 0.0;
        for index in (2..=root).filter(|&index| reached[index]) {
            let node = nodes[index];
            weights[index] = match by_level[node.variable as usize] {
                Decided::Known(value) => weights[node.child(value) as usize],
                Decided::Drawn(coin) => log_add(
                    coin.absent + weights[node.low as usize],
                    coin.present + weights[node.high as usize],
                ),
            };
        }
        Self { diagram, by_level, reached, weights }
    }

    /// The logarithm of the probability that codes drawn one by one satisfy the diagram: minus
    /// infinity if what is known rules that out.
    pub fn log_weight(&self) -> f64 {
        self.weights[self.diagram.root as usize]
    }

    /// The probability of the code that a node decides, given that the diagram will hold.
    fn probability_at(&self, index: Function, coin: Coin) -> f64 {
        let high = self.diagram.nodes[index as usize].high;
        let log = coin.present + self.weights[high as usize] - self.weights[index as usize];
        log.exp().min(1.0)
    }

    /// For each code, its probability given that the diagram holds less its probability alone: the
    /// gradient of the logarithm of the weight by the code's logit. All zero if nothing satisfies
    /// the diagram.
    pub fn gradient(&self) -> Vec<f64> {
        let mut by_level = vec![0.0; self.by_level.len()];
        let root = self.diagram.root as usize;
        if self.log_weight() > f64::NEG_INFINITY {
            // The probability of coming through each node. Ways around a level leave its code as it
            // is.
            let mut flow = vec![0.0; self.diagram.nodes.len()];
            flow[root] = 1.0;
            for index in (2..=root).rev().filter(|&index| self.reached[index]) {
                let (node, through) = (self.diagram.nodes[index], flow[index]);
                if through == 0.0 {
                    continue;
                }
                match self.by_level[node.variable as usize] {
                    Decided::Known(value) => flow[node.child(value) as usize] += through,
                    Decided::Drawn(coin) => {
                        let probability = self.probability_at(index as Function, coin);
                        flow[node.high as usize] += through * probability;
                        flow[node.low as usize] += through * (1.0 - probability);
                        by_level[node.variable as usize] +=
                            through * (probability - coin.probability());
                    }
                }
            }
        }
        self.diagram.code_levels.iter().map(|&level| by_level[level as usize]).collect()
    }

    /// Decides the codes one by one so that the diagram holds.
    pub fn walk(self) -> Walk<'a> {
        let at = self.diagram.root;
        let mut walk = Walk { evaluation: self, at, next: 0 };
        walk.pass_known();
        walk
    }
}

/// Decides the codes of a diagram in ascending order.
///
/// Codes drawn with these probabilities are distributed as independent codes are, given that the
/// diagram holds.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    evaluation: Evaluation<'a>,
    at: Function,
    next: usize,
}

impl Walk<'_> {
    /// The position of the code that comes next; `None` when all are decided.
    pub fn next_code(&self) -> Option<u32> {
        self.evaluation.diagram.codes().get(self.next).copied()
    }

    /// The probability of the next code, given the codes decided so far and that the diagram will
    /// hold. Where it cannot hold any more, the code keeps its own probability. Zero when all are
    /// decided.
    pub fn probability(&self) -> f64 {
        let diagram = self.evaluation.diagram;
        let Some(&level) = diagram.code_levels.get(self.next) else { return 0.0 };
        let Decided::Drawn(coin) = self.evaluation.by_level[level as usize] else { return 0.0 };
        let decides = diagram.nodes[self.at as usize].variable == level;
        if decides && self.evaluation.weights[self.at as usize] > f64::NEG_INFINITY {
            self.evaluation.probability_at(self.at, coin)
        } else {
            coin.probability()
        }
    }

    /// Decides the next code. Gives whether the diagram can still hold.
    pub fn decide(&mut self, present: bool) -> bool {
        let diagram = self.evaluation.diagram;
        let node = diagram.nodes[self.at as usize];
        if diagram.code_levels.get(self.next) == Some(&node.variable) {
            self.at = node.child(present);
            self.pass_known();
        }
        self.next += 1;
        self.at != FALSE
    }

    fn pass_known(&mut self) {
        let evaluation = &self.evaluation;
        while let Some(Decided::Known(value)) =
            evaluation.by_level.get(evaluation.diagram.nodes[self.at as usize].variable as usize)
        {
            self.at = evaluation.diagram.nodes[self.at as usize].child(*value);
        }
    }
}
