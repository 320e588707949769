//! A task with what is known of its cohorts: counted, added up, and told what comes next.

use std::sync::Arc;

use consequence_pipeline::parts::Outline;
use consequence_pipeline::{Error, Watch};
use consequence_record::Vocabulary;
use consequence_store::digest;
use consequence_tables::Dataset;
use consequence_tally::{Blocks, Paused, Rounds, State, Wanted, Whose};

use super::work::{Merged, PartReport, Work, first};
use crate::enforce::{KeptPlan, Repairs};
use crate::evaluate::joined_codes;

/// Work over records in many places, with what is known of the cohorts. Wherever there are records it counts them; a plan
/// that was proved is kept for the next part.
#[derive(Debug)]
pub struct Job {
    work: Work,
    outlines: Vec<Outline>,
    digest: String,
    plan: KeptPlan,
}

/// Some records: whose they are, a block at a time, and which part of how many.
pub struct PartRecords<'a> {
    /// Whether they are the cohort's or the generated ones.
    pub whose: Whose,
    /// The records.
    pub blocks: &'a mut dyn Blocks,
    /// The number of the part, from 1, and of how many; none where parts have no numbers.
    pub shard: Option<(u32, u32)>,
}

impl Job {
    /// Work on cohorts of which this is known.
    pub fn new(work: Work, outlines: Vec<Outline>) -> Result<Self, Error> {
        first(&outlines)?;
        let mut bytes = serde_json::to_vec(&work)?;
        outlines.iter().for_each(|outline| bytes.extend(outline.to_bytes()));
        let digest = format!("{} {}", work.verb(), digest(&bytes));
        Ok(Self { work, outlines, digest, plan: KeptPlan::default() })
    }

    /// The task.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// What is known of the cohorts.
    pub fn outlines(&self) -> &[Outline] {
        &self.outlines
    }

    /// What counts are of: the task, its rules, and the codes of the cohorts.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// How often rules were proved.
    pub fn proofs(&self) -> u64 {
        self.plan.proofs()
    }

    /// The codes that the records of all cohorts are numbered by when they are counted.
    pub fn vocabulary(&self) -> Result<Arc<Vocabulary>, Error> {
        match (&self.work, &*self.outlines) {
            (Work::Evaluate { .. }, [real, synthetic]) => joined_codes(real, synthetic),
            _ => Ok(Arc::clone(&first(&self.outlines)?.vocabulary)),
        }
    }

    /// What is known of the cohort whose records these are, over the codes that they are counted by.
    pub fn outline(&self, whose: Whose) -> Result<Outline, Error> {
        let outline = match self.outlines.get(whose as usize) {
            Some(outline) => outline,
            None => first(&self.outlines)?,
        };
        Ok(outline.over(self.vocabulary()?))
    }

    /// What is to be counted in the round after those that are known; none if all is counted.
    pub fn wanted(&self, known: &[State], watch: &dyn Watch) -> Result<Option<Wanted>, Error> {
        match self.merge(known, Vec::new(), watch)? {
            Merged::Wanted { wanted, .. } => Ok(Some(wanted)),
            Merged::Finished { .. } => Ok(None),
        }
    }

    /// Counts some records in the round after those that are known.
    pub fn count(
        &self,
        known: &[State],
        records: PartRecords<'_>,
        watch: &dyn Watch,
    ) -> Result<State, Error> {
        self.repair(known, records, watch, &mut |_| Ok(()))
    }

    /// The same. In the round of a repair in which records are changed, those that are left are handed on.
    pub fn repair(
        &self,
        known: &[State],
        records: PartRecords<'_>,
        watch: &dyn Watch,
        take: &mut dyn FnMut(Dataset) -> Result<(), Error>,
    ) -> Result<State, Error> {
        let PartRecords { whose, blocks, shard } = records;
        let mut rounds = Rounds::part(known, whose, blocks).of(self.digest.as_str());
        if let Some((number, of)) = shard {
            rounds = rounds.shard(number, of);
        }
        counted(self.report(&mut rounds, take, watch))
    }

    /// Adds up what was counted of all parts in the round after those that are known.
    pub fn merge(
        &self,
        known: &[State],
        parts: Vec<State>,
        watch: &dyn Watch,
    ) -> Result<Merged, Error> {
        let mut rounds = Rounds::merging(known, parts).of(self.digest.as_str());
        let outcome = self.report(&mut rounds, &mut |_| Ok(()), watch);
        let sum = rounds.merged();
        match outcome {
            Ok(report) => Ok(Merged::Finished { sum, report: Box::new(report) }),
            Err(Error::Paused(paused)) => match *paused {
                Paused::Wanted(wanted) => Ok(Merged::Wanted { sum, wanted }),
                other => Err(other.into()),
            },
            Err(error) => Err(error),
        }
    }

    /// Adds up what was counted of some parts, to be added to that of others.
    pub fn add_up(
        &self,
        known: &[State],
        parts: Vec<State>,
        watch: &dyn Watch,
    ) -> Result<State, Error> {
        let mut rounds = Rounds::adding(known, parts).of(self.digest.as_str());
        counted(self.report(&mut rounds, &mut |_| Ok(()), watch))
    }

    fn report(
        &self,
        rounds: &mut Rounds<'_>,
        take: &mut dyn FnMut(Dataset) -> Result<(), Error>,
        watch: &dyn Watch,
    ) -> Result<PartReport, Error> {
        let mut repairs = Repairs { plan: &self.plan, take };
        self.work.report(&self.outlines, rounds, &mut repairs, watch)
    }
}

/// What was counted in a round.
fn counted(outcome: Result<PartReport, Error>) -> Result<State, Error> {
    match outcome {
        Err(Error::Paused(paused)) => match *paused {
            Paused::Counted(state) => Ok(state),
            Paused::Wanted(wanted) => Err(Error::refused(
                format!("records of the other cohort are to be counted: {}", wanted.name),
                "count those",
            )),
            other => Err(other.into()),
        },
        Err(error) => Err(error),
        Ok(_) => Err(Error::refused("all records are counted already", "add up the counts")),
    }
}
