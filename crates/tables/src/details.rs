//! What is refused of dates, stays and values before they are written: what could not be read back.

use consequence_record::DetailsView;

/// Refuses details that do not fit a record of so many encounters. That codes with a value or a time
/// are in their visits is left to whoever walks the visits.
pub(crate) fn check(details: DetailsView<'_>, encounters: usize) -> Result<(), &'static str> {
    let DetailsView { times, ends, ages, events, .. } = details;
    if !times.is_empty() && times.len() != encounters {
        return Err("has more encounters than times, or the reverse");
    }
    if !times.is_sorted() {
        return Err("has encounters that go back in time");
    }
    if !ends.is_empty() && ends.len() != times.len() {
        return Err("has ends where it has no times, or another number of them");
    }
    if times.iter().zip(ends).any(|(&begin, &end)| end.is_some_and(|end| end < begin)) {
        return Err("has an encounter that ends before it begins");
    }
    if !ages.is_empty() && ages.len() != encounters {
        return Err("has more encounters than ages, or the reverse");
    }
    if !events.is_sorted_by(|left, right| (left.visit, left.code) < (right.visit, right.code)) {
        return Err("has values that are not in the order of visits and codes, or two of one code");
    }
    for event in events {
        if event.value.is_some_and(|value| !value.is_finite()) {
            return Err("has a value that is no finite number");
        }
        if event.time.is_some() && (event.visit == 0 || times.is_empty()) {
            return Err("has a code with a time where its visit has none");
        }
    }
    Ok(())
}

/// What is said of a value or a time of a code that its visit does not have.
pub(crate) const STRAY: &str = "has a value or a time of a code that the visit does not have";
