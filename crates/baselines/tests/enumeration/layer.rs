//! CCN.

use consequence_baselines::{Layer, Row};
use proptest::prelude::*;

use super::worlds::{Small, doubled_over_ones, implications, measured_gradient, settings, worlds};

/// Worlds of all kinds, half of them with many rules that the layer may express.
fn mixed() -> impl Strategy<Value = Small> {
    prop_oneof![worlds(9, 3), implications(6)]
}

proptest! {
    #![proptest_config(settings())]

    /// Whole visits, decided codes and probabilities of 0 and 1 all come out obeying what is
    /// expressed.
    #[test]
    fn what_is_expressed_holds(small in mixed(), visit in 0..2usize) {
        let constraint = small.constraint();
        let world = constraint.of_visit(visit);
        let layer = Layer::new(world);
        let start = world.range().start;
        let named: Vec<&str> = layer.unexpressed().iter().map(|one| &*one.rule).collect();
        for (index, clause) in (0..).zip(world.clauses()) {
            let expressed = layer.expressed().contains(&index);
            let name = &*world.rule(clause.rule).name;
            prop_assert_eq!(expressed, !named.contains(&name), "one clause for each rule");
        }
        for choice in small.choices(visit) {
            let given: Vec<bool> =
                (0..small.row(visit).len()).map(|code| choice >> code & 1 == 1).collect();
            let obeys = |visit: &[bool]| {
                layer.expressed().iter().all(|&index| {
                    let clause = &world.clauses()[index as usize];
                    clause.now().any(|(code, value)| visit[(code - start) as usize] == value)
                })
            };
            let mut whole = given.clone();
            layer.complete(&mut whole);
            prop_assert!(obeys(&whole));
            prop_assert_eq!(obeys(&given), whole == given, "nothing is added without need");
            let logit = |present: &bool| if *present { 30.0 } else { -30.0 };
            let logits: Vec<f32> = given.iter().map(logit).collect();
            let lifted: Vec<bool> =
                layer.probabilities(&logits).into_iter().map(|probability| probability > 0.5).collect();
            prop_assert_eq!(&lifted, &whole);
            let mut decided: Vec<bool> = Vec::new();
            for (code, &wish) in (0..).zip(&given) {
                let forced = layer.forced(code, |other| decided.get(other as usize).copied());
                decided.push(wish || forced);
            }
            prop_assert!(obeys(&decided) || !layer.late().is_empty());
        }
    }

    /// The gradient of the teaching loss is its measured, away from ties.
    #[test]
    fn gradients_are_difference_quotients(small in mixed(), visit in 0..2usize, choice in any::<u32>()) {
        let logits = small.row(visit);
        let close = |one: f32, other: f32| (one.abs() - other.abs()).abs() < 0.02;
        let tied = logits.iter().enumerate().any(|(at, &one)| {
            one.abs() < 0.02 || logits[..at].iter().any(|&other| close(one, other))
        });
        prop_assume!(!tied);
        let constraint = small.constraint();
        let layer = Layer::new(constraint.of_visit(visit));
        let present = small.present(visit, choice % small.choices(visit).end);
        let loss = |logits: &[f32]| layer.loss(Row { logits, present: &present });
        let mut gradient = vec![1.0; logits.len()];
        let cost = layer.gradient(Row { logits, present: &present }, 2.0, &mut gradient);
        prop_assert_eq!(cost, loss(logits));
        doubled_over_ones(&gradient, &measured_gradient(logits, |logits| loss(logits).nats))?;
    }

    /// A visit that obeys what is expressed breaks nothing, and the loss asks at least for what the
    /// layer gives.
    #[test]
    fn the_loss_is_at_least_the_nats(small in mixed(), visit in 0..2usize) {
        let constraint = small.constraint();
        let layer = Layer::new(constraint.of_visit(visit));
        for choice in small.choices(visit) {
            let mut visit_now: Vec<bool> =
                (0..small.row(visit).len()).map(|code| choice >> code & 1 == 1).collect();
            let given = visit_now.clone();
            layer.complete(&mut visit_now);
            let present = small.present(visit, choice);
            let row = Row { logits: small.row(visit), present: &present };
            let (loss, nats) = (layer.loss(row), layer.nats(row));
            prop_assert_eq!(loss.broken > 0, given != visit_now);
            if loss.broken == 0 {
                prop_assert!(loss.nats >= nats.nats - 1e-9);
            }
        }
    }
}

/// `A and B => C`: by hand, as the method's authors mask their loss.
#[test]
fn only_the_right_antecedents_learn() {
    let small = super::rules::small("rule both: A and B => C");
    let layer = Layer::new(small.constraint.of_visit(1));
    let logits = [1.0, 2.0, -1.0, -9.0];
    let alone = |against: f64| against.exp().ln_1p();
    // C is there through A, the less likely antecedent.
    let cost = layer.loss(Row { logits: &logits, present: &[0, 1, 2] });
    let expected = 2.0 * alone(-1.0) + alone(-2.0) + alone(-9.0);
    assert!((cost.nats - expected).abs() < 1e-9);
    // Without B nothing lifts C: it must come by itself.
    let cost = layer.loss(Row { logits: &logits, present: &[0, 2] });
    let expected = alone(-1.0) + alone(2.0) + alone(1.0) + alone(-9.0);
    assert!((cost.nats - expected).abs() < 1e-9);
    // No C though A: B is to blame, and A is not, though it is the smaller.
    let cost = layer.loss(Row { logits: &logits, present: &[0] });
    let expected = alone(-1.0) + 2.0 * alone(2.0) + alone(-9.0);
    assert!((cost.nats - expected).abs() < 1e-9);
    // A and B without C: the visit breaks the rule.
    let cost = layer.loss(Row { logits: &logits, present: &[0, 1] });
    assert_eq!(cost.broken, 1);
    assert!((cost.nats - alone(-1.0) - alone(-2.0) - alone(-1.0) - alone(-9.0)).abs() < 1e-9);
}
