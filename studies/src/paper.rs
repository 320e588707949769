//! The paper's rule pass, from its equations: masks, aggregated history, dense weights, thresholds.
//!
//! Written for clarity, to compare with. It is as safe as the order of its rules, no more.

use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::Window;

use crate::neuron::Neuron;

/// Rules that are applied together: one temporal component, no rule that reads or writes what
/// another of them writes.
#[derive(Clone, Debug)]
pub struct Group {
    window: Option<Window>,
    /// `W`, `2|C|` rows of `|C|` columns: history first, then the current visit.
    weights: Vec<Vec<f32>>,
    /// The sum at which a column's rule fires; -1 where the group has no rule for the column.
    thresholds: Vec<f32>,
    /// What a rule that fires writes.
    outputs: Vec<f32>,
}

/// The paper's grouping of a list of rules, in order: a rule opens a new group if its temporal
/// component is another, or if it reads or writes an output of the current group.
pub fn groups(neurons: &[Neuron], codes: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut written: Vec<Code> = Vec::new();
    for neuron in neurons {
        let overlaps = neuron.inputs().chain([neuron.output]).any(|code| written.contains(&code));
        if overlaps || groups.last().is_none_or(|group| group.window != neuron.window) {
            groups.push(Group::new(neuron.window.clone(), codes));
            written.clear();
        }
        if let Some(group) = groups.last_mut() {
            group.add(neuron, codes);
            written.push(neuron.output);
        }
    }
    groups
}

impl Group {
    fn new(window: Option<Window>, codes: usize) -> Self {
        Self {
            window,
            weights: vec![vec![0.0; codes]; 2 * codes],
            thresholds: vec![-1.0; codes],
            outputs: vec![0.0; codes],
        }
    }

    fn add(&mut self, neuron: &Neuron, codes: usize) {
        let column = neuron.output.index();
        let mut weigh = |list: &[Code], shift: usize, weight: f32| {
            for code in list {
                self.weights[shift + code.index()][column] = weight;
            }
        };
        weigh(&neuron.past_present, 0, 1.0);
        weigh(&neuron.past_absent, 0, -1.0);
        weigh(&neuron.present, codes, 1.0);
        weigh(&neuron.absent, codes, -1.0);
        let positive = neuron.past_present.len() + neuron.present.len();
        self.thresholds[column] = positive as f32;
        self.outputs[column] = f32::from(u8::from(neuron.value));
    }

    /// Applies the group to visit `now` of the record matrix `P`.
    fn apply(&self, record: &mut [Vec<f32>], now: usize, vocabulary: &Vocabulary) {
        let codes = self.thresholds.len();
        let selected =
            |then: usize| self.window.as_ref().is_some_and(|window| window.selects(now, then));
        // A row of the mask `M`, then `H = M P` with "or" for the sum.
        let mask: Vec<f32> =
            (0..record.len()).map(|then| f32::from(u8::from(selected(then)))).collect();
        let history = (0..codes).map(|code| {
            mask.iter()
                .zip(record.iter())
                .map(|(seen, visit)| seen * visit[code])
                .fold(0.0, f32::max)
        });
        // `X = [H, P]` and `S = X W`.
        let inputs: Vec<f32> = history.chain(record[now].iter().copied()).collect();
        for column in 0..codes {
            let sum: f32 =
                inputs.iter().zip(&self.weights).map(|(input, row)| input * row[column]).sum();
            // A rule speaks of the visits where its output lives.
            let lives = vocabulary.kind(Code(column as u32)) == Kind::of_visit(now);
            if lives && sum == self.thresholds[column] {
                record[now][column] = self.outputs[column];
            }
        }
    }
}

/// Visits after the pass, each constrained before the next is looked at. Codes are sorted.
pub fn pass(groups: &[Group], visits: &[Vec<Code>], vocabulary: &Vocabulary) -> Vec<Vec<Code>> {
    let codes = vocabulary.len();
    let mut record: Vec<Vec<f32>> = Vec::new();
    for visit in visits {
        let mut row = vec![0.0; codes];
        visit.iter().for_each(|code| row[code.index()] = 1.0);
        record.push(row);
        let now = record.len() - 1;
        groups.iter().for_each(|group| group.apply(&mut record, now, vocabulary));
    }
    let present = |row: Vec<f32>| -> Vec<Code> {
        (0..codes as u32).map(Code).filter(|code| row[code.index()] == 1.0).collect()
    };
    record.into_iter().map(present).collect()
}
