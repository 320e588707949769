//! A short run of the published rules in random orders.

use consequence_studies::published::Published;
use consequence_studies::published_orders::try_orders;

#[test]
fn the_published_rules_hold_in_any_order() {
    let Some(published) = Published::load() else { return };
    let seen = try_orders(&published, 5, 5_000, 31);
    println!("{seen:?}");
    assert_eq!((seen.orders, seen.violations_overridden, seen.violations_guided), (5, 0, 0));
    assert!(seen.visits >= 5_000 && seen.violations_before > 5_000, "{seen:?}");
}
