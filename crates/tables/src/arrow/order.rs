//! The order of rows that do not come in it.

use rustc_hash::FxHashMap;

use crate::Problem;
use crate::meds::rows::{Carried, Rows};

/// A batch, and a row in it.
pub(super) type Place = (usize, usize);

/// All rows, by subjects as they are first met, then by time, static events first, and those of one time as
/// they come. What is refused is told with its batch and its row.
pub(super) fn by_subject_and_time(
    rows: &[Rows<'_>],
    carried: &mut Carried,
) -> Result<Vec<Place>, (usize, usize, Problem)> {
    let mut known: FxHashMap<i64, u32> = FxHashMap::default();
    let mut counts: Vec<usize> = Vec::new();
    let total = rows.iter().map(Rows::len).sum();
    let mut subjects: Vec<u32> = Vec::with_capacity(total);
    for (batch, rows) in rows.iter().enumerate() {
        for row in 0..rows.len() {
            let subject =
                rows.subject(row, carried).map_err(|problem| (batch, row, problem.into()))?;
            let next = counts.len() as u32;
            let index = *known.entry(subject).or_insert(next);
            if index == next {
                counts.push(0);
            }
            counts[index as usize] += 1;
            subjects.push(index);
        }
    }
    // Where the rows of each subject begin, and after the next loop where they end.
    let mut ends = Vec::with_capacity(counts.len());
    let mut sum = 0;
    for count in &counts {
        ends.push(sum);
        sum += count;
    }
    let mut order: Vec<Place> = vec![(0, 0); total];
    let places = rows
        .iter()
        .enumerate()
        .flat_map(|(batch, rows)| (0..rows.len()).map(move |row| (batch, row)));
    for (place, &subject) in places.zip(&subjects) {
        let end = &mut ends[subject as usize];
        order[*end] = place;
        *end += 1;
    }
    let time = |&(batch, row): &Place| rows[batch].times.get(row);
    for (&end, &count) in ends.iter().zip(&counts) {
        let of_subject = &mut order[end - count..end];
        if !of_subject.is_sorted_by_key(time) {
            of_subject.sort_by_key(time);
        }
    }
    Ok(order)
}
