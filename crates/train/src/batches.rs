//! Which records are trained on together.

use consequence_prng::{Draws, Purpose};
use consequence_record::{Cohort, Selection};

use crate::TrainOptions;

/// The records of an epoch in an order of its own, cut into batches.
pub(crate) fn epoch(records: Selection<'_>, options: &TrainOptions, epoch: u32) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = records.indices().collect();
    let mut draw = Draws::new(options.seed).visit(u64::from(epoch), 0, 0, Purpose::Order);
    for last in (1..order.len()).rev() {
        let other = (u64::from(draw.word(last as u32)) * (last as u64 + 1)) >> 32;
        order.swap(last, other as usize);
    }
    cut(records.cohort(), order, options)
}

/// Records in the order given, by their indices, cut into batches.
pub(crate) fn cut(
    cohort: &Cohort,
    order: impl IntoIterator<Item = usize>,
    options: &TrainOptions,
) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut visits = usize::MAX;
    for record in order {
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
