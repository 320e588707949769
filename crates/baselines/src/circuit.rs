//! The semantic probabilistic layer (SPL): codes drawn independently, given that the rules hold.
//!
//! A visit `y` has the probability `q(y) c(y) / Z`: `q` draws each code by itself from the logits
//! of a network, `c` is 1 for visits that obey the rules and 0 for others, and `Z` is the
//! probability that `q` obeys them. Rules that share no code are separate factors, each summed
//! exactly on its decision diagram.
//!
//! It can express every static rule, and every visit it writes obeys them. It cannot express
//! temporal rules. All logits must be known before the first code is drawn, so a network that reads
//! the codes before in the same visit cannot feed it.

use std::ops::Range;

use crate::row::Gradient;
use crate::{BaselineError, Coin, Component, Cost, Diagram, Limits, Row, Unexpressed, Walk, World};

/// The distribution of a visit that obeys the rules within a visit of its world.
#[derive(Clone, Debug)]
pub struct Circuit {
    range: Range<u32>,
    diagrams: Vec<Diagram>,
    /// Which diagram decides a code, counted from the first of the range.
    owners: Vec<Option<u32>>,
    unexpressed: Vec<Unexpressed>,
}

impl Circuit {
    /// The rules within a visit of a world.
    pub fn new(world: &World, limits: &Limits) -> Result<Self, BaselineError> {
        let made =
            world.static_components().into_iter().map(|part| satisfiable(world, &part, limits));
        let diagrams: Vec<Diagram> = made.collect::<Result<_, _>>()?;
        let owners = owners(&world.range(), diagrams.iter().map(Diagram::codes));
        let unexpressed = world.beyond_the_visit();
        Ok(Self { range: world.range(), diagrams, owners, unexpressed })
    }

    /// Rules it cannot express.
    pub fn unexpressed(&self) -> &[Unexpressed] {
        &self.unexpressed
    }

    /// What a visit costs. A component that the visit breaks counts as broken.
    ///
    /// # Panics
    /// If the row has another width than the range of the world.
    pub fn nats(&self, row: Row<'_>) -> Cost {
        self.cost(row, None)
    }

    /// What a visit costs; adds `scale` times the gradient by the logits to `into`.
    ///
    /// # Panics
    /// If the row or the gradient has another width than the range of the world.
    pub fn gradient(&self, row: Row<'_>, scale: f64, into: &mut [f32]) -> Cost {
        self.cost(row, Some(Gradient { scale, into }))
    }

    fn cost(&self, row: Row<'_>, mut gradient: Option<Gradient<'_>>) -> Cost {
        row.check(&self.range);
        let truth = row.truth();
        let value = |code: u32| f64::from(u8::from(truth[code as usize]));
        let mut cost = Cost::default();
        for (code, _) in (0..).zip(&self.owners).filter(|(_, owner)| owner.is_none()) {
            let coin = row.coin(code);
            cost.nats += coin.nats(truth[code as usize]);
            if let Some(gradient) = &mut gradient {
                gradient.add(code, coin.probability() - value(code));
            }
        }
        for diagram in &self.diagrams {
            let index = |position: u32| position - self.range.start;
            if !diagram.holds(&[], |position| truth[index(position) as usize]) {
                cost.broken += 1;
                continue;
            }
            let codes: Vec<u32> = diagram.codes().iter().map(|&code| index(code)).collect();
            let coins: Vec<Coin> = codes.iter().map(|&code| row.coin(code)).collect();
            let evaluation = diagram.evaluate(&[], &coins);
            cost.nats += evaluation.log_weight();
            for (&code, coin) in codes.iter().zip(&coins) {
                cost.nats += coin.nats(truth[code as usize]);
            }
            if let Some(gradient) = &mut gradient {
                let tilts = evaluation.gradient();
                for ((&code, coin), tilt) in codes.iter().zip(&coins).zip(tilts) {
                    gradient.add(code, coin.probability() + tilt - value(code));
                }
            }
        }
        cost
    }

    /// Decides the codes of a visit one by one.
    ///
    /// # Panics
    /// If there are not as many logits as the visit may hold codes.
    pub fn walk(&self, logits: &[f32]) -> CircuitWalk<'_> {
        let row = Row { logits, present: &[] };
        row.check(&self.range);
        let coins: Vec<Coin> = (0..logits.len() as u32).map(|code| row.coin(code)).collect();
        let walks = self.diagrams.iter().map(|diagram| {
            let own = diagram.codes().iter();
            let own: Vec<Coin> =
                own.map(|&code| coins[(code - self.range.start) as usize]).collect();
            diagram.evaluate(&[], &own).walk()
        });
        let walks = walks.collect();
        CircuitWalk { owners: &self.owners, coins, walks }
    }
}

/// Decides the codes of a visit so that the rules hold: each code is asked for and decided once, in
/// ascending order, counted from the first that the visit may hold.
#[derive(Clone, Debug)]
pub struct CircuitWalk<'a> {
    owners: &'a [Option<u32>],
    coins: Vec<Coin>,
    walks: Vec<Walk<'a>>,
}

impl CircuitWalk<'_> {
    /// The probability of a code, given those decided and that the rules will hold.
    pub fn probability(&self, code: u32) -> f64 {
        match self.owners[code as usize] {
            Some(owner) => self.walks[owner as usize].probability(),
            None => self.coins[code as usize].probability(),
        }
    }

    /// Decides the code.
    pub fn decide(&mut self, code: u32, present: bool) {
        if let Some(owner) = self.owners[code as usize] {
            self.walks[owner as usize].decide(present);
        }
    }
}

/// The diagram of a component, refused if nothing satisfies it.
pub(crate) fn satisfiable(
    world: &World,
    component: &Component,
    limits: &Limits,
) -> Result<Diagram, BaselineError> {
    let diagram = Diagram::new(world, component, limits)?;
    if diagram.is_false() {
        return Err(BaselineError::Unsatisfiable { rules: world.rule_names(component) });
    }
    Ok(diagram)
}

/// For each code of a range, the list it is in.
pub(crate) fn owners<'a>(
    range: &Range<u32>,
    lists: impl IntoIterator<Item = &'a [u32]>,
) -> Vec<Option<u32>> {
    let mut owners = vec![None; range.len()];
    for (owner, list) in (0..).zip(lists) {
        for &position in list {
            owners[(position - range.start) as usize] = Some(owner);
        }
    }
    owners
}
