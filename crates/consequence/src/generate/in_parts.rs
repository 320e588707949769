//! Generated records that are handed on, any range of them, wherever they are written.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use consequence_model::Generator;
use consequence_pipeline::parts::Outline;
use consequence_pipeline::{Error, Watch};
use consequence_record::{Cohort, CohortDetails};
use consequence_sample::{Drawing, DrawnBy, SampleError, Sampler, Totals, Written};
use consequence_store::digest;
use consequence_tables::Dataset;
use consequence_tally::{Coded, Paused, Ranges, Rounds, Shards, State, Whose, Writer, counts};

use super::{GenerateReport, GenerateTask, PreparedGeneration, Sink};

/// What the counts of records are called.
const WRITTEN: &str = "written records";

/// Between what records are of and what drew them.
const BY: &str = ", by ";

/// A part of the records that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenPart {
    /// Which of the records, by their numbers, counted from 0.
    pub range: Range<u64>,
    /// What was written, in numbers.
    pub totals: Totals,
    /// What drew the records.
    pub drawn_by: DrawnBy,
}

/// Some records in numbers, and which of all they are.
#[derive(Default)]
struct Counted {
    totals: Totals,
    numbers: Ranges,
}

counts!(Counted { totals, numbers });

/// Adds up what was written of some parts, to be added to that of others. It needs no model.
pub fn add_up(parts: Vec<State>) -> Result<State, Error> {
    drawn_by(&parts)?;
    let of = parts.first().map(|part| part.of.clone()).unwrap_or_default();
    let mut rounds = Rounds::adding(&[], parts).of(of);
    match totals(&mut rounds) {
        Err(Error::Paused(paused)) => match *paused {
            Paused::Counted(sum) => Ok(sum),
            other => Err(other.into()),
        },
        Err(error) => Err(error),
        Ok(_) => Err(Error::refused("there is nothing to add up", "give what was written")),
    }
}

fn totals(rounds: &mut Rounds<'_>) -> Result<Counted, Error> {
    rounds.count(Whose::Synthetic, WRITTEN, |_| Ok::<_, Error>(Counted::default()))
}

impl PreparedGeneration {
    /// Hands on the records with numbers in a range, counted from 0, so many at a time, and gives what was written in
    /// numbers. A record is the same in whatever range it is, where the same kind of device draws it.
    pub fn each_part(
        &self,
        task: &GenerateTask,
        (range, size): (Range<u64>, u64),
        watch: &dyn Watch,
        mut take: impl FnMut(Dataset) -> Result<(), Error>,
    ) -> Result<WrittenPart, Error> {
        let sink = Sink::Parts { range: range.clone(), size: size.max(1), take: &mut take };
        let (written, drawing) = self.write(task, sink, watch)?;
        Ok(WrittenPart { range, totals: written.totals, drawn_by: drawing.drawn_by })
    }

    /// What was written, to be added to what was written elsewhere.
    pub fn state(&self, task: &GenerateTask, part: &WrittenPart) -> Result<State, Error> {
        let counted =
            Counted { totals: part.totals.clone(), numbers: Ranges::of(part.range.clone()) };
        let mut out = Writer::default();
        counted.write(&mut out);
        Ok(State {
            of: self.drawn(task, &part.drawn_by)?,
            round: 0,
            name: WRITTEN.to_owned(),
            whose: Whose::Synthetic,
            records: part.totals.records,
            shards: Shards::none(),
            for_later: false,
            counts: out.finish(),
        })
    }

    /// The report of all records that were asked for, which were written in parts. Parts that were drawn on devices of
    /// several kinds are refused.
    pub fn merged(
        &self,
        task: &GenerateTask,
        parts: Vec<State>,
        seconds: f64,
    ) -> Result<GenerateReport, Error> {
        let drawn_by = drawn_by(&parts)?;
        let mut rounds = Rounds::merging(&[], parts).of(self.drawn(task, &drawn_by)?);
        let Counted { totals, numbers } = totals(&mut rounds)?;
        if numbers.twice() {
            let what = "some records were written twice";
            return Err(Error::refused(what, "add up what was written of each part once"));
        }
        if !numbers.are(0..task.records) || totals.records != task.records {
            let what = format!("{} of {} records were written", totals.records, task.records);
            return Err(Error::refused(what, "add up what was written of all parts"));
        }
        let written = Written { totals, ..Written::default() };
        let drawing = Drawing { drawn_by, ..Drawing::default() };
        Ok(self.written(task, (written, drawing), (seconds, seconds)))
    }

    /// Whether records have dates.
    pub fn dated(&self) -> bool {
        self.model.details.dated()
    }

    /// All that records depend on, and what drew them.
    fn drawn(&self, task: &GenerateTask, drawn_by: &DrawnBy) -> Result<String, Error> {
        Ok(format!("{}{BY}{}", self.digest(task)?, serde_json::to_string(drawn_by)?))
    }

    /// All that records depend on, apart from what draws them.
    fn digest(&self, task: &GenerateTask) -> Result<String, Error> {
        let GenerateTask { records, seed, mode, temperature, proposals, attempts, given, .. } =
            task;
        let identity = self.identity(task, self.model.trained.codes().vocabulary())?;
        let drawn = (records, seed, mode.name(), temperature, proposals, attempts, given);
        Ok(format!("generate {}", digest(&serde_json::to_vec(&(identity, drawn))?)))
    }

    /// What every record has beside its codes, and the codes that records are numbered by.
    pub fn outline(&self, name: impl Into<String>) -> Outline {
        let vocabulary = self.model.trained.codes().vocabulary();
        Outline {
            titles: self.titles(vocabulary),
            concepts: self.model.concepts.over(vocabulary),
            scales: self.model.details.scales_over(vocabulary),
            ..Outline::new(name, Arc::clone(vocabulary))
        }
    }

    pub(super) fn in_parts<G: Generator>(
        &self,
        sampler: &Sampler<'_, G>,
        range: Range<u64>,
        size: u64,
        take: &mut dyn FnMut(Dataset) -> Result<(), Error>,
        watch: &dyn Watch,
    ) -> Result<Written, Error> {
        let vocabulary = sampler.codes().vocabulary();
        let (titles, scales) = (self.titles(vocabulary), sampler.scales());
        let concepts = self.model.concepts.over(vocabulary);
        let detailed = sampler.dated() || !scales.is_empty();
        let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
        let (mut totals, mut refused) = (Totals::default(), None);
        let end = range.end;
        let given = sampler.each(range, &mut totals, |sampled| {
            let next = sampled.number + 1;
            cohort.push(&next.to_string(), &sampled.record);
            details.push(sampled.details.view());
            watch.advance(1);
            if (cohort.len() as u64) < size && next < end {
                return Ok(());
            }
            let (cohort, details) = (std::mem::take(&mut cohort), std::mem::take(&mut details));
            let part = Dataset {
                titles: titles.clone(),
                concepts: concepts.clone(),
                scales: scales.clone(),
                details: detailed.then_some(details),
                ..Dataset::new(cohort, Arc::clone(vocabulary))
            };
            let began = Instant::now();
            let taken = take(part);
            sampler.has_written(began.elapsed());
            taken.map_err(|error| {
                refused = Some(error);
                SampleError::Stopped
            })
        });
        match (given, refused) {
            (Err(SampleError::Stopped), Some(error)) => Err(error),
            (given, _) => Ok(given.map(|()| Written { totals, ..Written::default() })?),
        }
    }
}

/// What drew the records of parts. What is not told is found when they are added up.
fn drawn_by(parts: &[State]) -> Result<DrawnBy, Error> {
    let told = |part: &State| serde_json::from_str(part.of.split_once(BY)?.1).ok();
    let mut found = parts.iter().filter_map(told);
    let first: DrawnBy = found.next().unwrap_or_default();
    match found.find(|other| *other != first) {
        Some(other) => Err(Error::refused(
            format!("some parts were drawn by {first}, and others by {other}"),
            "have all drawn by the same kind of device, such as {device=cpu}",
        )),
        None => Ok(first),
    }
}
