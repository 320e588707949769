//! The paper's rule pass on dense vectors, as its runtime analysis describes it: a stand-in.
//!
//! A visit is a vector with one byte for each code. At every step the history of each temporal
//! component is made anew, as the "or" of the visits it selects; then the rule neurons are summed,
//! group after group, and those that reach their thresholds set their outputs. A neuron is kept as
//! the list of its inputs, so a sum costs as many steps as the rule has literals; and groups of
//! one temporal component share its history. Both are in the paper's favour.

use consequence_record::{Code, Kind};
use consequence_rules::{Atom, Derivation, LiteralId, Order, Plan, Window};

/// One connection of a rule neuron.
#[derive(Clone, Copy, Debug)]
struct Input {
    position: u32,
    weight: i32,
}

#[derive(Clone, Copy, Debug)]
struct Neuron {
    /// Where its inputs from the history begin, those from the visit begin, and those end.
    inputs: [u32; 3],
    /// The number of literals that are not negated: reached only if the antecedent holds.
    threshold: i32,
    output: u32,
    value: u8,
}

#[derive(Clone, Debug)]
struct Group {
    /// The temporal component; `None` for rules about the current visit only.
    component: Option<usize>,
    neurons: Vec<Neuron>,
}

/// The paper's pass over one record at a time.
///
/// ```
/// use std::sync::Arc;
/// use consequence_benches::dense::DensePass;
/// use consequence_rules::{CompileOptions, RuleSet, compile};
///
/// let rules = RuleSet::parse("rule lifelong: ICD9CM//741 in previous => ICD9CM//741", None)?;
/// let code = rules.vocabulary().code("ICD9CM//741").unwrap();
/// let plan = compile(Arc::new(rules), &CompileOptions::default())?;
/// let mut pass = DensePass::new(&plan);
/// [&[][..], &[code], &[], &[]].into_iter().for_each(|visit| pass.push(visit));
/// assert_eq!(pass.codes(), [vec![], vec![code], vec![code], vec![code]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DensePass {
    order: Order,
    components: Vec<Window>,
    groups: Vec<Group>,
    inputs: Vec<Input>,
    /// The aggregated history of each component, one byte for each code.
    histories: Vec<Vec<u8>>,
    mask: Vec<bool>,
    /// The visits so far, one after the other, one byte for each code.
    record: Vec<u8>,
}

impl DensePass {
    /// The rules of a plan, grouped as the paper groups them, in an order in which a code is written
    /// before it is read.
    ///
    /// # Panics
    /// If a rule has two windows, is soft, or writes a static code: the measured ones never do.
    pub fn new(plan: &Plan) -> Self {
        let order = plan.order().clone();
        let components = plan.atoms().windows().to_vec();
        let mut inputs = Vec::new();
        assert!(plan.soft().is_empty(), "hard rules only");
        let groups = grouped(plan).into_iter().map(|(windows, implications)| {
            assert!(windows.len() <= 1, "a rule of the paper has one temporal component");
            let neurons = implications.iter().map(|implication| {
                let vocabulary = plan.rules().vocabulary();
                let kind = vocabulary.kind(order.code(implication.output));
                assert_eq!(kind, Kind::Encounter, "a rule about encounters");
                let input = |literal: &LiteralId, position: u32| Input {
                    position,
                    weight: if literal.present() { 1 } else { -1 },
                };
                let conditions = &implication.conditions;
                let begin = inputs.len() as u32;
                inputs.extend(conditions.iter().filter_map(|literal| {
                    let (code, _) = plan.atoms().seen_in(literal.atom()?)?;
                    Some(input(literal, order.position(code)))
                }));
                let middle = inputs.len() as u32;
                inputs.extend(
                    conditions
                        .iter()
                        .filter_map(|literal| Some(input(literal, literal.position()?))),
                );
                Neuron {
                    inputs: [begin, middle, inputs.len() as u32],
                    threshold: conditions.iter().filter(|literal| literal.present()).count() as i32,
                    output: implication.output,
                    value: u8::from(implication.present),
                }
            });
            let neurons = neurons.collect();
            Group { component: windows.first().map(|&window| window as usize), neurons }
        });
        let groups = groups.collect();
        let histories = vec![vec![0; order.codes().len()]; components.len()];
        let (mask, record) = (Vec::new(), Vec::new());
        Self { components, groups, inputs, histories, mask, record, order }
    }

    /// Groups of rules that are applied one after the other.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Forgets the record, keeping the memory.
    pub fn clear(&mut self) {
        self.record.clear();
    }

    /// Adds a visit as it was sampled, and applies the rules to it.
    pub fn push(&mut self, given: &[Code]) {
        let width = self.order.codes().len();
        let now = self.record.len() / width;
        self.record.resize(self.record.len() + width, 0);
        let (earlier, visit) = self.record.split_at_mut(now * width);
        for &code in given {
            visit[self.order.position(code) as usize] = 1;
        }
        if now == 0 {
            return; // the static visit has labels only, and no rule here writes one
        }
        for (component, history) in self.components.iter().zip(&mut self.histories) {
            self.mask.clear();
            self.mask.extend((0..now).map(|then| component.selects(now, then)));
            aggregate(&self.mask, earlier, history);
        }
        for group in &self.groups {
            let history: &[u8] = group.component.map_or(&[], |index| &self.histories[index]);
            for neuron in &group.neurons {
                let [begin, middle, end] = neuron.inputs.map(|at| at as usize);
                let sum = weighted(&self.inputs[begin..middle], history)
                    + weighted(&self.inputs[middle..end], visit);
                if sum >= neuron.threshold {
                    visit[neuron.output as usize] = neuron.value;
                }
            }
        }
    }

    /// The visits after the pass, codes sorted.
    pub fn codes(&self) -> Vec<Vec<Code>> {
        let visits = self.record.chunks(self.order.codes().len());
        let codes = visits.map(|visit| {
            let present =
                self.order.codes().iter().zip(visit).filter(|&(_, &present)| present == 1);
            let mut codes: Vec<Code> = present.map(|(&code, _)| code).collect();
            codes.sort_unstable();
            codes
        });
        codes.collect()
    }
}

/// One implication of a group: where all conditions hold, the output takes the value.
struct Implication {
    conditions: Vec<LiteralId>,
    /// The position of the code that is set.
    output: u32,
    present: bool,
}

/// The hard rules as written, in groups to be applied one after the other: a code is written before
/// it is read. Implications of a group look at the same windows, write different codes, and read
/// nothing that another of them writes.
fn grouped(plan: &Plan) -> Vec<(Vec<u32>, Vec<Implication>)> {
    let written = plan.clauses().filter(|clause| clause.derivation == Derivation::Written);
    let implications = written.filter_map(|clause| {
        let (&last, others) = clause.literals.split_last()?;
        Some(Implication {
            conditions: others.iter().map(|literal| literal.negated()).collect(),
            output: last.position()?,
            present: last.present(),
        })
    });
    let mut implications: Vec<Implication> = implications.collect();
    // Stable: on one code, rules come in the order written.
    implications.sort_by_key(|implication| implication.output);

    let mut groups: Vec<(Vec<u32>, Vec<Implication>)> = Vec::new();
    // One more than the last group that writes each position.
    let mut written_by = vec![0usize; plan.order().codes().len()];
    for implication in implications {
        let read = implication.conditions.iter().filter_map(|literal| literal.position());
        let earliest = read
            .chain([implication.output])
            .map(|position| written_by[position as usize])
            .max()
            .unwrap_or(0);
        let mut windows: Vec<u32> = implication
            .conditions
            .iter()
            .filter_map(|literal| literal.atom())
            .filter_map(|atom| match plan.atoms().atoms()[atom as usize] {
                Atom::In { window, .. } => Some(window),
                Atom::Fact(_) | Atom::FactBefore(_) => None,
            })
            .collect();
        windows.sort_unstable();
        windows.dedup();
        let group = (earliest..groups.len())
            .find(|&group| groups[group].0 == windows)
            .unwrap_or_else(|| {
                groups.push((windows, Vec::new()));
                groups.len() - 1
            });
        written_by[implication.output as usize] = group + 1;
        groups[group].1.push(implication);
    }
    groups
}

/// The paper's `h`: the "or" of the visits that the mask selects.
fn aggregate(mask: &[bool], earlier: &[u8], history: &mut [u8]) {
    history.fill(0);
    let selected = mask.iter().zip(earlier.chunks_exact(history.len()));
    for (_, visit) in selected.filter(|&(&selected, _)| selected) {
        for (seen, present) in history.iter_mut().zip(visit) {
            *seen |= present;
        }
    }
}

/// One part of the paper's `s`: the sum of the inputs by their weights.
fn weighted(inputs: &[Input], values: &[u8]) -> i32 {
    inputs.iter().map(|input| input.weight * i32::from(values[input.position as usize])).sum()
}
