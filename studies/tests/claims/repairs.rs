//! A short version of the study of repairs.

use consequence_studies::repairs::{Seen, repair_some};
use consequence_testing::worlds::Size;
use rayon::prelude::*;

#[test]
fn repair_keeps_what_it_can() {
    let size = Size { codes: 4, visits: 4, rules: 4 };
    let seen = (0..5_000).into_par_iter().map(|case| repair_some(size, 4, case));
    let seen = seen.reduce(Seen::default, |mut sum, one| {
        sum += one;
        sum
    });
    println!("{seen:?}");
    assert!(
        seen.valid > 1_000
            && seen.changed > 1_000
            && seen.ended_by_rule > 100
            && seen.refused > 100
            && seen.unsatisfiable > 10
            && seen.cut > 1_000,
        "too little happened to say anything: {seen:?}"
    );
}
