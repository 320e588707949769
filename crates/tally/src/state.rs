//! What was counted in a round, as bytes, with what it is of.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::codec::{Damaged, Reader, Writer};
use crate::counts::Coded;
use crate::rounds::Whose;

/// The beginning of every state.
const MAGIC: &[u8] = b"conseq-counts\n";

/// The number of the format of states. It counts up when what is counted changes, or how it is written.
const FORMAT: u64 = 3;

/// What was counted of some records in one round.
///
/// ```
/// use consequence_tally::{Shards, State, Whose};
///
/// let state = State {
///     of: "describe 1".into(),
///     round: 0,
///     name: "lengths".into(),
///     whose: Whose::Cohort,
///     records: 3,
///     shards: Shards::none(),
///     for_later: false,
///     counts: vec![3, 9],
/// };
/// assert_eq!(State::from_bytes(&state.to_bytes())?, state);
/// let other = State { of: "describe 2".into(), ..state.clone() };
/// assert!(state.alike(&other).is_err());
/// # Ok::<(), consequence_tally::StateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// What is counted, by what rules, over which codes: a digest, or a name.
    pub of: String,
    /// Which round it is, from 0.
    pub round: u32,
    /// What is counted in it.
    pub name: String,
    /// Whose records were counted.
    pub whose: Whose,
    /// How many records were counted.
    pub records: u64,
    /// Which parts of the records they are, where that is known.
    pub shards: Shards,
    /// Whether no later round depends on the counts.
    pub for_later: bool,
    /// The counts.
    pub counts: Vec<u8>,
}

/// Which of a number of parts were counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shards {
    /// How many parts there are; 0 where that is not known.
    pub of: u32,
    /// Those that were counted, from 1.
    pub counted: BTreeSet<u32>,
}

impl Shards {
    /// Nothing is known of parts.
    pub fn none() -> Self {
        Self::default()
    }

    /// One of so many parts, from 1.
    pub fn one(number: u32, of: u32) -> Self {
        Self { of, counted: BTreeSet::from([number]) }
    }

    /// The parts that are missing.
    pub fn missing(&self) -> Vec<u32> {
        (1..=self.of).filter(|number| !self.counted.contains(number)).collect()
    }

    fn add(&mut self, other: &Self) -> Result<(), StateError> {
        if self.of != other.of {
            return Err(StateError::OtherParts { of: self.of, other: other.of });
        }
        if let Some(&twice) = self.counted.intersection(&other.counted).next() {
            return Err(StateError::Twice { shard: twice, of: self.of });
        }
        self.counted.extend(&other.counted);
        Ok(())
    }
}

/// Why states cannot be added up.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StateError {
    /// It is no state, or damaged.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// It was written by another version of the program.
    #[error("the counts have format {format}, and this program adds up format {known}")]
    Format {
        /// Its format.
        format: u64,
        /// What this program reads.
        known: u64,
    },
    /// States of different counts.
    #[error("counts of different things cannot be added up: they differ in {0}")]
    Unlike(&'static str),
    /// Parts of different divisions.
    #[error("parts of {of} and parts of {other} cannot be added up")]
    OtherParts {
        /// Parts of the one.
        of: u32,
        /// Parts of the other.
        other: u32,
    },
    /// A part was counted twice.
    #[error("part {shard} of {of} is there twice")]
    Twice {
        /// The part.
        shard: u32,
        /// How many there are.
        of: u32,
    },
    /// There is nothing to add up.
    #[error("there are no counts to add up")]
    Nothing,
}

impl State {
    /// Refuses one that is not of the same round of the same counts.
    pub fn alike(&self, other: &Self) -> Result<(), StateError> {
        let differs = match () {
            () if self.of != other.of => "the task, its rules or the codes",
            () if self.round != other.round || self.name != other.name => "the round",
            () if self.whose != other.whose => "whose records they are of",
            () => return Ok(()),
        };
        Err(StateError::Unlike(differs))
    }

    /// What whoever counts later rounds needs to know of it.
    #[must_use]
    pub fn told(&self) -> Self {
        let counts = if self.for_later { Vec::new() } else { self.counts.clone() };
        Self {
            of: self.of.clone(),
            name: self.name.clone(),
            shards: self.shards.clone(),
            counts,
            ..*self
        }
    }

    /// Takes over what was counted beside the counts.
    pub(crate) fn join(&mut self, other: &Self) -> Result<(), StateError> {
        self.alike(other)?;
        self.shards.add(&other.shards)?;
        self.records += other.records;
        Ok(())
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Counts take megabytes, all else some hundred bytes: nothing is copied twice.
        let room = self.counts.len() + self.of.len() + self.name.len() + 256;
        let mut out = Writer::after(MAGIC, room);
        out.number(FORMAT);
        self.of.write(&mut out);
        self.round.write(&mut out);
        self.name.write(&mut out);
        (self.whose as u32).write(&mut out);
        self.records.write(&mut out);
        self.shards.of.write(&mut out);
        let counted: Vec<u64> = self.shards.counted.iter().map(|&shard| shard.into()).collect();
        counted.write(&mut out);
        self.for_later.write(&mut out);
        out.bytes(&self.counts);
        out.finish()
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let mut from = Reader::new(bytes.strip_prefix(MAGIC).ok_or(Damaged)?);
        let format = from.number()?;
        if format != FORMAT {
            return Err(StateError::Format { format, known: FORMAT });
        }
        let of = String::read(&mut from)?;
        let round = u32::read(&mut from)?;
        let name = String::read(&mut from)?;
        let whose = Whose::numbered(u32::read(&mut from)?).ok_or(Damaged)?;
        let records = u64::read(&mut from)?;
        let parts = u32::read(&mut from)?;
        let counted: Vec<u64> = Coded::read(&mut from)?;
        let counted: Result<BTreeSet<u32>, _> = counted.into_iter().map(u32::try_from).collect();
        let shards = Shards { of: parts, counted: counted.map_err(|_| Damaged)? };
        let for_later = bool::read(&mut from)?;
        let counts = from.bytes()?.to_vec();
        from.end()?;
        Ok(Self { of, round, name, whose, records, shards, for_later, counts })
    }
}
