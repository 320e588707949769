//! An algorithm over records in parts, as a driver and workers would run it.

use consequence_record::Selection;
use consequence_record::Split;
use consequence_tally::{Block, Paused, Rounds, State, Whose};

/// Records of one cohort, and where they are cut into parts.
pub struct Parts<'a> {
    /// All records.
    pub records: Selection<'a>,
    /// The split of each record of their cohort.
    pub splits: &'a [Split],
    /// The part of each record; parts may be empty.
    pub part_of: &'a dyn Fn(usize) -> usize,
    /// How many parts there are.
    pub parts: usize,
    /// Records of a block.
    pub block: usize,
}

impl Parts<'_> {
    /// The indices in the cohort of the records of a part, in order.
    fn of(&self, part: usize) -> Vec<usize> {
        let numbers = (0..self.records.len()).filter(|&number| (self.part_of)(number) == part);
        numbers.map(|number| self.records.index(number)).collect()
    }
}

/// What an algorithm finds that counts records in rounds, each part by itself and all of them added up. States are
/// written down and read again on their way. Gives the number of rounds too.
///
/// # Panics
/// If it fails, or does anything but pause.
pub fn in_parts<T, E: std::fmt::Display>(
    cohort: &Parts<'_>,
    synthetic: Option<&Parts<'_>>,
    algorithm: impl Fn(&mut Rounds<'_>) -> Result<T, E>,
    paused: impl Fn(E) -> Paused,
) -> (T, usize) {
    let mut known: Vec<State> = Vec::new();
    let mut states: Vec<State> = Vec::new();
    loop {
        let mut merging = Rounds::merging(&known, std::mem::take(&mut states)).of("test");
        let outcome = algorithm(&mut merging);
        known.extend(merging.merged());
        let wanted = match outcome {
            Ok(found) => return (found, known.len()),
            Err(error) => match paused(error) {
                Paused::Wanted(wanted) => wanted,
                other => panic!("{other}"),
            },
        };
        let told: Vec<State> = known.iter().map(State::told).collect();
        let parts = match wanted.whose {
            Whose::Cohort => cohort,
            Whose::Synthetic => synthetic.expect("a second cohort"),
        };
        // The last part first: the order does not matter.
        for part in (0..parts.parts).rev() {
            let chosen = parts.of(part);
            let records = parts.records.others(&chosen);
            let mut blocks = records
                .chunks(parts.block)
                .into_iter()
                .map(|records| Block { records, splits: parts.splits });
            let mut rounds = Rounds::part(&told, wanted.whose, &mut blocks)
                .of("test")
                .shard(part as u32 + 1, parts.parts as u32);
            let counted = algorithm(&mut rounds).map(drop).map_err(&paused);
            match counted {
                Err(Paused::Counted(state)) => {
                    assert_eq!((state.name.as_str(), state.round), (wanted.name, wanted.round));
                    states.push(State::from_bytes(&state.to_bytes()).expect("a state"));
                }
                Err(other) => panic!("{other}"),
                Ok(()) => panic!("a part of the records was taken for all"),
            }
        }
    }
}
