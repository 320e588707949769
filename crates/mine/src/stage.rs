//! How far into a record a visit is, in steps that widen.

/// The number of stages.
pub(crate) const STAGES: usize = 28;

/// The stage of encounter number `visit`, counted from 1: the first four encounters have one each,
/// then two stages for each doubling.
pub(crate) fn stage(visit: usize) -> usize {
    if visit <= 4 {
        return visit.saturating_sub(1);
    }
    let power = (visit - 1).ilog2() as usize;
    let upper_half = (visit - 1) >> (power - 1) & 1;
    (2 * power + upper_half).min(STAGES - 1)
}

/// The last encounter of a stage.
pub(crate) fn last_of(stage: usize) -> usize {
    match stage {
        0..4 => stage + 1,
        stage if stage + 1 >= STAGES => usize::MAX,
        stage => (2 + stage % 2 + 1) << (stage / 2 - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_cover_all_encounters_in_order() {
        for visit in 1..70_000 {
            let own = stage(visit);
            assert!(visit <= last_of(own), "{visit}");
            assert!(own == 0 || visit > last_of(own - 1), "{visit} in {own}");
        }
        assert_eq!(stage(usize::MAX), STAGES - 1);
    }
}
