//! Counts on their way from machine to machine, in a file.

use std::path::Path;

use consequence_pipeline::parts::Outline;
use consequence_pipeline::{Error, Out, Watch};
use consequence_tally::{Coded, Damaged, Reader, State, StateError, Writer};

use super::job::Job;
use super::work::{Merged, Work};

/// The beginning of every such file, and the number of its format.
const MAGIC: &[u8] = b"consequence-counts\n";
const FORMAT: u64 = 1;

/// A task, what is known of its cohorts, what was counted in the rounds before, and what was counted of some parts in the
/// last one.
#[derive(Clone, Debug)]
pub struct CountsFile {
    /// The task.
    pub work: Work,
    /// What is known of its cohorts.
    pub outlines: Vec<Outline>,
    /// Rounds of which all parts are added up.
    pub known: Vec<State>,
    /// What was counted in the round after them; none if that is still to be done.
    pub counted: Option<State>,
}

impl CountsFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let unread = |what: String| {
            Error::refused_at(path, what, "give a file that was written with {state}, or by merge")
        };
        let bytes =
            std::fs::read(path).map_err(|error| unread(format!("cannot be read: {error}")))?;
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(unread("these are no counts".into()));
        };
        let mut from = Reader::new(rest);
        let format = from.number().map_err(|_| unread(Damaged.to_string()))?;
        let refused = |error: StateError| match error {
            StateError::Format { .. } => {
                let help = "count the parts again with this version, or add them up with that one";
                Error::refused_at(path, error.to_string(), help)
            }
            other => unread(other.to_string()),
        };
        if format != FORMAT {
            return Err(refused(StateError::Format { format, known: FORMAT }));
        }
        Self::decoded(&mut from).map_err(refused)
    }

    fn decoded(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let work = String::read(from)?;
        let work = serde_json::from_str(&work).map_err(|_| Damaged)?;
        let outlines: Vec<Vec<u8>> = lists(from)?;
        let outlines = outlines.iter().map(|bytes| Outline::from_bytes(bytes));
        let outlines = outlines.collect::<Result<_, _>>()?;
        let known: Vec<Vec<u8>> = lists(from)?;
        let known = known.iter().map(|bytes| State::from_bytes(bytes)).collect::<Result<_, _>>()?;
        let mut counted: Vec<Vec<u8>> = lists(from)?;
        from.end()?;
        let counted = counted.pop().map(|bytes| State::from_bytes(&bytes)).transpose()?;
        Ok(Self { work, outlines, known, counted })
    }

    /// Writes the file.
    pub fn write(&self, out: &Out) -> Result<(), Error> {
        let out = out.file()?;
        let mut bytes = Writer::default();
        bytes.number(FORMAT);
        serde_json::to_string(&self.work)?.write(&mut bytes);
        let mut list = |all: Vec<Vec<u8>>| {
            bytes.number(all.len() as u64);
            all.iter().for_each(|one| bytes.bytes(one));
        };
        list(self.outlines.iter().map(Outline::to_bytes).collect());
        list(self.known.iter().map(State::to_bytes).collect());
        list(self.counted.iter().map(State::to_bytes).collect());
        let bytes = bytes.finish();
        out.write(|file| {
            file.write_all(MAGIC)?;
            file.write_all(&bytes)
        })
    }

    /// The task with what is known of its cohorts.
    pub fn job(&self) -> Result<Job, Error> {
        Job::new(self.work.clone(), self.outlines.clone())
    }

    /// Adds up files of the same round of one task. Gives the file to go on with, and the report if all is counted.
    pub fn merge(files: &[Self], watch: &dyn Watch) -> Result<(Self, Merged), Error> {
        let Some(first) = files.first() else {
            return Err(Error::refused(
                "there are no counts to add up",
                "name the files of all parts",
            ));
        };
        let job = first.job()?;
        let mut parts = Vec::new();
        for file in files {
            if file.job()?.digest() != job.digest() || file.known != first.known {
                return Err(consequence_tally::Paused::Refused(StateError::Unlike(
                    "the task, its rules, the codes or the rounds before",
                ))
                .into());
            }
            parts.extend(file.counted.clone());
        }
        let merged = job.merge(&first.known, parts, watch)?;
        let sum = match &merged {
            Merged::Wanted { sum, .. } | Merged::Finished { sum, .. } => sum.clone(),
        };
        if let Some(missing) = sum.as_ref().map(|sum| sum.shards.missing())
            && !missing.is_empty()
        {
            let numbers: Vec<String> = missing.iter().map(u32::to_string).collect();
            let what = format!("parts are missing: {}", numbers.join(", "));
            return Err(Error::refused(what, "count them, and add up all parts together"));
        }
        let known = first.known.iter().cloned().chain(sum).collect();
        let (work, outlines) = (first.work.clone(), first.outlines.clone());
        Ok((Self { work, outlines, known, counted: None }, merged))
    }
}

fn lists(from: &mut Reader<'_>) -> Result<Vec<Vec<u8>>, Damaged> {
    let length = from.length()?;
    (0..length).map(|_| Ok(from.bytes()?.to_vec())).collect()
}
