//! The paper's pass and ours, side by side on rules that both can keep.

use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_prng::Draws;
use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::{CompileOptions, RuleSet, Window, compile};

use crate::neuron::Neuron;
use crate::paper::{groups, pass};
use consequence_testing::worlds::Choices;

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Visits that both wrote, all of them alike.
    pub visits: u64,
    /// Visits that the rules changed.
    pub changed: u64,
    /// Groups that the paper's pass needed.
    pub groups: u64,
}

/// Compares the two on one random rule set without cycles or conflicts, the paper's rules sorted
/// by the plan's order of their outputs. Panics at the first difference.
pub fn compare(seed: u64, case: u64, records: u64) -> Compared {
    let choices = &mut Choices::new(seed, case);
    let codes = choices.between(4, 14);
    let statics = choices.below(4);
    let kind = |code: usize| if code < statics { Kind::Static } else { Kind::Encounter };
    let names = (0..codes).map(|code| (format!("c{code}"), kind(code)));
    let vocabulary = Arc::new(Vocabulary::new(names).expect("the names differ"));
    let mut neurons = acyclic(choices, &vocabulary, codes);
    let rules = neurons.iter().enumerate();
    let rules =
        rules.map(|(index, neuron)| neuron.rule(&format!("r{index}"), "random", 1)).collect();
    let set = Arc::new(
        RuleSet::new(Arc::clone(&vocabulary), rules).expect("the codes are of the vocabulary"),
    );
    let plan = compile(set, &CompileOptions { max_visits: 8, ..CompileOptions::default() })
        .expect("no cycles, no conflicts");
    neurons.sort_by_key(|neuron| plan.order().position(neuron.output));
    let groups = groups(&neurons, vocabulary.len());
    let mut compared = Compared { groups: groups.len() as u64, ..Compared::default() };
    let enforcer = Enforcer::new(&plan);
    let mut writer = enforcer.writer();
    for _ in 0..records {
        let visits: Vec<Vec<Code>> = (0..=choices.between(1, 7))
            .map(|visit| {
                let alive = (0..codes).filter(|&code| kind(code) == Kind::of_visit(visit));
                let density = choices.below(100) as f64 / 100.0;
                let chosen: Vec<usize> = alive.filter(|_| choices.probability(density)).collect();
                chosen.into_iter().map(|code| Code(code as u32)).collect()
            })
            .collect();
        let theirs = pass(&groups, &visits, &vocabulary);
        for (visit, codes) in visits.iter().enumerate() {
            let ours = writer.overridden(codes, &Draws::new(0), 0);
            assert_eq!(ours, theirs[visit], "case {case}, visit {visit} of {visits:?}");
            compared.visits += 1;
            compared.changed += u64::from(ours != *codes);
        }
        writer.take();
    }
    compared
}

/// Random rules that read smaller numbers than they write, and never ask opposite things of a code.
fn acyclic(choices: &mut Choices, vocabulary: &Vocabulary, codes: usize) -> Vec<Neuron> {
    // A shuffled rank, so that the plan's order is not that of the numbers.
    let mut rank: Vec<usize> = (0..codes).collect();
    for place in (1..codes).rev() {
        rank.swap(place, choices.below(place + 1));
    }
    let polarity: Vec<bool> = (0..codes).map(|_| choices.probability(0.6)).collect();
    let count = choices.between(1, 2 * codes);
    let mut neurons = Vec::new();
    for _ in 0..count {
        let output = choices.below(codes);
        let lives = |code: usize| vocabulary.kind(Code(code as u32));
        let before = |&code: &usize| rank[code] < rank[output] && lives(code) == lives(output);
        let readable: Vec<usize> = (0..codes).filter(before).collect();
        let window = choices.probability(0.6).then(|| window(choices));
        let mut parts: [Vec<Code>; 4] = Default::default();
        for code in readable {
            if choices.probability(0.3) {
                parts[2 + choices.below(2)].push(Code(code as u32));
            }
        }
        for code in (0..codes).filter(|_| window.is_some()) {
            if choices.probability(0.15) {
                parts[choices.below(2)].push(Code(code as u32));
            }
        }
        let [past_present, past_absent, present, absent] = parts;
        let (output, value) = (Code(output as u32), polarity[output]);
        let neuron = Neuron { window, past_present, past_absent, present, absent, output, value };
        neurons.push(neuron);
    }
    neurons
}

fn window(choices: &mut Choices) -> Window {
    match choices.below(5) {
        0 => Window::static_visit(),
        1 => Window::previous(),
        2 => Window::past(),
        3 => Window::last(choices.between(1, 3) as u16),
        _ => Window::set([choices.below(4) as u16], [choices.between(1, 3) as u16]),
    }
}
