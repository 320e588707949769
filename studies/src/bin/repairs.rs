//! What repair keeps of random records, against every record of small worlds.
//!
//! `repairs [CASES]`: how many worlds, 100,000 if not said.

use consequence_studies::repairs::{Seen, repair_some};
use consequence_testing::worlds::Size;
use rayon::prelude::*;

fn main() {
    let cases = std::env::args().nth(1).map_or(Ok(100_000), |cases| cases.replace('_', "").parse());
    let Ok(cases) = cases else {
        eprintln!("usage: repairs [CASES]");
        std::process::exit(2);
    };
    for size in [Size { codes: 4, visits: 4, rules: 4 }, Size { codes: 3, visits: 5, rules: 6 }] {
        let seen = (0u64..cases).into_par_iter().map(|case| repair_some(size, 4_000, case));
        let seen = seen.reduce(Seen::default, |mut sum, one| {
            sum += one;
            sum
        });
        println!("records of worlds of {size:?}: {seen:#?}");
    }
}
