//! What it takes to turn rules into a proved plan and the plan into an enforcer.

use std::sync::Arc;
use std::time::Instant;

use consequence_enforce::Enforcer;
use consequence_rules::{CompileOptions, Order, Plan, RuleSet, compile};

/// A plan and what it took to make it.
#[derive(Debug)]
pub struct Prepared {
    /// The proved plan.
    pub plan: Plan,
    /// Seconds to compile and prove it.
    pub compile_seconds: f64,
    /// Seconds to make an enforcer of it.
    pub enforcer_seconds: f64,
    /// Bytes the enforcer holds.
    pub enforcer_bytes: usize,
}

/// Compiles and proves rules.
///
/// # Panics
/// If the rules have no plan; those measured here all have one.
pub fn prepare(rules: &Arc<RuleSet>) -> Prepared {
    let start = Instant::now();
    let plan = compile(Arc::clone(rules), &CompileOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let compile_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let enforcer = Enforcer::new(&plan);
    let enforcer_seconds = start.elapsed().as_secs_f64();
    Prepared { plan, compile_seconds, enforcer_seconds, enforcer_bytes: enforcer.memory() }
}

/// A plan of no rules over the same vocabulary, in the given order of codes or in its own.
pub fn without_rules(rules: &RuleSet, order: Option<Order>) -> Plan {
    let none = RuleSet::empty(Arc::clone(rules.vocabulary()));
    let options = CompileOptions { order, ..CompileOptions::default() };
    compile(Arc::new(none), &options).expect("no rules, no conflict")
}
