//! Outputs beside the head, and objectives other than the likelihood.

use consequence_engine::Dropout;
use consequence_network::{
    Asked, Batch, Objective, Said, Sampler, Shape, TrainingPass, Weights, halo, recurrent,
};

/// Both networks, for seven codes.
const SHAPES: [Shape; 2] = [
    Shape::Halo(halo::Shape {
        codes: 8,
        positions: 5,
        width: 8,
        layers: 2,
        heads: 2,
        head_units: 2,
        side: 3,
    }),
    Shape::Recurrent(recurrent::Shape { codes: 7, width: 8, head: 12, bottleneck: 4, side: 3 }),
];

/// Wants every output beside the head to be a number of its own and, if the head is asked, every
/// logit to be one that the facts tell.
struct Squares {
    asks_head: bool,
}

impl Objective for Squares {
    fn asks_head(&self) -> bool {
        self.asks_head
    }

    fn score(&self, rows: &[Asked<'_>], factor: f32, said: Said<'_>) -> Vec<f64> {
        let Said { logits, side, .. } = said;
        assert_eq!((side.len(), logits.is_empty()), (3 * rows.len(), !self.asks_head));
        let width = logits.len() / rows.len();
        let towards = |values: &mut [f32], wanted: &dyn Fn(usize) -> f32| -> f64 {
            let mut total = 0.0;
            for (at, value) in values.iter_mut().enumerate() {
                let off = *value - wanted(at);
                total += f64::from(off * off) / 2.0;
                *value = factor * off;
            }
            total
        };
        rows.iter()
            .enumerate()
            .map(|(row, asked)| {
                let fact = asked.facts.iter().sum::<u32>() as f32;
                let present = asked.present.len() as f32;
                towards(&mut side[3 * row..3 * row + 3], &|at| at as f32 + present)
                    + towards(&mut logits[width * row..width * (row + 1)], &|at| fact - at as f32)
            })
            .collect()
    }
}

fn batch() -> Batch {
    let mut batch = Batch::new(7);
    for record in [vec![vec![1], vec![3, 6], vec![2]], vec![vec![0, 1], vec![4]]] {
        batch.begin();
        for (number, visit) in record.into_iter().enumerate() {
            batch.push(if number == 0 { 0..2 } else { 2..7 }, visit, []);
            batch.note([number as u32, 1]);
        }
    }
    batch
}

fn weights(shape: Shape) -> Weights {
    let mut weights = Weights::drawn(shape, 3).unwrap();
    if let Shape::Recurrent(_) = shape {
        // What is zero at first is not to stay so, and what codes read is to be worth comparing.
        let values = weights.values_mut().iter_mut().enumerate();
        values.for_each(|(at, value)| *value += 0.2 * (at as f32).sin());
    }
    weights.set_side_bias(&[0.5, -0.5, 1.0]);
    weights
}

fn loss(weights: &Weights, objective: &Squares) -> f64 {
    TrainingPass::default().nats(weights, &batch(), objective).iter().sum()
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for (shape, asks_head) in SHAPES.into_iter().flat_map(|shape| [(shape, true), (shape, false)]) {
        let (mut weights, objective) = (weights(shape), Squares { asks_head });
        let mut gradient = vec![0.0; weights.values().len()];
        let dropout = Dropout::default();
        TrainingPass::default().train(&weights, &batch(), &objective, 1.0, dropout, &mut gradient);
        let live: Vec<usize> = match asks_head {
            true => weights.live(0).into_iter().flat_map(|(range, _)| range).collect(),
            false => weights.live_without_head().into_iter().flatten().collect(),
        };
        let mut compared = 0;
        for index in live.into_iter().step_by(7) {
            let before = weights.values()[index];
            let at = |weights: &mut Weights, value: f32| {
                weights.values_mut()[index] = value;
                loss(weights, &objective)
            };
            let step = 2e-3f32;
            let higher = at(&mut weights, before + step);
            let lower = at(&mut weights, before - step);
            weights.values_mut()[index] = before;
            let measured = (higher - lower) / f64::from(2.0 * step);
            let found = f64::from(gradient[index]);
            assert!(
                (measured - found).abs() < 2e-2 * (1.0 + measured.abs()),
                "{index}: {measured} {found}"
            );
            compared += usize::from(measured.abs() > 1e-3);
        }
        assert!(compared > 100, "{compared} gradients were worth comparing");
    }
}

#[test]
fn a_head_that_is_not_asked_learns_nothing() {
    for shape in SHAPES {
        let (weights, objective) = (weights(shape), Squares { asks_head: false });
        let mut gradient = vec![0.0; weights.values().len()];
        let dropout = Dropout::default();
        TrainingPass::default().train(&weights, &batch(), &objective, 1.0, dropout, &mut gradient);
        let mut outside: Vec<bool> = vec![true; gradient.len()];
        for range in weights.live_without_head() {
            outside[range].fill(false);
        }
        let untouched = gradient.iter().zip(outside).filter(|&(_, outside)| outside);
        assert!(untouched.clone().count() > 100);
        assert!(untouched.into_iter().all(|(&gradient, _)| gradient == 0.0));
    }
}

#[test]
fn visit_by_visit_the_outputs_are_the_same() {
    for shape in SHAPES {
        let weights = weights(shape);
        let sampler = Sampler::new(&weights);
        let (mut past, mut hidden, mut side) = (sampler.begin(), Vec::new(), Vec::new());
        // Against the layer by hand, on what the history came to.
        let file = weights.to_safetensors().unwrap();
        let file = safetensors::SafeTensors::deserialize(&file).unwrap();
        let numbers = |name: &str| -> Vec<f32> {
            let tensor = file.tensor(name).unwrap();
            tensor.data().as_chunks::<4>().0.iter().map(|&word| f32::from_le_bytes(word)).collect()
        };
        let (matrix, bias) = (numbers("side.weight"), numbers("side.bias"));
        for visit in [&[7][..], &[1], &[3, 6]] {
            sampler.see(&mut [(&mut past, visit)], &mut hidden, &mut Default::default());
            sampler.side(&hidden, &mut side);
            for (output, found) in side.iter().enumerate() {
                // HALO's file has inputs side by side, the other outputs.
                let weight = |input: usize| match shape {
                    Shape::Halo(_) => matrix[output * 8 + input],
                    Shape::Recurrent(_) => matrix[input * 3 + output],
                };
                let sum: f32 = (0..8).map(|input| weight(input) * hidden[input]).sum();
                assert!((sum + bias[output] - found).abs() < 1e-5);
            }
        }
        let read = Weights::from_safetensors(&weights.to_safetensors().unwrap(), shape).unwrap();
        assert_eq!(read.values(), weights.values());
    }
}
