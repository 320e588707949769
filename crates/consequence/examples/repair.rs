//! Repairs records, and has the referee judge what comes out.
//!
//! `cargo run -p consequence --example repair`

use std::sync::Arc;

use consequence::{
    Cohort, CompileOptions, Draws, Record, Referee, RepairPlan, RuleSet, Unwatched, repair,
};

/// Prints what the repair did.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = "rule lifelong: DIABETES in previous => DIABETES  rule death: DIED => END";
    let rules = Arc::new(RuleSet::parse(text, None)?);
    let code = |name| rules.vocabulary().code(name).expect("the rules name it");
    let mut cohort = Cohort::default();
    cohort.push("one", &Record::new(vec![vec![], vec![code("DIABETES")], vec![]]));
    cohort.push("two", &Record::new(vec![vec![], vec![code("DIED")], vec![code("DIABETES")]]));

    // A plan for records that exist takes where they end as given.
    let max_visits = u16::try_from(cohort.longest())?;
    let options = CompileOptions { max_visits, ..CompileOptions::default() };
    let plan = RepairPlan::compile(Arc::clone(&rules), &options)?;
    let consequence_enforce::Repaired { cohort: repaired, summary: done, .. } =
        repair(&plan, &cohort, &Draws::new(1), &Unwatched);

    println!("{} of {} records changed", done.changed, done.records);
    println!("{} codes added, {} visits dropped", done.added, done.dropped_visits);
    let referee = Referee::new(&rules);
    assert!(repaired.records().all(|record| referee.is_valid(&record)));
    assert_eq!((done.changed, done.added, done.dropped_visits), (2, 1, 1));
    Ok(())
}
