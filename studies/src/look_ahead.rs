//! How near to a model's own distribution given the rules a visit is that is sampled under them, in
//! worlds small enough to list every visit: forcing the last code that a rule leaves, against looking
//! ahead to it.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_enforce::{Enforcer, Ruling, Writer};
use consequence_prng::{Draws, Purpose, VisitDraws};
use consequence_record::{Kind, Vocabulary};
use consequence_rules::{CompileOptions, Formula, Order, Plan, Rule, RuleSet, compile};

/// Worlds of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// How its rules come about.
    pub rules: Rules,
    /// Codes of a visit.
    pub codes: usize,
    /// Clauses.
    pub clauses: usize,
}

/// How rules come about.
#[derive(Clone, Copy, Debug)]
pub enum Rules {
    /// One code asks for any of so many that come after it, whose logits it raises by so much.
    Alternatives(usize, f64),
    /// Two to so many codes, three in four of them to be present.
    Random(usize),
}

impl Display for Family {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { codes, clauses, .. } = self;
        match self.rules {
            Rules::Alternatives(choices, bond) => {
                write!(out, "A => any of {choices}, raised by {bond}; {clauses} of {codes} codes")
            }
            Rules::Random(most) => {
                write!(out, "any clauses of 2 to {most}; {clauses} of {codes} codes")
            }
        }
    }
}

/// The families of the study.
pub const FAMILIES: [Family; 16] = [
    family(Rules::Alternatives(3, 0.0), 8, 1),
    family(Rules::Alternatives(6, 0.0), 8, 1),
    family(Rules::Alternatives(3, 0.0), 8, 2),
    family(Rules::Alternatives(4, 0.0), 9, 2),
    family(Rules::Alternatives(3, 0.0), 8, 4),
    family(Rules::Alternatives(3, 0.0), 9, 8),
    family(Rules::Alternatives(3, 1.0), 8, 2),
    family(Rules::Alternatives(3, 3.0), 8, 2),
    family(Rules::Alternatives(3, 5.0), 8, 2),
    family(Rules::Alternatives(3, 1.0), 8, 4),
    family(Rules::Alternatives(3, 3.0), 8, 4),
    family(Rules::Alternatives(3, 5.0), 8, 4),
    family(Rules::Random(4), 6, 1),
    family(Rules::Random(4), 8, 2),
    family(Rules::Random(4), 8, 4),
    family(Rules::Random(3), 8, 8),
];

const fn family(rules: Rules, codes: usize, clauses: usize) -> Family {
    Family { rules, codes, clauses }
}

/// Mean total variation from the model's distribution given the rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// Worlds whose rules allow something.
    pub worlds: usize,
    /// Where the last code is forced.
    pub forced: f64,
    /// With a look ahead, as for a model that was trained with the rules.
    pub ahead: f64,
    /// With a look ahead, and codes tested that draw conclusions.
    pub tested: f64,
}

/// Tries worlds of a family.
pub fn run(family: Family, worlds: u64) -> Line {
    let mut line = Line::default();
    for number in 0..worlds {
        let Some(world) = World::random(family, number) else { continue };
        let [forced, ahead, tested] = world.variations();
        line.worlds += 1;
        line.forced += forced;
        line.ahead += ahead;
        line.tested += tested;
    }
    let worlds = line.worlds.max(1) as f64;
    Line {
        forced: line.forced / worlds,
        ahead: line.ahead / worlds,
        tested: line.tested / worlds,
        ..line
    }
}

/// A model of one visit: the logits of codes go by a few hidden numbers that present codes change, and
/// by what each says of the others.
struct Model {
    hidden: Vec<f64>,
    /// For each code, what it adds to the hidden numbers, and what it reads of them.
    adds: Vec<Vec<f64>>,
    reads: Vec<Vec<f64>>,
    bias: Vec<f64>,
    /// What the presence of one code, the second, adds to the logit of another.
    raised: Vec<(usize, usize, f64)>,
}

impl Model {
    fn probability(&self, code: usize, present: &[bool]) -> f64 {
        let mut hidden = self.hidden.clone();
        for (adds, _) in self.adds.iter().zip(present).filter(|(_, present)| **present) {
            hidden.iter_mut().zip(adds).for_each(|(hidden, adds)| *hidden += adds);
        }
        let read = hidden.iter().zip(&self.reads[code]).map(|(hidden, read)| hidden.tanh() * read);
        let raised = self.raised.iter().filter(|&&(to, by, _)| to == code && present[by]);
        let raised: f64 = raised.map(|(_, _, much)| much).sum();
        1.0 / (1.0 + (-(self.bias[code] + read.sum::<f64>() + raised)).exp())
    }
}

struct World {
    model: Model,
    plan: Plan,
}

/// Random numbers, one after the other.
struct Random(VisitDraws, u32);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.1 += 1;
        self.0.uniform(self.1)
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
    }

    fn normals(&mut self, count: usize, scale: f64) -> Vec<f64> {
        (0..count).map(|_| scale * self.normal()).collect()
    }

    /// Some of so many, ascending.
    fn chosen(&mut self, count: usize, of: usize) -> Vec<usize> {
        let mut left: Vec<usize> = (0..of).collect();
        let mut chosen: Vec<usize> = (0..count)
            .map(|_| left.swap_remove((self.uniform() * left.len() as f64) as usize))
            .collect();
        chosen.sort_unstable();
        chosen
    }
}

impl World {
    /// A world whose rules have a plan.
    fn random(family: Family, number: u64) -> Option<Self> {
        const HIDDEN: usize = 6;
        let mut random = Random(Draws::new(13).visit(number, 0, 0, Purpose::Simulation), 0);
        let codes = family.codes;
        let mut model = Model {
            hidden: random.normals(HIDDEN, 1.0),
            adds: (0..codes).map(|_| random.normals(HIDDEN, 0.7)).collect(),
            reads: (0..codes).map(|_| random.normals(HIDDEN, 1.0)).collect(),
            bias: random.normals(codes, 1.0).into_iter().map(|bias| bias - 1.5).collect(),
            raised: Vec::new(),
        };
        let names = (0..codes).map(|code| (format!("c{code}"), Kind::Encounter));
        let vocabulary = Arc::new(Vocabulary::new(names).ok()?);
        let code = |code: usize| Formula::Now(consequence_record::Code(code as u32));
        let mut rules = Vec::new();
        for rule in 0..family.clauses {
            let formula = match family.rules {
                Rules::Alternatives(choices, bond) => {
                    let chosen = random.chosen(choices + 1, codes);
                    let (antecedent, rest) = chosen.split_first()?;
                    // What draws conclusions comes up often enough to matter.
                    model.bias[*antecedent] = model.bias[*antecedent].abs() * 0.3;
                    model.raised.extend(rest.iter().map(|&to| (to, *antecedent, bond)));
                    code(*antecedent)
                        .implies(Formula::Or(rest.iter().map(|&at| code(at)).collect()))
                }
                Rules::Random(most) => {
                    let count = 2 + (random.uniform() * (most - 1) as f64) as usize;
                    let chosen = random.chosen(count, codes);
                    let literal = |at: usize| match random.uniform() < 0.75 {
                        true => code(at),
                        false => code(at).not(),
                    };
                    Formula::Or(chosen.into_iter().map(literal).collect())
                }
            };
            rules.push(Rule::hard(format!("r{rule}"), formula));
        }
        let rules = RuleSet::new(Arc::clone(&vocabulary), rules).ok()?;
        let order = Some(Order::natural(vocabulary));
        let options = CompileOptions { max_visits: 1, order, ..CompileOptions::default() };
        Some(Self { model, plan: compile(Arc::new(rules), &options).ok()? })
    }

    /// How far each way to sample is from the model given the rules.
    fn variations(&self) -> [f64; 3] {
        let (plain, testing) = (Enforcer::new(&self.plan), Enforcer::for_model(&self.plan, None));
        let codes = self.model.bias.len();
        let mut weights = vec![0.0; 1 << codes];
        let mut written = [(); 3].map(|()| vec![0.0; 1 << codes]);
        for (way, written) in written.iter_mut().enumerate() {
            let enforcer = if way == 2 { &testing } else { &plain };
            let mut writer = enforcer.writer();
            writer.overridden(&[], &Draws::new(0), 0); // the static visit
            writer.open();
            let mut present = vec![false; codes];
            self.walk(writer, way > 0, &mut present, 0, [1.0; 2], written, &mut weights);
        }
        let total: f64 = weights.iter().sum();
        written.map(|written| {
            let differences =
                written.iter().zip(&weights).map(|(one, all)| (one - all / total).abs());
            differences.sum::<f64>() / 2.0
        })
    }

    /// Goes through every visit from here on: the probability that it is written, and the model's own.
    #[allow(clippy::too_many_arguments)]
    fn walk(
        &self,
        mut writer: Writer<'_>,
        looks_ahead: bool,
        present: &mut Vec<bool>,
        at: usize,
        [proposed, own]: [f64; 2],
        written: &mut [f64],
        weights: &mut [f64],
    ) {
        if at == present.len() {
            let number = present.iter().rev().fold(0, |number, &on| number << 1 | usize::from(on));
            (written[number], weights[number]) = (proposed, own);
            return;
        }
        let position = at as u32;
        let probability = self.model.probability(at, present);
        let proposal = if looks_ahead {
            let ahead = &mut |with: bool, positions: &[u32], into: &mut [f64]| {
                present[at] = with;
                for (&position, into) in positions.iter().zip(into) {
                    // The end comes last, and is certain.
                    let code = position as usize;
                    *into = if code < present.len() {
                        self.model.probability(code, present)
                    } else {
                        1.0
                    };
                }
                present[at] = false;
            };
            writer.proposal(position, probability, ahead).probability
        } else {
            match writer.ruling(position) {
                Ruling::Forced(on) => f64::from(u8::from(on)),
                Ruling::Free | Ruling::Soft { .. } => probability,
            }
        };
        for on in [false, true] {
            let share = |probability: f64| if on { probability } else { 1.0 - probability };
            let shares = [proposed * share(proposal), own * share(probability)];
            // What is never proposed breaks a rule.
            if share(proposal) == 0.0 {
                continue;
            }
            let mut next = writer.clone();
            next.place(position, on);
            present[at] = on;
            self.walk(next, looks_ahead, present, at + 1, shares, written, weights);
            present[at] = false;
        }
    }
}
