//! Short versions of the small-world studies.

use consequence_studies::small_worlds::{Seen, exhaust};
use consequence_studies::worlds::Size;
use rayon::prelude::*;

fn total(size: Size, seed: u64, cases: u64) -> Seen {
    (0..cases).into_par_iter().map(|case| exhaust(size, seed, case)).reduce(
        Seen::default,
        |mut sum, one| {
            sum += one;
            sum
        },
    )
}

#[test]
fn every_input_of_tiny_worlds() {
    let seen = total(Size { codes: 4, visits: 3, rules: 4 }, 1, 20_000);
    println!("{seen:?}");
    assert!(seen.unsatisfiable > 50 && seen.cyclic > 20 && seen.foreseeing > 50, "{seen:?}");
}
