//! The 95 rules released with the paper, read from the reference material where it is there.

use std::sync::Arc;

use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::{RuleSet, Window};
use consequence_testing::shared;
use serde_json::Value;

use crate::neuron::Neuron;

/// The published rules and the vocabulary they speak of.
#[derive(Clone, Debug)]
pub struct Published {
    /// 1,610 encounter codes, then the labels, which are static. The reference's special codes,
    /// which no rule names, are left out.
    pub vocabulary: Arc<Vocabulary>,
    /// How many of its codes are encounter codes; they are the first ones.
    pub encounter_codes: usize,
    /// The rules in the order they were published.
    pub neurons: Vec<Neuron>,
}

impl Published {
    /// Reads the rules; `None`, with a line on stderr that says so, if they are not there.
    ///
    /// # Panics
    /// If the file is there and does not hold rules.
    pub fn load() -> Option<Self> {
        let path = shared("reference/published_rules.json")?;
        let text = std::fs::read_to_string(path).expect("the published rules");
        let file: Value = serde_json::from_str(&text).expect("the published rules are JSON");
        let count = |field: &str| file[field].as_u64().expect("a count") as usize;
        let (codes, labels) = (count("codes"), count("labels"));
        let names = (0..codes + labels).map(|code| match code.checked_sub(codes) {
            None => (format!("CODE//{code}"), Kind::Encounter),
            Some(label) if label < 4 => (format!("AGE//{label}"), Kind::Static),
            Some(label) => (format!("SEX//{}", label - 4), Kind::Static),
        });
        let vocabulary = Arc::new(Vocabulary::new(names).expect("the names differ"));
        let neurons = file["rules"].as_array().expect("a list of rules").iter().map(neuron);
        Some(Self { neurons: neurons.collect(), encounter_codes: codes, vocabulary })
    }

    /// The rules as a set, in the given order of their published numbers.
    pub fn rule_set(&self, order: impl IntoIterator<Item = usize>) -> RuleSet {
        let rule = |index: usize| {
            self.neurons[index].rule(&format!("r{index}"), "published", index as u32 + 1)
        };
        RuleSet::new(Arc::clone(&self.vocabulary), order.into_iter().map(rule).collect())
            .expect("the codes are of the vocabulary")
    }
}

fn neuron(tuple: &Value) -> Neuron {
    let codes = |field: usize| -> Vec<Code> {
        let list = tuple[field].as_array().expect("a list of codes");
        list.iter().map(code).collect()
    };
    Neuron {
        window: window(&tuple[0]),
        past_present: codes(1),
        past_absent: codes(2),
        present: codes(3),
        absent: codes(4),
        output: code(&tuple[5]),
        value: tuple[6].as_u64() == Some(1),
    }
}

fn code(value: &Value) -> Code {
    Code(value.as_u64().expect("a code number") as u32)
}

/// Tuples number the label visit 1, so their visit `k` is visit `k - 1` here.
fn window(value: &Value) -> Option<Window> {
    let Some(list) = value.as_array() else { return Some(Window::past()) };
    let members: Vec<i64> = list.iter().map(|member| member.as_i64().expect("a visit")).collect();
    let at = members.iter().filter(|&&member| member > 0).map(|&member| member as u16 - 1);
    let ago = members.iter().filter(|&&member| member < 0).map(|&member| -member as u16);
    (!members.is_empty()).then(|| Window::set(at, ago))
}
