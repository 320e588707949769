//! Every input of many small worlds, then random inputs of larger ones.
//!
//! `small_worlds [CASES]`: how many worlds of each kind, 200,000 if not said.

use consequence_studies::sampled_worlds::{self, sample};
use consequence_studies::small_worlds::{self, exhaust};
use consequence_testing::worlds::Size;
use rayon::prelude::*;

fn main() {
    let cases = std::env::args().nth(1).map_or(Ok(200_000), |cases| cases.replace('_', "").parse());
    let Ok(cases) = cases else {
        eprintln!("usage: small_worlds [CASES]");
        std::process::exit(2);
    };
    let small = Size { codes: 4, visits: 3, rules: 4 };
    let every = (0..cases).into_par_iter().map(|case| exhaust(small, 1_000, case));
    let every = every.reduce(small_worlds::Seen::default, |mut sum, one| {
        sum += one;
        sum
    });
    println!("every input of worlds of up to 4 codes and 3 encounters: {every:#?}");
    let larger = Size { codes: 8, visits: 6, rules: 8 };
    let some = (0..cases).into_par_iter().map(|case| sample(larger, 2_000, case, 30));
    let some = some.reduce(sampled_worlds::Seen::default, |one, other| one + other);
    println!("random inputs of worlds of up to 8 codes and 6 encounters: {some:#?}");
}
