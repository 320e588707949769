//! Every claim that a rule could be left out, against every record of small worlds.
//!
//! `superfluous_claims [CASES]`: how many worlds, 50,000 if not said.

use consequence_studies::superfluous_claims::{Claims, confirm};
use consequence_testing::worlds::Size;
use rayon::prelude::*;

fn main() {
    let cases = std::env::args().nth(1).map_or(Ok(50_000), |cases| cases.replace('_', "").parse());
    let Ok(cases) = cases else {
        eprintln!("usage: superfluous_claims [CASES]");
        std::process::exit(2);
    };
    let size = Size { codes: 4, visits: 3, rules: 5 };
    let claims = (0u64..cases).into_par_iter().map(|case| confirm(size, 3_000, case));
    let claims = claims.reduce(Claims::default, |mut sum, one| {
        sum += one;
        sum
    });
    println!("claims that no record refutes: {claims:#?}");
}
