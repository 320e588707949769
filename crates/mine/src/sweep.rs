//! One walk over the records, on all threads.

use rayon::prelude::*;

/// Counts over `records` records: each worker fills a part of its own over a run of records, and
/// the parts are joined in order. Sums of whole numbers come out the same however they are split.
pub(crate) fn sweep<Part: Send>(
    records: usize,
    workers: usize,
    start: impl Fn() -> Part + Sync,
    work: impl Fn(&mut Part, usize) + Sync,
    join: impl Fn(Part, Part) -> Part,
) -> Part {
    let workers = workers.max(1);
    let parts: Vec<Part> = (0..workers)
        .into_par_iter()
        .map(|worker| {
            let mut part = start();
            for record in records * worker / workers..records * (worker + 1) / workers {
                work(&mut part, record);
            }
            part
        })
        .collect();
    parts.into_iter().reduce(join).unwrap_or_else(start)
}

/// Adds up two lists of counts.
pub(crate) fn add<Count: Copy + std::ops::AddAssign>(into: &mut [Count], from: &[Count]) {
    for (sum, &count) in into.iter_mut().zip(from) {
        *sum += count;
    }
}
