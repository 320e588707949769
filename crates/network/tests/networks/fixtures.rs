//! A tiny run of the published network: the same probabilities, loss, gradients and steps.

use std::path::Path;

use consequence_engine::{Adam, Dropout, Settled, adam_step, sigmoid};
use consequence_network::halo::{Shape, TrainingPass, Weights};
use consequence_network::{Batch, Codewise};
use safetensors::SafeTensors;
use serde_json::Value;

struct Fixture {
    bytes: Vec<u8>,
}

impl Fixture {
    fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        Self { bytes: std::fs::read(path).unwrap() }
    }

    fn tensor(&self, name: &str) -> (Vec<usize>, Vec<f32>) {
        let file = SafeTensors::deserialize(&self.bytes).unwrap();
        let tensor = file.tensor(name).unwrap();
        let (words, _) = tensor.data().as_chunks::<4>();
        let numbers = words.iter().map(|&word| f32::from_le_bytes(word)).collect();
        (tensor.shape().to_vec(), numbers)
    }

    /// Whether the file has tensors that begin so.
    fn weights(&self, prefix: &str) -> Weights {
        Weights::from_safetensors(&self.bytes, shape(), prefix).unwrap()
    }

    /// The records as lists of codes, slot by slot, and which slots count.
    fn slots(&self) -> (Vec<Vec<Vec<u32>>>, Vec<Vec<bool>>) {
        let (sizes, input) = self.tensor("input");
        let [records, slots, codes] = sizes[..] else { panic!("three dimensions") };
        let slot = |record: usize, slot: usize| -> Vec<u32> {
            let at = (record * slots + slot) * codes;
            (0..codes as u32).filter(|&code| input[at + code as usize] == 1.0).collect()
        };
        let (_, mask) = self.tensor("mask");
        let lists = (0..records).map(|record| (0..slots).map(|at| slot(record, at)).collect());
        let counts = mask.chunks(slots - 1).map(|row| row.iter().map(|&m| m == 1.0).collect());
        (lists.collect(), counts.collect())
    }
}

fn config() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny_config.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn shape() -> Shape {
    let config = config();
    let size = |name: &str| config[name].as_u64().unwrap() as usize;
    Shape {
        codes: size("codes") + size("labels") + size("special"),
        positions: size("n_positions"),
        width: size("n_embd"),
        layers: size("n_layer"),
        heads: size("n_head"),
        head_units: 1,
        side: 0,
    }
}

/// What the rules say of the codes of a slot, from the true codes of that slot and those before:
/// the published method, which lets later rules win.
fn ruled(slots: &[Vec<u32>], at: usize, rules: &[Value]) -> Vec<Option<f32>> {
    let numbers = |list: &Value| -> Vec<i64> {
        list.as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
    };
    let mut values = vec![None; shape().codes];
    for rule in rules {
        let past: Vec<u32> = match &rule[0] {
            Value::Number(_) => slots[..at].concat(),
            list => numbers(list)
                .iter()
                .filter(|&&slot| (slot as usize) < at)
                .flat_map(|&slot| slots[slot as usize].clone())
                .collect(),
        };
        let has = |list: &[u32], codes: &Value, present: bool| {
            numbers(codes).iter().all(|&code| list.contains(&(code as u32)) == present)
        };
        let fires = has(&past, &rule[1], true)
            && has(&past, &rule[2], false)
            && has(&slots[at], &rule[3], true)
            && has(&slots[at], &rule[4], false);
        if fires {
            values[rule[5].as_u64().unwrap() as usize] = Some(rule[6].as_f64().unwrap() as f32);
        }
    }
    values
}

/// The batch, and for each row and code the value that a rule gives.
fn batch(fixture: &Fixture, rules: &[Value]) -> (Batch, Vec<Vec<Option<f32>>>) {
    let codes = shape().codes;
    let (records, counts) = fixture.slots();
    let mut batch = Batch::new(records[0][0][0]);
    let mut values = Vec::new();
    for (slots, counts) in records.iter().zip(&counts) {
        batch.begin();
        for (at, counts) in (1..slots.len()).zip(counts) {
            let forced = if *counts { ruled(slots, at, rules) } else { vec![Some(0.0); codes] };
            let settled: Vec<Settled> = forced
                .iter()
                .enumerate()
                .filter_map(|(code, value)| {
                    let value = (*value)?;
                    let wanted = *counts && slots[at].contains(&(code as u32));
                    let probability = if wanted { value } else { 1.0 - value };
                    // The published loss bounds a logarithm by 100.
                    let nats = (-probability.ln()).min(100.0);
                    Some(Settled { output: code as u32, nats })
                })
                .collect();
            batch.push(0..codes, slots[at].iter().copied(), settled);
            values.push(forced);
        }
    }
    (batch, values)
}

fn close(what: &str, got: &[f32], expected: &[f32], absolute: f32, relative: f32) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0f32, |most, value| most.max(value.abs()));
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        let off = (got - expected).abs();
        assert!(off <= absolute + relative * scale, "{what}[{at}]: {got}, not {expected}");
    }
}

fn run(name: &str, rules: &[Value]) -> (Fixture, Batch, Vec<f32>) {
    let fixture = Fixture::read(name);
    let weights = fixture.weights("w.");
    let (batch, forced) = batch(&fixture, rules);
    let mut pass = TrainingPass::default();
    let logits = pass.logits(&weights, &batch);
    let probabilities: Vec<f32> = logits
        .iter()
        .zip(&forced)
        .flat_map(|(row, forced)| {
            row.iter().zip(forced).map(|(&logit, forced)| forced.unwrap_or(sigmoid(logit)))
        })
        .collect();
    close("probabilities", &probabilities, &fixture.tensor("probs").1, 1e-5, 0.0);
    let count = (batch.rows() * shape().codes) as f64;
    let mut gradient = vec![0.0; weights.values().len()];
    let nats = pass.train(
        &weights,
        &batch,
        &Codewise,
        (1.0 / count) as f32,
        Dropout::default(),
        &mut gradient,
    );
    let loss = nats.iter().sum::<f64>() / count;
    let expected = f64::from(fixture.tensor("loss").1[0]);
    assert!((loss - expected).abs() < 1e-6, "loss {loss}, not {expected}");
    let right = fixture.weights("g.");
    // Tensor by tensor, so that small ones are not hidden behind large ones.
    let mut shown = Weights::zero(shape()).unwrap();
    shown.values_mut().copy_from_slice(&gradient);
    let [got, expected] = [shown, right].map(|weights| weights.to_safetensors().unwrap());
    let [got, expected] =
        [&got, &expected].map(|bytes| SafeTensors::deserialize(bytes.as_slice()).unwrap());
    for name in got.names() {
        let numbers = |file: &SafeTensors<'_>| -> Vec<f32> {
            let tensor = file.tensor(name).unwrap();
            let (words, _) = tensor.data().as_chunks::<4>();
            words.iter().map(|&word| f32::from_le_bytes(word)).collect()
        };
        close(name, &numbers(&got), &numbers(&expected), 1e-9, 1e-4);
    }
    (fixture, batch, gradient)
}

/// The weights and the batch of a fixture.
pub fn published(name: &str, with_rules: bool) -> (Weights, Batch) {
    let fixture = Fixture::read(&format!("{name}.safetensors"));
    let config = config();
    let rules = config["rules"].as_array().unwrap();
    let rules = if with_rules { &rules[..] } else { &[] };
    (fixture.weights("w."), batch(&fixture, rules).0)
}

#[test]
fn the_plain_network() {
    let (fixture, batch, _) = run("halo_tiny.safetensors", &[]);
    let weights = fixture.weights("w.");
    let mut pass = TrainingPass::default();
    let _ = pass.logits(&weights, &batch);
    let (sizes, hidden) = fixture.tensor("hidden");
    let width = sizes[2];
    for (got, expected) in
        pass.hidden().chunks((sizes[1] - 1) * width).zip(hidden.chunks(sizes[1] * width))
    {
        close("hidden", got, &expected[..got.len()], 1e-5, 0.0);
    }
}

#[test]
fn three_steps_of_adam() {
    let fixture = Fixture::read("halo_tiny.safetensors");
    let mut weights = fixture.weights("w.");
    let (batch, _) = batch(&fixture, &[]);
    let count = (batch.rows() * shape().codes) as f64;
    let size = weights.values().len();
    let (mut mean, mut square) = (vec![0.0; size], vec![0.0; size]);
    let mut pass = TrainingPass::default();
    let (_, losses) = fixture.tensor("losses_3_adam_steps_lr_1e-3");
    for (number, expected) in (1..).zip(losses) {
        let mut gradient = vec![0.0; size];
        let nats = pass.train(
            &weights,
            &batch,
            &Codewise,
            (1.0 / count) as f32,
            Dropout::default(),
            &mut gradient,
        );
        let loss = nats.iter().sum::<f64>() / count;
        assert!((loss - f64::from(expected)).abs() < 1e-6, "step {number}: {loss}, not {expected}");
        let adam = Adam::default();
        adam_step(weights.values_mut(), &gradient, &mut mean, &mut square, &adam, number);
    }
    close("weights", weights.values(), fixture.weights("a.").values(), 1e-5, 0.0);
}

#[test]
fn the_published_rule_mode() {
    let config = config();
    let rules = config["rules"].as_array().unwrap();
    let (_, _, with_rules) = run("consequence_tiny.safetensors", rules);
    let (_, _, without) = run("halo_tiny.safetensors", &[]);
    assert_ne!(with_rules, without, "the rules make a difference");
}

#[test]
fn weights_move_both_ways() {
    let fixture = Fixture::read("halo_tiny.safetensors");
    let weights = fixture.weights("w.");
    let bytes = weights.to_safetensors().unwrap();
    let again = Weights::from_safetensors(&bytes, shape(), "").unwrap();
    assert_eq!(again.values(), weights.values());
    let ours = SafeTensors::deserialize(&bytes).unwrap();
    let theirs = SafeTensors::deserialize(&fixture.bytes).unwrap();
    for name in ours.names() {
        let expected = theirs.tensor(&format!("w.{name}")).unwrap();
        assert_eq!(ours.tensor(name).unwrap().shape(), expected.shape(), "{name}");
    }
}
