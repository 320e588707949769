//! A head over several blocks of codes, and visits over several tasks: gradients against finite
//! differences, and the same bits on any number of threads.

use consequence_engine::Dropout;
use consequence_network::{Batch, Codewise, Shape, TrainingPass, Weights, recurrent};

const CODES: usize = 150;

fn weights() -> Weights {
    let shape = recurrent::Shape { codes: CODES, width: 8, head: 12, bottleneck: 4, side: 0 };
    let mut weights = Weights::drawn(Shape::Recurrent(shape), 3).unwrap();
    let values = weights.values_mut().iter_mut().enumerate();
    values.for_each(|(at, value)| *value += 0.2 * (at as f32 * 0.7).sin());
    weights
}

/// Records with codes at the edges of blocks, present again and again, and with none at all.
fn batch() -> Batch {
    let mut batch = Batch::new(CODES as u32);
    for record in 0..23u32 {
        batch.begin();
        batch.push(0..5, [record % 5], []);
        for visit in 0..record % 4 {
            let codes = [5, 63, 64, 68 + record, 127, 128, 149 - visit];
            let chosen = codes.into_iter().filter(|code| (code + record + visit) % 3 > 0);
            let mut chosen: Vec<u32> = chosen.collect();
            chosen.dedup();
            batch.push(5..CODES, if visit == 2 { Vec::new() } else { chosen }, []);
        }
    }
    batch
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let (mut weights, batch) = (weights(), batch());
    let mut gradient = vec![0.0; weights.values().len()];
    let mut pass = TrainingPass::default();
    pass.train(&weights, &batch, &Codewise, 1.0, Dropout::default(), &mut gradient);
    let mut compared = 0;
    for index in (0..gradient.len()).step_by(37) {
        let before = weights.values()[index];
        let mut at = |value: f32| -> f64 {
            weights.values_mut()[index] = value;
            pass.nats(&weights, &batch, &Codewise).iter().sum()
        };
        let step = 4e-3f32;
        let measured = (at(before + step) - at(before - step)) / f64::from(2.0 * step);
        at(before);
        let found = f64::from(gradient[index]);
        assert!(
            (measured - found).abs() < 2e-2 * (1.0 + measured.abs()),
            "{index}: {measured} {found}"
        );
        compared += usize::from(measured.abs() > 1e-2);
    }
    assert!(compared > 60, "{compared} gradients were worth comparing");
}

#[test]
fn threads_make_no_difference() {
    let (weights, batch) = (weights(), batch());
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut gradient = vec![0.0; weights.values().len()];
        let nats = pool.install(|| {
            let dropout = Dropout::default();
            TrainingPass::default().train(&weights, &batch, &Codewise, 1.0, dropout, &mut gradient)
        });
        (nats, gradient)
    };
    let alone = on(1);
    assert!([2, 5].into_iter().all(|threads| on(threads) == alone));
}
