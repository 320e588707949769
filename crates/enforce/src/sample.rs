//! Many records at once, each sampled under the plan.

use std::ops::Range;

use consequence_prng::Draws;
use consequence_record::{Code, Record};
use rayon::prelude::*;

use crate::{BadProbability, Enforcer};

/// Samples whole records on all threads, in order of their numbers.
///
/// `model` is asked at the beginning of each visit: it gets the record's number and the visits
/// written so far, and gives the probabilities of the next visit's codes, which may depend on the
/// codes decided before each. A record depends on the seed and its number only, not on the number of
/// threads or on which others are sampled with it.
///
/// ```
/// use std::sync::Arc;
/// use consequence_enforce::{Enforcer, sample};
/// use consequence_prng::Draws;
/// use consequence_rules::{CompileOptions, RuleSet, compile};
///
/// let rules = RuleSet::parse("rule lifelong: ICD9CM//250 in previous => ICD9CM//250", None)?;
/// let plan = compile(Arc::new(rules), &CompileOptions::default())?;
/// let enforcer = Enforcer::new(&plan);
/// let records = sample(&enforcer, &Draws::new(7), 0..100, |_, _| |_, _: &[_]| 0.3)?;
/// for record in &records {
///     let ill: Vec<bool> = record.visits.iter().map(|visit| !visit.is_empty()).collect();
///     assert!(ill.is_sorted(), "once ill, always ill");
/// }
/// assert_eq!(records[40..50], sample(&enforcer, &Draws::new(7), 40..50, |_, _| |_, _: &[_]| 0.3)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sample<P>(
    enforcer: &Enforcer,
    draws: &Draws,
    records: Range<u64>,
    model: impl Fn(u64, &Record) -> P + Sync,
) -> Result<Vec<Record>, BadProbability>
where
    P: FnMut(Code, &[Code]) -> f64,
{
    records
        .into_par_iter()
        .map_init(
            || enforcer.writer(),
            |writer, number| {
                while !writer.record().ended {
                    let probabilities = model(number, writer.record());
                    if let Err(bad) = writer.guided(draws, number, probabilities) {
                        writer.take();
                        return Err(bad);
                    }
                }
                Ok(writer.take())
            },
        )
        .collect()
}
