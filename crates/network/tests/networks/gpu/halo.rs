//! HALO's network on a GPU.

use consequence_engine::Dropout;
use consequence_engine::cuda::Precision;
use consequence_network::gpu::{GpuBatch, GpuTrainer};
use consequence_network::halo::gpu::GpuPast;
use consequence_network::halo::{Past, Sampler, Shape, StepBuffers, Weights};
use consequence_network::{Batch, Codewise, TrainingPass};

use crate::fixtures::published;

use super::{
    AllOutputs, Differences, Either, Noise, apart, batch, compare, compare_dropping, compare_steps,
    gpu,
};

/// Weights of which none is special, the empty halves aside.
fn weights(shape: Shape, noise: &mut Noise) -> Either {
    let mut weights = Weights::drawn(shape, 3).unwrap();
    let live = weights.live(0);
    for (range, _) in live {
        weights.values_mut()[range].iter_mut().for_each(|value| *value += 0.1 * noise.number());
    }
    Either::Halo(Box::new(weights))
}

/// Shapes of all sizes: heads that are narrower and wider than a warp, more units than one for a code, more
/// codes than a block of products, and none that a power of two divides.
fn cases() -> Vec<(Shape, usize, usize)> {
    let shape = |codes: usize, width, layers, heads, head_units| Shape {
        codes: codes + 1,
        positions: 10,
        width,
        layers,
        heads,
        head_units,
        side: 0,
    };
    vec![
        (shape(5, 8, 1, 2, 1), 2, 1),
        (shape(150, 12, 3, 4, 1), 5, 23),
        (shape(90, 42, 2, 1, 3), 1, 20),
        (shape(40, 144, 1, 2, 2), 4, 9),
        (shape(1_200, 64, 2, 1, 1), 12, 40),
    ]
}

#[test]
fn losses_and_gradients_are_those_of_the_cpu() {
    let mut noise = Noise(7);
    for (shape, statics, records) in cases() {
        let weights = weights(shape, &mut noise);
        let batch = batch(shape.codes - 1, statics, records, &mut noise);
        compare(&Codewise, &batch, &weights, 1.0 / batch.rows() as f32);
    }
}

#[test]
fn records_are_as_long_as_the_network_has_positions() {
    let mut noise = Noise(29);
    let (shape, statics, _) = cases()[1];
    let shape = Shape { positions: 70, ..shape };
    let weights = weights(shape, &mut noise);
    let mut batch = Batch::new(shape.codes as u32 - 1);
    for length in [70, 1, 33, 32, 0, 7] {
        batch.begin();
        for visit in 0..length {
            let range = if visit == 0 { 0..statics } else { statics..shape.codes - 1 };
            let code = (range.start + noise.below(range.len())) as u32;
            batch.push(range, [code], []);
        }
    }
    compare(&Codewise, &batch, &weights, 0.01);
}

#[test]
fn a_run_of_the_published_network_is_that_of_the_cpu() {
    for (name, with_rules) in [("halo_tiny", false), ("consequence_tiny", true)] {
        let (weights, batch) = published(name, with_rules);
        let count = batch.rows() * weights.shape().codes;
        compare(&Codewise, &batch, &Either::Halo(Box::new(weights)), 1.0 / count as f32);
    }
}

#[test]
fn the_same_units_are_left_out() {
    let mut noise = Noise(23);
    for case in [1, 3] {
        let (shape, statics, records) = cases()[case];
        let weights = weights(shape, &mut noise);
        let dropout = Dropout { rate: 0.3, key: 0x1234_5678_9abc_def0 };
        let own = batch(shape.codes - 1, statics, records, &mut noise);
        compare_dropping(&Codewise, &own, &weights, (0.01, dropout));
        let (objective, own) = Differences::drawn(shape.codes - 1, statics, &mut noise);
        compare_dropping(&objective, &own, &weights, (0.01, dropout));
    }
}

#[test]
fn what_is_beyond_the_likelihood_is_scored_on_the_host() {
    let mut noise = Noise(11);
    for case in [1, 3] {
        let (shape, statics, _) = cases()[case];
        let weights = weights(shape, &mut noise);
        let (objective, batch) = Differences::drawn(shape.codes - 1, statics, &mut noise);
        compare(&objective, &batch, &weights, 0.02);
    }
}

#[test]
fn an_objective_is_given_all_outputs_on_the_host() {
    let mut noise = Noise(19);
    for (side, asks_head, case) in [(0, true, 1), (3, true, 2), (5, false, 1)] {
        let (shape, statics, records) = cases()[case];
        let shape = Shape { side, ..shape };
        let weights = weights(shape, &mut noise);
        let batch = batch(shape.codes - 1, statics, records, &mut noise);
        compare(&AllOutputs { asks_head }, &batch, &weights, 1.0 / batch.rows() as f32);
    }
}

#[test]
fn steps_are_those_of_the_cpu() {
    let mut noise = Noise(5);
    let (shape, statics, records) = cases()[1];
    let weights = weights(shape, &mut noise);
    compare_steps(weights, &batch(shape.codes - 1, statics, records, &mut noise), statics, 1e-5);
}

#[test]
fn as_many_units_never_fire() {
    let mut noise = Noise(31);
    for case in [1, 2, 4] {
        let Some(gpu) = gpu(Precision::Full) else { return };
        let (shape, statics, records) = cases()[case];
        let mut weights = weights(shape, &mut noise);
        // The bias of units comes after what they read of the history and of codes.
        let bias = weights.live(0).swap_remove(1 + shape.width + shape.codes).0;
        let silenced = |value: &mut f32| *value -= 20.0 * noise.below(2) as f32;
        weights.values_mut()[bias].iter_mut().for_each(silenced);
        let batches: Vec<Batch> =
            (0..2).map(|_| batch(shape.codes - 1, statics, records / 4, &mut noise)).collect();
        let right = TrainingPass::default().silent_units(&weights, batches.iter().cloned());
        let right = right.unwrap();
        assert!(right > 0.02 && right < 0.98, "{right}");
        let mut trainer = GpuTrainer::new(gpu, shape, &[]).unwrap();
        trainer.send_weights(weights.values()).unwrap();
        for _ in 0..2 {
            trainer.begin_fired().unwrap();
            for batch in &batches {
                let laid = GpuBatch::new(batch, &Codewise, &trainer.staging()).unwrap();
                trainer.note_fired(&mut laid.unwrap()).unwrap();
            }
            assert_eq!(trainer.silent_units().unwrap(), Some(right));
        }
    }
}

#[test]
fn records_are_seen_visit_by_visit_as_on_the_cpu() {
    let mut noise = Noise(37);
    for case in [1, 3] {
        let Some(gpu) = gpu(Precision::Full) else { return };
        let (shape, ..) = cases()[case];
        let Either::Halo(weights) = weights(shape, &mut noise) else { unreachable!() };
        let sampler = Sampler::new(&weights);
        let records = 11;
        let mut past = GpuPast::new(gpu, &weights, records).unwrap();
        let mut right: Vec<Past> = vec![Past::default(); records];
        let (mut hidden, mut buffers) = (Vec::new(), StepBuffers::default());
        for visit in 0..2 * shape.positions {
            for (record, right) in right.iter_mut().enumerate() {
                if right.len() == shape.positions || noise.below(9) == 0 {
                    past.forget(record);
                    right.clear();
                }
            }
            let visits: Vec<Vec<u32>> = (0..records)
                .map(|_| (0..noise.below(5)).map(|_| noise.below(shape.codes) as u32).collect())
                .collect();
            let visits: Vec<&[u32]> = visits.iter().map(Vec::as_slice).collect();
            let found = past.see_here(&visits).unwrap();
            let mut seen: Vec<(&mut Past, &[u32])> = right.iter_mut().zip(visits).collect();
            sampler.see(&mut seen, &mut hidden, &mut buffers);
            let off = apart(&found, &hidden);
            assert!(off < 1e-5, "visit {visit}: {off} apart");
        }
    }
}

#[test]
fn a_batch_that_a_gpu_cannot_score_is_none() {
    let Some(gpu) = gpu(Precision::Full) else { return };
    let (shape, statics, _) = cases()[1];
    let trainer = GpuTrainer::new(gpu, shape, &[]).unwrap();
    let (_, batch) = Differences::drawn(shape.codes - 1, statics, &mut Noise(3));
    let laid = GpuBatch::new(&batch, &AllOutputs { asks_head: true }, &trainer.staging());
    assert!(laid.unwrap().is_none());
}
