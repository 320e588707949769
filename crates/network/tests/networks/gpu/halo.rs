//! HALO's network on a GPU.

use consequence_engine::cuda::{Memory, Precision, TakenIn};
use consequence_engine::{Dropout, attend_cached};
use consequence_network::gpu::{GpuBatch, GpuTrainer};
use consequence_network::halo::{Shape, Weights};
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
fn rows_that_come_one_by_one_attend_as_on_the_cpu() {
    let mut noise = Noise(37);
    for (heads, wide, room) in [(1, 8, 3), (3, 14, 40), (2, 72, 9), (1, 256, 6)] {
        let Some(gpu) = gpu(Precision::Full) else { return };
        let (sequences, width) = (11, heads * wide);
        let mut some = |count| (0..count).map(|_| noise.number()).collect::<Vec<f32>>();
        let bias = some(3 * width);
        let steps: Vec<Vec<f32>> = (0..3 * room).map(|_| some(sequences * 3 * width)).collect();
        let [mut cache, mut mixed_there] = [Memory::default(), Memory::default()];
        let [mut to, mut bias_there] = [Memory::default(), Memory::default()];
        cache.write(&gpu, &vec![f32::NAN; sequences * room * 2 * width]).unwrap();
        to.write(&gpu, &vec![0.5; sequences * width]).unwrap();
        bias_there.write(&gpu, &bias).unwrap();
        let [mut slots_there, mut lengths_there]: [Memory<u32>; 2] = Default::default();
        let mut right = vec![0.5; sequences * width];
        let mut caches: Vec<Vec<f32>> = vec![Vec::new(); sequences];
        for mixed in steps {
            // Some of them, in any order: the rows after these are nobody's.
            let mut slots: Vec<usize> = (0..sequences).collect();
            (0..sequences).for_each(|at| slots.swap(at, noise.below(sequences)));
            slots.truncate(noise.below(sequences + 1));
            let rows = mixed.chunks_exact(3 * width).zip(right.chunks_exact_mut(width));
            let lengths = slots.iter().zip(rows).map(|(&slot, (row, to))| {
                let cache = &mut caches[slot];
                if cache.len() == room * 2 * width || noise.below(9) == 0 {
                    // Another sequence is in its place.
                    cache.clear();
                }
                let length = cache.len() / (2 * width);
                let row: Vec<f32> =
                    row.iter().zip(&bias).map(|(value, bias)| value + bias).collect();
                cache.extend_from_slice(&row[width..]);
                attend_cached(to, &mut Vec::new(), &row[..width], cache, length + 1, heads);
                length as u32
            });
            let lengths: Vec<u32> = lengths.collect();
            mixed_there.write(&gpu, &mixed).unwrap();
            lengths_there.write(&gpu, &lengths).unwrap();
            slots_there
                .write(&gpu, &slots.iter().map(|&slot| slot as u32).collect::<Vec<_>>())
                .unwrap();
            let (cache, said) = ((cache.all_mut(), room), (mixed_there.all(), bias_there.all()));
            let rows = TakenIn::new((slots_there.all(), sequences), lengths_there.all(), sequences);
            gpu.attend_step(to.all_mut(), cache, said, &rows, heads).unwrap();
            let mut found = vec![0.0; sequences * width];
            to.read(&gpu, &mut found).unwrap();
            let off = apart(&found, &right);
            assert!(off < 1e-5, "{off} apart");
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
