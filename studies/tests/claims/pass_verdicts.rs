//! A short version of the study of one ordered pass.

use consequence_studies::pass_verdicts::compare;
use consequence_testing::worlds::Size;
use rayon::prelude::*;

#[test]
fn the_verdict_on_a_pass_equals_enumeration() {
    let size = Size { codes: 4, visits: 3, rules: 4 };
    let safe = (0..4_000u64).into_par_iter().filter(|&case| compare(size, 3, case)).count();
    assert!((500..3_500).contains(&safe), "{safe} of 4000 are safe");
}
