//! An algorithm that counts records in rounds: what it counts in a round depends on what was counted before.
//!
//! It is one function, given [`Rounds`], and asks them for counts. Where all records are at hand they are counted, and
//! it goes on. A worker with a part of the records is given what was counted in the rounds before, all parts added up:
//! the function runs through them, counts its part in the first round that is not known, and pauses. The driver adds up the
//! parts of that round, runs the same function through all that is known, and either has its result or learns
//! what is to be counted next. Between rounds nothing may depend on records.

use consequence_record::{Selection, Split};
use thiserror::Error;

use crate::codec::{Damaged, Reader, Writer};
use crate::counts::Counts;
use crate::state::{Shards, State, StateError};

/// Records that are counted together.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The records, with what is known of them.
    pub records: Selection<'a>,
    /// The split of each record of their cohort.
    pub splits: &'a [Split],
}

impl<'a> Block<'a> {
    /// The records with their splits and ids.
    pub fn indices(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.records.indices()
    }
}

/// Whose records are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of the cohort; where two are held against each other, the real one.
    Cohort = 0,
    /// The generated ones.
    Synthetic = 1,
}

impl Whose {
    pub(crate) fn numbered(number: u32) -> Option<Self> {
        [Self::Cohort, Self::Synthetic].into_iter().find(|&one| one as u32 == number)
    }
}

/// Records that come a block at a time, once.
pub trait Blocks {
    /// Hands every block on; stops at the first that is refused.
    fn each(
        &mut self,
        take: &mut dyn FnMut(&Block<'_>) -> Result<(), Paused>,
    ) -> Result<(), Paused>;
}

impl<'a, I: Iterator<Item = Block<'a>>> Blocks for I {
    fn each(
        &mut self,
        take: &mut dyn FnMut(&Block<'_>) -> Result<(), Paused>,
    ) -> Result<(), Paused> {
        self.try_for_each(|block| take(&block))
    }
}

/// Why an algorithm has no result yet.
#[derive(Debug, Error)]
pub enum Paused {
    /// It counted its part of the records.
    #[error("a part of the records was counted, and the others are missing")]
    Counted(State),
    /// It needs another round.
    #[error("the records are to be counted again: {}", .0.name)]
    Wanted(Wanted),
    /// Counts that are not those of this algorithm.
    #[error(transparent)]
    Refused(#[from] StateError),
    /// The records could not be read or counted.
    #[error("{0}")]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl From<Damaged> for Paused {
    fn from(damaged: Damaged) -> Self {
        Self::Refused(damaged.into())
    }
}

/// A round that is to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which round it is, from 0.
    pub round: u32,
    /// What is counted.
    pub name: &'static str,
    /// Whose records.
    pub whose: Whose,
}

/// Counts on which nothing depends that is counted after them. A worker has no need of them, and reads none.
///
/// ```
/// use consequence_record::{Cohort, Record, Selection, Split};
/// use consequence_tally::{Block, Paused, Rounds, Whose};
///
/// let mut cohort = Cohort::default();
/// cohort.push("p", &Record::new(vec![vec![]; 3]));
/// let block = Block { records: Selection::all(&cohort), splits: &[Split::Train] };
/// let mut rounds = Rounds::whole(block);
/// let records = rounds.count_for_later(Whose::Cohort, "records", |block| {
///     Ok::<_, Paused>(block.records.len() as u64)
/// })?;
/// // Other rounds are counted here.
/// assert_eq!(records.read()?, 1);
/// # Ok::<(), Paused>(())
/// ```
#[must_use]
#[derive(Debug)]
pub struct Later<'a, C>(Kept<'a, C>);

#[derive(Debug)]
enum Kept<'a, C> {
    Counts(C),
    Written(&'a State),
}

impl<C: Counts> Later<'_, C> {
    /// The counts, once all rounds are over.
    pub fn read(self) -> Result<C, Paused> {
        match self.0 {
            Kept::Counts(counts) => Ok(counts),
            Kept::Written(state) => Rounds::decoded(state),
        }
    }
}

/// Who counts, and what was counted already.
pub struct Rounds<'a> {
    /// What is counted by what rules over which codes.
    of: String,
    known: &'a [State],
    next: usize,
    records: Records<'a>,
    merged: Option<State>,
}

enum Records<'a> {
    /// All records, of the cohort and the generated ones.
    Whole([Option<Block<'a>>; 2]),
    /// Some of them.
    Part { whose: Whose, blocks: &'a mut dyn Blocks, shards: Shards },
    /// None: counts of the next round, to be added up, and then to go on from or not.
    Merge { parts: Vec<State>, go_on: bool },
}

impl<'a> Rounds<'a> {
    /// All records of a cohort are at hand.
    pub fn whole(records: Block<'a>) -> Self {
        Self::over([Some(records), None])
    }

    /// All records of two cohorts are.
    pub fn both(real: Block<'a>, synthetic: Block<'a>) -> Self {
        Self::over([Some(real), Some(synthetic)])
    }

    fn over(records: [Option<Block<'a>>; 2]) -> Self {
        Self::with(&[], Records::Whole(records))
    }

    /// Some records are at hand, which are counted in the round after those that are known.
    pub fn part(known: &'a [State], whose: Whose, blocks: &'a mut dyn Blocks) -> Self {
        Self::with(known, Records::Part { whose, blocks, shards: Shards::none() })
    }

    /// No records are at hand, and counts of the round after those that are known: they are added up. Without any,
    /// it is found out what is to be counted next.
    pub fn merging(known: &'a [State], parts: Vec<State>) -> Self {
        Self::with(known, Records::Merge { parts, go_on: true })
    }

    /// The same, and that is all: the sum is given back as what was counted, to be added to others.
    pub fn adding(known: &'a [State], parts: Vec<State>) -> Self {
        Self::with(known, Records::Merge { parts, go_on: false })
    }

    fn with(known: &'a [State], records: Records<'a>) -> Self {
        let of = known.first().map(|state| state.of.clone()).unwrap_or_default();
        Self { of, known, next: 0, records, merged: None }
    }

    /// The same, with counts that are of this: a task with its rules and codes.
    #[must_use]
    pub fn of(self, of: impl Into<String>) -> Self {
        Self { of: of.into(), ..self }
    }

    /// The same, of one of a number of parts.
    #[must_use]
    pub fn shard(mut self, number: u32, count: u32) -> Self {
        if let Records::Part { shards, .. } = &mut self.records {
            *shards = Shards::one(number, count);
        }
        self
    }

    /// The counts of all parts of a round, if they were added up.
    pub fn merged(self) -> Option<State> {
        self.merged
    }

    /// Counts records.
    pub fn count<C, E, F>(&mut self, whose: Whose, name: &'static str, count: F) -> Result<C, E>
    where
        C: Counts,
        E: From<Paused>,
        F: FnMut(&Block<'_>) -> Result<C, E>,
    {
        match self.known_or_counted(
            Wanted { round: self.next as u32, name, whose },
            false,
            count,
        )? {
            Kept::Counts(counts) => Ok(counts),
            Kept::Written(state) => Ok(Self::decoded(state)?),
        }
    }

    /// Counts records for a figure that no round after this one depends on.
    pub fn count_for_later<C, E, F>(
        &mut self,
        whose: Whose,
        name: &'static str,
        count: F,
    ) -> Result<Later<'a, C>, E>
    where
        C: Counts,
        E: From<Paused>,
        F: FnMut(&Block<'_>) -> Result<C, E>,
    {
        let wanted = Wanted { round: self.next as u32, name, whose };
        self.known_or_counted(wanted, true, count).map(Later)
    }

    fn known_or_counted<C, E, F>(
        &mut self,
        wanted: Wanted,
        for_later: bool,
        count: F,
    ) -> Result<Kept<'a, C>, E>
    where
        C: Counts,
        E: From<Paused>,
        F: FnMut(&Block<'_>) -> Result<C, E>,
    {
        self.next += 1;
        match self.known.get(wanted.round as usize) {
            Some(state) => {
                self.expect(state, &wanted)?;
                Ok(Kept::Written(state))
            }
            None => self.count_here(wanted, for_later, count).map(Kept::Counts),
        }
    }

    fn count_here<C, E, F>(&mut self, wanted: Wanted, for_later: bool, mut count: F) -> Result<C, E>
    where
        C: Counts,
        E: From<Paused>,
        F: FnMut(&Block<'_>) -> Result<C, E>,
    {
        let Wanted { round, name, whose } = wanted;
        let state = |of: &str, records, shards, counts| State {
            of: of.to_owned(),
            round,
            name: name.to_owned(),
            whose,
            records,
            shards,
            for_later,
            counts,
        };
        match &mut self.records {
            Records::Whole(blocks) => match &blocks[whose as usize] {
                Some(block) => count(block),
                None => Err(Paused::Wanted(wanted).into()),
            },
            Records::Part { whose: ours, .. } if *ours != whose => {
                Err(Paused::Wanted(wanted).into())
            }
            Records::Part { blocks, shards, .. } => {
                let (mut sum, mut records): (Option<C>, u64) = (None, 0);
                let mut refused = None;
                let all = blocks.each(&mut |block| {
                    let counts = count(block).map_err(|error| {
                        refused = Some(error);
                        Paused::Refused(StateError::Nothing)
                    })?;
                    records += block.records.len() as u64;
                    match &mut sum {
                        Some(sum) => sum.add(counts),
                        none => *none = Some(counts),
                    }
                    Ok(())
                });
                if let Some(refused) = refused {
                    return Err(refused);
                }
                all?;
                let mut out = Writer::default();
                if let Some(sum) = &sum {
                    sum.write(&mut out);
                }
                let shards = shards.clone();
                Err(Paused::Counted(state(&self.of, records, shards, out.finish())).into())
            }
            Records::Merge { parts, go_on } => {
                let go_on = *go_on;
                let mut parts = std::mem::take(parts).into_iter();
                let Some(mut first) = parts.next() else {
                    return Err(Paused::Wanted(wanted).into());
                };
                let expected = state(&self.of, 0, Shards::none(), Vec::new());
                expected.alike(&first).map_err(Paused::Refused)?;
                let mut sum: Option<C> = Self::read(&first.counts).map_err(Paused::from)?;
                for part in parts {
                    first.join(&part).map_err(Paused::Refused)?;
                    match (&mut sum, Self::read::<C>(&part.counts).map_err(Paused::from)?) {
                        (Some(sum), Some(more)) => sum.add(more),
                        (none, more) => *none = none.take().or(more),
                    }
                }
                let mut out = Writer::default();
                if let Some(sum) = &sum {
                    sum.write(&mut out);
                }
                first.counts = out.finish();
                if !go_on {
                    return Err(Paused::Counted(first).into());
                }
                let sum = sum.ok_or(Paused::Refused(StateError::Nothing))?;
                self.merged = Some(first);
                Ok(sum)
            }
        }
    }

    /// Counts that were written down; none of no records.
    fn read<C: Counts>(bytes: &[u8]) -> Result<Option<C>, Damaged> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut from = Reader::new(bytes);
        let counts = C::read(&mut from)?;
        from.end()?;
        Ok(Some(counts))
    }

    /// The counts of a round that is known.
    fn decoded<C: Counts>(state: &State) -> Result<C, Paused> {
        Self::read(&state.counts)?.ok_or(Paused::Refused(StateError::Nothing))
    }

    /// Refuses counts that are not of a round.
    fn expect(&self, state: &State, wanted: &Wanted) -> Result<(), Paused> {
        let Wanted { round, name, whose } = *wanted;
        let differs = match () {
            () if state.of != self.of => "the task, its rules or the codes",
            () if state.round != round || state.name != name || state.whose != whose => "the round",
            () => return Ok(()),
        };
        Err(StateError::Unlike(differs).into())
    }
}
