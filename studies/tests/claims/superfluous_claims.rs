//! A short version of the study of claims that a rule could be left out.

use consequence_studies::superfluous_claims::{Claims, confirm};
use consequence_testing::worlds::Size;
use rayon::prelude::*;

#[test]
fn no_record_refutes_a_claim() {
    let size = Size { codes: 4, visits: 3, rules: 4 };
    let claims = (0..2_000).into_par_iter().map(|case| confirm(size, 3, case));
    let claims = claims.reduce(Claims::default, |mut sum, one| {
        sum += one;
        sum
    });
    println!("{claims:?}");
    assert!(
        claims.always_true > 50 && claims.never_fire > 50 && claims.implied > 50,
        "too few claims to say anything: {claims:?}"
    );
}
