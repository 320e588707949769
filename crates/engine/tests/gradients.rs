//! Every gradient against finite differences.
//!
//! A kernel is run on slightly different arguments, its results are weighed with fixed numbers and
//! added up in double precision, and the difference quotient is compared with the gradient that the
//! kernel gives.

use consequence_engine::{
    BinaryRow, Lists, Normal, Sequences, Settled, Steps, View, ViewMut, add_gathered, attend,
    attend_backward, attend_cached, attention_probabilities, binary_cross_entropy, column_sums,
    gated_average, gated_average_backward, gelu, gelu_backward, layer_norm, layer_norm_backward,
    product, relu, relu_backward, scatter_rows,
};

fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / 8_388_608.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn weighed(results: &[f32], weights: &[f32]) -> f64 {
    results.iter().zip(weights).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Compares a gradient with the difference quotients of a function at a point.
fn compare(what: &str, point: &[f32], gradient: &[f32], value: impl Fn(&[f32]) -> f64) {
    assert_eq!(point.len(), gradient.len(), "{what}");
    let step = 1e-2f32;
    for at in 0..point.len() {
        let measured = |step: f32| {
            let mut moved = point.to_vec();
            moved[at] = point[at] + step;
            let after = value(&moved);
            moved[at] = point[at] - step;
            (after - value(&moved)) / (2.0 * f64::from(step))
        };
        // Two steps together cancel the error of third order.
        let measured = (4.0 * measured(step / 2.0) - measured(step)) / 3.0;
        let got = f64::from(gradient[at]);
        assert!(
            (measured - got).abs() < 2e-3 * (1.0 + measured.abs()),
            "{what} [{at}]: {got}, not {measured}"
        );
    }
}

#[test]
fn products() {
    let (rows, inner, columns) = (3, 7, 5);
    let (a, b) = (noise(rows * inner, 1), noise(inner * columns, 2));
    let weights = noise(rows * columns, 3);
    let run = |a: &[f32], b: &[f32]| {
        let mut out = vec![0.0; rows * columns];
        let (a, b) = (View::new(a, rows, inner), View::new(b, inner, columns));
        product(ViewMut::new(&mut out, rows, columns), a, b, false);
        weighed(&out, &weights)
    };
    let gradient = View::new(&weights, rows, columns);
    let mut to = vec![0.0; rows * inner];
    let turned = View::new(&b, inner, columns).transposed();
    product(ViewMut::new(&mut to, rows, inner), gradient, turned, false);
    compare("first factor", &a, &to, |a| run(a, &b));
    let mut to = vec![0.0; inner * columns];
    let turned = View::new(&a, rows, inner).transposed();
    product(ViewMut::new(&mut to, inner, columns), turned, gradient, false);
    compare("second factor", &b, &to, |b| run(&a, b));
}

#[test]
fn activations() {
    let (point, weights) = (noise(40, 4), noise(40, 5));
    let point: Vec<f32> = point.iter().map(|x| x * 4.0).collect();
    let mut gradient = weights.clone();
    gelu_backward(&mut gradient, &point);
    compare("gelu", &point, &gradient, |x| {
        let mut to = vec![0.0; x.len()];
        gelu(&mut to, x);
        weighed(&to, &weights)
    });
    let mut result = point.clone();
    relu(&mut result);
    let mut gradient = weights.clone();
    relu_backward(&mut gradient, &result);
    compare("relu", &point, &gradient, |x| {
        let mut to = x.to_vec();
        relu(&mut to);
        weighed(&to, &weights)
    });
    let mut sums = vec![0.0; 8];
    column_sums(&mut sums, &weights);
    compare("bias", &noise(8, 6), &sums, |bias| {
        let mut rows = point.clone();
        consequence_engine::add_bias(&mut rows, bias);
        weighed(&rows, &weights)
    });
}

#[test]
fn normalisation() {
    let (rows, width) = (4, 37);
    let (point, weights) = (noise(rows * width, 7), noise(rows * width, 8));
    let (weight, bias) = (noise(width, 9), noise(width, 10));
    let run = |x: &[f32], weight: &[f32], bias: &[f32]| {
        let (mut to, mut normals) = (vec![0.0; x.len()], vec![Normal::default(); rows]);
        layer_norm(&mut to, &mut normals, x, weight, bias, 1e-5);
        (weighed(&to, &weights), normals)
    };
    let (_, normals) = run(&point, &weight, &bias);
    let (mut to, mut for_weight, mut for_bias) =
        (vec![0.0; point.len()], vec![0.0; width], vec![0.0; width]);
    layer_norm_backward(
        &mut to,
        &weights,
        &point,
        &normals,
        &weight,
        &mut for_weight,
        &mut for_bias,
    );
    compare("argument", &point, &to, |x| run(x, &weight, &bias).0);
    compare("weight", &weight, &for_weight, |weight| run(&point, weight, &bias).0);
    compare("bias", &bias, &for_bias, |bias| run(&point, &weight, bias).0);
}

#[test]
fn attention() {
    let (width, heads) = (24, 3);
    let sequences = Sequences::of([1, 5, 2]);
    let rows = sequences.rows();
    let (mixed, weights) = (noise(rows * 3 * width, 11), noise(rows * width, 12));
    let run = |mixed: &[f32]| {
        let mut to = vec![0.0; rows * width];
        let mut kept = vec![0.0; attention_probabilities(&sequences, heads)];
        attend(&mut to, &mut kept, mixed, &sequences, width, heads);
        (to, kept)
    };
    let (results, kept) = run(&mixed);
    let mut to = vec![f32::NAN; mixed.len()];
    attend_backward(&mut to, &weights, &kept, &mixed, &sequences, width, heads);
    compare("attention", &mixed, &to, |mixed| weighed(&run(mixed).0, &weights));

    // The same, row by row from a cache.
    let mut first = 0;
    let mut scratch = Vec::new();
    for &length in sequences.lengths() {
        let mut cache = Vec::new();
        for row in first..first + length {
            let mixed = &mixed[row * 3 * width..(row + 1) * 3 * width];
            cache.extend_from_slice(&mixed[width..]);
            let mut to = vec![0.0; width];
            let count = row - first + 1;
            attend_cached(&mut to, &mut scratch, &mixed[..width], &cache, count, heads);
            assert_eq!(to, results[row * width..(row + 1) * width], "bit for bit");
        }
        first += length;
    }
}

#[test]
fn gathered_rows() {
    let (width, items) = (300, 5);
    let mut lists = Lists::default();
    for list in [&[0, 4][..], &[], &[2, 0], &[1]] {
        lists.push(list.iter().copied());
    }
    let steps = Steps { width, first: 0, step: 60 };
    let (table, weights) = (noise(items * width, 13), noise(lists.len() * width, 14));
    let mut to = vec![0.0; table.len()];
    scatter_rows(&mut to, &weights, width, &lists, steps);
    compare("table", &table, &to, |table| {
        let mut rows = vec![0.0; weights.len()];
        add_gathered(&mut rows, width, table, &lists, steps);
        weighed(&rows, &weights)
    });
}

#[test]
fn cross_entropy() {
    let width = 21;
    let logits: Vec<f32> = noise(2 * width, 15).iter().map(|x| x * 5.0).collect();
    let settled = [Settled { output: 3, nats: 0.25 }, Settled { output: 20, nats: 0.0 }];
    let rows = [
        BinaryRow { present: &[0, 17, 20], settled: &settled },
        BinaryRow { present: &[4], settled: &[] },
    ];
    let run = |logits: &[f32]| {
        let mut logits = logits.to_vec();
        let nats = binary_cross_entropy(&mut logits, width, &rows, 1.0);
        (nats.iter().sum::<f64>(), logits)
    };
    let (nats, gradient) = run(&logits);
    compare("logits", &logits, &gradient, |logits| run(logits).0);
    let mut expected = 0.25;
    for (row, truth) in rows.iter().enumerate() {
        for output in 0..width as u32 {
            if truth.settled.iter().all(|settled| settled.output != output) {
                let logit = f64::from(logits[row * width + output as usize]);
                let sign = if truth.present.contains(&output) { -1.0 } else { 1.0 };
                expected += (sign * logit).exp().ln_1p();
            }
        }
    }
    assert!((nats - expected).abs() < 1e-5, "{nats}, not {expected}");
}

#[test]
fn gated_averages() {
    let (width, sequences) = (3, Sequences::of([4, 1, 2]));
    let rows = sequences.rows();
    let (mixed, weights) = (noise(rows * 2 * width, 61), noise(rows * width, 62));
    let run = |mixed: &[f32]| {
        let mut averages = vec![0.0; rows * width];
        gated_average(&mut averages, mixed, &sequences, width);
        averages
    };
    let mut gradient = vec![0.0; mixed.len()];
    gated_average_backward(&mut gradient, &weights, &run(&mixed), &mixed, &sequences, width);
    compare("gated average", &mixed, &gradient, |mixed| weighed(&run(mixed), &weights));
}
