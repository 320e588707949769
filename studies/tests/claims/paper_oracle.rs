//! The paper's dense pass, in a safe order, writes what override writes.

use consequence_studies::paper_oracle::{Compared, compare};
use rayon::prelude::*;

#[test]
fn the_papers_pass_in_a_safe_order_is_override() {
    let compared = (0..1_500).into_par_iter().map(|case| compare(21, case, 12));
    let total = compared.reduce(Compared::default, |one, other| Compared {
        visits: one.visits + other.visits,
        changed: one.changed + other.changed,
        groups: one.groups + other.groups,
    });
    println!("{total:?}");
    assert!(total.visits > 50_000 && total.changed > 10_000 && total.groups > 3_000, "{total:?}");
}
