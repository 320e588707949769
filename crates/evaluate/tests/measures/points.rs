//! The points of scatter plots, and intervals over runs.

use consequence_evaluate::{Interval, Points, shares};
use consequence_record::{Code, Cohort, Record, Selection};
use consequence_testing::every::vocabulary;

use crate::support::random_cohort;

#[test]
fn points_by_hand() {
    let vocabulary = vocabulary(1, 3);
    let [e0, e1, e2] = [1, 2, 3].map(Code);
    let (mut real, mut synthetic) = (Cohort::default(), Cohort::default());
    real.push("a", &Record::new(vec![vec![Code(0)], vec![e0, e1], vec![e1]]));
    real.push("b", &Record::new(vec![vec![], vec![e0, e1]]));
    synthetic.push("c", &Record::new(vec![vec![], vec![e0, e2], vec![e0]]));
    let real = Selection::all(&real);
    let synthetic = Selection::all(&synthetic);
    let found = shares(&[real, synthetic], &vocabulary, 2).unwrap();
    let shown = |points: &Points| -> Vec<String> {
        let shares = points.shares[0].iter().zip(&points.shares[1]);
        let named = points.names.iter().zip(shares);
        named.map(|(name, (real, other))| format!("{name}: {real:.2} {other:.2}")).collect()
    };
    assert_eq!(shown(&found.codes), ["E0: 0.67 1.00", "E1: 1.00 0.00", "E2: 0.00 0.50"]);
    assert_eq!(shown(&found.pairs), ["E0 + E1: 0.67 0.00", "E0 + E2: 0.00 0.50"]);
    // All four are in every transition of one cohort: the first in the vocabulary come first.
    let sequences = ["E0 then E0: 0.00 1.00", "E0 then E1: 1.00 0.00"];
    assert_eq!(shown(&found.sequences), sequences);
    let nobody = synthetic.part(0..0);
    let none = shares(&[real, nobody], &vocabulary, 9).unwrap();
    assert!(none.codes.shares[1].iter().all(|&share| share == 0.0));
    assert_eq!((none.pairs.names.len(), none.sequences.names.len()), (1, 2));
}

#[test]
fn points_do_not_depend_on_threads() {
    let vocabulary = vocabulary(2, 9);
    let cohort = random_cohort(&vocabulary, 300, 4);
    let all = Selection::all(&cohort);
    let [real, synthetic] = [all.part(0..100), all.part(100..all.len())];
    let measure = || shares(&[real, synthetic], &vocabulary, 20).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(5).build().unwrap();
    assert_eq!(pool.install(measure), measure());
    let missing = Selection::new(&cohort, &[999]);
    assert!(shares(&[real, missing], &vocabulary, 20).is_err());
}

#[test]
fn intervals_by_hand() {
    let interval = Interval::of(&[1.0, 2.0, 3.0, 6.0]).unwrap();
    assert_eq!((interval.mean, interval.runs), (3.0, 4));
    // Squares 4 + 1 + 0 + 9 over 3, over 4 runs.
    assert!((interval.half_width.unwrap() - 3.182446 * (14.0f64 / 12.0).sqrt()).abs() < 1e-6);
    assert_eq!(interval.to_string(), "3.000 ± 3.437");
    assert_eq!(Interval::of(&[0.25]).unwrap().to_string(), "0.250");
    let many: Vec<f64> = (0..20).map(f64::from).collect();
    let wide = Interval::of(&many).unwrap().half_width.unwrap();
    assert!((wide - 1.96 * (665.0f64 / 19.0 / 20.0).sqrt()).abs() < 1e-12, "as the paper");
    assert_eq!(Interval::of(&[7.5; 25]).unwrap().half_width, Some(0.0));
    for values in [&[][..], &[f64::NAN], &[1.0, f64::INFINITY], &[f64::MAX, -f64::MAX]] {
        assert_eq!(Interval::of(values), None);
    }
}
