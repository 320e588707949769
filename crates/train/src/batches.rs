//! Which records are trained on together.

use consequence_prng::{Draws, Purpose};
use consequence_record::Cohort;

use crate::TrainOptions;

/// The records of an epoch in an order of its own, cut into batches.
pub(crate) fn epoch(
    cohort: &Cohort,
    records: &[usize],
    options: &TrainOptions,
    epoch: u32,
) -> Vec<Vec<usize>> {
    let mut order = records.to_vec();
    let mut draw = Draws::new(options.seed).visit(u64::from(epoch), 0, 0, Purpose::Order);
    for last in (1..order.len()).rev() {
        let other = (u64::from(draw.word(last as u32)) * (last as u64 + 1)) >> 32;
        order.swap(last, other as usize);
    }
    cut(cohort, &order, options)
}

/// Records in the order given, cut into batches.
pub(crate) fn cut(cohort: &Cohort, order: &[usize], options: &TrainOptions) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut visits = usize::MAX;
    for &record in order {
        let length = cohort.record(record).len();
        match batches.last_mut() {
            Some(batch)
                if batch.len() < options.batch && visits + length <= options.batch_visits =>
            {
                batch.push(record);
                visits += length;
            }
            _ => {
                batches.push(vec![record]);
                visits = length;
            }
        }
    }
    batches
}
