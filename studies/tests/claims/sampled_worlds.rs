//! A short run of random inputs in worlds too large to enumerate.

use consequence_studies::sampled_worlds::{Seen, sample};
use consequence_testing::worlds::Size;
use rayon::prelude::*;

#[test]
fn random_inputs_of_larger_worlds() {
    let size = Size { codes: 8, visits: 6, rules: 8 };
    let cases = (0..3_000).into_par_iter().map(|case| sample(size, 51, case, 20));
    let seen = cases.reduce(Seen::default, |one, other| one + other);
    println!("{seen:?}");
    assert!(seen.records > 20_000 && seen.unsatisfiable > 50, "{seen:?}");
}
