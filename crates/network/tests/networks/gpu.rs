//! The same numbers on a GPU as on the CPU. Says `SKIPPED` where there is none.

mod halo;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use consequence_engine::cuda::{
    Gpu, GpuError, KernelStore, Memory, ParameterRange, Precision, keep_kernels,
};
use consequence_engine::{
    Adam, Dropout, Settled, adam_step_within, average_within, squared_norm, squared_norm_within,
};
use consequence_network::gpu::{GpuBatch, GpuTrainer, Moments, Read, StepSettings};
use consequence_network::recurrent::{Shape, Weights};
use consequence_network::{
    Asked, Batch, Beyond, Codewise, Glance, Objective, Reading, Said, Scoring, TrainingPass,
    Weights as Either,
};

/// A GPU, or none where there is none to test on.
fn gpu(precision: Precision) -> Option<Gpu> {
    match Gpu::open(0, precision) {
        Ok(gpu) => Some(gpu),
        Err(error @ GpuError::Failed(_)) => panic!("{error}"),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

#[test]
fn memory_is_as_large_as_it_is_asked_for_at_first() {
    let Some(gpu) = gpu(Precision::Full) else { return };
    let mut memory: Memory = Memory::default();
    for (len, room) in [(1_000, 1_000), (10, 1_000), (1_001, 1_251), (1_200, 1_251)] {
        memory.fit(&gpu, len).unwrap();
        assert_eq!((memory.len(), memory.room()), (len, room));
    }
}

/// Keeps what is compiled, for all tests of this program.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<HashMap<String, Vec<u8>>>>);

impl KernelStore for Kept {
    fn find(&self, name: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(name).cloned()
    }

    fn keep(&self, name: &str, bytes: &[u8]) {
        self.0.lock().unwrap().insert(name.to_owned(), bytes.to_vec());
    }
}

#[test]
fn kernels_are_kept_with_the_version_of_their_compiler() {
    let kept = Kept::default();
    keep_kernels(kept.clone());
    if gpu(Precision::Full).is_none() {
        return;
    }
    let kept = kept.0.lock().unwrap();
    let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    assert!(!kept.is_empty() && kept.values().all(|bytes| has(bytes, b", NVRTC 1")));
}

struct Noise(u64);

impl Noise {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) as usize) % end
    }

    fn number(&mut self) -> f32 {
        self.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0
    }
}

fn weights(shape: Shape, noise: &mut Noise) -> Either {
    let mut weights = Weights::drawn(shape, 3).unwrap();
    weights.values_mut().iter_mut().for_each(|value| *value += 0.2 * noise.number());
    Either::Recurrent(Box::new(weights))
}

/// Records of static visits and others; some hold nothing, some the last code they may.
fn batch(codes: usize, statics: usize, records: usize, noise: &mut Noise) -> Batch {
    let mut batch = Batch::new(codes as u32);
    for record in 0..records {
        batch.begin();
        for visit in 0..1 + noise.below(9) {
            let range = if visit == 0 { 0..statics } else { statics..codes };
            let most = range.len().min(if record == 3 { 40 } else { 6 });
            let mut chosen: Vec<u32> = (0..noise.below(most + 1))
                .map(|_| (range.start + noise.below(range.len())) as u32)
                .collect();
            if noise.below(5) == 0 {
                chosen.push(range.end as u32 - 1);
            }
            chosen.sort_unstable();
            chosen.dedup();
            let mut settled: HashMap<u32, f32> = HashMap::new();
            for _ in 0..noise.below(4) {
                settled.insert(noise.below(range.len()) as u32, noise.number().abs());
            }
            let settled = settled.into_iter().map(|(output, nats)| Settled { output, nats });
            batch.push(range, chosen, settled);
        }
    }
    batch
}

/// A whole number of every kind: shapes of all sizes, with one code, and beyond what a warp takes.
fn cases() -> Vec<(Shape, usize, usize)> {
    let shape = |codes, width, head, bottleneck| Shape { codes, width, head, bottleneck, side: 0 };
    vec![
        (shape(5, 8, 16, 4), 2, 1),
        (shape(150, 8, 12, 4), 5, 23),
        (shape(333, 20, 50, 7), 1, 60),
        (shape(1_617, 64, 256, 32), 12, 200),
    ]
}

/// How far apart two vectors are, as a part of the length of the second.
fn apart(found: &[f32], right: &[f32]) -> f64 {
    let difference: Vec<f32> = found.iter().zip(right).map(|(a, b)| a - b).collect();
    (squared_norm(&difference) / squared_norm(right)).sqrt()
}

fn all(weights: &Either) -> Vec<ParameterRange> {
    vec![ParameterRange { range: 0..weights.values().len(), decays: false }]
}

fn compare(objective: &dyn Objective, batch: &Batch, weights: &Either, scale: f32) {
    compare_dropping(objective, batch, weights, (scale, Dropout::default()));
}

fn compare_dropping(
    objective: &dyn Objective,
    batch: &Batch,
    weights: &Either,
    (scale, dropout): (f32, Dropout),
) {
    let Some(gpu) = gpu(Precision::Full) else { return };
    let shape = weights.shape();
    let mut right = vec![0.0; weights.values().len()];
    let mut pass = TrainingPass::default();
    let nats = pass.train(weights, batch, objective, scale, dropout, &mut right);
    let nats: f64 = nats.iter().sum();

    let mut trainer = GpuTrainer::new(gpu, shape, &all(weights)).unwrap();
    trainer.send_weights(weights.values()).unwrap();
    trainer.drop_out(dropout);
    let staging = trainer.staging();
    let lay = || GpuBatch::new(batch, objective, &staging).unwrap().expect("a GPU can score it");
    let mut first = Vec::new();
    for _ in 0..2 {
        trainer.begin_nats(0.0).unwrap();
        trainer.differentiate(&mut lay(), objective, scale).unwrap();
        let found = trainer.total_nats().unwrap();
        assert!((found / nats - 1.0).abs() < 1e-5, "{shape:?}: {found}, not {nats}");
        let gradient = trainer.gradient().unwrap();
        let off = apart(&gradient, &right);
        eprintln!("{shape:?}: nats {:.1e} apart, gradients {off:.1e}", (found / nats - 1.0).abs());
        assert!(off < 1e-4, "{shape:?}: gradients {off} apart");
        let largest = right.iter().fold(0f32, |largest, value| largest.max(value.abs()));
        for (at, (found, right)) in gradient.iter().zip(&right).enumerate() {
            assert!(
                (found - right).abs() < 1e-4 * largest,
                "{shape:?} [{at}]: {found}, not {right}"
            );
        }
        match first.is_empty() {
            true => first = gradient,
            false => assert!(first == gradient, "the same bits each time"),
        }
    }
    let nats: f64 = pass.nats(weights, batch, objective).iter().sum();
    for read in [Read::Weights, Read::Average] {
        trainer.begin_nats(0.0).unwrap();
        trainer.nats(&mut lay(), objective, read).unwrap();
        let found = trainer.total_nats().unwrap();
        assert!((found / nats - 1.0).abs() < 1e-5, "{shape:?}: {found}, not {nats}");
    }
}

#[test]
fn losses_and_gradients_are_those_of_the_cpu() {
    let mut noise = Noise(7);
    for (shape, statics, records) in cases() {
        let weights = weights(shape, &mut noise);
        let batch = batch(shape.codes, statics, records, &mut noise);
        compare(&Codewise, &batch, &weights, 1.0 / batch.rows() as f32);
    }
}

/// Something beyond the likelihood: in each visit, half the square of the difference between two logits,
/// one of them by less than is known.
struct Differences {
    rows: Vec<Vec<[Reading; 2]>>,
}

impl Differences {
    /// Draws records, and what is read of them.
    fn drawn(codes: usize, statics: usize, noise: &mut Noise) -> (Self, Batch) {
        let (mut batch, mut rows) = (Batch::new(codes as u32), Vec::new());
        for _ in 0..20 {
            batch.begin();
            for visit in 0..1 + noise.below(6) {
                let range = if visit == 0 { 0..statics } else { statics..codes };
                let mut chosen: Vec<u32> = (0..noise.below(5))
                    .map(|_| (range.start + noise.below(range.len() - 1)) as u32)
                    .collect();
                chosen.sort_unstable();
                chosen.dedup();
                let code = |noise: &mut Noise| (range.start + noise.below(range.len())) as u32;
                let mut own = Vec::new();
                for _ in 0..noise.below(3) {
                    let known = noise.below(chosen.len() + 1) as u32;
                    let plain = Reading { code: code(noise), known: None };
                    own.push([plain, Reading { code: code(noise), known: Some(known) }]);
                }
                let glances = own.iter().filter_map(|[_, Reading { code, known }]| {
                    known.map(|known| Glance { known, code: *code })
                });
                batch.push(range.clone(), chosen, []);
                batch.look_ahead(glances);
                rows.push(own);
            }
        }
        (Self { rows }, batch)
    }
}

impl Objective for Differences {
    fn scoring(&self) -> Scoring<'_> {
        Scoring::Beyond(self)
    }

    fn score(&self, rows: &[Asked<'_>], factor: f32, said: Said<'_>) -> Vec<f64> {
        let width = said.logits.len() / rows.len().max(1);
        let (mut at, mut found) = (0, Vec::new());
        for (number, asked) in rows.iter().enumerate() {
            for [plain, _] in &self.rows[asked.row] {
                let logit = number * width + plain.code as usize - asked.first;
                found.push((logit, at, said.logits[logit] - said.ahead[at]));
                at += 1;
            }
        }
        let Said { logits, side, ahead } = said;
        let mut nats = Codewise.score(rows, factor, Said { logits, side, ahead });
        for &(logit, at, difference) in &found {
            nats[logit / width] += 0.5 * f64::from(difference) * f64::from(difference);
            logits[logit] += factor * difference;
            ahead[at] -= factor * difference;
        }
        nats
    }
}

impl Beyond for Differences {
    fn readings(&self, row: usize) -> Vec<Reading> {
        self.rows[row].iter().flatten().copied().collect()
    }

    fn score(&self, _: usize, read: &[f64], changes: &mut [f64]) -> f64 {
        let pairs = read.as_chunks::<2>().0.iter().zip(changes.as_chunks_mut::<2>().0);
        let nats = pairs.map(|([plain, ahead], changes)| {
            *changes = [plain - ahead, ahead - plain];
            0.5 * (plain - ahead) * (plain - ahead)
        });
        nats.sum()
    }
}

#[test]
fn what_is_beyond_the_likelihood_is_scored_on_the_host() {
    let mut noise = Noise(11);
    for (shape, statics, _) in [cases()[1], cases()[3]] {
        let weights = weights(shape, &mut noise);
        let (objective, batch) = Differences::drawn(shape.codes, statics, &mut noise);
        compare(&objective, &batch, &weights, 0.02);
    }
}

/// An objective that is given all outputs: what codes cost, if the head is asked, and for each output beside
/// it half the square of how far it is from a number of the row.
struct AllOutputs {
    asks_head: bool,
}

impl Objective for AllOutputs {
    fn asks_head(&self) -> bool {
        self.asks_head
    }

    fn score(&self, rows: &[Asked<'_>], factor: f32, said: Said<'_>) -> Vec<f64> {
        let Said { logits, side, ahead } = said;
        let beside = side.to_vec();
        let each = beside.len() / rows.len().max(1);
        let mut nats = match self.asks_head {
            true => Codewise.score(rows, factor, Said { logits, side, ahead }),
            false => vec![0.0; rows.len()],
        };
        for (at, said) in beside.iter().enumerate() {
            let (number, output) = (at / each, at % each);
            let off = said - ((rows[number].row + output) % 3) as f32;
            nats[number] += 0.5 * f64::from(off) * f64::from(off);
            side[at] = factor * off;
        }
        nats
    }
}

#[test]
fn an_objective_is_given_all_outputs_on_the_host() {
    let mut noise = Noise(19);
    for (side, asks_head, case) in [(0, true, 1), (3, true, 1), (5, false, 1), (40, true, 3)] {
        let (shape, statics, records) = cases()[case];
        let shape = Shape { side, ..shape };
        let weights = weights(shape, &mut noise);
        let batch = batch(shape.codes, statics, records, &mut noise);
        compare(&AllOutputs { asks_head }, &batch, &weights, 1.0 / batch.rows() as f32);
    }
}

#[test]
fn steps_are_those_of_the_cpu() {
    let mut noise = Noise(5);
    let (shape, statics, records) = cases()[1];
    let weights = weights(shape, &mut noise);
    compare_steps(weights, &batch(shape.codes, statics, records, &mut noise), statics, 2e-3);
}

/// Twenty steps, after which each vector is no further apart than a part of its length.
fn compare_steps(mut weights: Either, batch: &Batch, statics: usize, most: f64) {
    let Some(gpu) = gpu(Precision::Full) else { return };
    let live = weights.live(statics);
    let changed: Vec<ParameterRange> = live
        .iter()
        .map(|(range, decays)| ParameterRange { range: range.clone(), decays: *decays })
        .collect();
    let count = weights.values().len();
    let [mut mean, mut square, mut gradient] = [0; 3].map(|_| vec![0f32; count]);
    let mut average = weights.values().to_vec();
    let mut trainer = GpuTrainer::new(gpu, weights.shape(), &changed).unwrap();
    trainer.send_weights(weights.values()).unwrap();
    let (clip, keep, factor) = (0.5, 0.9, 1.0 / batch.rows() as f32);
    for number in 1..=20 {
        let adam = Adam { learning_rate: 1e-3, weight_kept: 1.0 - 1e-3 * 1.5, ..Adam::default() };
        let mut laid = GpuBatch::new(batch, &Codewise, &trainer.staging()).unwrap().unwrap();
        trainer.differentiate(&mut laid, &Codewise, factor).unwrap();
        trainer.step(&StepSettings { adam, clip, number, keep }).unwrap();

        gradient.fill(0.0);
        let (pass, dropout) = (&mut TrainingPass::default(), Dropout::default());
        pass.train(&weights, batch, &Codewise, factor, dropout, &mut gradient);
        let ranges: Vec<_> = live.iter().map(|(range, _)| range.clone()).collect();
        let length = squared_norm_within(&gradient, &ranges).sqrt() as f32;
        let gradient_scale = if length > clip { clip / length } else { 1.0 };
        for (range, decays) in &live {
            let weight_kept = if *decays { adam.weight_kept } else { 1.0 };
            let adam = Adam { gradient_scale, weight_kept, ..adam };
            let (own, values) = (std::slice::from_ref(range), weights.values_mut());
            adam_step_within(values, &gradient, &mut mean, &mut square, own, &adam, number);
        }
        average_within(&mut average, weights.values(), &ranges, keep);
    }
    assert_eq!(trainer.fault().unwrap(), None);
    let mut found = [0; 4].map(|_| vec![0f32; count]);
    let [a, b, c, d] = &mut found;
    trainer.bring(&mut Moments { weights: a, mean: b, square: c, average: d }).unwrap();
    let right = [weights.values(), &mean, &square, &average];
    for (found, right) in found.iter().zip(right) {
        let off = apart(found, right);
        eprintln!("after 20 steps {off:.1e} apart");
        assert!(off < most, "{off} apart");
    }
}

#[test]
fn a_step_that_is_no_number_is_told_and_changes_nothing() {
    let Some(gpu) = gpu(Precision::Fast) else { return };
    let mut noise = Noise(5);
    let (shape, statics, records) = cases()[1];
    let mut weights = weights(shape, &mut noise);
    let batch = batch(shape.codes, statics, records, &mut noise);
    weights.set_output_bias(&vec![f32::NAN; shape.codes]);
    let mut trainer = GpuTrainer::new(gpu, shape, &all(&weights)).unwrap();
    trainer.send_weights(weights.values()).unwrap();
    for number in 3..6 {
        let mut laid = GpuBatch::new(&batch, &Codewise, &trainer.staging()).unwrap().unwrap();
        trainer.differentiate(&mut laid, &Codewise, 0.1).unwrap();
        let adam = Adam::default();
        trainer.step(&StepSettings { adam, clip: 1.0, number, keep: 0.5 }).unwrap();
    }
    assert_eq!(trainer.fault().unwrap(), Some(3));
    let mut found = [0; 4].map(|_| vec![0f32; weights.values().len()]);
    let [a, b, c, d] = &mut found;
    trainer.bring(&mut Moments { weights: a, mean: b, square: c, average: d }).unwrap();
    assert!(found[1].iter().all(|&mean| mean == 0.0));
}

#[test]
fn fast_products_are_near() {
    let Some(gpu) = gpu(Precision::Fast) else { return };
    let mut noise = Noise(13);
    let (shape, statics, records) = cases()[3];
    let weights = weights(shape, &mut noise);
    let batch = batch(shape.codes, statics, records, &mut noise);
    let (mut right, scale) = (vec![0.0; weights.values().len()], 1.0 / batch.rows() as f32);
    let (pass, dropout) = (&mut TrainingPass::default(), Dropout::default());
    let nats = pass.train(&weights, &batch, &Codewise, scale, dropout, &mut right);
    let nats: f64 = nats.iter().sum();
    let mut trainer = GpuTrainer::new(gpu, shape, &all(&weights)).unwrap();
    trainer.send_weights(weights.values()).unwrap();
    let mut laid = GpuBatch::new(&batch, &Codewise, &trainer.staging()).unwrap().unwrap();
    trainer.differentiate(&mut laid, &Codewise, scale).unwrap();
    let found = trainer.total_nats().unwrap();
    let off = apart(&trainer.gradient().unwrap(), &right);
    eprintln!("fast: nats {:.1e} apart, gradients {off:.1e}", (found / nats - 1.0).abs());
    assert!((found / nats - 1.0).abs() < 1e-3 && off < 1e-2, "{found}, not {nats}; {off}");
}
