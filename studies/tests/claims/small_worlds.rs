//! Short versions of the small-world studies.

use consequence_studies::small_worlds::{Seen, audit_and_repair, exhaust};
use consequence_testing::worlds::Size;
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
    assert!(
        seen.unsatisfiable > 50
            && seen.cyclic > 20
            && seen.looking_ahead > 50
            && seen.soft > 500
            && seen.diagrams > 500,
        "{seen:?}"
    );
}

#[test]
fn audits_agree_with_the_referee_and_repairs_obey_it() {
    let size = Size { codes: 6, visits: 5, rules: 6 };
    let records: u64 = (0..3_000).into_par_iter().map(|case| audit_and_repair(size, 2, case)).sum();
    assert_eq!(records, 150_000);
}
