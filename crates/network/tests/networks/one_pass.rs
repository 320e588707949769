//! The one-pass sampler against the network run anew for every single code, with the same draws.

use consequence_engine::sigmoid;
use consequence_network::{
    Ahead, Batch, Past, Sampler, Shape, StepBuffers, TrainingPass, Weights, halo, recurrent,
};
use consequence_prng::{Draws, Purpose};

const STATICS: usize = 9;

fn range(visit: usize, shape: &Shape) -> std::ops::Range<usize> {
    if visit == 0 { 0..STATICS } else { STATICS..shape.codes() }
}

fn decide(draws: &Draws, record: u64, visit: usize, code: u32, logit: f32) -> bool {
    let probability = sigmoid(logit);
    draws.visit(record, 0, visit as u16, Purpose::Code).below(code, f64::from(probability))
}

/// Runs the whole network over the whole record for every code.
fn naive(weights: &Weights, draws: &Draws, record: u64, visits: usize) -> Vec<Vec<u32>> {
    let shape = &weights.shape();
    let mut done: Vec<Vec<u32>> = Vec::new();
    let mut pass = TrainingPass::default();
    for visit in 0..visits {
        let codes = range(visit, shape);
        let mut current: Vec<u32> = Vec::new();
        for code in codes.clone() {
            let mut batch = Batch::new(shape.codes() as u32);
            batch.begin();
            for (at, visit) in done.iter().chain([&current]).enumerate() {
                batch.push(range(at, shape), visit.iter().copied(), []);
            }
            let logits = pass.logits(weights, &batch);
            let logit = logits[visit][code - codes.start];
            if decide(draws, record, visit, code as u32, logit) {
                current.push(code as u32);
            }
        }
        done.push(current);
    }
    done
}

/// All records together, with a cache, each code decided once.
fn one_pass(
    weights: &Weights,
    draws: &Draws,
    records: std::ops::Range<u64>,
    visits: usize,
) -> Vec<Vec<Vec<u32>>> {
    let sampler = Sampler::new(weights);
    let shape = &weights.shape();
    let count = (records.end - records.start) as usize;
    let mut done: Vec<Vec<Vec<u32>>> = vec![Vec::new(); count];
    let mut pasts = vec![sampler.begin(); count];
    let (mut hidden, mut buffers) = (Vec::new(), StepBuffers::default());
    let start = [shape.codes() as u32];
    for visit in 0..visits {
        let mut batch: Vec<(&mut Past, &[u32])> = pasts
            .iter_mut()
            .zip(&done)
            .map(|(past, done)| (past, done.last().map_or(&start[..], Vec::as_slice)))
            .collect();
        sampler.see(&mut batch, &mut hidden, &mut buffers);
        let mut current: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut deciders: Vec<_> = current
            .iter_mut()
            .zip(records.clone())
            .map(|(current, record)| {
                move |code, logit, _: &mut dyn Ahead| {
                    let on = decide(draws, record, visit, code, logit);
                    if on {
                        current.push(code);
                    }
                    on
                }
            })
            .collect();
        let pasts: Vec<&Past> = pasts.iter().collect();
        sampler.decide(&hidden, &pasts, range(visit, shape), &mut deciders, &mut buffers);
        drop(deciders);
        for (done, current) in done.iter_mut().zip(current) {
            done.push(current);
        }
    }
    done
}

/// A network with weights large enough that its codes depend on each other.
fn network(shape: Shape, seed: u64) -> Weights {
    let mut weights = Weights::drawn(shape, seed).unwrap();
    let codes = shape.codes();
    for (at, value) in weights.values_mut().iter_mut().enumerate() {
        // What is zero at first is not to stay so, unless it is no weight at all.
        let odd = if matches!(shape, Shape::Recurrent(_)) { 0.1 * (at as f32).sin() } else { 0.0 };
        *value = *value * 2.5 + odd;
    }
    weights.set_output_bias(&vec![-1.5; codes]);
    weights
}

fn halo(width: usize, layers: usize, codes: usize, head_units: usize) -> Shape {
    let codes = codes + 1;
    Shape::Halo(halo::Shape { codes, positions: 4, width, layers, heads: 2, head_units, side: 0 })
}

fn recurrent(width: usize, head: usize, codes: usize) -> Shape {
    Shape::Recurrent(recurrent::Shape { codes, width, head, bottleneck: 5, side: 0 })
}

#[test]
fn equals_the_network_run_anew_for_every_code() {
    let shapes = [
        halo(8, 1, 39, 1),
        halo(16, 2, 149, 1),
        halo(24, 2, 89, 2),
        halo(8, 3, 139, 4),
        recurrent(8, 16, 40),
        recurrent(16, 40, 150),
        recurrent(8, 33, 128),
    ];
    for (seed, shape) in shapes.into_iter().enumerate() {
        let mut on = 0;
        let weights = network(shape, seed as u64);
        let draws = Draws::new(seed as u64 + 50);
        let together = one_pass(&weights, &draws, 0..5, 3);
        for (record, got) in together.iter().enumerate() {
            let expected = naive(&weights, &draws, record as u64, 3);
            assert_eq!(got, &expected, "network {seed}, record {record}");
            on += got.concat().len();
        }
        assert!(on > 20, "network {seed}: codes come on: {on}");
        // Alone as in company, and in a crowd that takes several tasks.
        assert_eq!(one_pass(&weights, &draws, 3..4, 3)[0], together[3]);
        assert_eq!(one_pass(&weights, &draws, 0..60, 3)[3], together[3]);
    }
}

#[test]
fn logits_are_those_of_the_whole_network_bit_for_bit() {
    for shape in [halo(24, 2, 199, 2), recurrent(24, 48, 199)] {
        let weights = network(shape, 9);
        let sampler = Sampler::new(&weights);
        let visits: Vec<Vec<u32>> =
            vec![vec![1, 5], vec![10, 11, 70, 150, 198], vec![64, 65, 70, 128, 190], vec![11]];
        let mut batch = Batch::new(shape.codes() as u32);
        batch.begin();
        for (at, visit) in visits.iter().enumerate() {
            batch.push(range(at, &shape), visit.iter().copied(), []);
        }
        let logits = TrainingPass::default().logits(&weights, &batch);
        let (mut past, mut hidden) = (sampler.begin(), Vec::new());
        let mut buffers = StepBuffers::default();
        let start = vec![shape.codes() as u32];
        for (at, visit) in visits.iter().enumerate() {
            let shown = if at == 0 { &start } else { &visits[at - 1] };
            sampler.see(&mut [(&mut past, shown)], &mut hidden, &mut buffers);
            let codes = range(at, &shape);
            let mut found = Vec::new();
            let mut deciders = [|code: u32, logit: f32, _: &mut dyn Ahead| {
                found.push(logit);
                visit.contains(&code)
            }];
            sampler.decide(&hidden, &[&past], codes.clone(), &mut deciders, &mut buffers);
            assert_eq!(found, logits[at], "visit {at}");
        }
    }
}
